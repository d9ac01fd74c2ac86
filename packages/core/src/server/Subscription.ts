/**
 * The subscription of one type on one stream, and what was sent: state that both protocol variants share.
 *
 * @since 0.1.0
 */
import * as ResourceType from "@effect-xds/proto/ResourceType"
import * as HashMap from "effect/HashMap"
import * as Cursor from "../resource/Cursor.js"
import type { HeldVersions } from "../resource/HeldVersions.js"
import type { Resource } from "../resource/Resource.js"
import * as ResourceSet from "../resource/ResourceSet.js"
import type * as Steps from "../Steps.js"
import type { ErrorDetail } from "../wire/Request.js"
import * as NameSet from "./NameSet.js"
import * as NameTable from "./NameTable.js"

/**
 * The wildcard of a subscription. `legacy`: no name was ever listed on this stream for this type. `explicit`: by the name `*`.
 *
 * @see https://www.envoyproxy.io/docs/envoy/latest/api-docs/xds_protocol "How the client specifies what resources to return"
 * @since 0.1.0
 */
export type Wildcard = "none" | "legacy" | "explicit"

/**
 * A response that was sent.
 *
 * @since 0.1.0
 */
export interface Sent {
  readonly nonce: string
  readonly version: string
  /** In milliseconds, on the clock of the reducer. */
  readonly at: number
}

/**
 * An outstanding response: it may still be ACKed or NACKed.
 *
 * @since 0.1.0
 */
export interface Outstanding extends Sent {
  /** Names of the resources that it renewed without a body. */
  readonly heartbeats: ReadonlyArray<string>
}

/**
 * A NACKed response, with the client's error. The version is empty if the response is unknown: the NACK had no nonce, or a very
 * old one.
 *
 * @since 0.1.0
 */
export interface Rejected extends Sent {
  readonly error: ErrorDetail
}

/**
 * A pending removal: the client still has the removed resource, because removals go out last on an aggregated stream.
 *
 * @since 0.1.0
 */
export interface PendingRemoval {
  /** The resource as the client has it; `undefined` if the log no longer has it, or the client may have forgotten it. */
  readonly resource: Resource | undefined
  /** Nonce of the last response of the type before the removal; empty if there was none. */
  readonly since: string
  /** When it is due, in milliseconds; Infinity until the phases before it are over. */
  readonly due: number
}

/**
 * What a client had before a response that it NACKed.
 *
 * @since 0.1.0
 */
export interface BeforeRejection {
  /** Nonce of the first NACKed response since the last ACK. */
  readonly nonce: string
  /** Name → fingerprint before that response. */
  readonly before: NameTable.NameTable<string>
}

/**
 * The glob collections of a subscription. Its `names` have each collection and all its members, so that everything else treats a
 * member like a name that the client listed.
 *
 * @since 0.1.0
 */
export interface Collections {
  /** Subscribed glob collections, in canonical form. */
  readonly globs: NameSet.NameSet
  /** The names of the subscription that the client listed, with collections and without their members. */
  readonly asked: NameTable.NameTable<unknown>
  /** Collections whose members were not looked up since they were subscribed to. */
  readonly fresh: ReadonlyArray<string>
  /** Number of members removed from the group since the names were last freed of such. */
  readonly gone: number
}

/**
 * The state of one type on one stream.
 *
 * @since 0.1.0
 */
export interface Subscription {
  readonly typeUrl: string
  /** What the absence of a resource from a state-of-the-world response means; see the table of types. */
  readonly family: "full-state" | "by-name"
  /** Place among the types of an aggregated stream. */
  readonly order: number
  /** Whether this client may use the wildcard of the type. */
  readonly wildcardEnabled: boolean
  readonly wildcard: Wildcard
  /**
   * Subscribed names, without `*`, and the fingerprint of what was sent under each; empty if nothing was, or the name was
   * reported missing. Under a wildcard the fingerprints are not kept up: `cursor` has them.
   */
  readonly names: NameTable.NameTable<string>
  /** Incremental: number of names at the last check for hash collisions. */
  readonly namesChecked: number
  /** `undefined`: no glob collection is subscribed. */
  readonly collections: Collections | undefined
  /** State of the world: the last list of names, to recognise an ACK quickly. */
  readonly lastNames: ReadonlyArray<string>
  /** The state of the set that the client was last brought up to; `undefined` before the first response. */
  readonly cursor: Cursor.Cursor | undefined
  /** Whether a response is due even if it is empty: for the first request. */
  readonly mustReply: boolean
  /** Whether everything is due again, whatever was sent before: for a request of `*`. */
  readonly resendAll: boolean
  /** Requested names that are due, whatever was sent before. */
  readonly requested: NameSet.NameSet
  /** Of those, waiting names and the end of each wait, in milliseconds; see `OnDemandNames`. Some may be answered already. */
  readonly onDemand: HashMap.HashMap<string, number>
  /** Incremental, until the first response: the versions that the client holds from an earlier stream. */
  readonly initial: HeldVersions
  /** Names that are sent even if `initial` has their current version. */
  readonly resendEvenIfHeld: NameSet.NameSet
  /** Name → pending removal. */
  readonly pendingRemovals: ReadonlyMap<string, PendingRemoval>
  /** VHDS without a wildcard: the openers that were sent, and the cursor of the route configurations that they are for. */
  readonly sentOpeners: NameSet.NameSet
  readonly sentOpenersCursor: Cursor.Cursor | undefined
  /** VHDS: names that the next response answers as missing, and that are not subscribed; see `NameCollisions`. */
  readonly refused: ReadonlyArray<string>
  /** Time of the last TTL renewal, in milliseconds. */
  readonly renewedAt: number
  /**
   * Names of resources that the client may have lost: their heartbeat was NACKed, or they were removed when the others were
   * renewed, and the removal was not sent. If they are renewed again, then with their bodies.
   */
  readonly mayBeLost: NameSet.NameSet
  readonly sent: Sent | undefined
  /** Responses that are neither ACKed nor NACKed, oldest first. Bounded. */
  readonly outstanding: ReadonlyArray<Outstanding>
  readonly acked: Sent | undefined
  readonly nacked: Rejected | undefined
  /** The last update, until its ACK. Later phases wait for it, for one deadline from its sending. */
  readonly unackedUpdate: Sent | undefined
  /** Name → fingerprint of what the client had before the last response, until its ACK; `undefined` if unknown. */
  readonly before: NameTable.NameTable<string> | undefined
  /** From a NACK to the next ACK, if it is known what the client had before. */
  readonly beforeRejection: BeforeRejection | undefined
}

/**
 * No subscribed names.
 *
 * @since 0.1.0
 */
export const noNames = NameTable.empty<string>()

/**
 * No requested names.
 *
 * @since 0.1.0
 */
export const noNameSet = NameSet.empty

/**
 * No waiting names.
 *
 * @since 0.1.0
 */
export const noneOnDemand = HashMap.empty<string, number>()

/**
 * No held versions.
 *
 * @since 0.1.0
 */
export const noVersions: HeldVersions = new Map()

const noPendingRemovals: ReadonlyMap<string, PendingRemoval> = new Map()

/**
 * An empty list of names.
 *
 * @since 0.1.0
 */
export const noList: ReadonlyArray<string> = []

/**
 * No outstanding responses.
 *
 * @since 0.1.0
 */
export const noneOutstanding: ReadonlyArray<Outstanding> = []

/**
 * Template for records of responses, which are made as copies. ★ After many clients have connected at once, V8 expects objects
 * of a literal to live long, and allocates them in old space. There only a full collection frees the records of ACKed
 * responses: 100 MB. Copies, made by spreading or `with`, avoid this. `at` is a double from the start, so that no copy changes
 * its representation.
 *
 * @since 0.1.0
 */
export const noSent: Sent = { nonce: "", version: "", at: Number.POSITIVE_INFINITY }

/**
 * {@link noSent} for outstanding responses.
 *
 * @since 0.1.0
 */
export const noOutstanding: Outstanding = { ...noSent, heartbeats: noList }

/**
 * Template for a list of one outstanding response; see {@link noSent}.
 *
 * @since 0.1.0
 */
export const oneOutstanding: ReadonlyArray<Outstanding> = [noOutstanding]

/** Order of types outside the table: last, because no known type refers to them. */
const lastOrder = 100

/**
 * A new subscription of a type.
 *
 * @since 0.1.0
 */
export const make = (typeUrl: string, wildcardEnabled: boolean): Subscription => {
  const type = ResourceType.byTypeUrl(typeUrl)
  return {
    typeUrl,
    family: type?.family ?? "by-name",
    order: type?.order ?? lastOrder,
    wildcardEnabled,
    wildcard: "none",
    names: noNames,
    namesChecked: 0,
    collections: undefined,
    lastNames: noList,
    cursor: undefined,
    mustReply: true,
    resendAll: false,
    requested: noNameSet,
    onDemand: noneOnDemand,
    initial: noVersions,
    resendEvenIfHeld: noNameSet,
    pendingRemovals: noPendingRemovals,
    sentOpeners: noNameSet,
    sentOpenersCursor: undefined,
    refused: noList,
    renewedAt: Number.NEGATIVE_INFINITY,
    mayBeLost: noNameSet,
    sent: undefined,
    outstanding: noneOutstanding,
    acked: undefined,
    nacked: undefined,
    unackedUpdate: undefined,
    before: noNames,
    beforeRejection: undefined
  }
}

/**
 * A mutable copy of a subscription.
 *
 * @since 0.1.0
 */
export type Draft = { -readonly [Key in keyof Subscription]: Subscription[Key] }

/**
 * A copy to change. Written out, because this runs for every response and every ACK, and V8 up to version 11 takes ten times as
 * long for `{ ...self }` with so many fields.
 *
 * @since 0.1.0
 */
export const draft = (self: Subscription): Draft => ({
  typeUrl: self.typeUrl,
  family: self.family,
  order: self.order,
  wildcardEnabled: self.wildcardEnabled,
  wildcard: self.wildcard,
  names: self.names,
  namesChecked: self.namesChecked,
  collections: self.collections,
  lastNames: self.lastNames,
  cursor: self.cursor,
  mustReply: self.mustReply,
  resendAll: self.resendAll,
  requested: self.requested,
  onDemand: self.onDemand,
  initial: self.initial,
  resendEvenIfHeld: self.resendEvenIfHeld,
  pendingRemovals: self.pendingRemovals,
  sentOpeners: self.sentOpeners,
  sentOpenersCursor: self.sentOpenersCursor,
  refused: self.refused,
  renewedAt: self.renewedAt,
  mayBeLost: self.mayBeLost,
  sent: self.sent,
  outstanding: self.outstanding,
  acked: self.acked,
  nacked: self.nacked,
  unackedUpdate: self.unackedUpdate,
  before: self.before,
  beforeRejection: self.beforeRejection
})

/**
 * The subscription with other held versions; unchanged if they are the same.
 *
 * @since 0.1.0
 */
export const withInitial = (self: Subscription, initial: HeldVersions): Subscription => {
  if (self.initial === initial) return self
  const next = draft(self)
  next.initial = initial
  return next
}

/**
 * Whether the client gets every resource of the type.
 *
 * @since 0.1.0
 */
export const isWild = (self: Subscription): boolean => self.wildcardEnabled && self.wildcard !== "none"

/**
 * Whether a name is subscribed by name.
 *
 * @since 0.1.0
 */
export const hasName = (self: Subscription, name: string): boolean => self.names.has(name)

/**
 * The names that the client listed. Those of the members of its glob collections are not among them.
 *
 * @since 0.1.0
 */
export const askedNames = ({ collections, names }: Subscription): NameTable.NameTable<unknown> =>
  collections === undefined ? names : collections.asked

/**
 * Whether a request is not answered yet.
 *
 * @since 0.1.0
 */
export const isUnanswered = (self: Subscription): boolean => self.mustReply || self.requested.size > 0

/**
 * Whether a subscription has no wildcard, is answered, and has nothing pending.
 *
 * @since 0.1.0
 */
export const isIdle = (self: Subscription): boolean =>
  self.wildcard === "none" &&
  self.cursor !== undefined &&
  !self.mustReply &&
  self.pendingRemovals.size === 0 &&
  self.requested.size === 0

/**
 * The subscription after its client moved to another group. The client keeps what it holds, but that is not a state of the
 * other group's set.
 *
 * @param set the set of the group before
 * @since 0.1.0
 */
export const elsewhere = function* (self: Subscription, set: ResourceSet.ResourceSet): Steps.Steps<Subscription> {
  if (self.cursor === undefined) return self
  const next = draft(self)
  next.cursor = Cursor.elsewhere(self.cursor, yield* ResourceSet.resourcesAt(set, self.cursor))
  return next
}
