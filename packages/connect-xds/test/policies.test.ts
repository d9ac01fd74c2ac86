/** That what routes and policies decide is done: retries, priorities, rings, limits, drops, outliers, authority. */
import { Code, ConnectError } from "@connectrpc/connect"
import { Cluster_LbPolicy as LbPolicy } from "@effect-xds/proto/envoy/config/cluster/v3/cluster"
import { HealthStatus } from "@effect-xds/proto/envoy/config/core/v3/health_check"
import { FreePort, GrpcListener, Waiting } from "@effect-xds/testing"
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { RouteInit } from "./Mesh.js"
import * as Mesh from "./Mesh.js"

const { checker, failure, portOf } = Mesh

const any: RouteInit["match"] = { pathSpecifier: { case: "prefix", value: "" } }

describe("what routes and policies decide", () => {
  it.scopedLive("A44: what may be tried again is, elsewhere, as often as the route says; pushback stops it", () =>
    Effect.gen(function* () {
      const fails = (service: string, headers: Headers): void => {
        if (service === "") return
        const trailers = service === "stop" ? { "grpc-retry-pushback-ms": "-1" } : {}
        if (Number(headers.get("grpc-previous-rpc-attempts") ?? 0) < 2 || service === "always" || service === "stop") {
          throw new ConnectError("not now", service === "other" ? Code.NotFound : Code.Unavailable, trailers)
        }
      }
      const onCheck = (service: string, _: AbortSignal, headers: Headers) => fails(service, headers)
      const servers = yield* Effect.all([Mesh.backend({ onCheck }), Mesh.backend({ onCheck })])
      const plane = yield* Mesh.ControlPlane
      yield* plane.set({
        ...Mesh.service("shop", ...servers.map(({ port }) => port)),
        routes: [
          Mesh.routes("shop", ["shop"], {
            match: any,
            action: {
              case: "route",
              value: {
                clusterSpecifier: { case: "cluster", value: "shop" },
                retryPolicy: {
                  retryOn: "unavailable",
                  numRetries: 3,
                  retryBackOff: { baseInterval: { nanos: 1_000_000 } }
                }
              }
            }
          })
        ]
      })
      const client = yield* checker()
      yield* Mesh.answeredBy(client, ...servers.map(({ port }) => port))
      const calls = (service: string) =>
        servers.reduce((sum, { seen }) => sum + seen.filter((each) => each.service === service).length, 0)
      yield* portOf(client, "twice")
      expect(calls("twice")).toBe(3)
      expect(servers.map(({ seen }) => seen.some(({ service }) => service === "twice"))).toEqual([true, true])
      expect((yield* failure(() => client.check({ service: "always" }))).code).toBe(Code.Unavailable)
      expect(calls("always")).toBe(4)
      expect((yield* failure(() => client.check({ service: "other" }))).code).toBe(Code.NotFound)
      expect(calls("other")).toBe(1)
      expect((yield* failure(() => client.check({ service: "stop" }))).code).toBe(Code.Unavailable)
      expect(calls("stop")).toBe(1)
      // A stream whose headers came is the server's.
      const first = yield* failure(() => client.watch({ service: "3" })[Symbol.asyncIterator]().next())
      expect(first.code).toBe(Code.Unavailable)
      expect(calls("3")).toBe(1)
    }).pipe(Effect.provide(Mesh.mesh))
  )

  it.scopedLive("★ an attempt does not go to the locality of the one before by the same random number", () =>
    Effect.gen(function* () {
      const busy = yield* Mesh.backend({
        onCheck: (service) => {
          if (service !== "") throw new ConnectError("not now", Code.Unavailable)
        }
      })
      const well = yield* Mesh.backend()
      const plane = yield* Mesh.ControlPlane
      yield* plane.set({
        ...Mesh.service("shop"),
        routes: [Mesh.routes("shop", ["shop"], Mesh.retried("shop"))],
        endpoints: [Mesh.localities("shop", { ports: [busy.port], zone: "a" }, { ports: [well.port], zone: "b" })]
      })
      const client = yield* checker()
      yield* Waiting.until("answers of both", Mesh.counts(client, 8), ({ size }) => size === 2)
      const names = Array.from({ length: 40 }, (_, call) => `${call}`)
      yield* Effect.forEach(names, (name) => Effect.exit(portOf(client, name)), { concurrency: 4 })
      const [failed, answered] = [busy, well].map(({ seen }) => new Set(seen.map(({ service }) => service)))
      // 17 of them are expected.
      expect(names.filter((name) => failed?.has(name) === true && answered?.has(name) === true)).not.toEqual([])
    }).pipe(Effect.provide(Mesh.mesh))
  )

  it.scopedLive(
    "a server that is killed fails no call where the route says that it is tried again; it comes back",
    () =>
      Effect.gen(function* () {
        const [a, b] = yield* Effect.all([Mesh.backend(), Mesh.backend({ port: yield* FreePort.any() })])
        const plane = yield* Mesh.ControlPlane
        yield* plane.set({
          ...Mesh.service("shop", a.port, b.port),
          routes: [Mesh.routes("shop", ["shop"], Mesh.retried("shop"))]
        })
        const client = yield* checker()
        yield* Mesh.answeredBy(client, a.port, b.port)
        const calls = Array.from({ length: 40 }, () => portOf(client))
        yield* Effect.all([Effect.all(calls, { concurrency: 8 }), b.kill], { concurrency: 2 })
        yield* Mesh.answeredBy(client, a.port)
        const again = yield* Mesh.backend({ port: b.port })
        yield* Mesh.answeredBy(client, a.port, again.port)
      }).pipe(Effect.provide(Mesh.mesh))
  )

  it.scopedLive("A56: the second priority takes over where nobody of the first can be reached", () =>
    Effect.gen(function* () {
      const [first, second] = yield* Effect.all([Mesh.backend(), Mesh.backend()])
      const plane = yield* Mesh.ControlPlane
      yield* plane.set({
        ...Mesh.service("shop"),
        endpoints: [Mesh.localities("shop", { ports: [first.port] }, { ports: [second.port], priority: 1 })]
      })
      const client = yield* checker("xds:///shop")
      yield* Mesh.answeredBy(client, first.port)
      expect(second.connections()).toBe(0)
      yield* first.kill
      yield* Waiting.eventually(Effect.tryPromise(() => client.check({})))
      yield* Mesh.answeredBy(client, second.port)
    }).pipe(Effect.provide(Mesh.mesh))
  )

  it.scopedLive("who finds no endpoint is told the cluster and its localities", () =>
    Effect.gen(function* () {
      const plane = yield* Mesh.ControlPlane
      yield* plane.set({ ...Mesh.service("shop"), endpoints: [Mesh.localities("shop")] })
      const client = yield* checker()
      const says = (words: string, ...of: ReadonlyArray<Mesh.LocalityInit>) =>
        plane.set({ ...Mesh.service("shop"), endpoints: [Mesh.localities("shop", ...of)] }).pipe(
          Effect.zipRight(
            Waiting.until(
              words,
              failure(() => client.check({})),
              ({ rawMessage }) => rawMessage === words
            )
          )
        )
      const empty = 'cluster "shop" has no endpoints'
      yield* says(empty)
      yield* says(`${empty} that can be used in priority 0 (locality "zone-0")`, { ports: [] })
      const health = HealthStatus.UNHEALTHY
      yield* says(
        `${empty} that can be used in priority 0 (locality "a", "b")`,
        { ports: [1], health, zone: "a" },
        { ports: [], zone: "b" }
      )
      yield* says(
        `${empty} that can be used in priority 1 (locality "zone-1"); those of other priorities cannot be connected to`,
        { ports: [1] },
        { ports: [], priority: 1 }
      )
    }).pipe(Effect.provide(Mesh.mesh))
  )

  it.scopedLive("localities by weight, ring by header, and back", () =>
    Effect.gen(function* () {
      const [a, b] = yield* Effect.all([Mesh.backend(), Mesh.backend()])
      const plane = yield* Mesh.ControlPlane
      const weighed = Mesh.localities(
        "shop",
        { ports: [a.port], zone: "a", weight: 9 },
        { ports: [b.port], zone: "b", weight: 1 }
      )
      yield* plane.set({ ...Mesh.service("shop"), endpoints: [weighed] })
      const client = yield* checker()
      yield* Effect.promise(() => client.check({}))
      yield* Waiting.eventually(() => expect(b.connections()).toBe(1))
      const found = yield* Mesh.counts(client, 150)
      // 135 expected, σ = 3.7.
      expect(Math.abs((found.get(a.port) ?? 0) - 135)).toBeLessThan(20)
      const hashed: RouteInit = {
        match: any,
        action: {
          case: "route",
          value: {
            clusterSpecifier: { case: "cluster", value: "shop" },
            hashPolicy: [{ policySpecifier: { case: "header", value: { headerName: "user" } } }]
          }
        }
      }
      yield* plane.set({
        ...Mesh.service("shop", a.port, b.port),
        routes: [Mesh.routes("shop", ["shop"], hashed)],
        clusters: [Mesh.cluster("shop", { lbPolicy: LbPolicy.RING_HASH })]
      })
      // So many that it is no chance that all get one port: by their hashes, or by weight before the change is there.
      const users = Array.from({ length: 32 }, (_, at) => String(at))
      const userPorts = Effect.forEach(users, (user) =>
        Effect.map(Mesh.counts(client, 4, { headers: { user } }), (each) => Array.from(each.keys()))
      )
      const ports = yield* Waiting.until("one port for each user", userPorts, (each) =>
        each.every((of) => of.length === 1)
      )
      expect(new Set(ports.flat())).toEqual(new Set([a.port, b.port]))
    }).pipe(Effect.provide(Mesh.mesh))
  )

  it.scopedLive("A32: no more calls in flight than the cluster takes; drops; A81: the endpoint's host name", () =>
    Effect.gen(function* () {
      let release = (): void => undefined
      const held = new Promise<void>((resolve) => (release = resolve))
      const server = yield* Mesh.backend({ onCheck: (service) => (service === "hold" ? held : undefined) })
      const plane = yield* Mesh.ControlPlane
      const rewriting: RouteInit = {
        match: any,
        action: {
          case: "route",
          value: {
            clusterSpecifier: { case: "cluster", value: "limited" },
            hostRewriteSpecifier: { case: "autoHostRewrite", value: { value: true } }
          }
        }
      }
      const assignment = Mesh.localities("limited", { ports: [server.port], hostname: "a.shop.test" })
      yield* plane.set({
        listeners: [GrpcListener.make("shop")],
        routes: [Mesh.routes("shop", ["shop"], rewriting)],
        clusters: [Mesh.cluster("limited", { circuitBreakers: { thresholds: [{ maxRequests: 3 }] } })],
        endpoints: [assignment]
      })
      const client = yield* checker()
      yield* Effect.promise(() => client.check({}))
      expect(server.seen[0]?.authority).toBe("a.shop.test")
      const going = Array.from({ length: 3 }, () => client.check({ service: "hold" }))
      yield* Waiting.eventually(() => expect(server.seen).toHaveLength(4))
      const error = yield* failure(() => client.check({}))
      expect(error.code).toBe(Code.Unavailable)
      expect(error.rawMessage).toContain("limited")
      release()
      yield* Effect.promise(() => Promise.all(going))
      yield* Effect.promise(() => client.check({}))
      yield* plane.set({
        listeners: [GrpcListener.make("shop")],
        routes: [Mesh.routes("shop", ["shop"], rewriting)],
        clusters: [Mesh.cluster("limited")],
        endpoints: [{ ...assignment, policy: Mesh.dropping("overload", 100) }]
      })
      yield* Waiting.eventually(
        Effect.map(
          failure(() => client.check({})),
          ({ rawMessage }) => expect(rawMessage).toContain("overload")
        )
      )
    }).pipe(
      Effect.provide(
        Layer.unwrapEffect(
          Effect.map(Mesh.ControlPlane, ({ address }) => Mesh.channelsOf(address, { trusted: true }))
        ).pipe(Layer.provideMerge(Mesh.controlPlane()), Layer.provide(Mesh.quiet))
      )
    )
  )

  it.scopedLive("A50: an endpoint whose calls fail gets none for a while", () =>
    Effect.gen(function* () {
      const bad = yield* Mesh.backend({
        onCheck: () => {
          throw new ConnectError("broken", Code.Internal)
        }
      })
      const good = yield* Effect.all([Mesh.backend(), Mesh.backend()])
      const plane = yield* Mesh.ControlPlane
      yield* plane.set({
        ...Mesh.service("shop", bad.port, ...good.map(({ port }) => port)),
        clusters: [
          Mesh.cluster("shop", {
            outlierDetection: {
              interval: { nanos: 200_000_000 },
              failurePercentageThreshold: 50,
              enforcingFailurePercentage: 100,
              enforcingSuccessRate: 0,
              failurePercentageMinimumHosts: 2,
              failurePercentageRequestVolume: 3,
              maxEjectionPercent: 50
            }
          })
        ]
      })
      const client = yield* checker()
      const call = Effect.promise(() =>
        client.check({}).then(
          () => true,
          () => false
        )
      )
      const many = Effect.all(
        Array.from({ length: 24 }, () => call),
        { concurrency: 4 }
      )
      yield* Waiting.until("no failure any more", many, (ends) => ends.every((end) => end))
      expect(bad.seen.length).toBeGreaterThanOrEqual(3)
    }).pipe(Effect.provide(Mesh.mesh))
  )
})
