/** A real Envoy and `ClusterMembers` on one control plane and one name server. */
import { fromJson, isMessage, type JsonObject } from "@bufbuild/protobuf"
import { Bootstrap, XdsClient } from "@effect-xds/client"
import * as ClusterMembers from "@effect-xds/discovery-node/ClusterMembers"
import * as NodeProber from "@effect-xds/discovery-node/NodeProber"
import * as Resolver from "@effect-xds/discovery-node/Resolver"
import { type Cluster, ClusterSchema } from "@effect-xds/proto/envoy/config/cluster/v3/cluster"
import { ClusterLoadAssignmentSchema } from "@effect-xds/proto/envoy/config/endpoint/v3/endpoint"
import { SnapshotStore, XdsServer } from "@effect-xds/server"
import { ConnectClient, ConnectServer } from "@effect-xds/transport-connect"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import type * as Scope from "effect/Scope"
import type { EnvoyClusters, EnvoyView } from "./EnvoyClusters.js"
import { startEnvoy } from "./EnvoyClusters.js"
import { NameServer } from "./NameServer.js"

const group = "edge"
const silent = Logger.replace(Logger.defaultLogger, Logger.none)

export interface EnvoyWorld {
  readonly names: NameServer
  readonly envoy: EnvoyClusters
  /** Looks at Envoy, once for all who wait. */
  readonly nextLook: () => Promise<ReadonlyMap<string, EnvoyView>>
  readonly of: ClusterMembers.ClusterMembers["of"]
  /** Tells both of clusters and assignments, as JSON, or that there are none of these names. */
  readonly update: (changes: {
    readonly clusters?: ReadonlyArray<JsonObject | Cluster>
    readonly endpoints?: ReadonlyArray<JsonObject>
    readonly remove?: { readonly clusters?: ReadonlyArray<string>; readonly endpoints?: ReadonlyArray<string> }
  }) => Promise<void>
}

/** Starts all of it, until the scope closes. */
export const start = (program: string): Effect.Effect<EnvoyWorld, never, Scope.Scope> =>
  Effect.gen(function* () {
    const names = yield* Effect.acquireRelease(
      Effect.promise(() => NameServer.start()),
      (server) => Effect.sync(() => server.close())
    )
    const store = yield* SnapshotStore.makeMemory()
    yield* Effect.orDie(store.set(group, {}))
    const server = yield* XdsServer.make({ group: (node) => node.cluster }).pipe(
      Effect.provide(SnapshotStore.layerOf(store)),
      Effect.provide(ConnectServer.layer({ shutdownGrace: 10 })),
      Effect.provide(silent),
      Effect.orDie
    )
    const port = Number(server.address.split(":").at(-1))
    const envoy = yield* Effect.acquireRelease(
      Effect.promise(() => startEnvoy(program, port, names.port("envoy"))),
      ({ close }) => Effect.promise(close)
    )
    const servers = [`127.0.0.1:${names.port("ours")}`]
    const given = Bootstrap.make({ servers: [server.address], node: { id: "ours", cluster: group } })
    // That there is no assignment counts (A88).
    const bootstrap = { ...given, servers: given.servers.map((each) => ({ ...each, failOnDataErrors: true })) }
    const context = yield* Layer.build(
      ClusterMembers.layer().pipe(
        Layer.provide(XdsClient.layer({ bootstrap, protocol: "Incremental" })),
        Layer.provide(ConnectClient.layer()),
        Layer.provide(Resolver.layer({ servers, timeout: 1_000, tries: 1, usesSystem: false })),
        Layer.provide(NodeProber.layer),
        Layer.provide(silent)
      )
    ).pipe(Effect.orDie)
    const { of } = Context.get(context, ClusterMembers.ClusterMembers)

    let look: Promise<ReadonlyMap<string, EnvoyView>> | undefined
    const nextLook = (): Promise<ReadonlyMap<string, EnvoyView>> =>
      (look ??= new Promise<void>((resolve) => setTimeout(resolve, 50)).then(() => {
        look = undefined
        return envoy.look()
      }))

    const update: EnvoyWorld["update"] = ({ clusters, endpoints, remove = {} }) => {
      const upsert = {
        ...(clusters === undefined
          ? {}
          : {
              clusters: clusters.map((each) => (isMessage(each, ClusterSchema) ? each : fromJson(ClusterSchema, each)))
            }),
        ...(endpoints === undefined
          ? {}
          : { endpoints: endpoints.map((json) => fromJson(ClusterLoadAssignmentSchema, json)) })
      }
      return Effect.runPromise(Effect.orDie(Effect.asVoid(store.update(group, { upsert: upsert, remove }))))
    }
    return { names, envoy, nextLook, of, update }
  })
