/** What is true of virtual hosts on demand in a simulation: hosts, route configurations and scopes, now and before. */
import { create } from "@bufbuild/protobuf"
import { RouteConfigurationSchema } from "@effect-xds/proto/envoy/config/route/v3/route"
import { type VirtualHost, VirtualHostSchema } from "@effect-xds/proto/envoy/config/route/v3/route_components"
import { ScopedRouteConfigurationSchema } from "@effect-xds/proto/envoy/config/route/v3/scoped_route"

/** Route configurations. */
export const routeConfigurations: ReadonlyArray<string> = ["r0", "r1", "r2"]

/** Virtual hosts of each route configuration, by number. */
export const numbers: ReadonlyArray<number> = [0, 1, 2, 3]

/** The names of scopes, and the tenants that are their keys. */
export const scopeNames: ReadonlyArray<string> = ["p0", "p1", "p2", "p3"]
export const tenants: ReadonlyArray<string> = ["t0", "t1", "t2", "t3"]

/** Hosts that requests name: each in lower case. */
export const vocabulary: ReadonlyArray<string> = [
  ...numbers.flatMap((n) => [`s${n}.x`, `a${n}.x`, `one.w${n}.x`, `two.w${n}.x`]),
  "nobody0.x",
  "nobody1.x",
  "nobody2.x",
  "nobody3.x",
  "given.x"
]

type Source = "ads" | "self"

/** A virtual host of the resolver. */
interface Known {
  readonly generation: number
  readonly domains: ReadonlyArray<string>
}

interface Routes {
  readonly source: Source
  /** Domains of the virtual host that comes with the route configuration; none: there is none. */
  readonly given: ReadonlyArray<string>
}

export interface Scope {
  readonly tenant: string
  readonly routes: string
  readonly onDemand: boolean
}

/** A value, and since when. */
interface Since<A> {
  readonly at: number
  readonly value: A
}

const matches = (domain: string, host: string): boolean =>
  domain.startsWith("*") ? host.length >= domain.length && host.endsWith(domain.slice(1)) : domain === host

export const covers = (domains: ReadonlyArray<string>, host: string): boolean =>
  domains.some((domain) => matches(domain, host))

/** What the control plane means to serve. Times are milliseconds. */
export class Model {
  readonly known = new Map<string, ReadonlyMap<number, Known>>()
  readonly routes = new Map<string, Routes>()
  readonly scopes = new Map<string, Scope>()
  /** When the `vhds` of a route configuration changed last. */
  readonly resourced = new Map<string, number>()
  private readonly history = new Map<string, Array<Since<ReadonlyMap<number, Known>>>>()
  /** Route configuration and number of an alias → number of its virtual host. */
  private readonly aliases = new Map<string, number>()
  private generation = 0

  constructor(private readonly now: () => number) {
    for (const each of routeConfigurations) {
      this.routes.set(each, { source: "ads", given: [] })
      this.know(each, new Map())
    }
  }

  /** The resolver knows these from now on. */
  know(routes: string, hosts: ReadonlyMap<number, Known>): void {
    const all = this.history.get(routes) ?? []
    this.history.set(routes, all)
    all.push({ at: this.now(), value: hosts })
    this.known.set(routes, hosts)
  }

  /** A virtual host, or another version of it. */
  knowOne(routes: string, number: number): void {
    const hosts = new Map(this.known.get(routes))
    const aliases = numbers.filter((each) => this.aliasOf(routes, each) === number).map((each) => `a${each}.x`)
    const domains = [`s${number}.x`, ...aliases, `*.w${number}.x`]
    this.know(routes, hosts.set(number, { generation: ++this.generation, domains }))
  }

  /** The alias `a<number>.x` is another virtual host's from now on. */
  moveAlias(routes: string, number: number): void {
    const from = this.aliasOf(routes, number)
    const to = (from + 1) % numbers.length
    this.aliases.set(`${routes}/${number}`, to)
    for (const each of [from, to]) if (this.known.get(routes)?.has(each) === true) this.knowOne(routes, each)
  }

  private aliasOf(routes: string, number: number): number {
    return this.aliases.get(`${routes}/${number}`) ?? number
  }

  forget(routes: string, number: number): void {
    const hosts = new Map(this.known.get(routes))
    hosts.delete(number)
    this.know(routes, hosts)
  }

  /** The number of the virtual host that has a host. */
  find(routes: string, host: string): number | undefined {
    for (const [number, { domains }] of this.known.get(routes) ?? []) if (covers(domains, host)) return number
    return undefined
  }

  virtualHost(routes: string, number: number): VirtualHost | undefined {
    const known = this.known.get(routes)?.get(number)
    if (known === undefined) return undefined
    const { domains, generation } = known
    const requestHeadersToRemove = [`g${generation}`]
    return create(VirtualHostSchema, { name: `s${number}.x`, domains: [...domains], requestHeadersToRemove })
  }

  /** Whether the resolver knew a host all the time from `from` on. */
  wasKnown(routes: string, host: string, from: number): boolean {
    const all = this.history.get(routes) ?? []
    return all.every(({ at, value }, index) => {
      const end = all[index + 1]?.at ?? Number.POSITIVE_INFINITY
      if (end < from || at > this.now()) return true
      return Array.from(value.values()).some(({ domains }) => covers(domains, host))
    })
  }

  routeConfiguration(name: string) {
    const { given, source } = this.routes.get(name) ?? { given: [], source: "ads" }
    const configSource = { configSourceSpecifier: { case: source, value: {} } }
    return create(RouteConfigurationSchema, {
      name,
      vhds: { configSource },
      virtualHosts: given.length === 0 ? [] : [{ name: `${name}/given`, domains: [...given] }]
    })
  }

  scope(name: string) {
    const scope = this.scopes.get(name)
    return (
      scope &&
      create(ScopedRouteConfigurationSchema, {
        name,
        routeConfigurationName: scope.routes,
        onDemand: scope.onDemand,
        key: { fragments: [{ type: { case: "stringKey", value: scope.tenant } }] }
      })
    )
  }
}

interface Interval {
  readonly name: string
  readonly scope: Scope
  readonly from: number
  to: number
}

/** Which scopes a client was told, and when. */
export class ToldScopes {
  private readonly intervals: Array<Interval> = []
  /** Moments in which a tenant had no scope: it went in one response, and came with the next. */
  private readonly gaps: Array<{ readonly tenant: string; readonly at: number }> = []

  tell(name: string, scope: Scope | undefined, now: number): void {
    const last = this.intervals.findLast((each) => each.name === name)
    if (scope !== undefined && last?.to === now) this.gaps.push({ tenant: last.scope.tenant, at: now })
    for (const each of this.intervals) {
      if (each.name === name && each.to === Number.POSITIVE_INFINITY) each.to = now
    }
    if (scope !== undefined) this.intervals.push({ name, scope, from: now, to: Number.POSITIVE_INFINITY })
  }

  /** The route configurations of a tenant at any time between two. */
  routesOf(tenant: string, from: number, to: number): ReadonlySet<string> {
    return new Set(this.during(tenant, from, to).map(({ scope }) => scope.routes))
  }

  /** Whether a tenant had no scope at any time between two. */
  hadNone(tenant: string, from: number, to: number): boolean {
    if (this.gaps.some((each) => each.tenant === tenant && each.at >= from && each.at <= to)) return true
    let covered = from
    for (const each of this.during(tenant, from, to).toSorted((one, other) => one.from - other.from)) {
      if (each.from > covered) return true
      covered = Math.max(covered, each.to)
    }
    return covered <= to
  }

  /** All that was said of a tenant. */
  format(tenant: string): string {
    const all = this.intervals.filter(({ scope }) => scope.tenant === tenant)
    return all.map(({ from, name, scope: { routes }, to }) => `${name} ${routes} ${from} to ${to}`).join(", ")
  }

  /** When the tenant's route configuration last became another one. */
  movedAt(tenant: string): number {
    return this.intervals.filter(({ scope }) => scope.tenant === tenant).at(-1)?.from ?? 0
  }

  private during(tenant: string, from: number, to: number): ReadonlyArray<Interval> {
    return this.intervals.filter((each) => each.scope.tenant === tenant && each.from <= to && each.to >= from)
  }
}
