import { create, fromBinary } from "@bufbuild/protobuf"
import { RouteActionSchema, RouteMatchSchema } from "@effect-xds/proto/envoy/config/route/v3/route_components"
import { FractionalPercentSchema } from "@effect-xds/proto/envoy/type/v3/percent"
import * as CallHeaders from "@effect-xds/routing/CallHeaders"
import * as HashPolicy from "@effect-xds/routing/HashPolicy"
import * as RetryPolicy from "@effect-xds/routing/RetryPolicy"
import * as RouteAction from "@effect-xds/routing/RouteAction"
import { Collector } from "@effect-xds/routing/RouteError"
import * as XxHash64 from "@effect-xds/routing/XxHash64"
import { WireType } from "@bufbuild/protobuf/wire"
import { describe, expect, it } from "@effect/vitest"
import * as Either from "effect/Either"
import { A28, all, call, host, reasons, sent, split, tableOf, to, when } from "./Routes.js"
import type { ActionInit, MatchInit } from "./Routes.js"

const domains = [["foo.bar.com"], ["*.bar.com"], ["foo.bar.*"], ["*"], ["pi.foo.bar.com", "314.*", "*.159"]].map(
  (each, index) => ({ name: String(index + 1), domains: each, routes: [{ match: all, action: to(String(index + 1)) }] })
)
const path = (value: string): MatchInit => ({ pathSpecifier: { case: "path", value } })
const prefix = (value: string): MatchInit => ({ pathSpecifier: { case: "prefix", value } })
const regex = (value: string): MatchInit => ({ pathSpecifier: { case: "safeRegex", value: { regex: value } } })
type HeaderInit = Exclude<MatchInit["headers"], undefined>[number]
const header = (
  name: string,
  headerMatchSpecifier: Exclude<HeaderInit["headerMatchSpecifier"], undefined>,
  invertMatch = false
): MatchInit => ({ ...all, headers: [{ name, headerMatchSpecifier, invertMatch }] })
const fraction = (numerator: number): MatchInit => ({ ...all, runtimeFraction: { defaultValue: { numerator } } })

describe("virtual hosts", () => {
  it.each([
    ["vector 1: exact, whatever the case", "FOO.bar.com", "1"],
    ["vector 2: a suffix", "1.bar.com", "2"],
    ["vector 3: a prefix", "foo.bar.org", "3"],
    ["vector 4: a suffix before a prefix", "foo.bar.159", "5"],
    ["vector 5: a suffix before a prefix that is longer", "314.bar.com", "2"]
  ])("%s", (_, authority, expected) => {
    expect(sent(domains, call("/s/m"), {}, authority)).toBe(expected)
  })

  it("vector 6: ★ the star of a suffix stands for at least one character", () => {
    expect(
      sent([{ name: "x", domains: ["*.foo"], routes: [{ match: all, action: to("x") }] }], call("/s/m"), {}, ".foo")
    ).toBe("NoVirtualHost")
  })

  it.each(["a.*.b", "**"])("vector 7: ★ %s is rejected", (domain) => {
    expect(reasons([{ name: "x", domains: [domain], routes: [] }])).toEqual(["InvalidDomain"])
  })

  it("vector 8: ★ the port belongs to the host", () => {
    const only = [{ name: "x", domains: ["foo"], routes: [{ match: all, action: to("x") }] }]
    expect(sent(only, call("/s/m"), {}, "foo:80")).toBe("NoVirtualHost")
  })

  it("domain empty, no domains: each a NACK", () => {
    expect(reasons([{ name: "x", domains: [""], routes: [] }, { name: "y" }])).toEqual(["InvalidDomain", "NoDomains"])
  })

  it("the same domain twice: the first wins, with a warning", () => {
    const twice = [
      { name: "x", domains: ["a"], routes: [{ match: all, action: to("x") }] },
      { name: "y", domains: ["A"], routes: [{ match: all, action: to("y") }] }
    ]
    const table = Either.getOrThrow(tableOf(twice))
    expect(sent(twice, call("/s/m"), {}, "a")).toBe("x")
    expect(table.warnings).toEqual([
      'virtual_hosts[1].domains[0]: "A" belongs to virtual_hosts[0] already, which is used'
    ])
  })
})

describe("paths", () => {
  it("vector 9: the first match wins", () => {
    const routes = host(
      { match: prefix("/MyService"), action: to("1") },
      { match: path("/MyService/MyMethod"), action: to("2") }
    )
    expect(sent([routes], call("/MyService/MyMethod"), A28)).toBe("1")
  })

  it("vector 10: ★ a regular expression matches the whole path, alternatives too", () => {
    expect(sent([when(regex("/a|/b"))], call("/b"))).toBe("hit")
    expect(sent([when(regex("/a|/b"))], call("/bx"))).toBe("NoRoute")
  })

  it("vector 11: ★ a regular expression that is none is rejected", () => {
    expect(reasons([when(regex("("))])).toEqual(["InvalidRegex"])
    expect(reasons([when(regex("(?=a)"))], A28)).toEqual(["InvalidRegex"])
  })

  it("prefixes of several lengths, one of which is longer than the path: the first that matches wins", () => {
    const prefixes = ["/s/method", "/s/m", "/s"].map((value) => ({
      match: { pathSpecifier: { case: "prefix" as const, value } },
      action: to(value)
    }))
    expect(["/s/methods", "/s/m", "/s/n", "/t"].map((path) => sent([host(...prefixes)], call(path)))).toEqual([
      "/s/method",
      "/s/m",
      "/s",
      "NoRoute"
    ])
  })

  it("vector 12: an empty prefix matches all", () => {
    expect(sent([when(prefix(""))], call("/s/m"))).toBe("hit")
  })

  it("vectors 13, 14: ★ case_sensitive false: a path stays a path", () => {
    const match = { ...path("/S/M"), caseSensitive: false }
    expect(sent([when(match)], call("/s/m"))).toBe("hit")
    expect(sent([when(match)], call("/s/mx"))).toBe("NoRoute")
  })

  it("vector 15: case_sensitive false is rejected by A28", () => {
    expect(reasons([when({ ...path("/S/M"), caseSensitive: false })], A28)).toEqual(["CaseInsensitive"])
  })

  it("no match; no path_specifier; regex of v2: rejected", () => {
    expect(reasons([host({ action: to("x") })])).toEqual(["MatchMissing"])
    expect(reasons([when({})])).toEqual(["PathSpecifier"])
    const message = create(RouteMatchSchema, {})
    message.$unknown = [{ no: 3, wireType: WireType.LengthDelimited, data: Uint8Array.of(1, 97) }]
    const made = tableOf([host({ match: message, action: to("x") })])
    expect(Either.isLeft(made) && made.left[0]?.message).toBe("regex of the v2 API is not supported; use safe_regex")
  })
})

describe("headers", () => {
  it.each<[string, MatchInit, ReadonlyArray<readonly [string, string]>, boolean]>([
    ["16: ★ absent, exact, inverted", header("h", { case: "exactMatch", value: "a" }, true), [], false],
    ["17: absent, present, inverted", header("h", { case: "presentMatch", value: true }, true), [], true],
    ["18: absent, not present", header("h", { case: "presentMatch", value: false }), [], true],
    ["19: ★ empty is present", header("h", { case: "presentMatch", value: true }), [["h", ""]], true],
    [
      "20: several values, joined by a comma",
      header("h", { case: "exactMatch", value: "a,b" }),
      [
        ["h", "a"],
        ["h", "b"]
      ],
      true
    ],
    ["22: range −1", header("h", { case: "rangeMatch", value: { start: -10n, end: 0n } }), [["h", "-1"]], true],
    ["23: range 0", header("h", { case: "rangeMatch", value: { start: -10n, end: 0n } }), [["h", "0"]], false],
    ["24: range 10.9", header("h", { case: "rangeMatch", value: { start: 0n, end: 20n } }), [["h", "10.9"]], false],
    [
      "25: range, inverted, x",
      header("h", { case: "rangeMatch", value: { start: 0n, end: 1n } }, true),
      [["h", "x"]],
      true
    ],
    [
      "26: content-type is that of gRPC",
      header("content-type", { case: "exactMatch", value: "application/grpc" }),
      [["content-type", "application/json"]],
      true
    ],
    ["27: a binary header is absent", header("k-bin", { case: "exactMatch", value: "a" }), [["k-bin", "a"]], false],
    [
      "28: a binary header is not present",
      header("k-bin", { case: "presentMatch", value: false }),
      [["k-bin", "a"]],
      true
    ]
  ])("vector %s", (_, match, headers, expected) => {
    expect(sent([when(match)], call("/s/m", headers))).toBe(expected ? "hit" : "NoRoute")
  })

  it("vector 21: ★ a Headers object has joined with a blank", () => {
    const headers = new Headers([
      ["h", "a"],
      ["h", "b"]
    ])
    expect(sent([when(header("h", { case: "exactMatch", value: "a,b" }))], { ...call("/s/m"), headers })).toBe(
      "NoRoute"
    )
    expect(sent([when(header("h", { case: "exactMatch", value: "a, b" }))], { ...call("/s/m"), headers })).toBe("hit")
  })

  it.each(["x y", "é", "a:b", "a\tb"])("★ of %j, which no header can be called, a Headers object has none", (name) => {
    const of = (value: boolean) => sent([when(header(name, { case: "presentMatch", value }))], asked)
    const asked = { ...call("/s/m"), headers: new Headers([["h", "a"]]) }
    expect([of(true), of(false)]).toEqual(["NoRoute", "hit"])
  })

  it.each<[string, MatchInit, string]>([
    ["no specifier", { ...all, headers: [{ name: "h" }] }, "HeaderSpecifier"],
    ["an empty name", header("", { case: "presentMatch", value: true }), "EmptyPattern"],
    ["an empty prefix", header("h", { case: "prefixMatch", value: "" }), "EmptyPattern"],
    ["an empty suffix", header("h", { case: "suffixMatch", value: "" }), "EmptyPattern"],
    ["an empty part", header("h", { case: "containsMatch", value: "" }), "EmptyPattern"],
    ["start after end", header("h", { case: "rangeMatch", value: { start: 2n, end: 1n } }), "InvalidRange"],
    [
      "regex_match of v2",
      {
        ...all,
        headers: [{ name: "h", $unknown: [{ no: 5, wireType: WireType.LengthDelimited, data: Uint8Array.of(1, 97) }] }]
      },
      "HeaderSpecifier"
    ]
  ])("%s: rejected", (_, match, reason) => {
    expect(reasons([when(match)])).toEqual([reason])
  })

  it("contains and string_match are not of A28", () => {
    expect(reasons([when(header("h", { case: "containsMatch", value: "a" }))], A28)).toEqual(["HeaderSpecifier"])
    const string = header("h", {
      case: "stringMatch",
      value: { matchPattern: { case: "exact", value: "AbC" }, ignoreCase: true }
    })
    expect(reasons([when(string)], A28)).toEqual(["HeaderSpecifier"])
    expect(sent([when(string)], call("/s/m", [["H", "aBc"]]))).toBe("hit")
  })

  it("numbers of a range are of 64 bits", () => {
    const match = header("h", { case: "rangeMatch", value: { start: 0n, end: 9223372036854775807n } })
    expect(sent([when(match)], call("/s/m", [["h", "9223372036854775806"]]))).toBe("hit")
    expect(sent([when(match)], call("/s/m", [["h", "9223372036854775808"]]))).toBe("NoRoute")
    expect(sent([when(match)], call("/s/m", [["h", `+${"0".repeat(65_536)}7`]]))).toBe("hit")
    expect(sent([when(match)], call("/s/m", [["h", ""]]))).toBe("NoRoute")
  })
})

describe("fractions", () => {
  it.each<[string, number, number, boolean, "current" | "A28"]>([
    ["29", 0, 0, false, "current"],
    ["30: ★ A28 takes one in a million", 0, 0, true, "A28"],
    ["31", 100, 0.999, true, "current"],
    ["32: ★ no overflow", 429_497, 0.999999, true, "current"]
  ])("vector %s", (_, numerator, drawn, expected, rules) => {
    expect(sent([when(fraction(numerator))], call("/s/m", [], drawn), { rules })).toBe(expected ? "hit" : "NoRoute")
  })

  it("no default_value, unknown denominator: rejected", () => {
    expect(reasons([when({ ...all, runtimeFraction: { runtimeKey: "x" } })])).toEqual(["Fraction"])
    // 100 with a denominator of 7, which no version of the proto has.
    const unknown = fromBinary(FractionalPercentSchema, Uint8Array.of(8, 100, 16, 7))
    expect(reasons([when({ ...all, runtimeFraction: { defaultValue: unknown } })])).toEqual(["Fraction"])
  })

  it("what is no number counts as 0", () => {
    expect(sent([when(fraction(1))], call("/s/m", [], Number.NaN))).toBe("hit")
    expect(sent([when(fraction(99))], call("/s/m", [], Number.POSITIVE_INFINITY))).toBe("NoRoute")
  })
})

describe("actions", () => {
  const cluster = (clusterSpecifier: object): ActionInit => ({ case: "route", value: { ...clusterSpecifier } })

  it("vector 33: ★ query_parameters: ignored before the rest of it is checked", () => {
    expect(reasons([when({ queryParameters: [{ name: "q" }] })])).toEqual([])
    expect(sent([when({ queryParameters: [{ name: "q" }] })], call("/s/m"))).toBe("NoRoute")
  })

  it("vector 34: cluster_header: ignored", () => {
    const routes = host({ match: all, action: cluster({ clusterSpecifier: { case: "clusterHeader", value: "h" } }) })
    expect(sent([routes], call("/s/m"))).toBe("NoRoute")
    expect(reasons([routes], A28)).toEqual([])
  })

  it("vector 35: ★ cluster_specifier unset: ignored, by A28 rejected", () => {
    const routes = host({ match: all, action: cluster({}) }, { match: all, action: to("next") })
    expect(sent([routes], call("/s/m"))).toBe("next")
    expect(reasons([routes], A28)).toEqual(["ClusterSpecifier"])
  })

  it.each<[string, Record<string, number>, ReadonlyArray<string>, ReadonlyArray<string>]>([
    ["36", { a: 75, b: 25 }, [], []],
    ["37", { a: 50, b: 30 }, [], ["WeightSum"]],
    ["38", { a: 0, b: 0 }, ["WeightSum"], ["WeightSum"]],
    ["39", { a: 4294967295, b: 1 }, ["WeightSum"], ["WeightSum"]]
  ])("vector %s: weights", (_, weights, current, draft) => {
    const routes = host({ match: all, action: split(weights) })
    expect(reasons([routes])).toEqual(current)
    expect(reasons([routes], A28)).toEqual(draft)
  })

  it.each([
    ["40", 0.199, "a"],
    ["41", 0.2, "b"]
  ])("vector %s: draw %d", (_, drawn, expected) => {
    const made = RouteAction.make(
      create(RouteActionSchema, {
        clusterSpecifier: {
          case: "weightedClusters",
          value: { clusters: [{ name: "a", weight: 20 }, { name: "z" }, { name: "b", weight: 80 }] }
        }
      }),
      "route",
      "current",
      new Set(),
      new Collector()
    )
    expect(made?._tag === "Action" && RouteAction.cluster(made.action.clusters, () => drawn).cluster).toBe(expected)
  })

  it("an action that is not route: a call that matches fails; A28 rejects it", () => {
    const routes = host({ match: all, action: { case: "redirect", value: {} } })
    expect(sent([routes], call("/s/m"))).toBe("ActionNotRoute")
    expect(reasons([routes], A28)).toEqual(["Action"])
  })

  it("an empty cluster name is rejected", () => {
    expect(reasons([host({ match: all, action: to("") })])).toEqual(["ClusterName"])
    expect(reasons([host({ match: all, action: split({ "": 1 }) })])).toEqual(["ClusterName"])
  })

  it("typed_per_filter_config: an unknown type that is not optional is rejected, by its path", () => {
    const any = { typeUrl: "type.googleapis.com/acme.Filter", value: new Uint8Array() }
    const made = tableOf([{ ...host({ match: all, action: to("x") }), typedPerFilterConfig: { acme: any } }])
    expect(Either.isLeft(made) && made.left).toEqual([
      {
        path: 'virtual_hosts[0].typed_per_filter_config["acme"]',
        reason: "UnknownFilter",
        message:
          "no HTTP filter of this client is configured by type.googleapis.com/acme.Filter; remove it, or wrap it in a FilterConfig with is_optional"
      }
    ])
  })

  it("all mistakes are told, each with its path", () => {
    const made = tableOf([host({ match: regex("("), action: to("") }, { match: {}, action: split({ a: 0 }) })])
    expect(Either.isLeft(made) && made.left.map((error) => error.path)).toEqual([
      "virtual_hosts[0].routes[0].match.safe_regex.regex",
      "virtual_hosts[0].routes[0].route.cluster",
      "virtual_hosts[0].routes[1].match",
      "virtual_hosts[0].routes[1].route.weighted_clusters"
    ])
  })

  it("A28 looks only at virtual hosts that the client's hosts select", () => {
    const hosts = [
      { name: "x", domains: ["x"], routes: [{ match: {}, action: to("x") }] },
      { name: "y", domains: ["y"], routes: [{ match: all, action: to("y") }] }
    ]
    expect(reasons(hosts, { rules: "A28", hosts: ["y"] })).toEqual([])
    expect(reasons(hosts, { rules: "A28", hosts: ["x"] })).toEqual(["PathSpecifier"])
    expect(reasons(hosts, { hosts: ["y"] })).toEqual(["PathSpecifier"])
  })
})

describe("deadlines and retries", () => {
  const actionOf = (value: object): RouteAction.RouteAction => {
    const errors = new Collector()
    const message = create(RouteActionSchema, { clusterSpecifier: { case: "cluster", value: "x" }, ...value })
    const made = RouteAction.make(message, "route", "current", new Set(), errors)
    if (made?._tag !== "Action") throw new Error(JSON.stringify(errors.errors))
    return made.action
  }
  const seconds = (n: number) => ({ seconds: BigInt(n) })

  it("vector 60: grpc_timeout_header_max 0 hides the duration of 5 s: the caller's 20 s", () => {
    const action = actionOf({ maxStreamDuration: { grpcTimeoutHeaderMax: seconds(0), maxStreamDuration: seconds(5) } })
    expect(RouteAction.timeout(action, undefined, 20_000)).toBe(20_000)
  })

  it("vector 61: no caller, grpc_timeout_header_max 10 s", () => {
    expect(
      RouteAction.timeout(actionOf({ maxStreamDuration: { grpcTimeoutHeaderMax: seconds(10) } }), undefined, undefined)
    ).toBe(10_000)
  })

  it("vector 62: caller 20 s, duration 10 s", () => {
    expect(
      RouteAction.timeout(actionOf({ maxStreamDuration: { maxStreamDuration: seconds(10) } }), 5_000, 20_000)
    ).toBe(10_000)
  })

  it("★ a route's 0 hides the listener's 10 s; `timeout` is not used", () => {
    expect(
      RouteAction.timeout(actionOf({ maxStreamDuration: { maxStreamDuration: seconds(0) } }), 10_000, undefined)
    ).toBe(Infinity)
    expect(RouteAction.timeout(actionOf({ timeout: seconds(1) }), 10_000, undefined)).toBe(10_000)
  })

  const retrying = (retryPolicy: object) =>
    host({
      match: all,
      action: { case: "route", value: { clusterSpecifier: { case: "cluster", value: "x" }, retryPolicy } }
    })

  it("vector 63: num_retries 0 is rejected", () => {
    expect(reasons([retrying({ retryOn: "unavailable", numRetries: 0 })])).toEqual(["RetryPolicy"])
  })

  it("vector 64: num_retries 9: 5 attempts", () => {
    expect(actionOf({ retryPolicy: { retryOn: " unavailable, 5xx", numRetries: 9 } }).retry).toEqual({
      codes: new Set(["UNAVAILABLE"]),
      maxAttempts: 5,
      baseInterval: 25,
      maxInterval: 250
    })
  })

  it.each([
    [undefined, undefined],
    ["0", 0],
    ["2147483647", 2_147_483_647],
    ["2147483648", "stop"],
    ["-1", "stop"],
    ["1.5", "stop"],
    ["", "stop"]
  ])("a pushback is a number of 32 bits (A6): %s", (value, expected) => {
    expect(RetryPolicy.pushback(value)).toBe(expected)
  })

  it("vector 65: ★ retry_on 5xx: no retries", () => {
    expect(actionOf({ retryPolicy: { retryOn: "5xx" } }).retry).toBeUndefined()
  })

  it("a retry_back_off needs a base_interval, and a max_interval that is not less", () => {
    expect(reasons([retrying({ retryOn: "internal", retryBackOff: {} })])).toEqual(["RetryPolicy"])
    const less = { baseInterval: seconds(2), maxInterval: seconds(1) }
    expect(reasons([retrying({ retryOn: "internal", retryBackOff: less })])).toEqual(["RetryPolicy"])
  })
})

describe("hashes", () => {
  const header = (name: string, rewrite?: { regex: string; substitution: string }) =>
    HashPolicy.make(
      {
        $typeName: "envoy.config.route.v3.RouteAction.HashPolicy",
        terminal: false,
        policySpecifier: {
          case: "header",
          value: {
            $typeName: "envoy.config.route.v3.RouteAction.HashPolicy.Header",
            headerName: name,
            regexRewrite:
              rewrite === undefined
                ? undefined
                : {
                    $typeName: "envoy.type.matcher.v3.RegexMatchAndSubstitute",
                    pattern: {
                      $typeName: "envoy.type.matcher.v3.RegexMatcher",
                      regex: rewrite.regex,
                      engineType: { case: undefined }
                    },
                    substitution: rewrite.substitution
                  }
          }
        }
      },
      "",
      new Collector()
    )

  it.each([
    ["", 17241709254077376921n],
    ["a", 15154266338359012955n],
    ["abc", 4952883123889572249n],
    ["a,b", 17358165467599719520n],
    ["é", 1717938401253289848n],
    ["10.0.0.1:80_0", 8431885850995268104n],
    ["x".repeat(100), 10588207204368892052n]
  ])("vectors 73, 74, 75: XXH64 of %j", (text, expected) => {
    expect(XxHash64.ofString(text)).toBe(expected)
  })

  it("vector 76: policies are combined, in their order", () => {
    const headers = CallHeaders.fromEntries([
      ["ha", "a"],
      ["hb", "b"]
    ])
    const hash = (...names: ReadonlyArray<string>) =>
      HashPolicy.hash(
        names.map((name) => header(name)),
        headers,
        0n
      )
    expect([hash("ha", "hb"), hash("hb", "ha"), hash("ha", "ha")]).toEqual([
      15913648788416971564n,
      2505287493334290797n,
      8562272060470244076n
    ])
    expect(hash("none")).toBeUndefined()
  })

  it("vector 77: ★ all matches are replaced, also empty ones", () => {
    const policy = header("h", { regex: "", substitution: "e" })
    expect(HashPolicy.hash([policy], CallHeaders.fromEntries([["h", "abc"]]), 0n)).toBe(8461995310473743562n)
  })
})
