/**
 * ★ EDS after CDS.
 *
 * @since 0.1.0
 */
import { Cluster, ClusterLoadAssignment } from "@effect-xds/proto/ResourceType"
import * as ReferenceModel from "../../reference/ReferenceModel.js"
import type { StreamName } from "../Trace.js"
import { Asked } from "./Asked.js"
import { Stores } from "./Stores.js"
import { type TraceInvariant, requestIn, responseIn, keyOf } from "./TraceInvariant.js"

/**
 * A cluster never waits in vain for its endpoints.
 *
 * @since 0.1.0
 */
export const assignmentsFollowClusters: TraceInvariant = {
  sentence: "on ADS a cluster that is new or changed is followed by its assignment, even if that did not change",
  check: (trace) => {
    const stores = new Stores()
    interface State {
      readonly stream: StreamName
      /** Cluster name → the fingerprint that was sent, or the version that the client quoted. */
      readonly clusters: Map<string, string>
      readonly asked: Asked
      /** Assignments that clients wait for: since when, and for which cluster. */
      readonly due: Map<string, { readonly at: number; readonly cluster: string }>
    }
    const states = new Map<number, State>()
    for (const event of trace) {
      stores.read(event)
      if (!("stream" in event) || event.stream.typeUrl !== undefined) continue
      const { id, protocol } = event.stream
      if (event._tag === "Ended" && event.side === "server") states.delete(id)
      if (event._tag === "Opened" && event.side === "server") {
        states.set(id, { stream: event.stream, clusters: new Map(), asked: new Asked(), due: new Map() })
      }
      const state = states.get(id)
      if (state === undefined) continue
      const request = requestIn(event, "Received")
      if (request?.typeUrl === Cluster.typeUrl) {
        for (const [name, version] of Object.entries(request.held)) state.clusters.set(name, version)
      }
      if (request?.typeUrl === ClusterLoadAssignment.typeUrl) {
        state.asked.read(request, protocol)
        // A name that is unsubscribed and requested again gets an answer for that.
        const isGivenUp = (name: string) => request.unsubscribe.some((each) => ReferenceModel.covers(each, name))
        for (const name of Array.from(state.due.keys())) {
          if (isGivenUp(name) && !state.asked.wants(name)) state.due.delete(name)
        }
      }
      const response = responseIn(event, "Sent")
      if (response?.typeUrl === ClusterLoadAssignment.typeUrl) {
        for (const { name } of response.resources) state.due.delete(name)
        for (const name of response.removed) state.due.delete(name)
      }
      if (response?.typeUrl !== Cluster.typeUrl) continue
      for (const { fingerprint, name, refersTo, version } of response.resources) {
        const before = state.clusters.get(name)
        if (fingerprint === "" || before === fingerprint || (before !== undefined && before === version)) continue
        state.clusters.set(name, fingerprint)
        for (const to of refersTo) {
          const assignment = to.slice(ClusterLoadAssignment.typeUrl.length + 1)
          state.due.set(assignment, { at: event.at, cluster: name })
        }
      }
      for (const name of response.removed) state.clusters.delete(name)
      // A full state has all resources.
      if (protocol === "StateOfTheWorld") {
        const present = new Set(response.resources.map(({ name }) => name))
        for (const name of Array.from(state.clusters.keys())) if (!present.has(name)) state.clusters.delete(name)
      }
    }
    // At the end of the trace, an assignment that is still due never comes.
    return Array.from(states.values()).flatMap(({ asked, due, stream }) =>
      Array.from(due).flatMap(([name, { at, cluster }]) => {
        const held = stores.held(stream.server, stores.groupOf(stream))
        if (held?.has(keyOf(ClusterLoadAssignment.typeUrl, name)) !== true || !asked.wants(name)) return []
        return [
          `stream ${stream.id}: EDS ${name} was not sent after CDS ${cluster}, sent at ${(at / 1000).toFixed(3)} s`
        ]
      })
    )
  }
}
