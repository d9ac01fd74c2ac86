/**
 * A deliberately naive server for one stream, written from the specification alone, for comparison with the real one.
 *
 * For each type it keeps the subscription and what was sent, in plain maps, and finds what to send by comparing everything each
 * time. Nothing is shared, logged or cached. It does not know TTLs, labels of whole types, VHDS openers and the phases of make
 * before break. On an aggregated stream it sends types in their order.
 *
 * @see https://www.envoyproxy.io/docs/envoy/latest/api-docs/xds_protocol
 * @since 0.1.0
 */
import { type Answer, flush } from "./ReferenceAnswer.js"
import { withListed, replaced, edited } from "./ReferenceRequest.js"
import type { ReferenceModel } from "./ReferenceSubscription.js"
import type { Resource } from "@effect-xds/core/resource/Resource"
import type { Request } from "@effect-xds/core/wire/Request"

/**
 * An input, the same for the reference server and the real one.
 *
 * @since 0.1.0
 */
export type Input =
  | { readonly _tag: "Request"; readonly request: Request }
  /** All resources of the client's group; `undefined`: the group was never set. */
  | { readonly _tag: "Changed"; readonly resources: ReadonlyArray<Resource> | undefined }
  | { readonly _tag: "Writable" }

/**
 * One step: at most one response, and only with credit.
 *
 * @since 0.1.0
 */
export const step = (
  self: ReferenceModel,
  input: Input
): readonly [next: ReferenceModel, answer: Answer | undefined] => {
  switch (input._tag) {
    case "Changed":
      return flush(withListed({ ...self, resources: input.resources }))
    case "Writable":
      return flush({ ...self, credit: true })
    case "Request": {
      const { request } = input
      const before = self.subscriptions.get(request.typeUrl)
      const isWildcardOff = self.wildcardOff.has(request.typeUrl)
      const after =
        request._tag === "StateOfTheWorld"
          ? replaced(before, request, isWildcardOff)
          : edited(before, request, isWildcardOff)
      return flush(withListed({ ...self, subscriptions: new Map(self.subscriptions).set(request.typeUrl, after) }))
    }
  }
}

export { collectionOf, covers, isCollection, isMany, isNamed, ledTo, type Named } from "./ReferenceNames.js"
export { isSubscribed, make, type ReferenceModel, type Subscription } from "./ReferenceSubscription.js"
export type { Answer } from "./ReferenceAnswer.js"
export { isAskedFor, pending, type Pending } from "./ReferencePending.js"
export { observe } from "./ReferenceObservation.js"
