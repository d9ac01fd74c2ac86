/**
 * Outlier detection in a channel: outcomes of calls go in, and endpoints that fail too often get no calls, as long as the
 * reducer of `@effect-xds/discovery` says so that is played beside the channel.
 */
import * as Outlier from "@effect-xds/discovery/Outlier"
import * as OutlierSettings from "@effect-xds/discovery/OutlierSettings"
import { Cluster_LbPolicy } from "@effect-xds/proto/envoy/config/cluster/v3/cluster"
import * as Channel from "@effect-xds/routing/Channel"
import * as Endpoint from "@effect-xds/routing/Endpoint"
import * as CompiledPicker from "@effect-xds/routing/CompiledPicker"
import * as Pickers from "@effect-xds/routing/Picker"
import * as OutlierDetection from "@effect-xds/routing/policy/OutlierDetection"
import { SimulatedTime } from "@effect-xds/testing"
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as HashMap from "effect/HashMap"
import * as TestClock from "effect/TestClock"
import { all, to } from "./Routes.js"
import { Steps, callWith, counters, outcome, silent } from "./Steps.js"
import type { Time } from "./World.js"
import { World, assignmentOf, clusterOf, listenerOf, random, routesOf, value } from "./World.js"

const address = (n: number) => `10.0.0.${n}:80`

/** A channel with one cluster of so many endpoints. */
const started = (
  hosts: number,
  outlierDetection: object,
  draw = random(1),
  lbPolicy = Cluster_LbPolicy.ROUND_ROBIN,
  time?: Time
) => {
  const world = new World(draw, undefined, undefined, undefined, time)
  const cluster = (more: object) =>
    world.xds({ _tag: "Cluster", name: "a", known: value(clusterOf("a", { lbPolicy, ...more })) })
  const assign = (...numbers: ReadonlyArray<number>) =>
    world.xds({ _tag: "Assignment", name: "a", known: value(assignmentOf("a", numbers)) })
  world.xds({ _tag: "Start" })
  world.xds({ _tag: "Listener", name: "shop", known: value(listenerOf("routes")) })
  world.xds({ _tag: "RouteConfiguration", name: "routes", known: value(routesOf({ match: all, action: to("a") })) })
  cluster({ outlierDetection })
  assign(...Array.from({ length: hosts }, (_, index) => index + 1))
  if (time === undefined) world.until(500)
  return { world, cluster, assign }
}

/** Calls of a second, and where they went. */
const second = (world: World, calls = 100): ReadonlyArray<string> => {
  world.sent.clear()
  for (let call = 0; call < calls; call++) {
    world.call()
    world.until(world.now + 1_000 / calls)
  }
  return Array.from(world.sent.keys()).sort()
}

describe("outlier detection", () => {
  it.each([Cluster_LbPolicy.ROUND_ROBIN, Cluster_LbPolicy.LEAST_REQUEST, Cluster_LbPolicy.RING_HASH])(
    "the endpoint whose calls fail gets none, keeps its connection and comes back (%s)",
    (lbPolicy) => {
      const limits = { successRateRequestVolume: 20, maxEjectionPercent: 20 }
      const { world } = started(5, limits, random(2), lbPolicy)
      second(world, 10)
      world.bad.add(address(3))
      expect(second(world, 500)).toContain(address(3))
      world.until(10_500)
      expect(second(world, 500)).toEqual([1, 2, 4, 5].map(address))
      if (lbPolicy !== Cluster_LbPolicy.RING_HASH) expect(world.connections.get(address(3))).toBe("ready")
      world.bad.clear()
      // Ejected at 10 s for 30 s; it comes back in the first sweep after that.
      world.until(45_000)
      expect(second(world, 200)).toEqual([1, 2, 4, 5].map(address))
      world.until(50_500)
      expect(second(world, 500)).toContain(address(3))
      expect(world.ended).toEqual(new Map())
    }
  )

  it("switched off, all come back at once", () => {
    const { cluster, world } = started(5, { successRateRequestVolume: 10 })
    world.bad.add(address(1))
    second(world)
    world.until(11_000)
    expect(second(world)).toEqual([2, 3, 4, 5].map(address))
    cluster({ outlierDetection: { enforcingSuccessRate: 0 } })
    expect(second(world).length).toBe(5)
  })

  it("a call that its caller gave up, or that was not sent, counts as nothing; an attempt before another counts", () => {
    const { world } = started(5, {})
    const count = () => Array.from(world.channel.outcomes, ([, each]) => Array.from(HashMap.values(each))).flat()
    const id = world.call()
    world.give({ _tag: "Over", id })
    expect(count()).toEqual([])
    const again = world.call()
    world.give({ _tag: "Retry", id: again, outcome: "Failed" })
    world.give({ _tag: "Retry", id: again })
    world.give({ _tag: "Over", id: again, outcome: "Succeeded" })
    const sum = (of: "failed" | "succeeded") => count().reduce((total, each) => total + each[of], 0)
    expect([sum("failed"), sum("succeeded")]).toEqual([1, 1])
    // Told with the next deadline, and forgotten here.
    world.until(11_000)
    expect(count()).toEqual([])
  })

  it("nothing to detect: calls are not looked at, and no time is waited for", () => {
    const { world } = started(5, { enforcingSuccessRate: 0 })
    second(world)
    expect(HashMap.size(world.channel.outcomes)).toBe(0)
    expect(Channel.deadline(world.channel)).toBe(Number.POSITIVE_INFINITY)
  })
})

const fourMinutes = (seed: number) =>
  Effect.gen(function* () {
    const time = yield* SimulatedTime.SimulatedTime
    const draw = random(seed)
    const given = {
      successRateRequestVolume: 5,
      successRateMinimumHosts: 3,
      successRateStdevFactor: 500,
      maxEjectionPercent: 40
    }
    const { assign, world } = started(6, given, draw, undefined, time)
    yield* TestClock.adjust(500)
    // The reducer beside the channel: enforced always, it needs no chance.
    const settings = Either.getOrThrow(OutlierSettings.make("A50", given))
    const context = () => ({ now: world.now, draw: () => 0 })
    let model = Outlier.make(settings, 0)
    let ejections = 0
    let inUse = new Set([1, 2, 3, 4, 5, 6])
    const feed = (input: Outlier.Input) => {
      const [next, outputs] = Outlier.step(model, input, context())
      model = next
      ejections += outputs.filter(({ _tag }) => _tag === "Ejected").length
    }
    for (const number of inUse) feed({ _tag: "Added", host: address(number) })
    const give = world.give.bind(world)
    const sentTo = new Map<number, string>()
    world.give = (input) => {
      if (input._tag === "Over") {
        const host = sentTo.get(input.id) ?? ""
        const failed = input.outcome === "Failed" ? 1 : 0
        feed({ _tag: "Counted", host, failed, succeeded: 1 - failed })
      }
      if (input._tag === "Deadline") feed(input)
      give(input)
    }
    world.onSend = (id, to) => {
      sentTo.set(id, to)
      if (Outlier.isEjected(model, to)) world.faults.push(`call ${id} sent to ${to}, which is ejected`)
    }
    while (world.now < 4 * 60_000) {
      yield* TestClock.adjust(draw() * 500)
      const dice = draw()
      const number = 1 + Math.floor(draw() * 8)
      if (dice < 0.9) for (let call = 0; call < 5; call++) world.call()
      else if (dice < 0.97) {
        if (!world.bad.delete(address(number))) world.bad.add(address(number))
      } else {
        const next = new Set(inUse)
        if (!next.delete(number) || next.size < 3) next.add(number)
        for (const each of inUse) if (!next.has(each)) feed({ _tag: "Removed", host: address(each) })
        for (const each of next) feed({ _tag: "Added", host: address(each) })
        inUse = next
        assign(...next)
      }
      if (
        Outlier.deadline(model) !== Channel.deadline(world.channel) &&
        Channel.deadline(world.channel) > world.now + 3_000
      ) {
        world.faults.push("the channel does not sweep when it should")
      }
    }
    expect(world.faults).toEqual([])
    expect(ejections).toBeGreaterThan(3)
    expect(world.ended).toEqual(new Map())
  }).pipe(SimulatedTime.run({ seed }))

for (const seed of [1, 2, 3]) {
  it.live(`four minutes with endpoints that fail and recover: no call to one that is ejected: seed ${seed}`, () =>
    fourMinutes(seed)
  )
}

describe("outlier_detection_experimental", () => {
  const settings = Either.getOrThrow(OutlierSettings.make("A50", { successRateRequestVolume: 1 }))
  const endpoints = [1, 2, 3, 4, 5].map((n) => Endpoint.make([address(n)]))

  it("tells its child who is ejected only where that changes", () => {
    const marked: Array<ReadonlyArray<string>> = []
    const child = (mark: (endpoint: Endpoint.Endpoint) => Endpoint.Endpoint) => {
      marked.push(endpoints.map(mark).flatMap(({ addresses, isEjected }) => (isEjected === true ? addresses : [])))
      return silent
    }
    const steps = new Steps(OutlierDetection.policy)
    steps.config(OutlierDetection.policy.with({ settings, endpoints, child })).child("child", "READY")
    const { picker } = steps.told ?? { picker: Pickers.queue }
    expect(picker._tag).toBe("Observed")
    expect(outcome(CompiledPicker.pick(picker, callWith(), counters()))).toBe("child READY")
    expect(steps.at(10_000).said).toEqual([])
    const calls = endpoints.map(
      ({ addresses }, index) => [addresses[0] ?? "", { succeeded: 4 - index, failed: index === 4 ? 9 : 0 }] as const
    )
    steps.outcomes(new Map(calls))
    expect(steps.at(20_000).said).toEqual(["Update child"])
    expect(steps.at(30_000).said).toEqual([])
    expect(marked).toEqual([[], [address(5)]])
  })
})
