/**
 * ★ No response without a request or a change: a NACK causes no resend.
 *
 * @since 0.1.0
 */
import { ClusterLoadAssignment, shortNameOf } from "@effect-xds/proto/ResourceType"
import { areIn } from "../States.js"
import type { Invariant } from "./StreamInvariant.js"
import { following } from "./Walk.js"

/**
 * A response has a cause: a request or a change. A NACK is no cause.
 *
 * @since 0.1.0
 */
export const nothingWithoutReason: Invariant = following({
  sentence: "nothing is sent but for a question or a change: a NACK never causes a resend by itself",
  follow: (history) => ({
    check: ({ ahead, fresh, known, model, send, states, taken, vanished, warming, pending }) => {
      const { response, typeUrl } = send
      const subscription = model.subscriptions.get(typeUrl)
      const isReason =
        subscription === undefined ||
        send.isPart ||
        subscription.unanswered ||
        subscription.toAnswer.size > 0 ||
        pending.updates.length + pending.removals.length + pending.superseded.length > 0 ||
        // It is of an older state: what is new to the client may have changed again or be gone.
        (fresh.length > 0 && states.reached([], (state) => areIn(fresh, typeUrl, state), "updates").length > 0) ||
        (history.options.ttl && response.resources.some((resource) => resource.ttl !== undefined)) ||
        response.heartbeats.length > 0 ||
        response.errors.length > 0 ||
        // A host that is removed first is reported missing then.
        response.absent.some((name) => name.endsWith("/") || taken.has(`${typeUrl} ${name}`)) ||
        response.removed.some((name) => vanished.has(`${typeUrl} ${name}`) || known.has(`${typeUrl} ${name}`)) ||
        (typeUrl === ClusterLoadAssignment.typeUrl && response.removed.some((name) => warming.has(name))) ||
        response.resources.some(
          (resource) =>
            vanished.has(`${typeUrl} ${resource.name}`) ||
            ahead.has(`${typeUrl} ${resource.name}`) ||
            (typeUrl === ClusterLoadAssignment.typeUrl && warming.has(resource.name))
        )
      return isReason ? undefined : `${shortNameOf(typeUrl)} was sent for no reason`
    }
  })
})
