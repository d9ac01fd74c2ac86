/**
 * ★ Endpoints after clusters: the ClusterLoadAssignment of a cluster that is new or changed is sent again after it, although it is
 * unchanged itself.
 *
 * @since 0.1.0
 */
import * as ResourceType from "@effect-xds/proto/ResourceType"
import * as HashSet from "effect/HashSet"
import type { Resource } from "../resource/Resource.js"
import * as Steps from "../Steps.js"
import type { Subscription } from "./Subscription.js"
import * as Subscriptions from "./Subscription.js"
import * as RequestedNames from "./RequestedNames.js"
import type { Draft } from "./StreamState.js"
import { find, put } from "./StreamState.js"

/** Most assignments that are remembered for a client that has not subscribed to EDS yet. */
const maxWarming = 10_000

/**
 * ★ The ClusterLoadAssignment of a new or changed cluster is sent again after it, although unchanged: the client warms
 * the cluster on it, and an incremental client does not even ask.
 *
 * @since 0.1.0
 */
export const sendAssignments = (
  self: Draft,
  clusters: Subscription,
  fresh: ReadonlyArray<Resource>
): Steps.Steps<void> | undefined => {
  const endpoints = find(self, ResourceType.ClusterLoadAssignment.typeUrl)
  if (endpoints === undefined) {
    // ★ A client that reconnects may still name what it holds when it subscribes to EDS later.
    if (self.options.protocol !== "Incremental") return undefined
    if (clusters.cursor === undefined && clusters.initial.size === 0) self.warming = "all"
    return self.warming === "all" ? undefined : warm(self, self.warming, assignmentsOf(fresh))
  }
  // The first answer brings everything but what the client says it holds.
  if (endpoints.cursor === undefined && endpoints.initial.size === 0) return undefined
  return sendNamed(self, endpoints, assignmentsOf(fresh))
}

/** Notes whose assignments are to be sent when the client subscribes to EDS. */
const warm = function* (
  self: Draft,
  warming: HashSet.HashSet<string> | "none",
  names: ReadonlyArray<string>
): Steps.Steps<void> {
  if (names.length === 0) return
  const more = yield* RequestedNames.withNames(warming === "none" ? HashSet.empty<string>() : warming, names)
  self.warming = HashSet.size(more) > maxWarming ? "all" : more
}

/** Sends those of these assignments that the client asks for. */
const sendNamed = function* (self: Draft, endpoints: Subscription, of: ReadonlyArray<string>): Steps.Steps<void> {
  const wild = Subscriptions.isWild(endpoints)
  const isAsked = (name: string) => wild || Subscriptions.hasName(endpoints, name)
  const names = yield* Steps.filter(of, isAsked)
  if (names.length === 0) return
  const next = Subscriptions.draft(endpoints)
  next.requested = yield* RequestedNames.withNames(next.requested, names)
  if (next.initial.size > 0) next.resendEvenIfHeld = yield* RequestedNames.withNames(next.resendEvenIfHeld, names)
  self.subscriptions = put(self.subscriptions, next)
}

/** The names of the assignments that clusters are warmed with. */
const assignmentsOf = (clusters: ReadonlyArray<Resource>): ReadonlyArray<string> =>
  clusters.flatMap(({ assignment }) => (assignment === undefined ? [] : [assignment]))
