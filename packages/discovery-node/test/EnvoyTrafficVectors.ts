/**
 * The vectors that are seen in what becomes of calls, and in when something is asked, by their numbers. What of them is not
 * seen, and why:
 *
 * | vector | not seen | because |
 * |---|---|---|
 * | 4 | how waits grow | Envoy draws them itself, from 0 on, for all names of a cluster together |
 * | 5, 41 | that it is not later | a busy machine is |
 * | 6, 42, 43 | how much is drawn | Envoy draws it itself: a jitter of days lets nothing come again |
 * | 13 | two categories | Envoy rejects them; of one it draws itself |
 * | 34 | more than about how much | policies that hash, to which draws can be told, have no degraded hosts in Envoy |
 * | 44 | that the count of ejections falls again | it makes an ejection shorter, and a busy machine longer |
 * | 46, 47 | fractions of the mean and the bound | Envoy writes down whole numbers |
 * | 48 | the bound | Envoy writes it down with an ejection alone |
 */
import { create, type JsonObject } from "@bufbuild/protobuf"
import { anyPack } from "@bufbuild/protobuf/wkt"
import { RingHashSchema } from "@effect-xds/proto/envoy/extensions/load_balancing_policies/ring_hash/v3/ring_hash"
import { RoundRobinSchema } from "@effect-xds/proto/envoy/extensions/load_balancing_policies/round_robin/v3/round_robin"
import type * as Traffic from "./EnvoyTraffic.js"

/** To the integer: Envoy is told the draw. */
export const loads: Readonly<Record<string, Traffic.Load>> = {
  "26": {
    priorities: [
      [8, 10],
      [10, 10]
    ],
    expected: { "0 healthy": 100 }
  },
  "27": {
    priorities: [
      [7, 10],
      [10, 10]
    ],
    expected: { "0 healthy": 98, "1 healthy": 2 }
  },
  "28": {
    priorities: [
      [5, 10],
      [10, 10]
    ],
    expected: { "0 healthy": 70, "1 healthy": 30 }
  },
  "29": {
    priorities: [
      [2, 10],
      [2, 10]
    ],
    expected: { "0 all": 50, "1 all": 50 }
  },
  "30": {
    priorities: [
      [0, 10],
      [5, 10]
    ],
    expected: { "1 healthy": 100 }
  },
  "31": {
    priorities: [
      [0, 10],
      [0, 5]
    ],
    expected: { "0 all": 67, "1 all": 33 }
  },
  "32, in panic": { priorities: [[4, 10]], expected: { "0 all": 100 } },
  "32, not in panic": { priorities: [[5, 10]], expected: { "0 healthy": 100 } },
  "33": { priorities: [[3, 10, 0, 5]], expected: { "0 healthy": 100 } },
  "33, and another priority": {
    priorities: [
      [3, 10, 0, 5],
      [10, 10]
    ],
    expected: { "0 healthy": 84, "1 healthy": 16 }
  },
  "27, with another factor": {
    priorities: [
      [7, 10],
      [10, 10]
    ],
    policy: { overprovisioningFactor: 100 },
    expected: { "0 healthy": 70, "1 healthy": 30 }
  },
  "29, and there is never panic": {
    priorities: [
      [2, 10],
      [2, 10]
    ],
    commonLbConfig: { healthyPanicThreshold: { value: 0 } },
    expected: { "0 healthy": 50, "1 healthy": 50 }
  },
  "35": {
    priorities: [
      [1, 6],
      [1, 6],
      [1, 6]
    ],
    expected: { "0 all": 34, "1 all": 33, "2 all": 33 }
  }
}

/** About, and in panic: the same policies know no `fail_traffic_on_panic`. */
export const drawnLoads: Readonly<Record<string, Traffic.Load>> = {
  "29, and calls in panic fail": {
    priorities: [
      [2, 10],
      [2, 10]
    ],
    commonLbConfig: { zoneAwareLbConfig: { failTrafficOnPanic: true } },
    expected: { none: 100 }
  },
  "calls of the first in panic fail": {
    priorities: [
      [2, 10],
      [5, 10]
    ],
    commonLbConfig: { zoneAwareLbConfig: { failTrafficOnPanic: true } },
    expected: { none: 29, "1 healthy": 71 }
  },
  "34, few": { priorities: [[2, 10, 3]], expected: { "0 healthy": 40, "0 degraded": 60 } },
  "34, many": { priorities: [[5, 10, 2]], expected: { "0 healthy": 72, "0 degraded": 28 } }
}

const weighted = { localityWeightedLbConfig: {} }
const localityLbConfig = { localityConfigSpecifier: { case: "localityWeightedLbConfig", value: {} } } as const

/** About. ★ With a policy that hashes localities weigh what they were told, whatever their health, and in panic, too. */
export const localities: Readonly<Record<string, Traffic.Localities>> = {
  "those of which few are well weigh less": {
    localities: [
      { weight: 3, counts: [1, 3] },
      { weight: 2, counts: [2, 2] }
    ],
    commonLbConfig: weighted,
    expected: [41, 59]
  },
  "the same, and the policy hashes": {
    localities: [
      { weight: 3, counts: [1, 3] },
      { weight: 2, counts: [2, 2] }
    ],
    cluster: { lbPolicy: "RING_HASH" },
    commonLbConfig: weighted,
    expected: [60, 40]
  },
  "in panic they do not count": {
    localities: [
      { weight: 1, counts: [0, 3] },
      { weight: 5, counts: [1, 3] }
    ],
    commonLbConfig: weighted,
    expected: [50, 50]
  },
  "in panic, and the policy hashes": {
    localities: [
      { weight: 1, counts: [0, 3] },
      { weight: 5, counts: [1, 3] }
    ],
    cluster: { lbPolicy: "RING_HASH" },
    commonLbConfig: weighted,
    expected: [17, 83]
  },
  "locality_lb_config of a policy": {
    localities: [
      { weight: 4, counts: [1, 1] },
      { weight: 1, counts: [4, 4] }
    ],
    policy: anyPack(RoundRobinSchema, create(RoundRobinSchema, { localityLbConfig })),
    expected: [80, 20]
  },
  "a policy without it": {
    localities: [
      { weight: 4, counts: [1, 1] },
      { weight: 1, counts: [4, 4] }
    ],
    policy: anyPack(RoundRobinSchema, create(RoundRobinSchema)),
    expected: [20, 80]
  },
  "a policy that hashes, without it": {
    localities: [
      { weight: 4, counts: [1, 1] },
      { weight: 1, counts: [4, 4] }
    ],
    policy: anyPack(RingHashSchema, create(RingHashSchema)),
    expected: [20, 80]
  }
}

const withoutPanic: JsonObject = { healthyPanicThreshold: { value: 0 } }
const failingInPanic: JsonObject = { zoneAwareLbConfig: { failTrafficOnPanic: true } }

/**
 * Aggregates, about: shares are by the priorities of all leaves. ★ In Envoy each leaf panics by itself, and calls who is not well
 * though others are; with us those who are well in it get its share.
 */
export const aggregates: Readonly<Record<string, Traffic.Aggregate>> = {
  "enough are well in the first": { leaves: [[[8, 10]], [[10, 10]]], expected: { "0 0 healthy": 100 } },
  "27": { leaves: [[[7, 10]], [[10, 10]]], expected: { "0 0 healthy": 98, "1 0 healthy": 2 } },
  "28": { leaves: [[[5, 10]], [[10, 10]]], expected: { "0 0 healthy": 70, "1 0 healthy": 30 } },
  "the first alone panics": {
    leaves: [[[3, 10]], [[10, 10]]],
    expected: { "0 0 healthy": 42, "1 0 healthy": 58 },
    envoy: { "0 0 all": 42, "1 0 healthy": 58 }
  },
  "the first alone panics, and its calls fail then": {
    leaves: [[[3, 10]], [[10, 10]]],
    ofLeaves: failingInPanic,
    expected: { "0 0 healthy": 42, "1 0 healthy": 58 },
    envoy: { none: 42, "1 0 healthy": 58 }
  },
  "the first never panics": {
    leaves: [[[3, 10]], [[10, 10]]],
    ofLeaves: withoutPanic,
    expected: { "0 0 healthy": 42, "1 0 healthy": 58 }
  },
  "nobody is well in the first": { leaves: [[[0, 10]], [[10, 10]]], expected: { "1 0 healthy": 100 } },
  "29": { leaves: [[[2, 10]], [[2, 10]]], expected: { "0 0 all": 50, "1 0 all": 50 } },
  "29, and the leaves never panic": {
    leaves: [[[2, 10]], [[2, 10]]],
    ofLeaves: withoutPanic,
    expected: { "0 0 healthy": 50, "1 0 healthy": 50 }
  },
  "31": { leaves: [[[0, 10]], [[0, 5]]], expected: { "0 0 all": 67, "1 0 all": 33 } },
  "31, and the aggregate never panics": {
    leaves: [[[0, 10]], [[0, 5]]],
    commonLbConfig: withoutPanic,
    expected: { "0 0 all": 100 }
  },
  "31, and the leaves never panic": {
    leaves: [[[0, 10]], [[0, 5]]],
    ofLeaves: withoutPanic,
    expected: {},
    envoy: { none: 100 }
  },
  "35": {
    leaves: [[[1, 6]], [[1, 6]], [[1, 6]]],
    expected: { "0 0 all": 34, "1 0 all": 33, "2 0 all": 33 }
  },
  "degraded ones come after all healthy ones": {
    leaves: [[[5, 10, 5]], [[5, 10]]],
    expected: { "0 0 healthy": 70, "1 0 healthy": 30 }
  },
  "degraded ones of the first, then of the second": {
    leaves: [[[2, 10, 3]], [[2, 10, 3]]],
    expected: { "0 0 healthy": 28, "0 0 degraded": 42, "1 0 healthy": 28, "1 0 degraded": 2 }
  },
  "priorities within the first go before the second": {
    leaves: [
      [
        [5, 10],
        [5, 10]
      ],
      [[10, 10]]
    ],
    expected: { "0 0 healthy": 70, "0 1 healthy": 30 }
  },
  "priorities within both": {
    leaves: [
      [
        [2, 10],
        [1, 10]
      ],
      [
        [5, 10],
        [5, 5]
      ]
    ],
    expected: { "0 0 healthy": 28, "0 1 healthy": 14, "1 0 healthy": 58 },
    envoy: { "0 0 all": 28, "0 1 all": 14, "1 0 healthy": 58 }
  },
  "a leaf without endpoints is passed over": { leaves: [[[0, 0]], [[1, 4]]], expected: { "1 0 all": 100 } },
  "33": { leaves: [[[3, 10, 0, 5]], [[10, 10]]], expected: { "0 0 healthy": 84, "1 0 healthy": 16 } },
  "with another factor": {
    leaves: [[[5, 10]], [[10, 10]]],
    policy: { overprovisioningFactor: 100 },
    expected: { "0 0 healthy": 50, "1 0 healthy": 50 }
  }
}

/** With steps of their own: hosts of calls, and an ejection after another. */
export const others = ["11", "44"] as const

/** How many of so many calls pass. ★ One category alone: Envoy rejects two. */
export const drops = [
  { title: "13, none", percent: 0, calls: 20, passing: 20 },
  { title: "13", percent: 60, calls: 300, passing: 120 },
  { title: "13, all", percent: 100, calls: 20, passing: 0 }
] as const

/** An error of each of so many hosts, and how many are ejected. */
export const errors = [
  { title: "45", count: 5, ejected: 0 },
  { title: "45", count: 5, ejected: 1, outliers: { alwaysEjectOneHost: true } },
  { title: "45", count: 10, ejected: 1 },
  { title: "45", count: 100, ejected: 10 }
] as const

export interface Sweep {
  readonly title: string
  readonly failures: ReadonlyArray<number>
  readonly calls: number
  readonly outliers: JsonObject
  /** Percentages of success of hosts with enough calls, and of those that are ejected. */
  readonly rates: ReadonlyArray<number>
  readonly ejected: ReadonlyArray<number>
  /** The mean and the bound, without fractions, where a host is ejected by it. */
  readonly bounds?: readonly [number, number]
}

const rates = { consecutive5xx: 0, successRateRequestVolume: 100 }
/** Calls of an interval, of which each host has as many, and the failures of each. */
export const sweeps: ReadonlyArray<Sweep> = [
  {
    title: "46",
    rates: [50, 100, 100, 100, 100],
    ejected: [50],
    bounds: [90, 52],
    failures: [0, 0, 0, 0, 5],
    calls: 50,
    outliers: { ...rates, successRateRequestVolume: 10 }
  },
  {
    title: "47",
    rates: [60, 97, 98, 99, 99],
    ejected: [60],
    bounds: [90, 61],
    failures: [1, 2, 3, 1, 40],
    calls: 500,
    outliers: rates
  },
  {
    title: "48",
    rates: [0, 100, 100, 100],
    ejected: [],
    failures: [0, 0, 0, 10],
    calls: 40,
    outliers: { ...rates, successRateRequestVolume: 10, successRateMinimumHosts: 4 }
  },
  {
    title: "49: 85 %",
    rates: [15, 20],
    ejected: [15],
    failures: [17, 16],
    calls: 40,
    outliers: {
      failurePercentageThreshold: 85,
      enforcingFailurePercentage: 100,
      failurePercentageMinimumHosts: 1,
      failurePercentageRequestVolume: 20,
      successRateRequestVolume: 20
    }
  },
  {
    title: "49: a call too few",
    rates: [100, 100, 100, 100],
    ejected: [],
    failures: [0, 0, 0, 0, 0],
    calls: 99,
    outliers: { ...rates, successRateRequestVolume: 20 }
  }
]

const [brief, never] = ["0.05s", "300s"]
const failing = { baseInterval: brief, maxInterval: "0.1s" }
const ttls = { respectDnsTtl: true, dnsRefreshRate: brief }
const bySeconds = {
  settings: { ...ttls, dnsRefreshRate: never },
  expected: { often: "again", atLeast: 1_000 }
} as const
export const queries: ReadonlyArray<Traffic.Query> = [
  {
    title: "4: a failure, with a rate of its own",
    type: "STRICT_DNS",
    answer: "SERVFAIL",
    settings: { dnsRefreshRate: never, dnsFailureRefreshRate: failing },
    expected: { often: "again" }
  },
  {
    title: "4: an answer, with a rate of failures",
    type: "STRICT_DNS",
    answer: [0],
    settings: { dnsRefreshRate: never, dnsFailureRefreshRate: failing },
    expected: { often: "once" }
  },
  {
    title: "4: a failure",
    type: "STRICT_DNS",
    answer: "SERVFAIL",
    settings: { dnsRefreshRate: never },
    expected: { often: "once" }
  },
  {
    title: "5: the least",
    type: "STRICT_DNS",
    answer: [300, 1],
    ...bySeconds
  },
  { title: "5: the first", type: "LOGICAL_DNS", answer: [300, 1], settings: ttls, expected: { often: "once" } },
  {
    title: "5: the first is less",
    type: "LOGICAL_DNS",
    answer: [1, 300],
    ...bySeconds
  },
  { title: "5: 0 is none", type: "STRICT_DNS", answer: [300, 0], settings: ttls, expected: { often: "again" } },
  {
    title: "5: 0 is none, not the first",
    type: "LOGICAL_DNS",
    answer: [300, 0],
    settings: ttls,
    expected: { often: "once" }
  },
  {
    title: "5: 0 is none, the first",
    type: "LOGICAL_DNS",
    answer: [0, 300],
    settings: ttls,
    expected: { often: "again" }
  },
  {
    title: "6: an answer",
    type: "STRICT_DNS",
    answer: [0],
    settings: { dnsRefreshRate: brief },
    jitter: 1_000_000,
    expected: { often: "once" }
  },
  {
    title: "6: a failure",
    type: "STRICT_DNS",
    answer: "SERVFAIL",
    settings: { dnsRefreshRate: brief },
    jitter: 1_000_000,
    expected: { often: "again" }
  }
]

const quick = { interval: brief, noTrafficInterval: brief }
export const checks: ReadonlyArray<Traffic.Checks> = [
  { title: "41: no traffic", settings: { interval: brief }, expected: { often: "once" } },
  { title: "41: no traffic, healthy", settings: { noTrafficHealthyInterval: brief }, expected: { often: "again" } },
  {
    title: "41: no traffic, failing",
    settings: { noTrafficHealthyInterval: brief },
    status: 503,
    expected: { often: "once" }
  },
  {
    title: "41: traffic",
    settings: { noTrafficInterval: brief },
    hasTraffic: true,
    expected: { often: "at most once" }
  },
  { title: "42: no jitter", settings: quick, expected: { often: "again" } },
  { title: "42: jitter", settings: { ...quick, intervalJitter: "1000000s" }, expected: { often: "once" } },
  {
    title: "42: jitter in percent",
    settings: { ...quick, intervalJitterPercent: 2_000_000_000 },
    expected: { often: "once" }
  },
  { title: "43: the first one", settings: { ...quick, initialJitter: "1000000s" }, expected: { often: "not at all" } }
]
