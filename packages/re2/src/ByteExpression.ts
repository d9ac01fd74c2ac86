/**
 * Regular expressions of RE2 whose characters are bytes, as Envoy has them: whether a pattern is one, and how many instructions it
 * has once RE2 has compiled it, which Envoy asks for (`re2.max_program_size.error_level`).
 *
 * @since 0.1.0
 */
import * as Either from "effect/Either"
import { Bytes } from "./internal/CharacterSets.js"
import * as Measure from "./internal/Measure.js"
import * as Syntax from "./internal/Syntax.js"

export type { Budget, ByteExpression, Size } from "./internal/Measure.js"

/**
 * Reads expressions. Keeps the tables of Unicode that it has met, some kilobytes for all that there are: one reader is enough for a
 * program.
 *
 * @example
 * import { ByteExpression } from "@effect-xds/re2"
 * import { Either } from "effect"
 *
 * const reader = new ByteExpression.Reader()
 * const expression = Either.getOrThrow(reader.read("a{1000}"))
 * console.log(expression.measure({ steps: 100_000 })) // { least: 1004, most: 1004 }
 *
 * @since 0.1.0
 */
export class Reader {
  readonly #bytes = new Bytes()

  /** {@link readInSteps} at once. */
  read(pattern: string): Either.Either<Measure.ByteExpression, string> {
    return Syntax.toEnd(this.readInSteps(pattern))
  }

  /** Reads a pattern, each character of which is a byte, in steps of less than a millisecond, mostly. Left: why it is none of RE2. */
  *readInSteps(pattern: string): Generator<undefined, Either.Either<Measure.ByteExpression, string>> {
    try {
      return Either.right(yield* Measure.inSteps(yield* Syntax.parseInSteps(pattern, this.#bytes)))
    } catch (cause) {
      if (!(cause instanceof Syntax.SyntaxProblem)) throw cause
      return Either.left(cause.reason)
    }
  }
}
