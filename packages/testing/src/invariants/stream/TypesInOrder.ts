/**
 * ★ The order of types on an aggregated stream.
 *
 * @since 0.1.0
 */
import { byTypeUrl, shortNameOf } from "@effect-xds/proto/ResourceType"
import type { States } from "../States.js"
import { areGone, areIn } from "../States.js"
import type { Invariant } from "./StreamInvariant.js"
import { following } from "./Walk.js"

/**
 * Make before break, on aggregated streams.
 *
 * @since 0.1.0
 */
export const typesInOrder: Invariant = following({
  sentence:
    "on an aggregated stream what changed is of a state of the group whose types before it have gone out, deletions of one whose changes all have",
  follow: (history) =>
    history.options.typeUrl !== undefined
      ? undefined
      : {
          check: ({ model, removes, send, states, updates }) => {
            const order = (typeUrl: string) => byTypeUrl(typeUrl)?.order ?? Number.POSITIVE_INFINITY
            // Answers are never held back, and neither are corrections.
            if (send.isAnswer || send.isCorrection) return undefined
            // A TTL is renewed when it is due.
            const renewed = [...send.response.resources, ...send.response.heartbeats]
            if (history.options.ttl && renewed.some(({ ttl }) => ttl !== undefined)) return undefined
            const others = Array.from(model.subscriptions)
              // A type that was just requested gets an answer, too.
              .filter(([typeUrl, each]) => typeUrl !== send.typeUrl && !each.unanswered)
              .map(([typeUrl]) => typeUrl)
            const isSome = (...of: Parameters<States["reached"]>) => {
              const counts = states.reached(...of)
              return counts.length === 0 || counts.some((count) => count !== undefined)
            }
            /** The first type that has not reached any state that the response can be of. */
            const behind = (...[before, isOf, kind]: Parameters<States["reached"]>) =>
              isSome(before, isOf, kind)
                ? undefined
                : (before.find((typeUrl) => !isSome([typeUrl], isOf, kind)) ?? before[0])
            const first = others.filter((typeUrl) => order(typeUrl) < order(send.typeUrl))
            const one = shortNameOf(send.typeUrl)
            const early =
              updates.length > 0 ? behind(first, (state) => areIn(updates, send.typeUrl, state), "updates") : undefined
            if (early !== undefined) return `${one} before ${shortNameOf(early)}`
            const late =
              removes.length > 0
                ? behind(others, (state) => areGone(removes, send.typeUrl, state), "deletions")
                : undefined
            if (late !== undefined) return `${one} deletes before ${shortNameOf(late)} is up to date`
            return undefined
          }
        }
})
