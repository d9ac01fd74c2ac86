/** What nobody should send: the mistake that is named, what is used then, and how much work it is. */
import { create } from "@bufbuild/protobuf"
import { ClusterLoadAssignmentSchema } from "@effect-xds/proto/envoy/config/endpoint/v3/endpoint"
import * as Assignment from "@effect-xds/routing/Assignment"
import type { Cluster } from "@effect-xds/routing/Cluster"
import * as Endpoint from "@effect-xds/routing/Endpoint"
import * as PathMatcher from "@effect-xds/routing/PathMatcher"
import * as CompiledPicker from "@effect-xds/routing/CompiledPicker"
import * as Pickers from "@effect-xds/routing/Picker"
import * as RegularExpression from "@effect-xds/re2/RegularExpression"
import * as Ring from "@effect-xds/routing/Ring"
import * as RouteAction from "@effect-xds/routing/RouteAction"
import * as RouteTable from "@effect-xds/routing/RouteTable"
import * as XdsConfig from "@effect-xds/routing/XdsConfig"
import { describe, expect, it } from "@effect/vitest"
import * as Either from "effect/Either"
import { all, call, host, reasons, sent, split, tableOf, to, when } from "./Routes.js"
import { callWith, counters, named, outcome } from "./Steps.js"
import { aggregateOf, assignmentOf, clusterOf, listenerOf, routesOf, value } from "./World.js"

const emptyRegex = { case: "safeRegexMatch" as const, value: { regex: "" } }

/** How often code reads a character of a text, or asks for a part of it, while something is done. */
const readsOf = (action: () => void): number => {
  const names = ["charCodeAt", "codePointAt", "charAt"] as const
  const before = names.map((name) => Object.getOwnPropertyDescriptor(String.prototype, name) ?? {})
  let reads = 0
  for (const [index, name] of names.entries()) {
    const original: unknown = before[index]?.value
    if (typeof original !== "function") throw new Error(`no String.prototype.${name}`)
    Object.defineProperty(String.prototype, name, {
      ...before[index],
      value: function (this: string, at: number): unknown {
        reads++
        return Reflect.apply(original, this, [at])
      }
    })
  }
  try {
    action()
  } finally {
    for (const [index, name] of names.entries()) Object.defineProperty(String.prototype, name, before[index] ?? {})
  }
  return reads
}

describe("regular expressions", () => {
  it.each(["(a+)+$", "(a|a)*$", "(a|aa)+$", "(a*)*b", "(.*)(.*)(.*)(.*)x"])("%s is linear", (pattern) => {
    const regex = Either.getOrThrow(RegularExpression.make(pattern))
    const reads = [8_192, 16_384, 32_768].map((length) => {
      const text = `${"a".repeat(length)}!`
      return readsOf(() => expect(regex.matches(text)).toBe(false))
    })
    const [one = 0, two = 0, four = 0] = reads
    // It was looked at: else nothing is counted.
    expect(one).toBeGreaterThan(0)
    expect(two / one).toBeLessThan(2.1)
    expect(four / two).toBeLessThan(2.1)
    expect(four).toBeLessThan(8 * 32_768)
  })

  it.each([
    ["a lot of repetition", "((((a{1000}){1000}){1000}){1000})"],
    ["deep nesting", "(".repeat(30_000) + ")".repeat(30_000)],
    ["too long", "a".repeat(65_537)]
  ])("%s is rejected", (_, regex) => {
    expect(reasons([when({ pathSpecifier: { case: "safeRegex", value: { regex } } })])).toEqual(["InvalidRegex"])
  })

  // The rule of 1 character and more is one of Envoy's; grpc-js and grpc-go take it: see examples/grpc.
  it.each(["current", "A28"] as const)("an empty one is taken, and is that of an empty text (%s)", (rules) => {
    const match = { ...all, headers: [{ name: "h", headerMatchSpecifier: emptyRegex }] }
    const table = Either.getOrThrow(tableOf([host({ match, action: to("x") })], { rules }))
    const outcomeOf = (...headers: ReadonlyArray<readonly [string, string]>) =>
      RouteTable.match(table, "any", call("/", headers))._tag
    expect([outcomeOf(["h", ""]), outcomeOf(["h", "a"]), outcomeOf()]).toEqual(["Route", "NoRoute", "NoRoute"])
  })

  it("★ replacing all matches of a pattern that looks through the rest for each ends", () => {
    const regex = Either.getOrThrow(RegularExpression.make("a.*b|a"))
    // Searches of 65 536 characters with eight instructions each; the rest stays.
    const text = "a".repeat(65_536)
    expect(regex.replaceAll(text, "x")).toBe(`xx${text.slice(2)}`)
    expect(regex.replaceAll(text.slice(0, 362), "x")).toBe("x".repeat(362))
    // One search for each match, which are few.
    const long = `${"-".repeat(65_000)}abababab`
    expect(Either.getOrThrow(RegularExpression.make("a")).replaceAll(long, "x")).toBe(`${"-".repeat(65_000)}xbxbxbxb`)
    // A large pattern takes longer for each character.
    const large = Either.getOrThrow(RegularExpression.make("(?:\\pL?){500}\\pN|a"))
    expect(large.replaceAll(text.slice(0, 700), "x")).toBe(`x${"a".repeat(699)}`)
  })

  it("a header of 64 KB", () => {
    const big = "a".repeat(65_536)
    const regex = [
      when({
        ...all,
        headers: [{ name: "h", headerMatchSpecifier: { case: "safeRegexMatch", value: { regex: "(a+)+" } } }]
      })
    ]
    const exact = [when({ ...all, headers: [{ name: "h", headerMatchSpecifier: { case: "exactMatch", value: big } }] })]
    for (const virtualHosts of [regex, exact]) {
      expect(sent(virtualHosts, call("/", [["h", big]]))).toBe("hit")
      expect(sent(virtualHosts, call("/", [["h", `${big}!`]]))).toBe("NoRoute")
    }
  })
})

describe("100 000 routes", () => {
  const paths = Array.from({ length: 100_000 }, (_, index) => `/s.S${index % 100}/m${index}`)

  it("one route is looked at for a path, none for another", () => {
    const matchers = paths.map((text): PathMatcher.PathMatcher => ({ _tag: "Path", text, fold: false }))
    const index = PathMatcher.index([...matchers, { _tag: "Prefix", text: "/s.S7/", fold: false }])
    const looks = (path: string) => {
      const seen: Array<number> = []
      PathMatcher.first(index, path, (at) => {
        seen.push(at)
        return false
      })
      return seen
    }
    expect(looks("/s.S99/m99999")).toEqual([99_999])
    expect(looks("/s.S7/m7")).toEqual([7, 100_000])
    expect(looks("/s.S7/none")).toEqual([100_000])
    expect(looks("/none")).toEqual([])
  })

  it("virtual hosts of the same number: a host is found by look-ups", () => {
    const table = Either.getOrThrow(
      tableOf(
        paths.slice(0, 5_000).map((path, index) => ({
          name: path,
          domains: [`h${index}.test`],
          routes: [{ match: all, action: to(`c${index}`) }]
        }))
      )
    )
    const reads = readsOf(() => {
      expect(RouteTable.match(table, "h4999.test", call("/"))).toMatchObject({
        route: { action: { clusters: { cluster: "c4999" } } }
      })
      expect(RouteTable.match(table, "h.test", call("/"))._tag).toBe("NoVirtualHost")
    })
    expect(reads).toBeLessThan(1_000)
  })
})

describe("mistakes", () => {
  it("weights of zero, over 2³²−1; two stars", () => {
    expect(reasons([host({ match: all, action: split({ a: 0 }) })])).toEqual(["WeightSum"])
    expect(reasons([host({ match: all, action: split({ a: 4_294_967_295, b: 1 }) })])).toEqual(["WeightSum"])
    expect(reasons([{ name: "v", domains: ["*.a.*"], routes: [] }])).toEqual(["InvalidDomain"])
  })

  it("hundreds of mistakes: the first hundred are told", () => {
    const routes = Array.from({ length: 1_000 }, () => ({ match: {}, action: to("") }))
    const made = tableOf([host(...routes)])
    expect(Either.isLeft(made) && made.left.length).toBe(100)
  })

  it.each([2, 128, 4_294_967_294, 4_294_967_295])("★ a gap before priority %d", (priority) => {
    const made = Assignment.make(
      create(ClusterLoadAssignmentSchema, {
        clusterName: "a",
        endpoints: [
          { priority: 0, locality: { zone: "z" }, loadBalancingWeight: 1 },
          { priority, locality: { zone: "z" }, loadBalancingWeight: 1 }
        ]
      })
    )
    expect(Either.isLeft(made) && made.left).toEqual([
      {
        path: "endpoints",
        reason: "PriorityGap",
        message: "no locality has priority 1, and one has a higher one; leave no gap"
      }
    ])
  })
})

describe("numbers that are drawn", () => {
  const strange = [Number.NaN, -1, 1, 2, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]

  it.each(strange)("%d: a cluster is chosen, a call is sent", (drawn) => {
    const clusters = { _tag: "Weighted" as const, targets: [target("a", 1, 1), target("b", 3, 4)], sum: 4 }
    const last = drawn >= 1
    expect(RouteAction.cluster(clusters, () => drawn).cluster).toBe(last ? "b" : "a")
    const picker = Pickers.weighted([
      [1, named("a")],
      [3, named("b")]
    ])
    expect(outcome(CompiledPicker.pick(picker, callWith({ draw: () => drawn }), counters()))).toBe(last ? "b" : "a")
    const fraction = [
      host(
        { match: { ...all, runtimeFraction: { defaultValue: { numerator: 50 } } }, action: to("half") },
        { match: all, action: to("rest") }
      )
    ]
    expect(sent(fraction, call("/", [], drawn))).toBe(last ? "rest" : "half")
  })

  it.each(strange)("%d: a place in a ring", (drawn) => {
    const keys = ["10.0.0.1:80", "10.0.0.2:80"]
    const ring = Ring.make(
      keys.map((key) => ({ key, weight: 1 })),
      8,
      8
    )
    const children = keys.map((key) => ({ _tag: "Ready" as const, child: named(key) }))
    const picked = CompiledPicker.pick({ _tag: "Ring", ring, children }, callWith({ draw: () => drawn }), counters())
    expect(keys).toContain(outcome(picked))
  })

  it("a ring of weights that are none", () => {
    expect(Ring.make([{ key: "a", weight: 0 }], 8, 8).hashes.length).toBe(0)
    expect(Ring.make([], 8, 8).hashes.length).toBe(0)
  })
})

const target = (cluster: string, weight: number, end: number): RouteAction.Target => ({
  cluster,
  weight,
  end,
  filters: new Map()
})

describe("aggregate clusters", () => {
  /** A configuration with these clusters, all of which and their endpoints come when they are asked for. */
  const settle = (clusters: ReadonlyMap<string, Either.Either<Cluster, unknown>>, ...routed: ReadonlyArray<string>) => {
    let state = XdsConfig.make("shop", "shop")
    const inputs: Array<XdsConfig.Input> = [{ _tag: "Start" }]
    const watched: Array<string> = []
    for (let input = inputs.shift(); input !== undefined; input = inputs.shift()) {
      const [next, outputs] = XdsConfig.step(state, input)
      state = next
      for (const output of outputs) {
        if (output._tag !== "Watch") continue
        const { kind, name } = output
        watched.push(name)
        if (kind === "Listener") inputs.push({ _tag: kind, name, known: value(listenerOf("routes")) })
        if (kind === "RouteConfiguration") {
          const weights = Object.fromEntries(routed.map((cluster) => [cluster, 1]))
          inputs.push({ _tag: kind, name, known: value(routesOf({ match: all, action: split(weights) })) })
        }
        if (kind === "Cluster") inputs.push({ _tag: kind, name, known: value(clusters.get(name) ?? clusterOf(name)) })
        if (kind === "Assignment") inputs.push({ _tag: kind, name, known: value(assignmentOf(name, [1])) })
      }
    }
    const { told } = state
    return { watched, clusters: told?._tag === "Config" ? told.config.clusters : undefined }
  }

  const chain = (length: number) =>
    new Map(Array.from({ length }, (_, index) => [`d${index}`, aggregateOf(`d${index}`, `d${index + 1}`)] as const))

  it("a cycle adds nothing; nothing but a cycle is an error", () => {
    const cycle = settle(new Map([["a", aggregateOf("a", "b", "leaf")], ["b", aggregateOf("b", "a")]]), "a") // prettier-ignore
    expect(cycle.clusters?.get("a")).toMatchObject({ _tag: "Aggregate", leaves: ["leaf"] })
    const only = settle(new Map([["a", aggregateOf("a", "a")]]), "a")
    expect(only.clusters?.get("a")).toEqual({ _tag: "Failed", message: 'Cluster "a": none of its clusters exists' })
  })

  it("15 levels under the first are the most", () => {
    expect(settle(chain(15), "d0").clusters?.get("d0")).toMatchObject({ _tag: "Aggregate", leaves: ["d15"] })
    const { clusters } = settle(chain(16), "d0")
    expect(clusters?.get("d0")).toMatchObject({ _tag: "Failed" })
    expect(JSON.stringify(clusters?.get("d0"))).toContain("nested deeper than 16")
  })

  it("★ one that is too deep and, by another route, not: all that it names is watched, nobody waits for ever", () => {
    const { clusters, watched } = settle(chain(17), "d0", "d15")
    expect(watched).toContain("d17")
    expect(clusters?.get("d0")).toMatchObject({ _tag: "Failed" })
    expect(clusters?.get("d15")).toMatchObject({ _tag: "Aggregate", leaves: ["d17"] })
  })

  it("that share all others: each is looked at once", () => {
    const clusters = new Map(
      Array.from({ length: 14 }, (_, level) =>
        ["x", "y"].map((name) => {
          const own = `${name}${level}`
          return [own, aggregateOf(own, `x${level + 1}`, `y${level + 1}`)] as const
        })
      ).flat()
    )
    const { clusters: found, watched } = settle(clusters, "x0")
    expect(found?.get("x0")).toMatchObject({ _tag: "Aggregate", leaves: ["x14", "y14"] })
    expect(new Set(watched).size).toBeLessThan(40)
  })
})

it("endpoints of the same addresses are one", () => {
  const endpoints = [["a:1"], ["a:1"], ["a:2", "a:1"], ["a:1", "a:2"]].map((addresses) => Endpoint.make(addresses))
  expect(Array.from(Endpoint.byKey(endpoints).keys())).toEqual(["a:1", "a:1 a:2"])
})
