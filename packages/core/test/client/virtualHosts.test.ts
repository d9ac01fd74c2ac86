import * as VirtualHosts from "@effect-xds/core/client/VirtualHosts"
import { assert, describe, it } from "@effect/vitest"
import * as HashMap from "effect/HashMap"
import * as HashSet from "effect/HashSet"
import * as fc from "fast-check"
import { isDeepStrictEqual } from "node:util"
import { Reference, textOf } from "./VirtualHostsReference.js"

type State = VirtualHosts.VirtualHosts<string>
type Input = VirtualHosts.Input<string>

const given = process.env["XDS_SEED"] ?? "20260101"
const seed = given === "random" ? Date.now() % 2 ** 31 : Number(given)
const numRuns = Number(process.env["XDS_RUNS"] ?? "400")

const hostOf = (name: string, domains: ReadonlyArray<string>, content: string): VirtualHosts.VirtualHost<string> => ({
  name,
  domains,
  value: `${name}=${domains.join(",")}@${content}`
})

/** What is wrong in a state, whatever led to it. */
const problemsOf = (self: State): ReadonlyArray<string> => {
  const { entries, options, table, waiting } = self
  const problems: Array<string> = []
  if (HashMap.size(entries) > options.maxHosts) problems.push("more names than maxHosts")
  if (HashMap.size(waiting) > options.maxWaiting) problems.push("more requests wait than maxWaiting")
  for (const [request, { name, until }] of waiting) {
    if (until < VirtualHosts.deadline(self)) problems.push(`${request} is over before the deadline`)
    const entry = HashMap.get(entries, name)
    if (self.source === "waiting") continue
    if (entry._tag === "None" || !HashSet.has(entry.value.waiting, request))
      problems.push(`${request} waits for nothing`)
  }
  let waiters = 0
  for (const [name, { resource, status, waiting: those }] of entries) {
    waiters += HashSet.size(those)
    const fetched = HashMap.get(table.fetched, resource)
    const isHeld = fetched._tag === "Some" && HashSet.has(fetched.value.aliases, name)
    if (isHeld !== (status === "present")) problems.push(`${name} is ${status}, and ${isHeld ? "" : "not "}held`)
    if (status !== "asked" && status !== "overdue" && HashSet.size(those) > 0)
      problems.push(`${name}: an answer is kept`)
  }
  if (self.source !== "waiting" && waiters !== HashMap.size(waiting)) problems.push("a name has a waiter that is gone")
  for (const [resource, { aliases }] of table.fetched) {
    if (HashSet.size(aliases) === 0) problems.push(`${resource} answers no name`)
    for (const alias of aliases)
      if (!HashMap.has(entries, alias)) problems.push(`${resource} answers ${alias}, unasked`)
  }
  for (const [domain, owner] of table.owners) {
    if (!HashMap.has(table.fetched, owner)) problems.push(`${domain} belongs to nobody`)
  }
  const isEmpty = HashMap.isEmpty(table.given) && HashMap.isEmpty(table.fetched)
  if (isEmpty && !(HashMap.isEmpty(table.wildcards) && HashMap.isEmpty(table.owners))) problems.push("domains are left")
  return problems
}

const hosts = ["a.x", "b.x", "a.y"]
const resources = [...hosts, "w", "v"].map((host) => `r/${host}`)
/** No two resources claim a domain: the client rejects such a one. */
const domainsOf: Record<string, ReadonlyArray<ReadonlyArray<string>>> = {
  "r/a.x": [["a.x"], ["a.x", "a.*"]],
  "r/b.x": [["b.x"]],
  "r/a.y": [["a.y"], ["z"]],
  "r/w": [["*.x"], ["*.x", "*.y"]],
  "r/v": [["*"], ["b.*"]]
}

describe("virtual hosts on demand, as the reference says", () => {
  const name = fc.constantFrom(...hosts.map((host) => `r/${host}`))
  const virtualHost = fc
    .constantFrom(...resources)
    .chain((resource) =>
      fc
        .record({ domains: fc.constantFrom(...(domainsOf[resource] ?? [])), content: fc.constantFrom("1", "2") })
        .map(({ content, domains }) => hostOf(resource, domains, content))
    )
  const rds = fc.subarray([hostOf("g", ["a.x"], "1"), hostOf("h", ["*.y"], "1"), hostOf("i", ["*"], "1")])
  const input: fc.Arbitrary<Input | { readonly _tag: "Wait"; readonly milliseconds: number }> = fc.oneof(
    {
      weight: 8,
      arbitrary: fc.record({
        _tag: fc.constant("Request" as const),
        request: fc.nat(12),
        host: fc.constantFrom(...hosts)
      })
    },
    { weight: 2, arbitrary: fc.record({ _tag: fc.constant("Cancel" as const), request: fc.nat(12) }) },
    { weight: 6, arbitrary: fc.record({ _tag: fc.constant("Arrived" as const), name, virtualHost }) },
    { weight: 4, arbitrary: fc.record({ _tag: fc.constant("Missing" as const), name }) },
    { weight: 2, arbitrary: fc.record({ _tag: fc.constant("Rejected" as const), name, reason: fc.constant("words") }) },
    {
      weight: 1,
      arbitrary: fc.record({ _tag: fc.constant("Unreachable" as const), name, reason: fc.constant("words") })
    },
    { weight: 1, arbitrary: fc.record({ _tag: fc.constant("Withdrawn" as const), reason: fc.constant("words") }) },
    {
      weight: 3,
      arbitrary: fc.record({
        _tag: fc.constant("RouteConfiguration" as const),
        vhds: fc.constantFrom("ads", "ads", "other", undefined),
        virtualHosts: rds
      })
    },
    {
      weight: 3,
      arbitrary: fc.record({ _tag: fc.constant("Wait" as const), milliseconds: fc.constantFrom(1_000, 4_000) })
    }
  )

  const run = (script: ReadonlyArray<Input | { readonly _tag: "Wait"; readonly milliseconds: number }>): string => {
    // No idle timeouts: the reference has none.
    let self: State = VirtualHosts.make<string>("r", { unknownIdleTimeout: Infinity })
    const reference = new Reference("r", 5_000)
    let now = 0
    const both = (input: Input): string => {
      const [next, outputs] = VirtualHosts.step(self, input, now)
      self = next
      const ours = outputs.map(textOf).sort()
      const theirs = reference.step(input, now)
      const problems = problemsOf(self)
      if (problems.length > 0) return `${JSON.stringify(input)}: ${problems.join("; ")}`
      return isDeepStrictEqual(ours, theirs)
        ? ""
        : `${JSON.stringify(input)}: ${JSON.stringify(ours)} instead of ${JSON.stringify(theirs)}`
    }
    /** A resource has one content at a time: under another name it comes with what it was under the first. */
    const consistent = (input: Input): ReadonlyArray<Input> => {
      if (input._tag !== "Arrived") return [input]
      const before = HashMap.get(self.table.fetched, input.virtualHost.name)
      const others = before._tag === "None" ? [] : Array.from(before.value.aliases)
      const names = [input.name, ...others.filter((each) => each !== input.name)]
      return names.map((each) => ({ ...input, name: each }))
    }
    for (const each of script) {
      if (each._tag !== "Wait") {
        for (const one of consistent(each)) {
          const problem = both(one)
          if (problem !== "") return problem
        }
        continue
      }
      const end = now + each.milliseconds
      while (VirtualHosts.deadline(self) <= end) {
        now = Math.max(now, VirtualHosts.deadline(self))
        const problem = both({ _tag: "Deadline" })
        if (problem !== "") return problem
      }
      now = end
    }
    // Everybody is answered in the end.
    now += 5_000
    return both({ _tag: "Deadline" }) || (HashMap.isEmpty(self.waiting) ? "" : "somebody waits for ever")
  }

  it("in every script", () => {
    fc.assert(
      fc.property(fc.array(input, { maxLength: 60 }), (script) => {
        assert.strictEqual(run(script), "")
      }),
      { seed, numRuns }
    )
  })
})

describe("virtual hosts on demand, every order of a few events", () => {
  /** All states that these inputs lead to, each once. */
  const explore = (start: State, inputs: ReadonlyArray<Input>, depth: number): number => {
    const seen = new Set<string>()
    const key = (self: State): string =>
      JSON.stringify([
        self.source,
        Array.from(self.entries, ([name, { resource, status, usedAt, waiting }]) => [
          name,
          status,
          resource,
          usedAt,
          Array.from(waiting).sort()
        ]).sort(),
        Array.from(self.table.fetched, ([name, { aliases, usedAt, virtualHost }]) => [
          name,
          virtualHost.value,
          usedAt,
          Array.from(aliases).sort()
        ]).sort(),
        Array.from(self.table.given, ([name, { value }]) => [name, value]).sort(),
        Array.from(self.waiting).sort(([a], [b]) => a - b)
      ])
    let level: ReadonlyArray<readonly [State, number, ReadonlyArray<string>]> = [[start, 0, []]]
    for (let turn = 0; turn < depth; turn++) {
      const next: Array<readonly [State, number, ReadonlyArray<string>]> = []
      for (const [self, before, path] of level) {
        for (const input of inputs) {
          // Deadlines come when they are due.
          const at = VirtualHosts.deadline(self)
          if (input._tag === "Deadline" && at === Infinity) continue
          const now = input._tag === "Deadline" ? Math.max(before, at) : before + 1
          const waited = new Set(HashMap.keys(self.waiting))
          const [after, outputs] = VirtualHosts.step(self, input, now)
          const trail = [...path, JSON.stringify(input)]
          const problems = [...problemsOf(after)]
          const answered = outputs.flatMap((output) => (output._tag === "Answer" ? [output.request] : []))
          if (new Set(answered).size < answered.length) problems.push("answered twice")
          for (const request of answered) {
            const isNew = input._tag === "Request" && input.request === request
            if (!waited.has(request) && !isNew) problems.push(`${request} is answered and did not ask`)
            if (HashMap.has(after.waiting, request)) problems.push(`${request} is answered and waits`)
          }
          for (const request of waited) {
            const isGone = !HashMap.has(after.waiting, request) && input._tag !== "Cancel"
            if (isGone && !answered.includes(request)) problems.push(`${request} waits no more, unanswered`)
          }
          // What is watched is what is subscribed to.
          const watched = new Set(HashMap.keys(self.entries))
          for (const output of outputs) {
            if (output._tag === "Watch" && watched.size === watched.add(output.name).size)
              problems.push("watched twice")
            if (output._tag === "Unwatch" && !watched.delete(output.name)) problems.push("unwatched and not watched")
            if (output._tag === "Refresh" && !watched.has(output.name)) problems.push("refreshed and not watched")
          }
          const left = Array.from(HashMap.keys(after.entries)).sort()
          if (!isDeepStrictEqual(Array.from(watched).sort(), left))
            problems.push(`watched: ${Array.from(watched).join()}`)
          if (problems.length > 0) assert.fail(`${problems.join("; ")}\n${trail.join("\n")}`)
          const state = key(after)
          if (seen.has(state)) continue
          seen.add(state)
          next.push([after, now, trail])
        }
      }
      level = next
    }
    return seen.size
  }

  const rds = (vhds: string | undefined, ...virtualHosts: ReadonlyArray<VirtualHosts.VirtualHost<string>>): Input => ({
    _tag: "RouteConfiguration",
    vhds,
    virtualHosts
  })

  it("answers, removals, sources and deadlines, of two names of one virtual host", () => {
    const wide = hostOf("r/w", ["a.x", "*.x"], "1")
    const states = explore(
      VirtualHosts.make<string>("r"),
      [
        rds("ads"),
        rds("other", hostOf("g", ["a.x"], "1")),
        rds(undefined),
        { _tag: "Request", request: 1, host: "a.x" },
        { _tag: "Request", request: 2, host: "b.x" },
        { _tag: "Cancel", request: 1 },
        { _tag: "Arrived", name: "r/a.x", virtualHost: wide },
        { _tag: "Arrived", name: "r/b.x", virtualHost: wide },
        { _tag: "Missing", name: "r/a.x" },
        { _tag: "Rejected", name: "r/b.x", reason: "words" },
        { _tag: "Unreachable", name: "r/a.x", reason: "words" },
        { _tag: "Withdrawn", reason: "words" },
        { _tag: "Deadline" }
      ],
      7
    )
    assert.isAbove(states, 2_000)
  })

  it("room for two names, and for two requests", () => {
    const [ready] = VirtualHosts.step(
      VirtualHosts.make<string>("r", { maxHosts: 2, maxWaiting: 2, idleTimeout: 60_000 }),
      rds("ads"),
      0
    )
    const states = explore(
      ready,
      [
        { _tag: "Request", request: 1, host: "a.x" },
        { _tag: "Request", request: 2, host: "b.x" },
        { _tag: "Request", request: 3, host: "c.x" },
        { _tag: "Cancel", request: 2 },
        { _tag: "Arrived", name: "r/a.x", virtualHost: hostOf("r/a.x", ["a.x"], "1") },
        { _tag: "Arrived", name: "r/c.x", virtualHost: hostOf("r/c.x", ["c.x"], "1") },
        { _tag: "Missing", name: "r/b.x" },
        { _tag: "Deadline" }
      ],
      6
    )
    assert.isAbove(states, 1_500)
  })
})
