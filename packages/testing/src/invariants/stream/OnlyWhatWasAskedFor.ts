/**
 * Only subscribed resources are sent.
 *
 * @since 0.1.0
 */
import { shortNameOf } from "@effect-xds/proto/ResourceType"
import { isNamed } from "../../reference/ReferenceModel.js"
import type { Invariant } from "./StreamInvariant.js"
import { following } from "./Walk.js"

/**
 * A client gets no type that it did not request.
 *
 * @since 0.1.0
 */
export const onlyWhatWasAskedFor: Invariant = following({
  sentence: "only types that were asked for are sent, and of them only resources that are subscribed to",
  follow: () => ({
    check: ({ model, send }) => {
      const subscription = model.subscriptions.get(send.typeUrl)
      if (subscription === undefined) return `${shortNameOf(send.typeUrl)} was never asked for`
      const isWildcard = subscription.wildcard !== "none" && !model.wildcardOff.has(send.typeUrl)
      const extra = [...send.response.resources, ...send.response.heartbeats].filter(
        (resource) =>
          !isWildcard &&
          // Under a `*` that is switched off, a name just unsubscribed is answered with the existing resource.
          !subscription.toAnswer.has(resource.name) &&
          !isNamed(subscription.names, resource.name) &&
          ![resource.name, ...(send.response.aliases.get(resource.name) ?? [])].some((name) =>
            subscription.names.has(name)
          )
      )
      return extra.length === 0 ? undefined : `${extra.map((each) => each.name).join(", ")} not subscribed to`
    }
  })
})
