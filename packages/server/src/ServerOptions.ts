/**
 * What a server is told to do, and what bounds it.
 *
 * @since 0.1.0
 */
import type { Heartbeat } from "@effect-xds/core"
import type { Node } from "@effect-xds/proto/envoy/config/core/v3/base"
import type * as Duration from "effect/Duration"
import type * as Effect from "effect/Effect"
import type * as Stream from "effect/Stream"
import type { Origin } from "./ConnectedClient.js"
import type { Refusal } from "./Refusal.js"

/**
 * Type URL → whether a first request without names, or `*`, subscribes to everything of the type.
 *
 * @since 0.1.0
 */
export type Wildcards = Readonly<Record<string, boolean>>

/**
 * How the streams of one group are served, where that is not as the server's options say.
 *
 * @since 0.1.0
 */
export interface GroupSettings {
  /** See {@link Options.ttl}. */
  readonly ttl?: Heartbeat.Mode | undefined
  /** In place of {@link Options.wildcard}; types that are not named keep the default of the type. */
  readonly wildcard?: Wildcards | undefined
  /** See {@link Options.makeBeforeBreak}. */
  readonly makeBeforeBreak?: boolean | undefined
  /** See {@link Options.phaseDeadline}. */
  readonly phaseDeadline?: Duration.DurationInput | undefined
  /** Open streams of the group; see {@link Options.maxStreamsPerGroup}. */
  readonly maxStreams?: number | undefined
}

/**
 * What a server does and what it bounds.
 *
 * @since 0.1.0
 */
export interface Options<out R = never> {
  /**
   * Which group a node belongs to: the name under which its resources are in the store. Called once for a stream, with its
   * first request. What it gives:
   *
   * - a name: the stream is served at once.
   * - an Effect: it finds the name, in a directory or by a token, or fails with the {@link Refusal} that the stream ends with.
   * - a Stream of names: the first is waited for; with each other one the client is moved to that group, and its stream goes on: it
   *   is sent what is different, additions and changes first, deletions last. A Refusal ends it at any time. When there are no more
   *   names, it stays where it is.
   *
   * A move keeps what the stream was opened with (`ttl`, `wildcard`) and takes `makeBeforeBreak` and `phaseDeadline` of the other
   * group. The node is not kept for it: what the Stream needs of it, it holds itself.
   *
   * If it throws or dies, that stream ends with INTERNAL and the error is logged.
   */
  readonly group: (
    node: Node,
    origin: Origin
  ) => string | Effect.Effect<string, Refusal, R> | Stream.Stream<string, Refusal, R>
  /** How long the Effect of `group` may take, or its Stream to the first name; then the stream ends with UNAVAILABLE. Default: 10 seconds. */
  readonly groupTimeout?: Duration.DurationInput | undefined
  /**
   * What was allowed and is not any more. Each function is asked of every open stream when it comes, and of every stream that
   * is served later: a refusal that it gives ends the stream. It is to say in no time what it says. Default: nothing.
   */
  readonly revocations?: Stream.Stream<Revocation, never, R> | undefined
  /**
   * What is different for one group. Called with the name of its group for each stream that is opened; what it leaves out is as
   * the options here say. If it throws, or gives what is no such thing, the stream ends with INTERNAL and the log names it.
   * Default: all groups are served alike.
   */
  readonly settings?: ((group: string) => GroupSettings | undefined) | undefined
  /**
   * To whom TTLs are given. `declared`: to clients that declare `xds.config.supports-resource-ttl`, and in state of the
   * world also `xds.config.supports-resource-in-sotw`; Envoy declares neither but honours TTLs, so for Envoy say
   * `always`. Default: `declared`.
   */
  readonly ttl?: Heartbeat.Mode | undefined
  /**
   * State of the world: renew TTLs without repeating the resource, as the specification has it. Envoy's default client
   * does not understand that, and loses listeners and clusters by it. Default: false.
   */
  readonly bodylessHeartbeats?: boolean | undefined
  /** Default: every type has a wildcard but VHDS. Types that are not named keep the default. */
  readonly wildcard?: Wildcards | undefined
  /**
   * On aggregated streams: listeners and routes wait until the clusters they need are ACKed, and deletions until all of
   * that is. Default: true.
   */
  readonly makeBeforeBreak?: boolean | undefined
  /** How long to wait for those ACKs. Default: 5 seconds. */
  readonly phaseDeadline?: Duration.DurationInput | undefined
  /** Names a client may subscribe to, for each type. Default: 100 000. */
  readonly maxNames?: number | undefined
  /** Characters of such a name. Default: 65 536: that of a virtual host holds what an HTTP client says is its host. */
  readonly maxNameLength?: number | undefined
  /** Types a client may subscribe to on one stream. Default: 64. */
  readonly maxTypes?: number | undefined
  /**
   * Fields of a client's node, at all levels: it is decoded as a whole, and others wait for it. More end the stream with
   * RESOURCE_EXHAUSTED. Default: 16 384; an Envoy's has 6 000.
   */
  readonly maxNodeFields?: number | undefined
  /**
   * Bytes that clients make the server hold while the Effect of `group` runs for them, of all together: their nodes and first
   * requests. Newcomers for whom there is no room are told to try again (UNAVAILABLE). Default: 268 435 456, some hundred
   * Envoys at a time.
   */
  readonly maxClientBytes?: number | undefined
  /** Open streams. Default: 100 000. */
  readonly maxStreams?: number | undefined
  /** Open streams of one group. Default: 100 000. */
  readonly maxStreamsPerGroup?: number | undefined
  /** Requests of one stream that are kept while the Effect of `group` runs. Default: 100. */
  readonly maxEarlyRequests?: number | undefined
  /**
   * Bytes of a response. What is larger goes out in parts where that may be: incremental, and types by name in state of the
   * world. A larger one that must be whole, or has one resource that is larger, is sent all the same, and told of in the log, in
   * `status`, by an event and a metric: clients of gRPC end the stream on a message that is larger than they take. Default:
   * 4 000 000, a little less than what gRPC takes by default.
   */
  readonly maxResponseBytes?: number | undefined
  /** What responses name as `control_plane.identifier`. Default: nothing. */
  readonly controlPlane?: string | undefined
  /** How long a client may keep a stream open without a request. Default: 30 seconds. */
  readonly firstRequestTimeout?: Duration.DurationInput | undefined
  /**
   * How long a unary request (Fetch…) waits for a group that is not set; then it is answered with UNAVAILABLE.
   * Default: 5 seconds.
   */
  readonly fetchTimeout?: Duration.DurationInput | undefined
  /** Events that are kept for one slow subscriber of `events`. Default: 1 024. */
  readonly eventCapacity?: number | undefined
  /** Names in each list of the event `Named`. Default: 32, so that 1 024 such events hold 32 MiB at most. */
  readonly maxEventNames?: number | undefined
  /**
   * Makes a resource on demand. Called for a name that a client subscribes to and its group has no resource for, typically to
   * put one into the store. Virtual hosts are named `<route configuration>/<host>`. It is called when
   *
   * - a request asks for the name. In state of the world a client that repeats its names asks for those that are new.
   * - a client that subscribes to the name is moved to a group that does not have it.
   * - the resource was taken out of the store while a client subscribes to it, see `missingAgainAfter`.
   *
   * The client's answer waits until the group has the resource, the call is over or `missingWait` has passed; what else it asks for
   * is answered meanwhile. A name is given to one call at a time. Also called if the group is not set.
   *
   * What fails, dies, is no Effect or takes longer than `missingTimeout` is logged with group, type URL and name; nothing else
   * comes of it. ★ A client can name anything: what the Effect puts into the store is for it to bound.
   */
  readonly onMissing?:
    ((group: string, typeUrl: string, name: string) => Effect.Effect<unknown, unknown, R>) | undefined
  /**
   * How long a client's answer for a name waits for the call; then it is told that there is nothing, and is sent the resource
   * when the store has it. Envoy lets an HTTP request wait for an on-demand cluster for 5 seconds. Default: 2 seconds.
   */
  readonly missingWait?: Duration.DurationInput | undefined
  /** How long a call of `onMissing` may take; then it is interrupted. Default: 10 seconds. */
  readonly missingTimeout?: Duration.DurationInput | undefined
  /**
   * So long names are collected whose resource was taken out of the store while clients subscribe to them by name; then `onMissing` is
   * called for those that have none again. It bounds how often: a store that drops one resource when it makes another one would be
   * asked without end. Default: 1 second.
   */
  readonly missingAgainAfter?: Duration.DurationInput | undefined
  /** Calls of `onMissing` at a time. Default: 16. */
  readonly maxMissingCalls?: number | undefined
  /** Calls of `onMissing` at a time for one group. Default: three quarters of `maxMissingCalls`. */
  readonly maxMissingCallsPerGroup?: number | undefined
  /**
   * Names for `onMissing`: those that calls are under way for, and those that wait. For others there is no call: the log, the event
   * `MissingRefused` and a metric say so. It is the group with the most bytes of names that gives way to others. Default: 1 000.
   */
  readonly maxMissingNames?: number | undefined
  /**
   * Bytes of those names, with group and type URL: four for each character, and some 300 for each name. For others there is no
   * call. Default: 4 194 304.
   */
  readonly maxMissingBytes?: number | undefined
}

/**
 * Why a client may not read a group any more; `undefined`: it may.
 *
 * @since 0.1.0
 */
export type Revocation = (origin: Origin, group: string) => Refusal | undefined
