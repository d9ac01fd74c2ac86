/**
 * ★ Rounds: no type starves on an aggregated stream.
 *
 * @since 0.1.0
 */
import { byTypeUrl, ClusterLoadAssignment, shortNameOf } from "@effect-xds/proto/ResourceType"
import * as ReferenceModel from "../../reference/ReferenceModel.js"
import { type Invariant, isChange } from "./StreamInvariant.js"
import { following, updatesOf } from "./Walk.js"

/**
 * Fairness, on aggregated streams.
 *
 * @since 0.1.0
 */
export const nothingStarves: Invariant = following({
  sentence:
    "on an aggregated stream a type that has something to send is delayed by at most one response of each other type",
  follow: (history) => {
    if (history.options.typeUrl !== undefined) return undefined
    const { phaseDeadline, protocol } = history.options
    interface Wait {
      /** Names that were to be sent when the wait started; `*` for an answer. */
      readonly of: ReadonlyArray<string>
      /** When a phase may have started. */
      since: number | undefined
      /** By type: number of cluster and endpoint responses during the wait, for the phase under way and its own. */
      readonly before: Map<string, number>
      /** By type: number of responses of this type that should not have come first. */
      readonly counts: Map<string, number>
    }
    const waiting = new Map<string, Wait>()
    const isLate = (typeUrl: string) =>
      (byTypeUrl(typeUrl)?.order ?? Number.POSITIVE_INFINITY) > ClusterLoadAssignment.order
    /**
     * Whether requested names have an answer: not for a resource that the client holds, and in state of the world only for
     * existing ones.
     */
    const isAnswered = (
      { resources = [], subscriptions }: ReferenceModel.ReferenceModel,
      typeUrl: string,
      asked: Iterable<string>
    ): boolean =>
      Array.from(asked).some((name) => {
        const found = ReferenceModel.ledTo(resources, typeUrl, name)
        const held = subscriptions.get(typeUrl)?.sent.get(found?.name ?? name)?.identity
        return found === undefined ? protocol === "Incremental" : held !== `version ${found.version}`
      })
    const asked = new Map<string, ReadonlySet<string>>()
    /** Time since when there is no credit. */
    let stalled: number | undefined
    /** By type: names that the last response removed. */
    const removed = new Map<string, ReadonlyArray<string>>()
    return {
      check: ({ model, now, send }) => {
        stalled = now
        const names = [...Array.from(send.response.aliases.values()).flat(), ...send.response.absent]
        const isHalf = names.some((name) => removed.get(send.typeUrl)?.includes(name) === true)
        const earlier = send.isPart ? (removed.get(send.typeUrl) ?? []) : []
        removed.set(send.typeUrl, [...earlier, ...send.response.removed])
        waiting.delete(send.typeUrl)
        asked.delete(send.typeUrl)
        // All parts count as one response.
        if (send.isPart) return undefined
        for (const [typeUrl, wait] of waiting) {
          // Removals have turns of their own, and so has what could not be in one response with them.
          if (send.response.resources.length + send.response.heartbeats.length === 0 || isHalf) continue
          // A type that waits for a phase may wait for two: the one under way, and its own. A phase starts when the clusters
          // and endpoints of its state have gone out, and a client may delay those.
          const isHeld = isLate(typeUrl) && model.subscriptions.get(typeUrl)?.unanswered !== true
          if (isHeld && !isLate(send.typeUrl)) {
            const before = (wait.before.get(send.typeUrl) ?? 0) + 1
            wait.before.set(send.typeUrl, before)
            if (before <= 2) wait.since = now
          }
          wait.since ??= now
          if (isHeld && now < wait.since + 2 * phaseDeadline) continue
          const count = (wait.counts.get(send.typeUrl) ?? 0) + 1
          wait.counts.set(send.typeUrl, count)
          if (count > 1) return `${shortNameOf(typeUrl)} waits, and ${shortNameOf(send.typeUrl)} is sent again`
        }
        return undefined
      },
      after: (model, before, input, now) => {
        if (input._tag === "Writable" && stalled !== undefined) {
          // A phase that ends while there is no credit ends when there is credit.
          for (const wait of waiting.values()) if (wait.since !== undefined) wait.since += now - stalled
          stalled = undefined
        }
        if (input._tag === "Request") {
          const { typeUrl } = input.request
          const old = before.subscriptions.get(typeUrl)?.toAnswer
          const added = Array.from(model.subscriptions.get(typeUrl)?.toAnswer ?? []).filter(
            (name) => old?.has(name) !== true
          )
          asked.set(typeUrl, new Set([...(asked.get(typeUrl) ?? []), ...added]))
        }
        // Names whose resource was made or removed since the request may be answered in the next round.
        if (isChange(input)) asked.clear()
        for (const [typeUrl, { toAnswer, unanswered }] of model.subscriptions) {
          const answers = Array.from(asked.get(typeUrl) ?? []).filter((name) => toAnswer.has(name))
          const of =
            model.resources === undefined
              ? []
              : [
                  ...(unanswered ? ["*"] : []),
                  ...(isAnswered(model, typeUrl, answers) ? answers : []),
                  ...updatesOf(model, typeUrl)
                ]
          if (of.length === 0) waiting.delete(typeUrl)
          // What it waited for may have been unsubscribed meanwhile. Then it waits for the round after that.
          else if (waiting.get(typeUrl)?.of.some((name) => of.includes(name)) !== true)
            waiting.set(typeUrl, { of, since: undefined, before: new Map(), counts: new Map() })
        }
      }
    }
  }
})
