/**
 * What one stream asked for of one type, and what it was sent: the state both protocol variants share.
 *
 * @since 0.1.0
 */
import * as Cursor from "../resource/Cursor.js"
import type { HeldVersions } from "../resource/HeldVersions.js"
import type { Resource } from "../resource/Resource.js"
import * as ResourceSet from "../resource/ResourceSet.js"
import type * as Steps from "../Steps.js"
import type { ErrorDetail } from "../wire/Request.js"
import * as ResourceType from "@effect-xds/proto/ResourceType"
import * as HashMap from "effect/HashMap"
import * as HashSet from "effect/HashSet"

/**
 * Whether everything is asked for. `legacy`: because no name was ever given on this stream for this type. `explicit`:
 * by the name `*`.
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
  /** Milliseconds, as given to the reducer. */
  readonly at: number
}

/**
 * A response that may still be answered.
 *
 * @since 0.1.0
 */
export interface Outstanding extends Sent {
  /** What it renewed without a body. */
  readonly heartbeats: ReadonlyArray<string>
}

/**
 * A response that was rejected, in the client's words. The version is empty if it is not known which: the NACK had no nonce,
 * or that of a response of long ago.
 *
 * @since 0.1.0
 */
export interface Rejected extends Sent {
  readonly error: ErrorDetail
}

/**
 * A deleted resource that the client still has, because deletions go out last on an aggregated stream.
 *
 * @since 0.1.0
 */
export interface PendingRemoval {
  /** As the client has it; `undefined` if the log no longer knows, or the client may have forgotten it. */
  readonly resource: Resource | undefined
  /** Nonce of the last response of the type when it went; empty if there was none. */
  readonly since: string
  /** When its deletion may go out, in milliseconds; Infinity until the phases before it are over. */
  readonly due: number
}

/**
 * What a client had before a response that it rejected.
 *
 * @since 0.1.0
 */
export interface BeforeRejection {
  /** Of the first response that was rejected since the last ACK. */
  readonly nonce: string
  /** Name → fingerprint, before that response. */
  readonly before: HashMap.HashMap<string, string>
}

/**
 * The state of one type on one stream.
 *
 * @since 0.1.0
 */
export interface Subscription {
  readonly typeUrl: string
  /** What absence from a state-of-the-world response means; see the table of types. */
  readonly family: "full-state" | "by-name"
  /** Place among the types of an aggregated stream. */
  readonly order: number
  /** Whether the server has a wildcard of this type for this client. */
  readonly wildcardEnabled: boolean
  readonly wildcard: Wildcard
  /**
   * The names asked for, without `*`, and the fingerprint of what was sent under each; empty if nothing was, or if the
   * client was told that there is nothing. While a wildcard is covered the fingerprints are not kept up: `cursor` has them.
   */
  readonly names: HashMap.HashMap<string, string>
  /** Incremental: how many names there were when it was last seen that not too many have one hash. */
  readonly namesChecked: number
  /** State of the world: the list as it came last, to see at a glance that an ACK changes nothing. */
  readonly lastNames: ReadonlyArray<string>
  /** The set that the client was last brought up to; `undefined` before the first answer. */
  readonly cursor: Cursor.Cursor | undefined
  /** An answer is owed even if there is nothing to say: the first request. */
  readonly mustReply: boolean
  /** Everything is to be sent again, whatever the client was sent before: it asked for `*`. */
  readonly resendAll: boolean
  /** Names that were asked for and are to be answered whatever the client was sent before. */
  readonly requested: HashSet.HashSet<string>
  /** Of those, names whose answer waits, and until when, in milliseconds; see `AwaitedNames`. Some may be answered already. */
  readonly awaited: HashMap.HashMap<string, number>
  /** Incremental, until the first answer: what the client holds from an earlier stream. */
  readonly initial: HeldVersions
  /** Names that are sent even if `initial` says that the client holds them. */
  readonly resendEvenIfHeld: HashSet.HashSet<string>
  /** By name. */
  readonly pendingRemovals: ReadonlyMap<string, PendingRemoval>
  /** VHDS without a wildcard: route configurations whose listener was opened, and the set they were looked up in. */
  readonly openedRoutes: HashSet.HashSet<string>
  readonly openedRoutesCursor: Cursor.Cursor | undefined
  /** When TTLs were last renewed, in milliseconds. */
  readonly renewedAt: number
  /** Names of resources whose heartbeat was rejected: the client may have lost them. */
  readonly rejectedHeartbeats: HashSet.HashSet<string>
  readonly sent: Sent | undefined
  /** Sent and neither ACKed nor NACKed, oldest first; bounded. */
  readonly outstanding: ReadonlyArray<Outstanding>
  readonly acked: Sent | undefined
  readonly nacked: Rejected | undefined
  /** The latest update, if it is not ACKed: later phases wait for it, for one deadline from its sending. */
  readonly unackedUpdate: Sent | undefined
  /** Name → fingerprint of what the client had before the last response, until that is ACKed; `undefined`: not known. */
  readonly before: HashMap.HashMap<string, string> | undefined
  /** From a NACK to the next ACK, if it is known what the client had before. */
  readonly beforeRejection: BeforeRejection | undefined
}

/** @since 0.1.0 */
export const noNames = HashMap.empty<string, string>()

/**
 * Nothing is to be answered.
 *
 * @since 0.1.0
 */
export const noNameSet = HashSet.empty<string>()

/**
 * No answer waits.
 *
 * @since 0.1.0
 */
export const noneAwaited = HashMap.empty<string, number>()

/**
 * The client holds nothing from an earlier stream.
 *
 * @since 0.1.0
 */
export const noVersions: HeldVersions = new Map()

const noPendingRemovals: ReadonlyMap<string, PendingRemoval> = new Map()

/** @since 0.1.0 */
export const noList: ReadonlyArray<string> = []

/** @since 0.1.0 */
export const noneOutstanding: ReadonlyArray<Outstanding> = []

/**
 * No response: what notes of responses are copies of. ★ Where a herd of newcomers has come, V8 takes it that what a literal makes
 * lives long, and makes it where only full collections find it: a hundred megabytes of notes that an ACK had ended. Of copies,
 * as spreading and `with` make them, it does not. `at` is a number with a fraction from the beginning, so that none is made anew.
 */
export const noSent: Sent = { nonce: "", version: "", at: Number.POSITIVE_INFINITY }

/** @since 0.1.0 */
export const noOutstanding: Outstanding = { ...noSent, heartbeats: noList }

/** @since 0.1.0 */
export const oneOutstanding: ReadonlyArray<Outstanding> = [noOutstanding]

/** Types that are not in the table come last: nothing the table knows refers to them. */
const lastOrder = 100

/**
 * A type that was just heard of on a stream.
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
    lastNames: noList,
    cursor: undefined,
    mustReply: true,
    resendAll: false,
    requested: noNameSet,
    awaited: noneAwaited,
    initial: noVersions,
    resendEvenIfHeld: noNameSet,
    pendingRemovals: noPendingRemovals,
    openedRoutes: noNameSet,
    openedRoutesCursor: undefined,
    renewedAt: Number.NEGATIVE_INFINITY,
    rejectedHeartbeats: noNameSet,
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
 * A subscription that whoever made it may still change.
 *
 * @since 0.1.0
 */
export type Draft = { -readonly [Key in keyof Subscription]: Subscription[Key] }

/**
 * A copy to change. Written out, because this is done for every response and every ACK, and V8 up to version 11 takes ten
 * times as long for `{ ...self }` of so many fields.
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
  lastNames: self.lastNames,
  cursor: self.cursor,
  mustReply: self.mustReply,
  resendAll: self.resendAll,
  requested: self.requested,
  awaited: self.awaited,
  initial: self.initial,
  resendEvenIfHeld: self.resendEvenIfHeld,
  pendingRemovals: self.pendingRemovals,
  openedRoutes: self.openedRoutes,
  openedRoutesCursor: self.openedRoutesCursor,
  renewedAt: self.renewedAt,
  rejectedHeartbeats: self.rejectedHeartbeats,
  sent: self.sent,
  outstanding: self.outstanding,
  acked: self.acked,
  nacked: self.nacked,
  unackedUpdate: self.unackedUpdate,
  before: self.before,
  beforeRejection: self.beforeRejection
})

/**
 * A subscription of a client that holds something else from an earlier stream; the same one if it is the same.
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
 * Whether the client is sent every resource of the type.
 *
 * @since 0.1.0
 */
export const isWild = (self: Subscription): boolean => self.wildcardEnabled && self.wildcard !== "none"

/**
 * Whether a name was asked for by name.
 *
 * @since 0.1.0
 */
export const hasName = (self: Subscription, name: string): boolean => HashMap.has(self.names, name)

/**
 * Whether the client asked for something that was not answered yet.
 *
 * @since 0.1.0
 */
export const isUnanswered = (self: Subscription): boolean => self.mustReply || HashSet.size(self.requested) > 0

/**
 * Whether a subscription is by name alone, was answered, and has nothing of its own to say.
 *
 * @since 0.1.0
 */
export const isIdle = (self: Subscription): boolean =>
  self.wildcard === "none" &&
  self.cursor !== undefined &&
  !self.mustReply &&
  self.pendingRemovals.size === 0 &&
  HashSet.size(self.requested) === 0

/**
 * A subscription of a client that was moved to another group: the client holds what it held, but that is no state in the history
 * of what the group holds.
 *
 * @param set of the group before
 * @since 0.1.0
 */
export const elsewhere = function* (self: Subscription, set: ResourceSet.ResourceSet): Steps.Steps<Subscription> {
  if (self.cursor === undefined) return self
  const next = draft(self)
  next.cursor = Cursor.elsewhere(self.cursor, yield* ResourceSet.resourcesAt(set, self.cursor))
  return next
}
