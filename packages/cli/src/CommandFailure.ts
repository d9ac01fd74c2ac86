/**
 * How a command fails: with a line for the person at the terminal and an exit code for scripts.
 *
 * @since 0.1.0
 */
import * as Data from "effect/Data"

/**
 * - `found` (1): it did what it should, and the answer is no: `validate` found mistakes, `diff` differences, `get` no such
 *   resource
 * - `usage` (2): it was called wrongly
 * - `failed` (3): it could not do it: a file or directory is not there or cannot be read, a port is in use, the other side
 *   does not answer
 * - `fault` (4): a mistake of the program itself
 *
 * @since 0.1.0
 */
export const exitCodes = { found: 1, usage: 2, failed: 3, fault: 4 } as const

/**
 * The end of a command that failed. `message` says what was wrong, where, and what to do; it is printed as it is, on
 * the standard error, without a stack trace. Empty: the command said it all itself.
 *
 * @since 0.1.0
 */
export class CommandFailure extends Data.TaggedError("CommandFailure")<{
  readonly kind: Exclude<keyof typeof exitCodes, "fault">
  readonly message: string
}> {}
