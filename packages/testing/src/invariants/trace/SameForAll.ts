/**
 * All clients of a group end with the same resources.
 *
 * @since 0.1.0
 */
import { endOf } from "./End.js"
import { type TraceInvariant, keyOf, inWords } from "./TraceInvariant.js"

/**
 * The protocol variant makes no difference.
 *
 * @since 0.1.0
 */
export const sameForAll: TraceInvariant = {
  sentence: "state-of-the-world and incremental clients of one group end with the same resources",
  check: (trace) => {
    const { rejectedNames, stores, streamsOf, watches } = endOf(trace)
    const problems: Array<string> = []
    const first = new Map<string, { readonly client: string; readonly fingerprint: string }>()
    for (const { client, told, typeUrl } of watches.values()) {
      const streams = streamsOf(client, typeUrl)
      const places = streams.map((stream) => `${stream.server} ${stores.groupOf(stream)}`).join(" ")
      for (const [name, { fingerprint, state }] of told) {
        const isThere = streams.some(
          (stream) => stores.held(stream.server, stores.groupOf(stream))?.has(keyOf(typeUrl, name)) === true
        )
        const wasRejected = rejectedNames.has(`${client} ${keyOf(typeUrl, name)}`)
        if (state !== "Updated" || !isThere || wasRejected) continue
        const key = `${places} ${keyOf(typeUrl, name)}`
        const other = first.get(key)
        if (other === undefined) first.set(key, { client, fingerprint })
        else if (other.fingerprint !== fingerprint) {
          problems.push(
            `${inWords(typeUrl, name)} is ${fingerprint} for ${client} and ${other.fingerprint} for ${other.client}`
          )
        }
      }
    }
    return problems
  }
}
