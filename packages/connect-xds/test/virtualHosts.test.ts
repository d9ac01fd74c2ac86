/** Virtual hosts on demand (VHDS), from the resolver of our server to calls: the first use of a host asks for it. */
import { create } from "@bufbuild/protobuf"
import { XdsChannels } from "@effect-xds/connect-xds"
import * as XdsHttpClient from "@effect-xds/connect-xds/XdsHttpClient"
import { RouteConfigurationSchema } from "@effect-xds/proto/envoy/config/route/v3/route"
import type { VirtualHost } from "@effect-xds/proto/envoy/config/route/v3/route_components"
import { VirtualHostSchema } from "@effect-xds/proto/envoy/config/route/v3/route_components"
import type { OnDemandHosts } from "@effect-xds/server"
import { Snapshot, SnapshotStore, XdsServer } from "@effect-xds/server"
import { GrpcListener, Waiting } from "@effect-xds/testing"
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import * as Mesh from "./Mesh.js"

const ads = { configSourceSpecifier: { case: "ads" as const, value: {} } }
const self = { configSourceSpecifier: { case: "self" as const, value: {} } }

/** Routes that fetch their virtual hosts. */
const routesFrom = (configSource: typeof ads | typeof self) =>
  create(RouteConfigurationSchema, {
    name: "shop:80",
    vhds: { configSource },
    virtualHosts: [{ name: "own", domains: ["own.example"], routes: [Mesh.to("shop")] }]
  })
const fetching = routesFrom(ads)

const host = (name: string, ...domains: ReadonlyArray<string>) =>
  create(VirtualHostSchema, { name, domains: [name, ...domains], routes: [Mesh.to("shop")] })

const shop = (port: number, routes = fetching) => ({
  ...Mesh.service("shop", port),
  listeners: [GrpcListener.make("shop", { routes: "shop:80" })],
  routes: [routes]
})

/** A control plane whose hosts are made by `resolve`, with who asked for what. */
const world = (resolve: (host: string) => Effect.Effect<VirtualHost | undefined, unknown>) => {
  const asked: Array<readonly [client: OnDemandHosts.Client, routes: string, host: string]> = []
  const plane = Mesh.controlPlane(0, (client, routes, name) => {
    asked.push([client, routes, name])
    return resolve(name)
  })
  const channels = Layer.unwrapEffect(Effect.map(Mesh.ControlPlane, ({ address }) => Mesh.channelsOf(address)))
  return { asked, layer: channels.pipe(Layer.provideMerge(plane), Layer.provide(Mesh.quiet)) }
}

const client = XdsHttpClient.make({ target: "xds:///shop", anyHost: true, timeoutMs: 10_000 })

describe("virtual hosts on demand", () => {
  it.scopedLive(
    "the first request for a host asks for it, and is held with all that join it; an unknown host fails at once",
    () => {
      const latch = Effect.unsafeMakeLatch(false)
      const { asked, layer } = world((name) =>
        name.startsWith("a.") ? Effect.as(latch.await, host(name)) : Effect.succeed(undefined)
      )
      return Effect.gen(function* () {
        const server = yield* Mesh.backend({ http1: true })
        const plane = yield* Mesh.ControlPlane
        yield* plane.set(shop(server.port))
        const http = yield* client
        const get = (url: string) => Effect.map(http.get(url), ({ status }) => status)
        // One of the routes' own is not asked for.
        expect(yield* get("http://own.example/none")).toBe(404)
        expect(asked).toEqual([])
        const held = yield* Effect.fork(
          Effect.all(
            Array.from({ length: 20 }, () => get("http://A.example/none")),
            { concurrency: 20 }
          )
        )
        yield* Waiting.eventually(() => expect(asked).toHaveLength(1))
        const node = { id: "app-1", cluster: "edge" }
        expect(asked).toMatchObject([[{ group: "edge", node }, "shop:80", "a.example"]])
        expect(held.unsafePoll()).toBe(null)
        yield* latch.open
        expect(yield* held).toEqual(Array.from({ length: 20 }, () => 404))
        const unknown = yield* Effect.flip(get("http://b.example/none"))
        expect(String(unknown.cause)).toContain('VirtualHost "shop:80/b.example"')
        yield* Effect.flip(get("http://b.example/none"))
        expect(asked.map(([, , name]) => name)).toEqual(["a.example", "b.example"])
        const { hostStatistics } = yield* XdsChannels.XdsChannels
        expect(yield* hostStatistics("in:gress")).toEqual({
          "http.in_gress.vhds.shop_80.config_reload": 1,
          "http.in_gress.vhds.shop_80.empty_update": 1
        })
      }).pipe(Effect.provide(layer))
    }
  )

  it.scopedLive("a host that is answered by an alias is served; other hosts of its domains are not asked for", () => {
    const { asked, layer } = world(() => Effect.succeed(host("wide", "*.example")))
    return Effect.gen(function* () {
      const server = yield* Mesh.backend({ http1: true })
      const plane = yield* Mesh.ControlPlane
      yield* plane.set(shop(server.port))
      const http = yield* client
      for (const name of ["a", "b", "c"]) expect((yield* http.get(`http://${name}.example/none`)).status).toBe(404)
      expect(asked.map(([, , name]) => name)).toEqual(["a.example"])
    }).pipe(Effect.provide(layer))
  })

  it.scopedLive(
    "a host that is removed fails, and is served when it is made again; so do all when the routes fetch none any more",
    () => {
      const { layer } = world((name) => Effect.succeed(name === "a.example" ? host(name) : undefined))
      return Effect.gen(function* () {
        const server = yield* Mesh.backend({ http1: true })
        const plane = yield* Mesh.ControlPlane
        yield* plane.set(shop(server.port))
        const xds = yield* XdsServer.XdsServer
        const named: Array<string> = []
        yield* Effect.forkScoped(
          Stream.runForEach(xds.events, (event) =>
            Effect.sync(() => {
              if (event._tag === "Named" && event.typeUrl.endsWith("VirtualHost")) named.push(...event.subscribed)
            })
          )
        )
        const http = yield* client
        const get = Effect.map(http.get("http://a.example/none"), ({ status }) => status)
        yield* Effect.flip(http.get("http://made.example/none"))
        const store = yield* SnapshotStore.SnapshotStore
        expect(yield* get).toBe(404)
        yield* store.update("edge", {
          upsert: { virtualHosts: [Snapshot.virtualHost("shop:80", host("made.example"))] }
        })
        yield* Waiting.eventually(
          Effect.map(http.get("http://made.example/none"), ({ status }) => expect(status).toBe(404))
        )
        yield* store.update("edge", { remove: { virtualHosts: ["shop:80/made.example"] } })
        yield* Waiting.eventually(Effect.flip(http.get("http://made.example/none")))
        expect(named).toEqual(["shop:80/made.example", "shop:80/a.example"])
        // The same source: what was fetched stays.
        yield* store.update("edge", { upsert: { routes: [{ ...fetching, internalOnlyHeaders: ["x"] }] } })
        expect(yield* get).toBe(404)
        // None: only the routes' own are left.
        yield* store.update("edge", { upsert: { routes: [{ ...fetching, vhds: undefined }] } })
        yield* Waiting.eventually(Effect.flip(http.get("http://a.example/none")))
        expect(named).toHaveLength(2)
      }).pipe(Effect.provide(layer))
    }
  )

  it.scopedLive(
    "★ a domain of the route configuration is its own: a host with one is NACKed, and its calls fail with the reason",
    () => {
      const { layer } = world((name) => Effect.succeed(host(name, "Own.example")))
      return Effect.gen(function* () {
        const server = yield* Mesh.backend({ http1: true })
        const plane = yield* Mesh.ControlPlane
        yield* plane.set(shop(server.port))
        const http = yield* client
        const words = 'has "shop:80/own.example", which belongs to "shop:80"'
        expect(String((yield* Effect.flip(http.get("http://a.example/none"))).cause)).toContain(words)
        const xds = yield* XdsServer.XdsServer
        const nacks = Effect.map(xds.status, (streams) =>
          streams.flatMap(({ types }) => types.map(({ nacked }) => nacked?.error.message ?? "")).join("\n")
        )
        yield* Waiting.eventually(Effect.map(nacks, (text) => expect(text).toContain(words)))
      }).pipe(Effect.provide(layer))
    }
  )

  it.scopedLive("★ another source: hosts are asked for again, and calls go on meanwhile", () => {
    const { layer } = world((name) => Effect.succeed(host(name)))
    return Effect.gen(function* () {
      const server = yield* Mesh.backend({ http1: true })
      const plane = yield* Mesh.ControlPlane
      yield* plane.set(shop(server.port))
      const xds = yield* XdsServer.XdsServer
      let sent = 0
      yield* Effect.forkScoped(
        Stream.runForEach(xds.events, (event) =>
          Effect.sync(() => {
            if (event._tag === "Sent" && event.typeUrl.endsWith("VirtualHost")) sent++
          })
        )
      )
      const http = yield* client
      const get = Effect.map(http.get("http://a.example/none"), ({ status }) => status)
      expect(yield* get).toBe(404)
      const store = yield* SnapshotStore.SnapshotStore
      yield* store.update("edge", { upsert: { routes: [routesFrom(self)] } })
      yield* Waiting.eventually(
        Effect.map(get, (status) => {
          expect(status).toBe(404)
          expect(sent).toBe(2)
        })
      )
      expect(yield* get).toBe(404)
    }).pipe(Effect.provide(layer))
  })

  it.scopedLive("hosts are bounded: one without requests makes room after its time, before that others fail", () => {
    const { layer } = world((name) => Effect.succeed(host(name)))
    return Effect.gen(function* () {
      const server = yield* Mesh.backend({ http1: true })
      const plane = yield* Mesh.ControlPlane
      yield* plane.set(shop(server.port))
      const http = yield* XdsHttpClient.make({
        target: "xds:///shop",
        anyHost: true,
        maxHosts: 1,
        hostIdleTime: "200 millis",
        timeoutMs: 10_000
      })
      expect((yield* http.get("http://a.example/none")).status).toBe(404)
      const refused = yield* Effect.flip(http.get("http://b.example/none"))
      expect(String(refused.cause)).toContain("there are 1 hosts with requests, the most that are allowed")
      yield* Waiting.eventually(http.get("http://b.example/none"))
      yield* Waiting.eventually(() => expect(server.connections()).toBe(1))
    }).pipe(Effect.provide(layer))
  })

  it.scopedLive("★ a request that is interrupted while its host opens makes room for others", () => {
    const { layer } = world((name) => Effect.succeed(host(name)))
    return Effect.gen(function* () {
      const server = yield* Mesh.backend({ http1: true })
      const plane = yield* Mesh.ControlPlane
      yield* plane.set(shop(server.port))
      const options = { target: "xds:///shop", anyHost: true, maxHosts: 1, hostIdleTime: 0, timeoutMs: 10_000 }
      // Where in its way it is then, nobody says: after each of its first steps.
      for (let steps = 0; steps < 8; steps++) {
        const http = yield* XdsHttpClient.make(options)
        const request = yield* Effect.fork(http.get("http://a.example/none"))
        for (let step = 0; step < steps; step++) yield* Effect.yieldNow()
        yield* Fiber.interrupt(request)
        yield* Waiting.eventually(http.get("http://b.example/none"))
      }
    }).pipe(Effect.provide(layer))
  })
})
