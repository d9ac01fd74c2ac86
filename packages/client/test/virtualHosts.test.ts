/** Virtual hosts on demand (VHDS), against a real server over gRPC. */
import { create } from "@bufbuild/protobuf"
import { Bootstrap, WatchableType, XdsClient, XdsClientMetrics, type VirtualHosts } from "@effect-xds/client"
import { type RouteConfiguration, RouteConfigurationSchema } from "@effect-xds/proto/envoy/config/route/v3/route"
import { type VirtualHost, VirtualHostSchema } from "@effect-xds/proto/envoy/config/route/v3/route_components"
import { Snapshot } from "@effect-xds/server"
import { eventually } from "@effect-xds/testing/Waiting"
import { ConnectClient } from "@effect-xds/transport-connect"
import { describe, expect, it } from "@effect/vitest"
import { Context, Effect, Exit, Fiber, Layer, Metric, Option, Scope } from "effect"
import { setup } from "./OnDemandWorld.js"

const ads = { configSourceSpecifier: { case: "ads" as const, value: {} } }
const self = { configSourceSpecifier: { case: "self" as const, value: {} } }
const path = { configSourceSpecifier: { case: "path" as const, value: "/hosts" } }

/** A route configuration with VHDS, and with virtual hosts of its own: name → domain. */
const routes = (source: typeof ads | typeof self | typeof path, hosts: Readonly<Record<string, string>> = {}) =>
  create(RouteConfigurationSchema, {
    name: "main",
    vhds: { configSource: source },
    virtualHosts: Object.entries(hosts).map(([name, domain]) => ({ name, domains: [domain] }))
  })

const virtualHosts = (name: string, ...domains: ReadonlyArray<string>) => ({
  virtualHosts: [Snapshot.virtualHost("main", create(VirtualHostSchema, { name, domains: [...domains] }))]
})

const virtualHost = create(VirtualHostSchema, { name: "given" })

/** What becomes of a request, in a word. */
const outcome = (hosts: VirtualHosts.VirtualHosts<VirtualHost>, host: string, options?: VirtualHosts.FindOptions) =>
  Effect.match(hosts.find(host, options), { onSuccess: ({ name }) => name, onFailure: ({ _tag }) => _tag })

describe("virtual hosts on demand", () => {
  it.scopedLive(
    "vector 51: twenty requests for a host that is made on demand are one question; its other domains are none",
    () =>
      Effect.gen(function* () {
        const { asked, client, subscribed } = yield* setup(
          { routes: [routes(ads, { given: "given.x" })] },
          (host, store) =>
            host.endsWith(".x") ? store.update("edge", { upsert: virtualHosts("wide", "*.x") }) : Effect.void
        )
        const hosts = yield* client.virtualHosts("main")
        const twenty = yield* Effect.all(
          Array.from({ length: 20 }, () => outcome(hosts, "A.x")),
          {
            concurrency: "unbounded"
          }
        )
        expect(new Set(twenty)).toEqual(new Set(["main/wide"]))
        expect(yield* outcome(hosts, "b.x")).toBe("main/wide")
        expect(yield* outcome(hosts, "given.x")).toBe("given")
        expect(asked).toEqual(["main/a.x"])
        expect(yield* subscribed).toBe(1)
        expect(yield* hosts.statistics("ingress")).toEqual({
          "http.ingress.vhds.main.config_reload": 1,
          "http.ingress.vhds.main.empty_update": 0
        })
      })
  )

  it.scopedLive("vector 52: an unknown host is not found at once, later unasked; when it is made it is served", () =>
    Effect.gen(function* () {
      const { asked, client, store } = yield* setup({ routes: [routes(ads)] })
      const hosts = yield* client.virtualHosts("main")
      const reloads = Metric.value(Metric.tagged(XdsClientMetrics.vhdsEmptyUpdate, "route_configuration", "main"))
      const before = (yield* reloads).count
      const error = yield* Effect.flip(hosts.find("a.x"))
      expect(error.message).toBe('RouteConfiguration "main" has no virtual host for "a.x"')
      expect(yield* outcome(hosts, "a.x")).toBe("VirtualHostNotFound")
      expect(asked).toEqual(["main/a.x"])
      expect((yield* reloads).count - before).toBe(1)
      yield* store.update("edge", { upsert: virtualHosts("a", "a.x") })
      yield* eventually(Effect.map(outcome(hosts, "a.x"), (name) => expect(name).toBe("main/a")))
      yield* store.update("edge", { remove: { virtualHosts: ["main/a"] } })
      yield* eventually(Effect.map(outcome(hosts, "a.x"), (name) => expect(name).toBe("VirtualHostNotFound")))
    })
  )

  it.scopedLive(
    "vector 54: silence is unavailable and not a 404, with what was waited for; the next request asks again",
    () =>
      Effect.gen(function* () {
        let isSilent = true
        const { client } = yield* setup({ routes: [routes(ads)] }, (_host, store) =>
          isSilent ? Effect.never : store.update("edge", { upsert: virtualHosts("a", "a.x") })
        )
        const hosts = yield* client.virtualHosts("main", { timeout: "200 millis" })
        const error = yield* Effect.flip(hosts.find("a.x"))
        expect(error.message).toBe(
          'the virtual host for "a.x" cannot be had: VirtualHost "main/a.x" has not come in time'
        )
        isSilent = false
        // The server answers after its own `missingWait`, too.
        yield* eventually(Effect.map(outcome(hosts, "b.x"), (name) => expect(name).toBe("VirtualHostNotFound")))
        yield* eventually(Effect.map(outcome(hosts, "a.x"), (name) => expect(name).toBe("main/a")))
      })
  )

  it.scopedLive("vector 55: another source: all is asked for again; a request that is interrupted waits no more", () =>
    Effect.gen(function* () {
      const { asked, client, store, subscribed } = yield* setup({ routes: [routes(ads)] }, (host, store) =>
        host === "b.x" ? Effect.never : store.update("edge", { upsert: virtualHosts(host, host) })
      )
      const hosts = yield* client.virtualHosts("main")
      expect(yield* outcome(hosts, "a.x")).toBe("main/a.x")
      yield* store.update("edge", { upsert: { routes: [routes(self)] } })
      yield* eventually(Effect.map(subscribed, (names) => expect(names).toBe(0)))
      expect(yield* outcome(hosts, "a.x")).toBe("main/a.x")
      expect(asked).toEqual(["main/a.x"])
      expect(yield* subscribed).toBe(1)
      expect(yield* Effect.timeoutOption(hosts.find("b.x"), "1 millis")).toMatchObject({ _tag: "None" })
    })
  )

  it.scopedLive(
    "vector 57: ★ a virtual host with a domain of the route configuration is NACKed, and RDS serves it",
    () =>
      Effect.gen(function* () {
        const { client, nacks } = yield* setup({ routes: [routes(ads, { given: "rds.x" })] }, (host, store) =>
          store.update("edge", { upsert: virtualHosts(host, host, "rds.x") })
        )
        const hosts = yield* client.virtualHosts("main")
        expect((yield* Effect.flip(hosts.find("a.x"))).message).toBe(
          'the virtual host for "a.x" cannot be had: has "main/rds.x", which belongs to "main"'
        )
        expect(yield* outcome(hosts, "rds.x")).toBe("given")
        yield* eventually(Effect.map(nacks, (words) => expect(words).toContain('has "main/rds.x"')))
      })
  )

  it.scopedLive("the domains stay with the route configuration while anybody says so, of several who do", () =>
    Effect.gen(function* () {
      const { client } = yield* setup({ routes: [routes(ads, { given: "rds.x" })] }, (host, store) =>
        store.update("edge", { upsert: virtualHosts(host, host, "rds.x") })
      )
      const first = yield* Scope.make()
      expect(yield* outcome(yield* Scope.extend(client.virtualHosts("main"), first), "rds.x")).toBe("given")
      const second = yield* client.virtualHosts("main")
      expect(yield* outcome(second, "rds.x")).toBe("given")
      yield* Scope.close(first, Exit.void)
      expect((yield* Effect.flip(second.find("a.x"))).message).toContain('has "main/rds.x", which belongs to "main"')
    })
  )

  it.scopedLive(
    "a client in state of the world, and a source that is no server of the client: unavailable, with the reason",
    () =>
      Effect.gen(function* () {
        const world = yield* setup({ routes: [routes(ads, { given: "g" })] }, undefined, {
          protocol: "StateOfTheWorld"
        })
        const hosts = yield* world.client.virtualHosts("main")
        expect((yield* Effect.flip(hosts.find("a.x"))).message).toContain("VHDS is incremental only")
        expect(yield* outcome(hosts, "g")).toBe("given")
        const file = yield* setup({ routes: [routes(path)] })
        const others = yield* file.client.virtualHosts("main")
        expect((yield* Effect.flip(others.find("a.x"))).message).toContain("vhds.config_source is path; use ads")
      })
  )

  it.scopedLive(
    "when the scope ends nothing is subscribed to; a route configuration that the server removes stays in use (A88)",
    () =>
      Effect.gen(function* () {
        const { client, store, subscribed } = yield* setup({ routes: [routes(ads)] }, (host, store) =>
          store.update("edge", { upsert: virtualHosts(host, host) })
        )
        const scope = yield* Scope.make()
        const hosts = yield* Scope.extend(client.virtualHosts("main"), scope)
        expect(yield* outcome(hosts, "a.x")).toBe("main/a.x")
        expect(yield* subscribed).toBe(1)
        yield* Scope.close(scope, Exit.void)
        yield* eventually(Effect.map(subscribed, (names) => expect(names).toBe(0)))
        expect((yield* client.dump).genericXdsConfigs).toEqual([])
        const again = yield* client.virtualHosts("main")
        expect(yield* outcome(again, "a.x")).toBe("main/a.x")
        yield* store.update("edge", { remove: { routes: ["main"] } })
        expect(yield* outcome(again, "b.x")).toBe("main/b.x")
      })
  )

  it.scopedLive("when the scope ends requests that wait are unavailable, and later ones at once", () =>
    Effect.gen(function* () {
      const { asked, client } = yield* setup({ routes: [routes(ads)] }, () => Effect.never)
      const scope = yield* Scope.make()
      const hosts = yield* Scope.extend(client.virtualHosts("main", { timeout: "1 hour" }), scope)
      const waiting = yield* Effect.fork(Effect.flip(hosts.find("a.x")))
      yield* eventually(() => expect(asked).toEqual(["main/a.x"]))
      yield* Scope.close(scope, Exit.void)
      const late = yield* Effect.fork(Effect.flip(hosts.find("a.x")))
      const message = 'the virtual host for "a.x" cannot be had: the scope of the virtual hosts has closed'
      for (const fiber of [waiting, late]) {
        yield* eventually(Effect.map(Fiber.poll(fiber), (exit) => expect(Option.isSome(exit)).toBe(true)))
        expect((yield* Fiber.join(fiber)).message).toBe(message)
      }
    })
  )

  it.scopedLive(
    "when the scope of the client ends they are unavailable, too, although that of the virtual hosts goes on",
    () =>
      Effect.gen(function* () {
        const life = yield* Scope.make()
        const { asked, client } = yield* Scope.extend(
          setup({ routes: [routes(ads)] }, () => Effect.never),
          life
        )
        const hosts = yield* client.virtualHosts("main", { timeout: "1 hour" })
        const waiting = yield* Effect.fork(Effect.flip(hosts.find("a.x")))
        yield* eventually(() => expect(asked).toEqual(["main/a.x"]))
        yield* Scope.close(life, Exit.void)
        const late = yield* Effect.fork(Effect.flip(hosts.find("a.x")))
        const others = yield* client.virtualHosts("others", { timeout: "1 hour" })
        const last = yield* Effect.fork(Effect.flip(others.find("a.x")))
        const message = 'the virtual host for "a.x" cannot be had: the scope of the client has closed'
        for (const fiber of [waiting, late, last]) {
          yield* eventually(Effect.map(Fiber.poll(fiber), (exit) => expect(Option.isSome(exit)).toBe(true)))
          expect((yield* Fiber.join(fiber)).message).toBe(message)
        }
      })
  )

  it.scopedLive("decoders of one's own; one that throws is a host that is unavailable", () =>
    Effect.gen(function* () {
      const { client } = yield* setup({ routes: [routes(ads)] }, (host, store) =>
        store.update("edge", { upsert: virtualHosts(host, host) })
      )
      const types: VirtualHosts.Types<RouteConfiguration, VirtualHost> = {
        routeConfiguration: WatchableType.fromSchema(RouteConfigurationSchema, { rules: false }),
        routesOf: ({ vhds }) => ({ vhds: vhds?.configSource, virtualHosts: [] }),
        virtualHost: WatchableType.fromSchema(VirtualHostSchema, { rules: false }),
        domainsOf: ({ domains }) => {
          if (domains.includes("bad.x")) throw new Error("not mine")
          return domains
        }
      }
      const hosts = yield* client.virtualHosts("main", { types })
      expect(yield* outcome(hosts, "a.x")).toBe("main/a.x")
      expect((yield* Effect.flip(hosts.find("bad.x"))).message).toContain("the reader of domains failed: not mine")
      expect(yield* outcome(hosts, "b.x")).toBe("main/b.x")
      expect((yield* Effect.flip(client.virtualHosts("main")))._tag).toBe("DecoderConflict")
    })
  )

  it.scopedLive("readers that lie, and a request without a host, end nobody else's requests", () =>
    Effect.gen(function* () {
      const { client, store } = yield* setup({ routes: [routes(ads)] }, (host, store) =>
        store.update("edge", { upsert: virtualHosts(host, host) })
      )
      /** What a program in JavaScript may give. */
      const isText = (value: unknown): value is string => value !== Infinity
      const isTexts = (value: unknown): value is ReadonlyArray<string> => value !== Infinity
      const nothing: unknown = undefined
      const numbers: unknown = [1]
      let isLying = false
      const hosts = yield* client.virtualHosts("main", {
        types: {
          routeConfiguration: WatchableType.fromSchema(RouteConfigurationSchema, { rules: false }),
          routesOf: ({ vhds }) => {
            const given = isLying && isTexts(nothing) ? [{ name: "given", domains: nothing, value: virtualHost }] : []
            return { vhds: vhds?.configSource, virtualHosts: given }
          },
          virtualHost: WatchableType.fromSchema(VirtualHostSchema, { rules: false }),
          domainsOf: ({ domains }) => (domains.includes("bad.x") && isTexts(numbers) ? numbers : domains)
        }
      })
      expect(yield* outcome(hosts, "a.x")).toBe("main/a.x")
      expect((yield* Effect.flip(hosts.find("bad.x"))).message).toContain(
        "the reader of domains failed: it gives something that is no list of texts"
      )
      if (isText(nothing)) expect(yield* outcome(hosts, nothing)).toBe("VirtualHostNotFound")
      expect(yield* outcome(hosts, "b.x")).toBe("main/b.x")
      expect(yield* outcome(hosts, "a.x")).toBe("main/a.x")
      isLying = true
      yield* store.update("edge", { upsert: { routes: [routes(ads, { any: "any.x" })] } })
      yield* eventually(
        Effect.map(Effect.flip(hosts.find("a.x")), ({ message }) =>
          expect(message).toContain("the reader of route configurations failed: it gives something that is no list")
        )
      )
    })
  )

  it.scopedLive("a route configuration that is rejected is told at once, and why", () =>
    Effect.gen(function* () {
      const { client } = yield* setup({
        routes: [create(RouteConfigurationSchema, { name: "main", virtualHosts: [{ name: "x", domains: [] }] })]
      })
      const hosts = yield* client.virtualHosts("main", { timeout: "1 hour" })
      expect((yield* Effect.flip(hosts.find("a.x"))).message).toContain("virtual_hosts[0].domains")
    })
  )

  it.scopedLive("a server that cannot be reached is why a route configuration has not come", () =>
    Effect.gen(function* () {
      const bootstrap = Bootstrap.make({ servers: ["127.0.0.1:1"], node: { id: "c1", cluster: "edge" } })
      const context = yield* Layer.build(
        XdsClient.layer({ bootstrap, protocol: "Incremental" }).pipe(Layer.provide(ConnectClient.layer()))
      )
      const hosts = yield* Context.get(context, XdsClient.XdsClient).virtualHosts("main", { timeout: "500 millis" })
      expect((yield* Effect.flip(hosts.find("a.x"))).message).toMatch(
        /RouteConfiguration "main" has not come in time: .*ECONNREFUSED/
      )
    })
  )
})
