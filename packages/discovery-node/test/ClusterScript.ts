/**
 * What happens to a cluster, step by step: its resource, its assignment, the answers of DNS and how probes end. Scripts are
 * written by hand, or drawn from a seed.
 *
 * Hosts are letters, and names have no domain: who plays a script says which addresses they are.
 */
import type { JsonObject } from "@bufbuild/protobuf"
import { PCGRandom } from "effect/Utils"
import type { Answer } from "./NameServer.js"
import { type CallResult, type Kind, type Result, retriable } from "./ProbeTargets.js"

/** An endpoint of a cluster or an assignment. */
interface Entry {
  /** A letter, or the name that DNS is asked for. */
  readonly host: string
  readonly zone?: string
  readonly priority?: number
  readonly weight?: number
  readonly health?: "UNKNOWN" | "HEALTHY" | "UNHEALTHY" | "DRAINING" | "TIMEOUT" | "DEGRADED"
  readonly hostname?: string
  readonly isUnchecked?: boolean
  /** `health_check_config.address`: a letter. */
  readonly checkHost?: string
}

export interface Settings {
  readonly type: "STATIC" | "EDS" | "STRICT_DNS" | "LOGICAL_DNS"
  /** `undefined`: no checks. */
  readonly checks?: {
    readonly kind: Kind
    readonly healthy: number
    readonly unhealthy: number
    readonly timeout: number
  }
  readonly family?: "AUTO" | "V4_ONLY" | "V6_ONLY" | "V4_PREFERRED" | "ALL"
  /** `ignore_new_hosts_until_first_hc`. */
  readonly ignoresNewHosts?: boolean
  /** Fields of the cluster besides. */
  readonly more?: JsonObject
}

export interface Assignment {
  readonly entries: ReadonlyArray<Entry>
  readonly staleAfter?: number
}

/** Letters and addresses, or what else DNS says, for both families: letters are those of IPv4. */
export type Named = Answer | { readonly 4: Answer; readonly 6: Answer }

/** What is changed in a step; all else stays. */
export interface Step {
  readonly settings?: Settings
  /** Of EDS; of other types a part of the cluster, which is changed by it. `null`: there is no such assignment. */
  readonly assignment?: Assignment | null
  readonly names?: Readonly<Record<string, Named>>
  readonly probes?: Readonly<Record<string, ReadonlyArray<Result>>>
  /** Calls, until each of these hosts had one that ended so. What became of them we are told. */
  readonly calls?: Readonly<Record<string, CallResult>>
  /** No side uses the cluster yet, and all its hosts are probed. */
  readonly isWarming?: boolean
  /** All hosts and their flags then: `a FAILED_ACTIVE_HC`. */
  readonly then?: ReadonlyArray<string>
}

/** The first step says all. */
export interface Script {
  readonly title: string
  readonly steps: readonly [Step & { readonly settings: Settings; readonly assignment: Assignment }, ...Array<Step>]
}

const duration = (milliseconds: number): string => `${milliseconds / 1_000}s`

/** How often probes and names are asked for, in milliseconds. */
const interval = 100

const checker = ({ healthy, kind, timeout, unhealthy }: NonNullable<Settings["checks"]>): JsonObject => ({
  timeout: duration(timeout),
  interval: duration(interval),
  noTrafficInterval: duration(interval),
  healthyThreshold: healthy,
  unhealthyThreshold: unhealthy,
  ...(kind === "http"
    ? { httpHealthCheck: { path: "/health", retriableStatuses: [{ start: retriable, end: retriable + 1 }] } }
    : kind.startsWith("grpc")
      ? { grpcHealthCheck: {} }
      : { tcpHealthCheck: { send: { text: "70696e67" }, receive: [{ text: "706f6e67" }] } })
})

/** ★ A probe that is held for so long ends as it is told; or it is to take too long, on a machine that is busy, too. */
export const [long, brief] = [300_000, 1_000]

/** Where letters and names are. */
export interface Places {
  readonly address: (host: string) => string
  readonly port: number
}

/** A ClusterLoadAssignment as JSON. */
export const assignmentOf = (name: string, { entries, staleAfter }: Assignment, places: Places): JsonObject => {
  const localities = new Map<string, { zone: string; priority: number; lbEndpoints: Array<JsonObject> }>()
  for (const entry of entries) {
    const {
      checkHost,
      health = "UNKNOWN",
      host,
      hostname,
      isUnchecked = false,
      priority = 0,
      weight,
      zone = ""
    } = entry
    const key = `${zone} ${priority}`
    const locality = localities.get(key) ?? { zone, priority, lbEndpoints: [] }
    localities.set(key, locality)
    const socket = (of: string): JsonObject => ({ address: places.address(of), portValue: places.port })
    locality.lbEndpoints.push({
      endpoint: {
        address: { socketAddress: socket(host) },
        hostname: hostname ?? "",
        healthCheckConfig: {
          disableActiveHealthCheck: isUnchecked,
          ...(checkHost === undefined ? {} : { address: { socketAddress: socket(checkHost) } })
        }
      },
      healthStatus: health,
      ...(weight === undefined ? {} : { loadBalancingWeight: weight })
    })
  }
  return {
    clusterName: name,
    endpoints: Array.from(localities.values(), ({ lbEndpoints, priority, zone }) => ({
      locality: { zone },
      priority,
      lbEndpoints
    })),
    ...(staleAfter === undefined ? {} : { policy: { endpointStaleAfter: duration(staleAfter) } })
  }
}

const defaultFamily = "V4_ONLY"

/** The family that is asked for in any case. */
export const firstFamily = ({ family = defaultFamily }: Settings): 4 | 6 => (family.startsWith("V4") ? 4 : 6)

/** A Cluster as JSON. ★ Both sides show its revision: Envoy the limit of connections, we the threshold of panic. */
export const clusterOf = (
  name: string,
  revision: number,
  { checks, family = defaultFamily, ignoresNewHosts = false, more = {}, type }: Settings,
  assignment: Assignment,
  places: Places
): JsonObject => {
  return {
    name,
    type,
    connectTimeout: "10s",
    circuitBreakers: { thresholds: [{ maxConnections: revision }] },
    // ★ Else Envoy's counts and flags may be a second apart.
    commonLbConfig: {
      updateMergeWindow: "0s",
      healthyPanicThreshold: { value: revision },
      ignoreNewHostsUntilFirstHc: ignoresNewHosts
    },
    ...(checks === undefined ? {} : { healthChecks: [checker(checks)] }),
    ...(checks?.kind.startsWith("grpc") === true ? { http2ProtocolOptions: {} } : {}),
    ...(type === "EDS"
      ? { edsClusterConfig: { edsConfig: { ads: {}, resourceApiVersion: "V3" } } }
      : { loadAssignment: assignmentOf(name, assignment, places) }),
    ...(type.endsWith("DNS")
      ? {
          dnsLookupFamily: family,
          dnsRefreshRate: duration(interval),
          dnsFailureRefreshRate: { baseInterval: duration(interval), maxInterval: duration(interval) }
        }
      : {}),
    ...more
  }
}

const letters = ["a", "b", "c", "d"] as const
const zones = ["", "z1", "z2"] as const
const healths = ["UNKNOWN", "HEALTHY", "UNHEALTHY", "DRAINING", "TIMEOUT", "DEGRADED"] as const

type Mutable<T> = { -readonly [Key in keyof T]: T[Key] }

class Drawing {
  private readonly random: PCGRandom

  constructor(seed: number) {
    this.random = new PCGRandom(seed)
  }

  below(limit: number): number {
    return Math.floor(this.random.number() * limit)
  }

  chance(of: number): boolean {
    return this.random.number() < of
  }

  one<T>(of: readonly [T, ...ReadonlyArray<T>]): T {
    return of[this.below(of.length)] ?? of[0]
  }

  some<T>(of: ReadonlyArray<T>): ReadonlyArray<T> {
    return of.filter(() => this.chance(0.5))
  }

  settings(): Settings {
    const type = this.one<Settings["type"]>(["EDS", "EDS", "EDS", "STRICT_DNS", "STRICT_DNS", "LOGICAL_DNS", "STATIC"])
    const kind = this.one<Kind>(["http", "http", "grpc", "tcp"])
    const checks = this.chance(0.8)
      ? {
          kind,
          healthy: 1 + this.below(3),
          unhealthy: 1 + this.below(3),
          // Long enough for a machine that is busy, unless a probe is to take too long.
          timeout: this.chance(0.2) ? brief : long
        }
      : undefined
    const more: JsonObject = this.chance(0.2) ? { ignoreHealthOnHostRemoval: true } : {}
    const ignoresNewHosts = this.chance(0.3)
    const family = this.one<NonNullable<Settings["family"]>>(["V4_ONLY", "V4_ONLY", "AUTO", "V4_PREFERRED", "ALL"])
    return { type, ...(checks === undefined ? {} : { checks }), family, ignoresNewHosts, more }
  }

  entry(type: Settings["type"], host: string): Entry {
    const isLogical = type === "LOGICAL_DNS"
    return {
      host,
      ...(this.chance(0.5) ? { weight: 1 + this.below(5) } : {}),
      ...(this.chance(0.4) ? { zone: this.one(zones) } : {}),
      ...(!isLogical && this.chance(0.3) ? { priority: this.below(2) } : {}),
      ...(this.chance(0.25) ? { health: this.one(healths) } : {}),
      ...(this.chance(0.1) ? { isUnchecked: true } : {}),
      ...(this.chance(0.1) ? { hostname: this.one(["h1", "h2"]) } : {})
    }
  }

  assignment(type: Settings["type"]): Assignment {
    if (type === "LOGICAL_DNS") return { entries: [this.entry(type, "n")] }
    if (type === "STRICT_DNS") {
      const names = this.one([["n"], ["n", "m"], ["n", "m"], ["n", "n"]])
      return { entries: names.map((name) => this.entry(type, name)) }
    }
    return { entries: this.some(letters).map((letter) => this.entry(type, letter)) }
  }

  /** The same with one thing or two that are otherwise. */
  changed(type: Settings["type"], { entries }: Assignment): Assignment {
    const changed: Array<Mutable<Entry>> = entries.map((entry) => ({ ...entry }))
    const isFixed = type.endsWith("DNS")
    for (let changes = 1 + this.below(2); changes > 0; changes--) {
      const at = this.below(changed.length)
      const entry = changed[at]
      const free = letters.filter((letter) => changed.every(({ host }) => host !== letter))
      const [first, ...others] = free
      const action = this.below(9)
      if (entry === undefined || action === 0) {
        if (first !== undefined && !isFixed) changed.push(this.entry(type, this.one([first, ...others])))
      } else if (action <= 2) {
        if (!isFixed) changed.splice(at, 1)
      } else if (action === 3) entry.weight = 1 + this.below(5)
      else if (action === 4) entry.health = this.one(healths)
      else if (action === 5) entry.zone = this.one(zones)
      else if (action === 6 && type !== "LOGICAL_DNS") entry.priority = this.below(2)
      else if (action === 7) entry.isUnchecked = entry.isUnchecked !== true
      else entry.hostname = this.one(["", "h1", "h2"])
    }
    return { entries: changed }
  }

  answer(): Answer {
    const addresses = this.some(letters)
    return this.one([addresses, addresses, addresses, "NXDOMAIN", "SERVFAIL", []])
  }

  /** ★ Probes have no way to addresses of IPv6. */
  named({ checks, family = "V4_ONLY" }: Settings): Named {
    const answer = this.answer()
    if (checks !== undefined || family.endsWith("ONLY") || this.chance(0.5)) return answer
    return { 4: answer, 6: this.one<Answer>([["fd00::1"], ["fd00::2", "fd00::1"], [], "NXDOMAIN", "SERVFAIL"]) }
  }

  /**
   * ★ Where two hosts share an address they share what was told of it, and each probe may be either's: one result is enough.
   * One that is held forever stops the counting where it is.
   */
  results({ checks, type }: Settings): ReadonlyArray<Result> {
    const { kind, timeout } = checks ?? { kind: "tcp", timeout: long }
    const possible: Readonly<Record<Kind, readonly [Result, ...ReadonlyArray<Result>]>> = {
      http: ["ok", "ok", "unavailable", "retriable", "reset", "degraded", "excluded"],
      grpc: ["ok", "ok", "unavailable", "reset"],
      grpcio: ["ok", "ok", "unavailable", "reset"],
      tcp: ["ok", "reset"]
    }
    const isShared = type === "STRICT_DNS"
    const results = Array.from({ length: isShared ? 1 : 1 + this.below(4) }, () => this.one(possible[kind]))
    const isSilent = timeout === brief ? this.chance(0.2) : !isShared && this.chance(0.4)
    return isSilent ? [...results, "silent"] : results
  }

  probes(settings: Settings): Readonly<Record<string, ReadonlyArray<Result>>> {
    return Object.fromEntries(letters.map((letter) => [letter, this.results(settings)]))
  }
}

/** What makes no difference on the wire makes none. */
const isSame = (one: Assignment, other: Assignment): boolean => {
  const written = (assignment: Assignment): string =>
    JSON.stringify(assignmentOf("", assignment, { address: (host) => host, port: 1 }))
  return written(one) === written(other)
}

/** A script of its own for each seed. */
export const draw = (seed: number): Script => {
  const drawing = new Drawing(seed)
  let settings = drawing.settings()
  let assignment = drawing.assignment(settings.type)
  const isNamed = settings.type.endsWith("DNS")
  const first = {
    settings,
    assignment,
    names: { n: drawing.named(settings), m: drawing.named(settings) },
    probes: drawing.probes(settings)
  }
  const steps: Array<Step> = []
  let probes = first.probes
  const change = (step: Step): void => {
    steps.push(step)
    probes = { ...probes, ...step.probes }
  }
  /** ★ A set of hosts of which one never has a result is never used. */
  const thaw = (): void => {
    const held = letters.filter((letter) => probes[letter]?.at(-1) === "silent")
    if (held.length > 0 && settings.checks !== undefined) {
      change({ probes: Object.fromEntries(held.map((letter) => [letter, ["ok"] as const])) })
    }
  }
  for (let left = 3 + drawing.below(4); left > 0; left--) {
    if (settings.checks !== undefined && drawing.chance(0.5)) {
      change({ probes: { [drawing.one(letters)]: drawing.results(settings) } })
    } else if (isNamed && drawing.chance(0.8)) {
      change({ names: { [drawing.one(["n", "m"])]: drawing.named(settings) } })
    } else if (drawing.chance(0.15)) {
      const { checks } = settings
      settings = {
        ...settings,
        ...(checks === undefined ? {} : { checks: { ...checks, healthy: 1 + drawing.below(3) } })
      }
      thaw()
      change({ settings })
    } else {
      const changed = drawing.changed(settings.type, assignment)
      if (isSame(changed, assignment)) continue
      assignment = changed
      if (settings.type !== "EDS") thaw()
      change({ assignment })
    }
  }
  return { title: `seed ${seed}`, steps: [first, ...steps] }
}
