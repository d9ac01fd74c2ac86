/** Endpoints that do not come from the client of the clusters: from a real file, and over real REST. */
import { fromJson, type JsonObject } from "@bufbuild/protobuf"
import { Bootstrap, XdsClient } from "@effect-xds/client"
import { ClusterMembers, NodeProber, Resolver } from "@effect-xds/discovery-node"
import { ClusterSchema } from "@effect-xds/proto/envoy/config/cluster/v3/cluster"
import { ClusterLoadAssignmentSchema } from "@effect-xds/proto/envoy/config/endpoint/v3/endpoint"
import { Snapshot, SnapshotStore, XdsServer } from "@effect-xds/server"
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

/** A server with a store of its own. */
const serve = <E>(transport: Layer.Layer<ServerTransport.ServerTransport, E>) =>
  Effect.gen(function* () {
    const server = XdsServer.layer({ group: ({ cluster }) => cluster }).pipe(
      Layer.provide(transport),
      Layer.provideMerge(SnapshotStore.layerMemory),
      Layer.provide(silent)
    )
    const context = yield* Layer.build(server)
    const store = Context.get(context, SnapshotStore.SnapshotStore)
    return { store, address: Context.get(context, XdsServer.XdsServer).address }
  })

const clientOf = (server: string) =>
  XdsClient.make({
    bootstrap: Bootstrap.make({ servers: [server], node }),
    aggregated: false,
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
    const cluster = yield* membersOf(Snapshot.make({ clusters: [edsOf({ pathConfigSource: { path } })] }), sources)
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
      rest.store.set(
        "edge",
        Snapshot.make({ endpoints: [fromJson(ClusterLoadAssignmentSchema, assignmentOf(...addresses))] })
      )
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
    const cluster = yield* membersOf(Snapshot.make({ clusters: [edsOf({ apiConfigSource })] }), sources)
    yield* become(cluster, "10.0.0.1")
    yield* put("10.0.0.1", "10.0.0.2")
    yield* become(cluster, "10.0.0.1", "10.0.0.2")
    expect(asked).toEqual([
      { _tag: "Api", kind: "REST", servers: ["xds"], refreshDelay: 20, requestTimeout: undefined }
    ])
  })
)

it.scopedLive("a source that cannot be had is told, and who has none says so", () =>
  Effect.gen(function* () {
    const clusters = Snapshot.make({ clusters: [edsOf({ pathConfigSource: { path: "/e.json" } })] })
    const none = yield* membersOf(clusters, undefined)
    const { message, state } = yield* none.settled
    expect([state, message]).toEqual(["Failed", expect.stringContaining("there is no client of a file here")])
    const broken = yield* membersOf(clusters, () => Effect.fail(new Error("no such directory")))
    const members = yield* broken.settled
    const words = 'endpoints "c" cannot be watched: Error: no such directory'
    expect([members.state, members.all, members.message]).toEqual(["Ready", [], words])
    expect((yield* broken.status).inUse?.unwatched).toBe(words)
  })
)
