/**
 * The members of clusters, found and looked after: what a client of xDS is told of clusters and their endpoints, what names
 * resolve to, what checks say and what becomes of calls, as the hosts that calls may go to.
 *
 * @since 0.1.0
 */
import type { ResourceEvent } from "@effect-xds/client/ResourceEvent"
import type * as XdsClients from "@effect-xds/client/XdsClient"
import { XdsClient } from "@effect-xds/client/XdsClient"
import * as WatchableType from "@effect-xds/client/WatchableType"
import type * as AggregateLeaves from "@effect-xds/discovery/AggregateLeaves"
import * as Assignment from "@effect-xds/discovery/Assignment"
import * as Cluster from "@effect-xds/discovery/Cluster"
import type { AssignmentSource, Call, EndpointSource, Pick, Registry } from "@effect-xds/discovery/ClusterType"
import type * as Outlier from "@effect-xds/discovery/Outlier"
import { codes } from "@effect-xds/core/protocol/StatusCode"
import * as BadOption from "@effect-xds/transport/BadOption"
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as RcMap from "effect/RcMap"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type { ClusterEvent } from "./ClusterEvent.js"
import { ClusterActor } from "./internal/ClusterActor.js"
import { ClusterView } from "./internal/ClusterView.js"
import type { Members } from "./Members.js"
import type { Status, Warming } from "./MembersStatus.js"
import { Prober } from "./Prober.js"
import { Resolver } from "./Resolver.js"

/**
 * How members are found and looked after.
 *
 * @since 0.1.0
 */
export interface Options {
  /** Types that clusters may have. Default: all of `ClusterTypes.standard`. */
  readonly types?: Registry | undefined
  /** Most probes of a set of hosts that run at once. Default: `HealthChecker.maxProbes`. */
  readonly maxProbes?: number | undefined
  /**
   * Clients of endpoints that do not come from the client of the clusters, but from a file or from servers of their own
   * (`eds_cluster_config.eds_config`). One is made for each source, and shared by all clusters that have it. Default: there are
   * none, and such a cluster is one with a mistake.
   */
  readonly sources?: Sources | undefined
}

/**
 * Makes the client of a source of endpoints, for as long as a scope is open. What it fails with is told as what is wrong with
 * the endpoints of the cluster.
 *
 * @example
 * import { Bootstrap, XdsClient } from "@effect-xds/client"
 * import type { ClusterMembers } from "@effect-xds/discovery-node"
 * import { ConnectClient } from "@effect-xds/transport-connect"
 * import { FileClient } from "@effect-xds/transport-filesystem"
 * import { RestClient } from "@effect-xds/transport-rest"
 * import { Effect } from "effect"
 *
 * const node = { id: "app-1", cluster: "edge" }
 * const addresses: Readonly<Record<string, string>> = { xds: "127.0.0.1:18001" }
 * const clientOf = (server: string, protocol: "Incremental" | "StateOfTheWorld" = "StateOfTheWorld") =>
 *   XdsClient.make({ bootstrap: Bootstrap.make({ servers: [server], node }), aggregated: false, protocol })
 *
 * export const sources: ClusterMembers.Sources = (source) => {
 *   if (source._tag === "File") return Effect.provide(clientOf(`path:${source.path}`), FileClient.layer())
 *   const [server = ""] = source.servers
 *   const address = addresses[server]
 *   if (address === undefined) return Effect.fail(new Error(`nothing is known of ${server}`))
 *   if (source.kind === "REST")
 *     return Effect.provide(clientOf(address), RestClient.layer({ refreshDelay: source.refreshDelay }))
 *   const protocol = source.kind === "DELTA_GRPC" ? "Incremental" : "StateOfTheWorld"
 *   return Effect.provide(clientOf(address, protocol), ConnectClient.layer())
 * }
 *
 * @since 0.1.0
 */
export type Sources = (source: OtherSource) => Effect.Effect<XdsClients.Service, Error, Scope.Scope>

/**
 * A source of endpoints that is not the client of the clusters.
 *
 * @since 0.1.0
 */
export type OtherSource = Exclude<EndpointSource, { readonly _tag: "Client" }>

/**
 * A cluster that is looked after.
 *
 * @since 0.1.0
 */
export interface Service {
  /** Its members now. */
  readonly current: Effect.Effect<Members>
  /** Its members from now on; who is slow misses those in between, and never the last. */
  readonly changes: Stream.Stream<Members>
  /** Waits until there is a set to use, or it is known that there is none. */
  readonly initialized: Effect.Effect<Members>
  /** What happens to hosts, from now on; who is slower than 1024 events misses the oldest. */
  readonly events: Stream.Stream<ClusterEvent>
  readonly status: Effect.Effect<Status>
  /** What the set that is to follow waits for; `undefined`: there is none. Cheaper than `status`. */
  readonly warming: Effect.Effect<Warming | undefined>
  /** What became of a call, for outlier detection. */
  readonly report: (host: string, outcome: Outlier.Outcome) => Effect.Effect<void>
  /** The same at once, for who makes many calls and is no effect. */
  readonly unsafeReport: (host: string, outcome: Outlier.Outcome) => void
  /** Where a call goes, if the type of the cluster picks itself. */
  readonly pick: (call: Call) => Effect.Effect<Pick>
  /** Whether there are connections to an address that was picked. */
  readonly inUse: (address: string, isInUse: boolean) => Effect.Effect<void>
  /** There was a connection for a call: also true of the cluster when it has changed. */
  readonly trafficSeen: Effect.Effect<void>
  /** The response to a call had `x-envoy-immediate-health-check-fail`. */
  readonly passiveFailure: (host: string) => Effect.Effect<void>
}

/**
 * Looks after clusters.
 *
 * @since 0.1.0
 */
export interface ClusterMembers {
  /** A cluster by its name, watched until the scope closes; who asks for the same one shares it. */
  readonly of: (cluster: string) => Effect.Effect<Service, never, Scope.Scope>
}

/**
 * The service.
 *
 * @since 0.1.0
 */
export const ClusterMembers = Context.GenericTag<ClusterMembers>("@effect-xds/discovery-node/ClusterMembers")

/** A cluster whose endpoints nobody would bring is one with a mistake. */
const problemOf = ({ type }: Cluster.Cluster): string | undefined => {
  const source = type.assignment?.source
  if (source === undefined || source._tag === "Client") return undefined
  const what = source._tag === "File" ? "a file" : source.kind
  return `eds_cluster_config.eds_config: there is no client of ${what} here; say ads or self, or give ClusterMembers its sources`
}

/** The same for the same source. */
const keyOf = (source: OtherSource): OtherSource =>
  source._tag === "File" ? Data.struct(source) : Data.struct({ ...source, servers: Data.array(source.servers) })

/**
 * Where clusters and assignments come from.
 *
 * @since 0.1.0
 */
export interface Watches {
  readonly cluster: (name: string) => Stream.Stream<ResourceEvent<Cluster.Cluster>>
  readonly assignment: (wanted: AssignmentSource) => Stream.Stream<ResourceEvent<Assignment.Assignment>>
}

/**
 * Looks after clusters until the scope closes. ★ A client has one decoder for clusters and one for assignments: make this
 * once for a client, which watches both with no other. Who watches them with decoders of its own has {@link fromWatches}.
 *
 * @since 0.1.0
 */
export const make = (
  options: Options = {}
): Effect.Effect<ClusterMembers, never, XdsClient | Resolver | Prober | Scope.Scope> =>
  Effect.gen(function* () {
    const client = yield* XdsClient
    const decoder = Cluster.decoder(options.types)
    const clusters = WatchableType.make({
      typeUrl: decoder.typeUrl,
      decode: (bytes) =>
        Either.flatMap(decoder.decode(bytes), (cluster) => {
          const problem = options.sources === undefined ? problemOf(cluster) : undefined
          return problem === undefined ? Either.right(cluster) : Either.left(problem)
        })
    })
    // ★ One that goes stale is as fresh as any other when it comes again.
    const assignments = WatchableType.make({
      ...Assignment.decoder,
      tellsAgain: ({ staleAfter }) => staleAfter !== undefined
    })
    const { sources = () => Effect.fail(new Error("there are no sources")) } = options
    const others = yield* RcMap.make({ lookup: (source: OtherSource) => sources(source) })
    const watchAssignment = ({ name, source }: AssignmentSource) => {
      if (source._tag === "Client") return orError(client.watch(assignments, name), name)
      const watch = Effect.map(RcMap.get(others, keyOf(source)), (other) =>
        orError(other.watch(assignments, name), name)
      )
      return Stream.orDie(Stream.unwrapScoped(watch))
    }
    const cluster = (name: string) => orError(client.watch(clusters, name), name)
    return yield* fromWatches({ cluster, assignment: watchAssignment }, options)
  })

/**
 * Looks after clusters that are watched elsewhere, until the scope closes.
 *
 * @since 0.1.0
 */
export const fromWatches = (
  watches: Watches,
  options: { readonly maxProbes?: number | undefined } = {}
): Effect.Effect<ClusterMembers, never, Resolver | Prober | Scope.Scope> =>
  Effect.gen(function* () {
    // Less than 1 means 1.
    yield* BadOption.check(options, { maxProbes: -Infinity })
    const { maxProbes } = options
    const resolver = yield* Resolver
    const prober = yield* Prober
    const open = new Map<string, ClusterActor>()
    const actors = yield* RcMap.make({
      lookup: (name: string) =>
        Effect.gen(function* () {
          const actor: ClusterActor = yield* ClusterActor.make(name, {
            watchCluster: watches.cluster,
            watchAssignment: watches.assignment,
            resolver,
            prober,
            maxProbes
          })
          yield* Effect.acquireRelease(
            Effect.sync(() => open.set(name, actor)),
            () =>
              Effect.sync(() => {
                // Who asked for it meanwhile has one of its own, and the gauges are that one's.
                if (open.get(name) !== actor) return
                open.delete(name)
                actor.gaugeNobody()
              })
          )
          return actor
        })
    })
    const lookup: AggregateLeaves.Lookup = (name) => {
      const cluster = open.get(name)?.cluster
      return cluster === undefined ? undefined : { clusters: cluster.type.clusters }
    }
    return { of: (name) => Effect.flatMap(ClusterView.make(name, actors, lookup), serviceOf) }
  })

const serviceOf = (view: ClusterView): Effect.Effect<Service, never, Scope.Scope> =>
  Effect.gen(function* () {
    const { actor } = view
    // What changes at once is told once.
    const listen = Effect.map(
      Effect.acquireRelease(
        Effect.sync(() => {
          const changed = Effect.unsafeMakeLatch(true)
          return { changed, stop: view.onChange(() => changed.unsafeOpen()) }
        }),
        ({ stop }) => Effect.sync(stop)
      ),
      ({ changed }) =>
        Effect.zipRight(
          Effect.zipRight(changed.await, Effect.yieldNow()),
          Effect.sync(() => {
            changed.unsafeClose()
            return view.members
          })
        )
    )
    const changes = Stream.unwrapScoped(Effect.map(listen, (next) => Stream.repeatEffect(next)))
    yield* Effect.forkScoped(Stream.runForEach(changes, () => Effect.sync(() => actor.gauge())))
    return {
      current: Effect.sync(() => view.members),
      changes,
      initialized: Effect.map(
        Stream.runHead(Stream.filter(changes, ({ state }) => state !== "Warming")),
        Option.getOrElse(() => view.members)
      ),
      events: Stream.asyncPush<ClusterEvent>(
        (emit) =>
          Effect.acquireRelease(
            Effect.sync(() => actor.onEvent((event) => void emit.single(event))),
            (stop) => Effect.sync(stop)
          ),
        { bufferSize: 1_024, strategy: "sliding" }
      ),
      status: Effect.sync(() => actor.status),
      warming: Effect.sync(() => actor.warming),
      unsafeReport: (host, outcome) => actor.report(host, outcome),
      report: (host, outcome) => Effect.sync(() => actor.report(host, outcome)),
      pick: (call) => Effect.sync(() => actor.pick(call)),
      inUse: (address, isInUse) => Effect.sync(() => actor.inUse(address, isInUse)),
      trafficSeen: Effect.sync(() => actor.trafficSeen()),
      passiveFailure: (host) => Effect.sync(() => actor.passiveFailure(host))
    }
  })

/**
 * The service, for the life of the layer.
 *
 * @since 0.1.0
 */
export const layer = (options: Options = {}): Layer.Layer<ClusterMembers, never, XdsClient | Resolver | Prober> =>
  Layer.scoped(ClusterMembers, make(options))

/** A client that has another decoder of the type cannot give the resource: that is said like any other error of it. */
const orError = <A>(
  events: Stream.Stream<ResourceEvent<A>, XdsClients.DecoderConflict>,
  name: string
): Stream.Stream<ResourceEvent<A>> =>
  Stream.catchAll(events, ({ message }) =>
    Stream.succeed<ResourceEvent<A>>({ _tag: "Error", name, error: { code: codes.FAILED_PRECONDITION, message } })
  )
