/** What one piece of news costs where there are thousands of endpoints, or of clusters: what is not concerned stays the same value. */
import { create } from "@bufbuild/protobuf"
import { Cluster_DiscoveryType, Cluster_LbPolicy } from "@effect-xds/proto/envoy/config/cluster/v3/cluster"
import { ClusterLoadAssignmentSchema } from "@effect-xds/proto/envoy/config/endpoint/v3/endpoint"
import * as Assignment from "@effect-xds/routing/Assignment"
import * as Endpoint from "@effect-xds/routing/Endpoint"
import * as RingHash from "@effect-xds/routing/policy/RingHash"
import * as RoundRobin from "@effect-xds/routing/policy/RoundRobin"
import * as XdsConfig from "@effect-xds/routing/XdsConfig"
import { describe, expect, it } from "@effect/vitest"
import { all, split, to } from "./Routes.js"
import { Steps } from "./Steps.js"
import { World, assignmentOf, clusterOf, listenerOf, random, routesOf, value } from "./World.js"

/** Endpoints of 127.0.0.1, by their ports. */
const onPorts = (name: string, ports: ReadonlyArray<number>) =>
  Assignment.make(
    create(ClusterLoadAssignmentSchema, {
      clusterName: name,
      endpoints: [
        {
          locality: { zone: "zone" },
          loadBalancingWeight: 1,
          lbEndpoints: ports.map((port) => ({
            hostIdentifier: {
              case: "endpoint" as const,
              value: {
                address: {
                  address: {
                    case: "socketAddress" as const,
                    value: { address: "127.0.0.1", portSpecifier: { case: "portValue" as const, value: port } }
                  }
                }
              }
            }
          }))
        }
      ]
    })
  )

const isObject = (each: unknown): each is object => typeof each === "object" && each !== null

/** Objects that a value is made of; entries of maps and sets count, too. */
const partsOf = (whole: object): ReadonlySet<object> => {
  const found = new Set<object>()
  const waiting: Array<unknown> = [whole]
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    if (!isObject(next) || found.has(next)) continue
    found.add(next)
    if (next instanceof Map) for (const [, each] of next) waiting.push(each ?? null)
    else if (next instanceof Set || ArrayBuffer.isView(next)) continue
    else for (const each of Object.values(next)) waiting.push(each ?? null)
  }
  return found
}

/** How much of a value was not in another one. */
const newIn = (after: object, before: object): { readonly objects: number; readonly entries: number } => {
  const known = partsOf(before)
  let objects = 0
  let entries = 0
  for (const each of partsOf(after)) {
    if (known.has(each)) continue
    objects++
    if (each instanceof Map || each instanceof Set) entries += each.size
  }
  return { objects, entries }
}

describe("among thousands", () => {
  const ports = Array.from({ length: 2_000 }, (_, index) => 1_000 + index)

  const listing = (policy: Cluster_LbPolicy): World => {
    const world = new World(random(1))
    world.xds({ _tag: "Start" })
    world.xds({ _tag: "Listener", name: "shop", known: value(listenerOf("routes")) })
    world.xds({ _tag: "RouteConfiguration", name: "routes", known: value(routesOf({ match: all, action: to("a") })) })
    world.xds({ _tag: "Cluster", name: "a", known: value(clusterOf("a", { lbPolicy: policy })) })
    world.xds({ _tag: "Assignment", name: "a", known: value(onPorts("a", ports)) })
    world.call()
    world.until(100)
    return world
  }

  it.each(["ROUND_ROBIN", "LEAST_REQUEST", "RING_HASH"] as const)(
    "of 2 000 endpoints one connection is lost and made: nothing is copied for the others, %s",
    (name) => {
      const world = listing(Cluster_LbPolicy[name])
      const [address = ""] = world.connections.keys()
      for (const state of ["IDLE", "READY"] as const) {
        const before = world.channel.tree
        world.give({ _tag: "Connection", address, state, message: "" })
        const { entries, objects } = newIn(world.channel.tree, before)
        expect(entries).toBeLessThan(100)
        expect(objects).toBeLessThan(200)
      }
    }
  )

  it.each(["ROUND_ROBIN", "LEAST_REQUEST"] as const)(
    "of 2 000 endpoints one is new: the policies of the others do not hear of it, %s",
    (name) => {
      const world = listing(Cluster_LbPolicy[name])
      expect(world.connections.size).toBe(2_000)
      const before = world.channel.tree
      world.xds({ _tag: "Assignment", name: "a", known: value(onPorts("a", [...ports, 5_000])) })
      expect(newIn(world.channel.tree, before).objects).toBeLessThan(5 * 2_000)
    }
  )

  it("of 300 clusters one has other endpoints: nothing is made anew for the others", () => {
    const world = new World(random(1))
    const names = Array.from({ length: 300 }, (_, index) => `c${index}`)
    world.xds({ _tag: "Start" })
    world.xds({ _tag: "Listener", name: "shop", known: value(listenerOf("routes")) })
    const routes = names.map((name) => ({
      match: { pathSpecifier: { case: "prefix" as const, value: `/${name}` } },
      action: to(name)
    }))
    world.xds({ _tag: "RouteConfiguration", name: "routes", known: value(routesOf(...routes)) })
    for (const name of names) world.xds({ _tag: "Cluster", name, known: value(clusterOf(name)) })
    for (const name of names) world.xds({ _tag: "Assignment", name, known: value(assignmentOf(name, [1])) })
    world.until(100)
    const before = world.channel
    world.xds({ _tag: "Assignment", name: "c7", known: value(assignmentOf("c7", [1, 2])) })
    expect(newIn(world.channel, before).objects).toBeLessThan(200)
  })
})

describe("an endpoint that is connected", () => {
  const endpoint = (hostname: string, weight = 1) => Endpoint.make(["10.0.0.1:80"], { hostname, weight })

  it.each([
    { name: "round_robin", config: RoundRobin.policy.with(null) },
    { name: "ring_hash", config: RingHash.policy.with({}) }
  ])("hears of an update that says something else of it, and of no other: $name", ({ config }) => {
    const ready = () =>
      new Steps(config.policy)
        .config(config, [endpoint("a")])
        .child("10.0.0.1:80", "READY")
        .config(config, [endpoint("a", 7)])
    expect(ready().said).toEqual(["State READY"])
    expect(ready().config(config, [endpoint("b")]).said).toEqual(["Update 10.0.0.1:80", "State READY"])
    const failed = ready().child("10.0.0.1:80", "TRANSIENT_FAILURE")
    expect(failed.config(config, [endpoint("a")]).said[0]).toBe("Update 10.0.0.1:80")
  })
})

it("a policy that took the place of another one hears of its connections", () => {
  const world = new World(random(1))
  world.xds({ _tag: "Start" })
  world.xds({ _tag: "Listener", name: "shop", known: value(listenerOf("routes")) })
  world.xds({ _tag: "RouteConfiguration", name: "routes", known: value(routesOf({ match: all, action: to("a") })) })
  world.xds({ _tag: "Cluster", name: "a", known: value(clusterOf("a")) })
  world.xds({ _tag: "Assignment", name: "a", known: value(assignmentOf("a", [1])) })
  world.until(100)
  world.xds({ _tag: "Cluster", name: "a", known: value(clusterOf("a", { lbPolicy: Cluster_LbPolicy.LEAST_REQUEST })) })
  world.until(200)
  world.xds({ _tag: "Assignment", name: "a", known: value(assignmentOf("a", [2])) })
  world.until(300)
  world.call()
  expect(Array.from(world.sent.keys())).toEqual(["10.0.0.2:80"])
})

describe("news of endpoints alone", () => {
  it.each([1, 2, 3, 4])("is told as it is where all is looked at anew: seed %s", (seed) => {
    const draw = random(seed)
    const pick = <A>(...of: readonly [A, ...ReadonlyArray<A>]): A => of[Math.floor(draw() * of.length)] ?? of[0]
    const failed = { _tag: "Failed" as const, message: "it is gone" }
    const resolved = { _tag: "Value" as const, value: ["[::1]:80"] }
    const dns = { clusterDiscoveryType: { case: "type", value: Cluster_DiscoveryType.LOGICAL_DNS } }
    const named = (service: string) => ({ edsClusterConfig: { edsConfig: ads, serviceName: service } })
    const routes = () =>
      value(routesOf({ match: all, action: pick(to("a"), split({ a: 1, b: 1 }), split({ b: 1, d: 1 })) }))
    const cluster = (name: string) =>
      pick(value(clusterOf(name, pick<object>({}, named("a"), named("shared")))), failed)
    const input = (): XdsConfig.Input => {
      const name = pick("a", "b", "c", "shared")
      return pick<() => XdsConfig.Input>(
        () => ({ _tag: "Listener", name: "shop", known: value(listenerOf("routes")) }),
        () => ({ _tag: "RouteConfiguration", name: "routes", known: routes() }),
        () => ({ _tag: "Cluster", name, known: cluster(name) }),
        () => ({ _tag: "Cluster", name, known: cluster(name) }),
        () => ({ _tag: "Cluster", name: "d", known: pick(value(clusterOf("d", { ...dns, ...localhost })), failed) }),
        () => ({ _tag: "Assignment", name, known: pick(value(assignmentOf(name, pick([1], [1, 2]))), failed) }),
        () => ({ _tag: "Assignment", name, known: value(assignmentOf(name, pick([1], [1, 2]))) }),
        () => ({
          _tag: "Dns",
          name: "localhost:80",
          known: pick<XdsConfig.Known<ReadonlyArray<string>>>(resolved, failed)
        }),
        () => ({ _tag: pick("Subscribe", "Unsubscribe"), cluster: pick("c", "d") })
      )()
    }
    let [state] = XdsConfig.step(XdsConfig.make("shop", "shop"), { _tag: "Start" })
    let short = 0
    for (let step = 0; step < 4_000; step++) {
      const each = input()
      const [next, outputs] = XdsConfig.step(state, each)
      const [anew, outputsAnew] = XdsConfig.step({ ...state, isWhole: false }, each)
      expect([{ ...next, isWhole: true }, outputs]).toEqual([{ ...anew, isWhole: true }, outputsAnew])
      if (state.isWhole && next.told !== state.told) short++
      state = next
    }
    expect(short).toBeGreaterThan(50)
  })
})

const ads = { configSourceSpecifier: { case: "ads" as const, value: {} } }
const localhost = {
  loadAssignment: {
    clusterName: "d",
    endpoints: [
      {
        lbEndpoints: [
          {
            hostIdentifier: {
              case: "endpoint" as const,
              value: {
                address: {
                  address: {
                    case: "socketAddress" as const,
                    value: { address: "localhost", portSpecifier: { case: "portValue" as const, value: 80 } }
                  }
                }
              }
            }
          }
        ]
      }
    ]
  }
}
