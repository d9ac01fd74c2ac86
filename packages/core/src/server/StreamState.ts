/**
 * The state of one stream of a server, and the result of a step: data that all parts of the reducer share.
 *
 * @since 0.1.0
 */
import type * as HashMap from "effect/HashMap"
import type { ByAuthority } from "../protocol/DynamicParameters.js"
import type { Resource } from "../resource/Resource.js"
import type { ResourceGroup } from "../resource/ResourceGroup.js"
import type { ResourceSet } from "../resource/ResourceSet.js"
import type { ErrorDetail, Protocol } from "../wire/Request.js"
import type { Response } from "../wire/Response.js"
import type * as IncrementalNames from "./IncrementalNames.js"
import type { NamesChange } from "./NamesChange.js"
import type * as Round from "./Round.js"
import type * as StateOfTheWorldNames from "./StateOfTheWorldNames.js"
import type { Subscription, Wildcard } from "./Subscription.js"
import type * as NameSet from "./NameSet.js"
import type { NameTable } from "./NameTable.js"

/**
 * The phase options of a group: how its streams wait between the phases of an update.
 *
 * @since 0.1.0
 */
export interface PhaseOptions {
  /** Whether a phase of an update waits for the ACKs of the one before. Aggregated streams only. Default: true. */
  readonly makeBeforeBreak: boolean
  /** Milliseconds after which a phase goes out without those ACKs. Default: 5 000. */
  readonly phaseDeadline: number
}

/**
 * The options of a stream. Fixed, except {@link PhaseOptions}, which change when the client moves to another group.
 *
 * @since 0.1.0
 */
export interface Options extends PhaseOptions {
  readonly protocol: Protocol
  /** The type of a separate service; `undefined`: the aggregated one. */
  readonly typeUrl: string | undefined
  /** Whether resources carry their TTLs; see `Heartbeat.isGiven`. Default: false. */
  readonly ttl: boolean
  /** State of the world: heartbeats without bodies, as in the specification. Envoy cannot use them. Default: false. */
  readonly bodylessHeartbeats: boolean
  /** Type URLs whose wildcard is switched off. Default: VHDS. */
  readonly wildcardOff: ReadonlySet<string>
  /** Most names of a type that a client may subscribe to. Default: 100 000. */
  readonly maxNames: number
  /**
   * Most characters of a name. Default: 65 536, because the name of a virtual host contains the host that an HTTP client sent.
   */
  readonly maxNameLength: number
  /** Most types that a client may subscribe to. Default: 64. */
  readonly maxTypes: number
  /**
   * Names of a request that one turn of `ServerStream.stepping` processes; `Continue` processes the rest. A long name counts as
   * several, see `RequestedNames.effort`. Default: 512.
   */
  readonly namesPerStep: number
  /**
   * Names that one response answers, if it may be partial; later responses answer the rest. A long name counts as several.
   * Default: 1 000.
   */
  readonly namesPerResponse: number
  /**
   * Most bytes of a response, if it may be split: incremental, and by-name types in state of the world. A larger one goes out
   * in parts, see `ResponseParts`. Default: 4 000 000, a little less than the default limit of gRPC clients.
   */
  readonly maxResponseBytes: number
  /**
   * For resources made on demand: most milliseconds that the answer for a missing name waits, see `OnDemandNames`. Such names
   * are reported by `Missing`. Default: `undefined`, which means that no resources are made on demand.
   */
  readonly missingWait: number | undefined
}

/**
 * The state of a stream. Made by {@link make}, changed by {@link step}; its fields are private.
 *
 * @since 0.1.0
 */
export interface ServerStream {
  readonly options: Options
  /** As this client sees it; see `ClientView`. */
  readonly group: ResourceGroup | undefined
  /** What the client said of itself in locators; `undefined`: it gave none. */
  readonly parameters: ByAuthority | undefined
  /** Type URL and name → encoded constraints of the variant that the client was sent. */
  readonly variants: HashMap.HashMap<string, Uint8Array>
  /** Type URL → the errors that the client was told in place of resources. */
  readonly errors: ReadonlyMap<string, ToldErrors>
  /** In the order of types. */
  readonly subscriptions: ReadonlyArray<Subscription>
  readonly credit: boolean
  readonly ended: boolean
  /** Number of nonces used so far. */
  readonly nonces: number
  /**
   * Assignments of clusters that a reconnecting client was sent before it subscribed to EDS. They must be sent then, even if
   * the client holds them. `all`: too many to remember.
   */
  readonly warming: NameSet.NameSet | "all" | "none"
  readonly round: Round.Round
  /** The remaining parts of the last response. They go out before anything else. */
  readonly parts: Parts | undefined
  /** A request with many names that is partly processed. Nothing is sent until all names are processed. */
  readonly partialRequest: PartialRequest | undefined
  readonly deadline: number
}

/** The errors of one type that were told; see `SentErrors`. */
interface ToldErrors {
  /** The set and the names that they were told of: with the same ones nothing is due, unless some wait. */
  readonly set: ResourceSet
  readonly names: NameTable<unknown>
  readonly isAnyWaiting: boolean
  /** Name → the error that was told. */
  readonly errors: HashMap.HashMap<string, Resource>
  /** The names under which the client kept a resource in whose place one of them is → the resource's own name. */
  readonly kept: NameTable<string>
}

/** The remaining parts of a split response. */
interface Parts {
  readonly next: Response
  readonly update: boolean
  /** The subscribed names at that time, to notice unsubscriptions since. */
  readonly names: NameTable<string>
  readonly wildcard: Wildcard
}

/**
 * A request that takes several steps.
 *
 * @since 0.1.0
 */
export interface PartialRequest {
  readonly names: StateOfTheWorldNames.PartialNames | IncrementalNames.PartialNames
  /** The subscription before; `undefined` for the first request of the type. */
  readonly known: Subscription | undefined
}

/**
 * An instruction or event for the driver.
 *
 * @since 0.1.0
 */
export type Output =
  /** Send a response. Uses the credit; at most one per step. */
  | {
      readonly _tag: "Send"
      readonly typeUrl: string
      readonly nonce: string
      readonly response: Response
      /** The revision of the type's set that the response starts from; `undefined` if it carries no change. */
      readonly from: number | undefined
    }
  /** The client changed its subscription. */
  | { readonly _tag: "Subscribed"; readonly typeUrl: string; readonly wildcard: boolean; readonly names: number }
  /** A request listed names. Comes after `Subscribed`, or without it if all names were subscribed before. */
  | { readonly _tag: "Named"; readonly change: NamesChange }
  /**
   * For resources made on demand: names that the client requested and its group lacks. Repeated for each request with such
   * names, when the client's group is set, and when it moves to another group. Answer with `MissingDone` when all that can be
   * done is done.
   */
  | { readonly _tag: "Missing"; readonly typeUrl: string; readonly names: ReadonlyArray<string> }
  | { readonly _tag: "Acked"; readonly typeUrl: string; readonly nonce: string; readonly version: string }
  | {
      readonly _tag: "Nacked"
      readonly typeUrl: string
      readonly nonce: string
      readonly version: string
      readonly error: ErrorDetail
    }
  /**
   * An ACK or NACK without an outstanding response; in state of the world, the whole request if its nonce is stale. Carries the
   * error of a NACK, so that it can be logged.
   */
  | {
      readonly _tag: "Ignored"
      readonly typeUrl: string
      /** Empty if there was none. */
      readonly nonce: string
      readonly reason: IgnoredReason
      readonly error: ErrorDetail | undefined
    }
  /** A request of this type cannot be answered because the group is not set. Reported once, until it is answered. */
  | { readonly _tag: "Waiting"; readonly typeUrl: string }
  /** The client violated the protocol or a limit. The stream is over and must be ended with this message. */
  | { readonly _tag: "Violation"; readonly reason: ViolationReason; readonly message: string }

/**
 * Why an ACK or NACK is ignored. `StaleNonce`: the nonce belongs to no outstanding response. `NoNonce`: a NACK without a nonce.
 *
 * @since 0.1.0
 */
export type IgnoredReason = "StaleNonce" | "NoNonce"

/**
 * The kind of a violation of the protocol or of a limit.
 *
 * @since 0.1.0
 */
export type ViolationReason =
  | "TypeUrlMissing"
  | "WrongType"
  | "WrongProtocol"
  | "TooManyNames"
  | "NameTooLong"
  | "NamesCollide"
  | "TooManyTypes"
  | "TooManyParameters"
  | "WrongApi"

/**
 * Infinity, as a time.
 *
 * @since 0.1.0
 */
export const never = Number.POSITIVE_INFINITY

/**
 * A mutable copy of the state within one step.
 *
 * @since 0.1.0
 */
export type Draft = { -readonly [Key in keyof ServerStream]: ServerStream[Key] }

/**
 * A copy to change within one step. Written out for speed, see `Subscription.draft`.
 *
 * @since 0.1.0
 */
export const draft = (self: ServerStream): Draft => ({
  options: self.options,
  group: self.group,
  parameters: self.parameters,
  variants: self.variants,
  errors: self.errors,
  subscriptions: self.subscriptions,
  credit: self.credit,
  ended: self.ended,
  nonces: self.nonces,
  warming: self.warming,
  round: self.round,
  parts: self.parts,
  partialRequest: self.partialRequest,
  deadline: self.deadline
})

/**
 * No outputs.
 *
 * @since 0.1.0
 */
export const none: ReadonlyArray<Output> = []

/**
 * The state of a stream after an input, and the outputs.
 *
 * @since 0.1.0
 */
export type Step = readonly [ServerStream, ReadonlyArray<Output>]

/**
 * Adds a subscription in the order of types, or replaces the one of the same type.
 *
 * @since 0.1.0
 */
export const put = (subscriptions: ReadonlyArray<Subscription>, next: Subscription): ReadonlyArray<Subscription> => {
  const index = subscriptions.findIndex((subscription) => subscription.typeUrl === next.typeUrl)
  if (index >= 0) return subscriptions.with(index, next)
  const at = subscriptions.findIndex((subscription) => subscription.order > next.order)
  return at < 0 ? [...subscriptions, next] : subscriptions.toSpliced(at, 0, next)
}

/**
 * The subscription of a type, if there is one.
 *
 * @since 0.1.0
 */
export const find = (self: ServerStream, typeUrl: string): Subscription | undefined =>
  self.subscriptions.find((subscription) => subscription.typeUrl === typeUrl)
