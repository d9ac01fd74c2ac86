import { create, toBinary } from "@bufbuild/protobuf"
import * as ResourceGroup from "@effect-xds/core/resource/ResourceGroup"
import { ResourceType } from "@effect-xds/proto"
import { Cluster_DiscoveryType, ClusterSchema } from "@effect-xds/proto/envoy/config/cluster/v3/cluster"
import { ClusterLoadAssignmentSchema } from "@effect-xds/proto/envoy/config/endpoint/v3/endpoint"
import { ListenerSchema } from "@effect-xds/proto/envoy/config/listener/v3/listener"
import { RouteConfigurationSchema } from "@effect-xds/proto/envoy/config/route/v3/route"
import { MaglevSchema } from "@effect-xds/proto/envoy/extensions/load_balancing_policies/maglev/v3/maglev"
import { Snapshot, SnapshotStore, XdsServerMetrics } from "@effect-xds/server"
import { AutoYield } from "@effect-xds/testing"
import { EventLoop, process } from "@effect-xds/transport/EventLoop"
import { GroupRule } from "@effect-xds/validate"
import { describe, expect, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Metric, Option, Stream } from "effect"
import { collecting, refused } from "./StoreWrites.js"

const ads = { configSourceSpecifier: { case: "ads", value: {} } } as const

const cluster = (name: string) => create(ClusterSchema, { name })

const eds = (name: string) =>
  create(ClusterSchema, {
    name,
    clusterDiscoveryType: { case: "type", value: Cluster_DiscoveryType.EDS },
    edsClusterConfig: { edsConfig: ads }
  })

/** An EDS cluster without a source, which Envoy refuses. */
const sourceless = (name: string) =>
  create(ClusterSchema, { name, clusterDiscoveryType: { case: "type", value: Cluster_DiscoveryType.EDS } })

const endpoints = (clusterName: string) => create(ClusterLoadAssignmentSchema, { clusterName })

const routes = (name: string, ...clusters: ReadonlyArray<string>) =>
  create(RouteConfigurationSchema, {
    name,
    virtualHosts: clusters.map((value) => {
      const action = { case: "route", value: { clusterSpecifier: { case: "cluster", value } } } as const
      const match = { pathSpecifier: { case: "prefix", value: "/" } } as const
      return { name: value, domains: [value], routes: [{ match, action }] }
    })
  })

const listener = (name: string, portValue: number) =>
  create(ListenerSchema, {
    name,
    address: {
      address: {
        case: "socketAddress",
        value: { address: "127.0.0.1", portSpecifier: { case: "portValue", value: portValue } }
      }
    },
    filterChains: [{}]
  })

const rulesOf = (store: SnapshotStore.MemoryStore, group = "edge") =>
  Effect.map(store.broken(group), ({ rules }) => rules.map(({ name, rule }) => `${name} ${rule}`))

const names = (store: SnapshotStore.MemoryStore, group = "edge") =>
  Effect.map(store.get(group), (stored) =>
    ResourceGroup.all(Option.getOrThrow(stored).own)
      .map(({ name }) => name)
      .sort()
  )

/** Lets a store do what it has put off. */
const turns = Effect.repeatN(
  Effect.promise(() => new Promise(setImmediate)),
  50
)

it.effect("what stays broken is told with the place that it comes from now", () =>
  Effect.gen(function* () {
    const store = yield* SnapshotStore.makeMemory()
    const from = (place: string) => ({ routes: [Snapshot.resource(routes("main", "kart"), { place })] })
    const told = Effect.map(store.broken("places"), ({ rules }) => rules)
    yield* store.set("places", from("routes.yaml:3"))
    const before = yield* told
    expect(before.map(({ place }) => place)).toEqual(["routes.yaml:3"])
    yield* store.update("places", { upsert: { clusters: [cluster("other")] } })
    // Not made again.
    expect((yield* told)[0]).toBe(before[0])
    yield* store.set("places", from("all.yaml:9"))
    yield* store.update("places", { upsert: { clusters: [cluster("another")] } })
    const [after] = yield* told
    expect(after?.place).toBe("all.yaml:9")
    expect(after?.message).toMatch(/^all.yaml:9: /)
    // It comes from a program now, and says the same.
    yield* store.update("places", { upsert: { routes: [{ ...routes("main", "kart"), internalOnlyHeaders: ["x"] }] } })
    const [last] = yield* told
    expect(last?.place).toBeUndefined()
    expect(last?.message).toMatch(/^routes /)
  })
)

it.effect("as much is broken as before, but something else", () =>
  Effect.gen(function* () {
    const store = yield* SnapshotStore.makeMemory()
    const told = Effect.map(store.broken("replaced"), ({ rules }) => rules.map(({ to }) => to?.name))
    yield* store.set("replaced", { routes: [routes("main", "kart"), routes("other", "bike")] })
    expect(yield* told).toEqual(["kart", "bike"])
    yield* store.update("replaced", { upsert: { routes: [routes("main", "cart")] } })
    expect(yield* told).toEqual(["cart", "bike"])
    yield* store.update("replaced", { upsert: { clusters: [cluster("cart")], routes: [routes("last", "boat")] } })
    expect(yield* told).toEqual(["bike", "boat"])
  })
)

describe("a store warns of group rules", () => {
  it.effect(
    "soon after the change: in the log once, in a metric, in reports and of the group while they are broken",
    () => {
      const { layer, lines } = collecting()
      return Effect.gen(function* () {
        const store = yield* SnapshotStore.makeMemory()
        const served = Metric.tagged(
          Metric.tagged(XdsServerMetrics.brokenRules, "rule", "cluster-reference"),
          "outcome",
          "served"
        )
        const inForce = Metric.tagged(XdsServerMetrics.brokenRulesInForce, "group", "edge")
        const before = (yield* Metric.value(served)).count
        const reports = yield* Effect.fork(Stream.runCollect(Stream.take(store.reports, 3)))
        yield* Effect.yieldNow()
        const stored = yield* store.set("edge", {
          clusters: [cluster("a")],
          routes: [Snapshot.resource(routes("main", "a", "kart"), { place: "routes.yaml:3" })]
        })
        // The change did not wait.
        expect(stored.broken).toBeUndefined()
        expect(lines).toEqual([])
        yield* turns
        const words =
          'routes.yaml:3: routes "main": virtual_hosts[1].routes[0].route.cluster names cluster "kart", which is not there (cluster-reference)'
        expect(lines).toEqual([`edge: ${words}`])
        expect(Option.getOrThrow(yield* store.get("edge")).broken).toEqual({
          rules: [
            {
              rule: "cluster-reference",
              severity: "warning",
              typeUrl: ResourceType.RouteConfiguration.typeUrl,
              name: "main",
              path: "virtual_hosts[1].routes[0].route.cluster",
              problem: 'names cluster "kart", which is not there',
              to: { typeUrl: ResourceType.Cluster.typeUrl, name: "kart" },
              place: "routes.yaml:3",
              message: words
            }
          ],
          omitted: 0
        })
        expect((yield* Metric.value(served)).count).toBe(before + 1)
        expect((yield* Metric.value(inForce)).value).toBe(1)
        // What is broken as it was is not told again; what is broken by a removal is.
        yield* store.update("edge", { upsert: { clusters: [sourceless("b")] }, remove: { clusters: ["a"] } })
        expect(yield* rulesOf(store)).toEqual([
          "main cluster-reference",
          "main cluster-reference",
          "b eds-config",
          "b endpoints-reference"
        ])
        expect(lines.slice(1).toSorted()).toEqual([
          'edge: clusters "b": eds_cluster_config.eds_config must say where the endpoints come from (eds-config); clients refuse it',
          'edge: clusters "b": name names endpoints "b", which is not there (endpoints-reference)',
          'edge: routes.yaml:3: routes "main": virtual_hosts[0].routes[0].route.cluster names cluster "a", which is not there (cluster-reference)'
        ])
        yield* store.update("edge", { upsert: { clusters: [cluster("a"), cluster("b"), cluster("kart")] } })
        expect(yield* rulesOf(store)).toEqual([])
        expect(Option.getOrThrow(yield* store.get("edge")).broken).toBeUndefined()
        expect((yield* Metric.value(inForce)).value).toBe(0)
        expect(lines).toHaveLength(4)
        expect(
          Array.from(yield* Fiber.join(reports), ({ broken, fresh }) => [broken.rules.length, fresh.rules.length])
        ).toEqual([
          [1, 1],
          [4, 3],
          [0, 0]
        ])
      }).pipe(Effect.provide(layer))
    }
  )

  it.effect(
    "soon after a later change, too: a small one, one that takes many turns, and one with a type to load first",
    () => {
      const { layer, lines } = collecting()
      return Effect.gen(function* () {
        let time = 0
        let aReading = 0.001
        const loop = { ...process, elapsed: () => (time += aReading) }
        const store = yield* Effect.provideService(SnapshotStore.makeMemory(), EventLoop, loop)
        /** What is told of a change, without asking. */
        const toldOf = (...clusters: ReadonlyArray<ReturnType<typeof cluster>>) =>
          Effect.gen(function* () {
            yield* store.update("edge", { upsert: { clusters } })
            yield* Effect.repeatN(turns, 10)
            return lines.splice(0).map((line) => /(?<=\()[a-z-]+(?=\)(?:;|$))/.exec(line)?.[0])
          })
        yield* store.set("edge", { clusters: [cluster("a")] })
        yield* Effect.repeatN(turns, 10)
        expect(yield* toldOf(eds("b"))).toEqual(["endpoints-reference"])
        const { typeName: typeUrl } = MaglevSchema
        const maglev = { typeUrl, value: toBinary(MaglevSchema, create(MaglevSchema, { tableSize: 4n })) }
        const policies = [{ typedExtensionConfig: { name: "maglev", typedConfig: maglev } }]
        expect(yield* toldOf(create(ClusterSchema, { name: "c", loadBalancingPolicy: { policies } }))).toEqual([
          "maglev-table-size"
        ])
        // Each slice is over after two steps.
        aReading = 1
        expect(yield* toldOf(...Array.from({ length: 19 }, (_, at) => eds(`d${at}`)))).toEqual(
          Array.from({ length: 19 }, () => "endpoints-reference")
        )
      }).pipe(Effect.provide(layer))
    }
  )

  it.effect("of many changes in a row it checks the last state, and of a cleared group none", () => {
    const { layer, lines } = collecting()
    return Effect.gen(function* () {
      const putOff: Array<() => void> = []
      const later = (work: () => void) => {
        putOff.push(work)
        return () => undefined
      }
      const store = yield* Effect.provideService(SnapshotStore.makeMemory(), EventLoop, { ...process, later })
      yield* store.set("edge", {})
      for (let at = 0; at < 100; at++) yield* store.update("edge", { upsert: { clusters: [eds(`c${at}`)] } })
      yield* store.update("edge", { upsert: { endpoints: Array.from({ length: 99 }, (_, at) => endpoints(`c${at}`)) } })
      yield* store.set("gone", { clusters: [eds("a")] })
      yield* store.clear("gone")
      for (let work = putOff.shift(); work !== undefined; work = putOff.shift()) {
        work()
        yield* turns
      }
      expect(lines).toEqual([
        'edge: clusters "c99": name names endpoints "c99", which is not there (endpoints-reference)'
      ])
      expect(yield* store.broken("gone")).toEqual({ rules: [], omitted: 0 })
    }).pipe(Effect.provide(layer))
  })

  it.effect("within bounds: of lines, of what is kept, and of resources that are remembered", () => {
    const { layer, lines } = collecting()
    return Effect.gen(function* () {
      const many = { clusters: Array.from({ length: 300 }, (_, at) => eds(`c${at}`)) }
      const store = yield* SnapshotStore.makeMemory()
      yield* store.set("edge", many)
      expect(yield* store.broken("edge")).toMatchObject({ rules: { length: 100 }, omitted: 200 })
      expect(lines).toHaveLength(21)
      expect(lines.at(-1)).toBe("edge: 280 more rules are broken")
      lines.length = 0
      const small = yield* SnapshotStore.makeMemory({ validate: { maxIndexed: 301 } })
      yield* small.set("edge", many)
      yield* small.set("other", { clusters: [eds("a"), eds("b")] })
      expect(yield* rulesOf(small)).toHaveLength(100)
      expect(yield* rulesOf(small, "other")).toEqual([])
      yield* small.update("other", { upsert: { clusters: [eds("c")] } })
      expect(yield* rulesOf(small, "other")).toEqual([])
      expect(lines.filter((line) => line.startsWith("other"))).toEqual([
        "other: its 2 resources are not checked together: with those of other groups they are more than 301, the limit"
      ])
      // There is room again.
      yield* small.clear("edge")
      yield* small.broken("edge")
      expect(yield* rulesOf(small, "other")).toHaveLength(3)
    }).pipe(Effect.provide(layer))
  })

  it.effect("not of rules that are off, nor where all are", () =>
    Effect.gen(function* () {
      const bad = { clusters: [sourceless("a")] }
      const some = yield* SnapshotStore.makeMemory({ validate: { off: GroupRule.references } })
      yield* some.set("edge", bad)
      expect(yield* rulesOf(some)).toEqual(["a eds-config"])
      for (const validate of ["off", { groupRules: "off" }] as const) {
        const none = yield* SnapshotStore.makeMemory({ validate })
        yield* none.set("edge", bad)
        yield* turns
        expect(Option.getOrThrow(yield* none.get("edge")).broken).toBeUndefined()
      }
    })
  )

  it.effect("until its scope ends", () => {
    const { layer, lines } = collecting()
    return Effect.gen(function* () {
      const inForce = Metric.tagged(XdsServerMetrics.brokenRulesInForce, "group", "scoped")
      const store = yield* Effect.scoped(
        Effect.gen(function* () {
          const store = yield* SnapshotStore.makeMemory()
          yield* store.set("scoped", { clusters: [eds("a")] })
          yield* store.broken("scoped")
          expect((yield* Metric.value(inForce)).value).toBe(1)
          return store
        })
      )
      expect((yield* Metric.value(inForce)).value).toBe(0)
      yield* store.update("scoped", { upsert: { clusters: [eds("b")] } })
      yield* turns
      expect(lines).toHaveLength(1)
    }).pipe(Effect.provide(layer))
  })

  it.effect("in slices, while others go on", () =>
    Effect.gen(function* () {
      let later = 0
      let time = 0
      const loop = {
        ...process,
        elapsed: () => (time += 1),
        later: (work: () => void) => {
          later++
          return process.later(work)
        }
      }
      const store = yield* Effect.provideService(SnapshotStore.makeMemory(), EventLoop, loop)
      const altStatName = "x".repeat(2_000)
      const clusters = Array.from({ length: 2_000 }, (_, at) => ({ ...eds(`c${at}`), altStatName }))
      yield* store.set("edge", { clusters })
      later = 0
      yield* store.broken("edge")
      // Some are read at a time, 16 KB of them.
      expect(later).toBeGreaterThan(150)
    })
  )
})

describe("a store refuses what breaks group rules", () => {
  it.effect("that were not broken before, with every one; the group stays as it was", () =>
    Effect.gen(function* () {
      const store = yield* SnapshotStore.makeMemory({ validate: { groupRules: "refuse" } })
      const refusals = Metric.tagged(
        Metric.tagged(XdsServerMetrics.brokenRules, "rule", "cluster-reference"),
        "outcome",
        "refused"
      )
      const count = (yield* Metric.value(refusals)).count
      const first = yield* refused(
        store.set("edge", { routes: [Snapshot.resource(routes("main", "a", "b"), { place: "routes.yaml:7" })] })
      )
      expect(first).toMatchObject({
        _tag: "BrokenRules",
        group: "edge",
        omitted: 0,
        rules: [
          { rule: "cluster-reference", path: "virtual_hosts[0].routes[0].route.cluster", place: "routes.yaml:7" },
          { rule: "cluster-reference", path: "virtual_hosts[1].routes[0].route.cluster" }
        ]
      })
      expect(first.message).toBe(
        'group "edge" was not changed: routes.yaml:7: routes "main": virtual_hosts[0].routes[0].route.cluster names cluster "a", ' +
          'which is not there (cluster-reference); routes.yaml:7: routes "main": virtual_hosts[1].routes[0].route.cluster names ' +
          'cluster "b", which is not there (cluster-reference) (mend it, or switch the rule off by its name)'
      )
      expect((yield* Metric.value(refusals)).count).toBe(count + 2)
      expect(yield* store.groups).toEqual([])
      yield* store.set("edge", { clusters: [cluster("a"), cluster("b")], routes: [routes("main", "a", "b")] })
      const before = Option.getOrThrow(yield* store.get("edge"))
      const removal = yield* refused(store.update("edge", { remove: { clusters: ["b"] } }))
      expect(removal).toMatchObject({ _tag: "BrokenRules", rules: [{ name: "main", place: undefined }] })
      expect(Option.getOrThrow(yield* store.get("edge"))).toBe(before)
      // Served all the same, it counts as broken before; what is mended or as it was is not refused.
      yield* store.update("edge", { remove: { clusters: ["b"] } }, { groupRules: "warn" })
      yield* store.update("edge", { upsert: { clusters: [cluster("c")] } })
      expect(yield* rulesOf(store)).toEqual(["main cluster-reference"])
      yield* store.update("edge", { upsert: { routes: [routes("main", "c", "b")] } })
      expect((yield* refused(store.update("edge", { remove: { clusters: ["c"] } })))._tag).toBe("BrokenRules")
      yield* store.update("edge", { upsert: { clusters: [cluster("b")] } })
      expect(yield* rulesOf(store)).toEqual([])
      expect(yield* names(store)).toEqual(["a", "b", "c", "main"])
    })
  )

  it.effect("if they are errors, and warns of the others", () =>
    Effect.gen(function* () {
      const store = yield* SnapshotStore.makeMemory({ validate: { groupRules: "refuse-errors" } })
      yield* store.set("edge", { clusters: [eds("a")], listeners: [listener("l", 80)] })
      expect(yield* rulesOf(store)).toEqual(["a endpoints-reference"])
      const error = yield* refused(
        store.update("edge", { upsert: { clusters: [eds("b")], listeners: [listener("m", 80)] } })
      )
      expect(error).toMatchObject({ rules: [{ name: "m", rule: "listener-address-unique" }], omitted: 0 })
    })
  )

  it.effect("of one call, in a store that warns or looks at nothing", () =>
    Effect.gen(function* () {
      for (const groupRules of ["warn", "off"] as const) {
        const store = yield* SnapshotStore.makeMemory({ validate: { groupRules } })
        yield* store.set("edge", { clusters: [eds("a")] })
        const error = yield* refused(
          store.update("edge", { upsert: { clusters: [eds("b")] } }, { groupRules: "refuse" })
        )
        expect(error).toMatchObject({ _tag: "BrokenRules", rules: [{ name: "b", rule: "endpoints-reference" }] })
        yield* store.update("edge", { upsert: { endpoints: [endpoints("a")] } }, { groupRules: "refuse" })
        expect(yield* names(store)).toEqual(["a", "a"])
      }
    })
  )

  it.effect("and goes on with the next change when a call is interrupted", () =>
    Effect.gen(function* () {
      const store = yield* SnapshotStore.makeMemory({ validate: { groupRules: "refuse" } })
      const good = (count: number) => ({
        clusters: Array.from({ length: count }, (_, at) => eds(`c${at}`)),
        endpoints: Array.from({ length: count }, (_, at) => endpoints(`c${at}`))
      })
      yield* store.set("edge", good(300))
      // Every slice is over at once.
      let time = 0
      const loop = { ...process, elapsed: () => (time += 100) }
      const all = Array.from({ length: 300 }, (_, at) => `c${at}`)
      let done = 0
      for (let wait = 0; wait < 40; wait++) {
        const removal = store.update("edge", { remove: { endpoints: all } })
        const fiber = yield* Effect.fork(Effect.either(Effect.provideService(removal, EventLoop, loop)))
        yield* Effect.repeatN(
          Effect.promise(() => new Promise(setImmediate)),
          wait
        )
        if (Exit.isSuccess(yield* Fiber.interrupt(fiber))) done++
        expect(yield* rulesOf(store)).toEqual([])
        const error = yield* refused(store.update("edge", { remove: { endpoints: ["c7"] } }))
        expect(error).toMatchObject({ rules: [{ name: "c7" }], omitted: 0 })
      }
      // Some came to their end.
      expect(done).toBeGreaterThan(0)
      expect(done).toBeLessThan(40)
    })
  )
})

describe("groups over others", () => {
  it.effect("refer to what the group below has, whatever comes and goes there", () =>
    Effect.gen(function* () {
      const store = yield* SnapshotStore.makeMemory()
      yield* store.set("base", { clusters: [cluster("a")] })
      yield* store.set("edge", { over: "base", routes: [routes("main", "a", "b")] })
      expect(yield* rulesOf(store)).toEqual(["main cluster-reference"])
      yield* store.update("base", { upsert: { clusters: [cluster("b")] } })
      expect(yield* rulesOf(store)).toEqual([])
      yield* store.update("base", { remove: { clusters: ["a"] } })
      yield* turns
      expect(Option.getOrThrow(yield* store.get("edge")).broken?.rules).toMatchObject([
        { path: "virtual_hosts[0].routes[0].route.cluster" }
      ])
      const error = yield* refused(
        store.set("edge", { over: "base", routes: [routes("main", "a", "b", "c")] }, { groupRules: "refuse" })
      )
      expect(error).toMatchObject({ rules: [{ path: "virtual_hosts[2].routes[0].route.cluster" }] })
    })
  )

  it.effect("may have what the group below refers to, so of that nothing is said", () =>
    Effect.gen(function* () {
      const store = yield* SnapshotStore.makeMemory()
      yield* store.set("base", { routes: [routes("main", "a")], clusters: [sourceless("b")] })
      expect(yield* rulesOf(store, "base")).toEqual(["b eds-config", "b endpoints-reference", "main cluster-reference"])
      yield* store.set("edge", { over: "base", clusters: [cluster("a")] })
      expect(yield* rulesOf(store, "base")).toEqual(["b eds-config"])
      expect(yield* rulesOf(store)).toEqual([])
      yield* store.clear("edge")
      expect(yield* rulesOf(store, "base")).toHaveLength(3)
    })
  )
})

it.effect(
  "a call that is interrupted wherever it lets others run counts no more: a small change is checked in one step",
  () =>
    Effect.gen(function* () {
      const waiting: Array<() => void> = []
      const later = (work: () => void) => {
        waiting.push(work)
        return () => void waiting.splice(waiting.indexOf(work), 1)
      }
      const store = yield* Effect.provideService(SnapshotStore.makeMemory(), EventLoop, { ...process, later })
      const rest = Effect.iterate(waiting, {
        while: ({ length }) => length > 0,
        body: () => Effect.tap(Effect.as(turns, waiting), () => waiting.shift()?.())
      })
      yield* store.set("edge", { routes: [routes("main", "kart")] })
      for (const place of AutoYield.places) {
        yield* Fiber.interrupt(yield* AutoYield.fork(store.broken("edge"), place))
        yield* store.broken("edge")
        yield* rest
        yield* store.set("edge", { routes: [routes("main", `kart-${place}`)] })
        for (const work of waiting.splice(0)) work()
        const { broken } = Option.getOrThrow(yield* store.get("edge"))
        expect(broken?.rules.map(({ message }) => message).join()).toContain(`kart-${place}`)
      }
    })
)
