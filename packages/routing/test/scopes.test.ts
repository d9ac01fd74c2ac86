/** Scoped routes (SRDS) of a channel, beside a reference that looks at everything anew after each input. */
import { create } from "@bufbuild/protobuf"
import type { MessageInitShape } from "@bufbuild/protobuf"
import { anyPack } from "@bufbuild/protobuf/wkt"
import { ListenerSchema } from "@effect-xds/proto/envoy/config/listener/v3/listener"
import { RouteConfigurationSchema } from "@effect-xds/proto/envoy/config/route/v3/route"
import { VirtualHostSchema } from "@effect-xds/proto/envoy/config/route/v3/route_components"
import { ScopedRouteConfigurationSchema } from "@effect-xds/proto/envoy/config/route/v3/scoped_route"
import { RouterSchema } from "@effect-xds/proto/envoy/extensions/filters/http/router/v3/router"
import type { ScopedRoutesSchema } from "@effect-xds/proto/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager"
import { HttpConnectionManagerSchema } from "@effect-xds/proto/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager"
import * as CallHeaders from "@effect-xds/routing/CallHeaders"
import * as ConfigSelector from "@effect-xds/routing/ConfigSelector"
import * as Listener from "@effect-xds/routing/Listener"
import * as RouteScope from "@effect-xds/routing/RouteScope"
import * as RouteTable from "@effect-xds/routing/RouteTable"
import * as VirtualHost from "@effect-xds/routing/VirtualHost"
import * as XdsConfig from "@effect-xds/routing/XdsConfig"
import { describe, expect, it } from "@effect/vitest"
import * as Either from "effect/Either"
import * as HashMap from "effect/HashMap"
import { all, to } from "./Routes.js"
import { assignmentOf, clusterOf, random, value } from "./World.js"

const ads = { configSourceSpecifier: { case: "ads" as const, value: {} } }

type ScopedInit = MessageInitShape<typeof ScopedRoutesSchema>
type ScopeInit = MessageInitShape<typeof ScopedRouteConfigurationSchema>

const extract = (
  name: string,
  elementSeparator = "",
  extractType: { case: "index"; value: number } | { case: "element"; value: { separator: string; key: string } } = {
    case: "index",
    value: 0
  }
) => ({ type: { case: "headerValueExtractor" as const, value: { name, elementSeparator, extractType } } })

const fetched = { case: "scopedRds" as const, value: { scopedRdsConfigSource: ads } }

/** By the header `tenant`, fetched. */
const byTenant: ScopedInit = {
  name: "tenants",
  scopeKeyBuilder: { fragments: [extract("Tenant")] },
  rdsConfigSource: ads,
  configSpecifier: fetched
}

const listenerOf = (scopedRoutes: ScopedInit) =>
  Listener.make(
    create(ListenerSchema, {
      name: "shop",
      apiListener: {
        apiListener: anyPack(
          HttpConnectionManagerSchema,
          create(HttpConnectionManagerSchema, {
            httpFilters: [
              {
                name: "router",
                configType: { case: "typedConfig", value: anyPack(RouterSchema, create(RouterSchema)) }
              }
            ],
            routeSpecifier: { case: "scopedRoutes", value: scopedRoutes }
          })
        )
      }
    })
  )

const keyOf = (...fragments: ReadonlyArray<string>) => ({
  fragments: fragments.map((value) => ({ type: { case: "stringKey" as const, value } }))
})

/** A route configuration whose only virtual host goes to a cluster; none: it has VHDS. */
const routes = (name: string, cluster?: string) =>
  create(
    RouteConfigurationSchema,
    cluster === undefined
      ? { name, vhds: { configSource: ads } }
      : { name, virtualHosts: [{ name, domains: ["shop"], routes: [{ match: all, action: to(cluster) }] }] }
  )

const hostOf = (cluster: string) =>
  VirtualHost.fetched(
    create(VirtualHostSchema, { name: "shop", domains: ["shop"], routes: [{ match: all, action: to(cluster) }] }),
    RouteTable.standard
  )

const scopeOf = (init: ScopeInit) => Either.getOrThrow(RouteScope.make(create(ScopedRouteConfigurationSchema, init)))

const scopesOf = (...scopes: ReadonlyArray<RouteScope.RouteScope>): XdsConfig.Known<RouteScope.RouteScopes> => ({
  _tag: "Value",
  value: RouteScope.change(
    RouteScope.none,
    scopes.map((scope) => [scope.name, scope])
  )
})

/** The mistakes of a listener, as text. */
const mistakes = (scopedRoutes: ScopedInit): ReadonlyArray<string> => {
  const made = listenerOf(scopedRoutes)
  return Either.isRight(made)
    ? []
    : made.left.map(
        ({ message, path, reason }) =>
          `${path.slice("api_listener.api_listener.scoped_routes.".length)} ${reason}: ${message}`
      )
}

class Channel {
  private config = XdsConfig.make("shop", "shop")
  readonly watched = new Set<string>()
  told: XdsConfig.Told | undefined
  private before = RouteScope.none
  constructor(scopedRoutes = byTenant) {
    this.step({ _tag: "Start" })
    this.listener(scopedRoutes)
  }
  listener(scopedRoutes: ScopedInit): this {
    return this.step({ _tag: "Listener", name: "shop", known: value(listenerOf(scopedRoutes)) })
  }
  step(input: XdsConfig.Input): this {
    const [next, outputs] = XdsConfig.step(this.config, input)
    this.config = next
    for (const output of outputs) {
      if (!("kind" in output)) {
        this.told = output
        continue
      }
      const each = `${output.kind} ${output.name}`
      const isWatched = this.watched.has(each)
      if (output._tag !== "Refresh") expect([each, isWatched]).toEqual([each, output._tag === "Unwatch"])
      if (output._tag === "Watch") this.watched.add(each)
      if (output._tag === "Unwatch") this.watched.delete(each)
    }
    return this
  }
  /** Other scopes: in parts that follow those before, as they come, or as a whole. */
  scopes(...scopes: ReadonlyArray<RouteScope.RouteScope>): this {
    const names = new Set([...HashMap.keys(this.before.byName), ...scopes.map(({ name }) => name)])
    const changes = Array.from(names, (name) => [name, scopes.find((each) => each.name === name)] as const)
    this.before = RouteScope.change(this.before, changes)
    for (const value of RouteScope.parts(this.before)) {
      this.step({ _tag: "Scopes", name: "*", known: { _tag: "Value", value } })
    }
    return this
  }
  whole(...scopes: ReadonlyArray<RouteScope.RouteScope>): this {
    return this.step({ _tag: "Scopes", name: "*", known: scopesOf(...scopes) })
  }
  routes(name: string, cluster?: string): this {
    return this.step({ _tag: "RouteConfiguration", name, known: value(RouteTable.make(routes(name, cluster))) })
  }
  noRoutes(name: string): this {
    return this.step({ _tag: "RouteConfiguration", name, known: { _tag: "Failed", message: "there is none" } })
  }
  cluster(name: string): this {
    return this.step({ _tag: "Cluster", name, known: value(clusterOf(name)) }).step({
      _tag: "Assignment",
      name,
      known: value(assignmentOf(name, [1]))
    })
  }
  /** Where a call goes; `waits`, or why it fails. */
  call(headers: Readonly<Record<string, string>>): string {
    if (this.told === undefined) return "waits"
    if (this.told._tag === "Failed") return this.told.message
    const call = { path: "/a/b", headers: CallHeaders.fromEntries(Object.entries(headers)), draw: () => 0 }
    const selected = ConfigSelector.select(this.told.config, { id: 1n }, call)
    if (selected._tag === "Selected") {
      expect(this.told.config.clusters.get(selected.cluster)).toBeDefined()
      return selected.cluster
    }
    if (selected._tag === "Failed") return `${selected.status.reason}: ${selected.status.message}`
    return "waits"
  }
  /** A call of a tenant, which wants its scope. */
  tenant(tenant: string): string {
    const key = JSON.stringify([tenant])
    if (this.call({ tenant }) === "waits") this.step({ _tag: "Scope", key })
    return this.call({ tenant })
  }
  of(kind: XdsConfig.Kind): ReadonlyArray<string> {
    return Array.from(this.watched)
      .filter((each) => each.startsWith(`${kind} `))
      .map((each) => each.slice(kind.length + 1))
      .sort()
  }
}

const rds = (name: string, tenant: string, routeConfigurationName: string) =>
  scopeOf({ name, routeConfigurationName, key: keyOf(tenant) })

describe("scoped routes of a listener", () => {
  it("are read, or all their mistakes are told", () => {
    expect(mistakes(byTenant)).toEqual([])
    expect(mistakes({ ...byTenant, name: "", scopeKeyBuilder: {}, configSpecifier: { case: undefined } })).toEqual([
      "name RouteScope: the name is empty; name the scoped routes",
      "scope_key_builder RouteScope: has no fragments; add one",
      " RouteScope: neither scoped_rds nor scoped_route_configurations_list is set; set one"
    ])
    const file = { configSourceSpecifier: { case: "path" as const, value: "/routes" } }
    expect(
      mistakes({
        ...byTenant,
        rdsConfigSource: file,
        configSpecifier: { case: "scopedRds", value: { scopedRdsConfigSource: file } }
      })
    ).toEqual([
      "scoped_rds.scoped_rds_config_source RouteSource: only ads and self are supported as the source of scopes",
      "rds_config_source RouteSource: only ads and self are supported as the source of routes"
    ])
    const given = (...scopedRouteConfigurations: ReadonlyArray<ScopeInit>): ScopedInit => ({
      ...byTenant,
      configSpecifier: {
        case: "scopedRouteConfigurationsList",
        value: {
          scopedRouteConfigurations: scopedRouteConfigurations.map((each) =>
            create(ScopedRouteConfigurationSchema, each)
          )
        }
      }
    })
    const at = (index: number) => `scoped_route_configurations_list.scoped_route_configurations[${index}]`
    expect(mistakes(given())).toEqual(["scoped_route_configurations_list RouteScope: there are no scopes; add one"])
    const good = { name: "a", key: keyOf("x"), routeConfiguration: routes("r", "a") }
    expect(mistakes(given(good))).toEqual([])
    expect(
      mistakes(
        given(
          good,
          { ...good, name: "a" },
          { name: "b", key: keyOf("y"), routeConfigurationName: "r" },
          { name: "", key: { fragments: [{}] }, routeConfiguration: create(RouteConfigurationSchema, {}) },
          {
            name: "c",
            routeConfiguration: create(RouteConfigurationSchema, { virtualHosts: [{ name: "v", domains: ["a*b"] }] })
          }
        )
      )
    ).toEqual([
      `${at(1)}.key RouteScope: ["x"] is there twice; keys are unique`,
      `${at(1)}.name RouteScope: "a" is there twice; names are unique`,
      `${at(2)} RouteScope: has its routes elsewhere; set route_configuration, or fetch the scopes by scoped_rds`,
      `${at(3)}.name RouteScope: the name is empty; name the scope`,
      `${at(3)}.key.fragments[0] RouteScope: no string_key is set; set one`,
      `${at(4)}.key RouteScope: has no fragments; add one`,
      expect.stringContaining(`${at(4)}.route_configuration.virtual_hosts[0].domains[0] InvalidDomain`)
    ])
  })

  it("a fetched scope is read, or all its mistakes are told", () => {
    const read = (init: ScopeInit) => {
      const made = RouteScope.make(create(ScopedRouteConfigurationSchema, init))
      return Either.isRight(made) ? made.right.routes._tag : made.left.map(({ message, path }) => `${path} ${message}`)
    }
    expect(read({ name: "a", key: keyOf("x", ""), routeConfigurationName: "r" })).toBe("Rds")
    expect(read({ name: "a", key: keyOf("x"), routeConfiguration: routes("r", "a") })).toBe("Inline")
    expect(read({})).toEqual([
      "name the name is empty; name the scope",
      "key has no fragments; add one",
      "route_configuration_name has no routes; name them"
    ])
  })
})

describe("calls of scopes", () => {
  it("a scope is used from its first call on; calls wait for its routes and their clusters", () => {
    const channel = new Channel()
    expect(channel.of("Scopes")).toEqual(["*"])
    expect(channel.tenant("x")).toBe("waits")
    channel.scopes(rds("a", "x", "r"), rds("b", "y", "s"))
    expect(channel.of("RouteConfiguration")).toEqual([])
    expect(channel.tenant("z")).toBe('NoScope: none of the scopes of "tenants" has the key ["z"]')
    expect(channel.call({})).toBe(
      'NoScope: the headers make no key for the scopes of "tenants": a header is missing, or has no such element'
    )
    expect(channel.tenant("x")).toBe("waits")
    expect(channel.of("RouteConfiguration")).toEqual(["r"])
    channel.routes("r", "one")
    expect([channel.tenant("x"), channel.of("Cluster")]).toEqual(["waits", ["one"]])
    expect(channel.cluster("one").tenant("x")).toBe("one")
    channel.scopes(rds("b", "y", "s"))
    expect([channel.tenant("x"), ...channel.watched]).toEqual([
      'NoScope: none of the scopes of "tenants" has the key ["x"]',
      "Listener shop",
      "Scopes *"
    ])
  })

  it("★ what serves goes on until what is new is whole: another route configuration, other routes", () => {
    const channel = new Channel().scopes(rds("a", "x", "r"), rds("b", "y", "r"))
    for (const tenant of ["x", "y"]) channel.tenant(tenant)
    channel.routes("r", "one").cluster("one")
    channel.scopes(rds("a", "x", "s"), rds("b", "y", "r"))
    expect(channel.of("RouteConfiguration")).toEqual(["r", "s"])
    expect([channel.tenant("x"), channel.tenant("y")]).toEqual(["one", "one"])
    channel.routes("s", "two")
    expect([channel.tenant("x"), channel.of("Cluster")]).toEqual(["one", ["one", "two"]])
    expect([channel.cluster("two").tenant("x"), channel.tenant("y")]).toEqual(["two", "one"])
    channel.routes("r", "three")
    expect(channel.tenant("y")).toBe("one")
    expect(channel.cluster("three").tenant("y")).toBe("three")
    expect(channel.of("Cluster")).toEqual(["three", "two"])
    // A key that moves from one scope to another in one response.
    channel.scopes(rds("a", "y", "s"), rds("b", "x", "r"))
    expect([channel.tenant("x"), channel.tenant("y")]).toEqual(["three", "two"])
    channel.noRoutes("r")
    expect(channel.tenant("x")).toBe('Resource: RouteConfiguration "r": there is none')
    expect(channel.tenant("y")).toBe("two")
  })

  it("what is not known of one scope does not hold back the others", () => {
    const channel = new Channel().scopes(rds("a", "x", "r"), rds("b", "y", "s"))
    for (const tenant of ["x", "y"]) channel.tenant(tenant)
    channel.routes("r", "one").routes("s", "two").cluster("two")
    expect([channel.tenant("x"), channel.tenant("y")]).toEqual(["waits", "two"])
    channel.step({ _tag: "Cluster", name: "one", known: { _tag: "Failed", message: "there is none" } })
    expect(channel.tenant("x")).toBe("one")
    // An EDS name that is another: the endpoints of before serve.
    const known = value(clusterOf("two", { edsClusterConfig: { edsConfig: ads, serviceName: "other" } }))
    expect(channel.step({ _tag: "Cluster", name: "two", known }).tenant("y")).toBe("two")
  })

  it("routes in a scope, and virtual hosts on demand in two that share a name", () => {
    const inline = (name: string, tenant: string, cluster?: string) =>
      scopeOf({ name, key: keyOf(tenant), routeConfiguration: routes("r", cluster) })
    const channel = new Channel().scopes(inline("a", "x", "one"), inline("b", "y"), inline("c", "z"))
    channel.tenant("x")
    expect(channel.cluster("one").tenant("x")).toBe("one")
    channel.tenant("y")
    channel.tenant("z")
    expect(channel.of("VirtualHost")).toEqual(["r/shop"])
    channel.step({ _tag: "VirtualHost", name: "r/shop", known: value(hostOf("one")) })
    expect([channel.tenant("y"), channel.tenant("z")]).toEqual(["one", "one"])
    channel.scopes(inline("a", "x", "two"), inline("b", "y", "one"), inline("c", "z"))
    expect([channel.tenant("x"), channel.of("VirtualHost")]).toEqual(["one", ["r/shop"]])
    expect(channel.cluster("two").tenant("x")).toBe("two")
    channel.step({ _tag: "VirtualHost", name: "r/shop", known: { _tag: "Failed", message: "there is none" } })
    expect([channel.tenant("y"), channel.tenant("z")]).toEqual(["one", 'Resource: VirtualHost "r/shop": there is none'])
    channel.scopes(inline("b", "y", "one"))
    expect(channel.of("VirtualHost")).toEqual([])
  })

  it("scopes that fail, and no scopes any more", () => {
    const channel = new Channel()
    channel.step({ _tag: "Scopes", name: "*", known: { _tag: "Failed", message: "no server" } })
    expect(channel.tenant("x")).toBe('the scopes of "tenants": no server')
    channel.scopes(rds("a", "x", "r")).tenant("x")
    channel.routes("r", "one").cluster("one")
    expect(channel.tenant("x")).toBe("one")
    const plain = create(ListenerSchema, { name: "shop" })
    expect(Either.isLeft(Listener.make(plain))).toBe(true)
    channel.step({ _tag: "Listener", name: "shop", known: { _tag: "Failed", message: "there is none" } })
    expect(Array.from(channel.watched)).toEqual(["Listener shop"])
    channel.listener(byTenant).scopes(rds("a", "x", "r"))
    expect(channel.tenant("x")).toBe("waits")
  })
})

it("★ thousands of scopes change in parts, each key at once", () => {
  const scopes = (shift: number) =>
    Array.from({ length: 1_000 }, (_, index) => rds(`${(index + shift) % 1_000}`, `${index}`, `r${index % 7}`))
  const first = RouteScope.change(
    RouteScope.none,
    scopes(0).map((scope) => [scope.name, scope])
  )
  const second = RouteScope.change(
    first,
    scopes(1).map((scope) => [scope.name, scope.key === '["999"]' ? undefined : scope])
  )
  let before = first
  let changed = 0
  for (const part of RouteScope.parts(second)) {
    const keys = part.since?.keys ?? new Set()
    expect([part.since?.byKey === before.byKey, keys.size <= 64]).toEqual([true, true])
    for (let index = 0; index < 1_000; index++) {
      const key = JSON.stringify([String(index)])
      const wanted = keys.has(key) ? RouteScope.find(second, key) : RouteScope.find(before, key)
      if (RouteScope.find(part, key) !== wanted) throw new Error(`${key} is another`)
    }
    changed += keys.size
    before = part
  }
  expect([changed, before.byKey === second.byKey]).toEqual([1_000, true])
})

/** Where the routes of a scope are: `r` and `s` are route configurations, the others are in the scope. */
const sources = ["r", "s", "t", "inline a", "inline b"]
const tenants = ["x", "y", "z"]
const clusters = ["a", "b", "c"]

/** What scoped routes have to do, written for reading. */
class Reference {
  /** By tenant: the name of the scope, and where its routes are. */
  scopes: ReadonlyMap<string, readonly [name: string, source: string]> = new Map()
  isAnswered = false
  /** By route configuration: its cluster, or that there is none. */
  readonly routes = new Map<string, string>()
  /** By table, the cluster of routes in a scope. */
  readonly inline = new Map<string, string>()
  readonly clusters = new Set<string>()
  readonly used = new Map<string, { now: string; before: string | undefined }>()
  /** What serves, by table; the cluster, or `failed`. */
  readonly serving = new Map<string, string>()

  private tableOf(tenant: string): string | undefined {
    const [name, source] = this.scopes.get(tenant) ?? []
    if (source === undefined) return undefined
    return source.startsWith("inline") ? `scope ${tenant} ${name}` : `rds ${source}`
  }

  private newestOf(table: string): string | undefined {
    return table.startsWith("rds ") ? this.routes.get(table.slice(4)) : this.inline.get(table)
  }

  get tables(): ReadonlySet<string> {
    return new Set(
      Array.from(this.used.values()).flatMap(({ before, now }) => (before === undefined ? [now] : [now, before]))
    )
  }

  use(tenant: string): void {
    const now = this.tableOf(tenant)
    if (now !== undefined && !this.used.has(tenant)) this.used.set(tenant, { now, before: undefined })
  }

  /** Brings all to what is known. */
  settle(): void {
    for (const [tenant, use] of Array.from(this.used)) {
      const now = this.tableOf(tenant)
      if (now === undefined) this.used.delete(tenant)
      else if (now !== use.now) this.used.set(tenant, { now, before: this.serving.has(use.now) ? use.now : use.before })
    }
    for (const [tenant, [, source]] of this.scopes) {
      const table = this.tableOf(tenant)
      if (table?.startsWith("scope ") === true) this.inline.set(table, source.slice(7))
    }
    for (const table of this.tables) {
      const newest = this.newestOf(table)
      if (newest === "failed" || (newest !== undefined && this.clusters.has(newest))) this.serving.set(table, newest)
    }
    for (const use of this.used.values()) if (this.serving.has(use.now)) use.before = undefined
    const { tables } = this
    for (const table of Array.from(this.serving.keys())) if (!tables.has(table)) this.serving.delete(table)
    const watched = this.watchedRoutes
    for (const name of Array.from(this.routes.keys())) if (!watched.has(name)) this.routes.delete(name)
    const named = this.watchedClusters
    for (const name of Array.from(this.clusters)) if (!named.has(name)) this.clusters.delete(name)
  }

  get watchedRoutes(): ReadonlySet<string> {
    return new Set(Array.from(this.tables).flatMap((table) => (table.startsWith("rds ") ? [table.slice(4)] : [])))
  }

  get watchedClusters(): ReadonlySet<string> {
    const named = Array.from(this.tables).flatMap((table) => [this.newestOf(table), this.serving.get(table)])
    return new Set(named.flatMap((name) => (name === undefined || name === "failed" ? [] : [name])))
  }

  outcome(tenant: string): string {
    if (!this.isAnswered) return "waits"
    if (!this.scopes.has(tenant)) return "no scope"
    const use = this.used.get(tenant)
    if (use === undefined) return "waits"
    return this.serving.get(use.now) ?? this.serving.get(use.before ?? "") ?? "waits"
  }
}

const runs = Number(process.env["XDS_RUNS"] ?? "300")

it(`scoped routes, as the reference says, in ${runs} scripts of 60 steps`, () => {
  const met = new Map<string, number>()
  for (let seed = 1; seed <= runs; seed++) {
    const draw = random(seed)
    const any = <A>(from: ReadonlyArray<A>, otherwise: A): A => from[Math.floor(draw() * from.length)] ?? otherwise
    const channel = new Channel()
    const reference = new Reference()
    const tables = new Map<string, RouteScope.RouteScope>()
    const script: Array<string> = []
    for (let step = 0; step < 60; step++) {
      const kind = draw()
      if (kind < 0.25) {
        const scopes = new Map<string, readonly [string, string]>()
        const names = ["1", "2", "3"].sort(() => draw() - 0.5)
        for (const [index, tenant] of tenants.entries()) {
          if (draw() < 0.75) scopes.set(tenant, [names[index] ?? "", any(sources, "r")])
        }
        reference.scopes = scopes
        reference.isAnswered = true
        const made = Array.from(scopes, ([tenant, [name, source]]) => {
          const id = `${tenant} ${name} ${source}`
          const known = tables.get(id)
          if (known !== undefined) return known
          const scope = source.startsWith("inline")
            ? scopeOf({ name, key: keyOf(tenant), routeConfiguration: routes("in", source.slice(7)) })
            : rds(name, tenant, source)
          tables.set(id, scope)
          return scope
        })
        script.push(`scopes ${JSON.stringify(Array.from(scopes))}`)
        if (seed % 3 === 0) channel.whole(...made)
        else channel.scopes(...made)
      } else if (kind < 0.55) {
        const name = any(Array.from(reference.watchedRoutes), "r")
        const cluster = draw() < 0.2 ? "failed" : any(clusters, "a")
        script.push(`routes ${name} ${cluster}`)
        if (reference.watchedRoutes.has(name)) reference.routes.set(name, cluster)
        if (cluster === "failed") channel.noRoutes(name)
        else channel.routes(name, cluster)
      } else if (kind < 0.8) {
        const name = any(Array.from(reference.watchedClusters), "a")
        script.push(`cluster ${name}`)
        if (reference.watchedClusters.has(name)) reference.clusters.add(name)
        channel.cluster(name)
      } else {
        const tenant = any(tenants, "x")
        script.push(`call ${tenant}`)
        reference.use(tenant)
        channel.tenant(tenant)
      }
      reference.settle()
      const ours = tenants.map((tenant) => {
        const outcome = channel.call({ tenant })
        return outcome.startsWith("NoScope") ? "no scope" : outcome.startsWith("Resource") ? "failed" : outcome
      })
      const theirs = tenants.map((tenant) => reference.outcome(tenant))
      for (const outcome of theirs) met.set(outcome, (met.get(outcome) ?? 0) + 1)
      const words = `seed ${seed}: ${script.join("; ")}`
      expect([ours, channel.of("RouteConfiguration"), channel.of("Cluster")], words).toEqual([
        theirs,
        Array.from(reference.watchedRoutes).sort(),
        Array.from(reference.watchedClusters).sort()
      ])
    }
  }
  for (const outcome of ["waits", "no scope", "failed", ...clusters]) expect(met.get(outcome)).toBeGreaterThan(runs)
})
