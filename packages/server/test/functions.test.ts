import { create, toBinary } from "@bufbuild/protobuf"
import * as Request from "@effect-xds/core/wire/Request"
import { ResourceType } from "@effect-xds/proto"
import { ClusterSchema } from "@effect-xds/proto/envoy/config/cluster/v3/cluster"
import { NodeSchema } from "@effect-xds/proto/envoy/config/core/v3/base"
import { GroupSource, SnapshotStore, XdsServer } from "@effect-xds/server"
import { MemoryClient, MemoryTransport, SpanTracer } from "@effect-xds/testing"
import { Status } from "@effect-xds/transport"
import { describe, expect, it } from "@effect/vitest"
import { Deferred, Effect, Layer, Queue, Stream, TestClock } from "effect"
import { collecting } from "./StoreWrites.js"

const clusters = (...names: ReadonlyArray<string>) => ({
  clusters: names.map((name) => create(ClusterSchema, { name }))
})

const ask = (group: string) =>
  Request.incremental({
    typeUrl: ResourceType.Cluster.typeUrl,
    node: toBinary(NodeSchema, create(NodeSchema, { id: "n", cluster: group })),
    resourceNamesSubscribe: ["*"]
  })

const openIn = (group: string) =>
  Effect.gen(function* () {
    const client = yield* MemoryClient.open({ peer: { address: group } })
    client.send(ask(group))
    return client
  })

/**
 * Runs with the functions of a careless application: what concerns `bad` goes wrong. `good` is served before and after, and
 * what is expected of `bad` is checked in between.
 */
const beside = <A, E>(options: Readonly<Record<string, unknown>>, during: Effect.Effect<A, E, Services>) => {
  const { layer: capture, lines } = collecting()
  return Effect.gen(function* () {
    const store = yield* SnapshotStore.SnapshotStore
    yield* store.set("good", clusters("a"))
    yield* store.set("bad", clusters("a"))
    const good = yield* openIn("good")
    expect((yield* good.receive).names).toEqual(["a"])
    yield* during
    yield* store.set("good", clusters("a", "b"))
    expect((yield* good.receive).names).toEqual(["b"])
    return lines
  }).pipe(
    Effect.provide(
      // Whatever the types say.
      XdsServer.layer(Object.assign({ group: ({ cluster }: { readonly cluster: string }) => cluster }, options)).pipe(
        Layer.provideMerge(Layer.merge(SnapshotStore.layerMemory(), MemoryTransport.layer)),
        Layer.provide(capture)
      )
    )
  )
}
type Services =
  XdsServer.XdsServer | SnapshotStore.SnapshotStore | GroupSource.GroupSource | MemoryTransport.MemoryTransport

/** A tracer whose spans throw at one of their methods, or cannot be made. */
const failing = (at: "span" | "attribute" | "event" | "end") => {
  const fail = (method: typeof at) => (): void => {
    if (method === at) throw new Error(`no ${at}`)
  }
  return SpanTracer.make(() => {
    fail("span")()
    return { attribute: fail("attribute"), event: fail("event"), end: fail("end") }
  })
}

/** Far more turns of the event loop than the end of a stream takes. */
const noEnd = Effect.promise(() => new Promise((resolve) => setImmediate(resolve))).pipe(
  Effect.repeatN(1_000),
  Effect.zipRight(Effect.dieMessage("the stream goes on"))
)

const badEndsWith = (code: Status.Code) =>
  Effect.gen(function* () {
    const bad = yield* openIn("bad")
    expect((yield* Effect.raceFirst(bad.ended, noEnd)).code).toBe(code)
  })

describe("★ A function of the application that is wrong is the end of the stream that it was called for, and of no other", () => {
  for (const [title, given, words] of [
    ["undefined", undefined, "it gave undefined, not the name of a group"],
    ["null", null, "it gave null, not the name of a group"],
    ["a number", 7, "it gave number, not the name of a group"]
  ] as const) {
    it.effect(`group gives ${title}`, () =>
      Effect.gen(function* () {
        const group = ({ cluster }: { readonly cluster: string }) => (cluster === "bad" ? given : cluster)
        const lines = yield* beside({ group }, badEndsWith("INTERNAL"))
        expect(lines.filter((line) => line.includes(`the group function failed`) && line.includes(words))).toHaveLength(
          1
        )
      })
    )

    it.effect(`the Effect of group gives ${title}`, () =>
      Effect.gen(function* () {
        const group = ({ cluster }: { readonly cluster: string }) => Effect.succeed(cluster === "bad" ? given : cluster)
        const lines = yield* beside({ group }, badEndsWith("INTERNAL"))
        expect(lines.filter((line) => line.includes(`the group function failed`) && line.includes(words))).toHaveLength(
          1
        )
      })
    )
  }

  for (const [title, hook, words] of [
    ["is no Effect", () => ({ cluster: "bad" }), "it gave object, not the name of a group"],
    // ★ Node would end the process.
    [
      "is a promise that is rejected",
      () => Promise.reject(new Error("away")),
      "it gave a promise, not the name of a group"
    ],
    [
      "fails with a promise that is rejected",
      () => Effect.fail(Promise.reject(new Error("away"))),
      "it failed with a promise"
    ],
    [
      "throws",
      () =>
        Effect.sync((): string => {
          throw new Error("no database")
        }),
      "no database"
    ],
    ["throws what cannot be put into words", () => Effect.die(Object.create(null)), "cannot be put into words"],
    ["fails with an error", () => Effect.fail(new Error("not now")), "not now"],
    ["fails with no status", () => Effect.fail("no"), "it failed with string, not with a Refusal"],
    ["fails with what only looks like a refusal", () => Effect.fail({ code: "OK", reason: "" }), "not with a Refusal"]
  ] as const) {
    it.effect(`the Effect of group ${title}`, () =>
      Effect.gen(function* () {
        const group = ({ cluster }: { readonly cluster: string }): unknown =>
          cluster === "bad" ? hook() : Effect.succeed(cluster)
        const lines = yield* beside({ group }, badEndsWith("INTERNAL"))
        expect(lines.filter((line) => line.includes(words))).toHaveLength(1)
      })
    )
  }

  it.effect("the Effect of group never comes back, and cannot be interrupted", () =>
    Effect.gen(function* () {
      const done = yield* Deferred.make<string>()
      const group = ({ cluster }: { readonly cluster: string }) =>
        cluster === "bad" ? Effect.uninterruptible(Deferred.await(done)) : Effect.succeed(cluster)
      yield* beside(
        { group },
        Effect.gen(function* () {
          const bad = yield* openIn("bad")
          yield* TestClock.adjust("10 seconds")
          expect(yield* bad.ended).toEqual(
            Status.make("UNAVAILABLE", "the control plane took too long to find the group of the stream")
          )
        })
      )
      yield* Deferred.succeed(done, "bad")
    })
  )

  it.effect("the maxStreams of settings is no number", () =>
    Effect.gen(function* () {
      const settings = (group: string) => ({ maxStreams: group === "bad" ? Number("seven") : 7 })
      const lines = yield* beside({ settings }, badEndsWith("INTERNAL"))
      expect(lines.filter((line) => line.includes("its maxStreams is NaN, not a number of streams"))).toHaveLength(1)
    })
  )

  it.effect("the phaseDeadline of settings is none, or less than none", () =>
    Effect.gen(function* () {
      for (const phaseDeadline of [Number.NaN, -1]) {
        const settings = (group: string) => ({ phaseDeadline: group === "bad" ? phaseDeadline : 7 })
        const lines = yield* beside({ settings }, badEndsWith("INTERNAL"))
        const words = `its phaseDeadline is ${phaseDeadline}, not a duration`
        expect(lines.filter((line) => line.includes(words))).toHaveLength(1)
      }
    })
  )

  for (const [option, wanted] of [
    ["ttl", 'not "declared", "always" or "never"'],
    ["wildcard", "not an object of type URLs and booleans"],
    ["makeBeforeBreak", "not a boolean"],
    ["phaseDeadline", "not a duration"],
    ["maxStreams", "not a number of streams"]
  ] as const) {
    const good = { ttl: "never", wildcard: {}, makeBeforeBreak: true, phaseDeadline: "1 second", maxStreams: 7 }[option]
    for (const [title, hook, words] of [
      ["null", () => null, `its ${option} is null, ${wanted}`],
      ["a function", () => () => good, `its ${option} is function, ${wanted}`],
      ["a text", () => "sometimes", `its ${option} is "sometimes", ${wanted}`],
      ["a promise", () => Promise.reject(new Error("away")), `its ${option} is a promise, ${wanted}`],
      [
        "nothing: it throws",
        () => {
          throw new Error("no config")
        },
        "no config"
      ]
    ] as const) {
      it.effect(`the ${option} of settings is ${title}`, () =>
        Effect.gen(function* () {
          const lines = yield* beside(
            { settings: (group: string) => ({ [option]: group === "bad" ? hook() : good }) },
            badEndsWith("INTERNAL")
          )
          const told = lines.filter((line) => line.includes("the settings function failed") && line.includes(words))
          expect(told).toHaveLength(1)
        })
      )
    }
  }

  for (const [title, given, words] of [
    ["null", null, "it gave null, not an object of settings"],
    ["a text", "fast", 'it gave "fast", not an object of settings'],
    ["a promise", Promise.resolve({}), "it gave a promise, not an object of settings"],
    ["an Effect", Effect.succeed({}), "it gave object, not an object of settings"]
  ] as const) {
    it.effect(`settings gives ${title}`, () =>
      Effect.gen(function* () {
        const lines = yield* beside(
          { settings: (group: string): unknown => (group === "bad" ? given : undefined) },
          badEndsWith("INTERNAL")
        )
        const told = lines.filter((line) => line.includes("the settings function failed") && line.includes(words))
        expect(told).toHaveLength(1)
      })
    )
  }

  for (const [title, revocation, words] of [
    [
      "throws",
      () => {
        throw new Error("no list")
      },
      "no list"
    ],
    ["gives no refusal", () => true, "it failed with boolean, not with a Refusal"],
    [
      "gives a promise that is rejected",
      () => Promise.reject(new Error("away")),
      "it failed with a promise, not with a Refusal"
    ]
  ] as const) {
    it.effect(`a revocation ${title}`, () =>
      Effect.gen(function* () {
        const queue = yield* Queue.unbounded<(origin: unknown, group: string) => unknown>()
        const lines = yield* beside(
          { revocations: Stream.fromQueue(queue) },
          Effect.gen(function* () {
            const bad = yield* openIn("bad")
            expect((yield* bad.receive).names).toEqual(["a"])
            yield* Queue.offer(queue, (_origin, group) => (group === "bad" ? revocation() : undefined))
            expect((yield* Effect.raceFirst(bad.ended, noEnd)).code).toBe("INTERNAL")
          })
        )
        expect(
          lines.filter((line) => line.includes("the function of revocations failed") && line.includes(words))
        ).toHaveLength(1)
      })
    )
  }

  const ends: ReadonlyArray<readonly [title: string, end: Effect.Effect<never, unknown>]> = [
    ["dies", Effect.dieMessage("no file")],
    ["fails, whatever its type says,", Effect.fail("no file")],
    ["is interrupted", Effect.interrupt]
  ]
  it.effect.each(ends)("the stream of revocations %s: it is told, and the last one stays in force", ([, end]) =>
    Effect.gen(function* () {
      const gone = new XdsServer.Refusal({ reason: "gone" })
      const revocations = Stream.concat(
        Stream.succeed<XdsServer.Revocation>((_origin, group) => (group === "bad" ? gone : undefined)),
        Stream.fromEffect(end)
      )
      const settle = Effect.repeatN(Effect.yieldNow(), 20)
      const lines = yield* beside({ revocations }, Effect.zip(badEndsWith("PERMISSION_DENIED"), settle))
      expect(lines).toContain("the stream of revocations failed: the last one stays in force, no other follows")
    })
  )

  for (const at of ["span", "attribute", "event", "end"] as const) {
    it.effect(`a tracer throws at ${at}: the streams go on without a span, and end in their time`, () =>
      Effect.gen(function* () {
        const silentEnds = Effect.gen(function* () {
          const silent = yield* MemoryClient.open({ peer: { address: "silent" } })
          yield* TestClock.adjust("2 seconds")
          expect((yield* Effect.raceFirst(silent.ended, noEnd)).code).toBe("DEADLINE_EXCEEDED")
        })
        const rejected = Effect.gen(function* () {
          const bad = yield* openIn("bad")
          const { nonce } = yield* bad.receive
          const errorDetail = { code: 3, message: "no" }
          bad.send(Request.incremental({ typeUrl: ResourceType.Cluster.typeUrl, responseNonce: nonce, errorDetail }))
        })
        const during = Effect.zipRight(rejected, Effect.repeatN(silentEnds, 1))
        const lines = yield* Effect.provide(
          beside({ firstRequestTimeout: "1 second" }, during),
          Layer.setTracer(failing(at))
        )
        const told = lines.filter((line) => line.startsWith("the tracer failed: "))
        expect(told).toEqual([`the tracer failed: Error: no ${at}; the stream goes on without its span`])
      })
    )
  }

  it.effect("a listener of the store throws: the others are told, and the state is set", () =>
    Effect.gen(function* () {
      const seen: Array<string> = []
      const lines = yield* beside(
        {},
        Effect.gen(function* () {
          const store = yield* SnapshotStore.SnapshotStore
          const source = yield* GroupSource.GroupSource
          yield* Effect.scoped(
            Effect.gen(function* () {
              yield* source.listen(() => {
                throw new Error("listener")
              })
              yield* source.listen((group) => void seen.push(group))
              yield* store.set("bad", clusters("c"))
              yield* store.clear("bad")
            })
          )
          expect(yield* store.groups).toEqual(["good"])
        })
      )
      expect(seen).toEqual(["bad", "bad"])
      const words = 'a listener of the SnapshotStore failed at a change of group "bad"'
      expect(lines.filter((line) => line === words)).toHaveLength(2)
    })
  )
})
