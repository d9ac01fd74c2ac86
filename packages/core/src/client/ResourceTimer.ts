/**
 * Resource timers: a requested resource that does not come within 15 s after the request was written counts as missing (A57).
 *
 * @see https://github.com/grpc/proposal/blob/master/A57-xds-client-failure-mode-behavior.md
 * @since 0.1.0
 */
import * as HashMap from "effect/HashMap"
import * as Option from "effect/Option"

/**
 * The timers of one type on the streams to one server.
 *
 * @since 0.1.0
 */
export interface ResourceTimers {
  /** Name without a resource → end of its timer in milliseconds; Infinity until a request with the name is written. */
  readonly waiting: HashMap.HashMap<string, number>
  /** Not later than the first end in {@link waiting}, so that steps need not search it. */
  readonly dueAt: number
}

const never = Number.POSITIVE_INFINITY
const noList: ReadonlyArray<string> = []

/**
 * The timers with a subset of {@link ResourceTimers.waiting}.
 *
 * @since 0.1.0
 */
export const withWaiting = <A extends ResourceTimers>(self: A, waiting: ResourceTimers["waiting"]): A => ({
  ...self,
  waiting,
  dueAt: HashMap.isEmpty(waiting) ? never : self.dueAt
})

/**
 * Cancels the timers of seen resources, whatever their state.
 *
 * @since 0.1.0
 */
export const resolve = <A extends ResourceTimers>(self: A, names: Iterable<string>): A => {
  if (HashMap.isEmpty(self.waiting)) return self
  return withWaiting(
    self,
    HashMap.mutate(self.waiting, (waiting) => {
      for (const name of names) HashMap.remove(waiting, name)
    })
  )
}

/**
 * Arms the timers of these names, after the request was written to a connected stream.
 *
 * @param at end of the timers, in milliseconds
 * @since 0.1.0
 */
export const arm = <A extends ResourceTimers>(self: A, names: Iterable<string>, at: number): A => {
  const unarmed = Array.from(names).filter((name) => Option.contains(HashMap.get(self.waiting, name), never))
  if (unarmed.length === 0) return self
  const waiting = HashMap.mutate(self.waiting, (timers) => {
    for (const name of unarmed) HashMap.set(timers, name, at)
  })
  return { ...self, waiting, dueAt: Math.min(self.dueAt, at) }
}

/**
 * Ends timers and returns their names. The names stay subscribed, without a timer.
 *
 * @since 0.1.0
 */
export const expire = <A extends ResourceTimers>(
  self: A,
  now: number
): readonly [A, expired: ReadonlyArray<string>] => {
  if (now < self.dueAt) return [self, noList]
  const expired: Array<string> = []
  let dueAt = never
  for (const [name, at] of self.waiting) {
    if (at <= now) expired.push(name)
    else dueAt = Math.min(dueAt, at)
  }
  return [{ ...resolve(self, expired), dueAt }, expired]
}
