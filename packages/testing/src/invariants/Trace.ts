/**
 * The trace of a simulation: its events in order, as text for people, and as a hash to compare runs.
 *
 * @since 0.1.0
 */
import type { Protocol } from "@effect-xds/core/wire/Request"
import * as ResourceType from "@effect-xds/proto/ResourceType"
import type { PlannedFault } from "../network/Fault.js"
import * as Fault from "../network/Fault.js"

/**
 * A resource in a message or a store.
 *
 * @since 0.1.0
 */
export interface TracedResource {
  readonly name: string
  /** Of its bytes: equal content has equal fingerprints. Empty without a body. */
  readonly fingerprint: string
  /** The version that clients see; empty in state of the world, where resources have none. */
  readonly version: string
  /** The resources that it refers to, as `<type URL> <name>`. */
  readonly refersTo: ReadonlyArray<string>
  /** In a store: its aliases. In a response: those that it carries. */
  readonly aliases?: ReadonlyArray<string> | undefined
  /** In a store: its TTL in milliseconds, if it has one. */
  readonly ttl?: number | undefined
}

/**
 * A request or a response.
 *
 * @since 0.1.0
 */
export type Message =
  | {
      readonly _tag: "Request"
      readonly typeUrl: string
      readonly nonce: string
      /** State of the world: the version that the client uses. */
      readonly version: string
      /** State of the world: all subscribed names. Incremental: newly subscribed names. */
      readonly names: ReadonlyArray<string>
      /** Incremental: unsubscribed names. */
      readonly unsubscribe: ReadonlyArray<string>
      /** Incremental: name → version of resources from an earlier stream. */
      readonly held: Readonly<Record<string, string>>
      /** The error of a NACK. */
      readonly error: string | undefined
    }
  | {
      readonly _tag: "Response"
      readonly typeUrl: string
      readonly nonce: string
      readonly version: string
      readonly resources: ReadonlyArray<TracedResource>
      readonly removed: ReadonlyArray<string>
    }

/**
 * The name of a stream, for both sides.
 *
 * @since 0.1.0
 */
export interface StreamName {
  /** From 1, in the order of opening. */
  readonly id: number
  readonly client: string
  readonly server: string
  readonly protocol: Protocol
  /** The type of a separate service; `undefined`: aggregated. */
  readonly typeUrl: string | undefined
}

/**
 * An event. `at`: milliseconds from the start.
 *
 * @since 0.1.0
 */
export type Event = { readonly at: number } & (
  | { readonly _tag: "Opening"; readonly stream: StreamName }
  /** For the client: the connection is open. For the server: it accepted the stream. */
  | { readonly _tag: "Opened"; readonly stream: StreamName; readonly side: "client" | "server" }
  | { readonly _tag: "Sent"; readonly stream: StreamName; readonly message: Message }
  | { readonly _tag: "Received"; readonly stream: StreamName; readonly message: Message }
  /** One side knows that the stream has ended. */
  | { readonly _tag: "Ended"; readonly stream: StreamName; readonly side: "client" | "server"; readonly reason: string }
  | { readonly _tag: "Fault"; readonly fault: PlannedFault }
  | { readonly _tag: "Watched"; readonly client: string; readonly typeUrl: string; readonly name: string }
  | { readonly _tag: "Unwatched"; readonly client: string; readonly typeUrl: string; readonly name: string }
  /** A watcher got an event of a resource. */
  | {
      readonly _tag: "Told"
      readonly client: string
      readonly typeUrl: string
      readonly name: string
      /** The watched name: the same, `*`, or its collection. */
      readonly watch: string
      readonly what: "Updated" | "DoesNotExist" | "Error" | "AmbientError" | "Recovered"
      /** Updated: fingerprint of the decoded bytes if the type keeps them, else the version. Others: the error. */
      readonly detail: string
    }
  /** A store changed. */
  | {
      readonly _tag: "Stored"
      readonly server: string
      readonly group: string
      /** By type URL. */
      readonly upserted: Readonly<Record<string, ReadonlyArray<TracedResource>>>
      readonly removed: Readonly<Record<string, ReadonlyArray<string>>>
      /** The group is no longer set. */
      readonly cleared: boolean
    }
  /** A stream is of a group from now on: its first, or one that it was moved to. Only where a script moves clients. */
  | { readonly _tag: "Joined"; readonly stream: StreamName; readonly group: string }
  /** A server or client starts. `group`: that of a client. */
  | { readonly _tag: "Started"; readonly host: string; readonly group: string | undefined }
  | { readonly _tag: "Stopped"; readonly host: string }
  | { readonly _tag: "Note"; readonly text: string }
)

/**
 * An event without its time.
 *
 * @since 0.1.0
 */
export type Unstamped = Event extends infer E ? (E extends Event ? Omit<E, "at"> : never) : never

/**
 * The events of a run.
 *
 * @since 0.1.0
 */
export type Trace = ReadonlyArray<Event>

/** Versions and fingerprints are long; six digits are enough to distinguish them. */
const short = (text: string): string => (text.length > 8 ? text.slice(0, 6) : text)

const list = (names: ReadonlyArray<string>): string => {
  if (names.length <= 6) return names.join(" ")
  return `${names.slice(0, 5).join(" ")} and ${names.length - 5} more`
}

/**
 * A message as text: `ACK CDS #3 +a +b`.
 *
 * @since 0.1.0
 */
export const formatMessage = (message: Message): string => {
  const type = ResourceType.shortNameOf(message.typeUrl)
  if (message._tag === "Response") {
    const parts = message.resources.map(({ fingerprint, name }) => `${name}=${short(fingerprint)}`)
    const removed = message.removed.map((name) => `-${name}`)
    const said = [...parts, ...removed]
    return `${type} #${message.nonce}: ${said.length === 0 ? "nothing" : list(said)}`
  }
  const { error, held, names, nonce, unsubscribe } = message
  const changes = [...names.map((name) => `+${name}`), ...unsubscribe.map((name) => `-${name}`)]
  const has = Object.keys(held)
  const about = [
    ...(changes.length === 0 ? [] : [list(changes)]),
    ...(has.length === 0 ? [] : [`(has ${list(has)})`]),
    ...(error === undefined ? [] : [`“${error.slice(0, 60)}”`])
  ].join(" ")
  const what = nonce === "" ? `ask ${type}` : `${error === undefined ? "ACK" : "NACK"} ${type} #${nonce}`
  return about === "" ? what : `${what} ${about}`
}

const formatStream = ({ client, id, protocol, server, typeUrl }: StreamName): string =>
  `stream ${id} of ${client} to ${server} (${protocol === "Incremental" ? "incremental" : "state of the world"}, ${
    typeUrl === undefined ? "ADS" : ResourceType.shortNameOf(typeUrl)
  })`

const formatStored = (event: Event & { readonly _tag: "Stored" }): string => {
  if (event.cleared) return `group ${event.group} is cleared`
  const changes = [
    ...Object.entries(event.upserted).flatMap(([typeUrl, resources]) =>
      resources.map(({ fingerprint, name }) => `${ResourceType.shortNameOf(typeUrl)} ${name}=${short(fingerprint)}`)
    ),
    ...Object.entries(event.removed).flatMap(([typeUrl, names]) =>
      names.map((name) => `${ResourceType.shortNameOf(typeUrl)} -${name}`)
    )
  ]
  return `group ${event.group}: ${changes.length === 0 ? "set, empty" : list(changes)}`
}

interface Line {
  readonly left: string
  readonly arrow: string
  readonly right: string
  readonly text: string
}

const between = (stream: StreamName, arrow: string, text: string): Line => ({
  left: stream.client,
  arrow,
  right: stream.server,
  text: `${stream.id}  ${text}`
})

const alone = (who: string, text: string): Line => ({ left: who, arrow: "", right: "", text })

const lineOf = (event: Event): Line => {
  switch (event._tag) {
    case "Opening":
      return between(event.stream, "┄┄▷", `opens ${formatStream(event.stream)}`)
    case "Opened":
      return event.side === "client"
        ? between(event.stream, "◁┄┄", "connected")
        : between(event.stream, "  ▷│", "accepted")
    case "Sent":
      return event.message._tag === "Request"
        ? between(event.stream, "├──▷", formatMessage(event.message))
        : between(event.stream, "◁──┤", formatMessage(event.message))
    case "Received":
      return event.message._tag === "Request"
        ? between(event.stream, "  ▷│", `took ${formatMessage(event.message)}`)
        : between(event.stream, "│◁  ", `took ${formatMessage(event.message)}`)
    case "Ended":
      return between(
        event.stream,
        event.side === "client" ? "╳   " : "   ╳",
        `over for the ${event.side}: ${event.reason}`
      )
    case "Joined":
      return between(event.stream, "   ⇄", `is of group ${event.group} now`)
    case "Fault":
      return alone("⚡", Fault.format(event.fault))
    case "Watched":
      return alone(event.client, `watches ${ResourceType.shortNameOf(event.typeUrl)} ${event.name}`)
    case "Unwatched":
      return alone(event.client, `watches ${ResourceType.shortNameOf(event.typeUrl)} ${event.name} no more`)
    case "Told":
      return alone(
        event.client,
        `is told ${ResourceType.shortNameOf(event.typeUrl)} ${event.name}${event.watch === event.name ? "" : ` (of ${event.watch})`}: ${event.what} ${
          event.what === "Updated" ? short(event.detail) : event.detail.slice(0, 80)
        }`.trimEnd()
      )
    case "Stored":
      return alone(event.server, formatStored(event))
    case "Started":
      return alone(event.host, "starts")
    case "Stopped":
      return alone(event.host, "stops")
    case "Note":
      return alone("", event.text)
  }
}

/**
 * A trace as a diagram, one line per event: seconds, client, direction, server, number of the stream, text. `├──▷` and `◁──┤`:
 * a message is sent; `▷│` and `│◁`: the other side receives it.
 *
 * @since 0.1.0
 */
export const render = (trace: Trace): string => {
  const lines = trace.map((event) => ({ at: (event.at / 1000).toFixed(3), ...lineOf(event) }))
  const widest = (texts: ReadonlyArray<string>) => texts.reduce((most, text) => Math.max(most, text.length), 0)
  const isBetween = (line: Line) => line.arrow !== ""
  const time = widest(lines.map(({ at }) => at))
  const left = widest(lines.map((line) => line.left))
  const right = widest(lines.filter(isBetween).map((line) => line.right))
  return lines
    .map((line) =>
      isBetween(line)
        ? `${line.at.padStart(time)}  ${line.left.padEnd(left)} ${line.arrow.padEnd(4)} ${line.right.padEnd(right)} ${line.text}`
        : `${line.at.padStart(time)}  ${line.left.padEnd(left)}  ${line.text}`
    )
    .join("\n")
}

const hex = (lane: number): string => (lane >>> 0).toString(16).padStart(8, "0")

/**
 * Sixteen hexadecimal digits (FNV-1a in two lanes). Different traces have different hashes.
 *
 * @since 0.1.0
 */
export const hash = (trace: Trace): string => {
  let one = 0x811c9dc5
  let two = 0xcbf29ce4
  for (const event of trace) {
    const text = JSON.stringify(event)
    for (let index = 0; index < text.length; index++) {
      const unit = text.charCodeAt(index)
      one = Math.imul(one ^ unit, 0x01000193)
      two = Math.imul(two ^ unit, 0x01000197)
    }
  }
  return hex(one) + hex(two)
}

/**
 * Eight hexadecimal digits (FNV-1a) of the bytes of a resource.
 *
 * @since 0.1.0
 */
export const fingerprint = (bytes: Uint8Array): string => {
  let hash = 0x811c9dc5
  for (const byte of bytes) hash = Math.imul(hash ^ byte, 0x01000193)
  return hex(hash)
}
