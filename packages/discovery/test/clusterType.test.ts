/** Types of one's own, aggregates, and picks of ORIGINAL_DST. */
import { create, fromJson, type JsonObject } from "@bufbuild/protobuf"
import * as AggregateLeaves from "@effect-xds/discovery/AggregateLeaves"
import * as PriorityLoad from "@effect-xds/discovery/PriorityLoad"
import * as Assignment from "@effect-xds/discovery/Assignment"
import * as Cluster from "@effect-xds/discovery/Cluster"
import * as ClusterType from "@effect-xds/discovery/ClusterType"
import * as ClusterTypes from "@effect-xds/discovery/ClusterTypes"
import type * as Discovery from "@effect-xds/discovery/Discovery"
import * as Endpoint from "@effect-xds/discovery/Endpoint"
import * as Host from "@effect-xds/discovery/Host"
import type * as OriginalDst from "@effect-xds/discovery/OriginalDst"
import { pick } from "@effect-xds/discovery/OriginalDst"
import { ClusterSchema, Cluster_CustomClusterTypeSchema } from "@effect-xds/proto/envoy/config/cluster/v3/cluster"
import { ClusterLoadAssignmentSchema } from "@effect-xds/proto/envoy/config/endpoint/v3/endpoint"
import { describe, expect, it } from "@effect/vitest"
import * as fc from "fast-check"
import * as Either from "effect/Either"

const typeUrl = "type.googleapis.com/example.Counting"

type Own = ClusterType.ClusterType<string, number>

/** Hosts by counting: at each deadline one more, each 100 ms. */
const counting = (change: Partial<Own> = {}): Own => ({
  typeUrl,
  decode: ({ config }) => Either.right(new TextDecoder().decode(config)),
  make: () => 0,
  step: (self, input) => {
    if (input._tag === "Start") return [self, [{ _tag: "Initialized" }]]
    if (input._tag !== "Deadline") return [self, []]
    const hosts = Array.from({ length: self + 1 }, (_, index) => Host.make(`10.0.0.${index}:80`))
    return [self + 1, [{ _tag: "Listed", hosts }]]
  },
  deadline: (self) => (self + 1) * 100,
  ...change
})

const message = (url: string, lbPolicy = "ROUND_ROBIN", config = "text") => {
  const made = fromJson(ClusterSchema, { name: "c", lbPolicy })
  const typedConfig = { typeUrl: url, value: new TextEncoder().encode(config) }
  const value = create(Cluster_CustomClusterTypeSchema, { name: "a name that nobody has", typedConfig })
  made.clusterDiscoveryType = { case: "clusterType", value }
  return made
}

const read = (type: Own, lbPolicy?: string) =>
  Cluster.make(message(typeUrl, lbPolicy), ClusterTypes.withTypes(ClusterType.define(type)))

const running = (change: Partial<Own>) => Either.getOrThrow(read(counting(change))).type.run()

/** Code that keeps no promise of its types. */
const isPromised = (value: unknown): value is never => value !== isPromised
const lie = (value: unknown): never => {
  if (isPromised(value)) return value
  throw new Error("this is no lie")
}

describe("a type of one's own", () => {
  it("runs like those that are here", () => {
    const { type } = Either.getOrThrow(read(counting()))
    expect([type.typeUrl, type.config, type.clusters, type.assignment, type.pick]).toEqual([
      typeUrl,
      "text",
      undefined,
      undefined,
      undefined
    ])
    const [started, outputs] = type.run().step({ _tag: "Start" }, { now: 0 })
    expect([outputs, started.deadline, started.state]).toEqual([[{ _tag: "Initialized" }], 100, 0])
    const [next, listed] = started.step({ _tag: "Deadline" }, { now: 100 })
    expect([listed.length, next.deadline, next.fault]).toEqual([1, 200, undefined])
    // Not registered: that cluster alone is rejected.
    expect(Either.isLeft(Cluster.make(message(typeUrl)))).toBe(true)
    // One that is here can be replaced.
    const own = ClusterTypes.withTypes(ClusterType.define(counting({ typeUrl: "STATIC" })))
    expect(Either.getOrThrow(Cluster.make(fromJson(ClusterSchema, { name: "c" }), own)).type.config).toBe("")
  })

  it("which picks itself does so with CLUSTER_PROVIDED alone", () => {
    const picking = counting({ pick: (config, members) => ({ address: `${config} ${members.length}`, ignored: 0 }) })
    expect(Either.isLeft(read(picking))).toBe(true)
    expect(Either.isLeft(read(counting(), "CLUSTER_PROVIDED"))).toBe(true)
    const { type } = Either.getOrThrow(read(picking, "CLUSTER_PROVIDED"))
    expect(type.pick?.([], call({})).address).toBe("text 0")
    const throwing = counting({
      pick: () => {
        throw new Error("no")
      }
    })
    const { type: broken } = Either.getOrThrow(read(throwing, "CLUSTER_PROVIDED"))
    expect(broken.pick?.([], call({}))).toEqual({ address: undefined, ignored: 0 })
    for (const given of [undefined, null, "10.0.0.1:80", { address: 5, ignored: 0 }, { address: "10.0.0.1:80" }]) {
      const { type: lying } = Either.getOrThrow(read(counting({ pick: () => lie(given) }), "CLUSTER_PROVIDED"))
      expect(lying.pick?.([], call({}))).toEqual({ address: undefined, ignored: 0 })
    }
  })

  it("may throw where it is read: the cluster is rejected, with its words", () => {
    const errors = (change: Partial<Own>) =>
      Either.match(read(counting(change)), { onLeft: (all) => all.map((each) => each.message), onRight: () => [] })
    const boom = (): never => {
      throw new Error("boom")
    }
    expect(errors({ decode: boom })).toEqual([`${typeUrl}: decode threw: boom`])
    expect(errors({ decode: () => lie(1) })).toEqual([`${typeUrl}: decode gave no Either`])
    expect(errors({ assignment: boom })).toEqual([`${typeUrl}: assignment threw: boom`])
    expect(errors({ clusters: boom })).toEqual([`${typeUrl}: clusters threw: boom`])
    for (const mistakes of [undefined, "bad", [null], [{ message: "bad" }]]) {
      expect(errors({ decode: () => lie(Either.left(mistakes)) })).toEqual([
        `${typeUrl}: decode gave no list of mistakes`
      ])
    }
    const [settled, outputs] = running({ make: boom }).step({ _tag: "Start" }, { now: 0 })
    expect([outputs, settled.fault]).toEqual([[{ _tag: "Initialized" }], `${typeUrl}: make threw: boom`])
    expect(running({ deadline: boom }).fault).toBe(`${typeUrl}: deadline threw: boom`)
  })

  it("★ may say nonsense of what it needs: the cluster is rejected, and none that is in use is lost for it", () => {
    const errors = (change: Partial<Own>, lbPolicy?: string) =>
      Either.match(read(counting(change), lbPolicy), {
        onLeft: (all) => all.map((each) => each.message),
        onRight: () => []
      })
    const sources = [
      null,
      { _tag: "Air" },
      { _tag: "Client" },
      { _tag: "File" },
      { _tag: "Api", kind: "REST", servers: [1] }
    ]
    for (const given of [null, "x", { name: "x" }, ...sources.map((source) => ({ name: "x", source }))]) {
      expect(errors({ assignment: () => lie(given) })).toEqual([`${typeUrl}: assignment gave no name and source`])
    }
    for (const given of [null, 5, "x", [1, null]]) {
      expect(errors({ clusters: () => lie(given) }, "CLUSTER_PROVIDED")).toEqual([
        `${typeUrl}: clusters gave no list of names`
      ])
    }
    const source = { _tag: "Client", as: "ads" } as const
    expect(errors({ assignment: () => ({ name: "x", source }) })).toEqual([])
    expect(errors({ assignment: () => undefined })).toEqual([])
    expect(errors({ clusters: () => ["a"] }, "CLUSTER_PROVIDED")).toEqual([])
  })

  it.each<[string, Own["step"], string]>([
    [
      "throws",
      () => {
        throw new Error("boom")
      },
      "step threw: boom"
    ],
    ["gives nothing", () => lie(null), "step gave no state and outputs"],
    ["gives no outputs", (self) => [self, lie(3)], "step gave no list of outputs"],
    [
      "gives what there is not",
      (self) => [self, [lie({ _tag: "Sing" })]],
      "step gave an output that there is not: Sing"
    ],
    [
      "lists no hosts",
      (self) => [self, [{ _tag: "Listed", hosts: [lie({ id: "a" })] }]],
      "step listed what is no host"
    ],
    [
      "lists a host of a priority without end",
      (self) => [self, [{ _tag: "Listed", hosts: [Host.make("a", { priority: 1e9 })] }]],
      "step listed what is no host"
    ],
    ["finds no host", (self) => [self, [lie({ _tag: "Found", host: { id: "a" } })]], "step found what is no host"],
    ["loses nobody", (self) => [self, [lie({ _tag: "Lost" })]], "step lost no host"],
    ["refuses nobody", (self) => [self, [lie({ _tag: "Refused" })]], "step refused no address"],
    ["asks for nobody", (self) => [self, [lie({ _tag: "Resolve" })]], "step asked for no name"]
  ])("that %s keeps what it had, and says why", (_, bad, fault) => {
    let isBad = false
    const good = counting()
    const step: Own["step"] = (self, input, context) =>
      isBad ? bad(self, input, context) : good.step(self, input, context)
    const [before] = running({ step }).step({ _tag: "Start" }, { now: 0 })
    isBad = true
    const [after, outputs] = before.step({ _tag: "Deadline" }, { now: 100 })
    expect([after.state, outputs]).toEqual([before.state, []])
    expect(after.fault).toContain(`${typeUrl}: ${fault}`)
    // ★ What was due is not due again and again.
    expect(after.deadline).toBe(Number.POSITIVE_INFINITY)
    isBad = false
    const [again] = after.step({ _tag: "Deadline" }, { now: 200 })
    expect([again.fault, again.deadline]).toEqual([undefined, 201])
  })

  it("that wants to be woken at once, for ever, is woken each millisecond at most; no number is no time", () => {
    const [eager] = running({ deadline: () => 0 }).step({ _tag: "Deadline" }, { now: 500 })
    expect(eager.deadline).toBe(501)
    expect(running({ deadline: () => Number.NaN }).fault).toBe(`${typeUrl}: deadline gave no number`)
  })
})

it("an assignment that came a while ago is stale the sooner, and then lists nobody", () => {
  const endpoints = [Endpoint.make({ host: "10.0.0.1", port: 80 })]
  const of = (staleAfter: number | undefined, age?: number) => {
    const assignment = {
      ...Either.getOrThrow(Assignment.make(create(ClusterLoadAssignmentSchema))),
      endpoints,
      staleAfter
    }
    const input = ClusterType.assigned(assignment, age)
    return input._tag === "Assigned" ? [input.endpoints.length, input.staleAfter] : input._tag
  }
  expect(of(10_000)).toEqual([1, 10_000])
  expect(of(undefined, 99_000)).toEqual([1, undefined])
  expect(of(10_000, 9_999)).toEqual([1, 1])
  expect(of(10_000, 10_000)).toEqual([0, undefined])
})

describe("the leaves of an aggregate", () => {
  const leaves = (clusters: Readonly<Record<string, ReadonlyArray<string> | "leaf">>, root = "r") =>
    AggregateLeaves.of(root, (name) => {
      const known = clusters[name]
      return known === undefined ? undefined : { clusters: known === "leaf" ? undefined : known }
    })
  const names = (clusters: Parameters<typeof leaves>[0], root?: string) =>
    Either.match(leaves(clusters, root), { onLeft: (text) => text, onRight: (found) => found.leaves })

  it("depth first, each at its first place; who is missing, too", () => {
    expect(names({ r: ["a", "s", "b"], s: ["c", "a", "t"], t: ["d"], a: "leaf", b: "leaf", c: "leaf" })).toEqual([
      "a",
      "c",
      "d",
      "b"
    ])
    expect(names({ r: "leaf" })).toEqual(["r"])
    expect(names({})).toEqual(["r"])
    const found = Either.getOrThrow(leaves({ r: ["s", "s"], s: ["a"], a: "leaf" }))
    expect(found).toEqual({ leaves: ["a"], visited: ["r", "s", "a"] })
  })

  it("a cycle fails that tree, and no other", () => {
    expect(names({ r: ["a", "s"], s: ["r"], a: "leaf" })).toContain('cluster "r" is nested in itself: r → s → r')
    expect(names({ r: ["r"] })).toContain("r → r")
    expect(names({ r: ["a"], s: ["s"], a: "leaf" })).toEqual(["a"])
  })

  it.each<[string, ReadonlyArray<number>, ReadonlyArray<boolean>]>([
    ["the last one may always panic", [0], [false]],
    ["nobody is well anywhere: all may", [0, 0], [false, false]],
    ["enough are well in it and after it", [14, 86, 0], [true, false, false]],
    ["nobody is well in it, some are after it", [0, 0, 14], [true, true, false]],
    ["too few are well in it and after it", [14, 42], [false, false]],
    ["who is before it makes up for nobody: it comes after that one failed", [100, 0], [true, false]]
  ])("whether they do without panic: %s", (_, totals, calm) => {
    expect(totals.map((_total, at) => AggregateLeaves.isCalm(totals, at))).toEqual(calm)
  })

  /** Healthy, degraded, excluded, and others; weights; the factor. */
  const priority = fc.record({
    counts: fc.tuple(...Array.from({ length: 4 }, () => fc.nat(4))),
    scale: fc.tuple(...Array.from({ length: 4 }, () => fc.integer({ min: 1, max: 5 }))),
    overprovisioningFactor: fc.constantFrom(100, 140, 250),
    weightedPriorityHealth: fc.boolean()
  })
  type Drawn = typeof priority extends fc.Arbitrary<infer A> ? A : never
  const sumsOf = ([healthy = 0, degraded = 0, excluded = 0, ill = 0]: ReadonlyArray<number>) => ({
    all: healthy + degraded + excluded + ill,
    excluded,
    healthy,
    degraded
  })
  const tallyOf = ({ counts, scale, ...how }: Drawn): PriorityLoad.Tally => ({
    hosts: sumsOf(counts),
    weights: sumsOf(counts.map((count, at) => count * (scale[at] ?? 1))),
    ...how
  })

  /** The shares of all priorities in one row, as Envoy's documentation says them. */
  const expected = (tallies: ReadonlyArray<PriorityLoad.Tally>, threshold: number): ReadonlyArray<number> => {
    const counted = tallies.map(({ hosts, weights, ...how }) => {
      const { all, degraded, excluded, healthy } = how.weightedPriorityHealth === true ? weights : hosts
      const of = (part: number) =>
        all > excluded ? Math.min(100, Math.trunc(((how.overprovisioningFactor ?? 0) * part) / (all - excluded))) : 0
      const there = hosts.all - hosts.excluded
      const isBelow = there === 0 ? threshold > 0 : (100 * (hosts.healthy + hosts.degraded)) / there < threshold
      return { all: hosts.all, parts: [of(healthy), of(degraded)], isBelow }
    })
    const inOrder = [0, 1].flatMap((part) => counted.map(({ parts }) => parts[part] ?? 0))
    const total = Math.min(
      100,
      inOrder.reduce((a, b) => a + b, 0)
    )
    const isPanic = total < 100 && counted.every(({ isBelow }) => isBelow)
    const sum = counted.reduce((a, { all }) => a + all, 0)
    const wanted = isPanic
      ? [...counted.map(({ all }) => Math.trunc((100 * all) / sum)), ...counted.map(() => 0)]
      : inOrder.map((each) => (total === 0 ? 0 : Math.trunc((100 * each) / total)))
    let left = 100
    const given = wanted.map((each) => {
      const share = Math.min(left, each)
      left -= share
      return share
    })
    const first = Math.max(
      0,
      (isPanic ? wanted : inOrder).findIndex((each) => each > 0)
    )
    return given.map((each, at) => (at === first ? each + left : each))
  }

  it("share calls by who is well in the priorities of all; those without hosts are passed over", () => {
    fc.assert(
      fc.property(
        fc.array(fc.array(priority, { maxLength: 3 }), { maxLength: 4 }),
        fc.constantFrom(0, 30, 50, 100),
        (drawn, threshold) => {
          const leaves = drawn.map((priorities) => priorities.map(tallyOf))
          const { leaves: loads } = AggregateLeaves.loadOf(leaves, threshold)
          expect(loads.map(({ length }) => length)).toEqual(leaves.map(({ length }) => length))
          const there = leaves.flat().filter(({ hosts }) => hosts.all > 0)
          const shares = loads.flat().filter((_, at) => (leaves.flat()[at]?.hosts.all ?? 0) > 0)
          const flat = [...shares.map(({ healthy }) => healthy), ...shares.map(({ degraded }) => degraded)]
          expect(flat).toEqual(there.length === 0 ? [] : expected(there, threshold))
          const all = loads.flat().reduce((sum, { degraded, healthy }) => sum + healthy + degraded, 0)
          expect(all).toBe(there.length === 0 ? 0 : 100)
        }
      ),
      { numRuns: 500 }
    )
  })

  it("a leaf without hosts gets no calls, also where nobody is well and nobody may panic", () => {
    const tallyOfHosts = (all: number): PriorityLoad.Tally => {
      const sums = { all, healthy: 0, degraded: 0, excluded: 0 }
      return { hosts: sums, weights: sums }
    }
    const { leaves } = AggregateLeaves.loadOf([[tallyOfHosts(0)], [tallyOfHosts(5)]], 0)
    expect(leaves.map((loads) => loads.map(({ healthy }) => healthy))).toEqual([[0], [100]])
  })

  it("one leaf shares calls as it does by itself", () => {
    fc.assert(
      fc.property(fc.array(priority, { minLength: 1, maxLength: 4 }), (drawn) => {
        const tallies = drawn.map(tallyOf)
        fc.pre(tallies.every(({ hosts }) => hosts.all > 0))
        const { loads, total } = PriorityLoad.make(tallies)
        expect(AggregateLeaves.loadOf([tallies, []])).toEqual({ leaves: [loads, []], total })
      })
    )
  })

  it("sixteen deep, and no deeper", () => {
    const chain = (depth: number) =>
      Object.fromEntries(Array.from({ length: depth }, (_, index) => [`n${index}`, [`n${index + 1}`]]))
    expect(names(chain(16), "n0")).toEqual(["n16"])
    expect(names(chain(17), "n0")).toContain('nested deeper than 16, at "n16"')
  })
})

const call = (given: Partial<ClusterType.Call>): ClusterType.Call => ({
  header: () => undefined,
  filterState: undefined,
  requestMetadata: () => undefined,
  connectionMetadata: () => undefined,
  restored: undefined,
  draw: () => 0,
  ...given
})

describe("where calls to ORIGINAL_DST go", () => {
  const settings = (change: Partial<OriginalDst.Settings> = {}): OriginalDst.Settings => ({
    header: undefined,
    metadataKey: undefined,
    portOverride: undefined,
    cleanupInterval: 5_000,
    ...change
  })
  const header = (name: string) => (name === "x" ? "10.0.0.4:4" : undefined)
  const all: Partial<ClusterType.Call> = {
    filterState: "10.0.0.1:1",
    requestMetadata: (key, path) => (key === "k" && path.join() === "p" ? ["10.0.0.2:2", "10.9.9.9:9"] : undefined),
    connectionMetadata: () => "10.0.0.3:3",
    header,
    restored: "10.0.0.5:5"
  }
  const metadataKey = { key: "k", path: ["p"] }

  it("the first that is there", () => {
    const full = settings({ header: "x", metadataKey })
    const without = (...keys: ReadonlyArray<keyof ClusterType.Call>) =>
      pick(full, call(Object.fromEntries(Object.entries(all).filter(([key]) => !keys.some((each) => each === key)))))
        .address
    expect(without()).toBe("10.0.0.1:1")
    expect(without("filterState")).toBe("10.0.0.2:2")
    expect(without("filterState", "requestMetadata")).toBe("10.0.0.3:3")
    expect(without("filterState", "requestMetadata", "connectionMetadata")).toBe("10.0.0.4:4")
    expect(without("filterState", "requestMetadata", "connectionMetadata", "header")).toBe("10.0.0.5:5")
    expect(pick(full, call({}))).toEqual({ address: undefined, ignored: 0 })
  })

  it("★ no header and no metadata unless they are named; another port, whatever the address", () => {
    expect(pick(settings(), call({ ...all, filterState: undefined })).address).toBe("10.0.0.5:5")
    expect(pick(settings({ portOverride: 99 }), call(all)).address).toBe("10.0.0.1:99")
    expect(pick(settings(), call({ restored: "[FD00::0:1]:7" })).address).toBe("[fd00::1]:7")
  })

  it("★ an override that is no address is counted and passed over", () => {
    const bad = ["nobody", "10.0.0.1", "10.0.0.1:70000", "[10.0.0.1", ":80", "a.example.com:80", 3]
    for (const each of bad) {
      const given = call({ requestMetadata: () => each, restored: "10.0.0.5:5" })
      expect(pick(settings({ metadataKey }), given)).toEqual({ address: "10.0.0.5:5", ignored: 1 })
    }
    const header = () => "no address"
    expect(pick(settings({ header: "x" }), call({ header }))).toEqual({ address: undefined, ignored: 1 })
  })
})

describe("what is read runs", () => {
  it("a cluster of type ORIGINAL_DST picks, and its hosts are picks", () => {
    const original = (originalDstLbConfig: JsonObject) =>
      Either.getOrThrow(
        Cluster.make(
          fromJson(ClusterSchema, {
            name: "c",
            type: "ORIGINAL_DST",
            lbPolicy: "CLUSTER_PROVIDED",
            originalDstLbConfig
          })
        )
      ).type
    const type = original({ useHttpHeader: true, metadataKey: { key: "k", path: [{ key: "p" }] } })
    const header = (name: string) => (name === "x-envoy-original-dst-host" ? "10.0.0.1:80" : undefined)
    expect(type.pick?.([], call({ header })).address).toBe("10.0.0.1:80")
    // ★ The header opens every address to clients: it is not looked at unless that is said.
    expect(original({}).pick?.([], call({ header })).address).toBeUndefined()
    const [started] = type.run().step({ _tag: "Start" }, { now: 0 })
    const [, outputs] = started.step({ _tag: "Picked", address: "10.0.0.1:80" }, { now: 1 })
    expect(outputs.map((output: Discovery.Output) => output._tag)).toEqual(["Found"])
  })
})
