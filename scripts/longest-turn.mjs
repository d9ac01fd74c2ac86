// `npm run longest-turn`: how long one large resource takes the event loop for at the most: 10 000 endpoints, given to a store as a
// message and as bytes, in a file, and sent to a client; as many small resources in one response to a client; a large Struct, and
// objects that are shared without end.
//
//   --before FOLDER  a built worktree of another commit, measured in turn with this one
//   --count N        endpoints. Default 10 000
//   --rounds N       Default 5
//
// CPU time of the main thread between two turns, so that other processes do not count, as Linux has it: exact to one of its ticks,
// some milliseconds. The median of the rounds, with the least and the most. What is loaded at first is loaded before. Needs the build
// (scripts/setup.mjs).
import { spawnSync } from "node:child_process"
import { fileURLToPath } from "node:url"
import * as Options from "./options.mjs"

const { before, numberOf } = Options.parse(import.meta.url, {
  before: { type: "string" },
  count: { type: "string" },
  rounds: { type: "string" }
})
const count = numberOf("count", 1, 10_000)
const rounds = numberOf("rounds", 1, 5)

const here = fileURLToPath(new URL("..", import.meta.url))
const folders = { ours: here, ...(before && { before }) }

const program = String.raw`
const [root, what, given] = process.argv.slice(1)
const count = Number(given)
const load = (path) => import(require("node:url").pathToFileURL(root + "/packages/" + path).href)
const main = async () => {
  const { create, toBinary } = await load("server/node_modules/@bufbuild/protobuf/dist/esm/index.js")
  const { Effect, Layer, Stream, Logger } = await load("server/node_modules/effect/dist/esm/index.js")
  const { ClusterLoadAssignmentSchema } = await load("proto/gen/envoy/config/endpoint/v3/endpoint_pb.js")
  const { ClusterSchema } = await load("proto/gen/envoy/config/cluster/v3/cluster_pb.js")
  const typeUrl = "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment"
  const assignment = (count) => create(ClusterLoadAssignmentSchema, {
    clusterName: "web",
    endpoints: [{ lbEndpoints: Array.from({ length: count }, (_, index) => ({
      loadBalancingWeight: 1 + index % 9,
      hostIdentifier: { case: "endpoint", value: { address: { address: { case: "socketAddress", value: {
        address: "10.0." + (index >> 8) + "." + (index & 255), portSpecifier: { case: "portValue", value: 8080 } } } } } }
    })) }]
  })
  let longest = 0, last, on = false
  const { readFileSync } = require("node:fs")
  const spent = () => Number(readFileSync("/proc/self/task/" + process.pid + "/schedstat", "latin1").split(" ")[0]) / 1e6
  const tick = () => { const now = spent(); if (on) longest = Math.max(longest, now - last); last = now; if (on) setImmediate(tick) }
  const turns = async (work) => {
    await new Promise((resolve) => setTimeout(resolve, 50))
    longest = 0; on = true; last = spent(); setImmediate(tick)
    await work()
    for (let left = 3; left > 0; left--) await new Promise(setImmediate)
    on = false
    return longest
  }
  const inStore = async (sourceOf, rules) => {
    const { SnapshotStore } = await load("server/dist/index.js")
    const store = await Effect.runPromise(SnapshotStore.makeMemory())
    const set = (source) => () => Effect.runPromise(Effect.zipRight(
      Effect.ignore(store.set("g", { resources: [source] })), store.broken("g")))
    for (let warm = 0; warm < 3; warm++) await set(sourceOf(300 + warm))()
    const large = sourceOf(count)
    return turns(set(large))
  }
  const bytesOf = (count) => toBinary(ClusterLoadAssignmentSchema, assignment(count))
  const struct = (count) => create(ClusterSchema, { name: "c", connectTimeout: { seconds: 1n }, metadata: { filterMetadata: {
    x: Object.fromEntries(Array.from({ length: count * 10 }, (_, index) => ["k" + index, { a: index, b: [true, "text"] }])) } } })
  const shared = (count) => {
    const message = struct(1)
    let json = {}
    for (let level = 0; level < (count < 1000 ? 5 : 30); level++) json = { a: json, b: json }
    message.metadata.filterMetadata.x = json
    return message
  }
  const inFile = async (name, textOf) => {
    const { ResourceFile } = await load("transport-filesystem/dist/index.js")
    const read = (text) => () => Effect.runPromise(Effect.ignore(ResourceFile.parseResources({ file: name, bytes: Buffer.from(text) })))
    for (let warm = 0; warm < 3; warm++) await read(textOf(300))()
    const text = textOf(count)
    return turns(read(text))
  }
  const endpoint = (index) => ({ loadBalancingWeight: 1 + index % 9, endpoint: { address: { socketAddress: {
    address: "10.0." + (index >> 8) + "." + (index & 255), portValue: 8080 } } } })
  const json = (count) => JSON.stringify([{ "@type": typeUrl, clusterName: "web",
    endpoints: [{ lbEndpoints: Array.from({ length: count }, (_, index) => endpoint(index)) }] }])
  const yaml = (count) => "- \"@type\": " + typeUrl + "\n  cluster_name: web\n  endpoints:\n    - lb_endpoints:\n" +
    Array.from({ length: count }, (_, index) => "        - load_balancing_weight: " + (1 + index % 9) +
      "\n          endpoint: { address: { socket_address: { address: 10.0." + (index >> 8) + "." + (index & 255) + ", port_value: 8080 } } }\n").join("")
  const inClient = async (typeUrl, watch, resourcesOf, eventsOf) => {
    const { XdsClient, Bootstrap, WatchableType } = await load("client/dist/index.js")
    const { ScriptedServer } = await load("testing/dist/index.js")
    const { DiscoveryResponseSchema } = await load("proto/gen/envoy/service/discovery/v3/discovery_pb.js")
    const response = (nonce, values) => toBinary(DiscoveryResponseSchema, create(DiscoveryResponseSchema, { typeUrl, nonce,
      versionInfo: nonce, resources: values.map((value) => ({ $typeName: "google.protobuf.Any", typeUrl, value })) }))
    return Effect.runPromise(Effect.scoped(Effect.gen(function* () {
      const client = yield* XdsClient.XdsClient
      const { streams } = yield* ScriptedServer.ScriptedServer
      let events = 0
      yield* Effect.forkScoped(Stream.runForEach(watch(client, WatchableType),
        () => Effect.sync(() => void events++)))
      yield* Effect.sleep(50)
      const [stream] = streams
      stream.accept()
      yield* Effect.sleep(20)
      const send = (nonce, values) => {
        const message = response(nonce, values)
        return async () => {
          const want = events + eventsOf(values)
          stream.send(message)
          while (events < want) await new Promise(setImmediate)
        }
      }
      for (let warm = 1; warm < 4; warm++) yield* Effect.promise(send(String(warm), resourcesOf(300 + warm, warm)))
      return yield* Effect.promise(() => turns(send("9", resourcesOf(count, 9))))
    })).pipe(Effect.provide(XdsClient.layer({ bootstrap: Bootstrap.make({ servers: ["s:1"], node: { id: "n" } }) }).pipe(
      Layer.provideMerge(ScriptedServer.layer), Layer.provideMerge(Logger.remove(Logger.defaultLogger))))))
  }
  const cases = {
    "store, as a message": () => inStore(assignment),
    "store, as bytes": () => inStore((count) => ({ typeUrl, name: "web", value: bytesOf(count) })),
    "file, JSON": () => inFile("e.json", json),
    "file, YAML": () => inFile("e.yaml", yaml),
    "client": () => inClient(typeUrl,
      (client, WatchableType) => client.watch(WatchableType.fromSchema(ClusterLoadAssignmentSchema), "web"),
      (count) => [bytesOf(count)], () => 1),
    "client, as many small resources": () => inClient("type.googleapis.com/envoy.config.cluster.v3.Cluster",
      (client, WatchableType) => client.watchAll(WatchableType.fromSchema(ClusterSchema)),
      (count, version) => Array.from({ length: count }, (_, index) => toBinary(ClusterSchema, create(ClusterSchema, {
        name: "c" + index, connectTimeout: { seconds: BigInt(version) } }))), (values) => values.length),
    "store, a Struct of ten times as many values": () => inStore(struct),
    "store, 2 to the power of 30 shared objects": () => inStore(shared)
  }
  if (what === "names") console.log(JSON.stringify(Object.keys(cases)))
  else console.log(await cases[what]())
  process.exit(0)
}
main().catch((cause) => { console.error(cause); process.exit(1) })
`

const run = (root, what) => {
  const { status, stderr, stdout } = spawnSync(process.execPath, ["-e", program, root, what, String(count)], {
    encoding: "utf8",
    cwd: here
  })
  if (status !== 0) throw new Error(`${what} in ${root}: ${stderr.slice(0, 2_000)}`)
  return stdout.trim().split("\n").at(-1)
}

for (const what of JSON.parse(run(here, "names"))) {
  const found = {}
  // In turn, so that a slow moment of the machine concerns both.
  for (let round = 0; round < rounds; round++) {
    for (const [name, root] of Object.entries(folders)) (found[name] ??= []).push(Number(run(root, what)))
  }
  const words = Object.entries(found).map(([name, times]) => {
    const sorted = times.sort((one, other) => one - other)
    const shown = (value) => value.toFixed(1)
    return `${name} ${shown(sorted[sorted.length >> 1])} ms (${shown(sorted[0])}–${shown(sorted.at(-1))})`
  })
  console.log(`${what}: ${words.join(", ")}`)
}
