/**
 * Every state that three policies can reach in small worlds: each word of each child, each config and each deadline in
 * every order, and after each step what must hold then. What a child counts as is kept beside the policy, by the rules.
 */
import type { Connectivity } from "@effect-xds/routing/Connectivity"
import * as Endpoint from "@effect-xds/routing/Endpoint"
import * as CompiledPicker from "@effect-xds/routing/CompiledPicker"
import type { Picker } from "@effect-xds/routing/Picker"
import * as Priority from "@effect-xds/routing/policy/Priority"
import type { Configured, Definition, Output } from "@effect-xds/routing/Policy"
import * as RingHash from "@effect-xds/routing/policy/RingHash"
import * as WeightedTarget from "@effect-xds/routing/policy/WeightedTarget"
import { expect, it } from "@effect/vitest"
import { callWith, counters, named, outcome, silent } from "./Steps.js"

const words = ["IDLE", "CONNECTING", "READY", "TRANSIENT_FAILURE"] as const
const minute = 60_000

/** A child as the rules see it. */
interface Seen {
  readonly said: Connectivity
  /** With the stickiness of failures. */
  readonly counts: Connectivity
  /** Since when it is in no config. */
  readonly goneSince: number | undefined
}

interface World {
  readonly state: unknown
  readonly now: number
  readonly wanted: ReadonlyArray<string>
  readonly children: ReadonlyMap<string, Seen>
  readonly told: { readonly state: Connectivity; readonly picker: Picker } | undefined
}

type Move =
  | { readonly _tag: "Config"; readonly wanted: ReadonlyArray<string> }
  | { readonly _tag: "Child"; readonly name: string; readonly says: Connectivity }
  | { readonly _tag: "Deadline" }
  | { readonly _tag: "Time"; readonly by: number }

interface Setup {
  readonly policy: Definition
  readonly configs: ReadonlyArray<ReadonlyArray<string>>
  readonly configOf: (wanted: ReadonlyArray<string>) => Configured
  readonly endpoints?: (wanted: ReadonlyArray<string>) => ReadonlyArray<Endpoint.Endpoint>
  /** What a child is before it says something. */
  readonly initial: Connectivity
  /** Milliseconds that pass at most once before the first deadline; 0: none. */
  readonly wait: number
  /** Whether failures count until READY. */
  readonly isSticky: boolean
  readonly check: (world: World, outputs: ReadonlyArray<Output>, before: World, move: Move) => string | undefined
}

const step = ({ configOf, endpoints, initial, isSticky, policy }: Setup, before: World, move: Move) => {
  const outputs: Array<Output> = []
  let state = before.state
  let { now } = before
  const children = new Map(before.children)
  const give = (input: Parameters<Definition["step"]>[1]) => {
    const [next, said] = policy.step(state, input, { now, draw: () => 0 })
    state = next
    outputs.push(...said)
    return said
  }
  let problem: string | undefined
  let { wanted } = before
  switch (move._tag) {
    case "Config": {
      wanted = move.wanted
      const during = give({ _tag: "Config", config: configOf(wanted), endpoints: endpoints?.(wanted) ?? [] })
      if (during.some(({ _tag }) => _tag === "State")) problem = "a state was told before all children were updated"
      for (const [name, child] of children) {
        children.set(name, { ...child, goneSince: wanted.includes(name) ? undefined : (child.goneSince ?? now) })
      }
      give({ _tag: "Configured" })
      break
    }
    case "Child": {
      const child = children.get(move.name)
      if (child === undefined) break
      const isStuck = isSticky && child.counts === "TRANSIENT_FAILURE" && move.says !== "READY"
      children.set(move.name, { ...child, said: move.says, counts: isStuck ? child.counts : move.says })
      give({ _tag: "ChildState", name: move.name, state: move.says, picker: named(`${move.name} ${move.says}`) })
      break
    }
    case "Deadline":
      now = Math.max(now, policy.deadline(state))
      give({ _tag: "Deadline" })
      if (policy.deadline(state) <= now) problem = "a deadline that is over is still one"
      break
    case "Time":
      now = Math.min(now + move.by, policy.deadline(state) - 1)
  }
  for (const output of outputs) {
    switch (output._tag) {
      case "Create":
        if (children.has(output.name)) problem = `${output.name} was made again`
        if (!wanted.includes(output.name)) problem = `${output.name} was made, and is not wanted`
        children.set(output.name, { said: initial, counts: initial, goneSince: undefined })
        break
      case "Update":
        if (!children.has(output.name)) problem = `${output.name} was updated, and is not there`
        break
      case "Remove":
        if (!children.delete(output.name)) problem = `${output.name} was removed, and is not there`
        break
      case "ExitIdle":
        if (!children.has(output.name)) problem = `${output.name} was woken, and is not there`
        break
      case "Connect":
      case "Disconnect":
        problem = `${output._tag}, which is for a policy with connections`
        break
      case "ReResolve":
      case "State":
    }
  }
  const told = outputs.findLast((output) => output._tag === "State")
  const world: World = { state, now, wanted, children, told: told ?? before.told }
  return { world, outputs, problem }
}

/** What is equal for worlds that behave alike: times count from now. */
const keyOf = ({ children, now, state, told, wanted }: World): string =>
  JSON.stringify([state, wanted, Array.from(children), told], (key, value: unknown) => {
    if (typeof value === "number" && /At$|Since$/.test(key)) return value - now
    if (value instanceof Map) return Array.from(value)
    return value instanceof BigUint64Array || value instanceof Uint32Array ? value.length : value
  })

/** A world and the moves to it, the last one first. */
interface Reached {
  readonly world: World
  readonly move: Move | undefined
  readonly from: Reached | undefined
}

const wayTo = ({ from, move }: Reached): ReadonlyArray<Move> =>
  from === undefined || move === undefined ? [] : [...wayTo(from), move]

/** The number of states, and of steps between them: all that there are. Throws at the first fault, with the moves to it. */
const explore = (setup: Setup) => {
  const { check, configs, policy, wait } = setup
  const start: World = { state: policy.make("root"), now: 0, wanted: [], children: new Map(), told: undefined }
  const seen = new Set([keyOf(start)])
  const names = Array.from(new Set(configs.flat()))
  const moves: ReadonlyArray<Move> = [
    ...configs.map((wanted) => ({ _tag: "Config" as const, wanted })),
    ...names.flatMap((name) => words.map((says) => ({ _tag: "Child" as const, name, says }))),
    { _tag: "Time", by: wait },
    { _tag: "Deadline" }
  ]
  let steps = 0
  let level: Array<Reached> = [{ world: start, move: undefined, from: undefined }]
  while (level.length > 0) {
    const next: typeof level = []
    for (const from of level) {
      const { world } = from
      for (const move of moves) {
        if (move._tag === "Child" && !world.children.has(move.name)) continue
        if (move._tag !== "Config" && world.told === undefined) continue
        if (move._tag === "Time" && (wait === 0 || world.now > 0)) continue
        if (move._tag === "Deadline" && policy.deadline(world.state) === Number.POSITIVE_INFINITY) continue
        const taken = step(setup, world, move)
        steps++
        const problem = taken.problem ?? check(taken.world, taken.outputs, world, move)
        if (problem !== undefined) throw new Error(`${problem}, after ${JSON.stringify([...wayTo(from), move])}`)
        const key = keyOf(taken.world)
        if (seen.has(key)) continue
        seen.add(key)
        next.push({ world: taken.world, move, from })
      }
    }
    level = next
  }
  console.log(`${policy.name}: ${seen.size} states, ${steps} steps`)
  return { states: seen.size, steps }
}

const states = (world: World): ReadonlyArray<Connectivity> =>
  world.wanted.map((name) => world.children.get(name)?.counts ?? "CONNECTING")

const aggregate = (all: ReadonlyArray<Connectivity>): Connectivity =>
  (["READY", "CONNECTING", "IDLE"] as const).find((state) => all.includes(state)) ?? "TRANSIENT_FAILURE"

const pick = (picker: Picker, drawn: number, hash?: bigint) =>
  outcome(CompiledPicker.pick(picker, callWith({ draw: () => drawn, hash }), counters()))

const draws = [0, 0.24, 0.26, 0.49, 0.51, 0.99]

it("weighted_target: two children, three configs", () => {
  const weights = { a: 1, b: 3 }
  const { states: count } = explore({
    policy: WeightedTarget.policy,
    configs: [["a", "b"], ["b"], []],
    configOf: (wanted) =>
      WeightedTarget.policy.with({
        targets: new Map(
          Object.entries(weights)
            .filter(([name]) => wanted.includes(name))
            .map(([name, weight]) => [name, { weight, child: silent }])
        )
      }),
    initial: "CONNECTING",
    wait: 14 * minute,
    isSticky: true,
    check: (world, outputs, before, move) => {
      for (const [name, { goneSince }] of world.children) {
        if (goneSince !== undefined && world.now >= goneSince + 15 * minute) return `${name} is kept too long`
      }
      const gone = Array.from(world.children.values(), ({ goneSince }) => goneSince ?? Number.POSITIVE_INFINITY)
      if (WeightedTarget.policy.deadline(world.state) !== Math.min(...gone) + 15 * minute) {
        return "the deadline is not 15 minutes after the first one was gone"
      }
      for (const output of outputs) {
        if (output._tag !== "Remove") continue
        const since = before.children.get(output.name)?.goneSince
        if (since === undefined || world.now < since + 15 * minute) return `${output.name} is removed too early`
      }
      const { told } = world
      if (told === undefined) return "nothing is told"
      const expected = aggregate(states(world))
      if (told.state !== expected) return `told ${told.state}, is ${expected}`
      if (
        move._tag === "Child" &&
        move.says === "IDLE" &&
        !outputs.some((output) => output._tag === "ExitIdle" && output.name === move.name)
      ) {
        return `${move.name} is idle, and nobody wakes it`
      }
      const picks = new Set(draws.map((drawn) => pick(told.picker, drawn)))
      const usable = world.wanted.filter((name) => world.children.get(name)?.counts === expected)
      const expectedPicks =
        expected === "CONNECTING" || expected === "IDLE"
          ? ["queue"]
          : world.wanted.length === 0
            ? ["weighted_target has no children"]
            : usable.map((name) => `${name} ${world.children.get(name)?.said ?? ""}`)
      return JSON.stringify([...picks].sort()) === JSON.stringify([...expectedPicks].sort())
        ? undefined
        : `picks are ${[...picks].join(", ")}; expected ${expectedPicks.join(", ")}`
    }
  })
  expect(count).toBeGreaterThan(500)
})

it("priority: two priorities, and a config without the first", () => {
  const { states: count } = explore({
    policy: Priority.policy,
    configs: [["a", "b"], ["b"], []],
    configOf: (wanted) =>
      Priority.policy.with({ priorities: wanted.map((name) => ({ name, child: silent, endpoints: [] })) }),
    initial: "CONNECTING",
    wait: 0,
    isSticky: false,
    check: (world, outputs, before, move) => {
      const { children, told, wanted } = world
      if (told === undefined) return "nothing is told"
      for (const [name, { goneSince }] of children) {
        if (goneSince !== undefined && world.now >= goneSince + 15 * minute) return `${name} is kept too long`
      }
      for (const output of outputs) {
        if (output._tag !== "Remove") continue
        if (world.now < 15 * minute) return `${output.name} is removed too early`
        if (output.name === wanted[0]) return "the best one is removed"
      }
      const [first] = wanted
      if (first === undefined) {
        return told.state === "TRANSIENT_FAILURE" ? undefined : `told ${told.state} without priorities`
      }
      // The best one is always made; the others only where those above them are not up.
      const best = children.get(first)
      if (best === undefined) return "the best one is not made"
      const isUp = (name: string) => ["READY", "IDLE"].includes(children.get(name)?.said ?? "")
      if (isUp(first) && told.state !== best.said) return `the best one is ${best.said}, told is ${told.state}`
      const there = wanted.filter((name) => children.has(name))
      const isWhole = there.length === wanted.length
      // Nobody gives up before all were tried.
      if (told.state === "TRANSIENT_FAILURE" && !isWhole) return "failed, and the next one was not tried"
      if (told.state === "TRANSIENT_FAILURE" && wanted.some(isUp)) return "failed, and one of them is up"
      if (told.state === "TRANSIENT_FAILURE" && there.some((name) => children.get(name)?.said === "CONNECTING")) {
        return "failed, and one of them connects"
      }
      // The picker is that of a child with the state that is told.
      const picked = pick(told.picker, 0)
      const isOfChild =
        picked === "queue" ? told.state === "CONNECTING" : wanted.some((name) => picked === `${name} ${told.state}`)
      if (!isOfChild) return `told ${told.state}, picks ${picked}`
      if (isUp(first) && picked !== `${first} ${best.said}`) return `the best one is up, picks ${picked}`
      // A failover is by failure, or by time.
      const wasMade = outputs.some((output) => output._tag === "Create" && output.name !== first)
      if (
        wasMade &&
        best.said === "CONNECTING" &&
        move._tag === "Child" &&
        before.children.get(first)?.said === "CONNECTING"
      ) {
        return "failed over without a reason"
      }
      return undefined
    }
  })
  expect(count).toBeGreaterThan(5_000)
}, 300_000)

it("ring_hash: three endpoints, one of which comes and goes", () => {
  const addresses = ["10.0.0.1:80", "10.0.0.2:80", "10.0.0.3:80"]
  const { states: count } = explore({
    policy: RingHash.policy,
    configs: [addresses, addresses.slice(0, 2), []],
    configOf: () => RingHash.policy.with({ minRingSize: 12, maxRingSize: 12 }),
    endpoints: (wanted) => wanted.map((address) => Endpoint.make([address])),
    initial: "IDLE",
    wait: 0,
    isSticky: true,
    check: (world, outputs) => {
      const { children, told, wanted } = world
      if (told === undefined) return "nothing is told"
      if (children.size !== wanted.length) return "children are not the endpoints"
      const all = wanted.map((name) => children.get(name)?.counts ?? "IDLE")
      const failed = all.filter((state) => state === "TRANSIENT_FAILURE").length
      const expected = all.includes("READY")
        ? "READY"
        : failed >= 2 || failed === all.length
          ? "TRANSIENT_FAILURE"
          : all.includes("CONNECTING") || failed === 1
            ? "CONNECTING"
            : "IDLE"
      if (told.state !== expected) return `told ${told.state}, is ${expected}`
      // ★ Where a parent sends no picks, somebody must connect.
      const isStuck = (expected === "CONNECTING" || expected === "TRANSIENT_FAILURE") && !all.includes("CONNECTING")
      const woken = outputs.filter((output) => output._tag === "ExitIdle")
      const isWoken = woken.length === 1 && woken.every(({ name }) => children.get(name)?.counts === "IDLE")
      if (outputs.length > 0 && isStuck && all.includes("IDLE") && !isWoken) return "nobody connects"
      if (!isStuck && woken.length > 0) return "one is woken without need"
      for (const hash of [0n, 1n << 61n, 1n << 62n, 3n << 62n, (1n << 64n) - 1n]) {
        const picked = pick(told.picker, 0, hash)
        if (wanted.length === 0) {
          if (picked !== "ring_hash has no endpoints") return `picks ${picked}`
          continue
        }
        const states = new Set(all)
        if (picked.endsWith(" READY") ? !states.has("READY") : false) return `picks ${picked}`
        if (picked === "queue" && !states.has("CONNECTING")) return "queued, and nobody connects"
        if (picked.startsWith("wake ") && !states.has("IDLE")) return `${picked}, and nobody is idle`
        const isFailure = !picked.endsWith(" READY") && picked !== "queue" && !picked.startsWith("wake ")
        if (isFailure && failed < all.length) return `fails, and not all have failed: ${picked}`
      }
      return undefined
    }
  })
  expect(count).toBeGreaterThan(100)
})
