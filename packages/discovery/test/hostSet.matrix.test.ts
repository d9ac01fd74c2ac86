/** Every state a host can be in, and in each of them everything that can happen. */
import * as HealthFlags from "@effect-xds/discovery/HealthFlags"
import * as Matrix from "@effect-xds/discovery/HealthMatrix"
import * as Host from "@effect-xds/discovery/Host"
import * as HostSet from "@effect-xds/discovery/HostSet"
import { describe, expect, it } from "@effect/vitest"
import * as fc from "fast-check"
import { HostReference, type Happening } from "./HostReference.js"

const statuses = ["UNKNOWN", "HEALTHY", "UNHEALTHY", "DRAINING", "TIMEOUT", "DEGRADED"] as const
const results: ReadonlyArray<ReadonlyArray<HealthFlags.Flag>> = [
  [],
  ["DEGRADED_ACTIVE_HC"],
  ["FAILED_ACTIVE_HC"],
  ["FAILED_ACTIVE_HC", "ACTIVE_HC_TIMEOUT"],
  ["FAILED_ACTIVE_HC", "DEGRADED_ACTIVE_HC", "EXCLUDED_VIA_IMMEDIATE_HC_FAIL"]
]

const happenings = (checkers: ReadonlyArray<string>): ReadonlyArray<Happening> => [
  // Two checkers have many states: with them one status of each kind.
  ...(checkers.length < 2 ? statuses : (["HEALTHY", "DRAINING"] as const)).flatMap((status) =>
    [true, false].map((isUnchecked) => ({ _tag: "Listed", status, isUnchecked }) as const)
  ),
  { _tag: "Unlisted" },
  { _tag: "Checked", checker: "unknown" },
  ...checkers.flatMap((checker) => [
    ...results.map((flags) => ({ _tag: "Health", checker, flags }) as const),
    { _tag: "Checked", checker } as const
  ]),
  { _tag: "Ejected" },
  { _tag: "Returned" }
]

const inputOf = (host: string, happening: Happening): HostSet.Input => {
  switch (happening._tag) {
    case "Listed": {
      const { isUnchecked, status: healthStatus } = happening
      return { _tag: "Listed", hosts: [Host.make(host, { healthStatus, isUnchecked })] }
    }
    case "Unlisted":
      return { _tag: "Listed", hosts: [] }
    case "Health":
      return { ...happening, host, flags: HealthFlags.make(...happening.flags) }
    default:
      return { ...happening, host }
  }
}

const flagsOf = (member: HostSet.Member | undefined): ReadonlyArray<string> =>
  member === undefined ? [] : [...HealthFlags.names(member.flags)].sort()

const wordOf = (output: HostSet.Output): string => (output._tag === "Drain" && output.isCut ? "Drain!" : output._tag)

const settingsOf = (checkers: ReadonlyArray<string>, bits: number): HostSet.Settings => ({
  checkers,
  ignoreHealthOnHostRemoval: (bits & 1) !== 0,
  ignoreNewHostsUntilFirstHc: (bits & 2) !== 0,
  closeConnectionsOnHostHealthFailure: (bits & 4) !== 0
})

const copy = (reference: HostReference): HostReference => {
  const same = Object.assign(new HostReference(reference.settings), reference)
  same.checks = reference.checks && new Map(Array.from(reference.checks, ([name, flags]) => [name, new Set(flags)]))
  same.results = new Set(reference.results)
  return same
}

const keyOf = ({ checks, isEjected, isUnchecked, results, state, status }: HostReference): string =>
  JSON.stringify([
    state,
    status,
    isUnchecked,
    isEjected,
    Array.from(results).sort(),
    checks && Array.from(checks, ([name, flags]) => [name, Array.from(flags).sort()])
  ])

describe("the matrix", () => {
  it("has four cells: two are routed, one is purged", () => {
    const cells = Object.entries(Matrix.table).flatMap(([discovered, row]) =>
      Object.entries(row).map(([passing, cell]) => [`${discovered} ${passing}`, cell.isRouted, cell.isPurged])
    )
    expect(cells).toEqual([
      ["listed ok", true, false],
      ["listed failing", false, false],
      ["absent ok", true, false],
      ["absent failing", false, true]
    ])
  })

  it("each event in each state a host can reach, with each setting", () => {
    HostReference.taken.clear()
    let steps = 0
    const failures: Array<unknown> = []
    for (const checkers of [[], ["a"], ["a", "b"]]) {
      const all = happenings(checkers)
      for (const bits of checkers.length < 2 ? [0, 1, 2, 3, 4, 5, 6, 7] : [6]) {
        const settings = settingsOf(checkers, bits)
        const start = { reference: new HostReference(settings), self: HostSet.make(settings) }
        const seen = new Map([[keyOf(start.reference), start]])
        for (const { reference, self } of seen.values()) {
          for (const happening of all) {
            steps++
            const after = copy(reference)
            const expected = after.happens(happening).join()
            const [next, outputs] = HostSet.step(self, inputOf("h", happening))
            const member = HostSet.find(next, "h")
            const got = outputs.map(wordOf)
            const isSame =
              [...got].sort().join() === expected &&
              (member !== undefined) === (after.state !== "none") &&
              flagsOf(member).join() === (member === undefined ? "" : after.flags.join()) &&
              (member !== undefined && HostSet.isRouted(next, member)) === after.isRouted
            if (!isSame) failures.push({ settings, from: keyOf(reference), happening, expected, got, next })
            const key = keyOf(after)
            if (!seen.has(key)) seen.set(key, { reference: after, self: next })
          }
        }
      }
    }
    expect(failures.slice(0, 3)).toEqual([])
    // All cells of the matrix in which something can happen to a host that is there.
    expect(Array.from(HostReference.taken).sort()).toEqual([
      "absent+OK listed",
      "absent+OK turns failing",
      "absent+OK unlisted",
      "listed+OK listed",
      "listed+OK turns failing",
      "listed+OK unlisted",
      "listed+failing listed",
      "listed+failing turns OK",
      "listed+failing unlisted"
    ])
    expect(steps).toBeGreaterThan(20_000)
  })

  it("many hosts: each as if alone; ready when those that were there have results", () => {
    const names = ["h0", "h1", "h2", "h3"]
    const checkers = ["a", "b"]
    const single = happenings(checkers).filter(({ _tag }) => _tag !== "Listed" && _tag !== "Unlisted")
    const action = fc.oneof(
      { weight: 1, arbitrary: fc.constant("Initialized" as const) },
      {
        weight: 4,
        arbitrary: fc.record({
          listed: fc.uniqueArray(
            fc.record({
              host: fc.constantFrom(...names),
              status: fc.constantFrom(...statuses),
              isUnchecked: fc.boolean()
            }),
            { selector: ({ host }) => host }
          )
        })
      },
      { weight: 12, arbitrary: fc.record({ host: fc.constantFrom(...names), happening: fc.constantFrom(...single) }) }
    )
    const bits = fc.integer({ min: 0, max: 7 })
    fc.assert(
      fc.property(bits, fc.array(action, { minLength: 30, maxLength: 60, size: "max" }), (bits, actions) => {
        const settings = settingsOf(checkers, bits)
        const references = new Map(names.map((name) => [name, new HostReference(settings)]))
        let self = HostSet.make(settings)
        let awaited: ReadonlyArray<string> | undefined
        let readies = 0
        for (const each of actions) {
          let expected: ReadonlyArray<string> = []
          let input: HostSet.Input
          if (each === "Initialized") {
            input = { _tag: "Initialized" }
            awaited ??= names.filter((name) => references.get(name)?.awaits)
          } else if ("listed" in each) {
            const hosts = each.listed.map(({ host, isUnchecked, status: healthStatus }) =>
              Host.make(host, { healthStatus, isUnchecked })
            )
            input = { _tag: "Listed", hosts }
            expected = names.flatMap((name) => {
              const found = each.listed.find(({ host }) => host === name)
              const happening: Happening = found === undefined ? { _tag: "Unlisted" } : { _tag: "Listed", ...found }
              return (
                references
                  .get(name)
                  ?.happens(happening)
                  .map((word) => `${name} ${word}`) ?? []
              )
            })
          } else {
            input = inputOf(each.host, each.happening)
            expected =
              references
                .get(each.host)
                ?.happens(each.happening)
                .map((word) => `${each.host} ${word}`) ?? []
          }
          const [next, outputs] = HostSet.step(self, input)
          self = next
          awaited = awaited?.filter((name) => references.get(name)?.awaits)
          const said = outputs.flatMap((output) =>
            output._tag === "Ready" ? [] : [`${output.host} ${wordOf(output)}`]
          )
          expect([...said].sort()).toEqual([...expected].sort())
          readies += outputs.filter(({ _tag }) => _tag === "Ready").length
          expect([HostSet.isReady(self), readies]).toEqual(awaited?.length === 0 ? [true, 1] : [false, 0])
        }
        const members = HostSet.inOrder(self).map(({ host }) => host.id)
        const there = names.filter((name) => references.get(name)?.state !== "none")
        expect([...members].sort()).toEqual(there)
      }),
      { numRuns: 100 }
    )
  })
})
