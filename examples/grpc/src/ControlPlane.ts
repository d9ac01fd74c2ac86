/**
 * The control plane: watches the catalog and tells gRPC clients where `xds:///greeter` is.
 *
 *     node dist/ControlPlane.js <catalog file> <port>
 */
import { create } from "@bufbuild/protobuf"
import { anyPack } from "@bufbuild/protobuf/wkt"
import * as FileSystem from "@effect/platform/FileSystem"
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { ResourceType } from "@effect-xds/proto"
import { Cluster_DiscoveryType, ClusterSchema } from "@effect-xds/proto/envoy/config/cluster/v3/cluster"
import { ClusterLoadAssignmentSchema } from "@effect-xds/proto/envoy/config/endpoint/v3/endpoint"
import { ListenerSchema } from "@effect-xds/proto/envoy/config/listener/v3/listener"
import { RouteConfigurationSchema } from "@effect-xds/proto/envoy/config/route/v3/route"
import { RouterSchema } from "@effect-xds/proto/envoy/extensions/filters/http/router/v3/router"
import { HttpConnectionManagerSchema } from "@effect-xds/proto/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager"
import type { Snapshot } from "@effect-xds/server"
import { SnapshotStore, XdsServer } from "@effect-xds/server"
import { ConnectServer } from "@effect-xds/transport-connect"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Schedule from "effect/Schedule"
import * as Stream from "effect/Stream"
import * as Catalog from "./Catalog.js"

const [file = "catalog.json", port = "18000"] = process.argv.slice(2)

// "Ask for it on the stream you have": every resource that names another one says so.
const ads = { configSourceSpecifier: { case: "ads", value: {} } } as const

// A gRPC client asks for the listener that its target names, and takes what it needs from an HttpConnectionManager.
const listener = create(ListenerSchema, {
  name: "greeter",
  apiListener: {
    apiListener: anyPack(
      HttpConnectionManagerSchema,
      create(HttpConnectionManagerSchema, {
        statPrefix: "greeter",
        routeSpecifier: { case: "rds", value: { routeConfigName: "greeter", configSource: ads } },
        httpFilters: [
          { name: "router", configType: { case: "typedConfig", value: anyPack(RouterSchema, create(RouterSchema)) } }
        ]
      })
    )
  }
})

// All calls, divided by weight. A version without weight is left out, so that clients keep no connection to it.
const route = ({ versions }: Catalog.Catalog) =>
  create(RouteConfigurationSchema, {
    name: "greeter",
    virtualHosts: [
      {
        name: "greeter",
        domains: ["*"],
        routes: [
          {
            match: { pathSpecifier: { case: "prefix", value: "/" } },
            action: {
              case: "route",
              value: {
                clusterSpecifier: {
                  case: "weightedClusters",
                  value: {
                    clusters: Object.entries(versions)
                      .filter(([, { weight }]) => weight > 0)
                      .map(([name, { weight }]) => ({ name, weight }))
                  }
                }
              }
            }
          }
        ]
      }
    ]
  })

const cluster = (name: string) =>
  create(ClusterSchema, {
    name,
    clusterDiscoveryType: { case: "type", value: Cluster_DiscoveryType.EDS },
    edsClusterConfig: { edsConfig: ads }
  })

const endpoint = (hostAndPort: string) => {
  const [address = "", portValue = ""] = hostAndPort.split(":")
  const socketAddress = { address, portSpecifier: { case: "portValue", value: Number(portValue) } } as const
  return {
    hostIdentifier: {
      case: "endpoint",
      value: { address: { address: { case: "socketAddress", value: socketAddress } } }
    }
  } as const
}

// gRPC passes over localities that have no weight.
const assignment = (clusterName: string, endpoints: ReadonlyArray<string>) =>
  create(ClusterLoadAssignmentSchema, {
    clusterName,
    endpoints: [{ locality: {}, loadBalancingWeight: 1, lbEndpoints: endpoints.map(endpoint) }]
  })

const toSnapshot = (catalog: Catalog.Catalog): Snapshot.Snapshot => {
  const versions = Object.entries(catalog.versions)
  return {
    listeners: [listener],
    routes: [route(catalog)],
    clusters: versions.map(([name]) => cluster(name)),
    endpoints: versions.map(([name, { endpoints }]) => assignment(name, endpoints))
  }
}

// Every state of the catalog as a whole: the store finds out what is different, and clients are sent only that.
// A catalog that cannot be used is a line in the log, and clients keep what they have.
const Publish = Layer.scopedDiscard(
  Effect.gen(function* () {
    const store = yield* SnapshotStore.SnapshotStore
    const files = yield* FileSystem.FileSystem
    yield* Stream.repeatEffectWithSchedule(files.readFileString(file), Schedule.spaced("50 millis")).pipe(
      Stream.changes,
      Stream.mapEffect((text) =>
        Catalog.parse(text).pipe(
          Effect.flatMap((catalog) => store.set("shop", toSnapshot(catalog))),
          Effect.catchAll((error) => Effect.logError(`this catalog is not used: ${error.message}`))
        )
      ),
      Stream.runDrain,
      Effect.tapErrorCause((cause) => Effect.logError("the catalog is no longer read", cause)),
      Effect.forkScoped
    )
  })
)

// What clients say to it, on the standard output.
const Print = Layer.scopedDiscard(
  Effect.gen(function* () {
    const { address, events } = yield* XdsServer.XdsServer
    yield* events.pipe(
      Stream.runForEach((event) => {
        switch (event._tag) {
          case "Connected":
            return Console.log(`connected: ${event.client.node?.id ?? "?"}`)
          case "Acked":
            return Console.log(`ACK ${ResourceType.shortNameOf(event.typeUrl)} ${event.version}`)
          case "Nacked":
            return Console.log(
              `NACK ${ResourceType.shortNameOf(event.typeUrl)} ${event.version}: ${event.error.message}`
            )
          default:
            return Effect.void
        }
      }),
      Effect.forkScoped
    )
    yield* Console.log(`serving ${address}`)
  })
)

// A client belongs to the group that its bootstrap names as `node.cluster`.
Print.pipe(
  Layer.provide(XdsServer.layer({ group: (node) => node.cluster })),
  Layer.merge(Publish),
  Layer.provide(SnapshotStore.layerMemory()),
  Layer.provide(ConnectServer.layer({ port: Number(port) })),
  Layer.provide(NodeFileSystem.layer),
  Layer.provide(Logger.replace(Logger.defaultLogger, Logger.withConsoleError(Logger.logfmtLogger))),
  Layer.launch,
  NodeRuntime.runMain({ disablePrettyLogger: true })
)
