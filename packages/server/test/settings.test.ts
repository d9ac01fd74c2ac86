import { create, toBinary } from "@bufbuild/protobuf"
import * as Request from "@effect-xds/core/wire/Request"
import { ResourceType } from "@effect-xds/proto"
import { ClusterSchema } from "@effect-xds/proto/envoy/config/cluster/v3/cluster"
import { NodeSchema } from "@effect-xds/proto/envoy/config/core/v3/base"
import { ListenerSchema } from "@effect-xds/proto/envoy/config/listener/v3/listener"
import { SnapshotStore, XdsServer } from "@effect-xds/server"
import { MemoryClient, MemoryTransport } from "@effect-xds/testing"
import { describe, expect, it } from "@effect/vitest"
import { Effect, Layer, Logger, TestClock } from "effect"
import * as Settings from "../src/internal/Settings.js"

const CDS = ResourceType.Cluster.typeUrl
const LDS = ResourceType.Listener.typeUrl

const content = (...names: ReadonlyArray<string>) => ({
  clusters: names.map((name) => create(ClusterSchema, { name })),
  listeners: names.map((name) => create(ListenerSchema, { name }))
})

/** A client that has all clusters and listeners of a group. */
const openIn = (group: string) =>
  Effect.gen(function* () {
    const client = yield* MemoryClient.open()
    const node = toBinary(NodeSchema, create(NodeSchema, { id: "n", cluster: group }))
    for (const typeUrl of [CDS, LDS]) {
      client.send(Request.incremental({ typeUrl, node }))
      const { nonce } = yield* client.receive
      client.send(Request.incremental({ typeUrl, responseNonce: nonce }))
    }
    return client
  })

const setup = (options: Partial<XdsServer.Options>) =>
  XdsServer.layer({ group: ({ cluster }) => cluster, ...options }).pipe(
    Layer.provideMerge(Layer.merge(SnapshotStore.layerMemory(), MemoryTransport.layer)),
    Layer.provide(Logger.remove(Logger.defaultLogger))
  )

describe("the settings of a group", () => {
  it.effect("have a deadline of its own for phases; what they leave out is as the options say", () =>
    Effect.gen(function* () {
      const store = yield* SnapshotStore.SnapshotStore
      const groups = ["patient", "hasty", "usual"]
      for (const group of groups) yield* store.set(group, content("a"))
      const [patient, hasty, usual] = yield* Effect.all([openIn("patient"), openIn("hasty"), openIn("usual")])
      const clients = [patient, hasty, usual]
      for (const group of groups) yield* store.set(group, content("a", "b"))
      for (const client of clients) expect(yield* client.receive).toMatchObject({ typeUrl: CDS, names: ["b"] })
      // None of them ACKs.
      const unread = () => clients.map((client) => client.unread())
      expect(unread()).toEqual([0, 0, 0])
      yield* TestClock.adjust("2 seconds")
      expect(unread()).toEqual([0, 1, 0])
      yield* TestClock.adjust("5 seconds")
      expect(unread()).toEqual([0, 1, 1])
      yield* TestClock.adjust("1 minute")
      expect(unread()).toEqual([1, 1, 1])
    }).pipe(
      Effect.provide(
        setup({
          phaseDeadline: "7 seconds",
          settings: (group) =>
            group === "patient"
              ? { phaseDeadline: "1 minute" }
              : group === "hasty"
                ? { phaseDeadline: "2 seconds" }
                : { maxStreams: undefined }
        })
      )
    )
  )

  it.effect("bound its streams", () =>
    Effect.gen(function* () {
      const store = yield* SnapshotStore.SnapshotStore
      for (const group of ["small", "usual"]) yield* store.set(group, content("a"))
      yield* Effect.all([openIn("small"), openIn("usual"), openIn("usual")])
      const more = yield* MemoryClient.open()
      const node = toBinary(NodeSchema, create(NodeSchema, { id: "n", cluster: "small" }))
      more.send(Request.incremental({ typeUrl: CDS, node }))
      expect(yield* more.ended).toMatchObject({
        code: "RESOURCE_EXHAUSTED",
        message: 'group "small" has its 1 streams already, the limit for one group'
      })
    }).pipe(
      Effect.provide(
        setup({ maxStreamsPerGroup: 2, settings: (group) => (group === "small" ? { maxStreams: 1 } : undefined) })
      )
    )
  )
})

describe("the options of a stream", () => {
  const settings = Settings.of({ group: () => "a" })
  const own = settings.ofGroup("a")
  const method = { protocol: "Incremental", typeUrl: undefined } as const
  const ofFirst = () => settings.ofStream(own, method, [], 100)

  it("are the same object for streams that are alike", () => {
    expect(ofFirst()).toBe(ofFirst())
    expect(ofFirst()).toMatchObject({ ...method, ttl: false, makeBeforeBreak: true, maxResponseBytes: 100 })
  })

  for (const [title, ofOther, expected] of [
    [
      "settings",
      () => settings.ofStream({ ...own, makeBeforeBreak: false }, method, [], 100),
      { makeBeforeBreak: false }
    ],
    [
      "a variant",
      () => settings.ofStream(own, { ...method, protocol: "StateOfTheWorld" }, [], 100),
      { protocol: "StateOfTheWorld" }
    ],
    ["a type", () => settings.ofStream(own, { ...method, typeUrl: CDS }, [], 100), { typeUrl: CDS }],
    ["TTLs", () => settings.ofStream(own, method, ["xds.config.supports-resource-ttl"], 100), { ttl: true }],
    ["a size", () => settings.ofStream(own, method, [], 50), { maxResponseBytes: 50 }],
    [
      "no bounds",
      () => settings.ofStream(own, method, [], undefined),
      { maxResponseBytes: Number.POSITIVE_INFINITY, namesPerResponse: Number.POSITIVE_INFINITY }
    ]
  ] as const) {
    it(`are its own if it has ${title} of its own`, () => {
      const first = ofFirst()
      expect(ofOther()).toEqual({ ...first, ...expected })
      expect(ofFirst()).toEqual(first)
    })
  }
})
