/** The mistakes of a file, collected while it is read. */
import * as Redaction from "@effect-xds/proto/Redaction"
import * as Either from "effect/Either"
import { ResourceFileError } from "../ResourceFileError.js"
import * as Placeholders from "./Placeholders.js"
import { formatPath, type Path, positionAt, type SyntaxProblem } from "./SourceDocument.js"

export interface Problem {
  readonly reason: ResourceFileError["reason"]
  readonly path: Path
  /** The offset in the text, if the format has one. */
  readonly offset: number | undefined
  readonly detail: string
}

/** The result, or all mistakes. */
export type Result<A> = Either.Either<A, ReadonlyArray<Problem>>

export const problem = (reason: Problem["reason"], detail: string, path: Path = [], offset?: number): Result<never> =>
  Either.left([{ reason, path, offset, detail }])

export const syntax = (text: string, problems: ReadonlyArray<SyntaxProblem>): ReadonlyArray<Problem> =>
  Placeholders.explain(text, problems).map(({ detail, offset }) => ({ reason: "Syntax", path: [], offset, detail }))

/** The most mistakes reported per file. */
export const maxProblems = 100

/** Collects the mistakes of a file, up to `maxProblems`. */
export class Problems {
  readonly found: Array<Problem> = []

  get isFull(): boolean {
    return this.found.length > maxProblems
  }

  /** The value, if there is one. */
  take<A>(result: Result<A>): A | undefined {
    if (Either.isRight(result)) return result.right
    for (const each of result.left) {
      const isKnown = this.found.some(({ detail, offset }) => detail === each.detail && offset === each.offset)
      if (!this.isFull && (!isKnown || each.offset === undefined)) this.found.push(each)
    }
    return undefined
  }

  /** Keeps only the first `count` mistakes. */
  keep(count: number): void {
    this.found.length = Math.min(this.found.length, count)
  }

  /** In order of their offsets; those without one last. */
  inOrder(): ReadonlyArray<Problem> {
    const placeOf = ({ offset }: Problem): number => offset ?? Number.MAX_SAFE_INTEGER
    return this.found.sort((one, other) => placeOf(one) - placeOf(other))
  }
}

export const nothing = (text: string): Result<never> =>
  problem(
    "Empty",
    text === ""
      ? "the file is empty; write what it should hold, or remove it"
      : "the file holds no document, only space and comments; write what it should hold, or remove it"
  )

export const errorsOf = (file: string, text: string | undefined, problems: Problems): ResourceFileError | undefined => {
  const errorOf = (
    { detail, offset, path, reason }: Problem,
    others?: ReadonlyArray<ResourceFileError>
  ): ResourceFileError => {
    const position = text === undefined || offset === undefined ? undefined : positionAt(text, offset)
    return new ResourceFileError({
      reason,
      file,
      line: position?.line,
      column: position?.column,
      path: formatPath(path),
      detail: Redaction.text(detail),
      others
    })
  }
  const [first, ...others] = problems.inOrder()
  if (first === undefined) return undefined
  const told = others.slice(0, maxProblems - 1).map((each) => errorOf(each))
  const [next] = others.slice(maxProblems - 1)
  if (next === undefined) return errorOf(first, told)
  const more = { ...next, path: [], detail: `more mistakes; those before are the first ${maxProblems}` }
  return errorOf(first, [...told, errorOf(more)])
}
