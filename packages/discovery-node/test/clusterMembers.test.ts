/** Members of clusters that a client of xDS is told of, with a server that is played by hand. */
import { create, fromJson, type JsonObject, toBinary } from "@bufbuild/protobuf"
import { Bootstrap, XdsClient } from "@effect-xds/client"
import * as Resource from "@effect-xds/core/resource/Resource"
import * as Response from "@effect-xds/core/wire/Response"
import type { ResourceEvent } from "@effect-xds/client/ResourceEvent"
import { Cluster, ClusterType, ClusterTypes, type HealthCheck, Host, type HostSet } from "@effect-xds/discovery"
import type { ClusterEvent } from "@effect-xds/discovery-node/ClusterEvent"
import * as ClusterMembers from "@effect-xds/discovery-node/ClusterMembers"
import * as ClusterMetrics from "@effect-xds/discovery-node/ClusterMetrics"
import * as Prober from "@effect-xds/discovery-node/Prober"
import type { Members } from "@effect-xds/discovery-node/Members"
import * as Resolver from "@effect-xds/discovery-node/Resolver"
import { ResourceType } from "@effect-xds/proto"
import { ClusterSchema, Cluster_CustomClusterTypeSchema } from "@effect-xds/proto/envoy/config/cluster/v3/cluster"
import { ClusterLoadAssignmentSchema } from "@effect-xds/proto/envoy/config/endpoint/v3/endpoint"
import { ClusterConfigSchema } from "@effect-xds/proto/envoy/extensions/clusters/aggregate/v3/cluster"
import { ScriptedServer } from "@effect-xds/testing"
import { describe, expect, it } from "@effect/vitest"
import { Clock, Effect, Either, Exit, Layer, Metric, Record, Scope, Stream, TestClock } from "effect"

/** Lets all fibers run. */
const settle = Effect.repeatN(Effect.yieldNow(), 60)

/** A target of probes, and what the one that runs is to be told. */
interface Probing {
  readonly target: Prober.Target
  answer: ((result: HealthCheck.Result) => void) | undefined
}

/** What a test sees and does. */
class World {
  readonly asked: Array<readonly [name: string, family: number]> = []
  /** What names resolve to; "failed"; "silent". */
  readonly names = new Map<string, ReadonlyArray<string> | "failed" | "silent">()
  /** What the code of the resolver does instead, each once. */
  readonly lies: Array<() => ReturnType<Resolver.Resolver["resolve"]>> = []
  cancelled = 0
  readonly probed: Array<Probing> = []
  /** Every probe is a success. */
  isPassing = false
  private nonce = 0

  readonly resolver = Layer.succeed(Resolver.Resolver, {
    resolve: (name, family) => {
      this.asked.push([name, family])
      const lie = this.lies.shift()
      if (lie !== undefined) return lie()
      return Effect.suspend(() => {
        const answer = this.names.get(name) ?? []
        if (answer === "silent") return Effect.onInterrupt(Effect.never, () => Effect.sync(() => this.cancelled++))
        if (answer === "failed") {
          return Effect.fail(new Resolver.ResolveError({ name, family, code: "ESERVFAIL", message: "no" }))
        }
        const of = answer.filter((address) => address.includes(":") === (family === 6))
        return Effect.succeed(of.map((address) => ({ address, ttl: 30 })))
      })
    }
  })

  readonly prober = Layer.succeed(Prober.Prober, {
    open: (target) =>
      Effect.map(
        Effect.acquireRelease(
          Effect.sync(() => {
            const probing: Probing = { target, answer: undefined }
            this.probed.push(probing)
            return probing
          }),
          (probing) => Effect.sync(() => void this.probed.splice(this.probed.indexOf(probing), 1))
        ),
        (probing) => () =>
          Effect.async<HealthCheck.Result>((resume) => {
            if (this.isPassing) return resume(Effect.succeed({ _tag: "Success" }))
            probing.answer = (result) => resume(Effect.succeed(result))
            return Effect.sync(() => {
              probing.answer = undefined
            })
          })
      )
  })

  /** The probe of an address ends; the next one if none runs. */
  result(address: string, isOk: boolean) {
    const waiting = () =>
      this.probed.findLast(({ answer, target }) => target.address === address && answer !== undefined)
    return Effect.gen(function* () {
      for (let second = 0; second < 10 && waiting() === undefined; second++) {
        yield* TestClock.adjust("1 seconds")
        yield* settle
      }
      const probing = waiting()
      if (probing === undefined) return yield* Effect.dieMessage(`${address} is not probed`)
      const { answer } = probing
      probing.answer = undefined
      answer?.(isOk ? { _tag: "Success" } : { _tag: "Network" })
      yield* settle
    })
  }

  get open(): ReadonlyArray<string> {
    return this.probed.map(({ target }) => target.address)
  }

  /** The server sends resources. */
  respond(typeUrl: string, ...values: ReadonlyArray<readonly [name: string, value: Uint8Array]>) {
    return this.send(
      typeUrl,
      values.map(([name, value]) => Either.getOrThrow(Resource.make({ typeUrl, name, value })))
    )
  }

  private send(typeUrl: string, resources: ReadonlyArray<Resource.Resource>, more: Partial<Response.Response> = {}) {
    const nonce = `n${++this.nonce}`
    return Effect.gen(function* () {
      const { open } = yield* ScriptedServer.ScriptedServer
      const [stream] = open()
      if (stream === undefined) return yield* Effect.dieMessage("the client opened no stream")
      stream.accept()
      const { protocol } = stream.method
      stream.respond(Response.make({ protocol, typeUrl, version: nonce, resources, ...more }), nonce)
      yield* settle
    })
  }

  clusters(...given: ReadonlyArray<JsonObject>) {
    return this.respond(
      ResourceType.Cluster.typeUrl,
      ...given.map(
        (json) =>
          [
            typeof json["name"] === "string" ? json["name"] : "",
            toBinary(ClusterSchema, fromJson(ClusterSchema, json))
          ] as const
      )
    )
  }

  /** Endpoints by address, or with more of them. */
  assign(...hosts: ReadonlyArray<string | JsonObject>) {
    return this.assignment({ endpoints: [{ lbEndpoints: hosts.map(endpoint) }] })
  }

  assignment(json: JsonObject, ttl?: number) {
    const message = fromJson(ClusterLoadAssignmentSchema, { clusterName: "c", ...json })
    const { typeUrl } = ResourceType.ClusterLoadAssignment
    const value = toBinary(ClusterLoadAssignmentSchema, message)
    const resource = Either.getOrThrow(Resource.make({ typeUrl, name: message.clusterName, value, ttl }))
    return this.send(typeUrl, [resource], { ttl: ttl !== undefined })
  }

  /** Incremental: there is no such assignment any more. */
  get unassign() {
    return this.send(ResourceType.ClusterLoadAssignment.typeUrl, [], { removed: ["c"] })
  }

  get requested() {
    return Effect.map(ScriptedServer.ScriptedServer, ({ streams }) => {
      const found: Record<string, ReadonlyArray<string>> = {}
      for (const { requests } of streams) {
        for (const request of requests) {
          if (request._tag !== "StateOfTheWorld") continue
          found[request.typeUrl.replace(/.*\./, "")] = Array.from(request.resourceNames).sort()
        }
      }
      return found
    })
  }
}

const address = (host: string): JsonObject => ({ address: { socketAddress: { address: host, portValue: 80 } } })
const endpoint = (host: string | JsonObject): JsonObject =>
  typeof host === "string" ? { endpoint: address(host) } : host

const test = (
  title: string,
  body: (
    world: World
  ) => Effect.Effect<
    void,
    never,
    ClusterMembers.ClusterMembers | ScriptedServer.ScriptedServer | XdsClient.XdsClient | Scope.Scope
  >,
  {
    isStrict = false,
    protocol,
    ...options
  }: ClusterMembers.Options & Pick<XdsClient.Options, "protocol"> & { readonly isStrict?: boolean } = {}
) =>
  it.scoped(title, () => {
    const world = new World()
    const bootstrap = Bootstrap.make({ servers: ["xds:1"] })
    // Deletions count, too (A88).
    const servers = bootstrap.servers.map((server) => ({ ...server, failOnDataErrors: isStrict }))
    const client = XdsClient.layer({ bootstrap: { ...bootstrap, servers }, protocol })
    const layer = ClusterMembers.layer(options).pipe(
      Layer.provideMerge(client),
      Layer.provideMerge(ScriptedServer.layer),
      Layer.provide(Layer.merge(world.resolver, world.prober))
    )
    return Effect.provide(Effect.scoped(body(world)), layer)
  })

const open = (name = "c") =>
  Effect.gen(function* () {
    const { of } = yield* ClusterMembers.ClusterMembers
    const cluster = yield* of(name)
    const events: Array<ClusterEvent> = []
    yield* Effect.forkScoped(Stream.runForEach(cluster.events, (event) => Effect.sync(() => events.push(event))))
    yield* settle
    return { ...cluster, events, heard: Effect.sync(() => events.splice(0).map(({ _tag }) => _tag)) }
  })

/** How much each counter of the cluster goes up from now on; the same are counted by other tests, too. */
const counting = Effect.gen(function* () {
  const counters = {
    updateAttempt: ClusterMetrics.updateAttempt,
    updateSuccess: ClusterMetrics.updateSuccess,
    updateFailure: ClusterMetrics.updateFailure,
    updateEmpty: ClusterMetrics.updateEmpty
  }
  const read = Effect.all(
    Record.map(counters, (counter) =>
      Effect.map(Metric.value(Metric.tagged(counter, "envoy.cluster_name", "c")), ({ count }) => count)
    )
  )
  const before = yield* read
  return Effect.map(read, (after) => Record.map(after, (count, name) => count - before[name]))
})

const routed = (members: Members): ReadonlyArray<string> =>
  members.assignment.priorities
    .flat()
    .flatMap(({ endpoints }) => endpoints.map(({ addresses }) => addresses[0]?.replace(/:80$/, "") ?? ""))

/** Code that keeps no promise of its types. */
const isPromised = (value: unknown): value is never => value !== isPromised
const lie = (value: unknown): never => {
  if (isPromised(value)) return value
  throw new Error("this is no lie")
}

const [A, B, C] = ["10.0.0.1", "10.0.0.2", "10.0.0.3"] as const
const eds: JsonObject = { name: "c", type: "EDS", edsClusterConfig: { edsConfig: { ads: {} } } }
const tcp = (more: JsonObject = {}): JsonObject => ({
  timeout: "1s",
  interval: "10s",
  noTrafficInterval: "10s",
  unhealthyThreshold: 1,
  healthyThreshold: 1,
  tcpHealthCheck: {},
  ...more
})
/** A cluster whose one host is A. */
const using = (world: World) =>
  Effect.gen(function* () {
    const cluster = yield* open()
    yield* world.clusters(eds)
    yield* world.assign(A)
    return cluster
  })
const checked: JsonObject = { ...eds, healthChecks: [tcp()] }

describe("EDS", () => {
  test("a cluster is used when its assignment is there; policies get what they take", (world) =>
    Effect.gen(function* () {
      const cluster = yield* open()
      expect((yield* cluster.current).state).toBe("Warming")
      yield* world.clusters({ ...eds, commonLbConfig: { localityWeightedLbConfig: {} } })
      expect([(yield* cluster.current).state, (yield* world.requested)["ClusterLoadAssignment"]]).toEqual([
        "Warming",
        ["c"]
      ])
      yield* world.assignment({
        endpoints: [
          {
            locality: { zone: "z" },
            loadBalancingWeight: 3,
            lbEndpoints: [
              { endpoint: { ...address(A), hostname: "a" }, loadBalancingWeight: 2 },
              { ...endpoint(B), healthStatus: "UNHEALTHY" }
            ]
          },
          { priority: 1, lbEndpoints: [{ ...endpoint(C), healthStatus: "DEGRADED" }] }
        ],
        policy: { dropOverloads: [{ category: "d", dropPercentage: { numerator: 1 } }], overprovisioningFactor: 100 }
      })
      const members = yield* cluster.initialized
      expect(members.load.loads).toEqual([
        { healthy: 50, degraded: 0, isPanicking: false },
        { healthy: 0, degraded: 50, isPanicking: false }
      ])
      expect(members.assignment.health?.groups).toEqual([
        { priority: 0, health: "healthy", fails: false },
        { priority: 1, health: "degraded", fails: false }
      ])
      expect(members.assignment).toEqual({
        health: members.assignment.health,
        name: "c",
        priorities: [
          [
            {
              name: '["","z",""]',
              // One of two is there, for which nothing makes up: one and a half.
              weight: 1.5 * 65_536,
              endpoints: [
                {
                  addresses: ["10.0.0.1:80"],
                  weight: 2,
                  locality: '["","z",""]',
                  localityWeight: 1.5 * 65_536,
                  hashKey: undefined,
                  hostname: "a",
                  member: { cluster: "c", id: '["","10.0.0.1:80","10.0.0.1:80"]' }
                }
              ]
            }
          ],
          [
            {
              name: "",
              weight: 1,
              endpoints: [
                {
                  addresses: ["10.0.0.3:80"],
                  weight: 1,
                  locality: "",
                  localityWeight: 1,
                  hashKey: undefined,
                  hostname: undefined,
                  member: { cluster: "c", id: '["","10.0.0.3:80","10.0.0.3:80"]' }
                }
              ]
            }
          ]
        ],
        shares: [50, 50],
        drops: [{ category: "d", numerator: 10_000 }]
      })
    }))

  test("in panic all get calls, those that fail, too; none if calls are to fail", (world) =>
    Effect.gen(function* () {
      const cluster = yield* open()
      yield* world.clusters(eds)
      const bad = { ...endpoint(B), healthStatus: "UNHEALTHY" }
      yield* world.assign(A, bad, { ...endpoint(C), healthStatus: "DRAINING" }, { ...bad, ...endpoint("10.0.0.4") })
      expect(routed(yield* cluster.current)).toEqual([A, B, C, "10.0.0.4"])
      yield* world.clusters({ ...eds, commonLbConfig: { zoneAwareLbConfig: { failTrafficOnPanic: true } } })
      const members = yield* cluster.current
      expect([routed(members), members.canServe]).toEqual([[], false])
    }))

  test("★ who is listed no longer and passes stays, until it fails; checks can be switched off and on", (world) =>
    Effect.gen(function* () {
      const cluster = yield* open()
      yield* world.clusters(checked)
      yield* world.assign(A, B)
      expect((yield* cluster.current).state).toBe("Warming")
      yield* world.result(`${A}:80`, true)
      yield* world.result(`${B}:80`, false)
      expect(routed(yield* cluster.initialized)).toEqual([A])
      yield* world.clusters(eds)
      expect(world.open).toEqual([])
      yield* world.clusters(checked)
      yield* world.result(`${A}:80`, true)
      yield* world.result(`${B}:80`, true)
      yield* world.assign({ ...endpoint(A), healthStatus: "HEALTHY" })
      const status = yield* cluster.status
      expect(status.inUse?.hosts.map(({ address, flags, isRouted }) => [address, flags, isRouted])).toEqual([
        [`${A}:80`, [], true],
        [`${B}:80`, ["PENDING_DYNAMIC_REMOVAL"], true]
      ])
      yield* world.result(`${B}:80`, false)
      expect(routed(yield* cluster.current)).toEqual([A])
      expect(world.open).toEqual([`${A}:80`])
    }))

  /** A cluster whose assignment goes stale after ten seconds: sends that, and gives its members after some seconds. */
  const stale = (world: World) =>
    Effect.gen(function* () {
      const cluster = yield* open()
      yield* world.clusters(eds)
      const endpoints = [{ lbEndpoints: [endpoint(A)] }]
      return {
        send: () => world.assignment({ policy: { endpointStaleAfter: "10s" }, endpoints }),
        after: (seconds: number) =>
          TestClock.adjust(`${seconds} seconds`).pipe(Effect.zipRight(settle), Effect.zipRight(cluster.current))
      }
    })

  for (const protocol of ["StateOfTheWorld", "Incremental"] as const) {
    test(
      `★ an assignment that comes again, unchanged, is as fresh as any other (endpoint_stale_after); ${protocol}`,
      (world) =>
        Effect.gen(function* () {
          const { after, send } = yield* stale(world)
          for (let times = 0; times < 4; times++) {
            yield* send()
            expect(routed(yield* after(6))).toEqual([A])
          }
          expect(routed(yield* after(4))).toEqual([])
          // It comes back, too.
          yield* send()
          expect(routed(yield* after(9))).toEqual([A])
          expect(routed(yield* after(1))).toEqual([])
        }),
      { protocol }
    )
  }

  test("★ a set that is new takes an assignment as old as it is (endpoint_stale_after)", (world) =>
    Effect.gen(function* () {
      const { after: membersAfter, send } = yield* stale(world)
      const after = (seconds: number) =>
        Effect.map(membersAfter(seconds), (members) => [routed(members), members.set?.cluster.load.panicThreshold])
      const change = (value: number) => world.clusters({ ...eds, commonLbConfig: { healthyPanicThreshold: { value } } })
      yield* send()
      expect(yield* after(6)).toEqual([[A], 50])
      yield* change(40)
      expect(yield* after(3)).toEqual([[A], 40])
      expect(yield* after(1)).toEqual([[], 40])
      yield* change(30)
      expect(yield* after(1)).toEqual([[], 30])
      // Both sets hear what comes while there are two.
      yield* send()
      expect(yield* after(9)).toEqual([[A], 30])
      yield* change(20)
      yield* send()
      expect(yield* after(9)).toEqual([[A], 20])
      expect(yield* after(1)).toEqual([[], 20])
    }))

  test("★ who is listed no longer and passes weighs with its locality what that does now", (world) =>
    Effect.gen(function* () {
      const cluster = yield* open()
      yield* world.clusters({ ...checked, commonLbConfig: { localityWeightedLbConfig: {} } })
      const located = (zone: string, loadBalancingWeight: number, host: string): JsonObject => ({
        locality: { zone },
        loadBalancingWeight,
        lbEndpoints: [endpoint(host)]
      })
      yield* world.assignment({ endpoints: [located("z", 1, A), located("y", 5, C)] })
      for (const host of [A, C]) yield* world.result(`${host}:80`, true)
      yield* world.assignment({ endpoints: [located("z", 9, B), located("y", 5, C)] })
      yield* world.result(`${B}:80`, true)
      const members = yield* cluster.current
      expect(routed(members)).toEqual([A, B, C])
      expect(members.assignment.priorities.map((all) => all.map(({ weight }) => weight))).toEqual([[9, 5]])
    }))

  test("no assignment in time: settled, without hosts; it is taken when it comes", (world) =>
    Effect.gen(function* () {
      const cluster = yield* open()
      yield* world.clusters(eds)
      yield* TestClock.adjust("14999 millis")
      expect((yield* cluster.current).state).toBe("Warming")
      yield* TestClock.adjust("1 millis")
      yield* settle
      expect([(yield* cluster.initialized).state, routed(yield* cluster.current)]).toEqual(["Ready", []])
      yield* world.assign(A)
      expect(routed(yield* cluster.current)).toEqual([A])
    }))

  test("★ an assignment whose TTL is over lists nobody; who passes stays until it fails; it is taken when it is back", (world) =>
    Effect.gen(function* () {
      const plain = yield* open("p")
      const cluster = yield* open()
      yield* world.clusters(checked, { ...eds, name: "p" })
      const endpoints = [{ lbEndpoints: [endpoint(A), endpoint(B)] }]
      yield* world.assignment({ clusterName: "p", endpoints }, 4_000)
      yield* world.assignment({ endpoints }, 4_000)
      yield* world.result(`${A}:80`, true)
      yield* world.result(`${B}:80`, false)
      // Renewed before it is over.
      yield* TestClock.adjust("3 seconds")
      yield* world.assignment({ clusterName: "p", endpoints }, 4_000)
      yield* world.assignment({ endpoints }, 4_000)
      yield* TestClock.adjust("3999 millis")
      yield* settle
      expect([routed(yield* plain.current), routed(yield* cluster.current)]).toEqual([[A, B], [A]])
      yield* plain.heard
      yield* TestClock.adjust("1 millis")
      yield* settle
      expect([routed(yield* plain.current), yield* plain.heard]).toEqual([[], ["Removed", "Drain", "Removed", "Drain"]])
      const hosts = Effect.map(cluster.status, ({ inUse }) =>
        inUse?.hosts.map(({ address, flags }) => [address, flags])
      )
      expect([yield* hosts, routed(yield* cluster.current)]).toEqual([[[`${A}:80`, ["PENDING_DYNAMIC_REMOVAL"]]], [A]])
      yield* world.result(`${A}:80`, false)
      expect([yield* hosts, routed(yield* cluster.current), world.open]).toEqual([[], [], []])
      expect((yield* cluster.current).state).toBe("Ready")
      yield* world.assignment({ clusterName: "p", endpoints }, 4_000)
      expect(routed(yield* plain.current)).toEqual([A, B])
    }))

  test(
    "★ an assignment that is removed stays in use (A88)",
    (world) =>
      Effect.gen(function* () {
        const cluster = yield* using(world)
        yield* world.unassign
        expect(routed(yield* cluster.current)).toEqual([A])
      }),
    { protocol: "Incremental" }
  )

  test(
    "★ of a server whose data errors count one that is removed lists nobody",
    (world) =>
      Effect.gen(function* () {
        const cluster = yield* using(world)
        yield* world.unassign
        expect([routed(yield* cluster.current), (yield* cluster.current).state]).toEqual([[], "Ready"])
        yield* world.assign(B)
        expect(routed(yield* cluster.current)).toEqual([B])
      }),
    { protocol: "Incremental", isStrict: true }
  )

  test(
    "★ and so does one that is rejected, and a cluster that it is the first assignment of is ready",
    (world) =>
      Effect.gen(function* () {
        const cluster = yield* open()
        yield* world.clusters(eds)
        yield* world.assign("a name")
        expect([routed(yield* cluster.current), (yield* cluster.current).state]).toEqual([[], "Ready"])
        yield* world.assign(A)
        yield* world.assign("a name")
        expect(routed(yield* cluster.current)).toEqual([])
        yield* world.assign(A)
        expect(routed(yield* cluster.current)).toEqual([A])
        const { open: streams } = yield* ScriptedServer.ScriptedServer
        streams()[0]?.end()
        yield* settle
        yield* TestClock.adjust("60 seconds")
        expect(routed(yield* cluster.current)).toEqual([A])
      }),
    { isStrict: true }
  )

  test("★ a rejected assignment and a lost stream change nothing", (world) =>
    Effect.gen(function* () {
      const cluster = yield* using(world)
      yield* world.assign("a name")
      expect(routed(yield* cluster.current)).toEqual([A])
      const { open: streams } = yield* ScriptedServer.ScriptedServer
      streams()[0]?.end()
      yield* settle
      yield* TestClock.adjust("60 seconds")
      expect(routed(yield* cluster.current)).toEqual([A])
    }))
})

describe("warming", () => {
  test("★ a changed cluster is a new set beside the old one, used when it is ready; the old one's hosts are drained", (world) =>
    Effect.gen(function* () {
      const cluster = yield* open()
      yield* world.clusters(checked)
      yield* world.assign(A)
      yield* world.result(`${A}:80`, true)
      expect(routed(yield* cluster.current)).toEqual([A])
      yield* cluster.heard
      yield* world.clusters({ ...checked, healthChecks: [tcp({ interval: "5s" })] })
      // No health carries over: the old set goes on, and both are checked.
      expect([world.open, yield* cluster.heard]).toEqual([[`${A}:80`, `${A}:80`], ["Added"]])
      expect(routed(yield* cluster.current)).toEqual([A])
      const status = yield* cluster.status
      expect(status.warming?.hosts.map(({ flags }) => flags)).toEqual([["FAILED_ACTIVE_HC"]])
      expect(Array.from((yield* cluster.warming)?.unchecked ?? [])).toEqual([`${A}:80`])
      yield* world.result(`${A}:80`, true)
      expect([world.open, yield* cluster.heard]).toEqual([[`${A}:80`], ["Drain", "Checked"]])
      expect((yield* cluster.current).set?.cluster.checkers[0]?.settings.interval).toBe(5_000)
      expect(yield* cluster.warming).toBeUndefined()
    }))

  test("one that changes again before it is ready is forgotten", (world) =>
    Effect.gen(function* () {
      const cluster = yield* open()
      for (const interval of ["5s", "6s", "7s"]) {
        yield* world.clusters({ ...checked, healthChecks: [tcp({ interval })] })
        yield* world.assign(A)
      }
      expect([world.open, (yield* cluster.current).state]).toEqual([[`${A}:80`], "Warming"])
      yield* world.result(`${A}:80`, true)
      expect((yield* cluster.current).set?.cluster.checkers[0]?.settings.interval).toBe(7_000)
    }))
})

describe("names", () => {
  const dns = (type: string, more: JsonObject = {}): JsonObject => ({
    name: "c",
    type,
    dnsLookupFamily: "V4_ONLY",
    loadAssignment: { clusterName: "c", endpoints: [{ lbEndpoints: [endpoint("a.test")] }] },
    ...more
  })

  test("are resolved again and again; ★ a query that fails leaves who is known", (world) =>
    Effect.gen(function* () {
      const cluster = yield* open()
      const counted = yield* counting
      world.names.set("a.test", [A, B])
      yield* world.clusters(dns("STRICT_DNS", { dnsRefreshRate: "5s" }))
      expect(routed(yield* cluster.initialized)).toEqual([A, B])
      world.names.set("a.test", "failed")
      yield* TestClock.adjust("5 seconds")
      yield* settle
      expect([routed(yield* cluster.current), yield* cluster.heard]).toEqual([
        [A, B],
        ["Added", "Added", "Unresolved"]
      ])
      world.names.set("a.test", [B])
      yield* TestClock.adjust("5 seconds")
      yield* settle
      expect([routed(yield* cluster.current), yield* cluster.heard]).toEqual([[B], ["Removed", "Drain"]])
      world.names.set("a.test", [])
      yield* TestClock.adjust("5 seconds")
      yield* settle
      expect(routed(yield* cluster.current)).toEqual([])
      expect(world.asked.length).toBe(4)
      expect(yield* counted).toMatchObject({ updateAttempt: 4, updateSuccess: 3, updateFailure: 1, updateEmpty: 1 })
    }))

  const nonsense = [
    undefined,
    [null],
    [{ ttl: 3 }],
    [{ address: "a.test", ttl: 3 }],
    [{ address: `${A}:80`, ttl: 3 }],
    [{ address: A, ttl: "3" }]
  ]
  const lies: ReadonlyArray<readonly [string, () => never, string]> = [
    [
      "throws",
      () => {
        throw new Error("boom")
      },
      "Error: boom"
    ],
    ["gives no effect", () => lie(undefined), "valid effect"],
    ...nonsense.map(
      (value) =>
        [`gives ${JSON.stringify(value)}`, () => lie(Effect.succeed(value)), "no list of IP addresses"] as const
    )
  ]

  for (const [what, code, words] of lies) {
    test(`★ a resolver that ${what} has failed, and is asked again`, (world) =>
      Effect.gen(function* () {
        world.names.set("a.test", [A])
        world.lies.push(code)
        const cluster = yield* open()
        yield* world.clusters(dns("STRICT_DNS", { dnsRefreshRate: "5s" }))
        yield* settle
        const said = cluster.events.map((event) => [event._tag, "message" in event ? event.message : ""])
        expect([(yield* cluster.current).state, said]).toEqual([
          "Ready",
          [["Unresolved", expect.stringContaining(words)]]
        ])
        yield* TestClock.adjust("5 seconds")
        yield* settle
        expect(routed(yield* cluster.current)).toEqual([A])
        world.lies.push(code)
        yield* TestClock.adjust("5 seconds")
        yield* settle
        yield* TestClock.adjust("5 seconds")
        yield* settle
        expect([routed(yield* cluster.current), world.asked.length]).toEqual([[A], 4])
      }))
  }

  test("★ a LOGICAL_DNS host moves, and its checks with it, without a drain", (world) =>
    Effect.gen(function* () {
      const cluster = yield* open()
      world.names.set("a.test", [A, B])
      yield* world.clusters(dns("LOGICAL_DNS", { healthChecks: [tcp()] }))
      yield* world.result(`${A}:80`, true)
      yield* cluster.heard
      world.names.set("a.test", [C])
      yield* TestClock.adjust("5 seconds")
      yield* settle
      expect([routed(yield* cluster.current), yield* cluster.heard]).toEqual([[C], []])
      yield* TestClock.adjust("5 seconds")
      yield* settle
      expect(world.open).toEqual([`${C}:80`])
    }))

  test("queries and checks end with the scope, and so do the watches", (world) =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      yield* Scope.extend(open("c"), scope)
      const other = yield* Scope.make()
      yield* Scope.extend(open("e"), other)
      world.names.set("a.test", "silent")
      yield* world.clusters(dns("STRICT_DNS"), { ...checked, name: "e" })
      yield* world.assignment({ clusterName: "e", endpoints: [{ lbEndpoints: [endpoint(A)] }] })
      expect([world.asked.length, world.cancelled, world.open]).toEqual([1, 0, [`${A}:80`]])
      yield* Scope.close(scope, Exit.void)
      expect([world.cancelled, world.open, (yield* world.requested)["Cluster"]]).toEqual([1, [`${A}:80`], ["e"]])
      yield* Scope.close(other, Exit.void)
      yield* settle
      expect([world.open, yield* world.requested]).toEqual([[], { Cluster: [], ClusterLoadAssignment: [] }])
    }))
})

describe("a cluster", () => {
  test("of a type that is not registered is rejected, and no other", (world) =>
    Effect.gen(function* () {
      const bad = yield* open("bad")
      const good = yield* open("good")
      const message = fromJson(ClusterSchema, { name: "bad" })
      const value = create(Cluster_CustomClusterTypeSchema, {
        typedConfig: { typeUrl: "type.googleapis.com/x.Y", value: new Uint8Array() }
      })
      message.clusterDiscoveryType = { case: "clusterType", value }
      yield* world.respond(
        ResourceType.Cluster.typeUrl,
        ["bad", toBinary(ClusterSchema, message)],
        ["good", toBinary(ClusterSchema, fromJson(ClusterSchema, { name: "good" }))]
      )
      const { message: text, state } = yield* bad.initialized
      expect([state, text]).toEqual(["Failed", expect.stringContaining("x.Y is not registered")])
      expect([(yield* good.initialized).state, (yield* bad.status).message]).toEqual(["Ready", text])
    }))

  test("whose endpoints come from elsewhere is rejected", (world) =>
    Effect.gen(function* () {
      const cluster = yield* open()
      yield* world.clusters({ ...eds, edsClusterConfig: { edsConfig: { pathConfigSource: { path: "/e" } } } })
      expect((yield* cluster.initialized).message).toContain("there is no client of a file here")
    }))

  test(
    "★ that is gone has no members; it is warmed anew when it is back",
    (world) =>
      Effect.gen(function* () {
        const cluster = yield* using(world)
        yield* cluster.heard
        yield* world.clusters()
        expect([(yield* cluster.current).state, yield* cluster.heard]).toEqual(["Failed", ["Drain"]])
        yield* world.clusters(eds)
        yield* world.assign(A)
        expect(routed(yield* cluster.current)).toEqual([A])
      }),
    { isStrict: true }
  )

  test("watched with another decoder has no members, and says why", () =>
    Effect.gen(function* () {
      const client = yield* XdsClient.XdsClient
      yield* Effect.forkScoped(Stream.runDrain(client.watch(ClusterSchema, "c")))
      yield* settle
      const cluster = yield* open()
      const { message, state } = yield* cluster.current
      expect([state, message]).toEqual(["Failed", expect.stringContaining("is watched with another decoder already")])
    }))

  it.scoped("whose watches throw where they begin: that is said, and is all that becomes of it", () => {
    const boom = (): never => {
      throw new Error("boom")
    }
    const value = Either.getOrThrow(Cluster.make(fromJson(ClusterSchema, eds)))
    const known = Stream.succeed<ResourceEvent<Cluster.Cluster>>({ _tag: "Updated", name: "c", value, version: "1" })
    const of = (watches: ClusterMembers.Watches) =>
      Effect.gen(function* () {
        const members = yield* ClusterMembers.fromWatches(watches)
        const cluster = yield* members.of("c")
        yield* settle
        const { message, state } = yield* cluster.current
        return [state, message]
      })
    return Effect.gen(function* () {
      expect(yield* of({ cluster: boom, assignment: boom })).toEqual(["Failed", "the watch has died: Error: boom"])
      expect(yield* of({ cluster: () => known, assignment: boom })).toEqual([
        "Ready",
        'endpoints "c" cannot be watched: Error: boom'
      ])
    }).pipe(Effect.provide(Layer.merge(new World().resolver, new World().prober)))
  })

  test("of type ORIGINAL_DST has the hosts that calls go to", (world) =>
    Effect.gen(function* () {
      const cluster = yield* open()
      yield* world.clusters({ name: "c", type: "ORIGINAL_DST", lbPolicy: "CLUSTER_PROVIDED" })
      const nothing = () => undefined
      const call: ClusterType.Call = {
        header: nothing,
        filterState: undefined,
        requestMetadata: nothing,
        connectionMetadata: nothing,
        restored: `${A}:80`,
        draw: () => 0
      }
      expect(yield* cluster.pick(call)).toEqual({ address: `${A}:80`, ignored: 0 })
      expect(routed(yield* cluster.current)).toEqual([A])
      yield* cluster.inUse(`${A}:80`, true)
      yield* TestClock.adjust("20 seconds")
      expect(routed(yield* cluster.current)).toEqual([A])
      yield* cluster.inUse(`${A}:80`, false)
      yield* TestClock.adjust("5 seconds")
      expect(routed(yield* cluster.current)).toEqual([])
    }))

  test("★ of type ORIGINAL_DST forgets hosts that nobody uses, also those that pass their checks", (world) =>
    Effect.gen(function* () {
      const cluster = yield* open()
      const original = { name: "c", type: "ORIGINAL_DST", lbPolicy: "CLUSTER_PROVIDED" }
      yield* world.clusters({ ...original, healthChecks: [tcp({ interval: "60s", noTrafficInterval: "60s" })] })
      const nothing = () => undefined
      yield* cluster.pick({
        header: nothing,
        filterState: undefined,
        requestMetadata: nothing,
        connectionMetadata: nothing,
        restored: `${A}:80`,
        draw: () => 0
      })
      yield* world.result(`${A}:80`, true)
      expect(routed(yield* cluster.current)).toEqual([A])
      yield* TestClock.adjust("10 seconds")
      expect((yield* cluster.current).all).toEqual([])
    }))

  test(
    "★ of type ORIGINAL_DST refuses calls to more hosts than it may have, and says so once",
    (world) =>
      Effect.gen(function* () {
        const cluster = yield* open("full")
        yield* world.clusters({ name: "full", type: "ORIGINAL_DST", lbPolicy: "CLUSTER_PROVIDED" })
        const nothing = () => undefined
        const pick = (restored: string) =>
          cluster.pick({
            header: nothing,
            filterState: undefined,
            requestMetadata: nothing,
            connectionMetadata: nothing,
            restored,
            draw: () => 0
          })
        expect(yield* pick(`${A}:80`)).toEqual({ address: `${A}:80`, ignored: 0 })
        for (const restored of [`${B}:80`, `${B}:81`]) {
          expect(yield* pick(restored)).toEqual({ address: undefined, ignored: 0, refused: restored })
        }
        expect(yield* pick(`${A}:80`)).toEqual({ address: `${A}:80`, ignored: 0 })
        expect(routed(yield* cluster.current)).toEqual([A])
        yield* TestClock.adjust("10 seconds")
        expect((yield* pick(`${B}:80`)).address).toBe(`${B}:80`)
        yield* settle
        expect(cluster.events.map(({ _tag }) => _tag)).toEqual(["Added", "Refused", "Removed", "Drain", "Added"])
        const { count } = yield* Metric.value(ClusterMetrics.of(ClusterMetrics.poolOverflow, "full"))
        expect(count).toBe(2)
      }),
    { types: ClusterTypes.withTypes(ClusterTypes.originalDst({ maxHosts: 1 })) }
  )

  const own = ClusterType.define<null, number>({
    typeUrl: "STATIC",
    decode: () => Either.right(null),
    make: () => 0,
    step: (self, input) => {
      if (input._tag === "Start")
        return [1, [{ _tag: "Listed", hosts: [Host.make(`${A}:80`)] }, { _tag: "Initialized" }]]
      if (self > 1) throw new Error("boom")
      return [self + 1, []]
    },
    deadline: (self) => self * 1_000
  })
  test(
    "of a type whose code throws keeps what it has, and says why",
    (world) =>
      Effect.gen(function* () {
        const cluster = yield* open()
        yield* world.clusters({ name: "c" })
        yield* TestClock.adjust("3 seconds")
        yield* settle
        const members = yield* cluster.current
        expect([members.message, routed(members)]).toEqual(["STATIC: step threw: boom", [A]])
        expect((yield* cluster.status).inUse?.fault).toBe("STATIC: step threw: boom")
      }),
    { types: ClusterTypes.withTypes(own) }
  )

  const given: Array<ReadonlyArray<HostSet.Member>> = []
  const picking = ClusterType.define<null, null>({
    typeUrl: "STATIC",
    decode: () => Either.right(null),
    make: () => null,
    step: (self, input) => {
      if (input._tag === "Start")
        return [self, [{ _tag: "Listed", hosts: [Host.make(`${A}:80`)] }, { _tag: "Initialized" }]]
      return [self, input._tag === "Picked" && given.length === 1 ? [{ _tag: "Listed", hosts: [Host.make(B)] }] : []]
    },
    deadline: () => Number.POSITIVE_INFINITY,
    pick: (_config, members) => {
      given.push(members)
      return { address: B, ignored: 0 }
    }
  })
  test(
    "★ of a type that picks: members are put in order when they change, and not for each call",
    (world) =>
      Effect.gen(function* () {
        given.length = 0
        const cluster = yield* open()
        yield* world.clusters({ name: "c", lbPolicy: "CLUSTER_PROVIDED" })
        const nothing = () => undefined
        const call: ClusterType.Call = {
          header: nothing,
          filterState: undefined,
          requestMetadata: nothing,
          connectionMetadata: nothing,
          restored: undefined,
          draw: () => 0
        }
        yield* Effect.repeatN(cluster.pick(call), 2)
        const [first, second, third] = given.map((members) => members.map(({ host }) => host.address))
        expect([first, second, third]).toEqual([[`${A}:80`], [B], [B]])
        expect(given[2]).toBe(given[1])
      }),
    { types: ClusterTypes.withTypes(picking) }
  )
})

describe("an aggregate", () => {
  const aggregate = (name: string, ...clusters: ReadonlyArray<string>): readonly [string, Uint8Array] => {
    const message = fromJson(ClusterSchema, { name, lbPolicy: "CLUSTER_PROVIDED" })
    const config = toBinary(ClusterConfigSchema, create(ClusterConfigSchema, { clusters: [...clusters] }))
    const value = create(Cluster_CustomClusterTypeSchema, {
      typedConfig: { typeUrl: `type.googleapis.com/${ClusterConfigSchema.typeName}`, value: config }
    })
    message.clusterDiscoveryType = { case: "clusterType", value }
    return [name, toBinary(ClusterSchema, message)]
  }
  const leaf = (name: string, ...hosts: ReadonlyArray<string>): readonly [string, Uint8Array] => [
    name,
    toBinary(
      ClusterSchema,
      fromJson(ClusterSchema, {
        name,
        loadAssignment: { clusterName: name, endpoints: [{ lbEndpoints: hosts.map(endpoint) }] }
      })
    )
  ]
  const CDS = ResourceType.Cluster.typeUrl

  test("has the hosts of its leaves, depth first; a missing one fails alone; those who can serve serve", (world) =>
    Effect.gen(function* () {
      const cluster = yield* open("r")
      yield* world.respond(CDS, aggregate("r", "a", "s", "b"))
      expect((yield* world.requested)["Cluster"]).toEqual(["a", "b", "r", "s"])
      yield* world.respond(CDS, aggregate("r", "a", "s", "b"), aggregate("s", "m", "a", "n"), leaf("a"), leaf("b", B))
      const { leaves, serving } = yield* cluster.current
      expect(leaves?.map(({ cluster: name, members }) => [name, members?.state])).toEqual([
        ["a", "Ready"],
        ["m", "Warming"],
        ["n", "Warming"],
        ["b", "Ready"]
      ])
      expect(serving.map(({ cluster: name, share }) => [name, share])).toEqual([["b", 100]])
      expect((yield* cluster.current).canServe).toBe(true)
      // It names fewer: the others are watched no longer.
      yield* world.respond(CDS, aggregate("r", "b"), leaf("b", B))
      expect((yield* cluster.current).leaves?.map((each) => each.cluster)).toEqual(["b"])
      expect((yield* world.requested)["Cluster"]).toEqual(["b", "r"])
    }))

  test("★ that is nested in itself fails, and ends with its scope all the same", (world) =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const cluster = yield* Scope.extend(open("r"), scope)
      yield* world.respond(CDS, aggregate("r", "s"))
      yield* world.respond(CDS, aggregate("r", "s"), aggregate("s", "r"))
      const members = yield* cluster.current
      expect([members.state, members.message]).toEqual(["Failed", expect.stringContaining("r → s → r")])
      yield* Scope.close(scope, Exit.void)
      yield* settle
      expect((yield* world.requested)["Cluster"]).toEqual([])
    }))
})

describe("health", () => {
  const outliers: JsonObject = { ...checked, outlierDetection: { consecutive5xx: 2, maxEjectionPercent: 50 } }

  test("calls that fail eject; a probe that passes, or time, brings back; status and metrics tell it", (world) =>
    Effect.gen(function* () {
      const cluster = yield* open()
      yield* world.clusters(outliers)
      yield* world.assign(A, B)
      yield* world.result(`${A}:80`, true)
      yield* world.result(`${B}:80`, true)
      yield* cluster.heard
      const id = (yield* cluster.status).inUse?.hosts[0]?.host ?? ""
      const fail = Effect.repeatN(cluster.report(id, { _tag: "Response", status: 503 }), 1)
      yield* TestClock.adjust("3 seconds")
      yield* fail
      yield* settle
      expect([routed(yield* cluster.current), yield* cluster.heard]).toEqual([[B], ["Ejected", "Drain"]])
      const host = (yield* cluster.status).inUse?.hosts[0]
      expect(host).toMatchObject({
        address: `${A}:80`,
        health: "unhealthy",
        flags: ["FAILED_OUTLIER"],
        isRouted: false,
        since: 3_000,
        checks: [{ checker: "", last: { at: 0, result: "Success", why: "" }, isProbing: false, next: 10_000 }],
        ejections: 1,
        ejected: { at: 3_000, detector: "Consecutive5xx" }
      })
      const gauge = (metric: typeof ClusterMetrics.membershipTotal) =>
        Effect.map(Metric.value(Metric.tagged(metric, "envoy.cluster_name", "c")), ({ value }) => value)
      expect([
        yield* gauge(ClusterMetrics.membershipTotal),
        yield* gauge(ClusterMetrics.membershipHealthy),
        yield* gauge(ClusterMetrics.ejectionsActive)
      ]).toEqual([2, 1, 1])
      world.isPassing = true
      yield* TestClock.adjust("7 seconds")
      yield* settle
      expect([routed(yield* cluster.current), yield* cluster.heard]).toEqual([[A, B], ["Returned"]])
      yield* world.clusters({ ...outliers, healthChecks: [] })
      yield* fail
      expect(routed(yield* cluster.current)).toEqual([B])
      yield* TestClock.adjust("70 seconds")
      yield* settle
      expect(routed(yield* cluster.current)).toEqual([A, B])
      expect((yield* cluster.status).inUse?.hosts[0]).toMatchObject({ checks: [], ejections: 1, ejected: undefined })
    }))

  test("the gauges of a cluster that nobody watches any more are zero, and those of one that is watched again are its own", (world) =>
    Effect.gen(function* () {
      const gauges = Effect.forEach([ClusterMetrics.membershipTotal, ClusterMetrics.membershipHealthy], (metric) =>
        Effect.map(Metric.value(Metric.tagged(metric, "envoy.cluster_name", "c")), ({ value }) => value)
      )
      const watched = yield* Scope.make()
      const cluster = yield* Scope.extend(open(), watched)
      yield* world.clusters(eds)
      yield* world.assign(A, B)
      yield* settle
      expect([routed(yield* cluster.current), yield* gauges]).toEqual([
        [A, B],
        [2, 2]
      ])
      yield* Scope.close(watched, Exit.void)
      expect(yield* gauges).toEqual([0, 0])
      yield* open()
      yield* world.clusters(eds)
      yield* world.assign(A)
      yield* settle
      expect(yield* gauges).toEqual([1, 1])
    }))

  const together: ReadonlyArray<readonly [string, (close: Effect.Effect<void>, ask: typeof asking) => typeof asking]> =
    [
      ["given up, and asked for", (close, ask) => Effect.zipRight(close, ask)],
      ["given up while it is asked for", (close, ask) => Effect.zipRight(close, ask, { concurrent: true })],
      ["asked for while it is given up", (close, ask) => Effect.zipLeft(ask, close, { concurrent: true })],
      ["asked for, and given up", (close, ask) => Effect.zipLeft(ask, close)]
    ]
  const asking = open()

  for (const [how, both] of together) {
    test(`★ a cluster that is ${how}: who asks has one that lives, and its gauges`, (world) =>
      Effect.gen(function* () {
        const watched = yield* Scope.make()
        yield* Scope.extend(open(), watched)
        yield* world.clusters(eds)
        yield* world.assign(A, B)
        const cluster = yield* both(Scope.close(watched, Exit.void), asking)
        yield* settle
        yield* world.clusters(eds)
        yield* world.assign(A)
        yield* settle
        const gauge = Metric.tagged(ClusterMetrics.membershipTotal, "envoy.cluster_name", "c")
        expect([routed(yield* cluster.current), (yield* Metric.value(gauge)).value]).toEqual([[A], 1])
        yield* world.assign(A, B, C)
        yield* settle
        expect([routed(yield* cluster.current), (yield* Metric.value(gauge)).value]).toEqual([[A, B, C], 3])
      }))
  }

  test("status tells who is a canary, also of one that becomes it", (world) =>
    Effect.gen(function* () {
      const cluster = yield* open()
      yield* world.clusters(eds)
      const isCanary = Effect.map(cluster.status, ({ inUse }) => inUse?.hosts.map((host) => host.isCanary))
      const canary = { ...endpoint(B), metadata: { filterMetadata: { "envoy.lb": { canary: true } } } }
      yield* world.assign(A, canary)
      expect(yield* isCanary).toEqual([false, true])
      yield* world.assign({ ...canary, ...endpoint(A) }, B)
      expect(yield* isCanary).toEqual([true, false])
    }))

  test("what calls see goes to the checks", (world) =>
    Effect.gen(function* () {
      const cluster = yield* open()
      yield* world.clusters({ ...checked, healthChecks: [tcp({ noTrafficInterval: "60s" })] })
      yield* world.assign(A, B, C)
      for (const host of [A, B, C]) yield* world.result(`${host}:80`, true)
      const [first] = (yield* cluster.status).inUse?.hosts ?? []
      expect(first?.checks[0]?.next).toBe(60_000)
      yield* cluster.passiveFailure(first?.host ?? "")
      yield* cluster.passiveFailure("nobody")
      yield* settle
      expect(routed(yield* cluster.current)).toEqual([B, C])
      // Who had a connection for a call is checked as often as its interval says, from the next result on.
      yield* cluster.trafficSeen
      yield* TestClock.adjust("60 seconds")
      yield* world.result(`${B}:80`, true)
      expect((yield* cluster.status).inUse?.hosts[1]?.checks[0]).toMatchObject({ isProbing: false, next: 70_000 })
    }))

  test("★ a cluster that ever had traffic is checked as often when it is changed, and the set that is warmed when traffic comes", (world) =>
    Effect.gen(function* () {
      const cluster = yield* open()
      const often = (interval: string) =>
        world.clusters({ ...checked, healthChecks: [tcp({ interval, noTrafficInterval: "60s" })] })
      const next = (set: "inUse" | "warming") =>
        Effect.gen(function* () {
          const now = yield* Clock.currentTimeMillis
          const [host] = (yield* cluster.status)[set]?.hosts ?? []
          return host?.checks.map((check) => check.next - now)
        })
      yield* often("10s")
      yield* world.assign(A, B)
      yield* world.result(`${A}:80`, true)
      expect(yield* next("warming")).toEqual([60_000])
      yield* world.result(`${B}:80`, true)
      yield* often("20s")
      yield* cluster.trafficSeen
      yield* world.result(`${A}:80`, true)
      expect(yield* next("warming")).toEqual([20_000])
      // Its connections stay open: nobody tells of traffic again.
      yield* often("30s")
      for (const host of [A, B]) yield* world.result(`${host}:80`, true)
      expect(yield* next("inUse")).toEqual([30_000])
    }))

  test("a call that was answered had a connection, whoever made it", (world) =>
    Effect.gen(function* () {
      const cluster = yield* open()
      yield* world.clusters({ ...checked, healthChecks: [tcp({ noTrafficInterval: "60s" })] })
      yield* world.assign(A)
      yield* world.result(`${A}:80`, true)
      const [host] = (yield* cluster.status).inUse?.hosts ?? []
      expect(host?.checks[0]?.next).toBe(60_000)
      for (const outcome of ["ConnectFailure", "Timeout", "Response"] as const) {
        yield* cluster.report(host?.host ?? "", { _tag: outcome, status: 200 })
        yield* TestClock.adjust("60 seconds")
        yield* world.result(`${A}:80`, true)
      }
      expect((yield* cluster.status).inUse?.hosts[0]?.checks[0]?.next).toBe(190_000)
    }))

  test("who is slow misses what was in between, and never the last", (world) =>
    Effect.gen(function* () {
      const cluster = yield* open()
      yield* world.clusters(eds)
      const seen: Array<ReadonlyArray<string>> = []
      const gate = Effect.unsafeMakeLatch(false)
      yield* Effect.forkScoped(
        Stream.runForEach(cluster.changes, (members) => {
          seen.push(routed(members))
          return gate.await
        })
      )
      yield* settle
      for (const host of [A, B, C]) yield* world.assign(host)
      yield* gate.open
      yield* settle
      expect(seen).toEqual([[], [C]])
    }))
})
