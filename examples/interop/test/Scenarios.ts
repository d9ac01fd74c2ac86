/** What clients are judged by, as data: the tests of gRPC's interop framework for xDS, each in its steps. */
import type { MessageInitShape } from "@bufbuild/protobuf"
import { Code } from "@connectrpc/connect"
import type { HeaderMatcherSchema } from "@effect-xds/proto/envoy/config/route/v3/route_components"
import type { StringMatcherSchema } from "@effect-xds/proto/envoy/type/matcher/v3/string"
import type { Metadata } from "../src/Calls.js"
import type { Method } from "../src/Testing.js"
import type { ClusterOf, Match, Mesh, RouteTo } from "./Mesh.js"

type HeaderInit = MessageInitShape<typeof HeaderMatcherSchema>
type StringInit = MessageInitShape<typeof StringMatcherSchema>

type ByMethod<A> = Readonly<Partial<Record<Method, A>>>

export type Expectation =
  /** Who answers: hosts by their share of the calls of a method. No call fails. */
  | {
      readonly _tag: "Shares"
      readonly of: ByMethod<Readonly<Record<string, number>>>
      /** Hosts take turns: in so many windows, one after the other, their counts differ by a few calls at most. */
      readonly turns?: number
    }
  /** Who answers, as soon as no call of a few fails. Later calls are not judged. */
  | { readonly _tag: "Routed"; readonly of: ByMethod<Readonly<Record<string, number>>> }
  /** How all calls of a method end. */
  | { readonly _tag: "Statuses"; readonly of: ByMethod<number> }
  /** So many calls of a method are open and stay so; all others are UNAVAILABLE. */
  | { readonly _tag: "Open"; readonly of: ByMethod<number> }

export interface Step {
  readonly what: string
  /** What the control plane serves from now on. */
  readonly mesh: Mesh
  /** Hosts that are stopped meanwhile. */
  readonly stopped?: ReadonlyArray<string>
  /** Default: `UnaryCall`. */
  readonly methods?: ReadonlyArray<Method>
  readonly metadata?: ReadonlyArray<Metadata>
  /** How long a call may take. Default: 120. */
  readonly timeoutSeconds?: number
  readonly expect: Expectation
  /** ★ What ours promises besides: no call fails between the last step and this one. */
  readonly failsNone?: boolean
}

export interface Scenario {
  readonly name: string
  readonly title: string
  readonly steps: ReadonlyArray<Step>
}

const both: ReadonlyArray<Method> = ["EmptyCall", "UnaryCall"]

const even = (...hosts: ReadonlyArray<string>) => ({
  _tag: "Shares" as const,
  of: { UnaryCall: Object.fromEntries(hosts.map((host) => [host, 1])) },
  turns: 1
})

const toOnly = (of: ByMethod<string>) => ({
  _tag: "Shares" as const,
  of: Object.fromEntries(Object.entries(of).map(([method, host]) => [method, { [host]: 1 }]))
})

const hosts = (...names: ReadonlyArray<string>): ClusterOf => ({ priorities: [names] })

const allTo = (cluster: string): ReadonlyArray<RouteTo> => [{ to: { [cluster]: 1 } }]

const three: Mesh = { routes: allTo("trio"), clusters: { trio: hosts("t1", "t2", "t3") } }

const roundRobin: Scenario = {
  name: "round_robin",
  title: "hosts take turns",
  // Hosts that were drawn would pass one time in 8 000.
  steps: [{ what: "three hosts", mesh: three, expect: { ...even("t1", "t2", "t3"), turns: 6 } }]
}

const pair: Mesh = { routes: allTo("pair"), clusters: { pair: hosts("p1", "p2") } }

const backendsRestart: Scenario = {
  name: "backends_restart",
  title: "hosts that are stopped and started again are called as before",
  steps: [
    { what: "both run", mesh: pair, expect: even("p1", "p2") },
    {
      what: "both are stopped",
      mesh: pair,
      stopped: ["p1", "p2"],
      expect: { _tag: "Statuses", of: { UnaryCall: Code.Unavailable } }
    },
    { what: "both run again", mesh: pair, expect: even("p1", "p2") }
  ]
}

const near: Mesh = { routes: allTo("near"), clusters: { near: { priorities: [["n1", "n2"], ["far"]] } } }

const secondaryLocality: Scenario = {
  name: "secondary_locality_gets_requests_on_primary_failure",
  title: "a second locality is called while the first one fails, and only then",
  steps: [
    { what: "all run", mesh: near, expect: even("n1", "n2") },
    { what: "a part of the first fails", mesh: near, stopped: ["n1"], expect: even("n2") },
    { what: "all of the first fails", mesh: near, stopped: ["n1", "n2"], expect: even("far") },
    { what: "the first is back", mesh: near, expect: even("n1", "n2") }
  ]
}

const old: Mesh = {
  routes: allTo("old"),
  clusters: { old: hosts("o1", "o2"), new: hosts("w1", "w2") }
}

const changeBackendService: Scenario = {
  name: "change_backend_service",
  title: "a route that goes to another cluster takes all calls along",
  steps: [
    { what: "the old one", mesh: old, expect: even("o1", "o2") },
    { what: "the new one", mesh: { ...old, routes: allTo("new") }, expect: even("w1", "w2"), failsNone: true }
  ]
}

const parts = { small: hosts("s1"), large: hosts("l1", "l2") }
const split = (small: number, large: number): Mesh => ({ routes: [{ to: { small, large } }], clusters: parts })

const trafficSplitting: Scenario = {
  name: "traffic_splitting",
  title: "calls are divided by the weights of clusters",
  steps: [
    {
      what: "all to one",
      mesh: { routes: allTo("large"), clusters: parts },
      expect: even("l1", "l2")
    },
    {
      what: "20 to 80",
      mesh: split(20, 80),
      expect: { _tag: "Shares", of: { UnaryCall: { s1: 20, l1: 40, l2: 40 } } },
      failsNone: true
    }
  ]
}

const twoClusters = { main: hosts("main"), other: hosts("other") }
const emptyToOther = toOnly({ EmptyCall: "other", UnaryCall: "main" })
const unaryToOther = toOnly({ EmptyCall: "main", UnaryCall: "other" })

/** Calls that match go to `other`. ★ Who answers changes with each step: that is how it is seen that clients have it. */
const matching = (what: string, match: Match, expect: Expectation): Step => ({
  what,
  expect,
  methods: both,
  mesh: { routes: [{ match, to: { other: 1 } }, { to: { main: 1 } }], clusters: twoClusters }
})

const pathMatching: Scenario = {
  name: "path_matching",
  title: "routes match paths",
  steps: [
    matching(
      "the whole path",
      { pathSpecifier: { case: "path", value: "/grpc.testing.TestService/EmptyCall" } },
      emptyToOther
    ),
    matching("a prefix", { pathSpecifier: { case: "prefix", value: "/grpc.testing.TestService/Unary" } }, unaryToOther),
    matching(
      "whatever the case",
      {
        pathSpecifier: { case: "path", value: "/gRpC.tEsTiNg.tEsTsErViCe/eMpTyCaLl" },
        caseSensitive: false
      },
      emptyToOther
    ),
    matching(
      "an expression",
      { pathSpecifier: { case: "safeRegex", value: { regex: "/.*/U[a-z]+Call" } } },
      unaryToOther
    )
  ]
}

const metadata: ReadonlyArray<Metadata> = [
  { method: "EmptyCall", key: "xds_md", value: "exact_empty" },
  { method: "UnaryCall", key: "xds_md", value: "exact_unary" },
  { method: "UnaryCall", key: "xds_md_numeric", value: "159" }
]

const matchingHeader = (what: string, header: HeaderInit, expect: Expectation): Step => ({
  ...matching(what, { pathSpecifier: { case: "prefix", value: "" }, headers: [header] }, expect),
  metadata
})

const text = (matchPattern: NonNullable<StringInit["matchPattern"]>, invertMatch = false): HeaderInit => {
  const specifier = { case: "stringMatch", value: { matchPattern } } as const
  return { name: "xds_md", headerMatchSpecifier: specifier, invertMatch }
}
const isPresent = { case: "presentMatch", value: true } as const
const isInRange = { case: "rangeMatch", value: { start: 100n, end: 200n } } as const

const headerMatching: Scenario = {
  name: "header_matching",
  title: "routes match headers",
  steps: [
    matchingHeader("a whole value", text({ case: "exact", value: "exact_empty" }), emptyToOther),
    matchingHeader("a prefix", text({ case: "prefix", value: "exact_u" }), unaryToOther),
    matchingHeader("a suffix", text({ case: "suffix", value: "_empty" }), emptyToOther),
    matchingHeader("presence", { name: "xds_md_numeric", headerMatchSpecifier: isPresent }, unaryToOther),
    matchingHeader("another value", text({ case: "exact", value: "exact_unary" }, true), emptyToOther),
    matchingHeader("a range", { name: "xds_md_numeric", headerMatchSpecifier: isInRange }, unaryToOther),
    matchingHeader("an expression", text({ case: "safeRegex", value: { regex: "exact_(e|f)mpty" } }), emptyToOther)
  ]
}

const kept: ReadonlyArray<Metadata> = both.map((method) => ({ method, key: "rpc-behavior", value: "keep-open" }))

/** Clusters of this scenario alone, that may have so many calls: `UnaryCall` goes to one, `EmptyCall` to the other. */
const limited = (unary: number, empty: number): Mesh => ({
  routes: [
    { match: { pathSpecifier: { case: "path", value: "/grpc.testing.TestService/EmptyCall" } }, to: { wide: 1 } },
    { to: { narrow: 1 } }
  ],
  clusters: { narrow: { ...hosts("narrow"), maxRequests: unary }, wide: { ...hosts("wide"), maxRequests: empty } }
})

const breaking = (what: string, unary: number, empty: number): Step => ({
  what,
  methods: both,
  metadata: kept,
  // Longer than the test: what is open stays so.
  timeoutSeconds: 600,
  mesh: limited(unary, empty),
  expect: { _tag: "Open", of: { UnaryCall: unary, EmptyCall: empty } }
})

const circuitBreaking: Scenario = {
  name: "circuit_breaking",
  title: "no more calls are open than a cluster may have, and the others are UNAVAILABLE",
  steps: [
    // ★ First without calls that stay: while routes change, those would go to the other cluster, and count there for good.
    {
      what: "calls that end",
      methods: both,
      mesh: limited(15, 30),
      expect: { ...toOnly({ EmptyCall: "wide", UnaryCall: "narrow" }), _tag: "Routed" }
    },
    breaking("two limits", 15, 30),
    breaking("one is raised", 25, 30)
  ]
}

const sleeping = (seconds: number): ReadonlyArray<Metadata> => [
  { method: "UnaryCall", key: "rpc-behavior", value: `sleep-${seconds}` }
]

/**
 * The route of `UnaryCall` has a limit, that of `EmptyCall` has none. ★ Three hosts: Node's HTTP/2 servers end a connection
 * whose client cancels more than 1 000 calls and 33 a second, which each call does that ends by its limit.
 */
const timed = (limitMillis: number): Mesh => ({
  routes: [
    {
      match: { pathSpecifier: { case: "prefix", value: "/grpc.testing.TestService/Unary" } },
      to: { slow: 1 },
      limitMillis
    },
    { to: { slow: 1 } }
  ],
  clusters: { slow: hosts("x1", "x2", "x3") }
})
const slowHosts = { x1: 1, x2: 1, x3: 1 }

const ending = (unary: number): Expectation => ({ _tag: "Statuses", of: { UnaryCall: unary, EmptyCall: 0 } })

/** ★ The calls of a step end later than those of the step before it: none of these is taken for one of those. */
const timeout: Scenario = {
  name: "timeout",
  title: "a call ends by the limit of its route, or by its own where that is shorter",
  steps: [
    {
      what: "the server takes no time",
      methods: both,
      mesh: timed(500),
      expect: { _tag: "Routed", of: { EmptyCall: slowHosts, UnaryCall: slowHosts } }
    },
    {
      what: "the route of UnaryCall allows 0.5 s, the server takes 4 s",
      methods: both,
      metadata: sleeping(4),
      mesh: timed(500),
      expect: ending(Code.DeadlineExceeded)
    },
    {
      what: "the route allows 60 s, the server takes 1 s",
      methods: both,
      metadata: sleeping(1),
      mesh: timed(60_000),
      expect: ending(0)
    },
    {
      what: "the call allows 2 s, the server takes 4 s",
      metadata: sleeping(4),
      timeoutSeconds: 2,
      mesh: timed(60_000),
      expect: { _tag: "Statuses", of: { UnaryCall: Code.DeadlineExceeded } }
    }
  ]
}

export const scenarios: ReadonlyArray<Scenario> = [
  roundRobin,
  backendsRestart,
  secondaryLocality,
  changeBackendService,
  trafficSplitting,
  pathMatching,
  headerMatching,
  circuitBreaking,
  timeout
]
