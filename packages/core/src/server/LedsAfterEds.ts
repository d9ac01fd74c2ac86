/**
 * ★ Endpoints of localities (LEDS) after the assignment that names their collections: when that is sent again for its cluster,
 * all members of its collections are, even if unchanged.
 *
 * Envoy makes a changed cluster anew, and warms it on its assignment and on each collection in that. The new cluster's subscription
 * to a collection joins the one that the old cluster has on the stream, so nothing is requested. Without its members the cluster goes
 * into use after `initial_fetch_timeout` with no endpoints.
 *
 * @since 0.1.0
 */
import * as ResourceType from "@effect-xds/proto/ResourceType"
import * as LedsCollections from "../resource/LedsCollections.js"
import type { Resource } from "../resource/Resource.js"
import * as Steps from "../Steps.js"
import * as Collections from "./Collections.js"
import * as RequestedNames from "./RequestedNames.js"
import type { Draft } from "./StreamState.js"
import { find, put } from "./StreamState.js"
import type { Subscription } from "./Subscription.js"
import * as Subscriptions from "./Subscription.js"
import type * as NameSet from "./NameSet.js"

/**
 * Sends the subscribed collections of the answered assignments again.
 *
 * @param assignments the subscription before the response
 * @param fresh the assignments in the response
 * @since 0.1.0
 */
export const sendMembers = (
  self: Draft,
  assignments: Subscription,
  fresh: ReadonlyArray<Resource>
): Steps.Steps<void> | undefined => {
  if (assignments.requested.size === 0) return undefined
  const members = find(self, ResourceType.LbEndpoint.typeUrl)
  if (members?.collections === undefined) return undefined
  // The first response has everything that the client does not hold.
  if (members.cursor === undefined && members.initial.size === 0) return undefined
  return sendAgain(self, assignments, fresh, members, members.collections.globs)
}

const sendAgain = function* (
  self: Draft,
  { requested }: Subscription,
  fresh: ReadonlyArray<Resource>,
  members: Subscription,
  globs: NameSet.NameSet
): Steps.Steps<void> {
  const again: Array<string> = []
  let count = 0
  for (const { name, value } of fresh) {
    if (++count % Steps.atOnce === 0) yield
    // ★ An assignment that only changed needs nothing: Envoy keeps its subscriptions to the same collections.
    if (!requested.has(name)) continue
    for (const glob of LedsCollections.namedIn(value)) if (globs.has(glob)) again.push(glob)
  }
  if (again.length === 0) return
  const next = Subscriptions.draft(members)
  // As if the client subscribed to them again.
  RequestedNames.addNames(next, again)
  RequestedNames.resendHeld(next, again)
  Collections.note(next, again)
  self.subscriptions = put(self.subscriptions, yield* Collections.expand(next, self.group))
}
