/** What policies are given of members, and to whom calls then go: the policies are those of `routing`, all is connected. */
import { fromJson, type JsonObject } from "@bufbuild/protobuf"
import { Assignment, Cluster, type HostSet, MemberSet, PriorityLoad } from "@effect-xds/discovery"
import * as HealthFlags from "@effect-xds/discovery/HealthFlags"
import { Members } from "@effect-xds/discovery-node/Members"
import { ClusterSchema } from "@effect-xds/proto/envoy/config/cluster/v3/cluster"
import { ClusterLoadAssignmentSchema } from "@effect-xds/proto/envoy/config/endpoint/v3/endpoint"
import { CallCounters } from "@effect-xds/routing/CallCounters"
import * as CallHeaders from "@effect-xds/routing/CallHeaders"
import * as Routed from "@effect-xds/routing/Cluster"
import * as CompiledPicker from "@effect-xds/routing/CompiledPicker"
import type { Assignment as RoutedAssignment } from "@effect-xds/routing/Assignment"
import type * as Picker from "@effect-xds/routing/Picker"
import * as Cds from "@effect-xds/routing/policy/Cds"
import * as Tree from "@effect-xds/routing/Tree"
import type { ClusterConfig } from "@effect-xds/routing/XdsConfig"
import { describe, expect, it } from "@effect/vitest"
import { Either } from "effect"
import { type Aggregate, servedBy } from "./EnvoyTraffic.js"
import { aggregates } from "./EnvoyTrafficVectors.js"

interface Locality {
  readonly priority?: number
  readonly weight?: number
  readonly healthy?: number
  readonly degraded?: number
  readonly failing?: number
  readonly draining?: number
}

const clusterJson = (more: JsonObject): JsonObject => ({
  name: "c",
  type: "EDS",
  edsClusterConfig: { edsConfig: { ads: {} } },
  ...more
})

/** Members with these localities; the name of a locality is its place. */
const membersOf = (
  localities: ReadonlyArray<Locality>,
  policy: JsonObject = {},
  more: JsonObject = {},
  hostsBefore = 0
): Members => {
  const cluster = Either.getOrThrow(Cluster.make(fromJson(ClusterSchema, clusterJson(more))))
  let hosts = hostsBefore
  const many = (healthStatus: string, count = 0): ReadonlyArray<JsonObject> =>
    Array.from({ length: count }, () => {
      const address = `10.0.${hosts >> 8}.${hosts++ & 255}`
      return { healthStatus, endpoint: { address: { socketAddress: { address, portValue: 80 } } } }
    })
  const json: JsonObject = {
    clusterName: "c",
    policy,
    endpoints: localities.map(({ degraded, draining, failing, healthy, priority = 0, weight = 0 }, index) => ({
      priority,
      locality: { zone: String(index) },
      ...(weight === 0 ? {} : { loadBalancingWeight: weight }),
      lbEndpoints: [
        ...many("HEALTHY", healthy),
        ...many("DEGRADED", degraded),
        ...many("UNHEALTHY", failing),
        ...many("DRAINING", draining)
      ]
    }))
  }
  const assignment = Either.getOrThrow(Assignment.make(fromJson(ClusterLoadAssignmentSchema, json)))
  const context = { now: 0, draw: () => 0 }
  const [set] = MemberSet.step(MemberSet.make(cluster, 0), { _tag: "Assignment", assignment }, context)
  return new Members("c", "Ready", "", set)
}

/** A picker of these members, or of those of an aggregate's leaves; all that is to be connected is. */
const pickerOf = ({ assignment, cluster: name, leaves, set }: Members, sessions: boolean): Picker.Picker => {
  const cluster = Either.getOrThrow(Routed.make(fromJson(ClusterSchema, clusterJson({ lbPolicy: "ROUND_ROBIN" }))))
  const leafOf = (given: RoutedAssignment | undefined) =>
    ({ _tag: "Leaf", cluster, assignment: given, note: "" }) as const
  const clusters = new Map<string, ClusterConfig>(
    leaves?.map((leaf) => [leaf.cluster, leafOf(leaf.members?.assignment)])
  )
  const names = Array.from(clusters.keys())
  const panicThreshold = set?.cluster.load.panicThreshold
  const aggregate = { ...cluster, discovery: { _tag: "Aggregate", clusters: names, panicThreshold } } as const
  clusters.set(
    name,
    leaves === undefined ? leafOf(assignment) : { _tag: "Aggregate", cluster: aggregate, leaves: names }
  )
  const context = { now: 0, draw: () => 0 }
  const queue: Array<Tree.Input> = [
    { _tag: "Config", config: Cds.policy.with({ cluster: name, clusters, sessions }), endpoints: [] }
  ]
  let tree = Tree.empty
  for (let input = queue.shift(); input !== undefined; input = queue.shift()) {
    const [next, outputs] = Tree.step(tree, input, context)
    tree = next
    for (const output of outputs) {
      if (output._tag !== "Connect") continue
      queue.push({ _tag: "Connection", address: output.address, state: "READY", message: "" })
    }
  }
  return Tree.told(tree).picker
}

const picking = (members: Members, sessions = false): ((draw: (n: number) => number) => HostSet.Member | undefined) => {
  const picker = pickerOf(members, sessions)
  const counters = new CallCounters()
  const call = { path: "/s/m", headers: CallHeaders.empty, cluster: "c", hash: undefined }
  return (draw) => {
    const picked = CompiledPicker.pick(picker, { ...call, draw }, counters)
    if (picked._tag !== "Complete") return undefined
    const all = members.leaves?.flatMap((leaf) => leaf.members?.all ?? []) ?? members.all
    return all.find(({ host }) => host.address === picked.address)
  }
}

/** Healthy, all, degraded, excluded: as in the vectors. */
type Priority = readonly [h: number, n: number, d?: number, excluded?: number]

const localitiesOf = (priorities: ReadonlyArray<Priority>): ReadonlyArray<Locality> =>
  priorities.map(([healthy, all, degraded = 0, draining = 0], priority) => ({
    priority,
    weight: 1,
    healthy,
    degraded,
    draining,
    failing: all - healthy - degraded - draining
  }))

describe("calls among the leaves of an aggregate", () => {
  const leafOf = (
    name: string,
    at: number,
    priorities: ReadonlyArray<Priority>,
    policy: JsonObject,
    more: JsonObject
  ) => {
    const { message, set, state } = membersOf(localitiesOf(priorities), policy, more, at * 1_000)
    return { cluster: name, members: new Members(name, state, message, set) }
  }
  const aggregateOf = ({ commonLbConfig = {}, leaves, ofLeaves = {}, policy = {} }: Aggregate) =>
    new Members("r", "Ready", "", membersOf([], {}, { commonLbConfig }).set, [
      ...leaves.map((each, at) => leafOf(`r-${at}`, at, each, policy, { commonLbConfig: ofLeaves })),
      { cluster: "missing", members: undefined },
      { cluster: "warming", members: new Members("warming", "Warming", "", undefined) }
    ])
  /** Of a hundred calls, by leaf, priority and health: calls at even distances of both draws, of the leaf and within it. */
  const called = (members: Members, expected: Aggregate["expected"]): Aggregate["expected"] => {
    const pick = picking(members)
    const found = new Map<string, number>()
    const many = 60
    for (let call = 0; call < many * many; call++) {
      const member = pick((n) => ((n === 0 ? call % many : Math.floor(call / many)) + 0.5) / many)
      const leaf = members.leaves?.findIndex((each) => member !== undefined && each.members?.all.includes(member))
      const place = `${leaf} ${member?.host.priority}`
      const health = HealthFlags.healthOf(member?.flags ?? HealthFlags.none)
      const who = member === undefined ? "none" : `${place} ${`${place} all` in expected ? "all" : health}`
      found.set(who, (found.get(who) ?? 0) + 100 / many ** 2)
    }
    return Object.fromEntries(found)
  }

  it.each(Object.entries(aggregates))("%s: whom the aggregate says, and calls go there", (_, each) => {
    const members = aggregateOf(each)
    expect(servedBy(members)).toEqual(each.expected)
    expect(members.canServe).toBe(Object.keys(each.expected).length > 0)
    const seen = called(members, each.expected)
    expect(Object.keys(seen).sort()).toEqual(members.canServe ? Object.keys(each.expected).sort() : ["none"])
    for (const [who, share] of Object.entries(each.expected)) expect(Math.abs((seen[who] ?? 0) - share)).toBeLessThan(3)
  })

  it("★ a leaf that would panic by itself has those who are well alone, where enough are in all", () => {
    const [first] = aggregateOf({ leaves: [[[1, 4]], [[3, 3]]], expected: {} }).serving
    const called = first?.members.assignment.priorities.flat().flatMap(({ endpoints }) => endpoints)
    expect([first?.cluster, first?.share, called?.length]).toEqual(["r-0", 35, 1])
    // By itself it panics as it did.
    const { leaves } = aggregateOf({ leaves: [[[1, 4]], [[3, 3]]], expected: {} })
    expect(leaves?.[0]?.members?.assignment.priorities.flat().flatMap(({ endpoints }) => endpoints).length).toBe(4)
  })

  it.each<[string, Aggregate["leaves"], ReadonlyArray<string>]>([
    ["that has enough", [[[8, 10]], [[10, 10]]], ["0 healthy"]],
    ["that has some", [[[1, 4]], [[3, 3]]], ["0 healthy"]],
    ["but one of which nobody is well", [[[0, 4]], [[3, 3]]], ["1 healthy"]],
    ["in panic, where too few are well in all", [[[1, 4]], [[1, 4]]], ["0 healthy", "0 unhealthy"]]
  ])("★ where calls may be of sessions the first leaf has all: one %s", (_, leaves, expected) => {
    const members = aggregateOf({ leaves, expected: {} })
    const pick = picking(members, true)
    const seen = Array.from({ length: 100 }, (_, call) => {
      const member = pick(() => call / 100)
      const leaf = members.leaves?.findIndex((each) => member !== undefined && each.members?.all.includes(member))
      return `${leaf} ${HealthFlags.healthOf(member?.flags ?? HealthFlags.none)}`
    })
    expect(Array.from(new Set(seen)).sort()).toEqual(expected)
  })
})

describe("calls among priorities", () => {
  it.each<readonly [vector: number, priorities: ReadonlyArray<Priority>, counts: ReadonlyArray<number>]>([
    [
      26,
      [
        [8, 10],
        [10, 10]
      ],
      [100, 0]
    ],
    [
      27,
      [
        [7, 10],
        [10, 10]
      ],
      [98, 2]
    ],
    [
      28,
      [
        [5, 10],
        [10, 10]
      ],
      [70, 30]
    ],
    [
      29,
      [
        [2, 10],
        [2, 10]
      ],
      [50, 50]
    ],
    [
      30,
      [
        [0, 10],
        [5, 10]
      ],
      [0, 100]
    ],
    [
      31,
      [
        [0, 10],
        [0, 5]
      ],
      [67, 33]
    ],
    [32, [[4, 10]], [100]],
    [32, [[5, 10]], [100]],
    [33, [[3, 10, 0, 5]], [100]],
    [34, [[2, 10, 3]], [100]],
    [34, [[5, 10, 2]], [100]],
    [
      35,
      [
        [1, 6],
        [1, 6],
        [1, 6]
      ],
      [34, 33, 33]
    ],
    // A priority in panic has a share for its degraded hosts, too: both go to all.
    [
      0,
      [
        [1, 10, 1],
        [5, 10]
      ],
      [29, 71]
    ]
  ])("vector %i (0: none): percent by percent whom the load says", (_, priorities, counts) => {
    const members = membersOf(localitiesOf(priorities))
    const pick = picking(members)
    const found = priorities.map(() => 0)
    for (let percent = 0; percent < 100; percent++) {
      const random = (percent + 0.5) / 100
      const member = pick(() => random)
      const priority = member?.host.priority ?? -1
      found[priority] = (found[priority] ?? 0) + 1
      // Priorities, and within each its healthy and its degraded hosts, get what `choose` gives them.
      const isPanicking = members.load.loads[priority]?.isPanicking === true
      const hosts = isPanicking ? "all" : HealthFlags.healthOf(member?.flags ?? HealthFlags.none)
      expect({ priority, hosts }).toEqual(PriorityLoad.choose(members.load, random))
    }
    expect(found).toEqual(counts)
  })

  it("in panic all hosts of a priority get as many, whatever the weights of their localities; or nobody gets any", () => {
    const localities: ReadonlyArray<Locality> = [
      { weight: 1, failing: 3, draining: 1 },
      { weight: 50, healthy: 1, failing: 5 }
    ]
    const members = membersOf(localities)
    expect(members.assignment.priorities.map((each) => each.map(({ weight }) => weight))).toEqual([[4, 6]])
    const none = membersOf(localities, {}, { commonLbConfig: { zoneAwareLbConfig: { failTrafficOnPanic: true } } })
    expect([none.assignment.priorities, none.assignment.shares, none.canServe]).toEqual([[[]], [100], false])
    expect(picking(none)(() => 0)).toBeUndefined()
  })
})

it("★ the share of a priority whose calls in panic are to fail is no other's", () => {
  const failing = { commonLbConfig: { zoneAwareLbConfig: { failTrafficOnPanic: true } } }
  const members = membersOf(
    localitiesOf([
      [2, 10],
      [5, 10]
    ]),
    {},
    failing
  )
  const [first] = members.load.loads
  const pick = picking(members)
  // In Envoy 275 of 1 000 calls failed, and the others are of the second priority.
  const seen = Array.from({ length: 1_000 }, (_, call) => pick(() => call / 1_000)?.host.priority)
  expect([first?.isPanicking, first?.healthy]).toEqual([true, 29])
  expect(new Set(seen)).toEqual(new Set([undefined, 1]))
  expect(seen.filter((priority) => priority === undefined)).toHaveLength(290)
})

describe("localities", () => {
  const weighted: JsonObject = { commonLbConfig: { localityWeightedLbConfig: {} } }
  const weights = (
    localities: ReadonlyArray<Locality>,
    policy?: JsonObject,
    more = weighted
  ): ReadonlyArray<readonly [string, number]> =>
    membersOf(localities, policy, more).assignment.priorities.flatMap((each) =>
      each.map(({ endpoints, name, weight }) => {
        expect(endpoints.map(({ localityWeight }) => localityWeight)).toEqual(endpoints.map(() => weight))
        return [name.replace(/\D/g, ""), weight] as const
      })
    )

  it.each<[string, JsonObject, ReadonlyArray<readonly [string, number]>]>([
    [
      "and do not by default",
      {},
      [
        ["0", 1],
        ["1", 9],
        ["2", 1]
      ]
    ],
    [
      "and do not with another config",
      { commonLbConfig: { zoneAwareLbConfig: {} } },
      [
        ["0", 1],
        ["1", 9],
        ["2", 1]
      ]
    ],
    [
      "as here",
      weighted,
      [
        ["0", 1],
        ["1", 99]
      ]
    ],
    [
      "or leaves it to a policy of the newer API",
      { ...weighted, loadBalancingPolicy: {} },
      [
        ["0", 1],
        ["1", 99]
      ]
    ]
  ])("★ weigh what they are told where the cluster says so: %s", (_, more, expected) => {
    expect(weights([{ weight: 1, healthy: 1 }, { weight: 99, healthy: 9 }, { healthy: 1 }], {}, more)).toEqual(expected)
  })

  it("weigh what they are told while enough of their hosts are well: h / n of 100 / 140", () => {
    const localities: ReadonlyArray<Locality> = [
      { weight: 3, healthy: 8, failing: 2 },
      { weight: 1, healthy: 10 }
    ]
    expect(weights(localities)).toEqual([
      ["0", 3],
      ["1", 1]
    ])
  })

  it("weigh less the fewer are; ★ those in no ratio are not counted", () => {
    // 10 · 1.4 · 5 / 10; 5 of 5 that count.
    const localities: ReadonlyArray<Locality> = [
      { weight: 10, healthy: 5, failing: 5 },
      { weight: 10, healthy: 5, draining: 5 }
    ]
    expect(weights(localities)).toEqual([
      ["0", 7],
      ["1", 10]
    ])
    // By the factor of the assignment: 10 · 5 / 10.
    expect(weights(localities, { overprovisioningFactor: 100 })[0]).toEqual(["0", 5])
    // 3 · 1.4 · 1 / 3 is no whole number: all in parts of 2¹⁶.
    const third = { weight: 3, healthy: 1, failing: 2 }
    expect(weights([third, { weight: 1, healthy: 5 }])).toEqual([
      ["0", Math.round(1.4 * 65_536)],
      ["1", 65_536]
    ])
  })

  it("★ of policies that hash weigh what they were told, however few are well, and in panic, too", () => {
    const hashing = { ...weighted, lbPolicy: "RING_HASH" }
    const localities: ReadonlyArray<Locality> = [
      { weight: 3, healthy: 1, failing: 2 },
      { weight: 2, healthy: 2 }
    ]
    expect(weights(localities, {}, hashing)).toEqual([
      ["0", 3],
      ["1", 2]
    ])
    const few: ReadonlyArray<Locality> = [
      { weight: 3, healthy: 1, failing: 3 },
      { weight: 2, failing: 2 },
      { failing: 1 }
    ]
    expect(weights(few, {}, hashing)).toEqual([
      ["0", 3],
      ["1", 2]
    ])
    // Without that config they do not count.
    expect(weights(few, {}, { lbPolicy: "RING_HASH" })).toEqual([
      ["0", 4],
      ["1", 2],
      ["2", 1]
    ])
  })

  it("with no weight get no calls; where none has one all hosts are alike", () => {
    expect(weights([{ weight: 2, healthy: 1 }, { healthy: 9 }])).toEqual([["0", 2]])
    expect(weights([{ healthy: 1 }, { healthy: 9 }])).toEqual([
      ["0", 1],
      ["1", 9]
    ])
  })

  it("of degraded hosts weigh by how many of those there are", () => {
    // 28 % are healthy, and the others go to those that are degraded.
    const localities: ReadonlyArray<Locality> = [
      { weight: 10, healthy: 2, degraded: 5, failing: 1 },
      { weight: 10, degraded: 1, failing: 1 }
    ]
    const members = membersOf(localities, {}, weighted)
    expect(members.load.loads).toEqual([{ healthy: 28, degraded: 72, isPanicking: false }])
    expect(members.assignment.shares).toEqual([28, 72])
    const [healthy, degraded] = members.assignment.priorities
    expect(healthy?.map(({ endpoints }) => endpoints.length)).toEqual([2])
    expect(degraded?.map(({ endpoints, weight }) => [endpoints.length, weight])).toEqual([
      [5, Math.round(10 * 1.4 * (5 / 8) * 65_536)],
      [1, 7 * 65_536]
    ])
  })

  it("★ are drawn anew within their priority", () => {
    const pick = picking(
      membersOf([
        { priority: 0, weight: 1, healthy: 5, failing: 5 },
        { priority: 1, weight: 1, healthy: 1 },
        { priority: 1, weight: 1, healthy: 1 }
      ])
    )
    // 70 and 30: 0.8 and more is priority 1, whose first locality has a share, too.
    const localityAt = (ofShare: number, ofLocality: number) =>
      pick((n) => (n === 0 ? ofShare : ofLocality))?.host.locality
    expect([localityAt(0.8, 0.1), localityAt(0.8, 0.9), localityAt(0.1, 0.9)]).toEqual([
      '["","1",""]',
      '["","2",""]',
      '["","0",""]'
    ])
  })
})
