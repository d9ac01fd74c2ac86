/**
 * The error of a store's conformance.
 *
 * @since 0.1.0
 */
import * as Data from "effect/Data"

/**
 * Error: a promise that a store breaks.
 *
 * @since 0.1.0
 */
export class BrokenPromise extends Data.TaggedError("BrokenPromise")<{
  readonly promise: string
  /** The actual and the expected value, as JSON. */
  readonly detail: string
}> {
  override get message(): string {
    return `${this.promise}: ${this.detail}`
  }
}
