/**
 * Effects that may be there already: an `Exit` is looked into at once. Effect's runtime takes some hundred nanoseconds for each step,
 * and a small change of a store would have twenty of them.
 */
import * as EventLoop from "@effect-xds/transport/EventLoop"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"

/**
 * When and where something is done.
 *
 * @since 0.1.0
 */
export interface At {
  /** Milliseconds since the epoch, of Effect's clock. */
  readonly now: number
  readonly loop: EventLoop.Service
}

/** Goes on when and where it is called. */
export const here = <A, E>(use: (at: At) => Effect.Effect<A, E>): Effect.Effect<A, E> =>
  Effect.clockWith((clock) => EventLoop.withGuarded((loop) => use({ now: clock.unsafeCurrentTimeMillis(), loop })))

export const isThere = <A, E>(self: Effect.Effect<A, E>): self is Exit.Exit<A, E> => Exit.isExit(self)

export const flatMap = <A, E, B, E2>(
  self: Effect.Effect<A, E>,
  f: (value: A) => Effect.Effect<B, E2>
): Effect.Effect<B, E | E2> => {
  if (!isThere(self)) return Effect.flatMap(self, f)
  return Exit.isSuccess(self) ? f(self.value) : Exit.failCause(self.cause)
}

export const map = <A, E, B>(self: Effect.Effect<A, E>, f: (value: A) => B): Effect.Effect<B, E> =>
  flatMap(self, (value) => Exit.succeed(f(value)))
