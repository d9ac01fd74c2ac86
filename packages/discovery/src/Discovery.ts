/**
 * Which hosts a cluster has, by its type: answers of DNS, assignments, picks and time go in; what to resolve, and all hosts
 * there are now, comes out. Who of them is still there, and well, is `HostSet`'s to say.
 *
 * @see https://www.envoyproxy.io/docs/envoy/latest/intro/arch_overview/upstream/service_discovery
 * @since 0.1.0
 */
import * as Either from "effect/Either"
import * as HashMap from "effect/HashMap"
import * as Option from "effect/Option"
import * as Targets from "./DnsTarget.js"
import * as Endpoints from "./Endpoint.js"
import * as Hosts from "./Host.js"

/**
 * A cluster, as far as discovery goes. Durations are in milliseconds.
 *
 * @since 0.1.0
 */
export type Cluster =
  | { readonly type: "STATIC"; readonly endpoints: ReadonlyArray<Endpoints.Endpoint> }
  | {
      readonly type: "STRICT_DNS" | "LOGICAL_DNS"
      readonly endpoints: ReadonlyArray<Endpoints.Endpoint>
      readonly dns?: Partial<Omit<Targets.Settings, "uses">> | undefined
      /** `wait_for_warm_on_init`; default: true. */
      readonly waitForWarmOnInit?: boolean | undefined
    }
  /** `initialFetchTimeout`: how long the first assignment may take; 0: for ever; default: 15 000. */
  | { readonly type: "EDS"; readonly initialFetchTimeout?: number | undefined }
  /**
   * `cleanupInterval`: how often hosts that are not used are looked for; default: 5000. `maxHosts`: ★ how many there may be at a
   * time, since clients may choose them; default: {@link maxPicked}.
   */
  | {
      readonly type: "ORIGINAL_DST"
      readonly cleanupInterval?: number | undefined
      readonly maxHosts?: number | undefined
    }

/**
 * How many hosts of picks there may be at a time, if nothing else is said.
 *
 * @since 0.1.0
 */
export const maxPicked = 4_096

/**
 * A mistake in a cluster.
 *
 * @since 0.1.0
 */
export interface Mistake {
  /** As in the proto: `load_assignment.endpoints`. */
  readonly field: string
  /** What is wrong, and what to do. */
  readonly message: string
}

/**
 * What happens.
 *
 * @since 0.1.0
 */
export type Input =
  | { readonly _tag: "Start" }
  /** A query has ended, named as `Resolve` has it. `random`: in [0, 1). ★ No addresses: the name has none, which is no failure. */
  | {
      readonly _tag: "Resolved"
      readonly target: number
      readonly attempt: number
      readonly family: Targets.Family
      readonly addresses: ReadonlyArray<Targets.Answer>
      readonly random: number
    }
  | {
      readonly _tag: "Unresolved"
      readonly target: number
      readonly attempt: number
      readonly family: Targets.Family
      readonly random: number
    }
  /** An assignment. `staleAfter`: `endpoint_stale_after`, in milliseconds. */
  | {
      readonly _tag: "Assigned"
      readonly endpoints: ReadonlyArray<Endpoints.Endpoint>
      readonly staleAfter?: number | undefined
    }
  /** There is no such assignment. */
  | { readonly _tag: "Missing" }
  /** It was rejected, was an error, or took too long. ★ A stream that is lost is none of these. */
  | { readonly _tag: "Failed" }
  /** A call goes to this address, `10.0.0.1:80`. */
  | { readonly _tag: "Picked"; readonly address: string }
  /** Whether there are connections to it. */
  | { readonly _tag: "InUse"; readonly address: string; readonly isInUse: boolean }
  /** The time of `deadline` has come. */
  | { readonly _tag: "Deadline" }

/**
 * What comes of it.
 *
 * @since 0.1.0
 */
export type Output =
  /** Resolve a name to addresses of one family, and say how that ended. */
  | {
      readonly _tag: "Resolve"
      readonly target: number
      readonly attempt: number
      readonly name: string
      readonly family: Targets.Family
    }
  /** All hosts. */
  | { readonly _tag: "Listed"; readonly hosts: ReadonlyArray<Hosts.Host> }
  /** One host more. */
  | { readonly _tag: "Found"; readonly host: Hosts.Host }
  /** The `id` of a host that is gone, whatever health checks say of it. */
  | { readonly _tag: "Lost"; readonly host: string }
  /** An address that was picked, and is no host: there are as many as there may be. */
  | { readonly _tag: "Refused"; readonly address: string }
  /** Its first end. Said once. */
  | { readonly _tag: "Initialized" }

/**
 * A host that picks made.
 *
 * @since 0.1.0
 */
export interface Picked {
  /** Since the last cleanup. */
  readonly isUsed: boolean
  readonly isInUse: boolean
}

/**
 * The state.
 *
 * @since 0.1.0
 */
export interface Discovery {
  readonly cluster: Cluster
  readonly isInitialized: boolean
  /** Names, by the order of their endpoints. */
  readonly targets: ReadonlyArray<Targets.DnsTarget>
  /** When the assignment is stale, in milliseconds; Infinity if never. */
  readonly staleAt: number
  /** When the first assignment has taken too long, in milliseconds; Infinity if never, or no longer awaited. */
  readonly fetchUntil: number
  readonly picked: HashMap.HashMap<string, Picked>
  /** When hosts that are not used are looked for next, in milliseconds; Infinity if never. */
  readonly cleanupAt: number
  /** Those of the last look that were not used; they go one part after the other, unless they are used meanwhile. */
  readonly leaving: ReadonlyArray<string>
  /** When the next part of them goes, in milliseconds; Infinity if there is none. */
  readonly leaveAt: number
}

/**
 * What a step is given beside its input.
 *
 * @since 0.1.0
 */
export interface Context {
  /** Milliseconds, never less than in the step before. */
  readonly now: number
}

const nothing: ReadonlyArray<Output> = []

const isDns = (cluster: Cluster): cluster is Extract<Cluster, { readonly dns?: unknown }> =>
  cluster.type === "STRICT_DNS" || cluster.type === "LOGICAL_DNS"

const endpointsOf = (cluster: Cluster): ReadonlyArray<Endpoints.Endpoint> =>
  "endpoints" in cluster ? cluster.endpoints : []

const mistakesOf = (cluster: Cluster): ReadonlyArray<Mistake> => {
  const mistakes: Array<Mistake> = []
  const field = "load_assignment.endpoints"
  const endpoints = endpointsOf(cluster)
  if (cluster.type === "STATIC" && !endpoints.every(Endpoints.isLiteral)) {
    mistakes.push({ field, message: "an endpoint has a name; say an IP address, or make it a cluster of DNS" })
  }
  if (!isDns(cluster)) return mistakes
  if (endpoints.some(({ address }) => "pipe" in address)) {
    mistakes.push({ field, message: "an endpoint is a pipe; only names and IP addresses can be resolved" })
  }
  if (cluster.type === "LOGICAL_DNS" && endpoints.length !== 1) {
    mistakes.push({ field, message: `there are ${endpoints.length} endpoints; LOGICAL_DNS has exactly one` })
  }
  const rate = cluster.dns?.failureRefreshRate
  if (rate !== undefined && !(rate.base > 0 && rate.max >= rate.base)) {
    const message = `base_interval is ${rate.base} ms, max_interval ${rate.max} ms; base is above 0, max at least base`
    mistakes.push({ field: "dns_failure_refresh_rate", message })
  }
  return mistakes
}

/**
 * The discovery of a cluster, not started. Left: all mistakes.
 *
 * @example
 * import { Discovery, Endpoint } from "@effect-xds/discovery"
 *
 * const endpoints = [Endpoint.make({ host: "backend.example.com", port: 80 })]
 * const discovery = Discovery.make({ type: "STRICT_DNS", endpoints, dns: { respectTtl: true } })
 *
 * @since 0.1.0
 */
export const make = (cluster: Cluster): Either.Either<Discovery, ReadonlyArray<Mistake>> => {
  const mistakes = mistakesOf(cluster)
  if (mistakes.length > 0) return Either.left(mistakes)
  const targets = !isDns(cluster)
    ? []
    : cluster.endpoints.flatMap(({ address }) =>
        "pipe" in address
          ? []
          : [
              Targets.make(address.host, {
                family: "AUTO",
                refreshRate: 5_000,
                failureRefreshRate: undefined,
                respectTtl: false,
                minRefreshRate: 0,
                jitter: 0,
                ...cluster.dns,
                uses: cluster.type === "LOGICAL_DNS" ? "first" : "all"
              })
            ]
      )
  return Either.right({
    cluster,
    isInitialized: false,
    targets,
    staleAt: Number.POSITIVE_INFINITY,
    fetchUntil: Number.POSITIVE_INFINITY,
    picked: HashMap.empty(),
    cleanupAt: Number.POSITIVE_INFINITY,
    leaving: [],
    leaveAt: Number.POSITIVE_INFINITY
  })
}

/**
 * When it wants a `Deadline`, in milliseconds; Infinity if never.
 *
 * @since 0.1.0
 */
export const deadline = ({ cleanupAt, fetchUntil, leaveAt, staleAt, targets }: Discovery): number =>
  targets.reduce(
    (least, target) => Math.min(least, Targets.deadline(target)),
    Math.min(staleAt, fetchUntil, cleanupAt, leaveAt)
  )

type Draft = { -readonly [Key in keyof Discovery]: Discovery[Key] } & {
  readonly outputs: Array<Output>
  readonly now: number
}

/**
 * Takes one input. Total: what is of another type of cluster, or of a name that is not asked for, is ignored.
 *
 * @since 0.1.0
 */
export const step = (self: Discovery, input: Input, { now }: Context): readonly [Discovery, ReadonlyArray<Output>] => {
  if (input._tag === "Deadline" && now < deadline(self)) return [self, nothing]
  const draft: Draft = {
    cluster: self.cluster,
    isInitialized: self.isInitialized,
    targets: self.targets,
    staleAt: self.staleAt,
    fetchUntil: self.fetchUntil,
    picked: self.picked,
    cleanupAt: self.cleanupAt,
    leaving: self.leaving,
    leaveAt: self.leaveAt,
    outputs: [],
    now
  }
  const { type } = self.cluster
  switch (input._tag) {
    case "Start":
      start(draft)
      break
    case "Resolved":
    case "Unresolved": {
      const target = self.targets[input.target]
      if (target === undefined) return [self, nothing]
      take(draft, [[input.target, Targets.end(target, input.attempt, input.family, input, now, input.random)]])
      break
    }
    case "Assigned":
      if (type !== "EDS") return [self, nothing]
      // ★ Armed by each assignment, and disarmed by one that does not say it.
      draft.staleAt = input.staleAfter === undefined ? Number.POSITIVE_INFINITY : now + input.staleAfter
      list(draft, assigned(input.endpoints))
      initialize(draft)
      break
    case "Missing":
      if (type !== "EDS") return [self, nothing]
      draft.staleAt = Number.POSITIVE_INFINITY
      list(draft, [])
      initialize(draft)
      break
    case "Failed":
      if (type !== "EDS") return [self, nothing]
      // ★ What is held stays.
      initialize(draft)
      break
    case "Picked":
    case "InUse":
      if (self.cluster.type !== "ORIGINAL_DST") return [self, nothing]
      use(draft, input, self.cluster.maxHosts ?? maxPicked)
      break
    case "Deadline":
      wake(draft)
  }
  const { cleanupAt, cluster, fetchUntil, isInitialized, leaveAt, leaving, outputs, picked, staleAt, targets } = draft
  return [{ cluster, isInitialized, targets, staleAt, fetchUntil, picked, cleanupAt, leaving, leaveAt }, outputs]
}

const list = (self: Draft, hosts: ReadonlyArray<Hosts.Host>): void => {
  self.outputs.push({ _tag: "Listed", hosts })
}

const initialize = (self: Draft): void => {
  if (self.isInitialized) return
  self.isInitialized = true
  self.fetchUntil = Number.POSITIVE_INFINITY
  self.outputs.push({ _tag: "Initialized" })
}

const start = (self: Draft): void => {
  const { cluster } = self
  switch (cluster.type) {
    case "STATIC":
      // ★ As written, duplicates, too.
      list(
        self,
        cluster.endpoints.map((endpoint, index) => Endpoints.hostOf(endpoint, index))
      )
      initialize(self)
      return
    case "STRICT_DNS":
    case "LOGICAL_DNS":
      if (self.targets.some(({ phase }) => phase._tag !== "New")) return
      if (cluster.waitForWarmOnInit === false) initialize(self)
      take(
        self,
        self.targets.map((target, index) => [index, Targets.ask(target)])
      )
      return
    case "ORIGINAL_DST":
      if (self.isInitialized) return
      self.cleanupAt = self.now + (cluster.cleanupInterval ?? 5_000)
      initialize(self)
      return
    case "EDS": {
      if (self.isInitialized) return
      const { initialFetchTimeout = 15_000 } = cluster
      if (initialFetchTimeout > 0) self.fetchUntil = self.now + initialFetchTimeout
    }
  }
}

/** Takes over steps of names, and says what comes of all of them together. */
const take = (self: Draft, steps: ReadonlyArray<readonly [target: number, step: Targets.Step]>): void => {
  const targets = Array.from(self.targets)
  let isNews = false
  for (const [target, { ask, outcome, self: next }] of steps) {
    const before = targets[target]
    targets[target] = next
    const isSame = before?.hasAnswered === true && before.held.join() === next.held.join()
    isNews ||= outcome === "Answered" && !isSame
    for (const family of ask) {
      self.outputs.push({ _tag: "Resolve", target, attempt: next.attempt, name: next.name, family })
    }
  }
  self.targets = targets
  if (isNews) list(self, resolved(self))
  // ★ Every name, and a failure is an answer, too: one that is silent is told as one.
  if (targets.every(({ hasAnswered }) => hasAnswered)) initialize(self)
}

const resolved = ({ cluster, targets }: Draft): ReadonlyArray<Hosts.Host> =>
  targets.flatMap(({ held, name }, index) => {
    const endpoint = endpointsOf(cluster)[index]
    if (endpoint === undefined || "pipe" in endpoint.address || held.length === 0) return []
    const named = { ...endpoint, host: { hostname: name, ...endpoint.host } }
    if (cluster.type === "STRICT_DNS") return held.map((address) => Endpoints.hostOf(named, index, [address]))
    // ★ One host whatever the addresses: a new one is no reason to drain.
    return [{ ...Endpoints.hostOf(named, index, held), id: `${name}:${endpoint.address.port}`, priority: 0 }]
  })

/** ★ An address that is there twice, in other priorities, too: the first counts. */
const assigned = (endpoints: ReadonlyArray<Endpoints.Endpoint>): ReadonlyArray<Hosts.Host> => {
  const found = new Map<string, Hosts.Host>()
  for (const endpoint of endpoints) {
    const host = Endpoints.hostOf(endpoint, "")
    if (!found.has(host.address)) found.set(host.address, host)
  }
  return Array.from(found.values())
}

const use = (self: Draft, input: Extract<Input, { readonly _tag: "Picked" | "InUse" }>, maxHosts: number): void => {
  const known = Option.getOrUndefined(HashMap.get(self.picked, input.address))
  if (input._tag === "InUse") {
    if (known === undefined) return
    self.picked = HashMap.set(self.picked, input.address, { ...known, isInUse: input.isInUse })
    return
  }
  if (known === undefined && HashMap.size(self.picked) >= maxHosts) {
    self.outputs.push({ _tag: "Refused", address: input.address })
    return
  }
  self.picked = HashMap.set(self.picked, input.address, { isInUse: known?.isInUse ?? false, isUsed: true })
  if (known === undefined) self.outputs.push({ _tag: "Found", host: Hosts.make(input.address) })
}

const mayLeave = ({ isInUse, isUsed }: Picked): boolean => !isInUse && !isUsed

/** Looks who is not used. */
const cleanUp = (self: Draft): void => {
  const leaving: Array<string> = []
  self.picked = HashMap.mutate(self.picked, (all) => {
    for (const [address, each] of self.picked) {
      if (each.isUsed) HashMap.set(all, address, { ...each, isUsed: false })
      else if (mayLeave(each)) leaving.push(address)
    }
  })
  self.leaving = leaving
}

/** How many hosts go in one step. ★ For each of them others have much to do: all at once would take too long. */
const maxLeaving = 512

const leave = (self: Draft): void => {
  for (const address of self.leaving.slice(0, maxLeaving)) {
    const each = Option.getOrUndefined(HashMap.get(self.picked, address))
    if (each === undefined || !mayLeave(each)) continue
    self.picked = HashMap.remove(self.picked, address)
    self.outputs.push({ _tag: "Lost", host: Hosts.make(address).id })
  }
  self.leaving = self.leaving.slice(maxLeaving)
  self.leaveAt = self.leaving.length > 0 ? self.now + 1 : Number.POSITIVE_INFINITY
}

const wake = (self: Draft): void => {
  // ★ Who waits for the first assignment waits no longer; the assignment is taken when it comes.
  if (self.fetchUntil <= self.now) initialize(self)
  if (self.staleAt <= self.now) {
    self.staleAt = Number.POSITIVE_INFINITY
    list(self, [])
  }
  if (self.cleanupAt <= self.now && self.cluster.type === "ORIGINAL_DST") {
    self.cleanupAt = self.now + (self.cluster.cleanupInterval ?? 5_000)
    cleanUp(self)
    leave(self)
  } else if (self.leaveAt <= self.now) leave(self)
  const due = self.targets.flatMap((target, index) =>
    Targets.deadline(target) <= self.now ? [[index, Targets.ask(target)] as const] : []
  )
  if (due.length > 0) take(self, due)
}
