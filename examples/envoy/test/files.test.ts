import { create } from "@bufbuild/protobuf"
import { NodeContext } from "@effect/platform-node"
import { it } from "@effect/vitest"
import { ResourceType } from "@effect-xds/proto"
import { ConfigSourceSchema } from "@effect-xds/proto/envoy/config/core/v3/config_source"
import type { Snapshot } from "@effect-xds/server"
import { SnapshotStore } from "@effect-xds/server"
import { PeerProgram } from "@effect-xds/testing"
import { type FileFormat, ResponseDirectory, ResponseFile } from "@effect-xds/transport-filesystem"
import { Effect, Logger, LogLevel, Stream } from "effect"
import * as FileSystem from "@effect/platform/FileSystem"
import { dirname, join } from "node:path"
import { performance } from "node:perf_hooks"
import { describe, expect } from "vitest"
import * as Bootstrap from "../src/Bootstrap.js"
import * as Envoy from "../src/Envoy.js"
import * as Http from "../src/Http.js"
import * as Resources from "../src/Resources.js"
import * as Wait from "../src/Wait.js"

const peer = PeerProgram.forTest("envoy")
const formats: ReadonlyArray<FileFormat.FileFormat> = ["json", "yaml", "text", "binary"]

/** Where the files of a directory are, as Envoy is told. */
const files = (directory: string, format: FileFormat.FileFormat) => {
  const path = ({ typeUrl }: ResourceType.ResourceType, name = ""): string =>
    ResponseDirectory.pathOf(directory, { typeUrl, name }, format) ?? ""
  const source = (type: ResourceType.ResourceType, name: string) => {
    const file = path(type, name)
    const value = { path: file, watchedDirectory: { path: dirname(file) } }
    const configSourceSpecifier = { case: "pathConfigSource", value } as const
    return create(ConfigSourceSchema, { configSourceSpecifier })
  }
  return { path, source }
}

/** An edge as in the other tests, but everything that is named is in a file. */
const edge = (
  { source }: ReturnType<typeof files>,
  weights: Readonly<Record<string, number>>,
  clusters: Readonly<Record<string, ReadonlyArray<string>>>
): Snapshot.Snapshot => {
  const manager = Resources.manager(Bootstrap.stateOfTheWorld, "main")
  return {
    listeners: [
      Resources.listener("ingress", {
        ...manager,
        routeSpecifier: {
          case: "rds",
          value: {
            $typeName: "envoy.extensions.filters.network.http_connection_manager.v3.Rds",
            routeConfigName: "main",
            configSource: source(ResourceType.RouteConfiguration, "main")
          }
        }
      })
    ],
    routes: [Resources.route("main", weights)],
    clusters: Object.keys(clusters).map((name) => ({
      ...Resources.cluster(Bootstrap.stateOfTheWorld, name),
      edsClusterConfig: {
        $typeName: "envoy.config.cluster.v3.Cluster.EdsClusterConfig",
        serviceName: "",
        edsConfig: source(ResourceType.ClusterLoadAssignment, name)
      }
    })),
    endpoints: Object.entries(clusters).map(([name, addresses]) => Resources.assignment(name, addresses))
  }
}

const bootstrap = ({ path }: ReturnType<typeof files>) => {
  const source = (file: string) => ({ path_config_source: { path: file, watched_directory: { path: dirname(file) } } })
  return {
    node: { id: "ingress-1", cluster: "edge" },
    admin: { address: { socket_address: { address: "127.0.0.1", port_value: 0 } } },
    dynamic_resources: {
      cds_config: source(path(ResourceType.Cluster)),
      lds_config: source(path(ResourceType.Listener))
    }
  }
}

describe.each(formats)("Envoy, files in %s", (format) => {
  it.scopedLive.skipIf(peer._tag === "Missing")(
    PeerProgram.title("reads what is written for it, and so does our own client", peer),
    () =>
      Effect.gen(function* () {
        const one = yield* Http.upstream("one")
        const two = yield* Http.upstream("two")
        const three = yield* Http.upstream("three")
        const fileSystem = yield* FileSystem.FileSystem
        const directory = join(yield* fileSystem.makeTempDirectoryScoped({ prefix: "xds-files-" }), "xds")
        const where = files(directory, format)

        const store = yield* SnapshotStore.makeMemory()
        const out = yield* ResponseDirectory.make(directory, { format })
        const { own } = yield* store.set("edge", edge(where, { one: 1 }, { one: [one], two: [two] }))
        yield* out.write(own)
        yield* out.follow(Stream.filterMap(store.changes, ({ resources }) => resources)).pipe(Effect.forkScoped)
        const clusters = yield* ResponseFile.make(where.path(ResourceType.Cluster))

        const envoy = yield* Envoy.startWith({
          path: peer._tag === "Present" ? peer.path : "",
          bootstrap: bootstrap(where)
        })
        const url = `http://127.0.0.1:${yield* envoy.listenerPort("ingress")}/`
        const agent = yield* Http.agent
        yield* Wait.until({
          what: "the listener to accept",
          check: Effect.map(Http.get(agent, { url }), ({ status }) => (status === 200 ? true : undefined)),
          seen: Effect.succeed("no answer")
        })
        const requests = yield* Http.requests({ url })
        /** Waits until an upstream answers again, and gives the milliseconds. */
        const answers = (name: string) =>
          Effect.gen(function* () {
            const start = performance.now()
            const before = requests.answers[name] ?? 0
            yield* Wait.until({
              what: `${name} to answer`,
              check: Effect.sync(() => ((requests.answers[name] ?? 0) > before ? true : undefined)),
              seen: Effect.sync(() => requests.describe())
            })
            return performance.now() - start
          })
        yield* answers("one")

        // A route, then endpoints, then a cluster that was not there with all that leads to it.
        yield* store.update("edge", { upsert: { routes: [Resources.route("main", { two: 1 })] } })
        const route = yield* answers("two")
        yield* store.update("edge", {
          upsert: { endpoints: [Resources.assignment("two", [one])] }
        })
        const endpoint = yield* answers("one")
        yield* store.set("edge", edge(where, { three: 1 }, { one: [one], three: [three] }))
        const cluster = yield* answers("three")
        console.log(
          `${format}: a changed route takes effect after ${route.toFixed(0)} ms, ` +
            `an endpoint after ${endpoint.toFixed(0)} ms, a new cluster after ${cluster.toFixed(0)} ms; ` +
            requests.describe()
        )
        const active = Effect.map(envoy.configured("dynamic_active_clusters"), (names) => names.join())
        yield* Wait.until({
          what: "the old cluster to be gone",
          check: Effect.map(active, (names) => (names === "one,three" ? true : undefined)),
          seen: active
        })
        yield* answers("three")
        expect(requests.failed, requests.describe()).toBe(0)
        for (const what of ["cluster_manager.cds", "listener_manager.lds", "http.edge.rds.main", "cluster.three"]) {
          expect(yield* envoy.stat(`${what}.update_success`), what).toBeGreaterThan(0)
          expect(yield* envoy.stat(`${what}.update_rejected`), what).toBe(0)
          expect(yield* envoy.stat(`${what}.update_failure`), what).toBe(0)
        }
        const seen = yield* clusters.changes.pipe(
          Stream.map(({ resources }) => resources.map(({ name }) => name).join()),
          Stream.takeUntil((names) => names === "one,three"),
          Stream.runLast,
          Effect.timeout("30 seconds")
        )
        expect(seen).toMatchObject({ value: "one,three" })
      }).pipe(Effect.provide(NodeContext.layer), Logger.withMinimumLogLevel(LogLevel.Error))
  )
})
