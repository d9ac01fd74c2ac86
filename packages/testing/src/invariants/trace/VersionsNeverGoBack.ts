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
    /** By stream and key: the place in the history of what was sent last. */
    const sent = new Table<number, Map<string, number>>(() => new Map())
    return eachEvent(trace, (event) => {
      stores.read(event)
      if (event._tag === "Ended" && event.side === "server") sent.delete(event.stream.id)
      const response = responseIn(event, "Sent")
      if (response === undefined || !("stream" in event)) return undefined
      const { client, id, server } = event.stream
      const places = sent.of(id)
      const group = stores.groupOf(client)
      const { resources, typeUrl } = response
      let problem: string | undefined
      for (const { fingerprint, name } of resources) {
        if (fingerprint === "") continue
        const key = keyOf(typeUrl, name)
        const place = stores.history(server, group, key).indexOf(fingerprint, places.get(key) ?? 0)
        if (place >= 0) places.set(key, place)
        else
          problem = `stream ${id}: ${inWords(typeUrl, name)} with content ${fingerprint} is older than what was sent, or was never stored`
      }
      return problem
    })
  }
}
