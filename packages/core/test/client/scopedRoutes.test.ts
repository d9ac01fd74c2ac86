import * as ScopedRoutes from "@effect-xds/core/client/ScopedRoutes"
import { assert, describe, it } from "@effect/vitest"
import * as HashMap from "effect/HashMap"
import * as fc from "fast-check"
import { isDeepStrictEqual } from "node:util"
import { Reference } from "./ScopedRoutesReference.js"
import { hostOf, scopeOf, textOf } from "./ScopedRoutesTrace.js"

type State = ScopedRoutes.ScopedRoutes<string>
type Input = ScopedRoutes.Input<string, string>

const given = process.env["XDS_SEED"] ?? "20260101"
const seed = given === "random" ? Date.now() % 2 ** 31 : Number(given)
const numRuns = Number(process.env["XDS_RUNS"] ?? "400")

/** Of an output; the words of a reason do not count. */
const essence = (output: ScopedRoutes.Output<string, string>): string => textOf(output).replace(/ "[^"]*"$/, "")

/** What is wrong in a state, whatever led to it. */
const problemsOf = (self: State): ReadonlyArray<string> => {
  const { isAnswered, names, scopes, tables, waiting } = self
  const problems: Array<string> = []
  const used = new Map<string, number>()
  for (const [name, { key, routes }] of scopes) {
    const id = routes._tag === "Named" ? `rds ${routes.name}` : `scope ${name}`
    used.set(id, (used.get(id) ?? 0) + 1)
    if (HashMap.get(names, key)._tag === "None") problems.push(`the key ${key} of ${name} is nobody's`)
  }
  for (const [key, name] of names) {
    const scope = HashMap.get(scopes, name)
    if (scope._tag === "None" || scope.value.key !== key) problems.push(`${name} has not the key ${key}`)
  }
  for (const [id, { eager, isOpen, scopes }] of tables) {
    if (used.get(id) !== scopes) problems.push(`${id} has ${used.get(id) ?? 0} scopes and counts ${scopes}`)
    if (eager > 0 && !isOpen) problems.push(`${id} is not open`)
  }
  if (HashMap.size(tables) !== used.size) problems.push("a table without scopes")
  for (const [request, { table, until }] of waiting) {
    if (isAnswered !== (table !== undefined)) problems.push(`${request} waits for the wrong thing`)
    const held = table === undefined ? undefined : HashMap.get(tables, table)
    if (held !== undefined && (held._tag === "None" || !held.value.isOpen)) problems.push(`${request}: no table`)
    if (table === undefined && until < ScopedRoutes.deadline(self)) problems.push(`${request} is over before`)
  }
  return problems
}

const tables = ["rds main", "rds late", "scope a", "scope b"]
const targets = [">main", ">late", "?>late", "?>main", ">{1}", "?>{2}"]

describe("scoped routes, as the reference says", () => {
  const name = fc.constantFrom("a", "b", "c")
  /** ★ No two scopes have one key when the response is applied: the client rejects such a one. */
  const change = fc.oneof(
    fc.record({ name, key: fc.constantFrom("x", "y"), to: fc.constantFrom(...targets) }),
    fc.record({ name, key: fc.constant(undefined), to: fc.constant("") })
  )
  type Script =
    | Input
    | { readonly _tag: "Wait"; readonly milliseconds: number }
    | { readonly _tag: "Change"; readonly words: ReadonlyArray<{ name: string; key: string | undefined; to: string }> }
  const request = fc.nat(8)
  const script: fc.Arbitrary<Script> = fc.oneof(
    {
      weight: 5,
      arbitrary: fc.record({
        _tag: fc.constant("Request" as const),
        request,
        key: fc.constantFrom("x", "y", "z", undefined),
        host: fc.constant("h"),
        until: fc.constantFrom(undefined, 2_000)
      })
    },
    {
      weight: 5,
      arbitrary: fc.record({
        _tag: fc.constant("Change" as const),
        words: fc.array(change, { minLength: 1, maxLength: 3 })
      })
    },
    {
      weight: 4,
      arbitrary: fc.record({
        _tag: fc.constant("Outcome" as const),
        table: fc.constantFrom(...tables),
        request,
        outcome: fc.constantFrom(
          { _tag: "Found" as const, virtualHost: hostOf("h") },
          { _tag: "NotFound" as const },
          { _tag: "Unavailable" as const, reason: "words" }
        )
      })
    },
    { weight: 2, arbitrary: fc.record({ _tag: fc.constant("Cancel" as const), request }) },
    { weight: 1, arbitrary: fc.record({ _tag: fc.constant("Answered" as const) }) },
    { weight: 1, arbitrary: fc.record({ _tag: fc.constant("Unreachable" as const), reason: fc.constant("words") }) },
    {
      weight: 2,
      arbitrary: fc.record({ _tag: fc.constant("Wait" as const), milliseconds: fc.constantFrom(1_000, 4_000) })
    }
  )

  const run = (scripts: ReadonlyArray<Script>): string => {
    let self: State = ScopedRoutes.make<string>()
    const reference = new Reference(5_000)
    let now = 0
    const both = (input: Input): string => {
      const [next, outputs] = ScopedRoutes.step(self, input, now)
      self = next
      const ours = outputs.map(essence).sort()
      const theirs = reference.step(input, now)
      const problems = problemsOf(self)
      if (problems.length > 0) return `${JSON.stringify(input)}: ${problems.join("; ")}`
      return isDeepStrictEqual(ours, theirs)
        ? ""
        : `${JSON.stringify(input)}: ${JSON.stringify(ours)} instead of ${JSON.stringify(theirs)}`
    }
    /** The changes that leave each key with one scope. */
    const valid = (words: ReadonlyArray<{ name: string; key: string | undefined; to: string }>): Input => {
      const after = new Map(Array.from(self.scopes, ([name, { key }]) => [name, key]))
      const changed = new Map(words.map((each) => [each.name, each]))
      for (const { key, name } of changed.values()) if (key === undefined) after.delete(name)
      const changes = Array.from(changed.values()).filter(({ key, name }) => {
        if (key === undefined) return true
        const isTaken = Array.from(after).some(([other, held]) => other !== name && held === key)
        if (!isTaken) after.set(name, key)
        return !isTaken
      })
      return {
        _tag: "Scopes",
        changes: changes.map(({ key, name, to }) => scopeOf(key === undefined ? `-${name}` : `${name}=${key}${to}`))
      }
    }
    for (const each of scripts) {
      if (each._tag !== "Wait") {
        const problem = both(each._tag === "Change" ? valid(each.words) : each)
        if (problem !== "") return problem
        continue
      }
      const end = now + each.milliseconds
      while (ScopedRoutes.deadline(self) <= end) {
        now = Math.max(now, ScopedRoutes.deadline(self))
        const problem = both({ _tag: "Deadline" })
        if (problem !== "") return problem
      }
      now = end
    }
    // Everybody is answered in the end: by a table, or because the scopes have not come.
    now += 5_000
    const problem = both({ _tag: "Deadline" })
    if (problem !== "") return problem
    return Array.from(self.waiting).some(([, { table }]) => table === undefined) ? "somebody waits for ever" : ""
  }

  it("in every script", () => {
    fc.assert(
      fc.property(fc.array(script, { maxLength: 60 }), (scripts) => {
        assert.strictEqual(run(scripts), "")
      }),
      { seed, numRuns }
    )
  })
})

describe("scoped routes, every order of a few events", () => {
  it("scopes that move, requests and deadlines", () => {
    const scopes = (...words: ReadonlyArray<string>): Input => ({ _tag: "Scopes", changes: words.map(scopeOf) })
    const inputs: ReadonlyArray<Input> = [
      scopes("a=x>main"),
      scopes("a=x?>late"),
      scopes("a=y>late", "b=x?>late"),
      scopes("-a"),
      scopes("-b"),
      scopes("b=y?>{1}"),
      { _tag: "Answered" },
      { _tag: "Request", request: 1, key: "x", host: "h" },
      { _tag: "Request", request: 2, key: "y", host: "h" },
      { _tag: "Cancel", request: 1 },
      { _tag: "Outcome", table: "rds late", request: 1, outcome: { _tag: "NotFound" } },
      { _tag: "Deadline" }
    ]
    const key = (self: State): string =>
      JSON.stringify([
        self.isAnswered,
        Array.from(self.scopes).sort(([a], [b]) => (a < b ? -1 : 1)),
        Array.from(self.tables, ([id, { isOpen }]) => [id, isOpen]).sort(),
        Array.from(self.waiting).sort(([a], [b]) => a - b)
      ])
    const seen = new Set<string>()
    let level: ReadonlyArray<readonly [State, number, ReadonlyArray<string>]> = [[ScopedRoutes.make(), 0, []]]
    for (let turn = 0; turn < 9; turn++) {
      const next: Array<readonly [State, number, ReadonlyArray<string>]> = []
      for (const [self, before, path] of level) {
        for (const input of inputs) {
          // Two scopes with one key cannot be.
          if (input._tag === "Scopes") {
            const after = new Map(Array.from(self.scopes, ([name, scope]) => [name, scope.key]))
            for (const [name, scope] of input.changes) {
              if (scope === undefined) after.delete(name)
              else after.set(name, scope.key)
            }
            if (new Set(after.values()).size < after.size) continue
          }
          const at = ScopedRoutes.deadline(self)
          if (input._tag === "Deadline" && at === Infinity) continue
          const now = input._tag === "Deadline" ? Math.max(before, at) : before + 1
          const [after, outputs] = ScopedRoutes.step(self, input, now)
          const trail = [...path, JSON.stringify(input)]
          const problems = [...problemsOf(after)]
          const open = new Set(Array.from(self.tables).flatMap(([id, { isOpen }]) => (isOpen ? [id] : [])))
          /** Requests by the table that has them. */
          const held = new Map(Array.from(self.waiting, ([request, { table }]) => [request, table]))
          if (input._tag === "Request" && !held.has(input.request)) held.set(input.request, undefined)
          if (input._tag === "Outcome" && held.get(input.request) === input.table) held.set(input.request, undefined)
          for (const output of outputs) {
            const { table } = output
            switch (output._tag) {
              case "Open":
                if (open.size === open.add(output.table).size) problems.push("opened twice")
                break
              case "Close":
                if (!open.delete(output.table)) problems.push("closed and not open")
                if (Array.from(held.values()).includes(table)) problems.push("closed with requests in it")
                break
              case "Give":
              case "Find":
                if (!open.has(output.table)) problems.push(`${output._tag} of a table that is not open`)
                if (output._tag === "Find") {
                  if (held.get(output.request) !== undefined) problems.push("handed to two tables")
                  held.set(output.request, table)
                }
                break
              case "Withdraw":
                if (held.get(output.request) !== table) problems.push("withdrawn from where it is not")
                held.set(output.request, undefined)
                if (input._tag === "Cancel") held.delete(output.request)
                break
              case "Answer":
                if (!held.has(output.request)) problems.push("answered and did not ask")
                if (held.get(output.request) !== undefined) problems.push("answered, and a table has it")
                held.delete(output.request)
            }
          }
          if (input._tag === "Cancel") held.delete(input.request)
          const left = Array.from(after.waiting, ([request, { table }]) => [request, table]).sort()
          if (!isDeepStrictEqual(Array.from(held).sort(), left)) problems.push(`held: ${JSON.stringify([...held])}`)
          if (problems.length > 0) assert.fail(`${problems.join("; ")}\n${trail.join("\n")}`)
          const state = key(after)
          if (seen.has(state)) continue
          seen.add(state)
          next.push([after, now, trail])
        }
      }
      level = next
    }
    assert.isAbove(seen.size, 800)
  })
})
