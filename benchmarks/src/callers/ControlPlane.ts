/** The control plane of the clients that are measured: our server, with one service. */
import { create } from "@bufbuild/protobuf"
import { anyPack } from "@bufbuild/protobuf/wkt"
import { Cluster_DiscoveryType, ClusterSchema } from "@effect-xds/proto/envoy/config/cluster/v3/cluster"
import { ClusterLoadAssignmentSchema } from "@effect-xds/proto/envoy/config/endpoint/v3/endpoint"
import { ListenerSchema } from "@effect-xds/proto/envoy/config/listener/v3/listener"
import { RouteConfigurationSchema } from "@effect-xds/proto/envoy/config/route/v3/route"
import { RouterSchema } from "@effect-xds/proto/envoy/extensions/filters/http/router/v3/router"
import { HttpConnectionManagerSchema } from "@effect-xds/proto/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager"
import { SnapshotStore, XdsServer } from "@effect-xds/server"
import { ConnectServer } from "@effect-xds/transport-connect"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as LogLevel from "effect/LogLevel"
import * as ManagedRuntime from "effect/ManagedRuntime"
import * as Schema from "effect/Schema"
import * as Fixtures from "../Fixtures.js"
import * as Answers from "./Answers.js"

const ads = { configSourceSpecifier: { case: "ads" as const, value: {} } }

const listener = create(ListenerSchema, {
  name: "shop",
  apiListener: {
    apiListener: anyPack(
      HttpConnectionManagerSchema,
      create(HttpConnectionManagerSchema, {
        statPrefix: "shop",
        routeSpecifier: { case: "rds", value: { configSource: ads, routeConfigName: "shop" } },
        httpFilters: [
          { name: "router", configType: { case: "typedConfig", value: anyPack(RouterSchema, create(RouterSchema)) } }
        ]
      })
    )
  }
})

const route = create(RouteConfigurationSchema, {
  name: "shop",
  virtualHosts: [
    {
      name: "shop",
      domains: ["*"],
      routes: [
        {
          match: { pathSpecifier: { case: "prefix", value: "" } },
          action: { case: "route", value: { clusterSpecifier: { case: "cluster", value: "shop" } } }
        }
      ]
    }
  ]
})

const cluster = create(ClusterSchema, {
  name: "shop",
  clusterDiscoveryType: { case: "type", value: Cluster_DiscoveryType.EDS },
  edsClusterConfig: { edsConfig: ads }
})

const Endpoints = Schema.decodeUnknownSync(
  Schema.Struct({ endpoints: Schema.Array(Schema.Struct({ address: Schema.String, port: Schema.Number })) })
)

const assignment = (endpoints: ReadonlyArray<{ readonly address: string; readonly port: number }>) =>
  create(ClusterLoadAssignmentSchema, {
    clusterName: "shop",
    endpoints: [
      {
        locality: { zone: "here" },
        loadBalancingWeight: 1,
        lbEndpoints: endpoints.map(({ address, port }) => Fixtures.hostAt(address, port))
      }
    ]
  })

const runtime = ManagedRuntime.make(
  XdsServer.layer({ group: () => "shop" }).pipe(
    Layer.provide(ConnectServer.layer({ port: 0 })),
    Layer.provideMerge(SnapshotStore.layerMemory()),
    Layer.provide(Logger.minimumLogLevel(LogLevel.Error))
  )
)

Answers.serve({
  start: () => runtime.runPromise(Effect.map(XdsServer.XdsServer, ({ address }) => ({ address }))),
  /** The service has these endpoints from now on; the time before it was said. */
  set: async (fields) => {
    const resources = {
      listeners: [listener],
      routes: [route],
      clusters: [cluster],
      endpoints: [assignment(Endpoints(fields).endpoints)]
    }
    const at = Answers.time()
    await runtime.runPromise(Effect.flatMap(SnapshotStore.SnapshotStore, (store) => store.set("shop", resources)))
    return { at }
  }
})
