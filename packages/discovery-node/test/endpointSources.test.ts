/** Endpoints that do not come from the client of the clusters: from a real file, over real REST and over real gRPC. */
import { fromJson, type JsonObject } from "@bufbuild/protobuf"
import { Bootstrap, XdsClient } from "@effect-xds/client"
import { ClusterMembers, NodeProber, Resolver } from "@effect-xds/discovery-node"
import { ResourceType } from "@effect-xds/proto"
import { ClusterSchema } from "@effect-xds/proto/envoy/config/cluster/v3/cluster"
import { ClusterLoadAssignmentSchema } from "@effect-xds/proto/envoy/config/endpoint/v3/endpoint"
import type { Snapshot } from "@effect-xds/server"
import { SnapshotStore, XdsServer } from "@effect-xds/server"
import type { ServerTransport } from "@effect-xds/transport"
import { ConnectClient, ConnectServer } from "@effect-xds/transport-connect"
import { FileClient } from "@effect-xds/transport-filesystem"
import { RestClient, RestServer } from "@effect-xds/transport-rest"
import { expect, it } from "@effect/vitest"
import { Context, Effect, Layer, Logger, Stream } from "effect"
import { mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

const silent = Logger.replace(Logger.defaultLogger, Logger.none)
const node = { id: "app-1", cluster: "edge" }

/** A server with a store of its own; `hear`: is told of each stream, its variant and its service. */
const serve = <E>(
  transport: Layer.Layer<ServerTransport.ServerTransport, E>,
  hear: (method: string) => void = () => undefined
) =>
  Effect.gen(function* () {
    const group: XdsServer.Options["group"] = ({ cluster }, { method }) => {
      const { protocol, typeUrl } = method
      hear(`${protocol} ${typeUrl === undefined ? "ADS" : ResourceType.shortNameOf(typeUrl)}`)
      return cluster
    }
    const server = XdsServer.layer({ group }).pipe(
      Layer.provide(transport),
      Layer.provideMerge(SnapshotStore.layerMemory()),
      Layer.provide(silent)
    )
    const context = yield* Layer.build(server)
    const store = Context.get(context, SnapshotStore.SnapshotStore)
    return { store, address: Context.get(context, XdsServer.XdsServer).address }
  })

const clientOf = (server: string, protocol: XdsClient.Options["protocol"] = "StateOfTheWorld") =>
  XdsClient.make({
    bootstrap: Bootstrap.make({ servers: [server], node }),
    aggregated: false,
    protocol,
    backoff: { initial: 50, floor: 10 }
  })

const edsOf = (edsConfig: JsonObject) =>
  fromJson(ClusterSchema, { name: "c", type: "EDS", edsClusterConfig: { edsConfig } })

const assignmentOf = (...addresses: ReadonlyArray<string>): JsonObject => ({
  clusterName: "c",
  endpoints: [
    {
      lbEndpoints: addresses.map((address) => ({
        endpoint: { address: { socketAddress: { address, portValue: 80 } } }
      }))
    }
  ]
})

/** The members of cluster c, which is what the store of the clusters has. */
const membersOf = (clusters: Snapshot.Snapshot, sources: ClusterMembers.Sources | undefined) =>
  Effect.gen(function* () {
    const { address, store } = yield* serve(ConnectServer.layer({ shutdownGrace: 10 }))
    yield* store.set("edge", clusters)
    const layer = ClusterMembers.layer({ sources }).pipe(
      Layer.provide([
        XdsClient.layer({ bootstrap: Bootstrap.make({ servers: [address], node }) }).pipe(
          Layer.provide(ConnectClient.layer())
        ),
        Resolver.layer(),
        NodeProber.layer
      ]),
      Layer.provide(silent)
    )
    const { of } = Context.get(yield* Layer.build(layer), ClusterMembers.ClusterMembers)
    return yield* of("c")
  })

/** Waits until these are the members. */
const become = ({ changes }: ClusterMembers.Service, ...addresses: ReadonlyArray<string>) =>
  changes.pipe(
    Stream.map(({ all }) => all.map(({ host }) => host.address)),
    Stream.takeUntil((now) => now.join(" ") === addresses.map((address) => `${address}:80`).join(" ")),
    Stream.runDrain,
    Effect.timeout("20 seconds")
  )

it.scopedLive("endpoints come from a file, and change with it; a file that goes bad leaves what it held", () =>
  Effect.gen(function* () {
    const folder = yield* Effect.acquireRelease(
      Effect.sync(() => mkdtempSync(join(tmpdir(), "effect-xds-endpoints-"))),
      (path) => Effect.sync(() => rmSync(path, { recursive: true }))
    )
    const path = join(folder, "eds.json")
    const write = (text: string) =>
      Effect.sync(() => {
        writeFileSync(`${path}.new`, text)
        renameSync(`${path}.new`, path)
      })
    const put = (...addresses: ReadonlyArray<string>) =>
      write(
        JSON.stringify({
          version_info: addresses.join(),
          resources: [
            {
              "@type": "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment",
              ...assignmentOf(...addresses)
            }
          ]
        })
      )
    yield* put("10.0.0.1", "10.0.0.2")
    const sources: ClusterMembers.Sources = (source) =>
      source._tag === "File"
        ? Effect.provide(clientOf(`path:${source.path}`), [FileClient.layer(), silent])
        : Effect.fail(new Error("a file was asked for"))
    const cluster = yield* membersOf({ clusters: [edsOf({ pathConfigSource: { path } })] }, sources)
    yield* become(cluster, "10.0.0.1", "10.0.0.2")
    yield* write("{")
    yield* put("10.0.0.3")
    yield* become(cluster, "10.0.0.3")
  })
)

it.scopedLive("endpoints come over REST from servers of their own, as often as the cluster says", () =>
  Effect.gen(function* () {
    const rest = yield* serve(RestServer.layer({ shutdownGrace: 10 }))
    const put = (...addresses: ReadonlyArray<string>) =>
      rest.store.set("edge", { endpoints: [fromJson(ClusterLoadAssignmentSchema, assignmentOf(...addresses))] })
    yield* put("10.0.0.1")
    const asked: Array<ClusterMembers.OtherSource> = []
    const sources: ClusterMembers.Sources = (source) => {
      asked.push(source)
      const isRest = source._tag === "Api" && source.kind === "REST" && source.servers[0] === "xds"
      if (!isRest) return Effect.fail(new Error("REST was asked for"))
      const transport = RestClient.layer({ refreshDelay: source.refreshDelay })
      return Effect.provide(clientOf(rest.address), [transport, silent])
    }
    const apiConfigSource = { apiType: "REST", clusterNames: ["xds"], refreshDelay: "0.02s" }
    const cluster = yield* membersOf({ clusters: [edsOf({ apiConfigSource })] }, sources)
    yield* become(cluster, "10.0.0.1")
    yield* put("10.0.0.1", "10.0.0.2")
    yield* become(cluster, "10.0.0.1", "10.0.0.2")
    expect(asked).toEqual([
      { _tag: "Api", kind: "REST", servers: ["xds"], refreshDelay: 20, requestTimeout: undefined }
    ])
  })
)

const grpc = (service: JsonObject, apiType = "GRPC"): JsonObject => ({ apiType, grpcServices: [service] })
const google = { googleGrpc: { targetUri: "endpoints:18000", statPrefix: "x" } }
const envoy = { envoyGrpc: { clusterName: "endpoints:18000" } }
const overGrpc: ReadonlyArray<readonly [string, "Incremental" | "StateOfTheWorld", JsonObject]> = [
  ["GRPC", "StateOfTheWorld", grpc(google)],
  ["GRPC", "StateOfTheWorld", grpc(envoy)],
  ["DELTA_GRPC", "Incremental", grpc(google, "DELTA_GRPC")]
]

it.scopedLive.each(overGrpc)(
  "endpoints come over gRPC from servers of their own: %s",
  ([kind, protocol, apiConfigSource]) =>
    Effect.gen(function* () {
      const asked: Array<string> = []
      const other = yield* serve(ConnectServer.layer({ shutdownGrace: 10 }), (method) => asked.push(method))
      const put = (...addresses: ReadonlyArray<string>) =>
        other.store.set("edge", { endpoints: [fromJson(ClusterLoadAssignmentSchema, assignmentOf(...addresses))] })
      yield* put("10.0.0.1")
      const sources: ClusterMembers.Sources = (source) => {
        const isIt = source._tag === "Api" && source.kind === kind && source.servers[0] === "endpoints:18000"
        if (!isIt) return Effect.fail(new Error(`${kind} was asked for`))
        return Effect.provide(clientOf(other.address, protocol), [ConnectClient.layer(), silent])
      }
      const cluster = yield* membersOf({ clusters: [edsOf({ apiConfigSource })] }, sources)
      yield* become(cluster, "10.0.0.1")
      yield* put("10.0.0.1", "10.0.0.2")
      yield* become(cluster, "10.0.0.1", "10.0.0.2")
      // A stream of its own for endpoints, in the variant that the cluster says.
      expect(new Set(asked)).toEqual(new Set([`${protocol} EDS`]))
    })
)

it.scopedLive("a source that cannot be had is told, and who has none says so", () =>
  Effect.gen(function* () {
    const clusters = { clusters: [edsOf({ pathConfigSource: { path: "/e.json" } })] }
    const none = yield* membersOf(clusters, undefined)
    const { message, state } = yield* none.initialized
    expect([state, message]).toEqual(["Failed", expect.stringContaining("there is no client of a file here")])
    const broken = yield* membersOf(clusters, () => Effect.fail(new Error("no such directory")))
    const members = yield* broken.initialized
    const words = 'endpoints "c" cannot be watched: Error: no such directory'
    expect([members.state, members.all, members.message]).toEqual(["Ready", [], words])
    expect((yield* broken.status).inUse?.unwatched).toBe(words)
  })
)
