/** Flags as gRPC's interop programs have them: `--name=value` or `--name value`. */
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import { parseArgs } from "node:util"

/** A flag that cannot be used, and what to do. */
export class BadFlag extends Data.TaggedError("BadFlag")<{ readonly reason: string }> {
  override get message(): string {
    return `${this.reason} (--help lists all flags)`
  }
}

/** How the text of a flag is read; throws a `BadFlag`. */
type Read<A> = (text: string, flag: string) => A

export interface Flag<A> {
  readonly fallback: A
  readonly read: Read<A>
  /** `fallback` in the help; empty: it is not told. */
  readonly standard: string
  /** What a value looks like. */
  readonly value: string
  readonly help: string
}

export type Flags = Readonly<Record<string, Flag<unknown>>>

/** What was given: the value of a flag. */
export type Given = <A>(flag: Flag<A>) => A

const bad = (flag: string, text: string, wanted: string) =>
  new BadFlag({ reason: `--${flag}=${text} cannot be used: give ${wanted}` })

export const text = (fallback: string, value: string, help: string): Flag<string> => ({
  fallback,
  standard: fallback,
  value,
  help,
  read: (given) => given
})

export const whole = (fallback: number, help: string, { least = 0, most = 2 ** 31 - 1 } = {}): Flag<number> => ({
  fallback,
  standard: String(fallback),
  value: "N",
  help,
  read: (given, flag) => {
    const number = /^\d+$/.test(given) ? Number(given) : Number.NaN
    if (number >= least && number <= most) return number
    throw bad(flag, given, `a whole number from ${least} to ${most}`)
  }
})

export const yesOrNo = (help: string): Flag<boolean> => ({
  fallback: false,
  standard: "false",
  value: "true|false",
  help,
  read: (given, flag) => {
    if (given === "true" || given === "false") return given === "true"
    throw bad(flag, given, "true or false")
  }
})

/** A flag with a form of its own; `read` gives `undefined` for what is not in this form. */
export const of = <A>(options: {
  readonly fallback: A
  readonly standard: string
  readonly value: string
  readonly wanted: string
  readonly help: string
  readonly read: (text: string) => A | undefined
}): Flag<A> => ({
  ...options,
  read: (given, flag) => {
    const value = options.read(given)
    if (value === undefined) throw bad(flag, given, options.wanted)
    return value
  }
})

/** What was given; `undefined` where help is asked for. */
export const parse = (flags: Flags, args: ReadonlyArray<string>): Effect.Effect<Given | undefined, BadFlag> =>
  Effect.try({
    try: () => {
      const { values } = parseArgs({
        args: [...args],
        options: {
          ...Object.fromEntries(Object.keys(flags).map((name) => [name, { type: "string" }] as const)),
          help: { type: "boolean" }
        }
      })
      const texts = new Map(Object.entries(values))
      if (texts.get("help") === true) return undefined
      const names = new Map(Object.entries(flags).map(([name, flag]) => [flag, name]))
      const given: Given = (flag) => {
        const name = names.get(flag) ?? ""
        const value = texts.get(name)
        return typeof value === "string" ? flag.read(value, name) : flag.fallback
      }
      // All are read once: a mistake is told at the start.
      Object.values(flags).forEach(given)
      return given
    },
    catch: (cause) =>
      cause instanceof BadFlag
        ? cause
        : // Node's advice about arguments that begin with a dash is not for these programs.
          new BadFlag({ reason: cause instanceof Error ? (cause.message.split(". ")[0] ?? "") : String(cause) })
  })

/** The lines of `--help`. */
export const help = (flags: Flags): string =>
  Object.entries(flags)
    .map(([name, { help: what, standard, value }]) => {
      const left = `  --${name}=${value}`.padEnd(36)
      return `${left} ${what}.${standard === "" ? "" : ` Default: ${standard}.`}`
    })
    .concat(`${"  --help".padEnd(36)} This text.`)
    .join("\n")
