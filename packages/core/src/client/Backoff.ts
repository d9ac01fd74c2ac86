/**
 * Reconnect times of a client: exponential backoff with jitter while a server does not answer, and a shortest time between two
 * streams, so that a server that closes every stream after its first response causes no storm.
 *
 * @see https://github.com/grpc/proposal/blob/master/A57-xds-client-failure-mode-behavior.md
 * @see https://github.com/grpc/grpc/blob/master/doc/connection-backoff.md
 * @since 0.1.0
 */

/**
 * Backoff parameters. Times in milliseconds.
 *
 * @since 0.1.0
 */
export interface Options {
  /** The delay after the first failure. Default: 1 000. */
  readonly initial: number
  /** Factor of the delay after each further failure. Default: 1.6. */
  readonly factor: number
  /** The longest delay, before jitter. Default: 30 000. */
  readonly max: number
  /** Random part of the delay, in both directions. Default: 0.2. */
  readonly jitter: number
  /** The shortest time between the starts of two attempts, whether the first failed or not. Default: 500. */
  readonly floor: number
}

/**
 * The defaults: those of gRPC's connection backoff, with a maximum of 30 s.
 *
 * @since 0.1.0
 */
export const defaults: Options = { initial: 1_000, factor: 1.6, max: 30_000, jitter: 0.2, floor: 500 }

/**
 * Failures in a row, and when the last attempt started.
 *
 * @since 0.1.0
 */
export interface Backoff {
  readonly failures: number
  /** Milliseconds, as given to the reducers; -Infinity before the first attempt. */
  readonly startedAt: number
}

/**
 * The state before the first attempt.
 *
 * @since 0.1.0
 */
export const initial: Backoff = { failures: 0, startedAt: Number.NEGATIVE_INFINITY }

/**
 * The state after an attempt has started.
 *
 * @since 0.1.0
 */
export const start = (self: Backoff, now: number): Backoff => ({ ...self, startedAt: now })

/**
 * The state after the server has answered: no failures in a row.
 *
 * @since 0.1.0
 */
export const reset = (self: Backoff): Backoff => (self.failures === 0 ? self : { ...self, failures: 0 })

/**
 * The earliest time of the next attempt if nothing failed: now, or later because of the floor.
 *
 * @since 0.1.0
 */
export const earliest = (self: Backoff, options: Options, now: number): number =>
  Math.max(now, self.startedAt + options.floor)

/**
 * The delay after `failures` + 1 failures in a row, in milliseconds, before jitter.
 *
 * @param failures failures before the present one
 * @since 0.1.0
 */
export const delay = ({ factor, initial, max }: Options, failures: number): number =>
  // After some thousand failures the power is Infinity, of which no part of nothing is a number.
  initial === 0 ? 0 : Math.min(max, initial * factor ** failures)

/**
 * The state after an attempt has failed without an answer, and the time of the next one.
 *
 * @param random in [0, 1)
 * @since 0.1.0
 */
export const fail = (
  self: Backoff,
  options: Options,
  random: number,
  now: number
): readonly [Backoff, retryAt: number] => {
  const jittered = Math.round(delay(options, self.failures) * (1 + options.jitter * (2 * random - 1)))
  return [{ ...self, failures: self.failures + 1 }, Math.max(now + jittered, self.startedAt + options.floor)]
}
