/**
 * A network of hosts, names and a control plane that misbehave as a seed says: hosts that flap, names that move, fail and
 * are silent, a control plane that goes away and says nonsense. What it says and sees it tells a {@link Ledger}.
 */
import { create, fromJson, type JsonObject, toBinary } from "@bufbuild/protobuf"
import * as Resource from "@effect-xds/core/resource/Resource"
import * as Response from "@effect-xds/core/wire/Response"
import type { HealthCheck } from "@effect-xds/discovery"
import * as Prober from "@effect-xds/discovery-node/Prober"
import * as Resolver from "@effect-xds/discovery-node/Resolver"
import { ResourceType } from "@effect-xds/proto"
import { ClusterSchema } from "@effect-xds/proto/envoy/config/cluster/v3/cluster"
import { ClusterLoadAssignmentSchema } from "@effect-xds/proto/envoy/config/endpoint/v3/endpoint"
import { ScriptedServer } from "@effect-xds/testing"
import { Clock, Effect, Either, Layer, Random } from "effect"
import type { Ledger } from "./MembershipInvariants.js"

type Script = typeof ScriptedServer.ScriptedServer.Service

/** Of a checker, in milliseconds. */
export const timeout = 1_000
export const interval = 60_000

const checks: JsonObject = {
  healthChecks: [
    {
      timeout: "1s",
      interval: "60s",
      noTrafficInterval: "60s",
      unhealthyInterval: "20s",
      initialJitter: "5s",
      intervalJitter: "2s",
      unhealthyThreshold: 2,
      healthyThreshold: 2,
      tcpHealthCheck: {}
    }
  ],
  outlierDetection: { consecutive5xx: 3 },
  // Nobody who fails is routed to, however many do.
  commonLbConfig: { healthyPanicThreshold: { value: 0 } }
}

const named = (
  name: string,
  type: string,
  names: ReadonlyArray<string>,
  more: JsonObject
): JsonObject & { readonly name: string } => ({
  name,
  type,
  dnsLookupFamily: "V4_ONLY",
  dnsRefreshRate: "5s",
  dnsFailureRefreshRate: { baseInterval: "1s", maxInterval: "10s" },
  loadAssignment: { clusterName: name, endpoints: [{ lbEndpoints: names.map((host) => endpoint(host)) }] },
  ...more
})

const endpoint = (address: string, healthStatus = "UNKNOWN"): JsonObject => ({
  endpoint: { address: { socketAddress: { address, portValue: 80 } } },
  healthStatus
})

const addresses = (of: number, count: number): ReadonlyArray<string> =>
  Array.from({ length: count }, (_, index) => `10.0.${of}.${index}`)

const assigned = addresses(0, 100)
const pools: ReadonlyMap<string, ReadonlyArray<string>> = new Map([
  ["a.test", addresses(1, 25)],
  ["b.test", addresses(2, 25)],
  ["c.test", addresses(3, 20)],
  ["plain.test", addresses(4, 20)],
  ["logical.test", addresses(5, 10)]
])

/** Four clusters with 200 addresses. */
export const clusters: ReadonlyArray<JsonObject & { readonly name: string }> = [
  { name: "eds", type: "EDS", edsClusterConfig: { edsConfig: { ads: {} } }, ...checks },
  named("strict", "STRICT_DNS", ["a.test", "b.test", "c.test"], checks),
  named("plain", "STRICT_DNS", ["plain.test"], {}),
  named("logical", "LOGICAL_DNS", ["logical.test"], checks)
]

const clusterOf = (name: string): string => {
  const cluster = name.split(".")[0] ?? ""
  return cluster.length > 1 ? cluster : "strict"
}

interface Machine {
  isUp: boolean
  until: number
  /** How long it is so, on average. */
  readonly up: number
  readonly down: number
}

interface Name {
  /** What it resolves to. */
  now: ReadonlyArray<string>
  says: "answers" | "fails" | "silence"
  until: number
}

/** The world. Begin it, then give it turns. */
export class DiscoveryWorld {
  private readonly machines = new Map<string, Machine>()
  private readonly names = new Map<string, Name>()
  private assignment: ReadonlyArray<JsonObject> = []
  /** Of the assignment, in milliseconds; `undefined`: it has none. */
  private ttl: number | undefined
  /** When it is sent again for its TTL, in milliseconds. */
  private renewAt = Number.POSITIVE_INFINITY
  private version = 1
  private isReachable = true
  private controlPlaneUntil = 60_000
  private isQuiet = false
  private nonce = 0
  /** What each stream was answered last, by type. */
  private readonly answered = new WeakMap<ScriptedServer.ScriptedStream, Map<string, string>>()
  /** What waits with a timer of its own: probes and queries. */
  busy = 0

  constructor(private readonly ledger: Ledger) {}

  readonly resolver = Layer.succeed(Resolver.Resolver, {
    resolve: (name, family) =>
      this.counted(
        Effect.gen(this, function* () {
          const { now, says } = this.names.get(name) ?? { now: [], says: "fails" }
          if (says !== "answers") {
            yield* Effect.sleep(says === "fails" ? yield* Random.nextIntBetween(1, 300) : 8_000)
            const code = says === "fails" ? "ESERVFAIL" : "ETIMEOUT"
            return yield* new Resolver.ResolveError({ name, family, code, message: code })
          }
          yield* Effect.sleep(yield* Random.nextIntBetween(1, 300))
          // ★ Of LOGICAL_DNS a name without addresses is a failure.
          if (name !== "logical.test") this.ledger.listed(clusterOf(name), name, now)
          return now.map((address) => ({ address, ttl: 5 }))
        })
      )
  })

  readonly prober = Layer.succeed(Prober.Prober, {
    open: ({ address, cluster }) => Effect.succeed(() => this.counted(this.probe(cluster, address.replace(/:80$/, ""))))
  })

  private counted<A, E>(effect: Effect.Effect<A, E>): Effect.Effect<A, E> {
    return Effect.suspend(() => {
      this.busy++
      return Effect.ensuring(
        effect,
        Effect.sync(() => {
          this.busy--
        })
      )
    })
  }

  private probe(cluster: string, address: string): Effect.Effect<HealthCheck.Result> {
    return Effect.gen(this, function* () {
      this.ledger.probed(cluster, address)
      // Now and then a probe is lost.
      const isUp = this.machines.get(address)?.isUp === true && (this.isQuiet || (yield* Random.next) < 0.98)
      const ways = ["Immediate", "Network", "Retriable", "silence"] as const
      const way = isUp ? "Success" : (ways[yield* Random.nextIntBetween(0, ways.length)] ?? "silence")
      if (way === "silence") {
        // Just before it is told so that it has taken too long.
        yield* Effect.sleep(timeout - 0.5)
        this.ledger.result(cluster, address, "network")
        return yield* Effect.never
      }
      yield* Effect.sleep(yield* Random.nextIntBetween(1, 500))
      this.ledger.result(cluster, address, isUp ? "success" : way === "Immediate" ? "immediate" : "network")
      return { _tag: way }
    })
  }

  readonly begin = Effect.gen(this, function* () {
    for (const address of [...assigned, ...Array.from(pools.values()).flat()]) {
      const flaps = (yield* Random.next) < 0.1
      const machine = { isUp: true, until: 0, up: flaps ? 30_000 : 600_000, down: flaps ? 20_000 : 90_000 }
      machine.until = yield* lasts(machine.up)
      this.machines.set(address, machine)
    }
    for (const name of pools.keys()) this.names.set(name, { now: [], says: "answers", until: yield* lasts(240_000) })
    yield* this.change(true)
  })

  /** All are well, everything can be reached, and stays as it is. */
  readonly calm = Effect.suspend(() => {
    this.isQuiet = true
    for (const machine of this.machines.values()) machine.isUp = true
    for (const name of this.names.values()) name.says = "answers"
    this.assignment = this.assignment.map((each) => ({ ...each, healthStatus: "HEALTHY" }))
    this.isReachable = true
    this.ttl = undefined
    this.version++
    return this.serve
  })

  readonly isUp = (address: string): boolean => this.machines.get(address)?.isUp === true

  /** Some time is over. */
  readonly turn = Effect.gen(this, function* () {
    if (!this.isQuiet) {
      const now = yield* Clock.currentTimeMillis
      for (const machine of this.machines.values()) {
        if (machine.until > now) continue
        machine.isUp = !machine.isUp
        machine.until = now + (yield* lasts(machine.isUp ? machine.up : machine.down))
      }
      for (const name of this.names.values()) {
        if (name.until > now) continue
        name.says = name.says === "answers" ? ((yield* Random.nextBoolean) ? "fails" : "silence") : "answers"
        name.until = now + (yield* lasts(name.says === "answers" ? 240_000 : 60_000))
      }
      if (this.controlPlaneUntil <= now) {
        this.isReachable = !this.isReachable
        this.controlPlaneUntil = now + (yield* lasts(this.isReachable ? 240_000 : 150_000))
      }
      if ((yield* Random.next) < 0.2) yield* this.change(false)
    }
    yield* this.serve
  })

  /** Others are listed, while nobody may hear of it. */
  private change(isFirst: boolean): Effect.Effect<void> {
    return Effect.gen(this, function* () {
      const isEmpty = !isFirst && (yield* Random.next) < 0.05
      const chosen: Array<JsonObject> = []
      for (const address of assigned) {
        if (isEmpty || (yield* Random.next) > 0.85) continue
        const drawn = yield* Random.next
        chosen.push(endpoint(address, drawn < 0.02 ? "DRAINING" : drawn < 0.04 ? "UNHEALTHY" : "HEALTHY"))
      }
      this.assignment = chosen
      this.ttl = (yield* Random.next) < 0.7 ? 40_000 : undefined
      this.version++
      for (const [name, pool] of pools) {
        const chance = (yield* Random.next) < 0.05 && !isFirst ? 0 : 0.8
        const found: Array<string> = []
        for (const address of pool) if ((yield* Random.next) < chance) found.push(address)
        const known = this.names.get(name)
        if (known !== undefined) known.now = found
      }
    })
  }

  private readonly serve = Effect.flatMap(ScriptedServer.ScriptedServer, (server) => this.answer(server))

  private answer({ open }: Script): Effect.Effect<void> {
    return Effect.gen(this, function* () {
      const now = yield* Clock.currentTimeMillis
      // ★ While nobody can be reached, nothing is renewed.
      if (this.isReachable && this.renewAt <= now) this.version++
      for (const stream of open()) {
        if (!this.isReachable) {
          stream.end()
          continue
        }
        stream.accept()
        const answered = this.answered.get(stream) ?? new Map<string, string>()
        this.answered.set(stream, answered)
        const wanted = new Map<string, ReadonlySet<string>>()
        for (const request of stream.requests) {
          if (request._tag === "StateOfTheWorld") wanted.set(request.typeUrl, new Set(request.resourceNames))
        }
        for (const [typeUrl, names] of wanted) {
          const isCds = typeUrl === ResourceType.Cluster.typeUrl
          const key = JSON.stringify([Array.from(names).sort(), isCds ? 0 : this.version])
          if (names.size === 0 || answered.get(typeUrl) === key) continue
          answered.set(typeUrl, key)
          // ★ What cannot be read is rejected as a whole: it lists nothing.
          const isNonsense = !isCds && !this.isQuiet && (yield* Random.next) < 0.1
          const values = isCds ? clusterBytes(names) : [this.assignmentBytes(isNonsense)]
          const nonce = `n${++this.nonce}`
          const ttl = isCds ? undefined : this.ttl
          const resources = values.map(([name, value]) =>
            Either.getOrThrow(Resource.make({ typeUrl, name, value, ttl }))
          )
          if (!isCds) this.renewAt = now + (ttl ?? Number.POSITIVE_INFINITY) / 2
          if (!isCds && !isNonsense) this.tellAssignment(now + (ttl ?? Number.POSITIVE_INFINITY))
          const response = { protocol: "StateOfTheWorld", typeUrl, version: nonce, resources, ttl: true } as const
          stream.respond(Response.make(response), nonce)
        }
      }
    })
  }

  private tellAssignment(until: number): void {
    const listed: Array<string> = []
    const failing = new Set<string>()
    for (const [index, address] of this.listedAddresses().entries()) {
      listed.push(address)
      if (this.assignment[index]?.["healthStatus"] !== "HEALTHY") failing.add(address)
    }
    this.ledger.listed("eds", "eds", listed, failing, until)
  }

  private listedAddresses(): ReadonlyArray<string> {
    const message = fromJson(ClusterLoadAssignmentSchema, this.assignmentJson(false))
    return message.endpoints.flatMap(({ lbEndpoints }) =>
      lbEndpoints.map(({ hostIdentifier }) => {
        const address = hostIdentifier.case === "endpoint" ? hostIdentifier.value.address?.address : undefined
        return address?.case === "socketAddress" ? address.value.address : ""
      })
    )
  }

  private assignmentJson(isNonsense: boolean): JsonObject {
    const lbEndpoints = isNonsense ? [endpoint("no address")] : [...this.assignment]
    return { clusterName: "eds", endpoints: [{ lbEndpoints }] }
  }

  private assignmentBytes(isNonsense: boolean): readonly [string, Uint8Array] {
    const message = fromJson(ClusterLoadAssignmentSchema, this.assignmentJson(isNonsense))
    return ["eds", toBinary(ClusterLoadAssignmentSchema, message)]
  }
}

const clusterBytes = (names: ReadonlySet<string>): ReadonlyArray<readonly [string, Uint8Array]> =>
  clusters
    .map((json) => fromJson(ClusterSchema, json))
    .filter(({ name }) => names.has(name))
    .map((message) => [message.name, toBinary(ClusterSchema, create(ClusterSchema, message))])

/** Milliseconds, so long on average. */
const lasts = (mean: number): Effect.Effect<number> =>
  Effect.map(Random.next, (drawn) => Math.round(-Math.log(1 - drawn) * mean))
