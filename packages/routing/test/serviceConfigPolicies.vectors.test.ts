import * as PolicyRegistry from "@effect-xds/routing/PolicyRegistry"
import * as ServiceConfig from "@effect-xds/routing/ServiceConfig"
import type { Json, JsonObject } from "@effect-xds/routing/ServiceConfig"
import * as ServiceConfigPolicies from "@effect-xds/routing/ServiceConfigPolicies"
import { describe, expect, it } from "@effect/vitest"
import * as Either from "effect/Either"
import { all, host, split, tableOf, to } from "./Routes.js"
import { Steps, callWith, counters, named, outcome } from "./Steps.js"
import * as CompiledPicker from "@effect-xds/routing/CompiledPicker"
import * as Pickers from "@effect-xds/routing/Picker"
import * as Tree from "@effect-xds/routing/Tree"

const registry = PolicyRegistry.add(PolicyRegistry.standard, ...ServiceConfigPolicies.entries(new Map()))
const read = (config: Json) => PolicyRegistry.fromJson(registry, [{ xds_routing_experimental: config }])
/** Why it is not valid; empty if it is. */
const problem = (route: ReadonlyArray<Json>, action: JsonObject = { a: cds("a") }) => {
  const made = read({ action, route })
  return Either.isLeft(made) ? made.left.replace("xds_routing_experimental: ", "") : ""
}
const cds = (cluster: string) => ({ childPolicy: [{ cds_experimental: { cluster } }] })

describe("a config of xds_routing", () => {
  it("vector 49: path and prefix; ★ neither", () => {
    const text = "route[0]: exactly one of path, prefix and regex is required"
    expect(problem([{ path: "/s/m", prefix: "/s", action: "a" }])).toBe(text)
    expect(problem([{ action: "a" }])).toBe(text)
    expect(problem([{ path: "/s/m", action: "a" }])).toBe("")
  })

  it("vector 50: an action that no route uses; one that is not in the map", () => {
    expect(problem([{ prefix: "", action: "a" }], { a: cds("a"), b: cds("b") })).toBe(
      'action["b"]: no route uses it; remove it'
    )
    expect(
      problem([
        { prefix: "", action: "a" },
        { prefix: "", action: "toString" }
      ])
    ).toBe('route[1].action: no action has the name "toString"; name one of the list')
  })

  it("a header matcher has exactly one specifier; a regular expression is one of RE2", () => {
    const header = (fields: JsonObject) => problem([{ prefix: "", headers: [{ name: "h", ...fields }], action: "a" }])
    const text = "route[0].headers[0]: a name and exactly one matcher are required"
    expect([header({}), header({ exactMatch: "a", prefixMatch: "a" }), header({ exactMatch: 1 })]).toEqual([
      text,
      text,
      text
    ])
    for (const fields of [
      { exactMatch: "a" },
      { presentMatch: false, invertMatch: true },
      { rangeMatch: { start: "-1", end: 2 } },
      { regexMatch: "a|b" }
    ]) {
      expect(header(fields)).toBe("")
    }
    expect(header({ rangeMatch: { start: 3, end: 2 } })).toContain("start 3 is after end 2")
    expect(header({ regexMatch: "(" })).toContain("is not a regular expression of RE2")
    expect(problem([{ regex: "(?=a)", action: "a" }])).toContain("is not a regular expression of RE2")
  })

  it("★ of an action's child policies the first that is known decides", () => {
    const child = (...list: ReadonlyArray<Json>) => problem([{ prefix: "", action: "a" }], { a: { childPolicy: list } })
    expect(child({ acme: {} }, { cds_experimental: { cluster: "a" } })).toBe("")
    expect(child({ cds_experimental: {} }, { cds_experimental: { cluster: "a" } })).toBe(
      'action["a"].childPolicy: cds_experimental: the cluster is missing; name it'
    )
    expect(child({ acme: {} })).toBe('action["a"].childPolicy: no policy of the list is known: acme')
  })

  it.each([0, -1, 1.5, 2 ** 32, "1", null])("a weight of %j is none", (weight) => {
    const targets = { t: { weight, ...cds("a") } }
    expect(
      problem([{ prefix: "", action: "a" }], { a: { childPolicy: [{ weighted_target_experimental: { targets } }] } })
    ).toBe(
      `action["a"].childPolicy: weighted_target_experimental: targets["t"].weight: the weight is ${JSON.stringify(weight)}; it must be 1 to 4294967295`
    )
  })

  it("weights over 2³²−1 in all", () => {
    const targets = { t: { weight: 2 ** 32 - 1, ...cds("a") }, u: { weight: 1, ...cds("b") } }
    const made = PolicyRegistry.fromJson(registry, [{ weighted_target_experimental: { targets } }])
    expect(Either.isLeft(made) && made.left).toContain("the weights add up to 4294967296")
  })

  it("★ a name with half a character alone, which JSON may have, is none: no tree can have such a node", () => {
    const half = JSON.stringify("\ud800")
    const text = "the name has half a character alone; use another one"
    expect(problem([{ prefix: "", action: "\ud800" }], { "\ud800": cds("a") })).toBe(`action[${half}]: ${text}`)
    const targets = { "\ud800": { weight: 1, ...cds("a") }, "\u{1f600}": { weight: 1, ...cds("a") } }
    const made = PolicyRegistry.fromJson(registry, [{ weighted_target_experimental: { targets } }])
    expect(Either.isLeft(made) && made.left).toBe(`weighted_target_experimental: targets[${half}]: ${text}`)
    const fine = PolicyRegistry.fromJson(registry, [
      { weighted_target_experimental: { targets: { "\u{1f600}": targets["\u{1f600}"] } } }
    ])
    const config = Either.getOrThrow(fine)
    const context = { now: 0, draw: () => 0 }
    const [tree] = Tree.step(Tree.empty, { _tag: "Config", config, endpoints: [] }, context)
    expect(Tree.told(tree).state).toBe("TRANSIENT_FAILURE")
  })

  it.each(["printed", "proto3"] as const)("what the generator writes is read, keys %s", (keys) => {
    const table = Either.getOrThrow(
      tableOf([
        host(
          {
            match: {
              pathSpecifier: { case: "safeRegex", value: { regex: "/s/(m|n)" } },
              headers: [{ name: "h", headerMatchSpecifier: { case: "containsMatch", value: "x.y" } }]
            },
            action: to("a")
          },
          { match: { ...all, runtimeFraction: { defaultValue: { numerator: 50 } } }, action: to("b") },
          { match: all, action: split({ a: 1, b: 3 }) }
        )
      ])
    )
    const [, config] = ServiceConfig.step(ServiceConfig.empty, table.virtualHosts[0]?.routes ?? [], { keys })
    const made = Either.getOrThrow(PolicyRegistry.fromJson(registry, config["loadBalancingConfig"]))
    const steps = new Steps(made.policy).config(made)
    expect(steps.said).toEqual(["Create cds:a", "Create cds:b", "Create weighted:a_b_1", "State CONNECTING"])
    for (const name of ["cds:a", "cds:b", "weighted:a_b_1"]) steps.child(name, "READY", named(name))
    const picker = steps.told?.picker ?? Pickers.queue
    const pick = (path: string, h: string, drawn: number) =>
      outcome(
        CompiledPicker.pick(
          picker,
          callWith({ path, headers: { get: (name) => (name === "h" ? h : undefined) }, draw: () => drawn }),
          counters()
        )
      )
    expect([pick("/s/n", "axxyz", 0.9), pick("/s/n", "ax.yz", 0.9), pick("/s/n", "", 0.4), pick("/", "", 0.5)]).toEqual(
      ["weighted:a_b_1", "cds:a", "cds:b", "weighted:a_b_1"]
    )
  })
})
