/**
 * What strangers leave behind: nothing. Streams are opened and closed ten thousand at a time, each with a node, a group, types
 * and names that nobody else has, in every state that a stream can end in.
 */
import { create, toBinary } from "@bufbuild/protobuf"
import * as Request from "@effect-xds/core/Request"
import { ResourceType } from "@effect-xds/proto"
import { ClusterSchema } from "@effect-xds/proto/envoy/config/cluster/v3/cluster"
import { NodeSchema } from "@effect-xds/proto/envoy/config/core/v3/base"
import { Snapshot, SnapshotStore, XdsServer } from "@effect-xds/server"
import { ServerTransport, Status } from "@effect-xds/transport"
import { describe, expect, it } from "@effect/vitest"
import { Effect, Layer, Logger, Stream } from "effect"
import * as V8 from "node:v8"
import * as Vm from "node:vm"

const CDS = ResourceType.Cluster.typeUrl
const EDS = ResourceType.ClusterLoadAssignment.typeUrl
const VHDS = ResourceType.VirtualHost.typeUrl

const strangers = 10_000
/** A leak of one entry in one table is a hundred bytes and more for each stranger. */
const bytesPerStranger = 50

V8.setFlagsFromString("--expose_gc")
const collect = new Vm.Script("gc()")

/** Lets the event loop turn, so that work in slices and the finalizers of the heap have their turn. */
const turn = Effect.async<void>((resume) => void setImmediate(() => resume(Effect.void)))

/** Bytes in use, when nothing more is freed. */
const used = Effect.gen(function* () {
  let now = Number.POSITIVE_INFINITY
  for (let before = Number.NaN; now !== before;) {
    before = now
    for (let turns = 0; turns < 4; turns++) {
      collect.runInNewContext()
      yield* turn
    }
    const { arrayBuffers, heapUsed } = process.memoryUsage()
    now = Math.min(before, heapUsed + arrayBuffers)
  }
  return now
})

/** How much is left of ten thousand. What is measured is not only theirs, so it is measured again before it counts. */
const expectNothingLeft = <E>(visit: (round: number) => Effect.Effect<void, E>) =>
  Effect.gen(function* () {
    yield* visit(0)
    let before = yield* used
    let least = Number.POSITIVE_INFINITY
    for (let round = 1; round <= 4 && least > bytesPerStranger; round++) {
      yield* visit(round)
      const after = yield* used
      least = Math.min(least, (after - before) / strangers)
      before = after
    }
    expect(least, "bytes left of each stranger").toBeLessThan(bytesPerStranger)
  })

const nodeOf = (id: string, cluster: string) => toBinary(NodeSchema, create(NodeSchema, { id, cluster }))
const cluster = (name: string, altStatName: string) => create(ClusterSchema, { name, altStatName })

interface Opened {
  readonly handler: ServerTransport.StreamHandler
  readonly end: () => void
}

/** A transport whose streams take what they are given and keep nothing of it. */
const transport = () => {
  let accept: ((stream: ServerTransport.AcceptedStream) => ServerTransport.StreamHandler) | undefined
  const layer = Layer.succeed(ServerTransport.ServerTransport, {
    serve: (accepts) =>
      Effect.sync(() => {
        accept = accepts
        return "here"
      })
  })
  const open = (protocol: Request.Protocol): Opened => {
    if (accept === undefined) throw new Error("nobody serves")
    let isOver = false
    const handler = accept({
      peer: { address: "here", identity: undefined },
      method: { protocol, typeUrl: undefined, unary: false },
      headers: {},
      write: () => true,
      end: () => void (isOver = true)
    })
    return { handler, end: () => (isOver ? undefined : handler.onEnd("gone")) }
  }
  return { layer, open }
}

const error = (stranger: string) => ({ code: 3, message: `${stranger} does not like it` })

/** What a stranger does before it goes, one after another. */
const behaviours: ReadonlyArray<(id: string, open: (protocol: Request.Protocol) => Opened) => Opened> = [
  // Asks for everything there is, by names of its own, and for types of its own.
  (id, open) => {
    const opened = open("Incremental")
    const { onRequest } = opened.handler
    onRequest(Request.incremental({ typeUrl: CDS, node: nodeOf(id, "edge") }))
    onRequest(Request.incremental({ typeUrl: EDS, resourceNamesSubscribe: [id, "a"] }))
    onRequest(Request.incremental({ typeUrl: `type.googleapis.com/${id}`, resourceNamesSubscribe: [id] }))
    onRequest(Request.incremental({ typeUrl: EDS, resourceNamesUnsubscribe: [id] }))
    onRequest(Request.incremental({ typeUrl: VHDS }))
    onRequest(Request.incremental({ typeUrl: CDS, responseNonce: "1", errorDetail: error(id) }))
    return opened
  },
  (id, open) => {
    const opened = open("StateOfTheWorld")
    const { onRequest } = opened.handler
    onRequest(Request.stateOfTheWorld({ typeUrl: CDS, node: nodeOf(id, "edge"), resourceNames: [id, "a"] }))
    onRequest(Request.stateOfTheWorld({ typeUrl: EDS, resourceNames: [id] }))
    onRequest(Request.stateOfTheWorld({ typeUrl: EDS, resourceNames: [], responseNonce: "2" }))
    onRequest(Request.stateOfTheWorld({ typeUrl: `type.googleapis.com/${id}` }))
    onRequest(Request.stateOfTheWorld({ typeUrl: CDS, responseNonce: "9", errorDetail: error(id) }))
    return opened
  },
  // Waits for a group of its own, which is never set.
  (id, open) => {
    const opened = open("Incremental")
    opened.handler.onRequest(Request.incremental({ typeUrl: CDS, node: nodeOf(id, `group of ${id}`) }))
    return opened
  },
  // Is refused: by the hook, for what it sends, or for how much.
  (id, open) => {
    const opened = open("Incremental")
    opened.handler.onRequest(Request.incremental({ typeUrl: CDS, node: nodeOf(id, "refused") }))
    return opened
  },
  (id, open) => {
    const opened = open("Incremental")
    opened.handler.onRequest(Request.incremental({ typeUrl: "", node: nodeOf(id, `group of ${id}`) }))
    return opened
  },
  (id, open) => {
    const opened = open("Incremental")
    const names = [`${id} 1`, `${id} 2`, `${id} 3`, `${id} 4`]
    opened.handler.onRequest(
      Request.incremental({ typeUrl: EDS, node: nodeOf(id, "edge"), resourceNamesSubscribe: names })
    )
    return opened
  },
  // Goes while it is authorized.
  (id, open) => {
    const opened = open("Incremental")
    opened.handler.onRequest(Request.incremental({ typeUrl: CDS, node: nodeOf(id, "slow") }))
    opened.handler.onRequest(Request.incremental({ typeUrl: EDS }))
    return opened
  },
  // Says nothing, or not who it is.
  (_, open) => open("StateOfTheWorld"),
  (_, open) => {
    const opened = open("StateOfTheWorld")
    opened.handler.onRequest(Request.stateOfTheWorld({ typeUrl: CDS }))
    return opened
  }
]

describe("a server", () => {
  it.scopedLive(
    "keeps nothing of ten thousand strangers that came and went",
    () =>
      Effect.gen(function* () {
        const { layer, open } = transport()
        yield* Effect.gen(function* () {
          const store = yield* SnapshotStore.SnapshotStore
          const server = yield* XdsServer.XdsServer
          yield* store.set("edge", Snapshot.make({ clusters: [cluster("a", ""), cluster("b", "")] }))
          const resident = open("Incremental")
          resident.handler.onRequest(Request.incremental({ typeUrl: CDS, node: nodeOf("resident", "edge") }))

          const visit = (round: number) =>
            Effect.gen(function* () {
              const opened: Array<Opened> = []
              for (let index = 0; index < strangers; index++) {
                const behaviour = behaviours[index % behaviours.length]
                if (behaviour !== undefined) opened.push(behaviour(`stranger ${round} ${index}`, open))
              }
              // Some of what they ask for changes while they are there, and somebody listens.
              const listener = yield* Effect.fork(Stream.runDrain(server.events))
              yield* turn
              yield* store.update("edge", { upsert: Snapshot.make({ clusters: [cluster("a", `${round}`)] }) })
              yield* turn
              for (const each of opened.splice(0)) each.end()
              yield* listener.interruptAsFork(listener.id())
              yield* turn
              expect(yield* server.status).toHaveLength(1)
            })
          yield* expectNothingLeft(visit)
          resident.end()
        }).pipe(
          Effect.provide(
            XdsServer.layer({
              group: (node) => node.cluster,
              maxNames: 3,
              authorize: (_node, _origin, group) =>
                group === "refused"
                  ? Effect.fail(Status.make("PERMISSION_DENIED", "strangers are not served"))
                  : group === "slow"
                    ? Effect.never
                    : Effect.succeed(group)
            }).pipe(Layer.provideMerge(SnapshotStore.layerMemory), Layer.provide(layer))
          ),
          Effect.provide(Logger.replace(Logger.defaultLogger, Logger.none))
        )
      }),
    180_000
  )
})

describe("a store", () => {
  it.effect(
    "keeps nothing of ten thousand groups that were set and cleared",
    () =>
      Effect.gen(function* () {
        const store = yield* SnapshotStore.makeMemory()
        const seen: Array<string> = []
        const listener = yield* Effect.fork(
          Stream.runForEach(store.changes, ({ group }) => Effect.sync(() => void (seen[0] = group)))
        )
        yield* expectNothingLeft((round) =>
          Effect.gen(function* () {
            for (let index = 0; index < strangers; index++) {
              const group = `group ${round} ${index}`
              yield* store.set(group, Snapshot.make({ clusters: [cluster("a", group)] }))
              yield* store.clear(group)
            }
            yield* turn
          })
        )
        yield* listener.interruptAsFork(listener.id())
      }),
    180_000
  )
})
