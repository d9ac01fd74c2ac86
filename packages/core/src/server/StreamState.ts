/**
 * The state of one stream of a server, and what comes of a step: the data that all parts of its reducer share.
 *
 * @since 0.1.0
 */
import type { NamesChange } from "./NamesChange.js"
import type * as HashMap from "effect/HashMap"
import type * as HashSet from "effect/HashSet"
import type * as IncrementalNames from "./IncrementalNames.js"
import type { ErrorDetail, Protocol } from "../wire/Request.js"
import type { ResourceGroup } from "../resource/ResourceGroup.js"
import type { Response } from "../wire/Response.js"
import type * as Round from "./Round.js"
import type * as StateOfTheWorldNames from "./StateOfTheWorldNames.js"
import type { Subscription, Wildcard } from "./Subscription.js"

/**
 * How a stream waits between the phases of an update: the client's group says it.
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
 * What does not change while a stream lasts; {@link PhaseOptions} change when its client is moved to another group.
 *
 * @since 0.1.0
 */
export interface Options extends PhaseOptions {
  readonly protocol: Protocol
  /** The type of a separate service; `undefined`: the aggregated one. */
  readonly typeUrl: string | undefined
  /** Whether this client is given TTLs; see `Heartbeat.isGiven`. Default: false. */
  readonly ttl: boolean
  /** State of the world: heartbeats without bodies, as the specification has them and Envoy cannot use. Default: false. */
  readonly bodylessHeartbeats: boolean
  /** Type URLs whose wildcard is switched off. Default: VHDS. */
  readonly wildcardOff: ReadonlySet<string>
  /** Names a client may subscribe to, for each type. Default: 100 000. */
  readonly maxNames: number
  /** Characters of a name. Default: 65 536: the name of a virtual host holds what an HTTP client says is its host. */
  readonly maxNameLength: number
  /** Types a client may subscribe to. Default: 64. */
  readonly maxTypes: number
  /**
   * Names of a request that are taken in one step; what is left is taken in `Continue`. Of long names fewer, see
   * `Subscription.effort`. Default: 512.
   */
  readonly namesPerStep: number
  /**
   * Names that one response answers, where it need not answer all: what is left comes in the responses after it. Of long
   * names fewer. Default: 1 000.
   */
  readonly namesPerResponse: number
  /**
   * Bytes of a response, where it need not be whole: incremental, and types by name in state of the world. A larger one goes
   * out in parts, see `ResponseParts`. Default: 4 000 000, a little less than what clients of gRPC take.
   */
  readonly maxResponseBytes: number
  /**
   * Whether resources are made on demand: names that the group does not have are told by `Missing`, and their answers wait so many
   * milliseconds at most, see `AwaitedNames`. Default: `undefined`, they are not.
   */
  readonly missingWait: number | undefined
}

/**
 * The state of a stream. Made by {@link make}, changed by {@link step}; its fields are nobody else's business.
 *
 * @since 0.1.0
 */
export interface ServerStream {
  readonly options: Options
  readonly group: ResourceGroup | undefined
  /** In the order of types. */
  readonly subscriptions: ReadonlyArray<Subscription>
  readonly credit: boolean
  readonly ended: boolean
  /** Nonces given so far. */
  readonly nonces: number
  /**
   * Assignments of clusters that this stream brought to a reconnecting client before it subscribed to EDS: they must be
   * sent then, even if the client says that it holds them. `all`: too many to remember.
   */
  readonly warming: HashSet.HashSet<string> | "all" | "none"
  readonly round: Round.Round
  /** The parts that are left of the last response. They go out before anything else. */
  readonly parts: Parts | undefined
  /** A request with many names, as far as it was taken. Nothing is sent until all of it was. */
  readonly partialRequest: PartialRequest | undefined
  readonly deadline: number
}

/** What is left of a response that goes out in parts. */
interface Parts {
  readonly next: Response
  readonly update: boolean
  /** What was asked for then, to see whether it is still. */
  readonly names: HashMap.HashMap<string, string>
  readonly wildcard: Wildcard
}

/**
 * A request that is taken in several steps.
 *
 * @since 0.1.0
 */
export interface PartialRequest {
  readonly names: StateOfTheWorldNames.PartialNames | IncrementalNames.PartialNames
  /** Before the request; `undefined`: it is the first of its type. */
  readonly known: Subscription | undefined
}

/**
 * What a stream wants done, or known.
 *
 * @since 0.1.0
 */
export type Output =
  /** To be sent. Uses up the credit; there is at most one in a step. */
  | {
      readonly _tag: "Send"
      readonly typeUrl: string
      readonly nonce: string
      readonly response: Response
      /** The revision of the type's set that the response leads away from; `undefined`: it tells of no change. */
      readonly from: number | undefined
    }
  /** The client changed what it asks for. */
  | { readonly _tag: "Subscribed"; readonly typeUrl: string; readonly wildcard: boolean; readonly names: number }
  /** A request listed names: it comes after `Subscribed`, and without one if all were subscribed to before. */
  | { readonly _tag: "Named"; readonly change: NamesChange }
  /**
   * Where resources are made on demand: names that the client asks for and its group does not have. It is told after each request
   * that asks for them, and when the client is moved to another group. `MissingDone` is to say when what can be done was done.
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
   * An ACK or NACK that answers nothing, and in state of the world the whole request if its nonce is an older one. With the
   * words of a NACK, so that somebody reads them.
   */
  | {
      readonly _tag: "Ignored"
      readonly typeUrl: string
      /** Empty if there was none. */
      readonly nonce: string
      readonly reason: IgnoredReason
      readonly error: ErrorDetail | undefined
    }
  /** Something of a type was asked for and cannot be answered: the group is not set. Told once until it is answered. */
  | { readonly _tag: "Waiting"; readonly typeUrl: string }
  /** The client broke the protocol or a limit: the stream is over and is to be ended with these words. */
  | { readonly _tag: "Violation"; readonly reason: ViolationReason; readonly message: string }

/**
 * Why an ACK or NACK answers nothing. `StaleNonce`: it is not that of the last response, or that was answered before.
 * `NoNonce`: a NACK that does not say of what.
 *
 * @since 0.1.0
 */
export type IgnoredReason = "StaleNonce" | "NoNonce"

/**
 * How a client broke the protocol or a limit.
 *
 * @since 0.1.0
 */
export type ViolationReason =
  "TypeUrlMissing" | "WrongType" | "WrongProtocol" | "TooManyNames" | "NameTooLong" | "NamesCollide" | "TooManyTypes"

/**
 * The time that never comes.
 *
 * @since 0.1.0
 */
export const never = Number.POSITIVE_INFINITY

/**
 * A state that the step which made it may still change.
 *
 * @since 0.1.0
 */
export type Draft = { -readonly [Key in keyof ServerStream]: ServerStream[Key] }

/**
 * A copy to change within one step; why it is written out, see `Subscription.draft`.
 *
 * @since 0.1.0
 */
export const draft = (self: ServerStream): Draft => ({
  options: self.options,
  group: self.group,
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
 * The state of a stream after an input, and what comes of that.
 *
 * @since 0.1.0
 */
export type Step = readonly [ServerStream, ReadonlyArray<Output>]

/**
 * Puts a subscription in its place, or in that of the one of the same type.
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
