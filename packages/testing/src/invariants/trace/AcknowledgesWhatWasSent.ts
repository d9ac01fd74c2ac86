/**
 * ★ ACK and NACK name a nonce that was received.
 *
 * @since 0.1.0
 */
import { shortNameOf } from "@effect-xds/proto/ResourceType"
import { type TraceInvariant, Table, eachEvent, responseIn, keyOf, requestIn } from "./TraceInvariant.js"

/**
 * Clients answer only responses that they received.
 *
 * @since 0.1.0
 */
export const acknowledgesWhatWasSent: TraceInvariant = {
  sentence: "an ACK or NACK names a nonce that came on this stream for this type",
  check: (trace) => {
    const came = new Table<number, Set<string>>(() => new Set())
    return eachEvent(trace, (event) => {
      if (event._tag === "Ended" && event.side === "client") came.delete(event.stream.id)
      const response = responseIn(event, "Received")
      if (response !== undefined && "stream" in event) {
        came.of(event.stream.id).add(keyOf(response.typeUrl, response.nonce))
      }
      const request = requestIn(event, "Sent")
      if (request === undefined || !("stream" in event) || request.nonce === "") return undefined
      if (came.of(event.stream.id).has(keyOf(request.typeUrl, request.nonce))) return undefined
      return `stream ${event.stream.id}: ${shortNameOf(request.typeUrl)} nonce ${request.nonce} did not come`
    })
  }
}
