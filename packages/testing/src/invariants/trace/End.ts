/**
 * The final state of a trace.
 *
 * @since 0.1.0
 */
import type { StreamName, Trace } from "../Trace.js"
import { Stores } from "./Stores.js"
import { type Response, keyOf } from "./TraceInvariant.js"

interface FinalWatch {
  readonly client: string
  readonly typeUrl: string
  readonly name: string
  /** By resource name: the last events of it. */
  readonly told: Map<string, { state: string | undefined; fingerprint: string; last: string }>
}

interface End {
  readonly stores: Stores
  readonly watches: ReadonlyMap<string, FinalWatch>
  /** The client's open streams for a type. */
  readonly streamsOf: (client: string, typeUrl: string) => ReadonlyArray<StreamName>
  /** `<client> <type> <name> <fingerprint>` of resources in responses that the client NACKed. */
  readonly rejected: ReadonlySet<string>
  /** The same without the fingerprint. */
  readonly rejectedNames: ReadonlySet<string>
}

/**
 * Computes the final state of a trace.
 *
 * @since 0.1.0
 */
export const endOf = (trace: Trace): End => {
  const stores = new Stores()
  const watches = new Map<string, FinalWatch>()
  const open = new Map<number, StreamName>()
  const rejected = new Set<string>()
  const rejectedNames = new Set<string>()
  const responses = new Map<string, Response>()
  for (const event of trace) {
    stores.read(event)
    switch (event._tag) {
      case "Watched": {
        const { client, name, typeUrl } = event
        watches.set(`${client} ${keyOf(typeUrl, name)}`, { client, typeUrl, name, told: new Map() })
        break
      }
      case "Unwatched":
        watches.delete(`${event.client} ${keyOf(event.typeUrl, event.name)}`)
        break
      case "Told": {
        const watch = watches.get(`${event.client} ${keyOf(event.typeUrl, event.watch)}`)
        const before = watch?.told.get(event.name)
        // A collection with a member is there.
        if (event.what === "Updated" && event.name !== event.watch) watch?.told.delete(event.watch)
        const isState = event.what === "Updated" || event.what === "DoesNotExist" || event.what === "Error"
        watch?.told.set(event.name, {
          state: isState ? event.what : before?.state,
          fingerprint: event.what === "Updated" ? event.detail : isState ? "" : (before?.fingerprint ?? ""),
          last: event.what
        })
        break
      }
      case "Opened":
        if (event.side === "client") open.set(event.stream.id, event.stream)
        break
      case "Ended":
        if (event.side === "client") open.delete(event.stream.id)
        break
      case "Received":
        if (event.message._tag === "Response") {
          responses.set(`${event.stream.id} ${event.message.nonce}`, event.message)
        }
        break
      case "Sent": {
        const { message, stream } = event
        if (message._tag !== "Request" || message.error === undefined) break
        for (const { fingerprint, name } of responses.get(`${stream.id} ${message.nonce}`)?.resources ?? []) {
          rejected.add(`${stream.client} ${keyOf(message.typeUrl, name)} ${fingerprint}`)
          rejectedNames.add(`${stream.client} ${keyOf(message.typeUrl, name)}`)
        }
        break
      }
      case "Opening":
      case "Joined":
      case "Fault":
      case "Stored":
      case "Started":
      case "Stopped":
      case "Note":
        break
    }
  }
  const streamsOf = (client: string, typeUrl: string) =>
    Array.from(open.values()).filter(
      (stream) => stream.client === client && (stream.typeUrl === undefined || stream.typeUrl === typeUrl)
    )
  return { stores, watches, streamsOf, rejected, rejectedNames }
}
