/** Scoped routes (SRDS) with virtual hosts on demand, against a real server over gRPC. */
import { create, type MessageInitShape } from "@bufbuild/protobuf"
import { type ScopedRoutes, WatchableType, type XdsClient } from "@effect-xds/client"
import { RouteConfigurationSchema } from "@effect-xds/proto/envoy/config/route/v3/route"
import { type VirtualHost, VirtualHostSchema } from "@effect-xds/proto/envoy/config/route/v3/route_components"
import { ScopedRouteConfigurationSchema } from "@effect-xds/proto/envoy/config/route/v3/scoped_route"
import type { ScopedRoutesSchema } from "@effect-xds/proto/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager"
import { Snapshot } from "@effect-xds/server"
import { eventually } from "@effect-xds/testing/Waiting"
import { describe, expect, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Option, Scope, Stream } from "effect"
import { setup } from "./OnDemandWorld.js"

const path = { configSourceSpecifier: { case: "path" as const, value: "/routes" } }
const ads = { configSourceSpecifier: { case: "ads" as const, value: {} } }

/** The key is the header `x-tenant`. */
const builder = (
  extractType: { case: "index"; value: number } | { case: undefined } = { case: "index", value: 0 }
) => ({
  fragments: [
    { type: { case: "headerValueExtractor" as const, value: { name: "X-Tenant", elementSeparator: "", extractType } } }
  ]
})

const fetched: MessageInitShape<typeof ScopedRoutesSchema> = {
  name: "tenants",
  scopeKeyBuilder: builder(),
  rdsConfigSource: ads,
  configSpecifier: { case: "scopedRds", value: { scopedRdsConfigSource: ads } }
}

const scope = (name: string, tenant: string, routeConfigurationName: string, onDemand = false) =>
  create(ScopedRouteConfigurationSchema, {
    name,
    routeConfigurationName,
    onDemand,
    key: { fragments: [{ type: { case: "stringKey", value: tenant } }] }
  })

/** A route configuration with one virtual host, named like it; with VHDS if there is no domain. */
const routes = (name: string, domain?: string) =>
  create(RouteConfigurationSchema, {
    name,
    ...(domain === undefined ? { vhds: { configSource: ads } } : { virtualHosts: [{ name, domains: [domain] }] })
  })

/** A scope that stands in the listener, with its routes. */
const inline = (name: string, tenant: string, routeConfiguration: string, domain?: string) =>
  create(ScopedRouteConfigurationSchema, {
    ...scope(name, tenant, ""),
    routeConfiguration: routes(routeConfiguration, domain)
  })

const made = (routes: string, host: string) => ({
  virtualHosts: [Snapshot.virtualHost(routes, create(VirtualHostSchema, { name: host, domains: [host] }))]
})

/** What becomes of a request of a tenant, in a word. */
const outcome = ({ find }: ScopedRoutes.ScopedRoutes<VirtualHost>, tenant: string | undefined, host: string) =>
  Effect.match(find({ headers: { "x-tenant": tenant }, host }), {
    onSuccess: ({ name }) => name,
    onFailure: ({ _tag }) => _tag
  })

describe("scoped routes", () => {
  it.scopedLive(
    "the headers choose the scope; no scope and no key are 404; a scope that moves takes its requests along",
    () =>
      Effect.gen(function* () {
        const { client, store } = yield* setup({
          scopedRoutes: [scope("a", "acme", "one"), scope("b", "umbrella", "two")],
          routes: [routes("one", "*"), routes("two", "b.x")]
        })
        const tenants = yield* client.scopedRoutes(fetched)
        expect(yield* outcome(tenants, "acme", "a.x")).toBe("one")
        expect(yield* outcome(tenants, "umbrella", "b.x")).toBe("two")
        expect(yield* outcome(tenants, "umbrella", "a.x")).toBe("VirtualHostNotFound")
        expect(
          (yield* Effect.flip(tenants.find({ headers: { "x-tenant": ["nobody", "acme"] }, host: "a.x" }))).message
        ).toBe('none of the scopes of "tenants" has the key ["nobody"]')
        expect((yield* Effect.flip(tenants.find({ headers: {}, host: "a.x" }))).message).toBe(
          'the headers make no key for the scopes of "tenants": a header is missing, or has no such element'
        )
        yield* store.update("edge", { upsert: { scopedRoutes: [scope("b", "umbrella", "one")] } })
        yield* eventually(Effect.map(outcome(tenants, "umbrella", "b.x"), (name) => expect(name).toBe("one")))
        yield* store.update("edge", { remove: { scopedRoutes: ["b"] } })
        yield* eventually(Effect.map(outcome(tenants, "umbrella", "b.x"), (name) => expect(name).toBe("ScopeNotFound")))
      })
  )

  it.scopedLive(
    "★ VHDS under SRDS: names have the route configuration, on demand it is asked for by the first request",
    () =>
      Effect.gen(function* () {
        const { asked, client, store, subscribed } = yield* setup(
          {
            scopedRoutes: [scope("a", "acme", "late", true), scope("b", "eu", "late", true)],
            routes: [routes("late")]
          },
          (host, store) => (host === "unknown.x" ? Effect.void : store.update("edge", { upsert: made("late", host) }))
        )
        const tenants = yield* client.scopedRoutes(fetched)
        const held = Effect.map(client.dump, ({ genericXdsConfigs }) =>
          genericXdsConfigs.map(({ name }) => name).filter((name) => name === "late")
        )
        expect(yield* outcome(tenants, "nobody", "a.x")).toBe("ScopeNotFound")
        expect(yield* held).toEqual([])
        const both = yield* Effect.all([outcome(tenants, "acme", "A.x"), outcome(tenants, "eu", "a.x")], {
          concurrency: "unbounded"
        })
        expect(both).toEqual(["late/a.x", "late/a.x"])
        expect(yield* outcome(tenants, "acme", "unknown.x")).toBe("VirtualHostNotFound")
        expect(asked).toEqual(["late/a.x", "late/unknown.x"])
        expect(yield* held).toEqual(["late"])
        expect(yield* tenants.statistics("ingress")).toEqual({
          "http.ingress.vhds.late.config_reload": 1,
          "http.ingress.vhds.late.empty_update": 1
        })
        yield* store.update("edge", { remove: { scopedRoutes: ["a", "b"] } })
        yield* eventually(Effect.map(subscribed, (names) => expect(names).toBe(0)))
        expect(yield* held).toEqual([])
      })
  )

  it.scopedLive("★ a long response is told in several turns: requests wait for all of it, of later users, too", () =>
    Effect.gen(function* () {
      const { client } = yield* setup({
        scopedRoutes: Array.from({ length: 5_000 }, (_, index) => scope(`${index}`, `tenant-${index}`, "one", true)),
        routes: [routes("one", "*")]
      })
      for (let user = 0; user < 2; user++) {
        const tenants = yield* client.scopedRoutes(fetched)
        const outcomes = yield* Effect.forEach(
          [0, 1_000, 2_000, 3_000, 4_000, 4_999],
          (index) => outcome(tenants, `tenant-${index}`, "a.x"),
          { concurrency: "unbounded" }
        )
        expect(outcomes).toEqual(outcomes.map(() => "one"))
      }
    })
  )

  it.scopedLive("watchTogether: what a response brings is one element, and so is that it brings nothing", () =>
    Effect.gen(function* () {
      const listen = (client: XdsClient.Service) =>
        Effect.gen(function* () {
          const told: Array<ReadonlyArray<string>> = []
          const type = WatchableType.fromSchema(ScopedRouteConfigurationSchema)
          yield* Stream.runForEach(client.watchTogether(type), (events) =>
            Effect.sync(() => told.push(events.map(({ _tag, name }) => `${_tag} ${name}`).sort()))
          ).pipe(Effect.forkScoped)
          return told
        })
      const names = Array.from({ length: 2_000 }, (_, index) => `s-${index}`)
      const full = yield* setup({ scopedRoutes: names.map((name) => scope(name, name, "one")) })
      const told = yield* listen(full.client)
      yield* eventually(() => expect(told.map(({ length }) => length)).toEqual([2_000]))
      yield* full.store.update("edge", {
        upsert: { scopedRoutes: [scope("s-1", "s-1", "two"), scope("new", "new", "one")] },
        remove: { scopedRoutes: ["s-0"] }
      })
      yield* eventually(() => expect(told).toHaveLength(2))
      expect(told[1]).toEqual(["DoesNotExist s-0", "Updated new", "Updated s-1"])
      const none = yield* listen((yield* setup({})).client)
      yield* eventually(() => expect(none).toEqual([[]]))
    })
  )

  it.scopedLive("one deadline for the route configuration and the virtual host; no scopes at all are 404 at once", () =>
    Effect.gen(function* () {
      const { client, store } = yield* setup({ routes: [routes("late")] }, () => Effect.never)
      const tenants = yield* client.scopedRoutes(fetched, { timeout: "300 millis" })
      // Another user of the client: the server has answered already.
      expect(yield* outcome(tenants, "acme", "a.x")).toBe("ScopeNotFound")
      expect(yield* outcome(yield* client.scopedRoutes(fetched), "acme", "a.x")).toBe("ScopeNotFound")
      yield* store.update("edge", {
        upsert: { scopedRoutes: [scope("a", "acme", "late", true), scope("b", "eu", "none", true)] }
      })
      yield* eventually(
        Effect.map(outcome(tenants, "acme", "a.x"), (name) => expect(name).toBe("VirtualHostUnavailable"))
      )
      const error = yield* Effect.flip(tenants.find({ headers: { "x-tenant": "acme" }, host: "b.x" }))
      expect(error.message).toBe(
        'the virtual host for "b.x" cannot be had: VirtualHost "late/b.x" has not come in time'
      )
      // The server says that there is no such route configuration.
      expect(yield* outcome(tenants, "eu", "a.x")).toBe("VirtualHostNotFound")
    })
  )

  it.scopedLive("★ a key that moves from one scope to another takes a waiting request along", () =>
    Effect.gen(function* () {
      const { asked, client, store } = yield* setup(
        {
          scopedRoutes: [scope("a", "acme", "late"), scope("b", "eu", "two")],
          routes: [routes("late"), routes("two", "*")]
        },
        () => Effect.never
      )
      const tenants = yield* client.scopedRoutes(fetched)
      const waiting = yield* Effect.fork(outcome(tenants, "acme", "a.x"))
      yield* eventually(() => expect(asked).toEqual(["late/a.x"]))
      yield* store.update("edge", {
        upsert: { scopedRoutes: [scope("a", "eu", "late"), scope("b", "acme", "two")] }
      })
      expect(yield* Fiber.join(waiting)).toBe("two")
    })
  )

  it.scopedLive("★ a second scope with a key is NACKed, and the first is used", () =>
    Effect.gen(function* () {
      const { client, nacks, store } = yield* setup({
        scopedRoutes: [scope("a", "acme", "one")],
        routes: [routes("one", "*"), routes("two", "*")]
      })
      const tenants = yield* client.scopedRoutes(fetched)
      expect(yield* outcome(tenants, "acme", "a.x")).toBe("one")
      yield* store.update("edge", { upsert: { scopedRoutes: [scope("b", "acme", "two")] } })
      yield* eventually(Effect.map(nacks, (words) => expect(words).toContain('which belongs to "a"')))
      expect(yield* outcome(tenants, "acme", "a.x")).toBe("one")
    })
  )

  it.scopedLive(
    "scopes that stand in the listener, with routes of their own; when the scope ends nothing is watched",
    () =>
      Effect.gen(function* () {
        const { client } = yield* setup({}, (host, store) => store.update("edge", { upsert: made("one", host) }))
        const life = yield* Scope.make()
        const tenants = yield* Scope.extend(
          client.scopedRoutes({
            ...fetched,
            configSpecifier: {
              case: "scopedRouteConfigurationsList",
              value: { scopedRouteConfigurations: [inline("a", "acme", "one"), inline("b", "eu", "own", "b.x")] }
            }
          }),
          life
        )
        expect(yield* outcome(tenants, "acme", "a.x")).toBe("one/a.x")
        expect(yield* outcome(tenants, "eu", "b.x")).toBe("own")
        expect(yield* outcome(tenants, "eu", "a.x")).toBe("VirtualHostNotFound")
        expect(yield* outcome(tenants, "other", "a.x")).toBe("ScopeNotFound")
        yield* Scope.close(life, Exit.void)
        expect((yield* client.dump).genericXdsConfigs).toEqual([])
      })
  )

  it.scopedLive("when the scope ends requests that wait are unavailable, and later ones at once", () =>
    Effect.gen(function* () {
      const { asked, client } = yield* setup(
        { scopedRoutes: [scope("a", "acme", "late")], routes: [routes("late")] },
        () => Effect.never
      )
      const life = yield* Scope.make()
      const tenants = yield* Scope.extend(client.scopedRoutes(fetched, { timeout: "1 hour" }), life)
      const find = Effect.flip(tenants.find({ headers: { "x-tenant": "acme" }, host: "a.x" }))
      const waiting = yield* Effect.fork(find)
      yield* eventually(() => expect(asked).toEqual(["late/a.x"]))
      yield* Scope.close(life, Exit.void)
      const message = 'the virtual host for "a.x" cannot be had: the scope of the scoped routes has closed'
      for (const fiber of [waiting, yield* Effect.fork(find)]) {
        yield* eventually(Effect.map(Fiber.poll(fiber), (exit) => expect(Option.isSome(exit)).toBe(true)))
        expect((yield* Fiber.join(fiber)).message).toBe(message)
      }
    })
  )

  it.scopedLive(
    "when the scope of the client ends they are unavailable, too, although that of the scoped routes goes on",
    () =>
      Effect.gen(function* () {
        const life = yield* Scope.make()
        const { asked, client } = yield* Scope.extend(
          setup({ scopedRoutes: [scope("a", "acme", "late")], routes: [routes("late")] }, () => Effect.never),
          life
        )
        const tenants = yield* client.scopedRoutes(fetched, { timeout: "1 hour" })
        const find = Effect.flip(tenants.find({ headers: { "x-tenant": "acme" }, host: "a.x" }))
        const waiting = yield* Effect.fork(find)
        yield* eventually(() => expect(asked).toEqual(["late/a.x"]))
        yield* Scope.close(life, Exit.void)
        const message = 'the virtual host for "a.x" cannot be had: the scope of the client has closed'
        for (const fiber of [waiting, yield* Effect.fork(find)]) {
          yield* eventually(Effect.map(Fiber.poll(fiber), (exit) => expect(Option.isSome(exit)).toBe(true)))
          expect((yield* Fiber.join(fiber)).message).toBe(message)
        }
      })
  )

  it.scopedLive.each<readonly [string, MessageInitShape<typeof ScopedRoutesSchema>]>([
    ["scope_key_builder: has no fragments; add one", { ...fetched, scopeKeyBuilder: {} }],
    [
      "scope_key_builder.fragments[0].header_value_extractor: neither index nor element is set; set one",
      { ...fetched, scopeKeyBuilder: builder({ case: undefined }) }
    ],
    [
      "scope_key_builder.fragments[0].header_value_extractor.index: is 1 without an element_separator; set one, or use index 0",
      { ...fetched, scopeKeyBuilder: builder({ case: "index", value: 1 }) }
    ],
    [
      "scope_key_builder.fragments[0]: no header_value_extractor is set; set one",
      { ...fetched, scopeKeyBuilder: { fragments: [{}] } }
    ],
    [
      "config_specifier: neither scoped_rds nor scoped_route_configurations_list is set; set one",
      { ...fetched, configSpecifier: { case: undefined } }
    ],
    [
      "scoped_rds.scoped_rds_config_source: is empty; use ads: scopes and routes are fetched from the servers of this client",
      { ...fetched, configSpecifier: { case: "scopedRds", value: {} } }
    ],
    [
      "rds_config_source: is path; use ads: scopes and routes are fetched from the servers of this client",
      { ...fetched, rdsConfigSource: path }
    ],
    [
      "scoped_route_configurations_list.scoped_route_configurations[0]: has its routes elsewhere; set route_configuration, or fetch the scopes by scoped_rds",
      {
        ...fetched,
        configSpecifier: {
          case: "scopedRouteConfigurationsList",
          value: { scopedRouteConfigurations: [scope("a", "acme", "one")] }
        }
      }
    ],
    [
      'scoped_route_configurations_list.scoped_route_configurations[1].key: ["acme"] is there twice',
      {
        ...fetched,
        configSpecifier: {
          case: "scopedRouteConfigurationsList",
          value: { scopedRouteConfigurations: [inline("a", "acme", "one"), inline("b", "acme", "two")] }
        }
      }
    ]
  ])("%s", ([words, message]) =>
    Effect.gen(function* () {
      const { client } = yield* setup({})
      const error = yield* Effect.flip(Effect.scoped(client.scopedRoutes(message)))
      expect(error.message).toBe(`scoped_routes "tenants": ${words}`)
    })
  )
})
