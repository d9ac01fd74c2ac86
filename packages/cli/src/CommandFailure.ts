/**
 * How a command fails: with a line for the person at the terminal and an exit code for scripts.
 *
 * @since 0.1.0
 */
import * as Data from "effect/Data"

/**
 * - `found` (1): it did what it should, and the answer is no: `validate` found mistakes, `diff` differences
 * - `usage` (2): it was called wrongly; also when the arguments cannot be parsed
 * - `missing` (3): what was asked for does not exist
 * - `unreachable` (4): the other side does not answer
 * - `failed` (5): anything else: a port in use, a file that cannot be read
 *
 * @since 0.1.0
 */
export const exitCodes = { found: 1, usage: 2, missing: 3, unreachable: 4, failed: 5 } as const

/**
 * The end of a command that failed. `message` says what was wrong, where, and what to do; it is printed as it is, on
 * the standard error, without a stack trace. Empty: the command said it all itself.
 *
 * @since 0.1.0
 */
export class CommandFailure extends Data.TaggedError("CommandFailure")<{
  readonly kind: keyof typeof exitCodes
  readonly message: string
}> {}
