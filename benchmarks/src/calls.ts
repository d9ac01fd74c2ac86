/**
 * `node benchmarks/dist/calls.js`: the CPU of a unary call through xDS, beside a plain Connect transport to the same server,
 * and beside grpc-js without xDS. CPU time of this process, in which nothing else runs than an idle control plane;
 * the server is a process of its own. Batches by turns; medians.
 */
import { create, fromBinary, toBinary } from "@bufbuild/protobuf"
import { anyPack } from "@bufbuild/protobuf/wkt"
import { createClient } from "@connectrpc/connect"
import { connectNodeAdapter, createGrpcTransport } from "@connectrpc/connect-node"
import { Bootstrap, XdsClient } from "@effect-xds/client"
import { XdsChannels, XdsTransport } from "@effect-xds/connect-xds"
import { Cluster_DiscoveryType, ClusterSchema } from "@effect-xds/proto/envoy/config/cluster/v3/cluster"
import { ClusterLoadAssignmentSchema } from "@effect-xds/proto/envoy/config/endpoint/v3/endpoint"
import { ListenerSchema } from "@effect-xds/proto/envoy/config/listener/v3/listener"
import { RouteConfigurationSchema } from "@effect-xds/proto/envoy/config/route/v3/route"
import { RouterSchema } from "@effect-xds/proto/envoy/extensions/filters/http/router/v3/router"
import { HttpConnectionManagerSchema } from "@effect-xds/proto/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager"
import {
  Health,
  HealthCheckRequestSchema,
  HealthCheckResponse_ServingStatus,
  HealthCheckResponseSchema
} from "@effect-xds/proto/grpc/health/v1/health"
import { SnapshotStore, XdsServer } from "@effect-xds/server"
import { ConnectClient, ConnectServer } from "@effect-xds/transport-connect"
import * as Grpc from "@grpc/grpc-js"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as LogLevel from "effect/LogLevel"
import { fork } from "node:child_process"
import { once } from "node:events"
import { createServer } from "node:http2"
import { fileURLToPath } from "node:url"

const self = fileURLToPath(import.meta.url)

const serve = (): void => {
  process.once("disconnect", () => process.exit())
  const status = HealthCheckResponse_ServingStatus.SERVING
  const server = createServer(
    connectNodeAdapter({ routes: (router) => router.service(Health, { check: () => ({ status }) }) })
  )
  server.listen(0, "127.0.0.1", () => process.send?.(server.address()))
}

const ads = { configSourceSpecifier: { case: "ads" as const, value: {} } }

const resources = (port: number) => ({
  listeners: [
    create(ListenerSchema, {
      name: "shop",
      apiListener: {
        apiListener: anyPack(
          HttpConnectionManagerSchema,
          create(HttpConnectionManagerSchema, {
            statPrefix: "shop",
            routeSpecifier: { case: "rds", value: { configSource: ads, routeConfigName: "shop" } },
            httpFilters: [
              {
                name: "router",
                configType: { case: "typedConfig", value: anyPack(RouterSchema, create(RouterSchema)) }
              }
            ]
          })
        )
      }
    })
  ],
  routes: [
    create(RouteConfigurationSchema, {
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
  ],
  clusters: [
    create(ClusterSchema, {
      name: "shop",
      clusterDiscoveryType: { case: "type", value: Cluster_DiscoveryType.EDS },
      edsClusterConfig: { edsConfig: ads }
    })
  ],
  endpoints: [
    create(ClusterLoadAssignmentSchema, {
      clusterName: "shop",
      endpoints: [
        {
          locality: { zone: "here" },
          loadBalancingWeight: 1,
          lbEndpoints: [
            {
              hostIdentifier: {
                case: "endpoint" as const,
                value: {
                  address: {
                    address: {
                      case: "socketAddress" as const,
                      value: { address: "127.0.0.1", portSpecifier: { case: "portValue" as const, value: port } }
                    }
                  }
                }
              }
            }
          ]
        }
      ]
    })
  ]
})

type Call = () => Promise<unknown>

/** As many calls as are under way at once. */
const width = 16

const batch = async (call: Call, calls: number): Promise<number> => {
  const start = process.cpuUsage()
  let left = calls
  const caller = async (): Promise<void> => {
    while (left-- > 0) await call()
  }
  await Promise.all(Array.from({ length: width }, caller))
  const { system, user } = process.cpuUsage(start)
  return (system + user) / calls
}

const median = (numbers: ReadonlyArray<number>): number =>
  Array.from(numbers).sort((a, b) => a - b)[numbers.length >> 1] ?? 0

const grpcJs = (target: string): Call => {
  const client = new Grpc.Client(target, Grpc.credentials.createInsecure())
  const request = create(HealthCheckRequestSchema, {})
  return () =>
    new Promise((resolve, reject) => {
      client.makeUnaryRequest(
        "/grpc.health.v1.Health/Check",
        (message: typeof request) => Buffer.from(toBinary(HealthCheckRequestSchema, message)),
        (bytes) => fromBinary(HealthCheckResponseSchema, bytes),
        request,
        (error, answer) => (error === null ? resolve(answer) : reject(error))
      )
    })
}

const program = Effect.gen(function* () {
  const child = yield* Effect.acquireRelease(
    Effect.sync(() => fork(self, ["server"])),
    (server) => Effect.sync(() => server.kill())
  )
  const said: ReadonlyArray<unknown> = yield* Effect.promise(() => once(child, "message"))
  const [address] = said
  const port = typeof address === "object" && address !== null && "port" in address ? Number(address.port) : 0
  const store = yield* SnapshotStore.SnapshotStore
  const plane = yield* XdsServer.XdsServer
  yield* store.set("shop", resources(port))
  const bootstrap = Bootstrap.make({ servers: [plane.address], node: { id: "ours" } })
  const context = yield* Layer.build(
    XdsChannels.layer({ bootstrap }).pipe(
      Layer.provide(XdsClient.layer({ bootstrap })),
      Layer.provide(ConnectClient.layer())
    )
  )
  const ours = createClient(Health, yield* Effect.provide(XdsTransport.make({ target: "xds:///shop" }), context))
  const plain = createClient(Health, createGrpcTransport({ baseUrl: `http://127.0.0.1:${port}` }))
  const kinds: ReadonlyArray<readonly [string, Call]> = [
    ["Connect, plain", () => plain.check({})],
    ["Connect through xDS", () => ours.check({})],
    ["grpc-js, plain", grpcJs(`127.0.0.1:${port}`)]
  ]
  const rounds = Number(process.argv[2] ?? "21")
  const costs = kinds.map((): Array<number> => [])
  for (const [, call] of kinds) yield* Effect.promise(() => batch(call, 1_500))
  for (let round = 0; round < rounds; round++) {
    for (const [index, [, call]] of kinds.entries()) {
      const microseconds = yield* Effect.promise(() => batch(call, 500))
      costs[index]?.push(microseconds)
    }
  }
  const base = median(costs[0] ?? [])
  for (const [index, [name]] of kinds.entries()) {
    const cost = median(costs[index] ?? [])
    process.stdout.write(`${name.padEnd(24)} ${cost.toFixed(1).padStart(8)} µs  ${(cost / base).toFixed(2)} ×\n`)
  }
  process.exit()
})

if (process.argv[2] === "server") serve()
else {
  const layer = XdsServer.layer({ group: () => "shop" }).pipe(
    Layer.provide(ConnectServer.layer({ port: 0 })),
    Layer.provideMerge(SnapshotStore.layerMemory()),
    Layer.provide(Logger.minimumLogLevel(LogLevel.Error))
  )
  await Effect.runPromise(Effect.scoped(program).pipe(Effect.provide(layer)))
}
