/**
 * A server never sends an older version than before.
 *
 * @since 0.1.0
 */
import { Stores } from "./Stores.js"
import { type TraceInvariant, Table, eachEvent, responseIn, keyOf, inWords } from "./TraceInvariant.js"

/**
 * A client is never sent an older version than before.
 *
 * @since 0.1.0
 */
export const versionsNeverGoBack: TraceInvariant = {
  sentence: "versions never go back on one server",
  check: (trace) => {
    const stores = new Stores()
    /** In a group: by key, the place in its history of what was sent last. */
    interface Sent {
      readonly group: string
      readonly places: Map<string, number>
    }
    /** By stream, for each group that it was in: what the one before was sending may still go out after a move. */
    const sent = new Table<number, Array<Sent>>(() => [])
    return eachEvent(trace, (event) => {
      stores.read(event)
      if (event._tag === "Ended" && event.side === "server") sent.delete(event.stream.id)
      if (event._tag === "Joined") {
        const { group, stream } = event
        // Nothing that the group held before the move.
        const keys = stores.held(stream.server, group)?.keys() ?? []
        const placeOf = (key: string) => stores.history(stream.server, group, key).length - 1
        sent.of(stream.id).push({ group, places: new Map(Array.from(keys, (key) => [key, placeOf(key)])) })
      }
      const response = responseIn(event, "Sent")
      if (response === undefined || !("stream" in event)) return undefined
      const { id, server } = event.stream
      const groups = sent.of(id)
      if (groups.length === 0) groups.push({ group: stores.groupOf(event.stream), places: new Map() })
      const { resources, typeUrl } = response
      let problem: string | undefined
      for (const { fingerprint, name } of resources) {
        if (fingerprint === "") continue
        const key = keyOf(typeUrl, name)
        const isOf = ({ group, places }: Sent): boolean => {
          const place = stores.history(server, group, key).indexOf(fingerprint, places.get(key) ?? 0)
          if (place >= 0) places.set(key, place)
          return place >= 0
        }
        if (!groups.toReversed().some(isOf))
          problem = `stream ${id}: ${inWords(typeUrl, name)} with content ${fingerprint} is older than what was sent, or was never stored`
      }
      return problem
    })
  }
}
