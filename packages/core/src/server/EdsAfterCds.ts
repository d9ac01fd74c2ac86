/**
 * ★ Endpoints after clusters: after a new or changed cluster its ClusterLoadAssignment is sent again, even if unchanged.
 *
 * @since 0.1.0
 */
import * as ResourceType from "@effect-xds/proto/ResourceType"
import type { Resource } from "../resource/Resource.js"
import * as ResourceGroups from "../resource/ResourceGroup.js"
import * as ResourceSet from "../resource/ResourceSet.js"
import * as Steps from "../Steps.js"
import * as OnDemandNames from "./OnDemandNames.js"
import * as Collections from "./Collections.js"
import type { Draft } from "./StreamState.js"
import { find, put } from "./StreamState.js"
import type { Subscription } from "./Subscription.js"
import * as Subscriptions from "./Subscription.js"
import * as NameSet from "./NameSet.js"

/** Most assignments remembered for a client that has not subscribed to EDS yet. */
const maxWarming = 10_000

/**
 * ★ Sends the ClusterLoadAssignments of new or changed clusters again, even if unchanged: the client warms the clusters on
 * them, and an incremental client does not request them.
 *
 * @since 0.1.0
 */
export const sendAssignments = (
  self: Draft,
  clusters: Subscription,
  fresh: ReadonlyArray<Resource>
): Steps.Steps<void> | undefined => {
  const endpoints = find(self, ResourceType.besides(clusters.typeUrl, ResourceType.ClusterLoadAssignment))
  if (endpoints === undefined) {
    // ★ A reconnecting client may quote assignments as held when it subscribes to EDS later.
    if (self.options.protocol !== "Incremental") return undefined
    if (clusters.cursor === undefined && clusters.initial.size === 0) self.warming = "all"
    return self.warming === "all" ? undefined : warm(self, self.warming, assignmentsOf(fresh))
  }
  // The first response has everything that the client does not hold.
  if (endpoints.cursor === undefined && endpoints.initial.size === 0) return undefined
  return sendNamed(self, endpoints, assignmentsOf(fresh))
}

/** Remembers assignments until the client subscribes to EDS. */
const warm = function* (
  self: Draft,
  warming: NameSet.NameSet | "none",
  names: ReadonlyArray<string>
): Steps.Steps<void> {
  if (names.length === 0) return
  const more = yield* NameSet.addAllInSteps(warming === "none" ? NameSet.empty : warming, names)
  self.warming = more.size > maxWarming ? "all" : more
}

/** Sends the subscribed ones of these assignments again. */
const sendNamed = function* (self: Draft, endpoints: Subscription, of: ReadonlyArray<string>): Steps.Steps<void> {
  const wild = Subscriptions.isWild(endpoints)
  const set = ResourceGroups.set(self.group ?? ResourceGroups.empty, endpoints.typeUrl)
  // A member that was removed from its collection is nothing that the client asks for. ★ Unless the client still has it: if it is
  // back before its removal is sent, nothing else would send it for the cluster.
  const isThere = (name: string) =>
    Collections.isAsked(endpoints, name) ||
    ResourceSet.get(set, name) !== undefined ||
    OnDemandNames.isHeld(endpoints, name)
  const isAsked = (name: string) => wild || (Subscriptions.hasName(endpoints, name) && isThere(name))
  // ★ A returning client may quote members that are back before its first answer.
  const mayBeQuoted = (name: string) => isAsked(name) || Collections.isMember(endpoints, name)
  const names = yield* Steps.filter(of, isAsked)
  const quoted = endpoints.initial.size === 0 ? [] : yield* Steps.filter(of, mayBeQuoted)
  if (names.length + quoted.length === 0) return
  const next = Subscriptions.draft(endpoints)
  next.requested = yield* NameSet.addAllInSteps(next.requested, names)
  if (quoted.length > 0) next.resendEvenIfHeld = yield* NameSet.addAllInSteps(next.resendEvenIfHeld, quoted)
  self.subscriptions = put(self.subscriptions, next)
}

/** The names of the assignments on which clusters are warmed. */
const assignmentsOf = (clusters: ReadonlyArray<Resource>): ReadonlyArray<string> =>
  clusters.flatMap(({ assignment }) => (assignment === undefined ? [] : [assignment]))
