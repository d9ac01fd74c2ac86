import { FractionalPercent_DenominatorType } from "@effect-xds/proto/envoy/type/v3/percent"
import { Cluster_LbPolicy } from "@effect-xds/proto/envoy/config/cluster/v3/cluster"
import { CallCounters } from "@effect-xds/routing/CallCounters"
import * as ClusterHolds from "@effect-xds/routing/ClusterHolds"
import type { Picker, Ring } from "@effect-xds/routing/Picker"
import { RingStore } from "@effect-xds/routing/RingStore"
import * as StatefulSession from "@effect-xds/routing/StatefulSession"
import * as Tree from "@effect-xds/routing/Tree"
import type * as XdsConfig from "@effect-xds/routing/XdsConfig"
import { SimulatedTime } from "@effect-xds/testing"
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as HashMap from "effect/HashMap"
import * as TestClock from "effect/TestClock"
import { all, split, to } from "./Routes.js"
import {
  World,
  aggregateOf,
  assignmentOf,
  clusterOf,
  listenerOf,
  random,
  routesOf,
  sessions,
  value,
  zonesOf
} from "./World.js"

/** The ring that calls of a cluster are picked from. */
const ringIn = (picker: Picker | undefined, cluster: string): Ring | undefined => {
  if (picker?._tag === "ByName") return ringIn(picker.children.get(cluster), cluster)
  if (picker?._tag === "Limited") return ringIn(picker.child, cluster)
  return picker?._tag === "Ring" ? picker.ring : undefined
}
const path = (text: string) => ({ pathSpecifier: { case: "path" as const, value: text } })

/** A channel with clusters `a` and `b` of two endpoints each; all goes to `a`. */
const started = (draw: () => number = () => 0.5) => {
  const world = new World(draw)
  world.xds({ _tag: "Start" })
  world.xds({ _tag: "Listener", name: "shop", known: value(listenerOf("routes")) })
  world.xds({ _tag: "RouteConfiguration", name: "routes", known: value(routesOf({ match: all, action: to("a") })) })
  world.xds({ _tag: "Cluster", name: "a", known: value(clusterOf("a")) })
  return world
}

const connected = (draw?: () => number) => {
  const world = started(draw)
  world.xds({ _tag: "Assignment", name: "a", known: value(assignmentOf("a", [1, 2])) })
  world.until(world.now + 1_000)
  return world
}

const ended = ({ ended }: World) => Array.from(ended.values()).reduce((sum, count) => sum + count, 0)
const sent = ({ sent }: World) => Array.from(sent.keys()).sort()

/** How many entries of maps are written or gone through meanwhile. */
const entriesIn = (run: () => void): number => {
  const { set, values } = Object.getOwnPropertyDescriptors(Map.prototype)
  let entries = 0
  Object.defineProperty(Map.prototype, "set", {
    ...set,
    value(this: Map<unknown, unknown>, key: unknown, entry: unknown): unknown {
      entries += 1
      return set.value?.call(this, key, entry)
    }
  })
  Object.defineProperty(Map.prototype, "values", {
    ...values,
    value(this: Map<unknown, unknown>): unknown {
      entries += this.size
      return values.value?.call(this)
    }
  })
  try {
    run()
  } finally {
    Object.defineProperties(Map.prototype, { set, values })
  }
  return entries
}

const numbers = (from: number, to: number): ReadonlyArray<number> =>
  Array.from({ length: to - from }, (_, index) => from + index)

describe("the work of an update", () => {
  it.each(["ROUND_ROBIN", "LEAST_REQUEST", "RING_HASH"] as const)(
    "grows with the endpoints, not faster: %s",
    (name) => {
      const work = (count: number): number => {
        const world = started()
        world.xds({ _tag: "Cluster", name: "a", known: value(clusterOf("a", { lbPolicy: Cluster_LbPolicy[name] })) })
        world.xds({ _tag: "Assignment", name: "a", known: value(assignmentOf("a", numbers(1, 1 + count))) })
        world.call()
        world.until(1_000)
        const known = value(assignmentOf("a", numbers(2, 2 + count)))
        return entriesIn(() => world.xds({ _tag: "Assignment", name: "a", known }))
      }
      expect(work(200)).toBeLessThan(2.5 * work(100))
    }
  )

  it("grows with the clusters, not faster, where all of them change", () => {
    const work = (count: number): number => {
      const names = numbers(0, count).map((number) => `cluster-${number}`)
      const world = started()
      for (const cluster of names) world.xds({ _tag: "Subscribe", cluster })
      const routes = routesOf(...names.map((name) => ({ match: path(`/${name}`), action: to(name) })))
      world.xds({ _tag: "RouteConfiguration", name: "routes", known: value(routes) })
      for (const name of names) world.xds({ _tag: "Cluster", name, known: value(clusterOf(name)) })
      const [last = "", ...rest] = names
      for (const name of rest) world.xds({ _tag: "Assignment", name, known: value(assignmentOf(name, [1])) })
      return entriesIn(() => world.xds({ _tag: "Assignment", name: last, known: value(assignmentOf(last, [1])) }))
    }
    expect(work(100)).toBeLessThan(2.5 * work(50))
  })

  it("does not grow with the endpoints of other clusters", () => {
    const work = (count: number): number => {
      const world = started()
      const routes = routesOf({ match: path("/a"), action: to("a") }, { match: all, action: to("b") })
      world.xds({ _tag: "RouteConfiguration", name: "routes", known: value(routes) })
      world.xds({ _tag: "Cluster", name: "b", known: value(clusterOf("b")) })
      world.xds({ _tag: "Assignment", name: "b", known: value(assignmentOf("b", numbers(10, 10 + count))) })
      world.xds({ _tag: "Assignment", name: "a", known: value(assignmentOf("a", [1, 2])) })
      world.until(1_000)
      const known = value(assignmentOf("a", [2, 3]))
      return entriesIn(() => world.xds({ _tag: "Assignment", name: "a", known }))
    }
    expect(work(200)).toBe(work(100))
  })

  it("does not grow with the endpoints of other leaves of an aggregate", () => {
    const work = (count: number): number => {
      const world = started()
      world.xds({ _tag: "Cluster", name: "a", known: value(aggregateOf("a", "b", "c")) })
      for (const name of ["b", "c"]) world.xds({ _tag: "Cluster", name, known: value(clusterOf(name)) })
      world.xds({ _tag: "Assignment", name: "b", known: value(assignmentOf("b", [1, 2])) })
      world.xds({ _tag: "Assignment", name: "c", known: value(assignmentOf("c", numbers(10, 10 + count))) })
      for (const number of [1, 2, 3]) world.down.add(`10.0.0.${number}:80`)
      // The second leaf is asked for when the first one cannot be reached.
      world.until(1_000)
      world.call()
      world.until(2_000)
      const known = value(assignmentOf("b", [2, 3]))
      return entriesIn(() => world.xds({ _tag: "Assignment", name: "b", known }))
    }
    expect(work(200)).toBe(work(100))
  })
})

describe("channel", () => {
  it("watches what it needs, one after the other; calls wait until all of it is there", () => {
    const world = started()
    expect(Array.from(world.watched)).toEqual([
      "Listener shop",
      "RouteConfiguration routes",
      "Cluster a",
      "Assignment a"
    ])
    world.call()
    expect(sent(world)).toEqual([])
    world.xds({ _tag: "Assignment", name: "a", known: value(assignmentOf("a", [1, 2])) })
    world.until(1_000)
    expect(sent(world)).toEqual(["10.0.0.1:80"])
    expect(world.ended.size).toBe(0)
  })

  it("an update of routes fails no call: the old cluster goes when its last call is over", () => {
    const world = started()
    world.xds({ _tag: "Assignment", name: "a", known: value(assignmentOf("a", [1])) })
    // It waits for a connection, and holds its cluster.
    world.call()
    world.xds({ _tag: "RouteConfiguration", name: "routes", known: value(routesOf({ match: all, action: to("b") })) })
    world.xds({ _tag: "Cluster", name: "b", known: value(clusterOf("b")) })
    world.xds({ _tag: "Assignment", name: "b", known: value(assignmentOf("b", [3])) })
    world.until(1_000)
    world.call()
    world.until(2_000)
    expect(sent(world)).toEqual(["10.0.0.1:80", "10.0.0.3:80"])
    expect(Array.from(world.watched)).not.toContain("Cluster a")
    expect(world.ended.size).toBe(0)
  })

  it("★ a cluster that is deleted while calls wait for it fails them", () => {
    const world = started()
    world.xds({ _tag: "Assignment", name: "a", known: value(assignmentOf("a", [1])) })
    world.call("/s/m", true)
    world.xds({ _tag: "RouteConfiguration", name: "routes", known: value(routesOf({ match: all, action: to("b") })) })
    world.xds({ _tag: "Cluster", name: "a", known: { _tag: "Failed", message: "does not exist" } })
    // The old configuration serves until the new one is whole.
    expect(Array.from(world.ended.keys())).toEqual([])
    world.xds({ _tag: "Cluster", name: "b", known: { _tag: "Failed", message: "does not exist" } })
    expect(Array.from(world.ended.keys())).toEqual(['Cluster "a": does not exist'])
    world.call("/s/m", true)
    expect(Array.from(world.ended.keys())).toEqual(['Cluster "a": does not exist', 'Cluster "b": does not exist'])
  })

  it("endpoints that fail are passed over; a priority fails over, and back", () => {
    const world = started()
    world.xds({ _tag: "Assignment", name: "a", known: value(assignmentOf("a", [1], [2])) })
    world.until(1_000)
    world.call()
    world.flip("10.0.0.1:80")
    world.until(5_000)
    world.call()
    world.flip("10.0.0.1:80")
    world.until(30_000)
    world.sent.clear()
    world.call()
    world.until(31_000)
    expect(sent(world)).toEqual(["10.0.0.1:80"])
    expect(world.ended.size).toBe(0)
    expect(world.faults).toEqual([])
  })

  it("no endpoints: calls fail with the reason; one that waits for ready waits", () => {
    const world = started()
    world.xds({ _tag: "Assignment", name: "a", known: { _tag: "Failed", message: "does not exist" } })
    world.call()
    expect(Array.from(world.ended.keys())).toEqual(['ClusterLoadAssignment "a": does not exist'])
    world.call("/s/m", true)
    world.xds({ _tag: "Assignment", name: "a", known: value(assignmentOf("a", [1])) })
    world.until(1_000)
    expect(sent(world)).toEqual(["10.0.0.1:80"])
  })

  it("the listener is not there: calls fail with words", () => {
    const world = new World(() => 0.5)
    world.xds({ _tag: "Start" })
    world.call()
    world.xds({ _tag: "Listener", name: "shop", known: { _tag: "Failed", message: "does not exist" } })
    expect(Array.from(world.ended.keys())).toEqual(['Listener "shop": does not exist'])
  })

  it("an aggregate uses the first of its clusters that can be reached; one that is missing is passed over", () => {
    const world = started()
    world.xds({ _tag: "Cluster", name: "a", known: value(aggregateOf("a", "none", "b", "c")) })
    world.xds({ _tag: "Cluster", name: "none", known: { _tag: "Failed", message: "does not exist" } })
    for (const [name, number] of [
      ["b", 1],
      ["c", 2]
    ] as const) {
      world.xds({ _tag: "Cluster", name, known: value(clusterOf(name)) })
      world.xds({ _tag: "Assignment", name, known: value(assignmentOf(name, [number])) })
    }
    world.down.add("10.0.0.1:80")
    world.until(1_000)
    world.call()
    world.until(2_000)
    expect(sent(world)).toEqual(["10.0.0.2:80"])
    world.xds({ _tag: "Assignment", name: "c", known: value(assignmentOf("c", [3])) })
    world.until(3_000)
    world.call()
    expect(sent(world)).toEqual(["10.0.0.2:80", "10.0.0.3:80"])
  })

  it("★ a cluster is ready at once over a connection that another cluster has", () => {
    const world = new World(random(1))
    world.xds({ _tag: "Start" })
    world.xds({ _tag: "Listener", name: "shop", known: value(listenerOf("routes")) })
    const both = routesOf(
      { match: { pathSpecifier: { case: "path", value: "/s/b" } }, action: to("b") },
      { match: all, action: to("a") }
    )
    world.xds({ _tag: "RouteConfiguration", name: "routes", known: value(both) })
    for (const name of ["a", "b"]) {
      world.xds({ _tag: "Cluster", name, known: value(clusterOf(name)) })
      world.xds({ _tag: "Assignment", name, known: value(assignmentOf(name, [name === "a" ? 1 : 2])) })
    }
    world.until(1_000)
    world.xds({ _tag: "Assignment", name: "b", known: value(assignmentOf("b", [1])) })
    const before = world.sent.get("10.0.0.1:80") ?? 0
    world.call("/s/b")
    expect(world.sent.get("10.0.0.1:80")).toBe(before + 1)
    expect(world.faults).toEqual([])
  })

  it("★ a cluster with a ring is connected by its first call, which is sent", () => {
    const world = new World(random(1))
    world.xds({ _tag: "Start" })
    world.xds({ _tag: "Listener", name: "shop", known: value(listenerOf("routes")) })
    world.xds({ _tag: "RouteConfiguration", name: "routes", known: value(routesOf({ match: all, action: to("a") })) })
    world.xds({ _tag: "Cluster", name: "a", known: value(clusterOf("a", { lbPolicy: Cluster_LbPolicy.RING_HASH })) })
    world.xds({ _tag: "Assignment", name: "a", known: value(assignmentOf("a", [1, 2])) })
    world.until(1_000)
    expect(Array.from(world.sent.values())).toEqual([])
    world.call()
    world.until(2_000)
    world.call()
    world.until(3_000)
    expect(Array.from(world.sent.values()).reduce((sum, count) => sum + count, 0)).toBe(2)
    expect(world.faults).toEqual([])
  })

  it("equal rings are one, of clusters and of channels; others are their own", () => {
    const store = new RingStore({ maxRings: 2 })
    const ringsOf = (endpoints: Readonly<Record<string, ReadonlyArray<number>>>, minimumRingSize = 100n) => {
      const world = new World(random(1), undefined, undefined, store)
      const names = Object.keys(endpoints)
      const routes = names.map((name) => ({ match: path(`/s/${name}`), action: to(name) }))
      const policy = {
        lbPolicy: Cluster_LbPolicy.RING_HASH,
        lbConfig: { case: "ringHashLbConfig", value: { minimumRingSize } }
      }
      world.xds({ _tag: "Start" })
      world.xds({ _tag: "Listener", name: "shop", known: value(listenerOf("routes")) })
      world.xds({ _tag: "RouteConfiguration", name: "routes", known: value(routesOf(...routes)) })
      for (const name of names) world.xds({ _tag: "Cluster", name, known: value(clusterOf(name, policy)) })
      for (const [name, numbers] of Object.entries(endpoints)) {
        world.xds({ _tag: "Assignment", name, known: value(assignmentOf(name, numbers)) })
      }
      const rings = new Map<string, Ring>()
      for (const name of names) {
        world.call(`/s/${name}`)
        const ring = ringIn(Tree.told(world.channel.tree).picker, name)
        if (ring !== undefined) rings.set(name, ring)
      }
      return rings
    }
    const one = ringsOf({ a: [1, 2, 3], b: [1, 2, 3], c: [1, 2] })
    expect(one.get("a")?.hashes.length).toBeGreaterThan(99)
    expect(one.get("b")).toBe(one.get("a"))
    expect(one.get("c")?.endpoints).not.toEqual(one.get("a")?.endpoints)
    expect(ringsOf({ x: [1, 2, 3] }).get("x")).toBe(one.get("a"))
    expect(ringsOf({ x: [1, 2, 3] }, 200n).get("x")?.hashes.length).toBeGreaterThan(199)
    // Two are kept: the one asked for first is made again.
    expect(ringsOf({ x: [1, 2, 3] }).get("x")).toBe(one.get("a"))
    expect(ringsOf({ x: [1, 2] }).get("x")).toEqual(one.get("c"))
    expect(ringsOf({ x: [1, 2] }).get("x")).not.toBe(one.get("c"))
  })

  it("what calls no longer hold is forgotten, a thousand names at a time; what they hold is not", () => {
    const counters = new CallCounters()
    counters.hold(["held"])
    for (let name = 0; name < 10_000; name++) {
      counters.hold([`${name}`, `${name}`])
      counters.release([`${name}`])
      expect(counters.count(`${name}`)).toBe(1)
      counters.release([`${name}`, "never held"])
      expect([counters.count(`${name}`), counters.held]).toEqual([0, 1])
    }
    expect(counters.size).toBeLessThan(1_003)
    expect(counters.count("held")).toBe(1)
    counters.hold(["9999", "held"])
    expect([counters.count("9999"), counters.count("held"), counters.held]).toEqual([1, 2, 2])
  })

  it("10 000 calls are shared by weight, within a χ² bound", () => {
    const world = connected(random(7))
    world.xds({
      _tag: "RouteConfiguration",
      name: "routes",
      known: value(routesOf({ match: all, action: split({ a: 30, b: 70 }) }))
    })
    world.xds({ _tag: "Cluster", name: "b", known: value(clusterOf("b")) })
    world.xds({ _tag: "Assignment", name: "b", known: value(assignmentOf("b", [3, 4])) })
    world.until(world.now + 1_000)
    world.sent.clear()
    for (let call = 0; call < 10_000; call++) {
      world.call()
      // No more in flight at once than a cluster takes.
      if (call % 500 === 0) world.until(world.now + 20)
    }
    const expected = { "10.0.0.1:80": 1_500, "10.0.0.2:80": 1_500, "10.0.0.3:80": 3_500, "10.0.0.4:80": 3_500 }
    let chi2 = 0
    for (const [address, count] of Object.entries(expected))
      chi2 += ((world.sent.get(address) ?? 0) - count) ** 2 / count
    // 3 degrees of freedom, p = 0.001
    expect(chi2).toBeLessThan(16.27)
  })

  const half = { defaultValue: { numerator: 50, denominator: FractionalPercent_DenominatorType.HUNDRED } }
  it.each([
    ["weights", [{ match: all, action: split({ a: 50, b: 50 }) }]],
    [
      "a fraction",
      [
        { match: { ...all, runtimeFraction: half }, action: to("a") },
        { match: all, action: to("b") }
      ]
    ]
  ])("★ the locality does not depend on the cluster that was chosen by %s", (_, routes) => {
    const world = new World(random(3))
    world.xds({ _tag: "Start" })
    world.xds({ _tag: "Listener", name: "shop", known: value(listenerOf("routes")) })
    world.xds({ _tag: "RouteConfiguration", name: "routes", known: value(routesOf(...routes)) })
    for (const [name, first, second] of [["a", 1, 2] as const, ["b", 3, 4] as const]) {
      world.xds({ _tag: "Cluster", name, known: value(clusterOf(name)) })
      world.xds({ _tag: "Assignment", name, known: value(zonesOf(name, [first], [second])) })
    }
    world.until(1_000)
    for (let call = 0; call < 400; call++) world.call()
    // A quarter each, with 4 standard deviations.
    for (const number of [1, 2, 3, 4]) {
      expect(Math.abs((world.sent.get(`10.0.0.${number}:80`) ?? 0) - 100)).toBeLessThan(35)
    }
  })
})

/** How many policies there are. */
const nodesOf = (slot: Tree.Slot | undefined): number =>
  [slot?.current, slot?.pending].reduce(
    (sum, node) =>
      node === undefined
        ? sum
        : Array.from(HashMap.values(node.children)).reduce((below, child) => below + nodesOf(child), sum + 1),
    0
  )

/** Under a TestClock: the one of `SimulatedTime`, which looks by itself whether everybody waits. */
const tenMinutes = (seed: number) =>
  Effect.gen(function* () {
    const draw = random(seed)
    const time = yield* SimulatedTime.SimulatedTime
    const world = new World(draw, () => draw() * 200, undefined, undefined, time)
    const clusters = ["a", "b", "c"]
    const members = new Map<string, ReadonlyArray<ReadonlyArray<number>>>()
    world.allowed = (cluster, address) =>
      members.get(cluster)?.some((numbers) => numbers.some((number) => address === `10.0.0.${number}:80`)) === true
    const hasPlace = (cluster: string) =>
      members
        .get(cluster)
        ?.flat()
        .some((number) => world.connections.get(`10.0.0.${number}:80`) === "ready") === true
    let updates = 0
    /** What is done fails no call while each cluster has an endpoint that is connected. */
    const failsNone = (what: string, action: () => void) => {
      const before = ended(world)
      action()
      if (!Array.from(ClusterHolds.clusters(world.channel.holds)).every(hasPlace)) return
      updates++
      if (ended(world) > before) world.faults.push(`${what} failed a call that had somewhere to go`)
    }
    const update = (input: XdsConfig.Input) => failsNone(`an update of ${input._tag}`, () => world.xds(input))
    const pick = (n: number) => Math.floor(draw() * n)
    const assign = (cluster: string) => {
      const base = clusters.indexOf(cluster) * 20
      const numbers = Array.from({ length: 1 + pick(5) }, (_, index) => base + 1 + index * 3 + pick(3))
      const second = draw() < 0.5 ? [numbers.splice(0, Math.floor(numbers.length / 2))] : []
      members.set(cluster, [numbers, ...second.filter((each) => each.length > 0)])
      update({
        _tag: "Assignment",
        name: cluster,
        known: value(assignmentOf(cluster, ...(members.get(cluster) ?? [])))
      })
    }
    let weights: Readonly<Record<string, number>> = {}
    const route = () => {
      const chosen = clusters.filter(() => draw() < 0.6)
      weights = Object.fromEntries((chosen.length === 0 ? ["a"] : chosen).map((name) => [name, 1 + pick(5)]))
      const known = value(routesOf({ match: all, action: split(weights) }))
      update({ _tag: "RouteConfiguration", name: "routes", known })
    }
    update({ _tag: "Start" })
    // Every other world has sessions: they go on with their endpoint, and never to one that is gone.
    const filters = seed % 2 === 0 ? [sessions] : []
    update({ _tag: "Listener", name: "shop", known: value(listenerOf("routes", filters)) })
    let cookie = ""
    const stayed = new Map<number, string>()
    world.onSend = (id, address, { endpoint, selected }) => {
      const header =
        selected.session && StatefulSession.setCookie(selected.session, selected.cluster, endpoint, address)
      if (header === undefined) stayed.set(id, address)
      else cookie = header.split(";")[0] ?? ""
    }
    route()
    const answer = () => {
      for (const cluster of clusters) {
        if (!world.watched.has(`Cluster ${cluster}`)) continue
        update({ _tag: "Cluster", name: cluster, known: value(clusterOf(cluster)) })
        if (world.watched.has(`Assignment ${cluster}`) && !members.has(cluster)) assign(cluster)
        else if (members.has(cluster)) {
          update({
            _tag: "Assignment",
            name: cluster,
            known: value(assignmentOf(cluster, ...(members.get(cluster) ?? [])))
          })
        }
      }
    }
    answer()
    const end = 10 * 60_000
    while (world.now < end) {
      yield* TestClock.adjust(draw() * 2_000)
      const dice = draw()
      if (dice < 0.7)
        for (let call = 0; call < 5; call++) {
          const headers: Array<readonly [string, string]> = draw() < 0.5 ? [["cookie", cookie]] : []
          failsNone("a pick", () => world.call("/s/m", draw() < 0.3, headers))
        }
      else if (dice < 0.8) world.flip(`10.0.0.${1 + pick(60)}:80`)
      else if (dice < 0.9) assign(clusters[pick(3)] ?? "a")
      else {
        route()
        answer()
      }
    }
    // Left in peace, with everything up, all that wait get their place.
    world.down.clear()
    yield* TestClock.adjust("10 minutes")
    // Calls are shared by the weights that are in force at the end.
    const shares = new Map<string, number>()
    world.onSend = (_, __, { selected }) => shares.set(selected.cluster, (shares.get(selected.cluster) ?? 0) + 1)
    for (let call = 0; call < 1_000; call++) world.call()
    yield* TestClock.adjust("1 minute")
    const sum = Object.values(weights).reduce((total, weight) => total + weight, 0)
    let chi2 = 0
    for (const [cluster, weight] of Object.entries(weights)) {
      const expected = (1_000 * weight) / sum
      chi2 += ((shares.get(cluster) ?? 0) - expected) ** 2 / expected
    }
    // At most 2 degrees of freedom, p = 0.001.
    expect(chi2).toBeLessThan(13.82)
    expect(Array.from(shares.values()).reduce((total, count) => total + count, 0)).toBe(1_000)
    expect(world.faults).toEqual([])
    expect(updates).toBeGreaterThan(20)
    if (seed % 2 === 0) expect(stayed.size).toBeGreaterThan(100)
    expect(world.waiting).toBe(0)
    expect(HashMap.size(world.channel.calls)).toBe(0)
    expect(HashMap.size(world.channel.queue.waiting)).toBe(0)
    expect(ClusterHolds.clusters(world.channel.holds)).toEqual(world.channel.holds.chosen)
    expect(world.counters.held).toBe(0)
    // After the retention nothing is connected that is no endpoint of a cluster in use.
    yield* TestClock.adjust("1 hour")
    const used = new Set(
      Array.from(world.channel.holds.chosen).flatMap((cluster) =>
        (members.get(cluster) ?? []).flat().map((number) => `10.0.0.${number}:80`)
      )
    )
    expect(Array.from(world.connections.keys()).filter((address) => !used.has(address))).toEqual([])
    // ★ Nothing is left of what was: no timer but that of the next deadline, no policy that was exchanged.
    expect(time.timers()).toBeLessThan(2)
    expect(nodesOf(world.channel.tree.root)).toBeLessThan(20 * clusters.length)
  }).pipe(SimulatedTime.run({ seed }))

describe("ten minutes of endpoints that come, go, fail and recover", () => {
  for (const seed of [1, 2, 3, 4, 5, 6, 7, 8]) it.live(`seed ${seed}`, () => tenMinutes(seed))
})
