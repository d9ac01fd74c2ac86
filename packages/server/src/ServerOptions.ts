/**
 * Options and limits of a server.
 *
 * @since 0.1.0
 */
import type { Heartbeat } from "@effect-xds/core"
import type { Node } from "@effect-xds/proto/envoy/config/core/v3/base"
import type * as Duration from "effect/Duration"
import type * as Effect from "effect/Effect"
import type * as Stream from "effect/Stream"
import type { NodeIdentity, Origin } from "./ConnectedClient.js"
import type { Refusal } from "./Refusal.js"

/**
 * Type URL → whether `*`, or a first request without names, is a wildcard subscription to the type.
 *
 * @since 0.1.0
 */
export type Wildcards = Readonly<Record<string, boolean>>

/**
 * The settings of one group where they differ from the server's options.
 *
 * @since 0.1.0
 */
export interface GroupSettings {
  /** See {@link Options.ttl}. */
  readonly ttl?: Heartbeat.Mode | undefined
  /** Replaces {@link Options.wildcard}; other types keep their defaults. */
  readonly wildcard?: Wildcards | undefined
  /** See {@link Options.makeBeforeBreak}. */
  readonly makeBeforeBreak?: boolean | undefined
  /** See {@link Options.phaseDeadline}. */
  readonly phaseDeadline?: Duration.DurationInput | undefined
  /** Open streams of the group; see {@link Options.maxStreamsPerGroup}. */
  readonly maxStreams?: number | undefined
}

/**
 * Options and limits of a server.
 *
 * @since 0.1.0
 */
export interface Options<out R = never> {
  /**
   * The group of a node: the name under which its resources are in the store. Called once per stream, with its first
   * request. It returns:
   *
   * - a name: the stream is served at once.
   * - an Effect that finds the name, in a directory or by a token, or fails with the {@link Refusal} that ends the
   *   stream.
   * - a Stream of names: the server waits for the first. Each later one moves the client to that group, and its stream
   *   continues: it is sent the difference, additions and changes first, deletions last. A Refusal ends the stream at
   *   any time. When the Stream ends, the client stays in its group.
   *
   * A move keeps `ttl` and `wildcard` and changes `makeBeforeBreak` and `phaseDeadline` to those of the new group. The
   * server does not keep the node: the Stream keeps what it needs of it.
   *
   * If the function throws or dies, the stream ends with INTERNAL and the error is logged.
   */
  readonly group: (
    node: Node,
    origin: Origin
  ) => string | Effect.Effect<string, Refusal, R> | Stream.Stream<string, Refusal, R>
  /**
   * How long the Effect of `group` may take, or its Stream until the first name; then the stream ends with UNAVAILABLE.
   * Default: 10 seconds.
   */
  readonly groupTimeout?: Duration.DurationInput | undefined
  /**
   * Revokes permissions. Each function of the Stream is called for every open stream when it arrives, and for every
   * later stream; a refusal that it returns ends that stream. It must return quickly. Default: none.
   */
  readonly revocations?: Stream.Stream<Revocation, never, R> | undefined
  /**
   * Settings that differ for one group. Called with the group's name for each new stream; fields that it leaves out are
   * as in these options. If it throws or returns nonsense, the stream ends with INTERNAL and the log names the
   * function. Default: all groups have the same settings.
   */
  readonly settings?: ((group: string) => GroupSettings | undefined) | undefined
  /**
   * Which clients get TTLs. `declared`: those that declare `xds.config.supports-resource-ttl`, and in state of the
   * world also `xds.config.supports-resource-in-sotw`. Envoy declares neither but honours TTLs: set `always` for Envoy.
   * ★ In state of the world Envoy 1.40 crashes when the TTL of routes, endpoints or secrets is over: give those none.
   * Default: `declared`.
   */
  readonly ttl?: Heartbeat.Mode | undefined
  /**
   * State of the world: whether heartbeats leave out the resource, as in the specification. Envoy's default client does
   * not support that, and would lose its listeners and clusters. Default: false.
   */
  readonly bodylessHeartbeats?: boolean | undefined
  /** Types that allow wildcards. Default: every type except VHDS; types that are not named keep the default. */
  readonly wildcard?: Wildcards | undefined
  /**
   * On aggregated streams: whether listeners and routes wait for the ACKs of the clusters that they need, and deletions
   * for all of those ACKs. Default: true.
   */
  readonly makeBeforeBreak?: boolean | undefined
  /** How long a phase waits for those ACKs. Default: 5 seconds. */
  readonly phaseDeadline?: Duration.DurationInput | undefined
  /** The most names that a client may subscribe to per type. Default: 100 000. */
  readonly maxNames?: number | undefined
  /**
   * The most characters of such a name. Default: 65 536, since the name of a virtual host contains the host of an HTTP
   * request.
   */
  readonly maxNameLength?: number | undefined
  /** The most types that a client may subscribe to on one stream. Default: 64. */
  readonly maxTypes?: number | undefined
  /**
   * The most fields of a client's node, at all levels: it is decoded as a whole, and others wait in that time. Above it
   * the stream ends with RESOURCE_EXHAUSTED. Default: 16 384; an Envoy's has 6 000.
   */
  readonly maxNodeFields?: number | undefined
  /**
   * The most bytes of nodes and first requests that all clients together make the server hold while their Effects of
   * `group` run. Above it new clients are refused with UNAVAILABLE. Default: 268 435 456, some hundred Envoys at a
   * time.
   */
  readonly maxClientBytes?: number | undefined
  /** The most open streams. Default: 100 000. */
  readonly maxStreams?: number | undefined
  /** The most open streams of one group. Default: 100 000. */
  readonly maxStreamsPerGroup?: number | undefined
  /** The most requests of one stream that are kept while the Effect of `group` runs. Default: 100. */
  readonly maxEarlyRequests?: number | undefined
  /**
   * The most bytes of a response. A larger one goes out in parts where possible: incremental, and in state of the world
   * for types by name. If it must be whole, or one resource is larger, it is sent all the same, and reported in the
   * log, in `status`, by an event and a metric: gRPC clients end the stream on a message that exceeds their limit.
   * Default: 4 000 000, a little less than gRPC's default limit.
   */
  readonly maxResponseBytes?: number | undefined
  /** `control_plane.identifier` in responses. Default: none. */
  readonly controlPlane?: string | undefined
  /** How long a stream may be open without a request. Default: 30 seconds. */
  readonly firstRequestTimeout?: Duration.DurationInput | undefined
  /**
   * How long a unary request (Fetch…) waits for a group that is not set; then it is answered with UNAVAILABLE. Default:
   * 5 seconds.
   */
  readonly fetchTimeout?: Duration.DurationInput | undefined
  /** The most events kept for one slow subscriber of `events`, at least one. Default: 1 024. */
  readonly eventCapacity?: number | undefined
  /** The most names in each list of the event `Named`. Default: 32, so that 1 024 such events take at most 32 MiB. */
  readonly maxEventNames?: number | undefined
  /**
   * Makes a resource on demand, typically by adding it to the store. Called for a name that a client subscribes to and
   * that has no resource in its group. Virtual hosts are named `<route configuration>/<host>`. It is called when
   *
   * - a request subscribes to the name. In state of the world, only names that are new in the list count.
   * - a client with a subscription to the name moves to a group without it.
   * - the resource is removed from the store while a client subscribes to it, see `missingAgainAfter`.
   *
   * The client's answer for that name waits until the group has the resource, the call is over or `missingWait` has
   * passed; other names are answered without this wait. There is one call at a time for a name. It is also called if
   * the group is not set.
   *
   * A call that fails, dies, returns no Effect or takes longer than `missingTimeout` is logged with group, type URL and
   * name, and has no other consequence. ★ A client can name anything: the Effect must bound what it adds to the store.
   *
   * `node` is whose request named it first; `undefined` if the resource was removed. ★ What is added is the group's, and for all
   * of its nodes: a node that is to get something else needs a group of its own.
   */
  readonly onMissing?:
    | ((
        group: string,
        typeUrl: string,
        name: string,
        node: NodeIdentity | undefined
      ) => Effect.Effect<unknown, unknown, R>)
    | undefined
  /**
   * How long a client's answer for a name waits for the call. After that it is answered that the resource does not
   * exist, and is sent it when the store has it. Envoy holds an HTTP request for an on-demand cluster for 5 seconds.
   * Default: 2 seconds.
   */
  readonly missingWait?: Duration.DurationInput | undefined
  /** How long a call of `onMissing` may take before it is interrupted. Default: 10 seconds. */
  readonly missingTimeout?: Duration.DurationInput | undefined
  /**
   * How long to collect names whose resource was removed from the store while clients subscribe to them; then
   * `onMissing` is called for those that still have none. It bounds the rate of calls: a store that drops one resource
   * for each new one would cause them without end. Default: 1 second.
   */
  readonly missingAgainAfter?: Duration.DurationInput | undefined
  /** The most concurrent calls of `onMissing`. Default: 16. */
  readonly maxMissingCalls?: number | undefined
  /** The most concurrent calls of `onMissing` for one group. Default: three quarters of `maxMissingCalls`. */
  readonly maxMissingCallsPerGroup?: number | undefined
  /**
   * The most names for `onMissing`: running calls and waiting ones. For others there is no call: the log, the event
   * `MissingRefused` and a metric report it. The group with the most bytes of names gives way to others. Default: 1
   * 000.
   */
  readonly maxMissingNames?: number | undefined
  /**
   * The most bytes of those names, with group and type URL: four per character, and some 300 per name. For others there
   * is no call. Default: 4 194 304.
   */
  readonly maxMissingBytes?: number | undefined
}

/**
 * Why a client may no longer read a group; `undefined` if it may.
 *
 * @since 0.1.0
 */
export type Revocation = (origin: Origin, group: string) => Refusal | undefined
