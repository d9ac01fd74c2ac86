/** What a call asks its server to do, in the header `rpc-behavior`. */
import * as Either from "effect/Either"

export type Behaviour =
  | { readonly _tag: "Sleep"; readonly seconds: number }
  /** Never answers. */
  | { readonly _tag: "KeepOpen" }
  | { readonly _tag: "Fail"; readonly status: number }
  /** Fails every attempt before this one; the first is 0. */
  | { readonly _tag: "SucceedOnAttempt"; readonly attempt: number }

const forms: ReadonlyArray<readonly [RegExp, (value: number) => Behaviour]> = [
  [/^sleep-(\d+)$/, (seconds) => ({ _tag: "Sleep", seconds })],
  [/^keep-open$/, () => ({ _tag: "KeepOpen" })],
  [/^error-code-(\d+)$/, (status) => ({ _tag: "Fail", status })],
  [/^success-on-retry-attempt-(\d+)$/, (attempt) => ({ _tag: "SucceedOnAttempt", attempt })]
]

const read = (asked: string): Either.Either<Behaviour, string> => {
  for (const [form, make] of forms) {
    const match = form.exec(asked)
    if (match !== null) return Either.right(make(Number(match[1] ?? 0)))
  }
  return Either.left(
    `rpc-behavior "${asked}" is none of sleep-N, keep-open, error-code-N and success-on-retry-attempt-N`
  )
}

/** In the order of the header; those for a server of another name (`hostname=NAME sleep-1`) are left out. */
export const parse = (header: string, hostname: string): Either.Either<ReadonlyArray<Behaviour>, string> =>
  Either.all(
    header
      .split(",")
      .map((each) => each.trim())
      .filter((each) => each !== "")
      .flatMap((each) => {
        const [, name, asked = each] = /^hostname=(\S+) +(.*)$/.exec(each) ?? []
        return name === undefined || name === hostname ? [read(asked)] : []
      })
  )
