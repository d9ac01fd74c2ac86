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

/**
 * How many instructions an expression has: so many or more, and so many or less. Both are the same where it is known.
 *
 * @since 0.1.0
 */
export interface Size {
  readonly least: number
  readonly most: number
}

/**
 * Steps that may be taken to measure expressions: about ten for each instruction. Those that were taken are taken off.
 *
 * @since 0.1.0
 */
export interface Budget {
  steps: number
}

/**
 * An expression that was read.
 *
 * @since 0.1.0
 */
export interface ByteExpression {
  /** What is seen of the size without compiling the expression. */
  readonly bounds: Size
  /** The size, exactly if the steps are enough. */
  readonly measure: (budget: Budget) => Size
}

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
  read(pattern: string): Either.Either<ByteExpression, string> {
    const work = this.readInSteps(pattern)
    for (;;) {
      const next = work.next()
      if (next.done === true) return next.value
    }
  }

  /** Reads a pattern, each character of which is a byte, in steps of less than a millisecond, mostly. Left: why it is none of RE2. */
  *readInSteps(pattern: string): Generator<undefined, Either.Either<ByteExpression, string>> {
    try {
      const measured = yield* Measure.inSteps(yield* Syntax.parseInSteps(pattern, this.#bytes))
      return Either.right({ bounds: measured.bounds, measure: (budget) => measured.within(budget) })
    } catch (cause) {
      if (!(cause instanceof Syntax.SyntaxProblem)) throw cause
      return Either.left(cause.reason)
    }
  }
}
