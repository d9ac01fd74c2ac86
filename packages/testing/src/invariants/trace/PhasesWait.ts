/**
 * ★ Phases wait for the ACKs of the one before, for one deadline.
 *
 * @since 0.1.0
 */
import * as ResourceGroups from "@effect-xds/core/resource/ResourceGroup"
import type { Output } from "@effect-xds/core/server/ServerStream"
import { ClusterLoadAssignment, shortNameOf } from "@effect-xds/proto/ResourceType"
import * as ReferenceModel from "../../reference/ReferenceModel.js"
import * as Invariants from "../Invariants.js"
import { areGone, areIn, States } from "../States.js"
import { ofStreams, untilCleared } from "./StreamRules.js"
import { type TraceInvariant, orderOf, phaseDeadline, keyOf } from "./TraceInvariant.js"

type Send = Extract<Output, { readonly _tag: "Send" }>

/**
 * Make before break: a resource is sent after the client took what it refers to, removals after it took everything.
 *
 * @since 0.1.0
 */
export const phasesWait: TraceInvariant = ofStreams({
  sentence:
    "on ADS listeners and routes wait until the clusters and endpoints of their state are acknowledged, and deletions for all of theirs, for 5 seconds at most",
  check: (history) => {
    const { options, steps } = untilCleared(history)
    if (options.typeUrl !== undefined) return []
    const isIncremental = options.protocol === "Incremental"
    let model = ReferenceModel.make(options.protocol, options.wildcardOff)
    let count = 0
    /** Number → response with a change that is not ACKed. */
    const outstanding = new Map<number, { readonly typeUrl: string; readonly at: number }>()
    /** Type and nonce → number of the response. */
    const places = new Map<string, number>()
    const rejected = new Set<string>()
    const warming = new Set<string>()
    const states = new States()
    const isLate = (typeUrl: string) => orderOf(typeUrl) > ClusterLoadAssignment.order
    /** The response that must be ACKed first: one up to that by which the client reached the state. */
    const gateOf = (place: number, now: number, isGate: (typeUrl: string) => boolean) =>
      Array.from(outstanding).find(
        ([each, { at, typeUrl }]) => each <= place && isGate(typeUrl) && now < at + phaseDeadline
      )?.[1].typeUrl
    /** The type that must come first, whatever state the response is of. */
    const missing = (
      of: Parameters<States["reached"]>,
      now: number,
      isGate: (typeUrl: string) => boolean
    ): string | undefined => {
      const gates = states.reached(...of).flatMap((place) => (place === undefined ? [] : [gateOf(place, now, isGate)]))
      return gates.length > 0 && gates.every((gate) => gate !== undefined) ? gates[0] : undefined
    }
    /** The problem of a response, before the model counts it. */
    const problemOf = ({ response, typeUrl }: Send, now: number): string | undefined => {
      const subscription = model.subscriptions.get(typeUrl)
      if (subscription === undefined || subscription.unanswered || subscription.toAnswer.size > 0) return undefined
      if (response.heartbeats.length > 0 || response.resources.some(({ ttl }) => ttl !== undefined)) return undefined
      // A correction waits for nothing.
      if (rejected.has(typeUrl)) return undefined
      const others = Array.from(model.subscriptions.keys()).filter((other) => other !== typeUrl)
      const updates = response.resources.filter(
        ({ fingerprint, name }) => subscription.sent.has(name) && subscription.sent.get(name)?.identity !== fingerprint
      )
      const early = others.filter((other) => !isLate(other))
      const first =
        isLate(typeUrl) && updates.length > 0
          ? missing([early, (state) => areIn(updates, typeUrl, state), "updates"], now, (other) => !isLate(other))
          : undefined
      if (first !== undefined) return `${shortNameOf(typeUrl)} is changed before ${shortNameOf(first)} is acknowledged`
      const removes = ReferenceModel.pending(model, typeUrl).removals.filter((name) =>
        isIncremental
          ? // An assignment that is gone is answered at once when its cluster was sent.
            response.removed.includes(name) && !(typeUrl === ClusterLoadAssignment.typeUrl && warming.has(name))
          : !response.resources.some((each) => each.name === name)
      )
      const other =
        removes.length > 0
          ? missing([others, (state) => areGone(removes, typeUrl, state), "deletions"], now, (each) => each !== typeUrl)
          : undefined
      if (other !== undefined) return `${shortNameOf(typeUrl)} deletes before ${shortNameOf(other)} is acknowledged`
      return undefined
    }
    return steps.flatMap(({ input, now, outputs }) => {
      if (input._tag === "Request") {
        const { errorDetail, responseNonce, typeUrl } = input.request
        const place = places.get(keyOf(typeUrl, responseNonce))
        if (place !== undefined && errorDetail === undefined) {
          for (const [each, { typeUrl: of }] of outstanding)
            if (of === typeUrl && each <= place) outstanding.delete(each)
        }
        if (place !== undefined && errorDetail !== undefined) rejected.add(typeUrl)
        ;[model] = ReferenceModel.step(model, input)
      }
      if (Invariants.isChange(input)) {
        const resources = input.group === undefined ? undefined : ResourceGroups.all(input.group)
        ;[model] = ReferenceModel.step(model, { _tag: "Changed", resources })
        states.changed(resources)
        states.look(model, count, undefined)
      }
      if (input._tag === "Request") states.look(model, count, input.request.typeUrl)
      const problems: Array<string> = []
      for (const output of outputs) {
        if (output._tag !== "Send") continue
        const { nonce, response, typeUrl } = output
        const problem = problemOf(output, now)
        if (problem !== undefined) problems.push(`at ${(now / 1000).toFixed(3)} s: ${problem}`)
        const subscription = model.subscriptions.get(typeUrl)
        const isAnswer = subscription?.unanswered !== false || subscription.toAnswer.size > 0
        const isUpdate = response.resources.some(
          ({ fingerprint, name }) => subscription?.sent.get(name)?.identity !== fingerprint
        )
        places.set(keyOf(typeUrl, nonce), ++count)
        rejected.delete(typeUrl)
        if (!isAnswer && isUpdate) outstanding.set(count, { typeUrl, at: now })
        model = ReferenceModel.observe(model, response, nonce)
        for (const { assignment, name } of response.resources) {
          if (assignment !== undefined) warming.add(assignment)
          if (typeUrl === ClusterLoadAssignment.typeUrl) warming.delete(name)
        }
        states.look(model, count, typeUrl)
      }
      return problems
    })
  }
})
