/**
 * The timers of resources that were asked for and did not come: 15 seconds from the writing of the request until a resource
 * counts as missing (A57).
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
  /** Names without a resource, and when that is told, in milliseconds: Infinity until a request with the name was written. */
  readonly waiting: HashMap.HashMap<string, number>
  /** Not later than the first of {@link waiting}, so that no step has to look through them. */
  readonly dueAt: number
}

const never = Number.POSITIVE_INFINITY
const noList: ReadonlyArray<string> = []

/**
 * With other names that are waited for, of those that were.
 *
 * @since 0.1.0
 */
export const withWaiting = <A extends ResourceTimers>(self: A, waiting: ResourceTimers["waiting"]): A => ({
  ...self,
  waiting,
  dueAt: HashMap.isEmpty(waiting) ? never : self.dueAt
})

/**
 * Resources that were seen, in whatever state: their timers are cancelled.
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
 * A request with these names was written to a connected stream: arms the timers of those that are still waited for.
 *
 * @param at when they are due, in milliseconds
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
 * The names whose time has come. They stay subscribed, and are waited for no more.
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
