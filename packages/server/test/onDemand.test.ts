import { create, toBinary } from "@bufbuild/protobuf"
import * as Request from "@effect-xds/core/wire/Request"
import { NodeSchema } from "@effect-xds/proto/envoy/config/core/v3/base"
import { ResourceType } from "@effect-xds/proto"
import { ClusterSchema } from "@effect-xds/proto/envoy/config/cluster/v3/cluster"
import type { ServerEvent } from "@effect-xds/server"
import { Snapshot, SnapshotStore, XdsServer, XdsServerMetrics } from "@effect-xds/server"
import { MemoryClient } from "@effect-xds/testing"
import { describe, expect, it } from "@effect/vitest"
import { Effect, Exit, Layer, Metric, Scope, Stream, SubscriptionRef, TestClock } from "effect"
import { CDS, clusters, lines, settled, setup } from "./OnDemandServer.js"

const subscribe = (...resourceNamesSubscribe: ReadonlyArray<string>) => of("edge", ...resourceNamesSubscribe)
const of = (cluster: string, ...resourceNamesSubscribe: ReadonlyArray<string>) =>
  Request.incremental({
    typeUrl: CDS,
    node: toBinary(NodeSchema, create(NodeSchema, { id: "n", cluster })),
    resourceNamesSubscribe
  })

/** Time passes, and what comes of it goes on to its end. */
const pass = (time: `${number} ${"seconds" | "second" | "millis"}`) =>
  Effect.zipRight(Effect.zipRight(settled, TestClock.adjust(time)), settled)

const set = (group = "edge") =>
  Effect.flatMap(SnapshotStore.SnapshotStore, (store) => store.set(group, clusters("there")))

const update = (...args: Parameters<SnapshotStore.Store["update"]>) =>
  Effect.flatMap(SnapshotStore.SnapshotStore, (store) => store.update(...args))

/** A hook that notes what it is asked for, and does something. */
const noting = <R = never>(then: (name: string, group: string) => Effect.Effect<unknown, unknown, R>) => {
  const asked: Array<string> = []
  const onMissing = (group: string, _typeUrl: string, name: string) => {
    asked.push(group === "edge" ? name : `${group}/${name}`)
    return then(name, group)
  }
  return { asked, onMissing }
}

const gauge = (metric: Metric.Metric.Gauge<number>) => Effect.map(Metric.value(metric), ({ value }) => value)

describe("the answer for a name that the hook is called for", () => {
  it.effect("★ waits for the hook: the first one has the resource; what else is asked for does not wait", () => {
    const { onMissing } = noting((name) => Effect.delay(update("edge", { upsert: clusters(name) }), "1 second"))
    return Effect.gen(function* () {
      yield* set()
      const client = yield* MemoryClient.open()
      client.send(subscribe("there", "made"))
      expect((yield* client.receive).names).toEqual(["there"])
      yield* pass("999 millis")
      expect(client.unread()).toBe(0)
      yield* pass("1 millis")
      expect(yield* client.receive).toMatchObject({ names: ["made"], removed: [] })
      yield* pass("20 seconds")
      expect(client.unread()).toBe(0)
    }).pipe(Effect.provide(setup({ onMissing })))
  })

  it.effect("★ comes at once when the hook made nothing, to each client that waits", () => {
    const { asked, onMissing } = noting(() => Effect.sleep("1 second"))
    return Effect.gen(function* () {
      yield* set()
      const [one, two] = [yield* MemoryClient.open(), yield* MemoryClient.open()]
      one.send(subscribe("nothing"))
      yield* pass("500 millis")
      two.send(subscribe("nothing"))
      yield* pass("500 millis")
      expect([one.unread(), two.unread()]).toEqual([1, 1])
      expect((yield* one.receive).removed).toEqual(["nothing"])
      expect((yield* two.receive).removed).toEqual(["nothing"])
      expect(asked).toEqual(["nothing"])
    }).pipe(Effect.provide(setup({ onMissing })))
  })

  it.effect("★ waits two seconds at most; what is made later is sent then", () => {
    const { onMissing } = noting((name) => Effect.delay(update("edge", { upsert: clusters(name) }), "3 seconds"))
    return Effect.gen(function* () {
      yield* set()
      const client = yield* MemoryClient.open()
      client.send(subscribe("late"))
      yield* pass("1990 millis")
      expect(client.unread()).toBe(0)
      yield* pass("20 millis")
      expect((yield* client.receive).removed).toEqual(["late"])
      yield* pass("1 second")
      expect((yield* client.receive).names).toEqual(["late"])
    }).pipe(Effect.provide(setup({ onMissing })))
  })

  it.effect("waits as long as missingWait says", () => {
    const { onMissing } = noting(() => Effect.never)
    return Effect.gen(function* () {
      yield* set()
      const client = yield* MemoryClient.open()
      client.send(subscribe("never"))
      yield* pass("90 millis")
      expect(client.unread()).toBe(0)
      yield* pass("20 millis")
      expect((yield* client.receive).removed).toEqual(["never"])
    }).pipe(Effect.provide(setup({ onMissing, missingWait: "100 millis" })))
  })

  it.effect("★ comes at once for what the group has, but not for this client: the hook has nothing to make", () => {
    const { asked, onMissing } = noting(() => Effect.never)
    const typeUrl = ResourceType.VirtualHost.typeUrl
    const error = { code: 7, message: "not for you" }
    return Effect.gen(function* () {
      const store = yield* SnapshotStore.SnapshotStore
      const constraints = { _tag: "Value", key: "env", value: "prod" } as const
      yield* store.set("edge", {
        clusters: [
          Snapshot.resource(create(ClusterSchema, { name: "variant" }), { constraints }),
          Snapshot.unavailable({ typeUrl: CDS, name: "error" }, error)
        ],
        virtualHosts: [Snapshot.unavailable({ typeUrl, name: "routes/host" }, error)]
      })
      const client = yield* MemoryClient.open()
      client.send(subscribe("variant", "error"))
      client.send(Request.incremental({ typeUrl, resourceNamesSubscribe: ["routes/host"] }))
      yield* settled
      // The error of a missing host is told after the answer.
      expect(client.unread()).toBe(3)
      const answers = [yield* client.receive, yield* client.receive].map(({ names, removed }) => [...names, ...removed])
      expect(answers.flat().sort()).toEqual(["error", "routes/host", "variant"])
      expect(asked).toEqual([])
    }).pipe(Effect.provide(setup({ onMissing })))
  })

  it.effect("does not wait if nothing is made on demand", () =>
    Effect.gen(function* () {
      yield* set()
      const client = yield* MemoryClient.open()
      client.send(subscribe("unknown"))
      expect((yield* client.receive).removed).toEqual(["unknown"])
    }).pipe(Effect.provide(setup({ missingWait: "1 second" })))
  )

  it.effect("★ a unary call gets what the hook makes", () => {
    const { onMissing } = noting((name) => Effect.delay(update("edge", { upsert: clusters(name) }), "1 second"))
    return Effect.gen(function* () {
      yield* set()
      const method = { protocol: "StateOfTheWorld", typeUrl: CDS, unary: true } as const
      const client = yield* MemoryClient.open({ method })
      const node = toBinary(NodeSchema, create(NodeSchema, { id: "n", cluster: "edge" }))
      client.send(Request.stateOfTheWorld({ typeUrl: CDS, node, resourceNames: ["made"] }))
      yield* pass("1 second")
      expect((yield* client.receive).names).toEqual(["made"])
    }).pipe(Effect.provide(setup({ onMissing })))
  })
})

describe("a name whose resource was taken away", () => {
  it.effect("★ is asked for again after a second if it is still gone and subscribed to", () => {
    const { asked, onMissing } = noting((name) =>
      name === "gone" ? Effect.void : update("edge", { upsert: clusters(name) })
    )
    return Effect.gen(function* () {
      yield* set()
      yield* update("edge", { upsert: clusters("gone", "back", "left", "unwatched") })
      const client = yield* MemoryClient.open()
      client.send(subscribe("gone", "back", "left", "made"))
      yield* settled
      expect(asked).toEqual(["made"])
      yield* update("edge", { remove: { clusters: ["gone", "back", "left", "made", "unwatched"] } })
      yield* pass("500 millis")
      yield* update("edge", { upsert: clusters("back") })
      client.send(Request.incremental({ typeUrl: CDS, resourceNamesUnsubscribe: ["left"] }))
      yield* pass("490 millis")
      expect(asked).toEqual(["made"])
      yield* pass("20 millis")
      expect(asked.slice(1).sort()).toEqual(["gone", "made"])
      // ★ A hook that makes nothing is not asked again.
      for (let index = 0; index < 5; index++) {
        yield* update("edge", { upsert: clusters(`other ${index}`) })
        yield* pass("10 seconds")
      }
      expect(asked).toHaveLength(3)
      // What was made is asked for whenever it goes.
      yield* update("edge", { remove: { clusters: ["made"] } })
      yield* pass("1010 millis")
      expect(asked.slice(3)).toEqual(["made"])
    }).pipe(Effect.provide(setup({ onMissing })))
  })

  it.effect("★ a hook that drops one resource for another is asked once in that time, not without end", () => {
    const { asked, onMissing } = noting((name) =>
      update("edge", { upsert: clusters(name), remove: { clusters: [name === "one" ? "two" : "one"] } })
    )
    return Effect.gen(function* () {
      yield* set()
      const client = yield* MemoryClient.open()
      client.send(subscribe("one", "two"))
      yield* settled
      expect(asked).toEqual(["one", "two"])
      for (let index = 0; index < 5; index++) yield* pass("3010 millis")
      expect(asked).toHaveLength(7)
      yield* pass("500 millis")
      expect(asked).toHaveLength(7)
    }).pipe(Effect.provide(setup({ onMissing, missingAgainAfter: "3 seconds" })))
  })

  it.effect("is not asked for where its group was cleared: that has nothing on purpose", () => {
    const { asked, onMissing } = noting(() => Effect.void)
    return Effect.gen(function* () {
      yield* set()
      const store = yield* SnapshotStore.SnapshotStore
      const client = yield* MemoryClient.open()
      client.send(subscribe("there"))
      yield* settled
      yield* update("edge", { remove: { clusters: ["there"] } })
      yield* store.clear("edge")
      yield* pass("2 seconds")
      expect(asked).toEqual([])
      yield* store.set("edge", clusters("there"))
      yield* pass("2 seconds")
      expect(asked).toEqual([])
      yield* store.set("edge", clusters("other"))
      yield* pass("2 seconds")
      expect(asked).toEqual(["there"])
    }).pipe(Effect.provide(setup({ onMissing })))
  })

  it.effect("★ is asked for when its group, which was cleared, is set again without it", () => {
    const { asked, onMissing } = noting(() => Effect.void)
    return Effect.gen(function* () {
      yield* set()
      const store = yield* SnapshotStore.SnapshotStore
      const client = yield* MemoryClient.open()
      client.send(subscribe("there"))
      yield* settled
      yield* store.clear("edge")
      yield* settled
      expect(asked).toEqual([])
      yield* store.set("edge", clusters("other"))
      yield* settled
      expect(asked).toEqual(["there"])
    }).pipe(Effect.provide(setup({ onMissing })))
  })
})

describe("names of many groups", () => {
  it.effect(
    "★ a group that fills the queue does not keep others out; who is refused is told, and answered at once",
    () => {
      const { asked, onMissing } = noting(() => Effect.never)
      return Effect.gen(function* () {
        lines.length = 0
        yield* set("noisy")
        yield* set("quiet")
        const server = yield* XdsServer.XdsServer
        const events: Array<ServerEvent.ServerEvent> = []
        yield* Effect.forkScoped(Stream.runForEach(server.events, (event) => Effect.sync(() => events.push(event))))
        const refusals = Effect.map(
          Metric.value(Metric.tagged(XdsServerMetrics.missingRefused, "group", "noisy")),
          ({ count }) => count
        )
        const counted = yield* refusals
        const [held, bytes] = [yield* gauge(XdsServerMetrics.missingNames), yield* gauge(XdsServerMetrics.missingBytes)]
        yield* settled
        const noisy = yield* MemoryClient.open()
        noisy.send(of("noisy", ...Array.from({ length: 12 }, (_, index) => `n${index}`)))
        yield* settled
        expect(noisy.unread()).toBe(1)
        expect((yield* noisy.receive).removed).toEqual(["n10", "n11"])
        expect(yield* gauge(XdsServerMetrics.missingNames)).toBe(held + 10)
        expect(yield* gauge(XdsServerMetrics.missingBytes)).toBeGreaterThan(bytes + 10 * 256)
        const quiet = yield* MemoryClient.open()
        quiet.send(of("quiet", "q"))
        yield* settled
        expect(noisy.unread()).toBe(1)
        expect((yield* noisy.receive).removed).toEqual(["n9"])
        expect([noisy.unread(), quiet.unread()]).toEqual([0, 0])
        expect(asked.map((name) => name.split("/")[0]).sort()).toEqual(["noisy", "noisy", "noisy", "quiet"])
        expect(events.filter(({ _tag }) => _tag === "MissingRefused")).toEqual([
          { _tag: "MissingRefused", group: "noisy", typeUrl: CDS, names: ["n10"], omitted: 1 },
          { _tag: "MissingRefused", group: "noisy", typeUrl: CDS, names: ["n9"], omitted: 0 }
        ])
        expect((yield* refusals) - counted).toBe(3)
        expect(lines.join("\n")).toContain(`not called for group "noisy", ${CDS} "n10" and 1 others: 10 names of `)
      }).pipe(
        Effect.scoped,
        Effect.provide(setup({ onMissing, maxMissingNames: 10, maxMissingCalls: 4, maxEventNames: 1 }))
      )
    }
  )

  it.effect("one group has so many calls at a time as maxMissingCallsPerGroup says", () => {
    const { asked, onMissing } = noting(() => Effect.never)
    return Effect.gen(function* () {
      yield* set()
      const client = yield* MemoryClient.open()
      client.send(subscribe("a", "b", "c", "d", "e"))
      yield* settled
      expect(asked).toEqual(["a"])
    }).pipe(Effect.provide(setup({ onMissing, maxMissingCalls: 4, maxMissingCallsPerGroup: 1 })))
  })

  it.effect("what is held is counted until the call is over, or the server", () =>
    Effect.gen(function* () {
      const { onMissing } = noting((name) => (name === "long" ? Effect.never : Effect.sleep("1 second")))
      const held = Effect.all([gauge(XdsServerMetrics.missingNames), gauge(XdsServerMetrics.missingBytes)])
      const [names, bytes] = yield* held
      const scope = yield* Scope.make()
      const context = yield* Layer.buildWithScope(setup({ onMissing, missingTimeout: "1 minute" }), scope)
      yield* Effect.gen(function* () {
        yield* set()
        const client = yield* MemoryClient.open()
        client.send(subscribe("short", "long"))
        yield* settled
        const [both, of2] = yield* held
        expect(both - names).toBe(2)
        yield* pass("1 second")
        const [one, of1] = yield* held
        expect(one - names).toBe(1)
        expect(of1).toBeGreaterThan(bytes)
        expect(of1).toBeLessThan(of2)
        // A change, so that somebody would look for what is gone.
        yield* update("edge", { remove: { clusters: ["there"] } })
      }).pipe(Effect.provide(context))
      yield* Scope.close(scope, Exit.void)
      yield* pass("10 seconds")
      expect(yield* held).toEqual([names, bytes])
    })
  )
})

describe("a client that is moved to another group", () => {
  it.effect("★ is given what that group lacks of what it subscribes to by its hook, and no more of the other", () => {
    const { asked, onMissing } = noting((name, group) =>
      group === "two" ? update(group, { upsert: clusters(name) }) : Effect.never
    )
    return Effect.gen(function* () {
      const directory = yield* SubscriptionRef.make("one")
      yield* Effect.gen(function* () {
        yield* set("one")
        yield* set("two")
        yield* update("one", { upsert: clusters("both", "only one") })
        yield* update("two", { upsert: clusters("both") })
        const client = yield* MemoryClient.open()
        client.send(subscribe("both", "only one", "neither"))
        expect((yield* client.receive).names).toEqual(["both", "only one"])
        yield* settled
        expect(asked).toEqual(["one/neither"])
        yield* SubscriptionRef.set(directory, "two")
        const seen: Array<string> = []
        yield* Effect.repeat(
          Effect.map(client.receive, ({ names, removed }) => seen.push(...names, ...removed.map((name) => `-${name}`))),
          { until: () => seen.includes("neither") && seen.includes("only one") }
        )
        expect(asked.slice(1).sort()).toEqual(["two/neither", "two/only one"])
        expect(seen).not.toContain("-neither")
      }).pipe(Effect.provide(setup({ group: () => directory.changes, onMissing })))
    })
  })
})
