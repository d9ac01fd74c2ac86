/** Health checks in both profiles, and by the rules of Envoy: load of priorities, panic, degraded endpoints, outliers. */
import type { MessageInitShape } from "@bufbuild/protobuf"
import { Code, ConnectError } from "@connectrpc/connect"
import { Cluster_DiscoveryType as DiscoveryType } from "@effect-xds/proto/envoy/config/cluster/v3/cluster"
import type { AddressSchema } from "@effect-xds/proto/envoy/config/core/v3/address"
import { HealthStatus } from "@effect-xds/proto/envoy/config/core/v3/health_check"
import type { Resources } from "@effect-xds/server/Snapshot"
import { Waiting } from "@effect-xds/testing"
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as Mesh from "./Mesh.js"

const milliseconds = (value: number) => ({ nanos: value * 1_000_000 })

/** Checks by the health service, under a name of their own. */
const healthChecks = [
  {
    // Long: a busy machine is no failure.
    timeout: { seconds: 30n },
    interval: milliseconds(20),
    noTrafficInterval: milliseconds(20),
    unhealthyThreshold: 1,
    healthyThreshold: 1,
    healthChecker: { case: "grpcHealthCheck" as const, value: { serviceName: "probe" } }
  }
]

/** A server whose checks pass until it is told otherwise. */
const checked = (options: Mesh.BackendOptions = {}) =>
  Effect.gen(function* () {
    const state = { isWell: true }
    const backend = yield* Mesh.backend({
      ...options,
      onCheck: (service, signal, headers) => {
        if (service !== "probe") return options.onCheck?.(service, signal, headers)
        if (!state.isWell) throw new ConnectError("not well", Code.Unavailable)
      }
    })
    /** Calls that were no probes. */
    const calls = () => backend.seen.filter(({ service }) => service !== "probe").length
    return { ...backend, state, calls }
  })

type AddressInit = MessageInitShape<typeof AddressSchema>

const socket = (port: number): AddressInit => ({
  address: { case: "socketAddress", value: { address: "127.0.0.1", portSpecifier: { case: "portValue", value: port } } }
})

/** A service whose cluster has its endpoints itself. */
const listed = (type: DiscoveryType, ...addresses: ReadonlyArray<AddressInit>): Resources => ({
  ...Mesh.service("shop"),
  endpoints: [],
  clusters: [
    Mesh.cluster("shop", {
      clusterDiscoveryType: { case: "type", value: type },
      loadAssignment: {
        clusterName: "shop",
        endpoints: [
          {
            lbEndpoints: addresses.map((address) => ({
              hostIdentifier: { case: "endpoint" as const, value: { address } }
            }))
          }
        ]
      }
    })
  ]
})

const envoy = Mesh.meshOf({ profile: "envoy" })

/** How many of 100 calls each gets, in order. */
const shares = (client: Parameters<typeof Mesh.counts>[0], ...ports: ReadonlyArray<number>) =>
  Effect.map(Mesh.counts(client, 300), (found) => ports.map((port) => (found.get(port) ?? 0) / 3))

describe("health checks", () => {
  for (const profile of ["grpc", "envoy"] as const) {
    it.scopedLive(`${profile}: who fails them gets no calls, and gets them again when well`, () =>
      Effect.gen(function* () {
        const [a, b] = yield* Effect.all([checked(), checked()])
        const plane = yield* Mesh.ControlPlane
        b.state.isWell = false
        const resources = {
          ...Mesh.service("shop", a.port, b.port),
          clusters: [Mesh.cluster("shop", { healthChecks })]
        }
        yield* plane.set(resources)
        const client = yield* Mesh.checker()
        // ★ The first checks are awaited: no call goes to who has passed none.
        yield* Mesh.counts(client, 20)
        expect(b.calls()).toBe(0)
        b.state.isWell = true
        yield* Mesh.answeredBy(client, a.port, b.port)
        a.state.isWell = false
        yield* Mesh.answeredBy(client, b.port)
        // Without checks all are called.
        yield* plane.set(Mesh.service("shop", a.port, b.port))
        yield* Mesh.answeredBy(client, a.port, b.port)
        // And with them again.
        yield* plane.set(resources)
        yield* Mesh.answeredBy(client, b.port)
      }).pipe(Effect.provide(Mesh.meshOf({ profile })))
    )
  }

  it.scopedLive("grpc: what is not listed any more gets no calls, though its checks pass", () =>
    Effect.gen(function* () {
      const [a, b] = yield* Effect.all([checked(), checked()])
      const plane = yield* Mesh.ControlPlane
      const clusters = [Mesh.cluster("shop", { healthChecks })]
      yield* plane.set({ ...Mesh.service("shop", a.port, b.port), clusters })
      const client = yield* Mesh.checker()
      yield* Mesh.answeredBy(client, a.port, b.port)
      yield* plane.set({ ...Mesh.service("shop", a.port), clusters })
      yield* Mesh.answeredBy(client, a.port)
      yield* Waiting.eventually(() => expect(b.connections()).toBe(0))
    }).pipe(Effect.provide(Mesh.mesh))
  )

  it.scopedLive(
    "grpc: where all fail them the next priority is called, and where there is none the error says why",
    () =>
      Effect.gen(function* () {
        const [a, b] = yield* Effect.all([checked(), checked()])
        const plane = yield* Mesh.ControlPlane
        yield* plane.set({
          ...Mesh.service("shop"),
          clusters: [Mesh.cluster("shop", { healthChecks })],
          endpoints: [Mesh.localities("shop", { ports: [a.port] }, { ports: [b.port], priority: 1 })]
        })
        const client = yield* Mesh.checker()
        yield* Mesh.answeredBy(client, a.port)
        a.state.isWell = false
        yield* Mesh.answeredBy(client, b.port)
        b.state.isWell = false
        const error = yield* Waiting.until(
          "a failure",
          Effect.flip(Effect.flip(Mesh.failure(() => client.check({}))).pipe(Effect.map(() => new Error("answered")))),
          ({ code }) => code === Code.Unavailable
        )
        expect(error.rawMessage).toBe('cluster "shop": of 2 endpoints 2 have not passed the health check')
      }).pipe(Effect.provide(Mesh.mesh))
  )

  it.scopedLive("a call that waits for the first health check says so", () =>
    Effect.gen(function* () {
      const { port } = yield* Mesh.silent
      const plane = yield* Mesh.ControlPlane
      yield* plane.set({ ...Mesh.service("shop", port), clusters: [Mesh.cluster("shop", { healthChecks })] })
      const client = yield* Mesh.checker()
      const error = yield* Mesh.failure(() => client.check({}, { timeoutMs: 2_000 }))
      expect(error.rawMessage).toMatch(
        new RegExp(`, waited for the first health check of cluster "shop" at 127.0.0.1:${port} for \\d.\\d s$`)
      )
    }).pipe(Effect.provide(Mesh.mesh))
  )

  it.scopedLive("grpc: a cluster that cannot be checked is called without checks, and that is logged", () =>
    Effect.gen(function* () {
      const said: Array<string> = []
      const logger = Logger.make(({ message }) => said.push(String(message)))
      yield* Effect.gen(function* () {
        const a = yield* Mesh.backend()
        const plane = yield* Mesh.ControlPlane
        const twice = [...healthChecks, ...healthChecks]
        yield* plane.set({
          ...Mesh.service("shop", a.port),
          clusters: [Mesh.cluster("shop", { healthChecks: twice })]
        })
        const client = yield* Mesh.checker()
        yield* Mesh.answeredBy(client, a.port)
      }).pipe(Effect.provide(Mesh.loud().pipe(Layer.provide(Logger.replace(Logger.defaultLogger, logger)))))
      expect(said.filter((text) => text.startsWith('cluster "shop" is used without its health checks: '))).toHaveLength(
        1
      )
    })
  )
})

describe("profile envoy", () => {
  it.scopedLive("priorities share the load by how many of their endpoints are well", () =>
    Effect.gen(function* () {
      const [a, b, c] = yield* Effect.all([checked(), checked(), checked()])
      const plane = yield* Mesh.ControlPlane
      b.state.isWell = false
      yield* plane.set({
        ...Mesh.service("shop"),
        clusters: [Mesh.cluster("shop", { healthChecks })],
        endpoints: [Mesh.localities("shop", { ports: [a.port, b.port] }, { ports: [c.port], priority: 1 })]
      })
      const client = yield* Mesh.checker()
      yield* Mesh.answeredBy(client, a.port, c.port)
      // 1 of 2 is 70 %, as Envoy reckons; σ = 2.6.
      const [first = 0, none, second] = yield* shares(client, a.port, b.port, c.port)
      expect(Math.abs(first - 70)).toBeLessThan(13)
      expect(none).toBe(0)
      expect(second).toBeCloseTo(100 - first)
      b.state.isWell = true
      yield* Mesh.answeredBy(client, a.port, b.port)
    }).pipe(Effect.provide(envoy))
  )

  it.scopedLive("panic: where too few are well all are called, and none with a threshold of 0", () =>
    Effect.gen(function* () {
      const [a, b] = yield* Effect.all([checked(), checked()])
      const plane = yield* Mesh.ControlPlane
      for (const { state } of [a, b]) state.isWell = false
      const set = (value: number) =>
        plane.set({
          ...Mesh.service("shop", a.port, b.port),
          clusters: [Mesh.cluster("shop", { healthChecks, commonLbConfig: { healthyPanicThreshold: { value } } })]
        })
      yield* set(50)
      const client = yield* Mesh.checker()
      yield* Mesh.answeredBy(client, a.port, b.port)
      yield* set(0)
      const why = 'cluster "shop": of 2 endpoints 2 have not passed the health check'
      yield* Waiting.until(
        "failures",
        Effect.promise(() =>
          client.check({}).then(
            () => "",
            (error: unknown) => ConnectError.from(error).rawMessage
          )
        ),
        (message) => message === why
      )
    }).pipe(Effect.provide(envoy))
  )

  it.scopedLive("degraded endpoints are called where healthy ones do not suffice", () =>
    Effect.gen(function* () {
      const [a, b] = yield* Effect.all([Mesh.backend(), Mesh.backend()])
      const plane = yield* Mesh.ControlPlane
      const health = HealthStatus.DEGRADED
      const set = (...of: ReadonlyArray<Mesh.LocalityInit>) =>
        plane.set({ ...Mesh.service("shop"), endpoints: [Mesh.localities("shop", ...of)] })
      yield* set({ zone: "a", ports: [a.port] }, { zone: "b", ports: [b.port], health })
      const client = yield* Mesh.checker()
      yield* Mesh.answeredBy(client, a.port, b.port)
      const [well = 0] = yield* shares(client, a.port)
      expect(Math.abs(well - 70)).toBeLessThan(13)
      yield* set({ zone: "a", ports: [a.port] })
      yield* Mesh.answeredBy(client, a.port)
      yield* set({ zone: "b", ports: [b.port], health })
      yield* Mesh.answeredBy(client, b.port)
    }).pipe(Effect.provide(envoy))
  )

  it.scopedLive(
    "an endpoint that is not listed any more is called while its checks pass, and is gone when they fail",
    () =>
      Effect.gen(function* () {
        const [a, b] = yield* Effect.all([checked(), checked()])
        const plane = yield* Mesh.ControlPlane
        const clusters = [Mesh.cluster("shop", { healthChecks })]
        yield* plane.set({ ...Mesh.service("shop", a.port, b.port), clusters })
        const client = yield* Mesh.checker()
        yield* Mesh.answeredBy(client, a.port, b.port)
        const drops = [Mesh.dropping("none", 0)]
        const endpoints = drops.map((policy) => ({ ...Mesh.endpoints("shop", a.port), policy }))
        yield* plane.set({ ...Mesh.service("shop", a.port), clusters, endpoints })
        yield* Mesh.answeredBy(client, a.port, b.port)
        b.state.isWell = false
        yield* Mesh.answeredBy(client, a.port)
        b.state.isWell = true
        const before = b.calls()
        yield* Mesh.counts(client, 50)
        expect(b.calls()).toBe(before)
      }).pipe(Effect.provide(envoy))
  )

  it.scopedLive("streams of who fails the checks go on, or are cut where the cluster says so", () =>
    Effect.gen(function* () {
      const [a, b] = yield* Effect.all([checked(), checked()])
      const plane = yield* Mesh.ControlPlane
      const set = (closeConnectionsOnHostHealthFailure: boolean) =>
        plane.set({
          ...Mesh.service("shop", a.port, b.port),
          clusters: [
            Mesh.cluster("shop", {
              healthChecks,
              closeConnectionsOnHostHealthFailure,
              commonLbConfig: { healthyPanicThreshold: { value: 0 } }
            })
          ]
        })
      yield* set(false)
      const client = yield* Mesh.checker()
      yield* Mesh.answeredBy(client, a.port, b.port)
      b.state.isWell = false
      yield* Mesh.answeredBy(client, a.port)
      const begin = Effect.promise(async () => {
        const iterator = client.watch({ service: "100000" })[Symbol.asyncIterator]()
        await iterator.next()
        return iterator
      })
      const kept = yield* begin
      for (const each of [a, b]) each.state.isWell = each === b
      yield* Mesh.answeredBy(client, b.port)
      expect((yield* Effect.promise(() => kept.next())).done).toBe(false)
      yield* set(true)
      yield* Mesh.answeredBy(client, b.port)
      // One is on a connection that takes no new calls, the other on the next one.
      const draining = yield* begin
      b.goAway()
      yield* Mesh.answeredBy(client, b.port)
      const current = yield* begin
      b.state.isWell = false
      for (const cut of [draining, current]) {
        const ended = Mesh.failure(async () => {
          while ((await cut.next()).done !== true) expect(true).toBe(true)
        })
        const error = yield* Effect.timeout(ended, "20 seconds")
        expect(error.code).toBe(Code.Unavailable)
        expect(error.rawMessage).toContain("the health check failed")
      }
      yield* Effect.promise(() => Promise.resolve(kept.return?.(undefined)))
    }).pipe(Effect.provide(envoy))
  )

  it.scopedLive("an answer may say that its server is to get no more calls", () =>
    Effect.gen(function* () {
      const [a, b] = yield* Effect.all([
        checked(),
        checked({
          onCheck: (service) => {
            const metadata = { "x-envoy-immediate-health-check-fail": "true" }
            if (service === "fail") throw new ConnectError("go away", Code.Internal, metadata)
          }
        })
      ])
      const plane = yield* Mesh.ControlPlane
      const [check] = healthChecks
      const slow = { ...check, interval: { seconds: 60n }, noTrafficInterval: { seconds: 60n } }
      yield* plane.set({
        ...Mesh.service("shop", a.port, b.port),
        clusters: [Mesh.cluster("shop", { healthChecks: [slow] })]
      })
      const client = yield* Mesh.checker()
      yield* Mesh.answeredBy(client, a.port, b.port)
      yield* Effect.promise(() => Promise.allSettled([1, 2].map(() => client.check({ service: "fail" }))))
      yield* Mesh.answeredBy(client, a.port)
    }).pipe(Effect.provide(envoy))
  )

  it.scopedLive("outliers are ejected as in Envoy: who fails in a row gets no calls", () =>
    Effect.gen(function* () {
      const [a, b] = yield* Effect.all([
        Mesh.backend(),
        Mesh.backend({
          onCheck: () => {
            throw new ConnectError("out of order", Code.Internal)
          }
        })
      ])
      const plane = yield* Mesh.ControlPlane
      yield* plane.set({
        ...Mesh.service("shop", a.port, b.port),
        clusters: [Mesh.cluster("shop", { outlierDetection: { consecutive5xx: 3, maxEjectionPercent: 60 } })]
      })
      const client = yield* Mesh.checker()
      yield* Waiting.eventually(() => client.check({}))
      yield* Waiting.eventually(() => expect(b.connections()).toBe(1))
      yield* Effect.promise(() => Promise.allSettled(Array.from({ length: 12 }, () => client.check({}))))
      yield* Mesh.answeredBy(client, a.port)
      expect(b.seen.length).toBeLessThan(10)
    }).pipe(Effect.provide(envoy))
  )

  it.scopedLive("clusters of other types than EDS are called: STATIC, STRICT_DNS", () =>
    Effect.gen(function* () {
      const [a, b] = yield* Effect.all([Mesh.backend(), Mesh.backend()])
      const plane = yield* Mesh.ControlPlane
      yield* plane.set(listed(DiscoveryType.STATIC, socket(a.port)))
      const client = yield* Mesh.checker()
      yield* Mesh.answeredBy(client, a.port)
      yield* plane.set(listed(DiscoveryType.STRICT_DNS, socket(b.port)))
      yield* Mesh.answeredBy(client, b.port)
    }).pipe(Effect.provide(envoy))
  )

  it.scopedLive("an endpoint may be a pipe, also one that nobody listens at", () =>
    Effect.gen(function* () {
      const home = yield* Effect.acquireRelease(
        Effect.sync(() => mkdtempSync(join(tmpdir(), "connect-xds-"))),
        (directory) => Effect.sync(() => rmSync(directory, { recursive: true }))
      )
      const path = join(home, "pipe")
      const [a, b] = yield* Effect.all([Mesh.backend(), Mesh.backend({ path })])
      const plane = yield* Mesh.ControlPlane
      const pipe = (to: string): AddressInit => ({ address: { case: "pipe", value: { path: to } } })
      yield* plane.set(listed(DiscoveryType.STATIC, pipe(path), socket(a.port), pipe(join(home, "none"))))
      const client = yield* Mesh.checker()
      yield* Mesh.answeredBy(client, a.port, b.port)
      yield* b.kill
      yield* Mesh.answeredBy(client, a.port)
    }).pipe(Effect.provide(envoy))
  )
})
