import * as Endpoint from "@effect-xds/routing/Endpoint"
import type { Picker, RingChild } from "@effect-xds/routing/Picker"
import * as CompiledPicker from "@effect-xds/routing/CompiledPicker"
import * as Pickers from "@effect-xds/routing/Picker"
import type * as Matcher from "@effect-xds/routing/Matcher"
import * as Ring from "@effect-xds/routing/Ring"
import * as XxHash64 from "@effect-xds/routing/XxHash64"
import * as ClusterImpl from "@effect-xds/routing/policy/ClusterImpl"
import * as LeastRequest from "@effect-xds/routing/policy/LeastRequest"
import * as PickFirst from "@effect-xds/routing/policy/PickFirst"
import * as Priority from "@effect-xds/routing/policy/Priority"
import * as RingHash from "@effect-xds/routing/policy/RingHash"
import * as RoundRobin from "@effect-xds/routing/policy/RoundRobin"
import * as WeightedTarget from "@effect-xds/routing/policy/WeightedTarget"
import * as XdsRouting from "@effect-xds/routing/policy/XdsRouting"
import { describe, expect, it } from "@effect/vitest"
import { Steps, callWith, counters, named, outcome, silent } from "./Steps.js"

const targets = (weights: Record<string, number>) =>
  WeightedTarget.policy.with({
    targets: new Map(Object.entries(weights).map(([name, weight]) => [name, { weight, child: silent }]))
  })

const minutes = (n: number) => n * 60_000

describe("weighted_target", () => {
  it("vector 52: children TF, CONNECTING: CONNECTING", () => {
    const steps = new Steps(WeightedTarget.policy).config(targets({ a: 1, b: 1 })).child("a", "TRANSIENT_FAILURE")
    expect(steps.told?.state).toBe("CONNECTING")
  })

  it("vector 53: ★ sticky: TF, CONNECTING, CONNECTING: TF", () => {
    const steps = new Steps(WeightedTarget.policy).config(targets({ a: 1 })).child("a", "TRANSIENT_FAILURE")
    expect(steps.child("a", "CONNECTING").told?.state).toBe("TRANSIENT_FAILURE")
    expect(steps.child("a", "CONNECTING").told?.state).toBe("TRANSIENT_FAILURE")
    expect(steps.child("a", "READY").told?.state).toBe("READY")
  })

  it("vector 54: TF, IDLE: IDLE, ★ and the idle one is woken", () => {
    const steps = new Steps(WeightedTarget.policy).config(targets({ a: 1, b: 1 })).child("a", "TRANSIENT_FAILURE")
    steps.child("b", "IDLE")
    expect(steps.said).toEqual(["ExitIdle b", "State IDLE"])
  })

  it("vector 55: weights 1 READY, 3 CONNECTING: the first", () => {
    const steps = new Steps(WeightedTarget.policy).config(targets({ a: 1, b: 3 })).child("a", "READY")
    const { picker } = steps.told ?? { picker: Pickers.queue }
    expect(outcome(CompiledPicker.pick(picker, callWith({ draw: () => 0.99 }), counters()))).toBe("a READY")
  })

  it("vector 56: removed, back after 14:59: the same child", () => {
    const steps = new Steps(WeightedTarget.policy)
      .config(targets({ a: 1, b: 1 }))
      .child("b", "READY")
      .config(targets({ a: 1 }))
    expect(steps.said).toEqual(["Update a", "State CONNECTING"])
    expect(steps.at(minutes(15) - 1_000).said).toEqual([])
    expect(steps.config(targets({ a: 1, b: 1 })).said).toEqual(["Update a", "Update b", "State READY"])
  })

  it("vector 57: ★ not back: really removed after 15:00", () => {
    const steps = new Steps(WeightedTarget.policy).config(targets({ a: 1, b: 1 })).config(targets({ a: 1 }))
    expect(steps.at(minutes(15)).said).toEqual(["Remove b"])
    expect(steps.config(targets({ a: 1, b: 1 })).said).toEqual(["Update a", "Create b", "State CONNECTING"])
  })

  it("draws are among those that are READY, by weight", () => {
    const steps = new Steps(WeightedTarget.policy)
      .config(targets({ a: 20, b: 80 }))
      .child("a", "READY")
      .child("b", "READY")
    const { picker } = steps.told ?? { picker: Pickers.queue }
    const drawn = (n: number) => outcome(CompiledPicker.pick(picker, callWith({ draw: () => n }), counters()))
    expect([drawn(0.199), drawn(0.2)]).toEqual(["a READY", "b READY"])
  })

  it("no children: UNAVAILABLE", () => {
    const steps = new Steps(WeightedTarget.policy).config(targets({}))
    const { picker, state } = steps.told ?? { picker: Pickers.queue }
    expect(state).toBe("TRANSIENT_FAILURE")
    expect(outcome(CompiledPicker.pick(picker, callWith(), counters()))).toBe("weighted_target has no children")
  })
})

describe("xds_routing", () => {
  const all: Matcher.Matcher = { path: { _tag: "Prefix", text: "/s", fold: false }, headers: [], fraction: undefined }
  const config = XdsRouting.policy.with({
    virtualHost: "shop",
    routes: [{ matcher: all, action: "a" }],
    actions: new Map([
      ["a", silent],
      ["b", silent]
    ])
  })

  it("vector 58: READY, but the child that matches has no picker: queued; vector 59: its failure", () => {
    const steps = new Steps(XdsRouting.policy).config(config).child("b", "READY")
    expect(steps.told?.state).toBe("READY")
    const pick = (path: string) =>
      outcome(CompiledPicker.pick(steps.told?.picker ?? Pickers.queue, callWith({ path }), counters()))
    expect(pick("/s/m")).toBe("queue")
    steps.child("a", "TRANSIENT_FAILURE")
    expect(pick("/s/m")).toBe("a TRANSIENT_FAILURE")
    expect(pick("/t/m")).toBe("drop: NoRoute")
  })
})

describe("priority", () => {
  const config = (...names: ReadonlyArray<string>) =>
    Priority.policy.with({ priorities: names.map((name) => ({ name, child: silent, endpoints: [] })) })

  it("vectors 66–68: the first has 10 s to connect; READY later, it is used again", () => {
    const steps = new Steps(Priority.policy).config(config("p0", "p1"))
    expect(steps.said).toEqual(["Create p0", "State CONNECTING"])
    expect(steps.at(9_900).said).toEqual([])
    expect(steps.at(10_000).said).toEqual(["Create p1"])
    steps.now = 12_000
    expect(steps.child("p0", "READY").said).toEqual(["State READY"])
    // Not needed any more: its words change nothing, and after 15 minutes it goes.
    expect(steps.child("p1", "READY").said).toEqual([])
    expect(steps.at(12_000 + minutes(15)).said).toEqual(["Remove p1"])
  })

  it("a failure fails over at once; all failed: the last", () => {
    const steps = new Steps(Priority.policy).config(config("p0", "p1")).child("p0", "TRANSIENT_FAILURE")
    expect(steps.said).toEqual(["Create p1"])
    steps.child("p1", "TRANSIENT_FAILURE")
    expect(outcome(CompiledPicker.pick(steps.told?.picker ?? Pickers.queue, callWith(), counters()))).toBe(
      "p1 TRANSIENT_FAILURE"
    )
  })

  it("★ CONNECTING after CONNECTING does not start the timer again", () => {
    const steps = new Steps(Priority.policy).config(config("p0", "p1"))
    steps.at(5_000).child("p0", "CONNECTING", Pickers.queue)
    expect(steps.at(10_000).said).toEqual(["Create p1"])
  })
})

describe("round_robin", () => {
  const endpoints = ["a:1", "b:1", "c:1"].map((address) => Endpoint.make([address]))
  const connected = (address: string): Picker => ({ _tag: "Connected", address, endpoint: Endpoint.make([address]) })

  it("READY ones in turn, from one that is drawn; the same addresses are one endpoint", () => {
    const steps = new Steps(RoundRobin.policy).config(RoundRobin.policy.with(null), [
      ...endpoints,
      Endpoint.make(["a:1"])
    ])
    expect(steps.said).toEqual(["Create a:1", "Create b:1", "Create c:1", "State CONNECTING"])
    steps.child("a:1", "READY", connected("a:1")).child("c:1", "READY", connected("c:1"))
    const { picker } = steps.told ?? { picker: Pickers.queue }
    const process = counters()
    const picks = Array.from({ length: 4 }, () =>
      outcome(CompiledPicker.pick(picker, callWith({ draw: () => 0.6 }), process))
    )
    expect(picks).toEqual(["c:1", "a:1", "c:1", "a:1"])
  })

  it("an idle endpoint is woken; all failed: the last failure", () => {
    const steps = new Steps(RoundRobin.policy).config(RoundRobin.policy.with(null), endpoints.slice(0, 2))
    expect(steps.child("a:1", "IDLE").said).toEqual(["ExitIdle a:1", "State CONNECTING"])
    steps.child("a:1", "TRANSIENT_FAILURE", named("a is down")).child("b:1", "TRANSIENT_FAILURE", named("b is down"))
    expect(outcome(CompiledPicker.pick(steps.told?.picker ?? Pickers.queue, callWith(), counters()))).toBe("b is down")
  })
})

describe("least_request", () => {
  it("of those drawn the one with the fewest calls; a tie: the first drawn", () => {
    const steps = new Steps(LeastRequest.policy, "n").config(
      LeastRequest.policy.with({}),
      ["a", "b"].map((address) => Endpoint.make([address]))
    )
    for (const address of ["a", "b"]) {
      steps.child(address, "READY", { _tag: "Connected", address, endpoint: Endpoint.make([address]) })
    }
    const { picker } = steps.told ?? { picker: Pickers.queue }
    const pick = (calls: Record<string, number>) =>
      CompiledPicker.pick(picker, callWith({ draw: (n) => (n % 2 === 0 ? 0.9 : 0) }), counters(calls))
    expect(pick({})).toMatchObject({ address: "b", holds: ["n/b"] })
    expect(pick({ "n/b": 2, "n/a": 1 })).toMatchObject({ address: "a" })
  })
})

describe("pick_first", () => {
  const config = PickFirst.policy.with({})

  it("attempts 250 ms apart, families in turn; the first that is READY is used, the others are closed", () => {
    const steps = new Steps(PickFirst.policy).config(config, [Endpoint.make(["[::1]:1", "[::2]:1", "1.1.1.1:1"])])
    expect(steps.said).toEqual(["Connect [::1]:1", "State CONNECTING"])
    expect(steps.at(249).said).toEqual([])
    expect(steps.at(250).said).toEqual(["Connect 1.1.1.1:1"])
    expect(steps.connection("[::1]:1", "TRANSIENT_FAILURE").said).toEqual(["Disconnect [::1]:1", "Connect [::2]:1"])
    expect(steps.connection("1.1.1.1:1", "READY").said).toEqual(["Disconnect [::2]:1", "State READY"])
  })

  it("all failed: TF until READY, resolve again; each is tried after its backoff", () => {
    const steps = new Steps(PickFirst.policy).config(config, [Endpoint.make(["a:1"])])
    steps.draw = () => 0.5
    expect(steps.connection("a:1", "TRANSIENT_FAILURE", "refused").said).toEqual([
      "Disconnect a:1",
      "ReResolve",
      "State TRANSIENT_FAILURE"
    ])
    expect(outcome(CompiledPicker.pick(steps.told?.picker ?? Pickers.queue, callWith(), counters()))).toBe(
      "connection to a:1 failed: refused"
    )
    expect(steps.at(999).said).toEqual([])
    expect(steps.at(1_000).said).toEqual(["Connect a:1"])
    expect(steps.connection("a:1", "CONNECTING").said).toEqual([])
    expect(steps.connection("a:1", "READY").said).toEqual(["State READY"])
  })

  it("lost: IDLE, and the next pick starts at the first", () => {
    const steps = new Steps(PickFirst.policy).config(config, [Endpoint.make(["a:1"])]).connection("a:1", "READY")
    expect(steps.connection("a:1", "IDLE").said).toEqual(["Disconnect a:1", "State IDLE", "ReResolve"])
    expect(steps.exitIdle().said).toEqual(["Connect a:1", "State CONNECTING"])
  })

  it("★ lost soon, and of no use: once as any other, then a failure with a backoff that grows", () => {
    const steps = new Steps(PickFirst.policy).config(config, [Endpoint.make(["a:1"])]).connection("a:1", "READY")
    steps.draw = () => 0.5
    expect(steps.connection("a:1", "TRANSIENT_FAILURE").said).toEqual(["Disconnect a:1", "State IDLE", "ReResolve"])
    for (const [due, backoff] of [
      [0, 1_000],
      [1_000, 1_600],
      [2_600, 2_560]
    ] as const) {
      expect((due === 0 ? steps.exitIdle() : steps.at(due)).said).toContain("Connect a:1")
      expect(steps.connection("a:1", "READY").said).toEqual(["State READY"])
      const lost = ["Disconnect a:1", "State TRANSIENT_FAILURE", "ReResolve"]
      expect(steps.connection("a:1", "TRANSIENT_FAILURE", "closed").said).toEqual(lost)
      expect(outcome(CompiledPicker.pick(steps.told?.picker ?? Pickers.queue, callWith(), counters()))).toBe(
        "connection to a:1 was lost: closed"
      )
      expect(steps.at(due + backoff - 1).said).toEqual([])
    }
    // One that was of use ends it.
    expect(steps.at(5_160).connection("a:1", "READY").connection("a:1", "IDLE").said).toContain("State IDLE")
    expect(steps.exitIdle().connection("a:1", "READY").connection("a:1", "TRANSIENT_FAILURE").said).toContain(
      "State IDLE"
    )
  })

  it("★ lost soon, and of no use: the next address is tried at once", () => {
    const steps = new Steps(PickFirst.policy).config(config, [Endpoint.make(["a:1", "b:1"])])
    steps.connection("a:1", "READY").connection("a:1", "TRANSIENT_FAILURE").exitIdle().connection("a:1", "READY")
    expect(steps.connection("a:1", "TRANSIENT_FAILURE").said).toEqual([
      "Disconnect a:1",
      "Connect b:1",
      "State CONNECTING",
      "ReResolve"
    ])
  })

  it("★ held: others are tried; it stays wanted, has no backoff, and is used when it is READY", () => {
    const steps = new Steps(PickFirst.policy).config(config, [Endpoint.make(["a:1", "b:1"])])
    expect(steps.held("a:1").said).toEqual(["Connect b:1"])
    expect(steps.connection("b:1", "TRANSIENT_FAILURE").said).toEqual(["Disconnect b:1", "State TRANSIENT_FAILURE"])
    expect(steps.at(100_000).said).toEqual(["Connect b:1"])
    expect(steps.connection("a:1", "CONNECTING").connection("a:1", "READY").said).toEqual([
      "Disconnect b:1",
      "State READY"
    ])
    const other = new Steps(PickFirst.policy).config(config, [Endpoint.make(["a:1", "b:1"])])
    expect(other.held("a:1").connection("b:1", "READY").said).toEqual(["Disconnect a:1", "State READY"])
  })

  it("★ a new list with the connected address keeps it", () => {
    const steps = new Steps(PickFirst.policy).config(config, [Endpoint.make(["a:1"])]).connection("a:1", "READY")
    expect(steps.config(config, [Endpoint.make(["b:1"]), Endpoint.make(["a:1"])]).said).toEqual(["State READY"])
    expect(steps.config(config, [Endpoint.make(["b:1"])]).said).toEqual(["Disconnect a:1", "State IDLE"])
  })

  it("★ a new list after a failure is tried to its end; it stays TF, with the reason of the new list", () => {
    const failed = () => {
      const steps = new Steps(PickFirst.policy).config(config, [Endpoint.make(["a:1"])])
      return steps
        .connection("a:1", "TRANSIENT_FAILURE")
        .config(config, [Endpoint.make(["b:1"]), Endpoint.make(["c:1"])])
    }
    const refused = failed()
    expect(refused.said).toEqual(["Disconnect a:1", "Connect b:1"])
    expect(refused.connection("b:1", "TRANSIENT_FAILURE").said).toEqual(["Disconnect b:1", "Connect c:1"])
    expect(refused.connection("c:1", "TRANSIENT_FAILURE").said).toEqual([
      "Disconnect c:1",
      "ReResolve",
      "State TRANSIENT_FAILURE"
    ])
    expect(outcome(CompiledPicker.pick(refused.told?.picker ?? Pickers.queue, callWith(), counters()))).toBe(
      "connection to c:1 failed: refused"
    )
    // Once for the list, not at each attempt after it.
    expect(refused.at(10_000).said).toEqual(["Connect b:1", "Connect c:1"])
    expect(refused.connection("b:1", "TRANSIENT_FAILURE").said).toEqual(["Disconnect b:1"])
    expect(refused.connection("c:1", "TRANSIENT_FAILURE").said).toEqual(["Disconnect c:1", "ReResolve"])
    expect(refused.at(20_000).said).toEqual(["Connect b:1", "Connect c:1"])
    expect(refused.connection("c:1", "READY").said).toEqual(["Disconnect b:1", "State READY"])
    const silent = failed()
    expect(silent.at(249).said).toEqual([])
    expect(silent.at(250).said).toEqual(["Connect c:1"])
    expect(silent.connection("c:1", "READY").said).toEqual(["Disconnect b:1", "State READY"])
  })

  it("empty: TF", () => {
    expect(new Steps(PickFirst.policy).config(config, []).said).toEqual(["State TRANSIENT_FAILURE", "ReResolve"])
  })
})

describe("ring_hash", () => {
  const three = ["10.0.0.1:80", "10.0.0.2:80", "10.0.0.3:80"]
  const ringOf = (members: ReadonlyArray<readonly [string, number]>, min = 1_024, max = 8_388_608) =>
    Ring.make(
      members.map(([key, weight]) => ({ key, weight })),
      min,
      max
    )
  const equal = ringOf(three.map((key) => [key, 1] as const))
  const perMember = ({ endpoints }: typeof equal, members: number) =>
    Array.from({ length: members }, (_, at) => endpoints.filter((each) => each === at).length)

  it("vector 78: three of weight 1: 342 entries each", () => {
    expect(perMember(equal, 3)).toEqual([342, 342, 342])
    expect([equal.hashes[0], equal.hashes[1], equal.hashes.at(-1)]).toEqual([
      29076120582816486n,
      59543483945781082n,
      18445581788648895878n
    ])
    expect([equal.endpoints[0], equal.endpoints[1], equal.endpoints.at(-1)]).toEqual([2, 1, 1])
  })

  const ready: ReadonlyArray<RingChild> = three.map((key) => ({ _tag: "Ready", child: named(key) }))
  const on = (ring: typeof equal, children: ReadonlyArray<RingChild>, hash: bigint) =>
    outcome(CompiledPicker.pick({ _tag: "Ring", ring, children }, callWith({ hash }), counters()))

  it("vector 79: hashes of a, of user-42, after the last", () => {
    expect(on(equal, ready, XxHash64.ofString("a"))).toBe(three[2])
    expect(on(equal, ready, XxHash64.ofString("user-42"))).toBe(three[1])
    expect(on(equal, ready, 18445581788648895879n)).toBe(three[2])
  })

  const keys = Array.from({ length: 10_000 }, (_, index) => XxHash64.ofString(`key-${index}`))

  it("vector 80: 10 000 keys; ★ vector 81: without the third, others move too", () => {
    const before = keys.map((hash) => on(equal, ready, hash))
    expect(three.map((key) => before.filter((each) => each === key).length)).toEqual([3380, 3362, 3258])
    const two = ringOf(three.slice(0, 2).map((key) => [key, 1] as const))
    expect(perMember(two, 2)).toEqual([512, 512])
    const after = keys.map((hash) => on(two, ready.slice(0, 2), hash))
    expect(after.filter((each, index) => each !== before[index] && before[index] !== three[2]).length).toBe(924)
  })

  it("vectors 82, 83: ★ clamped, an endpoint may get one entry less than its share, or none", () => {
    expect(
      perMember(
        ringOf(
          [
            ["a", 3],
            ["b", 3],
            ["c", 4]
          ],
          10,
          20
        ),
        3
      )
    ).toEqual([3, 3, 4])
    expect(
      perMember(
        ringOf(
          [
            ["a", 2],
            ["b", 1],
            ["c", 3]
          ],
          1,
          4
        ),
        3
      )
    ).toEqual([2, 0, 2])
  })

  const addresses = ["10.0.0.1:80", "10.0.0.2:80", "10.0.0.3:80", "10.0.0.4:80"]
  const weighing = (...weights: ReadonlyArray<number>) =>
    perMember(ringOf(weights.map((weight, index) => [addresses[index] ?? "", weight] as const)), 4)

  it("vector 84: A42's weights, and A113's", () => {
    expect(weighing(6, 3, 6, 2)).toEqual([363, 182, 363, 121])
    expect(weighing(858993458, 429496728, 644245094, 214748364)).toEqual([413, 206, 309, 103])
  })

  const pair = ringOf(
    [
      ["a", 1],
      ["b", 1],
      ["c", 1]
    ],
    3,
    3
  )
  const walk = (...children: ReadonlyArray<RingChild>) => on(pair, children, pair.hashes[0] ?? 0n)
  const failed = (name: string): RingChild => ({ _tag: "Failed", child: named(name) })

  it("vectors 85–87: the walk", () => {
    const order = Array.from(pair.endpoints)
    const at = (...children: ReadonlyArray<RingChild>) => {
      const placed = [...children]
      order.forEach((place, index) => {
        const child = children[index]
        if (child !== undefined) placed[place] = child
      })
      return walk(...placed)
    }
    expect(at(failed("1"), failed("2"), { _tag: "Ready", child: named("3") })).toBe("3")
    expect(at(failed("1"), { _tag: "Idle", node: "n" }, failed("3"))).toBe("wake n")
    expect(at(failed("1"), failed("2"), failed("3"))).toBe("1")
  })

  const config = RingHash.policy.with({})
  const started = (count: number) =>
    new Steps(RingHash.policy).config(
      config,
      addresses.slice(0, count).map((address) => Endpoint.make([address]))
    )

  it("vector 88: TF, IDLE, IDLE: CONNECTING, one is woken", () => {
    const steps = started(3).child("10.0.0.1:80", "TRANSIENT_FAILURE")
    expect(steps.said).toEqual(["State CONNECTING", "ExitIdle 10.0.0.2:80"])
  })

  it("vector 89: TF, TF, CONNECTING: TF", () => {
    const steps = started(3).child("10.0.0.1:80", "TRANSIENT_FAILURE").child("10.0.0.3:80", "CONNECTING")
    expect(steps.child("10.0.0.2:80", "TRANSIENT_FAILURE").said).toEqual(["State TRANSIENT_FAILURE"])
  })

  it("vector 90: all IDLE: IDLE; vector 91: one, TF: TF", () => {
    expect(started(3).told?.state).toBe("IDLE")
    expect(started(1).child("10.0.0.1:80", "TRANSIENT_FAILURE").told?.state).toBe("TRANSIENT_FAILURE")
  })
})

describe("cluster_impl", () => {
  const config = (maxRequests?: number) =>
    ClusterImpl.policy.with({
      cluster: "c",
      edsServiceName: "e",
      drops: [{ category: "spill", numerator: 100_000 }],
      maxRequests,
      child: silent
    })
  const pickWith = (maxRequests: number | undefined, calls: number, draw = 0.5) => {
    const steps = new Steps(ClusterImpl.policy).config(config(maxRequests)).child("child", "READY", {
      _tag: "Connected",
      address: "a:1",
      endpoint: Endpoint.make(["a:1"])
    })
    const { picker } = steps.told ?? { picker: Pickers.queue }
    return outcome(CompiledPicker.pick(picker, callWith({ draw: () => draw }), counters({ '["c","e"]': calls })))
  }

  it("vectors 92, 93: calls in flight, counted in the process", () => {
    expect(pickWith(undefined, 1_023)).toBe("a:1")
    expect(pickWith(undefined, 1_024)).toBe("drop: CircuitOpen")
    expect(pickWith(100, 100)).toBe("drop: CircuitOpen")
    expect(pickWith(0, 0)).toBe("drop: CircuitOpen")
  })

  it("drops, ★ only while the child is READY", () => {
    expect(pickWith(undefined, 0, 0.0999)).toBe("drop: Dropped")
    expect(pickWith(undefined, 0, 0.1)).toBe("a:1")
    const steps = new Steps(ClusterImpl.policy).config(config()).child("child", "CONNECTING", Pickers.queue)
    expect(steps.told?.picker).toEqual(Pickers.queue)
  })
})
