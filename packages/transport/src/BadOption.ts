/**
 * Numbers that are no limits. NaN, as of a variable of the environment that is not set, is less and more than nothing: as a
 * limit it would be none, or one that is always reached.
 *
 * @since 0.1.0
 */
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"

/**
 * An option has a number that it cannot have.
 *
 * @since 0.1.0
 */
export class BadOption extends Data.TaggedError("BadOption")<{
  readonly option: string
  readonly value: number
  /** The least that it may be. `-Infinity`: any number. */
  readonly least: number
}> {
  override get message(): string {
    const wanted = this.least === -Infinity ? "a number" : `${this.least} or more`
    return `${this.option} must be ${wanted}, not ${this.value}`
  }
}

/**
 * The first option that is less than it may be, or NaN; `undefined`: there is none. Infinity is no limit.
 *
 * @param least the least that each may be
 * @since 0.1.0
 */
export const find = <K extends string>(
  options: { readonly [P in NoInfer<K>]?: number | undefined },
  least: Readonly<Record<K, number>>
): BadOption | undefined => {
  for (const option in least) {
    const value = options[option]
    if (value !== undefined && !(value >= least[option])) return new BadOption({ option, value, least: least[option] })
  }
  return undefined
}

/**
 * Dies with what {@link find} finds: a mistake of the program, which no caller expects.
 *
 * @since 0.1.0
 */
export const check = <K extends string>(
  options: { readonly [P in NoInfer<K>]?: number | undefined },
  least: Readonly<Record<K, number>>
): Effect.Effect<void> =>
  Effect.suspend(() => {
    const found = find(options, least)
    return found === undefined ? Effect.void : Effect.die(found)
  })
