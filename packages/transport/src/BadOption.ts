/**
 * Numbers that are no limits, and durations that are none. NaN, as of a variable of the environment that is not set, is less and
 * more than nothing: as a limit it would be none, or one that is always reached; as a duration Effect takes it for 0, and a
 * negative one too.
 *
 * @since 0.1.0
 */
import * as Data from "effect/Data"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"

/**
 * An option has a number that it cannot have.
 *
 * @since 0.1.0
 */
export class BadOption extends Data.TaggedError("BadOption")<{
  readonly option: string
  /** Of a duration that was given as text, that. */
  readonly value: number | string
  /** The least that it may be, of a duration in milliseconds. `-Infinity`: any number. */
  readonly least: number
}> {
  override get message(): string {
    const wanted = this.least === -Infinity ? "a number" : `${this.least} or more`
    const given = typeof this.value === "string" ? JSON.stringify(this.value) : this.value
    return `${this.option} must be ${wanted}, not ${given}`
  }
}

/** Of a limit: a number. Of a duration: milliseconds, or what else stands for one. */
type Given = Duration.DurationInput | undefined

const ofText = (text: string): number =>
  Option.match(Duration.decodeUnknown(text), { onNone: () => Number.NaN, onSome: Duration.toMillis })

/**
 * The milliseconds of a duration as it was given; NaN: it is none. For `Duration.decode` NaN and less than 0 are 0, and it throws
 * for others.
 *
 * @since 0.1.0
 */
export const milliseconds = (given: unknown): number => {
  if (typeof given === "number") return given
  if (typeof given === "bigint") return Number(given) / 1_000_000
  if (typeof given === "string") return given.startsWith("-") ? -ofText(given.slice(1)) : ofText(given)
  if (Duration.isDuration(given)) return Duration.toMillis(given)
  if (!Array.isArray(given) || given.length !== 2) return Number.NaN
  const pair: ReadonlyArray<unknown> = given
  const [seconds, nanos] = pair
  return typeof seconds === "number" && typeof nanos === "number" ? seconds * 1_000 + nanos / 1_000_000 : Number.NaN
}

/**
 * The first option that is less than it may be, or NaN; of durations in milliseconds. `undefined`: there is none. Infinity is no limit.
 *
 * @param least the least that each may be
 * @param within the option that these are options of
 * @since 0.1.0
 */
export const find = <K extends string>(
  options: { readonly [P in NoInfer<K>]?: Given },
  least: Readonly<Record<K, number>>,
  within?: string
): BadOption | undefined => {
  for (const option in least) {
    // Of JavaScript: with null there is the default.
    const value = options[option] ?? undefined
    if (value === undefined) continue
    const amount = milliseconds(value)
    if (!(amount >= least[option])) {
      const name = within === undefined ? option : `${within}.${option}`
      return new BadOption({ option: name, value: typeof value === "string" ? value : amount, least: least[option] })
    }
  }
  return undefined
}

/**
 * Dies with what {@link find} finds: a mistake of the program, which no caller expects.
 *
 * @since 0.1.0
 */
export const check = <K extends string>(
  options: { readonly [P in NoInfer<K>]?: Given },
  least: Readonly<Record<K, number>>,
  within?: string
): Effect.Effect<void> =>
  Effect.suspend(() => {
    const found = find(options, least, within)
    return found === undefined ? Effect.void : Effect.die(found)
  })
