/**
 * A rule of a trace, and the loop of a check.
 *
 * @since 0.1.0
 */
import { byTypeUrl, shortNameOf } from "@effect-xds/proto/ResourceType"
import type { Event, Message, Trace } from "../Trace.js"

/**
 * A rule and its check, which returns the problems in words; empty if the rule holds.
 *
 * @since 0.1.0
 */
export interface TraceInvariant {
  readonly sentence: string
  readonly check: (trace: Trace) => ReadonlyArray<string>
}

/**
 * A request in a trace.
 *
 * @since 0.1.0
 */
export type Request = Extract<Message, { readonly _tag: "Request" }>

/**
 * A response in a trace.
 *
 * @since 0.1.0
 */
export type Response = Extract<Message, { readonly _tag: "Response" }>

/**
 * A resource as a key: `<type URL> <name>`.
 *
 * @since 0.1.0
 */
export const keyOf = (typeUrl: string, name: string): string => `${typeUrl} ${name}`

/**
 * A resource in words: type and name.
 *
 * @since 0.1.0
 */
export const inWords = (typeUrl: string, name: string): string => `${shortNameOf(typeUrl)} ${name}`

/**
 * Whether a state-of-the-world response of the type is complete.
 *
 * @since 0.1.0
 */
export const isFullState = (typeUrl: string): boolean => byTypeUrl(typeUrl)?.family === "full-state"

/**
 * Runs a check for each event of a trace. A returned text is a problem; its time is added.
 *
 * @since 0.1.0
 */
export const eachEvent = (trace: Trace, step: (event: Event) => string | undefined): ReadonlyArray<string> =>
  trace.flatMap((event) => {
    const problem = step(event)
    return problem === undefined ? [] : [`at ${(event.at / 1000).toFixed(3)} s: ${problem}`]
  })

/**
 * A map that makes missing values.
 *
 * @since 0.1.0
 */
export class Table<K, V> extends Map<K, V> {
  constructor(private readonly make: () => V) {
    super()
  }
  of(key: K): V {
    const known = this.get(key)
    if (known !== undefined) return known
    const made = this.make()
    this.set(key, made)
    return made
  }
}

/**
 * The request that an event sends or receives, if any.
 *
 * @since 0.1.0
 */
export const requestIn = (event: Event, tag: "Sent" | "Received"): Request | undefined =>
  event._tag === tag && event.message._tag === "Request" ? event.message : undefined

/**
 * The response that an event sends or receives, if any.
 *
 * @since 0.1.0
 */
export const responseIn = (event: Event, tag: "Sent" | "Received"): Response | undefined =>
  event._tag === tag && event.message._tag === "Response" ? event.message : undefined

/**
 * The place of a type in the order of an aggregated stream.
 *
 * @since 0.1.0
 */
export const orderOf = (typeUrl: string): number => byTypeUrl(typeUrl)?.order ?? Number.POSITIVE_INFINITY

/**
 * Most milliseconds that a phase waits for an ACK: the default of `phaseDeadline`.
 *
 * @since 0.1.0
 */
export const phaseDeadline = 5_000
