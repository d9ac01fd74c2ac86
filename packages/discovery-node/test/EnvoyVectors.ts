/**
 * The vectors of service discovery and health that are seen in Envoy's admin interface, as scripts, by their numbers. The
 * others are seen in calls and in time: `EnvoyTrafficVectors`. ★ Of all these the times in milliseconds are not seen: they are
 * those of the reducers' tests.
 */
import type { JsonObject } from "@bufbuild/protobuf"
import { type Assignment, brief, long, type Script, type Settings, type Step } from "./ClusterScript.js"
import type { Kind, Result } from "./ProbeTargets.js"

const of = (...hosts: ReadonlyArray<string>): Assignment => ({ entries: hosts.map((host) => ({ host })) })

const strict: Settings = { type: "STRICT_DNS" }
const once = (kind: Kind): Settings["checks"] & object => ({ kind, healthy: 1, unhealthy: 1, timeout: long })
const checked: Settings = { type: "EDS", checks: once("http") }
const probes = (results: Readonly<Record<string, ReadonlyArray<Result>>>, ...then: ReadonlyArray<string>): Step => ({
  probes: results,
  then
})

const failing = (host: string) => `${host} FAILED_ACTIVE_HC`
const absent = (host: string) => `${host} PENDING_DYNAMIC_REMOVAL`

/** A host that passes, and is listed no longer. */
const unlisted = (settings: Settings): Script["steps"] => [
  { settings, assignment: of("a"), probes: { a: ["ok"] }, then: ["a"] },
  { assignment: of(), then: [absent("a")] }
]

/**
 * Hosts that pass, and are ejected by one error for longer than a script takes. ★ Their checks stop: one that passes brings a
 * host back.
 */
const ejectable = (outliers: JsonObject, ...hosts: ReadonlyArray<string>): Script["steps"][0] => ({
  settings: {
    ...checked,
    more: { outlierDetection: { consecutive5xx: 1, baseEjectionTime: "300s", interval: "300s", ...outliers } }
  },
  assignment: of(...hosts),
  probes: Object.fromEntries(hosts.map((host) => [host, ["ok", "silent"]])),
  then: hosts
})

/** `healthy` 3, `unhealthy` 2. ★ The last probe is held, so that what was counted stays as it is. */
const counting = (kind: Kind, timeout = long): Settings => ({
  type: "EDS",
  checks: { kind, healthy: 3, unhealthy: 2, timeout }
})
const passing = (kind: Kind): Script["steps"][0] => ({
  settings: counting(kind),
  assignment: of("a"),
  probes: { a: ["ok", "silent"] },
  then: ["a"]
})

/** Counting as each kind of probe does it. */
export const counts = (kind: Kind): ReadonlyArray<Script> => [
  { title: `36 (${kind}): the first success is enough`, steps: [passing(kind)] },
  {
    title: `37 (${kind}): two resets, and three successes`,
    steps: [
      passing(kind),
      probes({ a: ["reset", "silent"] }, kind.startsWith("grpc") ? failing("a") : "a"),
      probes({ a: ["reset", "silent"] }, failing("a")),
      probes({ a: ["ok", "silent"] }, failing("a")),
      probes({ a: ["ok", "silent"] }, failing("a")),
      probes({ a: ["ok", "silent"] }, "a")
    ]
  },
  ...(kind === "tcp"
    ? []
    : [
        {
          title: `38 (${kind}): an answer that says no`,
          steps: [passing(kind), probes({ a: ["unavailable", "silent"] }, failing("a"))]
        } satisfies Script,
        {
          title: `40 (${kind}): a failure first needs three successes`,
          steps: [
            {
              settings: counting(kind),
              assignment: of("a"),
              probes: { a: ["unavailable", "silent"] },
              then: [failing("a")]
            },
            probes({ a: ["ok", "ok", "silent"] }, failing("a")),
            probes({ a: ["ok", "silent"] }, "a")
          ]
        } satisfies Script
      ])
]

/** By the numbers of the vectors. */
export const vectors: ReadonlyArray<Script> = [
  {
    title: "1, 2, 3: addresses; silence keeps them; none",
    steps: [
      { settings: strict, assignment: of("n"), names: { n: ["a", "b"] }, then: ["a", "b"] },
      { names: { n: "silence" }, then: ["a", "b"] },
      { names: { n: ["a", "b"] }, then: ["a", "b"] },
      { names: { n: [] }, then: [] },
      { names: { n: ["a"] }, then: ["a"] },
      { names: { n: "NXDOMAIN" }, then: [] }
    ]
  },
  {
    title: "7: two names, one fails",
    steps: [{ settings: strict, assignment: of("n", "m"), names: { n: ["a"], m: "SERVFAIL" }, then: ["a"] }]
  },
  {
    title: "8: AUTO, no IPv6, and IPv4 in time or not",
    steps: [
      { settings: { ...strict, family: "AUTO" }, assignment: of("n"), names: { n: ["a"] }, then: ["a"] },
      { names: { n: { 4: "silence", 6: [] } }, then: ["a"] },
      { names: { n: { 4: ["b"], 6: [] } }, then: ["b"] },
      { names: { n: { 4: ["b"], 6: ["fd00::1"] } }, then: ["[fd00::1]"] }
    ]
  },
  {
    title: "9: ALL, IPv4 changes and IPv6 fails",
    steps: [
      {
        settings: { ...strict, family: "ALL" },
        assignment: of("n"),
        names: { n: { 4: ["a"], 6: ["fd00::1"] } },
        then: ["[fd00::1]", "a"]
      },
      { names: { n: { 4: ["b"], 6: "silence" } }, then: ["[fd00::1]", "b"] }
    ]
  },
  {
    title: "10: LOGICAL_DNS, the first address",
    steps: [
      { settings: { type: "LOGICAL_DNS" }, assignment: of("n"), names: { n: ["a", "b"] }, then: ["a"] },
      { names: { n: ["b", "a"] }, then: ["b"] },
      { names: { n: [] }, then: ["b"] }
    ]
  },
  {
    title: "12: an assignment that is stale",
    steps: [
      {
        settings: checked,
        assignment: of("a", "b"),
        probes: { a: ["ok"], b: ["unavailable"] },
        then: ["a", failing("b")]
      },
      { assignment: { ...of("a", "b"), staleAfter: 1_000 }, then: [absent("a")] }
    ]
  },
  {
    title: "14: new, then routed",
    steps: [
      { settings: checked, assignment: of("a"), probes: { a: ["reset"] }, then: [failing("a")] },
      probes({ a: ["ok"] }, "a")
    ]
  },
  {
    title: "15, 16: unlisted, unlisted again, failing",
    steps: [
      ...unlisted(checked),
      { assignment: { ...of(), staleAfter: 300_000 }, then: [absent("a")] },
      probes({ a: ["unavailable"] })
    ]
  },
  {
    title: "17: unlisted, listed: no first check",
    steps: [
      ...unlisted({ type: "EDS", checks: { ...once("http"), unhealthy: 3 } }),
      { probes: { a: ["retriable", "retriable", "silent"] }, then: [absent("a")] },
      { assignment: of("a"), then: ["a"] },
      probes({ a: ["retriable", "silent"] }, failing("a"))
    ]
  },
  {
    title: "18: failing, unlisted",
    steps: [
      { settings: checked, assignment: of("a"), probes: { a: ["unavailable"] }, then: [failing("a")] },
      { assignment: of(), then: [] }
    ]
  },
  {
    title: "19: failing, kept, routed again",
    steps: [
      { settings: checked, assignment: of("a"), probes: { a: ["ok"] }, then: ["a"] },
      probes({ a: ["unavailable"] }, failing("a")),
      probes({ a: ["ok"] }, "a")
    ]
  },
  {
    title: "20: unlisted, with ignore_health_on_host_removal",
    steps: [
      {
        settings: { ...checked, more: { ignoreHealthOnHostRemoval: true } },
        assignment: of("a"),
        probes: { a: ["ok"] },
        then: ["a"]
      },
      { assignment: of(), then: [] }
    ]
  },
  {
    title: "20: unlisted, without checks",
    steps: [
      { settings: { type: "EDS" }, assignment: of("a"), then: ["a"] },
      { assignment: of(), then: [] }
    ]
  },
  {
    title: "21: unlisted before a result: Ready without it",
    steps: [
      { settings: checked, assignment: of("a", "b"), probes: { a: ["ok"], b: ["silent"] }, isWarming: true },
      { assignment: of("a"), then: ["a"] },
      { assignment: of("a", "b"), then: ["a", failing("b")] },
      { assignment: of("a"), then: ["a"] }
    ]
  },
  {
    title: "23: draining, passing, unlisted",
    steps: [
      {
        settings: checked,
        assignment: { entries: [{ host: "a", health: "DRAINING" }] },
        probes: { a: ["ok"] },
        then: ["a EDS_STATUS_DRAINING"]
      },
      { assignment: of(), then: [] }
    ]
  },
  {
    title: "24: listed again with another weight; a query that fails",
    steps: [
      ...unlisted(checked),
      { assignment: { entries: [{ host: "a", weight: 3 }] }, then: ["a"] },
      probes({ a: ["unavailable"] }, failing("a")),
      { assignment: { entries: [{ host: "a", weight: 2 }] }, then: [failing("a")] }
    ]
  },
  {
    title: "24: a query that fails, passing and failing",
    steps: [
      {
        settings: { ...strict, checks: once("http") },
        assignment: of("n"),
        names: { n: ["a", "b"] },
        probes: { a: ["ok"], b: ["unavailable"] },
        then: ["a", failing("b")]
      },
      { names: { n: "SERVFAIL" }, then: ["a", failing("b")] },
      { names: { n: [] }, then: [absent("a")] },
      { names: { n: "SERVFAIL" }, then: [absent("a")] },
      { names: { n: ["a"] }, then: ["a"] }
    ]
  },
  {
    title: "22: ejected, unlisted; back",
    steps: [
      ejectable({ maxEjectionPercent: 100 }, "a", "b"),
      { calls: { a: "error" }, then: ["a FAILED_OUTLIER", "b"] },
      { assignment: of("b"), then: ["a FAILED_OUTLIER PENDING_DYNAMIC_REMOVAL", "b"] },
      // A check that passes brings it back.
      probes({ a: ["ok", "silent"] }, absent("a"), "b"),
      { calls: { a: "error" }, then: ["a FAILED_OUTLIER PENDING_DYNAMIC_REMOVAL", "b"] },
      { assignment: of("a", "b"), then: ["a FAILED_OUTLIER", "b"] }
    ]
  },
  {
    title: "25: unlisted, and a call says that checks fail",
    steps: [...unlisted(checked), { calls: { a: "excluded" }, then: [] }]
  },
  {
    title: "45: at most 10 % of five hosts",
    steps: [ejectable({}, "a", "b", "c", "d", "e"), { calls: { a: "error" }, then: ["a", "b", "c", "d", "e"] }]
  },
  {
    title: "45: at most 10 % of five hosts, and one always",
    steps: [
      ejectable({ alwaysEjectOneHost: true }, "a", "b", "c", "d", "e"),
      { calls: { a: "error" }, then: ["a FAILED_OUTLIER", "b", "c", "d", "e"] },
      { calls: { b: "error" }, then: ["a FAILED_OUTLIER", "b", "c", "d", "e"] }
    ]
  },
  ...counts("http"),
  {
    title: "38: a status that may be tried again",
    steps: [
      passing("http"),
      probes({ a: ["retriable", "silent"] }, "a"),
      probes({ a: ["retriable", "silent"] }, failing("a"))
    ]
  },
  {
    title: "39: silence, once and twice",
    steps: [
      { settings: counting("http", brief), assignment: of("a"), probes: { a: ["ok"] }, then: ["a"] },
      probes({ a: ["silent", "ok"] }, "a"),
      probes({ a: ["silent"] }, "a ACTIVE_HC_TIMEOUT FAILED_ACTIVE_HC")
    ]
  }
]

/** What a difference is seen in, for each that scripts which are drawn need not meet. */
export const inDispute: ReadonlyArray<Script> = [
  {
    title: "a checked LOGICAL_DNS host that failed once",
    steps: [
      {
        settings: { type: "LOGICAL_DNS", checks: { ...once("http"), unhealthy: 3 } },
        assignment: of("n"),
        names: { n: ["a"] },
        probes: { a: ["reset", "silent"] },
        then: [failing("a")]
      }
    ]
  },
  {
    title: "a changed locality of a host that is excluded",
    steps: [
      { settings: checked, assignment: of("a"), probes: { a: ["excluded", "silent"] } },
      {
        assignment: { entries: [{ host: "a", zone: "z1" }] },
        then: ["a EXCLUDED_VIA_IMMEDIATE_HC_FAIL FAILED_ACTIVE_HC"]
      }
    ]
  },
  {
    title: "a changed locality of a host that is ejected",
    steps: [
      ejectable({ maxEjectionPercent: 100 }, "a", "b"),
      { calls: { a: "error" }, then: ["a FAILED_OUTLIER", "b"] },
      { assignment: { entries: [{ host: "a", zone: "z1" }, { host: "b" }] }, then: ["a FAILED_OUTLIER", "b"] }
    ]
  },
  {
    title: "ALL, and IPv6 later than IPv4",
    steps: [
      {
        settings: { type: "LOGICAL_DNS", family: "ALL" },
        assignment: of("n"),
        names: { n: { 4: ["a"], 6: ["fd00::1"] } },
        then: ["[fd00::1]"]
      }
    ]
  },
  {
    title: "a changed hostname",
    steps: [
      { settings: checked, assignment: of("a"), probes: { a: ["ok"] }, then: ["a"] },
      { assignment: { entries: [{ host: "a", hostname: "h" }] }, then: ["a"] },
      { assignment: { entries: [{ host: "a", hostname: "h", weight: 2 }] }, then: ["a"] }
    ]
  },
  {
    title: "an assignment that does not exist",
    steps: [
      { settings: checked, assignment: of("a", "b"), probes: { a: ["ok"], b: ["reset"] }, then: ["a", failing("b")] },
      { assignment: null, then: [absent("a")] }
    ]
  },
  {
    title: "a host that is excluded, and fails already",
    steps: [
      { settings: checked, assignment: of("a"), probes: { a: ["ok"], b: ["excluded"] }, then: ["a"] },
      { assignment: of("a", "b"), then: ["a", "b EXCLUDED_VIA_IMMEDIATE_HC_FAIL FAILED_ACTIVE_HC"] }
    ]
  },
  {
    title: "from DRAINING to UNHEALTHY",
    steps: [
      { settings: { type: "EDS" }, assignment: { entries: [{ host: "a", health: "DRAINING" }] } },
      { assignment: { entries: [{ host: "a", health: "UNHEALTHY" }] }, then: ["a FAILED_EDS_HEALTH"] }
    ]
  },
  {
    title: "a changed cluster without hosts",
    steps: [
      { settings: { type: "STATIC" }, assignment: of("a"), then: ["a"] },
      { assignment: of(), then: [] }
    ]
  }
]
