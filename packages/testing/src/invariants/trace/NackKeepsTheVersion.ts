/**
 * ★ A NACK keeps the version that is in use.
 *
 * @since 0.1.0
 */
import { shortNameOf } from "@effect-xds/proto/ResourceType"
import { type TraceInvariant, eachEvent, requestIn } from "./TraceInvariant.js"

/**
 * The version in a NACK is the one in use.
 *
 * @since 0.1.0
 */
export const nackKeepsTheVersion: TraceInvariant = {
  sentence: "a NACK never advances the version",
  check: (trace) => {
    const accepted = new Map<string, string>()
    return eachEvent(trace, (event) => {
      const request = requestIn(event, "Sent")
      if (request === undefined || !("stream" in event) || event.stream.protocol === "Incremental") return undefined
      const key = `${event.stream.id} ${request.typeUrl}`
      if (request.error === undefined) {
        accepted.set(key, request.version)
        return undefined
      }
      const before = accepted.get(key) ?? ""
      // No version: new names come with it, for which the client has nothing of the accepted one. It advances nothing.
      if (request.version === before || request.version === "") return undefined
      return `stream ${event.stream.id}: the NACK of ${shortNameOf(request.typeUrl)} has version ${request.version}, in use is ${JSON.stringify(before)}`
    })
  }
}
