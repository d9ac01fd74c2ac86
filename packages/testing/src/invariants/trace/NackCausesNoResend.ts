/**
 * ★ A NACK causes no resend.
 *
 * @since 0.1.0
 */
import { Cluster, ClusterLoadAssignment, shortNameOf } from "@effect-xds/proto/ResourceType"
import { type TraceInvariant, Table, eachEvent, requestIn, responseIn, type Response } from "./TraceInvariant.js"

const contentOf = (response: Response): string =>
  JSON.stringify([response.resources.map(({ fingerprint, name }) => [name, fingerprint]), response.removed])

/**
 * A NACK requests nothing.
 *
 * @since 0.1.0
 */
export const nackCausesNoResend: TraceInvariant = {
  sentence: "a NACK never causes a resend by itself",
  check: (trace) => {
    interface State {
      content: string
      nonce: string
      isRejected: boolean
      hasReason: boolean
      names: string
    }
    const states = new Table<string, State>(() => ({
      content: "",
      nonce: "",
      isRejected: false,
      hasReason: true,
      names: ""
    }))
    /** By server: the keys of the states of its streams. */
    const ofServer = new Table<string, Set<string>>(() => new Set())
    return eachEvent(trace, (event) => {
      if (event._tag === "Stored") {
        for (const key of ofServer.of(event.server)) states.of(key).hasReason = true
      }
      if (!("stream" in event)) return undefined
      const { stream } = event
      if (event._tag === "Joined") {
        for (const key of ofServer.of(stream.server)) {
          if (key.startsWith(`${stream.id} `)) states.of(key).hasReason = true
        }
      }
      if (event._tag === "Ended" && event.side === "server") {
        for (const key of ofServer.of(stream.server)) {
          if (!key.startsWith(`${stream.id} `)) continue
          states.delete(key)
          ofServer.of(stream.server).delete(key)
        }
      }
      const request = requestIn(event, "Received")
      if (request !== undefined) {
        const key = `${stream.id} ${request.typeUrl}`
        ofServer.of(stream.server).add(key)
        const state = states.of(key)
        const names = JSON.stringify(request.names)
        if (stream.protocol === "Incremental") {
          if (request.names.length + request.unsubscribe.length > 0) state.hasReason = true
        } else if (request.nonce === "" || state.nonce === "" || request.nonce === state.nonce) {
          // What crossed a response is ignored whole, names included.
          if (names !== state.names) state.hasReason = true
          state.names = names
        }
        if (request.error !== undefined && request.nonce === state.nonce) state.isRejected = true
      }
      const response = responseIn(event, "Sent")
      if (response === undefined) return undefined
      const key = `${stream.id} ${response.typeUrl}`
      const state = states.of(key)
      const content = contentOf(response)
      const isAgain = state.isRejected && !state.hasReason && state.content === content
      Object.assign(state, { content, nonce: response.nonce, isRejected: false, hasReason: false })
      // Assignments are sent again after their clusters.
      if (response.typeUrl === Cluster.typeUrl) {
        states.of(`${stream.id} ${ClusterLoadAssignment.typeUrl}`).hasReason = true
      }
      return isAgain ? `stream ${stream.id}: ${shortNameOf(response.typeUrl)} is sent again after its NACK` : undefined
    })
  }
}
