/** What others get wrong in routing and load balancing, or what is subtle, each in the words of the rules. */
import { create, fromBinary, toBinary } from "@bufbuild/protobuf"
import { anyPack } from "@bufbuild/protobuf/wkt"
import * as Outlier from "@effect-xds/discovery/Outlier"
import * as OutlierSettings from "@effect-xds/discovery/OutlierSettings"
import * as PriorityLoad from "@effect-xds/discovery/PriorityLoad"
import { RouteConfigurationSchema } from "@effect-xds/proto/envoy/config/route/v3/route"
import { RouteActionSchema } from "@effect-xds/proto/envoy/config/route/v3/route_components"
import { ClusterConfigSchema } from "@effect-xds/proto/envoy/extensions/clusters/aggregate/v3/cluster"
import type { Assignment } from "@effect-xds/routing/Assignment"
import { CallCounters } from "@effect-xds/routing/CallCounters"
import * as CallHeaders from "@effect-xds/routing/CallHeaders"
import * as Channel from "@effect-xds/routing/Channel"
import * as Endpoint from "@effect-xds/routing/Endpoint"
import * as CompiledPicker from "@effect-xds/routing/CompiledPicker"
import * as Pickers from "@effect-xds/routing/Picker"
import type { Picker } from "@effect-xds/routing/Picker"
import * as LeastRequest from "@effect-xds/routing/policy/LeastRequest"
import * as Priority from "@effect-xds/routing/policy/Priority"
import * as WeightedTarget from "@effect-xds/routing/policy/WeightedTarget"
import * as RouteError from "@effect-xds/routing/RouteError"
import * as RouteTable from "@effect-xds/routing/RouteTable"
import type * as Tree from "@effect-xds/routing/Tree"
import { describe, expect, it } from "@effect/vitest"
import * as Either from "effect/Either"
import * as HashMap from "effect/HashMap"
import type { ActionInit } from "./Routes.js"
import { A28, all, call, host, reasons, sent, split, tableOf, to, when } from "./Routes.js"
import { Steps, callWith, counters, outcome, silent } from "./Steps.js"
import { World, assignmentOf, clusterOf, listenerOf, random, routesOf, value } from "./World.js"

const words = (steps: Steps) =>
  outcome(CompiledPicker.pick(steps.told?.picker ?? Pickers.queue, callWith(), counters()))

/** A channel whose calls go to these clusters. */
const channel = (action: ActionInit, ...clusters: ReadonlyArray<string>) => {
  const world = new World(random(3))
  world.xds({ _tag: "Start" })
  world.xds({ _tag: "Listener", name: "shop", known: value(listenerOf("routes")) })
  world.xds({ _tag: "RouteConfiguration", name: "routes", known: value(routesOf({ match: all, action })) })
  for (const name of clusters) world.xds({ _tag: "Cluster", name, known: value(clusterOf(name)) })
  return world
}

const aggregateOf = (...clusters: ReadonlyArray<string>) => ({
  clusterDiscoveryType: {
    case: "clusterType",
    value: {
      name: "envoy.clusters.aggregate",
      typedConfig: anyPack(ClusterConfigSchema, create(ClusterConfigSchema, { clusters: [...clusters] }))
    }
  }
})

describe("route tables", () => {
  it("★ a header matcher without a specifier: a NACK; Envoy reads it as present", () => {
    expect(reasons([when({ ...all, headers: [{ name: "h" }] })])).toEqual(["HeaderSpecifier"])
  })

  it("★ a cluster_specifier of a newer proto: the route is ignored", () => {
    const bytes = toBinary(RouteActionSchema, create(RouteActionSchema))
    // A field that no proto has yet, a message of nothing.
    const newer = fromBinary(RouteActionSchema, Uint8Array.from([...bytes, 0xfa, 0x3e, 0]))
    expect(newer.$unknown).toHaveLength(1)
    const routes = host({ match: all, action: { case: "route", value: newer } }, { match: all, action: to("next") })
    expect(sent([routes], call("/s/m"))).toBe("next")
    expect(reasons([routes], A28)).toEqual(["ClusterSpecifier"])
  })

  it("★ a plugin that chooses clusters: its routes are ignored if it is optional; calls that it was for go nowhere else", () => {
    const errorsOf = (isOptional: boolean, named: string) => {
      const virtualHost = host(
        {
          match: all,
          action: { case: "route", value: { clusterSpecifier: { case: "clusterSpecifierPlugin", value: named } } }
        },
        { match: all, action: to("next") }
      )
      const message = create(RouteConfigurationSchema, {
        name: "routes",
        virtualHosts: [virtualHost],
        clusterSpecifierPlugins: [{ extension: { name: "lookup" }, isOptional }]
      })
      return Either.match(RouteTable.make(message), {
        onLeft: RouteError.format,
        onRight: (table) => RouteTable.match(table, "shop", call("/s/m"))._tag
      })
    }
    expect(errorsOf(true, "lookup")).toBe("Route")
    expect(errorsOf(false, "lookup")).toContain('cluster_specifier_plugins[0]: the plugin "lookup" is not supported')
    expect(errorsOf(true, "other")).toContain(
      'virtual_hosts[0].routes[0].route.cluster_specifier_plugin: the plugin "other" is not in cluster_specifier_plugins'
    )
  })

  it("★ weights are drawn against their sum, not against total_weight or 100", () => {
    const drawn = (draw: number, totalWeight?: number) => {
      const world = new World(() => draw)
      world.xds({ _tag: "Start" })
      world.xds({ _tag: "Listener", name: "shop", known: value(listenerOf("routes")) })
      const route = { match: all, action: split({ a: 50, b: 30 }, totalWeight) }
      world.xds({ _tag: "RouteConfiguration", name: "routes", known: value(routesOf(route)) })
      for (const [number, name] of ["a", "b"].entries()) {
        world.xds({ _tag: "Cluster", name, known: value(clusterOf(name)) })
        world.xds({ _tag: "Assignment", name, known: value(assignmentOf(name, [number])) })
      }
      world.call()
      world.until(1_000)
      return Array.from(world.sent.keys())
    }
    // 0.6 × 80 is below 50, 0.6 × 100 and 0.6 × 1 000 are not.
    expect([drawn(0.6), drawn(0.6, 1_000)]).toEqual([["10.0.0.0:80"], ["10.0.0.0:80"]])
    expect(drawn(0.63)).toEqual(["10.0.0.1:80"])
  })

  it("★ hosts are compared without their case, of every kind of domain", () => {
    for (const [domain, authority] of [
      ["Shop.Example", "sHOP.eXAMPLE"],
      ["*.Example", "A.eXAMPLE"],
      ["Shop.*", "sHOP.x"]
    ]) {
      const hosts = [{ name: "x", domains: [domain ?? ""], routes: [{ match: all, action: to("x") }] }]
      expect(sent(hosts, call("/s/m"), {}, authority)).toBe("x")
    }
  })

  it("★ names of headers are in lower case, however they were written", () => {
    const upper = when({
      ...all,
      headers: [{ name: "X-Who", headerMatchSpecifier: { case: "exactMatch", value: "a" } }]
    })
    expect(sent([upper], call("/s/m", [["x-WHO", "a"]]))).toBe("hit")
    const asked: Array<string> = []
    const headers = { get: (name: string) => void asked.push(name) }
    sent([upper], { ...call("/s/m"), headers })
    expect(asked).toEqual(["x-who"])
  })

  it("★ idle_timeout is not used", () => {
    const action: ActionInit = {
      case: "route",
      value: {
        clusterSpecifier: { case: "cluster", value: "x" },
        idleTimeout: { $typeName: "google.protobuf.Duration", seconds: 1n, nanos: 0 }
      }
    }
    const table = Either.getOrThrow(tableOf([host({ match: all, action })]))
    const [route] = table.virtualHosts[0]?.routes ?? []
    expect(route).toMatchObject({ action: { timeout: undefined } })
  })
})

describe("policies", () => {
  it("★ during a Config children's states are recorded; one State is told after all were updated", () => {
    const config = (...names: ReadonlyArray<string>) =>
      WeightedTarget.policy.with({ targets: new Map(names.map((name) => [name, { weight: 1, child: silent }])) })
    const policy = WeightedTarget.policy
    const context = { now: 0, draw: () => 0 }
    let state = policy.make("root")
    const give = (input: Parameters<typeof policy.step>[1]) => {
      const [next, outputs] = policy.step(state, input, context)
      state = next
      return outputs.map(({ _tag }) => _tag)
    }
    expect(give({ _tag: "Config", config: config("a", "b"), endpoints: [] })).toEqual(["Create", "Create"])
    for (const name of ["a", "b"]) {
      expect(give({ _tag: "ChildState", name, state: "READY", picker: Pickers.queue })).toEqual([])
    }
    expect(give({ _tag: "Configured" })).toEqual(["State"])
  })

  it("★ priority: no choice mid-update", () => {
    const config = (...names: ReadonlyArray<string>) =>
      Priority.policy.with({ priorities: names.map((name) => ({ name, child: silent, endpoints: [] })) })
    const steps = new Steps(Priority.policy).config(config("p0", "p1")).child("p0", "TRANSIENT_FAILURE")
    expect(steps.said).toEqual(["Create p1"])
    steps.child("p1", "READY")
    expect(words(steps)).toBe("p1 READY")
    const [state, outputs] = steps.policy.step(
      steps.state,
      { _tag: "Config", config: config("p0", "p1", "p2"), endpoints: [] },
      { now: 0, draw: () => 0 }
    )
    expect(outputs.map((output) => output._tag)).toEqual(["Update", "Update"])
    const failed = { _tag: "ChildState", name: "p1", state: "TRANSIENT_FAILURE", picker: Pickers.queue } as const
    const [next, during] = steps.policy.step(state, failed, { now: 0, draw: () => 0 })
    expect(during).toEqual([])
    const [, after] = steps.policy.step(next, { _tag: "Configured" }, { now: 0, draw: () => 0 })
    expect(after.map((output) => ("name" in output ? `${output._tag} ${output.name}` : output._tag))).toEqual([
      "Create p2",
      "State"
    ])
  })

  it("★ least_request: what is counted of an endpoint survives picker changes, also while it is not READY", () => {
    const endpoints = ["a:1", "b:1"].map((address) => Endpoint.make([address]))
    const connected = (endpoint: Endpoint.Endpoint): Picker => {
      return { _tag: "Connected", address: endpoint.addresses[0] ?? "", endpoint }
    }
    const steps = new Steps(LeastRequest.policy, "n").config(LeastRequest.policy.with({}), endpoints)
    const process = new CallCounters()
    const draws = (n: number) => [0.9, 0][n % 2] ?? 0
    const pick = () => CompiledPicker.pick(steps.told?.picker ?? Pickers.queue, callWith({ draw: draws }), process)
    for (const endpoint of endpoints) steps.child(Endpoint.keyOf(endpoint), "READY", connected(endpoint))
    const first = pick()
    if (first._tag !== "Complete") throw new Error(first._tag)
    process.hold(first.holds)
    const [busy, idle] = first.address === "a:1" ? ["a:1", "b:1"] : ["b:1", "a:1"]
    expect(outcome(pick())).toBe(idle)
    steps.child(busy, "IDLE").child(busy, "READY", connected(Endpoint.make([busy])))
    expect(outcome(pick())).toBe(idle)
    process.release(first.holds)
    expect(outcome(pick())).toBe(busy)
  })

  it("★ outlier detection: success rates are looked at unless enforcing is 0; failures only if it is over 0", () => {
    const settings = (given: object) => Either.getOrThrow(OutlierSettings.make("A50", given))
    expect(settings({})).toMatchObject({ enforcingSuccessRate: 100, enforcingFailurePercentage: 0 })
    expect(Outlier.detects(settings({}))).toBe(true)
    expect(Outlier.detects(settings({ enforcingSuccessRate: 0 }))).toBe(false)
    expect(Outlier.detects(settings({ enforcingSuccessRate: 0, enforcingFailurePercentage: 1 }))).toBe(true)
  })
})

describe("a channel", () => {
  it("★ a cluster that is wanted beside the routes and not known yet does not hold back the rest", () => {
    const world = channel(to("a"), "a")
    world.xds({ _tag: "Subscribe", cluster: "late" })
    expect(world.watched.has("Cluster late")).toBe(true)
    world.xds({ _tag: "Assignment", name: "a", known: value(assignmentOf("a", [1])) })
    world.call()
    world.until(1_000)
    expect(Array.from(world.sent.keys())).toEqual(["10.0.0.1:80"])
  })

  it("★ route and cluster are chosen whatever the connectivity of clusters, and retries stay on them", () => {
    const world = channel(split({ a: 1, b: 1 }), "a", "b")
    world.xds({ _tag: "Assignment", name: "a", known: value(assignmentOf("a", [1])) })
    world.xds({ _tag: "Assignment", name: "b", known: value(assignmentOf("b", [2])) })
    world.down.add("10.0.0.1:80")
    world.until(5_000)
    for (let each = 0; each < 100; each++) world.call()
    world.until(10_000)
    // About a half is to go to the cluster that cannot be reached, and fails there.
    const failed = Array.from(world.ended.values()).reduce((sum, count) => sum + count, 0)
    expect(failed).toBeGreaterThan(30)
    expect(world.sent.get("10.0.0.2:80")).toBe(100 - failed)
    const before = world.onSend
    let attempts = 0
    world.onSend = (id, address, output) => {
      before?.(id, address, output)
      expect(output.selected.cluster).toBe("b")
      if (++attempts < 4) world.give({ _tag: "Retry", id })
    }
    while (attempts === 0) world.call()
    expect(attempts).toBe(4)
  })

  it("★ the tree is given its config first, then calls choose by it: none meets a cluster that is not there yet", () => {
    const world = channel(to("a"), "a")
    // The call waits for the configuration, which brings it and its cluster at once.
    world.call()
    world.xds({ _tag: "Assignment", name: "a", known: value(assignmentOf("a", [1])) })
    world.until(1_000)
    world.xds({ _tag: "RouteConfiguration", name: "routes", known: value(routesOf({ match: all, action: to("b") })) })
    world.xds({ _tag: "Cluster", name: "b", known: value(clusterOf("b")) })
    world.xds({ _tag: "Assignment", name: "b", known: value(assignmentOf("b", [2])) })
    world.call()
    world.until(2_000)
    expect(world.ended.size).toBe(0)
    expect(Array.from(world.sent.keys())).toEqual(["10.0.0.1:80", "10.0.0.2:80"])
  })

  it("★ an aggregate: a missing leaf is skipped; ★ policy and outlier settings are the leaf's", () => {
    const world = channel(to("a"))
    const settings = { outlierDetection: { failurePercentageThreshold: 10 } }
    const own = { ...aggregateOf("none", "b"), lbPolicy: 2, ...settings }
    world.xds({ _tag: "Cluster", name: "a", known: value(clusterOf("a", own)) })
    world.xds({ _tag: "Cluster", name: "none", known: { _tag: "Failed", message: "does not exist" } })
    world.xds({ _tag: "Cluster", name: "b", known: value(clusterOf("b")) })
    world.xds({ _tag: "Assignment", name: "b", known: value(assignmentOf("b", [1, 2])) })
    world.until(1_000)
    for (let each = 0; each < 10; each++) world.call()
    world.until(2_000)
    expect(world.sent).toEqual(
      new Map([
        ["10.0.0.1:80", 5],
        ["10.0.0.2:80", 5]
      ])
    )
    const names = new Set<string>()
    const visit = (slot: Tree.Slot | undefined): void => {
      if (slot === undefined) return
      names.add(slot.current.policy.name)
      for (const child of HashMap.values(slot.current.children)) visit(child)
    }
    visit(world.channel.tree.root)
    expect(names.has("round_robin")).toBe(true)
    expect(names.has("outlier_detection_experimental")).toBe(false)
    expect(names.has("ring_hash_experimental")).toBe(false)
  })

  /** With this told of its first priority: who is well of how many. */
  const wellOf = (name: string, hosts: ReadonlyArray<number>, well: ReadonlyArray<number> = hosts) => {
    const sums = { all: hosts.length, excluded: 0, healthy: well.length, degraded: 0 }
    const tallies = hosts.length === 0 ? [] : [{ hosts: sums, weights: sums }]
    const groups = [{ priority: 0, health: "healthy", fails: false }] as const
    const made = (endpoints: ReadonlyArray<number>): Assignment => ({
      ...Either.getOrThrow(assignmentOf(name, endpoints)),
      shares: [100]
    })
    const { total } = PriorityLoad.make(tallies)
    const health = { tallies, total, groups }
    const calm = well.length === hosts.length ? undefined : { ...made(well), health }
    return { _tag: "Value", value: { ...made(hosts), health: { ...health, calm } } } as const
  }

  it.each<[string, ReadonlyArray<number>, string]>([
    ["that others can take calls of does without panic", [2], "10.0.0.2:80"],
    ["panics where others have no endpoints", [], "10.0.0.1:80"]
  ])("★ an aggregate: a leaf of which nobody is well %s", (_, others, called) => {
    const world = channel(to("a"))
    world.xds({ _tag: "Cluster", name: "a", known: value(clusterOf("a", aggregateOf("ill", "b"))) })
    for (const name of ["ill", "b"]) world.xds({ _tag: "Cluster", name, known: value(clusterOf(name)) })
    world.xds({ _tag: "Assignment", name: "ill", known: wellOf("ill", [1], []) })
    world.xds({ _tag: "Assignment", name: "b", known: wellOf("b", others) })
    world.until(1_000)
    for (let each = 0; each < 10; each++) world.call()
    world.until(2_000)
    expect(world.sent).toEqual(new Map([[called, 10]]))
  })

  it("★ an aggregate: a leaf of which few are well panics from when others can take calls no more", () => {
    const world = channel(to("a"))
    world.xds({ _tag: "Cluster", name: "a", known: value(clusterOf("a", aggregateOf("ill", "b"))) })
    for (const name of ["ill", "b"]) world.xds({ _tag: "Cluster", name, known: value(clusterOf(name)) })
    world.xds({ _tag: "Assignment", name: "ill", known: wellOf("ill", [1, 2, 3, 4], [1]) })
    world.xds({ _tag: "Assignment", name: "b", known: wellOf("b", [5]) })
    world.until(1_000)
    for (let each = 0; each < 100; each++) world.call()
    expect(Array.from(world.sent.keys()).sort()).toEqual(["10.0.0.1:80", "10.0.0.5:80"])
    world.xds({ _tag: "Assignment", name: "b", known: wellOf("b", []) })
    world.until(2_000)
    world.sent.clear()
    for (let each = 0; each < 12; each++) world.call()
    world.until(3_000)
    expect(Array.from(world.sent.keys()).sort()).toEqual([1, 2, 3, 4].map((host) => `10.0.0.${host}:80`))
  })

  it("★ an aggregate: where none of those that have a share can be connected to the next one takes the calls", () => {
    const world = channel(to("a"))
    world.xds({ _tag: "Cluster", name: "a", known: value(clusterOf("a", aggregateOf("down", "b"))) })
    for (const name of ["down", "b"]) world.xds({ _tag: "Cluster", name, known: value(clusterOf(name)) })
    world.xds({ _tag: "Assignment", name: "down", known: wellOf("down", [1]) })
    world.xds({ _tag: "Assignment", name: "b", known: wellOf("b", [2]) })
    world.down.add("10.0.0.1:80")
    world.until(1_000)
    for (let each = 0; each < 10; each++) world.call()
    world.until(2_000)
    expect(world.sent).toEqual(new Map([["10.0.0.2:80", 10]]))
  })

  it("★ health UNKNOWN and HEALTHY are used; UNHEALTHY, TIMEOUT, DEGRADED and DRAINING get no calls", () => {
    // Vectors of assignments show what is read; sessions.test.ts, which sessions go on with one that is DRAINING.
    const world = channel(to("a"), "a")
    const assignment = Either.getOrThrow(assignmentOf("a", [1, 2]))
    const drained = assignment.priorities.map((localities) =>
      localities.map((locality) => ({
        ...locality,
        endpoints: locality.endpoints.slice(0, 1),
        draining: locality.endpoints.slice(1)
      }))
    )
    world.xds({
      _tag: "Assignment",
      name: "a",
      known: { _tag: "Value", value: { ...assignment, priorities: drained } }
    })
    world.until(1_000)
    for (let each = 0; each < 10; each++) world.call()
    world.until(2_000)
    expect(Array.from(world.sent.keys())).toEqual(["10.0.0.1:80"])
    expect(Array.from(world.connections.keys())).toEqual(["10.0.0.1:80"])
  })

  it("★ an ejected endpoint has failed to its parent, and its connection stays; ★ so many may be ejected, not more", () => {
    const world = channel(to("a"))
    const outlierDetection = {
      successRateMinimumHosts: 3,
      successRateRequestVolume: 5,
      successRateStdevFactor: 500,
      maxEjectionPercent: 10
    }
    world.xds({ _tag: "Cluster", name: "a", known: value(clusterOf("a", { outlierDetection })) })
    world.xds({ _tag: "Assignment", name: "a", known: value(assignmentOf("a", [1, 2, 3, 4, 5])) })
    world.until(500)
    for (const bad of [1, 2]) world.bad.add(`10.0.0.${bad}:80`)
    for (let each = 0; each < 100; each++) world.call()
    world.until(10_500)
    world.sent.clear()
    for (let each = 0; each < 100; each++) world.call()
    world.until(11_000)
    // 10 % of five: one may always go, the second not.
    expect(world.sent.size).toBe(4)
    expect(world.connections.size).toBe(5)
    expect(Array.from(world.connections.values())).toEqual(Array.from({ length: 5 }, () => "ready"))
    expect(Channel.deadline(world.channel)).toBe(20_000)
  })
})

it("★ calls see the headers that a transport sends joined: values of one name, by a comma without a blank", () => {
  const headers = CallHeaders.fromEntries([
    ["h", "a"],
    ["H", "b"]
  ])
  expect(headers.get("h")).toBe("a,b")
})
