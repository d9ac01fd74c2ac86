/**
 * ★ Endpoints of localities (LEDS) after the assignment that names their collections: when that is sent again for its cluster,
 * or begins to name collections that the client has for another one, all members of them are sent, even if unchanged.
 *
 * Envoy makes a changed cluster anew, and warms it on its assignment and on each collection in that. The new cluster's subscription
 * to a collection joins the one that the old cluster, or another one, has on the stream, so nothing is requested. Without its members
 * the cluster goes into use after `initial_fetch_timeout` with no endpoints.
 *
 * @since 0.1.0
 */
import * as ResourceType from "@effect-xds/proto/ResourceType"
import * as ChangeLog from "../resource/ChangeLog.js"
import type { Cursor } from "../resource/Cursor.js"
import * as LedsCollections from "../resource/LedsCollections.js"
import type { Resource } from "../resource/Resource.js"
import * as ResourceGroups from "../resource/ResourceGroup.js"
import type * as ResourceSet from "../resource/ResourceSet.js"
import * as Steps from "../Steps.js"
import * as Collections from "./Collections.js"
import * as RequestedNames from "./RequestedNames.js"
import type { Draft } from "./StreamState.js"
import { find, put } from "./StreamState.js"
import type { Subscription } from "./Subscription.js"
import * as Subscriptions from "./Subscription.js"
import type * as NameSet from "./NameSet.js"

/**
 * Sends the subscribed collections that are new to the clusters of these assignments.
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
  const members = find(self, ResourceType.LbEndpoint.typeUrl)
  if (members?.collections === undefined) return undefined
  // The first response has everything that the client does not hold.
  if (members.cursor === undefined && members.initial.size === 0) return undefined
  return sendAgain(self, assignments, fresh, members, members.collections.globs)
}

const sendAgain = function* (
  self: Draft,
  { cursor, requested, typeUrl }: Subscription,
  fresh: ReadonlyArray<Resource>,
  members: Subscription,
  globs: NameSet.NameSet
): Steps.Steps<void> {
  const again: Array<string> = []
  let before: ReadonlyMap<string, Resource | undefined> | undefined
  let count = 0
  for (const { name, value } of fresh) {
    if (++count % Steps.atOnce === 0) yield
    const subscribed = LedsCollections.namedIn(value).filter((glob) => globs.has(glob))
    if (subscribed.length === 0) continue
    let known: Resource | undefined
    if (!requested.has(name) && cursor !== undefined && self.group !== undefined) {
      before ??= yield* contentsAt(ResourceGroups.set(self.group, typeUrl), cursor)
      known = cursor.held?.get(name) ?? before.get(name)
    }
    // ★ Of an assignment that only changed, Envoy keeps the subscriptions to the same collections.
    const same = known === undefined ? [] : LedsCollections.namedIn(known.value)
    for (const glob of subscribed) if (!same.includes(glob)) again.push(glob)
  }
  if (again.length === 0) return
  const next = Subscriptions.draft(members)
  // As if the client subscribed to them again.
  RequestedNames.addNames(next, again)
  RequestedNames.resendHeld(next, again)
  Collections.note(next, again)
  self.subscriptions = put(self.subscriptions, yield* Collections.expand(next, self.group))
}

/** What changed since a cursor, as it was then. What the log does not have any more is not in it. */
const contentsAt = function* (
  set: ResourceSet.ResourceSet,
  cursor: Cursor
): Steps.Steps<ReadonlyMap<string, Resource | undefined>> {
  const found = new Map<string, Resource | undefined>()
  let count = 0
  for (const { before } of ChangeLog.changesSince(set, cursor) ?? []) {
    for (const [name, resource] of before) {
      if (!found.has(name)) found.set(name, resource)
      if (++count % Steps.atOnce === 0) yield
    }
  }
  return found
}
