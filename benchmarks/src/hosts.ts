/**
 * `node benchmarks/dist/hosts.js [--hosts 100000,1000000] [--asked 6000] [--held 1000] [--runs 3]`: what a server costs that makes
 * virtual hosts on demand (VHDS), by how many hosts there are. A client asks for hosts at random, over gRPC; server and client hold
 * `--held` of them. Beside it a server that has all of them in its store, up to 100 000.
 */
import { create } from "@bufbuild/protobuf"
import { Bootstrap, XdsClient } from "@effect-xds/client"
import { RouteConfigurationSchema } from "@effect-xds/proto/envoy/config/route/v3/route"
import { VirtualHostSchema, type VirtualHost } from "@effect-xds/proto/envoy/config/route/v3/route_components"
import { OnDemandHosts, Snapshot, SnapshotStore, XdsServer } from "@effect-xds/server"
import { ConnectClient, ConnectServer } from "@effect-xds/transport-connect"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as LogLevel from "effect/LogLevel"
import * as Schema from "effect/Schema"
import { createInterface } from "node:readline"
import { fileURLToPath } from "node:url"
import { parseArgs } from "node:util"
import { Child } from "./Child.js"
import { load, machine } from "./Machine.js"
import { quietCpuMilliseconds } from "./ProcessStatistics.js"

const { values } = parseArgs({
  options: {
    hosts: { type: "string", default: "100000,1000000" },
    asked: { type: "string", default: "6000" },
    held: { type: "string", default: "1000" },
    runs: { type: "string", default: "3" },
    serve: { type: "string" },
    stored: { type: "boolean", default: false }
  }
})
const asked = Number(values.asked)
const held = Number(values.held)

/** Most hosts of the server that has all in its store. */
const mostStored = 100_000

const routes = "main"
const hostOf = (index: number): string => `h${index}.example`

const virtualHostOf = (index: number): VirtualHost =>
  create(VirtualHostSchema, {
    name: hostOf(index),
    domains: [hostOf(index)],
    routes: [
      {
        match: { pathSpecifier: { case: "prefix", value: "/" } },
        action: {
          case: "route",
          value: { clusterSpecifier: { case: "cluster", value: `c${index % 100}` } }
        }
      }
    ]
  })

const ads = { configSourceSpecifier: { case: "ads" as const, value: {} } }

/** Answers go to standard output, so logs go to standard error. */
const quiet = Layer.merge(
  Logger.minimumLogLevel(LogLevel.Warning),
  Logger.replace(Logger.defaultLogger, Logger.withConsoleError(Logger.logfmtLogger))
)

interface Memory {
  /** Bytes after a collection. */
  readonly heap: number
  /** Virtual hosts in the store that were made on demand. */
  readonly made: number
}

/** The server: its address on the first line, then its memory for each line that it is given. */
const serve = (count: number) =>
  Effect.gen(function* () {
    const store = yield* SnapshotStore.makeMemory({ validate: "off" })
    const all = values.stored ? Array.from({ length: count }, (_, index) => virtualHostOf(index)) : []
    yield* store.set("edge", {
      routes: [create(RouteConfigurationSchema, { name: routes, vhds: { configSource: ads } })],
      virtualHosts: all.map((each) => Snapshot.virtualHost(routes, each))
    })
    const hosts = yield* OnDemandHosts.make({
      maxHosts: held,
      resolve: (_client, _routes, host) => {
        const index = Number(/^h(\d+)\.example$/.exec(host)?.[1] ?? count)
        return Effect.succeed(index < count ? virtualHostOf(index) : undefined)
      }
    }).pipe(Effect.provideService(SnapshotStore.SnapshotStore, store))
    const onMissing = values.stored ? {} : { onMissing: hosts.onMissing }
    const context = yield* Layer.build(
      XdsServer.layer({ group: (node) => node.cluster, ...onMissing }).pipe(
        Layer.provide(SnapshotStore.layerOf(store)),
        Layer.provide(ConnectServer.layer({ port: 0, shutdownGrace: "10 millis" })),
        Layer.provide(quiet)
      )
    )
    const server = Context.get(context, XdsServer.XdsServer)
    yield* hosts.attach(server)
    const answer = (id: number, result: unknown): void => console.log(JSON.stringify({ id, result }))
    yield* Effect.promise(async () => {
      for await (const line of createInterface({ input: process.stdin })) {
        const { command, id } = decodeCommand(line)
        if (command === "address") answer(id, server.address)
        if (command === "memory") {
          globalThis.gc?.()
          globalThis.gc?.()
          answer(id, { heap: process.memoryUsage().heapUsed, made: await Effect.runPromise(hosts.size) })
        }
        if (command === "quit") return answer(id, null)
      }
    })
  }).pipe(Effect.scoped)

const decodeCommand = Schema.decodeUnknownSync(
  Schema.parseJson(Schema.Struct({ id: Schema.Number, command: Schema.Literal("address", "memory", "quit") }))
)
const decodeMemory = Schema.decodeUnknownSync(Schema.Struct({ heap: Schema.Number, made: Schema.Number }))

interface Measured {
  /** Milliseconds of the server's CPU for each host asked for. */
  readonly cpu: number
  readonly before: Memory
  readonly after: Memory
  /** Milliseconds until a host was there: the median, and of a hundred the slowest. */
  readonly median: number
  readonly slowest: number
}

/** Numbers from 0 to 1, the same in each run. */
const random = (seed: number) => {
  let state = seed
  return (): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

const at = (sorted: ReadonlyArray<number>, part: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0

const measure = (count: number, isStored: boolean, run: number) =>
  Effect.gen(function* () {
    const program = fileURLToPath(import.meta.url)
    const args = ["--expose-gc", program, "--serve", String(count), "--held", String(held)]
    const server = yield* Effect.acquireRelease(
      Effect.sync(() => new Child("the server", process.execPath, isStored ? [...args, "--stored"] : args)),
      (child) => Effect.promise(() => child.stop())
    )
    const memory = Effect.map(
      Effect.promise(() => server.request("memory")),
      (answer): Memory => decodeMemory(answer)
    )
    const address = String(yield* Effect.promise(() => server.request("address")))
    const bootstrap = Bootstrap.make({ servers: [address], node: { id: "c1", cluster: "edge" } })
    const client = Context.get(
      yield* Layer.build(
        XdsClient.layer({ bootstrap, protocol: "Incremental" }).pipe(
          Layer.provide(ConnectClient.layer()),
          Layer.provide(quiet)
        )
      ),
      XdsClient.XdsClient
    )
    const { find } = yield* client.virtualHosts(routes, { maxHosts: held, timeout: "30 seconds" })
    yield* find(hostOf(0))
    const before = yield* memory
    const began = yield* Effect.promise(() => quietCpuMilliseconds(server.pid))
    const next = random(run + 1)
    const times: Array<number> = []
    yield* Effect.forEach(
      Array.from({ length: asked }, () => hostOf(Math.floor(next() * count))),
      (host) =>
        Effect.suspend(() => {
          const start = performance.now()
          return Effect.map(find(host), () => times.push(performance.now() - start))
        }),
      { concurrency: 32, discard: true }
    )
    const ended = yield* Effect.promise(() => quietCpuMilliseconds(server.pid))
    const after = yield* memory
    if (server.said !== "") console.error(server.said)
    times.sort((one, other) => one - other)
    const cpu = (ended - began) / asked
    return { cpu, before, after, median: at(times, 0.5), slowest: at(times, 0.99) } satisfies Measured
  }).pipe(Effect.scoped)

const middle = (numbers: ReadonlyArray<number>): number =>
  at(
    [...numbers].sort((one, other) => one - other),
    0.5
  )
const megabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(1)} MB`

const main = Effect.gen(function* () {
  const { cores, cpu } = machine()
  console.log(`Node ${process.version}, ${cores} cores of ${cpu}, load ${load().toFixed(1)}`)
  console.log(`${asked} hosts asked for, at random; server and client hold ${held}; medians of ${values.runs}`)
  const counts = values.hosts.split(",").map(Number)
  const cases = counts.flatMap((count) =>
    [false, true].filter((isStored) => !isStored || count <= mostStored).map((isStored) => ({ count, isStored }))
  )
  const all = new Map(cases.map((each) => [each, new Array<Measured>()]))
  // By turns, so that a busy moment is everybody's.
  for (let run = 0; run < Number(values.runs); run++) {
    for (const each of cases) all.get(each)?.push(yield* measure(each.count, each.isStored, run))
  }
  for (const [{ count, isStored }, measured] of all) {
    const of = (read: (each: Measured) => number): number => middle(measured.map(read))
    console.log(
      [
        `${count.toLocaleString("en").replaceAll(",", " ")} hosts, ${isStored ? "all in the store" : "on demand"}`,
        `${(of(({ cpu }) => cpu) * 1_000).toFixed(0)} µs of server CPU a host`,
        `heap ${megabytes(of(({ before }) => before.heap))}, then ${megabytes(of(({ after }) => after.heap))}`,
        `${of(({ after }) => after.made)} made and held`,
        `answered after ${of(({ median }) => median).toFixed(1)} ms (p99 ${of(({ slowest }) => slowest).toFixed(1)} ms)`
      ].join("; ")
    )
  }
})

await (values.serve === undefined ? Effect.runPromise(main) : Effect.runPromise(serve(Number(values.serve))))
