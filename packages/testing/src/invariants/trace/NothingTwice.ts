/**
 * ★ Incremental: what the client holds is not sent again.
 *
 * @since 0.1.0
 */
import { Cluster, ClusterLoadAssignment } from "@effect-xds/proto/ResourceType"
import * as ReferenceModel from "../../reference/ReferenceModel.js"
import { Asked } from "./Asked.js"
import { Stores } from "./Stores.js"
import { type TraceInvariant, Table, eachEvent, requestIn, keyOf, responseIn, inWords } from "./TraceInvariant.js"

/**
 * Incremental: only changes are sent.
 *
 * @since 0.1.0
 */
export const nothingTwice: TraceInvariant = {
  sentence: "nothing is resent that the client holds (incremental)",
  check: (trace) => {
    const stores = new Stores()
    interface Held {
      /** `undefined`: known by a quoted version only. */
      readonly fingerprint: string | undefined
      readonly version: string
      readonly at: number
      /** Whether it was an answer. It may come again with a change that was under way. */
      readonly isAnswer: boolean
      /** The aliases by which it came. */
      readonly aliases: ReadonlyArray<string>
    }
    interface State {
      readonly held: Map<string, Held>
      readonly asked: Table<string, Asked>
      /** Keys of resources that a new or changed cluster refers to. */
      readonly warming: Set<string>
      /** Whether the client has no clusters from before, so that it warms all that it gets. */
      warmsAll: boolean
    }
    const states = new Table<number, State>(() => ({
      held: new Map(),
      asked: new Table(() => new Asked()),
      warming: new Set(),
      warmsAll: true
    }))
    return eachEvent(trace, (event) => {
      stores.read(event)
      if (!("stream" in event) || event.stream.protocol !== "Incremental") return undefined
      const { id } = event.stream
      if (event._tag === "Ended" && event.side === "server") states.delete(id)
      const state = states.of(id)
      const request = requestIn(event, "Received")
      if (request !== undefined) {
        const asked = state.asked.of(request.typeUrl)
        asked.read(request, "Incremental")
        for (const name of request.unsubscribe) {
          state.held.delete(keyOf(request.typeUrl, name))
          if (!ReferenceModel.isCollection(name)) continue
          // Members that were asked for by name stay.
          for (const key of Array.from(state.held.keys())) {
            const member = key.slice(request.typeUrl.length + 1)
            const isOf = key.startsWith(`${request.typeUrl} `) && ReferenceModel.covers(name, member)
            if (isOf && !asked.names.has(member)) state.held.delete(key)
          }
        }
        for (const [name, version] of Object.entries(request.held)) {
          const key = keyOf(request.typeUrl, name)
          state.held.set(key, { fingerprint: undefined, version, at: event.at, isAnswer: false, aliases: [] })
          asked.recent.delete(name)
          asked.recent.delete(ReferenceModel.collectionOf(name))
        }
        if (Object.keys(request.held).length > 0) {
          asked.recent.delete("*")
          if (request.typeUrl === Cluster.typeUrl) state.warmsAll = false
        }
      }
      const response = responseIn(event, "Sent")
      if (response === undefined) return undefined
      const { removed, resources, typeUrl } = response
      const asked = state.asked.of(typeUrl)
      let problem: string | undefined
      for (const { aliases = [], fingerprint, name, refersTo, version } of resources) {
        if (fingerprint === "") continue
        const key = keyOf(typeUrl, name)
        const before = state.held.get(key)
        // A name that led elsewhere leads here now. Or the TTL may have ended.
        const isMoved = aliases.some((alias) => before?.aliases.includes(alias) !== true)
        const isRenewal = stores.hadTtl(event.stream, key)
        const isSame =
          before !== undefined &&
          (before.fingerprint === undefined ? before.version === version : before.fingerprint === fingerprint)
        const isChanged = before !== undefined && stores.changedAt(event.stream, key) >= before.at
        const isAnswer = asked.isRecent(name) || aliases.some((alias) => asked.isRecent(alias))
        const isWarming = state.warming.has(key) || (typeUrl === ClusterLoadAssignment.typeUrl && state.warmsAll)
        if (isSame && !isChanged && !isAnswer && !before.isAnswer && !isWarming && !isMoved && !isRenewal) {
          problem = `stream ${id}: ${inWords(typeUrl, name)} is sent again`
        }
        state.held.set(key, { fingerprint, version, at: event.at, isAnswer, aliases })
        state.warming.delete(key)
        for (const to of refersTo) if (typeUrl === Cluster.typeUrl) state.warming.add(to)
      }
      for (const name of removed) state.held.delete(keyOf(typeUrl, name))
      asked.recent.clear()
      if (typeUrl === ClusterLoadAssignment.typeUrl) state.warmsAll = false
      return problem
    })
  }
}
