/**
 * The vectors that are seen in what becomes of calls, and in when something is asked, beside a real Envoy: shares of priorities
 * and panic to the integer, dropped calls, ejections, and the times of queries and probes.
 *
 * ★ Nothing is measured that a busy machine makes longer: what is to wait is seen not to come while others do, and at least
 * as long as it has to.
 */
import * as Waiting from "@effect-xds/testing/Waiting"
import { create, fromJson, type JsonObject } from "@bufbuild/protobuf"
import { type Any, anyPack } from "@bufbuild/protobuf/wkt"
import type * as ClusterMembers from "@effect-xds/discovery-node/ClusterMembers"
import type { Members } from "@effect-xds/discovery-node/Members"
import * as DropOverload from "@effect-xds/discovery/DropOverload"
import * as Outlier from "@effect-xds/discovery/Outlier"
import * as PriorityLoad from "@effect-xds/discovery/PriorityLoad"
import {
  type Cluster,
  Cluster_CustomClusterTypeSchema,
  ClusterSchema,
  LoadBalancingPolicySchema
} from "@effect-xds/proto/envoy/config/cluster/v3/cluster"
import { ClusterConfigSchema } from "@effect-xds/proto/envoy/extensions/clusters/aggregate/v3/cluster"
import * as XxHash64 from "@effect-xds/routing/XxHash64"
import * as Effect from "effect/Effect"
import * as Scope from "effect/Scope"
import { type Called, type EnvoyView, hashHeader } from "./EnvoyClusters.js"
import type { EnvoyWorld } from "./EnvoyWorld.js"
import type { LoopbackHosts } from "./LoopbackHosts.js"
import type { Asker } from "./ProbeTargets.js"

/** What is needed by a vector, which says what it saw. */
export interface Stage {
  readonly world: EnvoyWorld
  readonly hosts: LoopbackHosts
  readonly scope: Scope.Scope
}

type Service = ClusterMembers.Service

const askers: ReadonlyArray<Asker> = ["ours", "envoy"]
/** Longer than a test takes. */
const never = "300s"

const until = <A>(what: string, look: Waiting.Look<A>, options?: Waiting.Options) =>
  Effect.runPromise(Waiting.found(what, look, options))

/** A cluster that both have; `service` is ours. */
const begin = async (
  { scope, world }: Stage,
  cluster: (JsonObject & { readonly name: string }) | Cluster,
  assignment?: JsonObject
): Promise<Service> => {
  await world.update({ clusters: [cluster], ...(assignment === undefined ? {} : { endpoints: [assignment] }) })
  return Effect.runPromise(Scope.extend(world.of(cluster.name), scope))
}

const view = async ({ world }: Stage, name: string): Promise<EnvoyView | undefined> =>
  (await world.nextLook()).get(name)

/** Waits until both use a cluster with so many hosts. */
const ready = (stage: Stage, service: Service, name: string, count: number): Promise<true> =>
  until(`both have ${count} hosts of ${name}`, async () => {
    const theirs = await view(stage, name)
    const mine = Effect.runSync(service.status).inUse
    return theirs?.hosts.length === count && theirs.counts.total === count && mine?.hosts.length === count
      ? true
      : undefined
  })

interface Endpoint {
  readonly address: string
  readonly health?: string
  readonly priority?: number
}

const eds = (
  name: string,
  more: JsonObject,
  commonLbConfig: JsonObject = {}
): JsonObject & { readonly name: string } => ({
  name,
  type: "EDS",
  connectTimeout: "10s",
  edsClusterConfig: { edsConfig: { ads: {}, resourceApiVersion: "V3" } },
  ...more,
  // ★ Else Envoy's hosts may be a second apart.
  commonLbConfig: { ...commonLbConfig, updateMergeWindow: "0s" }
})

const assignmentOf = (
  name: string,
  port: number,
  endpoints: ReadonlyArray<Endpoint>,
  policy?: JsonObject
): JsonObject => ({
  clusterName: name,
  endpoints: Array.from(new Set(endpoints.map(({ priority = 0 }) => priority)), (priority) => ({
    priority,
    locality: { zone: `z${priority}` },
    lbEndpoints: endpoints
      .filter((each) => (each.priority ?? 0) === priority)
      .map(({ address, health = "UNKNOWN" }) => ({
        endpoint: { address: { socketAddress: { address, portValue: port } } },
        healthStatus: health
      }))
  })),
  ...(policy === undefined ? {} : { policy })
})

const aggregateOf = (name: string, clusters: ReadonlyArray<string>, commonLbConfig: JsonObject): Cluster => {
  const message = fromJson(ClusterSchema, { name, connectTimeout: "10s", lbPolicy: "CLUSTER_PROVIDED", commonLbConfig })
  const value = create(Cluster_CustomClusterTypeSchema, {
    name: "envoy.clusters.aggregate",
    typedConfig: anyPack(ClusterConfigSchema, create(ClusterConfigSchema, { clusters: [...clusters] }))
  })
  message.clusterDiscoveryType = { case: "clusterType", value }
  return message
}

const inTurn = async <A, B>(
  all: ReadonlyArray<A>,
  width: number,
  each: (value: A) => Promise<B>
): Promise<Array<B>> => {
  const results: Array<B> = []
  for (let at = 0; at < all.length; at += width) {
    results.push(...(await Promise.all(all.slice(at, at + width).map(each))))
  }
  return results
}

const times = (count: number): ReadonlyArray<number> => Array.from({ length: count }, (_, at) => at)

/** For each of the hundred parts of a draw a text with such a hash: with a policy that hashes, Envoy draws by it. */
const texts = (() => {
  const found = new Map<number, string>()
  for (let number = 0; found.size < 100; number++) {
    const part = Number(XxHash64.ofString(`call ${number}`) % 100n)
    if (!found.has(part)) found.set(part, `call ${number}`)
  }
  return Array.from({ length: 100 }, (_, part) => found.get(part) ?? "")
})()

/** Of a priority: all hosts, and of them those that are healthy, degraded, and draining; the others are unhealthy. */
type Counts = readonly [healthy: number, all: number, degraded?: number, draining?: number]

const healthOf = (index: number, [healthy, , degraded = 0, draining = 0]: Counts): string =>
  index < healthy
    ? "HEALTHY"
    : index < healthy + degraded
      ? "DEGRADED"
      : index < healthy + degraded + draining
        ? "DRAINING"
        : "UNHEALTHY"

/** Calls of a hundred, by who gets them: `0 healthy`, or `0 all` where the health is disregarded. */
export type Shares = Readonly<Record<string, number>>

const tally = (all: ReadonlyArray<string>): Shares =>
  Object.fromEntries(
    Array.from(new Set(all))
      .sort()
      .map((each) => [each, all.filter((other) => other === each).length])
  )

/** Priorities, and what is said of their load. */
export interface Load {
  readonly priorities: ReadonlyArray<Counts>
  /** Of the cluster. */
  readonly commonLbConfig?: JsonObject
  /** Of the assignment. */
  readonly policy?: JsonObject
  /** Of a hundred calls. */
  readonly expected: Shares
}

/** Hosts of several priorities, and who is who. */
const hostsOf = (index: number, priorities: ReadonlyArray<Counts>) =>
  priorities.flatMap((counts, priority) =>
    Array.from({ length: counts[1] }, (_, host) => ({
      address: `127.20.${index}.${priority * 50 + host + 1}`,
      priority,
      health: healthOf(host, counts)
    }))
  )

/** Calls, as Envoy distributes them, and the members that we have. */
const callsOf = async (
  stage: Stage,
  index: number,
  { commonLbConfig, policy, priorities }: Load,
  lbPolicy: string,
  hashes: ReadonlyArray<string>
) => {
  const name = `load${index}`
  const endpoints = hostsOf(index, priorities)
  const service = await begin(
    stage,
    eds(name, { lbPolicy }, commonLbConfig),
    assignmentOf(name, stage.hosts.port, endpoints, policy)
  )
  await ready(stage, service, name, endpoints.length)
  const calls = await inTurn(hashes, 10, (hash) => stage.world.envoy.call(name, { [hashHeader]: hash }))
  const got = calls.map(({ address }) => endpoints.find((each) => each.address === address))
  const isPanicking = (priority: number): boolean =>
    got.some((each) => each?.priority === priority && ["UNHEALTHY", "DRAINING"].includes(each.health))
  const envoy = got.map((each) =>
    each === undefined ? "none" : `${each.priority} ${isPanicking(each.priority) ? "all" : each.health.toLowerCase()}`
  )
  const { load } = Effect.runSync(service.current)
  const ours = texts.map((_, part) => {
    const choice = PriorityLoad.choose(load, (part + 0.5) / 100)
    return choice === undefined || choice.hosts === "none" ? "none" : `${choice.priority} ${choice.hosts}`
  })
  return { ours, envoy }
}

/** 26 to 35: a hundred calls, each with another part of the draw. What Envoy does, and what we do; and where it is not the same. */
export const load = async (
  stage: Stage,
  index: number,
  given: Load
): Promise<{ readonly ours: Shares; readonly envoy: Shares; readonly apart: ReadonlyArray<number> }> => {
  const { envoy, ours } = await callsOf(stage, index, given, "RING_HASH", texts)
  return { ours: tally(ours), envoy: tally(envoy), apart: ours.flatMap((each, at) => (each === envoy[at] ? [] : [at])) }
}

/** 34, for policies that hash have no degraded hosts in Envoy: of many calls, about so many of a hundred. */
export const drawnLoad = async (
  stage: Stage,
  index: number,
  given: Load
): Promise<{ readonly ours: Shares; readonly envoy: Shares }> => {
  const calls = times(500).map(String)
  const { envoy, ours } = await callsOf(stage, index, given, "RANDOM", calls)
  const about = Object.entries(tally(envoy)).map(([who, count]) => [who, count / 5] as const)
  return { ours: tally(ours), envoy: Object.fromEntries(about) }
}

/** Localities of one priority, and what is said of their weights. */
export interface Localities {
  readonly localities: ReadonlyArray<{ readonly weight: number; readonly counts: Counts }>
  /** Of the cluster. */
  readonly cluster?: JsonObject
  readonly commonLbConfig?: JsonObject
  /** The policy of the newer API, beside which the others say nothing of localities. */
  readonly policy?: Any
  /** Of a hundred calls, by locality. */
  readonly expected: ReadonlyArray<number>
}

/** What localities get of a hundred calls: with us by their weights, and about so many by Envoy. */
export const localities = async (
  stage: Stage,
  index: number,
  { cluster = {}, commonLbConfig = {}, localities, policy }: Localities
): Promise<Readonly<Record<Asker, ReadonlyArray<number>>>> => {
  const name = `localities${index}`
  const endpoints = localities.map(({ counts }, zone) =>
    times(counts[1]).map((host) => ({
      address: `127.29.${index}.${zone * 50 + host + 1}`,
      health: healthOf(host, counts)
    }))
  )
  const given = fromJson(ClusterSchema, eds(name, cluster, commonLbConfig))
  if (policy !== undefined) {
    given.loadBalancingPolicy = create(LoadBalancingPolicySchema, {
      policies: [{ typedExtensionConfig: { name: "policy", typedConfig: policy } }]
    })
  }
  const service = await begin(stage, given, {
    clusterName: name,
    endpoints: localities.map(({ weight }, zone) => ({
      locality: { zone: `z${zone}` },
      loadBalancingWeight: weight,
      lbEndpoints: (endpoints[zone] ?? []).map(({ address, health }) => ({
        endpoint: { address: { socketAddress: { address, portValue: stage.hosts.port } } },
        healthStatus: health
      }))
    }))
  })
  await ready(stage, service, name, endpoints.flat().length)
  const calls = await inTurn(times(500), 10, (call) => stage.world.envoy.call(name, { [hashHeader]: `call ${call}` }))
  const envoy = endpoints.map(
    (hosts) => calls.filter(({ address }) => hosts.some((host) => host.address === address)).length / 5
  )
  const [priority = []] = Effect.runSync(service.current).assignment.priorities
  const sum = priority.reduce((all, { weight }) => all + weight, 0)
  const ours = localities.map((_, zone) =>
    Math.round((100 * (priority.find((each) => each.name === `["","z${zone}",""]`)?.weight ?? 0)) / sum)
  )
  return { ours, envoy }
}

/** An aggregate: its leaves, of which each has priorities, and what is said of their load. */
export interface Aggregate {
  readonly leaves: ReadonlyArray<ReadonlyArray<Counts>>
  /** Of the aggregate, and of each of its leaves. */
  readonly commonLbConfig?: JsonObject
  readonly ofLeaves?: JsonObject
  /** Of the assignments. */
  readonly policy?: JsonObject
  /** Of a hundred calls, by leaf, priority and health. */
  readonly expected: Shares
  /** What Envoy does instead. */
  readonly envoy?: Shares
}

/** What leaves of an aggregate get of a hundred calls. */
export const servedBy = ({ serving }: Members): Shares => {
  const found = new Map<string, number>()
  for (const { cluster, members } of serving) {
    for (const [priority, { isPanicking, ...load }] of members.load.loads.entries()) {
      for (const health of ["healthy", "degraded"] as const) {
        const who = `${cluster.split("-")[1] ?? cluster} ${priority} ${isPanicking ? "all" : health}`
        if (load[health] > 0) found.set(who, (found.get(who) ?? 0) + load[health])
      }
    }
  }
  return Object.fromEntries(found)
}

/** Of many calls to an aggregate, about so many of a hundred by Envoy. ★ It draws by itself, whatever the policies of leaves are. */
export const aggregate = async (
  stage: Stage,
  index: number,
  { commonLbConfig = {}, leaves, ofLeaves = {}, policy }: Aggregate
): Promise<{ readonly ours: Shares; readonly envoy: Shares }> => {
  const { hosts, scope, world } = stage
  const name = `aggregate${index}`
  const names = leaves.map((_, leaf) => `${name}-${leaf}`)
  const endpoints = leaves.flatMap((priorities, leaf) =>
    hostsOf(index, priorities).map((each) => ({
      ...each,
      leaf,
      address: `127.28.${index * 4 + leaf}.${each.address.split(".").at(-1) ?? ""}`
    }))
  )
  await world.update({
    clusters: [
      aggregateOf(name, names, { ...commonLbConfig, updateMergeWindow: "0s" }),
      ...names.map((leaf) => eds(leaf, { lbPolicy: "RANDOM" }, ofLeaves))
    ],
    endpoints: names.map((leaf, at) =>
      assignmentOf(
        leaf,
        hosts.port,
        endpoints.filter((each) => each.leaf === at),
        policy
      )
    )
  })
  const service = await Effect.runPromise(Scope.extend(world.of(name), scope))
  const countOf = (leaf: number): number => endpoints.filter((each) => each.leaf === leaf).length
  await until(`both have the hosts of ${name}`, async () => {
    const theirs = await world.nextLook()
    const { leaves: mine = [] } = Effect.runSync(service.current)
    const isThere = names.every(
      (leaf, at) => theirs.get(leaf)?.counts.total === countOf(at) && mine[at]?.members?.all.length === countOf(at)
    )
    return theirs.has(name) && isThere ? true : undefined
  })
  const calls = await inTurn(times(500), 10, () => world.envoy.call(name))
  const got = calls.map(({ address }) => endpoints.find((each) => each.address === address))
  const placeOf = (each: (typeof endpoints)[number]): string => `${each.leaf} ${each.priority}`
  const panicking = new Set(
    got.flatMap((each) => (each === undefined || !["UNHEALTHY", "DRAINING"].includes(each.health) ? [] : placeOf(each)))
  )
  const envoy = tally(
    got.map((each) => {
      if (each === undefined) return "none"
      const place = placeOf(each)
      return `${place} ${panicking.has(place) ? "all" : each.health.toLowerCase()}`
    })
  )
  return {
    ours: servedBy(Effect.runSync(service.current)),
    envoy: Object.fromEntries(Object.entries(envoy).map(([who, count]) => [who, count / 5] as const))
  }
}

/** 13: how many of so many calls are let pass. ★ Envoy takes one category alone, and draws by itself. */
export const drops = async (
  stage: Stage,
  percent: number,
  calls: number
): Promise<{ readonly ours: number; readonly envoy: number }> => {
  const name = `drop${percent}`
  const policy = { dropOverloads: [{ category: "some", dropPercentage: { numerator: percent } }] }
  const service = await begin(
    stage,
    eds(name, {}),
    assignmentOf(name, stage.hosts.port, [{ address: `127.21.0.${percent + 1}` }], policy)
  )
  await ready(stage, service, name, 1)
  const results = await inTurn(times(calls), 20, () => stage.world.envoy.call(name))
  const { drops } = Effect.runSync(service.current)
  const passing = times(calls).map((at) => DropOverload.choose(drops, () => (at + 0.5) / calls))
  return {
    ours: passing.filter((category) => category === undefined).length,
    envoy: results.filter(({ status }) => status === 200).length
  }
}

const isEjected = ({ flags }: { readonly flags: ReadonlyArray<string> }): boolean => flags.includes("FAILED_OUTLIER")

const addressOf = (text: string): string => text.replace(/:\d+$/, "")

/** Who is ejected, as each of both says. */
const ejectedOf = async (
  stage: Stage,
  service: Service,
  name: string
): Promise<Readonly<Record<Asker, ReadonlyArray<string>>>> => {
  const of = (all: ReadonlyArray<{ readonly address: string; readonly flags: ReadonlyArray<string> }>) =>
    all
      .filter(isEjected)
      .map(({ address }) => addressOf(address))
      .sort()
  return {
    ours: of(Effect.runSync(service.status).inUse?.hosts ?? []),
    envoy: of((await view(stage, name))?.hosts ?? [])
  }
}

const report = (service: Service, calls: ReadonlyArray<Called>): void => {
  const ids = new Map(
    Effect.runSync(service.status).inUse?.hosts.map(({ address, host }) => [addressOf(address), host])
  )
  for (const { address, status } of calls) {
    Effect.runSync(service.report(ids.get(address) ?? "", { _tag: "Response", status }))
  }
}

const many = (index: number, count: number): ReadonlyArray<Endpoint> =>
  Array.from({ length: count }, (_, host) => ({ address: `127.22.${index}.${host + 1}` }))

/** 45: one error of each of so many hosts: how many of them are ejected. */
export const ejectedByErrors = async (
  stage: Stage,
  index: number,
  count: number,
  outlierDetection: JsonObject = {}
): Promise<Readonly<Record<Asker, number>>> => {
  const name = `errors${index}`
  const outliers = { consecutive5xx: 1, interval: never, baseEjectionTime: never, maxEjectionTime: "600s" }
  const service = await begin(
    stage,
    eds(name, { outlierDetection: { ...outliers, ...outlierDetection } }),
    assignmentOf(name, stage.hosts.port, many(index, count))
  )
  await ready(stage, service, name, count)
  for (const { address } of many(index, count)) stage.hosts.set(address, { failures: 1 })
  const failed = new Set<string>()
  while (failed.size < count) {
    // One after the other: who is ejected before the limit is reached depends on the order.
    const calls = await inTurn(times(10), 1, () => stage.world.envoy.call(name))
    report(service, calls)
    for (const { address, status } of calls) if (status === 500) failed.add(address)
    // Who is ejected gets no more calls, and had its error.
    if (calls.every(({ status }) => status === 200)) break
  }
  return until(`as many are ejected of ${count}`, async () => {
    const { envoy, ours } = await ejectedOf(stage, service, name)
    return ours.join() === envoy.join() ? { ours: ours.length, envoy: envoy.length } : undefined
  })
}

/** What a sweep made of calls. */
export interface Swept {
  /** Percentages of success, of hosts with enough calls, from the least. */
  readonly rates: ReadonlyArray<number>
  /** The mean and the bound below which hosts are ejected, by Envoy's events and by ours; without fractions. */
  readonly bounds: Readonly<Record<Asker, ReadonlyArray<number>>>
  /** The percentages of those that are ejected. */
  readonly ejected: Readonly<Record<Asker, ReadonlyArray<number>>>
}

/** 46 to 49: calls of one interval, in turn to each host, of which some fail. */
export const sweep = async (
  stage: Stage,
  index: number,
  failures: ReadonlyArray<number>,
  calls: number,
  outlierDetection: JsonObject
): Promise<Swept> => {
  const name = `sweep${index}`
  const endpoints = many(index, failures.length)
  const interval = 3_000
  const outliers = {
    interval: `${interval / 1_000}s`,
    baseEjectionTime: never,
    maxEjectionPercent: 100,
    enforcingConsecutive5xx: 0,
    ...outlierDetection
  }
  const service = await begin(
    stage,
    eds(name, { outlierDetection: outliers }),
    assignmentOf(name, stage.hosts.port, endpoints)
  )
  await ready(stage, service, name, endpoints.length)
  const volume = Math.ceil(calls / failures.length)
  const expected = failures.map((failed) => (100 * (volume - failed)) / volume)
  // ★ Calls of which a sweep comes between are too few for either interval, and are made again: each time takes
  // eight seconds, and the first ones are beside all other calls.
  const attempt = async () => {
    for (const [at, { address }] of endpoints.entries()) stage.hosts.set(address, { failures: failures[at] ?? 0 })
    const made = await inTurn(times(calls), 10, () => stage.world.envoy.call(name))
    const counted = tally(made.map(({ address }) => address))
    const deadline = Date.now() + 2 * interval
    while (Date.now() < deadline) {
      const rates = (await view(stage, name))?.successRates ?? new Map<string, number>()
      const isWhole = endpoints.every(({ address }, at) =>
        counted[address] === volume ? rates.get(address) === expected[at] : !rates.has(address)
      )
      if (isWhole && rates.size > 0) return { made, rates }
    }
    return undefined
  }
  const rated = await until(`a sweep of all calls of ${name}`, attempt, { limit: "2 minutes" })
  report(service, rated.made)
  const { set } = await until(`our sweep of ${name}`, () => {
    const members = Effect.runSync(service.current)
    const outlier = members.set?.outlier
    return outlier !== undefined && members.all.every(({ host }) => Outlier.find(outlier, host.id)?.external.all === 0)
      ? members
      : undefined
  })
  const { envoy, ours } = await until(`as many are ejected of ${name}`, async () => {
    const ejected = await ejectedOf(stage, service, name)
    return ejected.ours.join() === ejected.envoy.join() ? ejected : undefined
  })
  const rates = Array.from(rated.rates.values()).sort((a, b) => a - b)
  const rateOf = (address: string): number => rated.rates.get(address) ?? -1
  const factor = set?.cluster.outlierDetection?.successRateStdevFactor ?? 0
  const { bound, mean } = Outlier.boundOf(rates, factor)
  const seen = stage.world.envoy
    .ejections(name)
    .flatMap(({ eject_success_rate_event: event, enforced }) =>
      event === undefined || !enforced
        ? []
        : [event.cluster_average_success_rate, event.cluster_success_rate_ejection_threshold]
    )
  return {
    rates,
    bounds: { ours: [mean, bound].map(Math.floor), envoy: seen },
    ejected: { ours: ours.map(rateOf), envoy: envoy.map(rateOf) }
  }
}

/**
 * 44: for how many base times a host is ejected, once and again at once, without fractions and at most: `[1, 2]`. ★ Who was
 * back for an interval begins anew: a machine that stood still tries again.
 */
export const ejectionTimes = async (
  stage: Stage,
  attempt = 1
): Promise<Readonly<Record<Asker, ReadonlyArray<number>>>> => {
  const name = `times${attempt}`
  const [base, interval] = [600, 700]
  const address = `127.23.0.${attempt}`
  const outlierDetection = {
    consecutive5xx: 1,
    interval: `${interval / 1_000}s`,
    baseEjectionTime: `${base / 1_000}s`,
    maxEjectionPercent: 100
  }
  const service = await begin(
    stage,
    eds(name, { outlierDetection }),
    assignmentOf(name, stage.hosts.port, [{ address }])
  )
  await ready(stage, service, name, 1)
  const ours: Array<number> = []
  const theirs = () => stage.world.envoy.ejections(name).map(({ timestamp }) => Date.parse(timestamp))
  for (const time of [1, 2]) {
    stage.hosts.set(address, { failures: 1 })
    report(service, [await stage.world.envoy.call(name)])
    const mine = () => Effect.runSync(service.status).inUse?.hosts[0]
    ours.push(mine()?.ejected?.at ?? 0)
    const returned = await until(`ejection ${time} is over`, () => {
      const host = mine()
      return host?.ejected === undefined && theirs().length === 2 * time ? host?.since : undefined
    })
    ours.push(returned)
  }
  const between = ([, returned = 0, again = 0]: ReadonlyArray<number>) => again - returned
  if (attempt < 5 && [ours, theirs()].some((all) => between(all) >= interval)) return ejectionTimes(stage, attempt + 1)
  // Envoy writes whole milliseconds.
  const lasts = ([first = 0, back = 0, second = 0, end = 0]: ReadonlyArray<number>) =>
    [back - first, end - second].map((time, at) => Math.min(at + 1, Math.floor((time + 1) / base)))
  return { ours: lasts(ours), envoy: lasts(theirs()) }
}

/** How often something is asked for: not at all, once and no more, or again and again, with so many milliseconds between at least. */
interface Pace {
  readonly often: "not at all" | "at most once" | "once" | "again"
  readonly atLeast?: number
}

interface Watched {
  readonly title: string
  readonly expected: Pace
  readonly times: (asker: Asker) => number
  readonly least: (asker: Asker) => number
}

/** How often a thing is asked for at least, and at most. */
const bounds: Readonly<Record<Pace["often"], readonly [number, number]>> = {
  "not at all": [0, 0],
  "at most once": [0, 1],
  once: [1, 1],
  // So often from now on, which is what the others have to stand.
  again: [4, Number.POSITIVE_INFINITY]
}

/** Waits until all is asked for that is to be, and says what is otherwise. */
const paces = async (watched: ReadonlyArray<Watched>): Promise<ReadonlyArray<string>> => {
  const all = watched.flatMap(({ expected, least, times, title }) =>
    askers.map((asker) => {
      const since = expected.often === "again" ? times(asker) : 0
      return { title, asker, expected, often: () => times(asker) - since, least: () => least(asker) }
    })
  )
  const isEnough = () => all.every(({ expected, often }) => often() >= bounds[expected.often][0])
  await until("all is asked for that is to be", () => isEnough()).catch(() => undefined)
  return all.flatMap(({ asker, expected: { atLeast = 0, often: expected }, least, often, title }) => {
    const [from, to] = bounds[expected]
    const isRight = often() >= from && often() <= to && least() >= atLeast - 5
    return isRight ? [] : [`${title}: ${asker} ${often()} times, ${least()} ms between`]
  })
}

const gaps = (times: ReadonlyArray<number>): number =>
  Math.min(...times.slice(1).map((time, at) => time - (times[at] ?? 0)))

const withJitter = (cluster: JsonObject, seconds: number): Cluster =>
  fromJson(ClusterSchema, { ...cluster, dnsJitter: `${seconds}s` })

export interface Query {
  readonly title: string
  readonly type: "STRICT_DNS" | "LOGICAL_DNS"
  /** The times to live of its addresses, in seconds; or it fails. */
  readonly answer: ReadonlyArray<number> | "SERVFAIL"
  readonly settings: JsonObject
  /** In seconds. */
  readonly jitter?: number
  readonly expected: Pace
}

/** 4 to 6: when names are asked for again. What was otherwise. */
export const queries = async (stage: Stage, all: ReadonlyArray<Query>): Promise<ReadonlyArray<string>> => {
  const named = all.map((query, index) => ({ ...query, name: `query${index}`, host: `query${index}.test` }))
  for (const { answer, host } of named) {
    const given = typeof answer === "string" ? answer : answer.map((_, at) => `127.24.0.${at + 1}`)
    stage.world.names.set(host, { 4: given, 6: [], ttls: typeof answer === "string" ? [] : answer })
  }
  await Promise.all(
    named.map(({ host, jitter = 0, name, settings, type }) => {
      const loadAssignment = assignmentOf(name, stage.hosts.port, [{ address: host }])
      const json = { name, type, dnsLookupFamily: "V4_ONLY", connectTimeout: "10s", ...settings, loadAssignment }
      return begin(stage, withJitter(json, jitter))
    })
  )
  return paces(
    named.map(({ expected, host, title }) => ({
      title,
      expected,
      times: (asker) => stage.world.names.asked(asker, host, 4),
      least: (asker) => gaps(stage.world.names.askedAt(asker, host, 4))
    }))
  )
}

export interface Checks {
  readonly title: string
  readonly settings: JsonObject
  /** What probes are answered. */
  readonly status?: number
  readonly hasTraffic?: boolean
  readonly expected: Pace
}

/** 41 to 43: when hosts are probed again. What was otherwise. */
export const probes = async (stage: Stage, all: ReadonlyArray<Checks>): Promise<ReadonlyArray<string>> => {
  const named = all.map((each, index) => ({ ...each, name: `probe${index}`, address: `127.25.0.${index + 1}` }))
  const begun = await Promise.all(
    named.map(async (each) => {
      const { address, name, settings, status = 200 } = each
      stage.hosts.set(address, { probeStatus: status })
      const checker = {
        timeout: never,
        interval: never,
        noTrafficInterval: never,
        healthyThreshold: 1,
        unhealthyThreshold: 1,
        httpHealthCheck: { path: "/health" },
        ...settings
      }
      const service = await begin(
        stage,
        eds(name, { healthChecks: [checker] }),
        assignmentOf(name, stage.hosts.port, [{ address }])
      )
      return { ...each, service }
    })
  )
  const before = new Map<string, number>()
  for (const { address, hasTraffic, name, service } of begun.filter(({ hasTraffic }) => hasTraffic === true)) {
    await ready(stage, service, name, 1)
    await until(`a call to ${name}`, async () =>
      (await stage.world.envoy.call(name)).status === 200 ? hasTraffic : undefined
    )
    Effect.runSync(service.trafficSeen)
    // ★ What is waited for is not longer for it: one more may come.
    for (const asker of askers) before.set(`${asker} ${address}`, stage.hosts.probed(asker, address))
  }
  return paces(
    begun.map(({ address, expected, title }) => ({
      title,
      expected,
      times: (asker) => stage.hosts.probed(asker, address) - (before.get(`${asker} ${address}`) ?? 0),
      least: () => Number.POSITIVE_INFINITY
    }))
  )
}

/** 11: hosts of calls, of which one is connected to for longer. Who is there then and later, as each of both says. */
export const originalDst = async (
  stage: Stage
): Promise<ReadonlyArray<Readonly<Record<Asker, ReadonlyArray<string>>>>> => {
  const name = "original"
  const [closing, open] = ["127.26.0.1", "127.26.0.2"] as const
  const service = await begin(stage, {
    name,
    type: "ORIGINAL_DST",
    lbPolicy: "CLUSTER_PROVIDED",
    connectTimeout: "10s",
    cleanupInterval: "0.3s",
    commonLbConfig: { updateMergeWindow: "0s" },
    originalDstLbConfig: { useHttpHeader: true }
  })
  stage.hosts.set(closing, { closes: true })
  const there = async (): Promise<Readonly<Record<Asker, ReadonlyArray<string>>>> => {
    const of = (all: ReadonlyArray<{ readonly address: string; readonly flags: ReadonlyArray<string> }>) =>
      all.map(({ address, flags }) => [addressOf(address), ...flags].join(" ")).sort()
    return {
      ours: of(Effect.runSync(service.status).inUse?.hosts ?? []),
      envoy: of((await view(stage, name))?.hosts ?? [])
    }
  }
  const both = (count: number) =>
    until(`both have ${count} hosts of ${name}`, async () => {
      const seen = await there()
      return seen.ours.length === count && seen.envoy.length === count ? seen : undefined
    })
  await until("both use it", async () => {
    const isOurs = Effect.runSync(service.status).inUse !== undefined
    return isOurs && (await view(stage, name)) !== undefined ? true : undefined
  })
  const header = "x-envoy-original-dst-host"
  for (const address of [open, closing]) {
    const value = `${address}:${stage.hosts.port}`
    await stage.world.envoy.call(name, { [header]: value })
    const call = {
      header: (of: string) => (of === header ? value : undefined),
      filterState: undefined,
      requestMetadata: () => undefined,
      connectionMetadata: () => undefined,
      restored: undefined,
      draw: () => 0
    }
    const picked = Effect.runSync(service.pick(call)).address ?? ""
    if (address === open) Effect.runSync(service.inUse(picked, true))
  }
  const first = await both(1)
  // Without an address there is no connection, and no host.
  await stage.world.envoy.call(name)
  const second = await there()
  stage.hosts.hangUp(open)
  Effect.runSync(service.inUse(`${open}:${stage.hosts.port}`, false))
  return [first, second, await both(0)]
}
