/**
 * The error of a message that breaks rules.
 *
 * @since 0.1.0
 */
import * as ResourceType from "@effect-xds/proto/ResourceType"
import * as TypeRegistry from "@effect-xds/proto/TypeRegistry"
import * as Data from "effect/Data"
import * as Fault from "./Fault.js"

/** `clusters`; the name of the type where the table of resource types has no word. */
const kindOf = (typeUrl: string): string =>
  ResourceType.byTypeUrl(typeUrl)?.restPath?.replace(/^.*:/, "") ?? TypeRegistry.typeName(typeUrl)

/** Who reads a line reads no more. */
const mostInWords = 5

/**
 * What is known of a message that breaks rules.
 *
 * @since 0.1.0
 */
export interface Invalid {
  readonly typeUrl: string
  /** `undefined` for a message that is no resource. */
  readonly resourceName: string | undefined
  /** At least one; in the order of the fields. */
  readonly faults: ReadonlyArray<Fault.Fault>
  /** Whether there are more than were asked for. */
  readonly more: boolean
}

/**
 * In words, with the first faults: `clusters "web": connect_timeout must be greater than 0s, is -5s`.
 *
 * @since 0.1.0
 */
export const toText = ({ faults, more, resourceName, typeUrl }: Invalid): string => {
  const words = faults.slice(0, mostInWords).map(Fault.toText)
  const rest = faults.length - words.length
  if (more) words.push(rest > 0 ? `and at least ${rest + 1} more faults` : "and more faults")
  else if (rest > 0) words.push(`and ${rest} more ${rest === 1 ? "fault" : "faults"}`)
  return `${kindOf(typeUrl)}${resourceName === undefined ? "" : ` ${JSON.stringify(resourceName)}`}: ${words.join("; ")}`
}

/**
 * A message that breaks rules of its own `.proto` file, or that is none of its type. Mend what the faults name; the rules are
 * Envoy's, which refuses such a message, and with it everything in the same response. `name` is that of every error.
 *
 * @since 0.1.0
 */
export class InvalidMessage extends Data.TaggedError("InvalidMessage")<Invalid> {
  override get message(): string {
    return toText(this)
  }
}
