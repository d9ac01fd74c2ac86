/** Envoy's v2 API with go-control-plane 0.9.8, the last one that served it: its server for our client, its stubs at our server. */
import { create, fromBinary, toBinary } from "@bufbuild/protobuf"
import { base64Encode } from "@bufbuild/protobuf/wire"
import { Bootstrap, type ResourceEvent, WatchableType, XdsClient } from "@effect-xds/client"
import { ResourceType, TypeRegistry } from "@effect-xds/proto"
import { GeneratedTypes } from "@effect-xds/proto-v2"
import { type Cluster, ClusterSchema } from "@effect-xds/proto/envoy/config/cluster/v3/cluster"
import { Snapshot, SnapshotStore, XdsServer } from "@effect-xds/server"
import { PeerProgram } from "@effect-xds/testing"
import { ConnectClient, ConnectServer } from "@effect-xds/transport-connect"
import { RestClient } from "@effect-xds/transport-rest"
import { describe, expect, it } from "@effect/vitest"
import { Chunk, Context, Effect, Either, Layer, Logger, Option, Queue, Schema, type Scope, Stream } from "effect"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { createInterface } from "node:readline"

// For REST, which has the resources as JSON.
TypeRegistry.add(GeneratedTypes.types)

const peer = PeerProgram.forTest("go-control-plane-v2")
const program = peer._tag === "Present" ? peer.path : ""
const typeUrl = ResourceType.typeUrlIn("v2", ResourceType.Cluster)
const quiet = Logger.replace(Logger.defaultLogger, Logger.none)

const test = (name: string, run: () => Effect.Effect<void, unknown, Scope.Scope>) =>
  it.scopedLive.skipIf(peer._tag === "Missing")(PeerProgram.title(name, peer), run, 120_000)

/** In v2 a cluster has name and alt_stat_name in the same fields. */
const bytesOf = (name: string, altStatName: string) =>
  toBinary(ClusterSchema, create(ClusterSchema, { name, altStatName }))

const clusters = WatchableType.make<Cluster>({
  typeUrl,
  decode: (bytes) => {
    const cluster = fromBinary(ClusterSchema, bytes)
    return cluster.altStatName === "bad" ? Either.left("no bad names here") : Either.right(cluster)
  }
})

const list = Schema.optionalWith(Schema.Array(Schema.String), { default: () => [], nullable: true })
const text = Schema.optionalWith(Schema.String, { default: () => "" })
const Message = Schema.Struct({ type: text, version: text, names: list, nonce: text, error: text })
const Line = Schema.parseJson(
  Schema.Union(
    Schema.Struct({ rest: Schema.String }),
    Schema.Struct({ address: Schema.String }),
    Schema.Struct({ set: Schema.String }),
    Schema.Struct({ request: Message }),
    Schema.Struct({ response: Message }),
    Schema.Struct({ answer: Schema.Struct({ method: Schema.String, type: text, names: list, error: text }) })
  )
)

/** Its lines, as they come. It is killed when the scope closes. */
const start = (...words: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const child = spawn(program, words, { stdio: ["pipe", "pipe", "inherit"] })
    const gone = once(child, "close")
    yield* Effect.addFinalizer(() =>
      Effect.promise(() => {
        child.kill("SIGKILL")
        return gone
      })
    )
    const lines = Stream.fromAsyncIterable(createInterface(child.stdout), (cause) => cause).pipe(
      Stream.mapEffect((line) => Schema.decode(Line)(line))
    )
    return { lines, write: (value: unknown) => Effect.sync(() => void child.stdin.write(`${JSON.stringify(value)}\n`)) }
  })

const setOf = (version: string, content: string) => ({
  version,
  set: { [typeUrl]: { a: base64Encode(bytesOf("a", content)) } }
})

/** Serves a cluster, and gives the addresses of gRPC and REST, and the requests as they come. */
const serveGo = Effect.gen(function* () {
  const { lines, write } = yield* start("serve", "0")
  const requests: Array<typeof Message.Type> = []
  const pull = yield* Stream.toPull(Stream.rechunk(lines, 1))
  const next = Effect.map(pull, Chunk.unsafeHead)
  yield* write(setOf("1", "one"))
  let [rest, address] = ["", ""]
  while (address === "") {
    const line = yield* next
    if ("rest" in line) rest = line.rest
    if ("address" in line) address = line.address
  }
  const rejected = Effect.gen(function* () {
    for (;;) {
      const line = yield* next
      if ("request" in line && line.request.error !== "") return line.request
    }
  })
  return {
    address,
    rest,
    requests,
    rejected,
    set: (version: string, content: string) => write(setOf(version, content))
  }
})

const watching = (transport: "gRPC" | "REST", address: string, aggregated: boolean) =>
  Effect.gen(function* () {
    const layer = XdsClient.layer({
      aggregated,
      bootstrap: Bootstrap.make({ servers: [address], node: { id: "c1", cluster: "edge" } })
    }).pipe(
      Layer.provide(transport === "gRPC" ? ConnectClient.layer({ api: "v2" }) : RestClient.layer({ refreshDelay: 20 })),
      Layer.provide(quiet)
    )
    const client = Context.get(yield* Layer.build(layer), XdsClient.XdsClient)
    const events = yield* Queue.unbounded<ResourceEvent.ResourceEvent<Cluster>>()
    yield* Effect.forkScoped(Stream.runForEach(client.watch(clusters, "a"), (event) => events.offer(event)))
    return events.take
  })

describe("our client and go-control-plane's server of v2", () => {
  for (const aggregated of [true, false]) {
    test(`over gRPC, ${aggregated ? "ADS" : "a stream for each type"}: what it sends is taken, or rejected with words`, () =>
      Effect.gen(function* () {
        const server = yield* serveGo
        const next = yield* watching("gRPC", server.address, aggregated)
        expect(yield* next).toMatchObject({ _tag: "Updated", version: "1", value: { altStatName: "one" } })
        yield* server.set("2", "two")
        expect(yield* next).toMatchObject({ _tag: "Updated", version: "2", value: { altStatName: "two" } })
        yield* server.set("3", "bad")
        expect(yield* next).toMatchObject({ _tag: "AmbientError" })
        const rejection = yield* server.rejected
        expect(rejection).toMatchObject({ type: typeUrl, version: "2" })
        expect(rejection.error).toContain("no bad names here")
      }))
  }

  test("over REST", () =>
    Effect.gen(function* () {
      const server = yield* serveGo
      const next = yield* watching("REST", `http://${server.rest}`, false)
      expect(yield* next).toMatchObject({ _tag: "Updated", version: "1", value: { altStatName: "one" } })
      yield* server.set("2", "two")
      expect(yield* next).toMatchObject({ _tag: "Updated", version: "2", value: { altStatName: "two" } })
    }))
})

describe("go-control-plane's stubs of v2 and our server", () => {
  const answersFor = (api: "v2" | "v3") =>
    Effect.gen(function* () {
      const context = yield* Layer.build(
        XdsServer.layer({ group: ({ cluster }) => cluster }).pipe(
          Layer.provideMerge(SnapshotStore.layerMemory()),
          Layer.provide(ConnectServer.layer({ port: 0 })),
          Layer.provide(quiet)
        )
      )
      const { address } = Context.get(context, XdsServer.XdsServer)
      const ofApi = ResourceType.typeUrlIn(api, ResourceType.Cluster)
      yield* Context.get(context, SnapshotStore.SnapshotStore).set("edge", {
        resources: ["a", "b"].map((name) =>
          Snapshot.resource({ typeUrl: ofApi, name, value: bytesOf(name, "one") }, { isUnknownType: true })
        )
      })
      const { lines } = yield* start("call", address.replace(/^.*\//, ""), "edge")
      const answers = yield* Stream.runCollect(
        Stream.filterMap(lines, (line) => ("answer" in line ? Option.some(line.answer) : Option.none()))
      )
      return Chunk.toReadonlyArray(answers)
    })

  const methods = [
    "StreamClusters",
    "FetchClusters",
    "DeltaClusters",
    "StreamAggregatedResources",
    "DeltaAggregatedResources"
  ]

  test("every method answers with the clusters of v2", () =>
    Effect.gen(function* () {
      const answers = yield* answersFor("v2")
      expect(answers).toEqual(
        methods.map((method) => ({ method, type: typeUrl, names: ["a=one", "b=one"], error: "" }))
      )
    }))

  test("★ a group of v3 has no answer for them, and says so", () =>
    Effect.gen(function* () {
      const answers = yield* answersFor("v3")
      expect(answers.map(({ method }) => method)).toEqual(methods)
      for (const { error } of answers) expect(error).toContain("the group holds resources of Envoy's v3 API")
    }))
})
