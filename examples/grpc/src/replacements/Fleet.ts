/** A control plane, two backends and gRPC clients that call them without a pause: what a replacement is tried on. */
import { create } from "@bufbuild/protobuf"
import type * as PlatformError from "@effect/platform/Error"
import type * as CommandExecutor from "@effect/platform/CommandExecutor"
import { Cluster_DiscoveryType, ClusterSchema } from "@effect-xds/proto/envoy/config/cluster/v3/cluster"
import { ClusterLoadAssignmentSchema } from "@effect-xds/proto/envoy/config/endpoint/v3/endpoint"
import { RouteConfigurationSchema } from "@effect-xds/proto/envoy/config/route/v3/route"
import type { Snapshot } from "@effect-xds/server"
import { type ServerEvent, SnapshotStore, XdsServer } from "@effect-xds/server"
import { GrpcListener } from "@effect-xds/testing"
import { ConnectServer } from "@effect-xds/transport-connect"
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import type * as Stream from "effect/Stream"
import * as ChildProcess from "../ChildProcess.js"
import * as Wait from "../Wait.js"
import * as GrpcClient from "./GrpcClient.js"

export const group = "shop"

export const ads = { configSourceSpecifier: { case: "ads", value: {} } } as const

/** What clients ask for first: calls to `greeter` go by the routes `greeter`. */
export const listener = GrpcListener.make("greeter")

const route = (cluster: string) =>
  create(RouteConfigurationSchema, {
    name: "greeter",
    virtualHosts: [
      {
        name: "greeter",
        domains: ["*"],
        routes: [
          {
            match: { pathSpecifier: { case: "prefix", value: "/" } },
            action: { case: "route", value: { clusterSpecifier: { case: "cluster", value: cluster } } }
          }
        ]
      }
    ]
  })

const cluster = (name: string, type: Cluster_DiscoveryType) =>
  create(ClusterSchema, {
    name,
    clusterDiscoveryType: { case: "type", value: type },
    edsClusterConfig: { edsConfig: ads }
  })

const assignment = (clusterName: string, hostAndPort: string, priority: number) => {
  const [address = "", portValue = ""] = hostAndPort.split(":")
  const socketAddress = { address, portSpecifier: { case: "portValue", value: Number(portValue) } } as const
  return create(ClusterLoadAssignmentSchema, {
    clusterName,
    endpoints: [
      {
        locality: {},
        priority,
        loadBalancingWeight: 1,
        lbEndpoints: [
          {
            hostIdentifier: {
              case: "endpoint",
              value: { address: { address: { case: "socketAddress", value: socketAddress } } }
            }
          }
        ]
      }
    ]
  })
}

/** What clients are told: where calls go, and each cluster with its endpoint. */
export interface State {
  /** The cluster that the route names. */
  readonly to: string
  readonly clusters: Readonly<Record<string, string>>
  /** Clusters of a type that gRPC does not take. */
  readonly unsupported?: ReadonlyArray<string>
  /** Clusters whose endpoints no gRPC client takes: of priority 1, while there are none of priority 0. */
  readonly sparse?: ReadonlyArray<string>
}

const toSnapshot = ({ clusters, sparse = [], to, unsupported = [] }: State): Snapshot.Snapshot => ({
  listeners: [listener],
  routes: [route(to)],
  clusters: Object.keys(clusters).map((name) =>
    cluster(name, unsupported.includes(name) ? Cluster_DiscoveryType.STATIC : Cluster_DiscoveryType.EDS)
  ),
  endpoints: Object.entries(clusters).map(([name, endpoint]) =>
    assignment(name, endpoint, sparse.includes(name) ? 1 : 0)
  )
})

export interface Fleet {
  /** The addresses of the backends, which answer with their names. */
  readonly backends: { readonly a: string; readonly b: string }
  readonly clients: ReadonlyArray<GrpcClient.GrpcClient>
  /** Sets the state of all clients at once. */
  readonly publish: (state: State) => Effect.Effect<void>
  readonly events: Stream.Stream<ServerEvent.ServerEvent>
  /** Fails when a process ends by itself. */
  readonly crash: Effect.Effect<never, ChildProcess.Crashed>
}

export type Failure = Wait.TimedOut | ChildProcess.Crashed | PlatformError.PlatformError

/** A control plane. */
export const serve = (phaseDeadline: Duration.DurationInput) =>
  Layer.build(
    XdsServer.layer({ group: (node) => node.cluster, phaseDeadline }).pipe(
      Layer.provideMerge(Layer.merge(SnapshotStore.layerMemory(), ConnectServer.layer({ port: 0 })))
    )
  ).pipe(Effect.orDie)

/** Starts backends; gives their addresses by name. */
export const startBackends = (names: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    let line: string | undefined
    const process = yield* ChildProcess.start({
      name: "the backends",
      script: new URL("../../dist/replacements/Backends.js", import.meta.url),
      args: names,
      onLine: (first) => {
        line ??= first
      }
    })
    const addresses = yield* Wait.until({
      what: "the backends to listen",
      limit: "60 seconds",
      check: () => {
        const found = Array.from(
          (line ?? "").matchAll(/(\S+)=(\S+)/g),
          ([, name = "", address = ""]) => [name, address] as const
        )
        return found.length === names.length ? new Map(found) : undefined
      },
      seen: () => line ?? "they printed no address"
    }).pipe(Effect.raceFirst(process.crash))
    return { process, addresses }
  })

/** Waits until each client had so many answers of the backend that it did not have at the call. */
export const answers = (
  { clients, crash }: Fleet,
  backend: string,
  count: number,
  limit: Wait.Limit = "60 seconds"
): Effect.Effect<void, Failure> =>
  Effect.suspend(() => {
    const before = new Map(clients.map(({ calls, name }) => [name, calls.answeredBy(backend)]))
    const news = ({ calls, name }: GrpcClient.GrpcClient) => calls.answeredBy(backend) - (before.get(name) ?? 0)
    const late = () => clients.filter((client) => news(client) < count)
    const describe = (client: GrpcClient.GrpcClient) =>
      `${client.name} had ${news(client)}, and since its start failed with ${JSON.stringify(client.calls.failures.byServer)}`
    return Wait.until({
      what: `${count} answers of backend ${backend} to each client`,
      limit,
      check: () => (late().length === 0 ? true : undefined),
      seen: () => late().map(describe).join("; ")
    }).pipe(Effect.asVoid, Effect.raceFirst(crash))
  })

/** Starts everything; returns when each client is answered by backend `a`, in the state that is given. */
export const start = (
  names: ReadonlyArray<GrpcClient.Name>,
  first: (backends: Fleet["backends"]) => State,
  phaseDeadline: Duration.DurationInput = "5 seconds"
): Effect.Effect<Fleet, Failure, Scope.Scope | CommandExecutor.CommandExecutor> =>
  Effect.gen(function* () {
    const context = yield* serve(phaseDeadline)
    const server = Context.get(context, XdsServer.XdsServer)
    const store = Context.get(context, SnapshotStore.SnapshotStore)
    const publish = (state: State) => Effect.orDie(store.set(group, toSnapshot(state)))
    const { addresses, process } = yield* startBackends(["a", "b"])
    const backends = { a: addresses.get("a") ?? "", b: addresses.get("b") ?? "" }
    yield* publish(first(backends))
    const clients = yield* Effect.forEach(names, (name) => GrpcClient.start(name, server.address, group), {
      concurrency: "unbounded"
    })
    const crash = Effect.raceAll([process.crash, ...clients.map((client) => client.crash)])
    const fleet: Fleet = { backends, clients, publish, events: server.events, crash }
    yield* answers(fleet, "a", 20, "2 minutes")
    return fleet
  })
