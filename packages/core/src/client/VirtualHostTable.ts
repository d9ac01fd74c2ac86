/**
 * The virtual hosts of one route configuration: those that came with it (RDS), and those that were fetched one by one (VHDS),
 * which may answer several names. Gives the virtual host whose domains match a host best.
 *
 * @see https://www.envoyproxy.io/docs/envoy/latest/configuration/http/http_conn_man/vhds
 * @since 0.1.0
 */
import * as HashMap from "effect/HashMap"
import * as HashSet from "effect/HashSet"
import * as Option from "effect/Option"
import * as VirtualHostDiscovery from "../resource/VirtualHostDiscovery.js"

/**
 * A virtual host.
 *
 * @since 0.1.0
 */
export interface VirtualHost<out A> {
  /** RDS: its name. VHDS: the name of the resource, `<route configuration>/<host>`. */
  readonly name: string
  readonly domains: ReadonlyArray<string>
  /** The virtual host for the application. An equal reference means that it did not change. */
  readonly value: A
}

/**
 * A virtual host that was fetched.
 *
 * @since 0.1.0
 */
export interface Fetched<out A> {
  readonly virtualHost: VirtualHost<A>
  /** The names that were asked for and that it answered. Never empty. */
  readonly aliases: HashSet.HashSet<string>
  /** When a request last used it, in milliseconds. */
  readonly usedAt: number
}

/**
 * The state. Its fields are private.
 *
 * @since 0.1.0
 */
export interface VirtualHostTable<out A> {
  readonly routeConfiguration: string
  /** RDS, by `<route configuration>/<domain>`. */
  readonly given: HashMap.HashMap<string, VirtualHost<A>>
  /** VHDS, by resource name. */
  readonly fetched: HashMap.HashMap<string, Fetched<A>>
  /** VHDS: `<route configuration>/<domain>` → resource name. */
  readonly owners: HashMap.HashMap<string, string>
  /** The wildcard domains of both. */
  readonly wildcards: VirtualHostDiscovery.DomainIndex
}

/**
 * A table without virtual hosts.
 *
 * @since 0.1.0
 */
export const make = <A>(routeConfiguration: string): VirtualHostTable<A> => ({
  routeConfiguration,
  given: HashMap.empty(),
  fetched: HashMap.empty(),
  owners: HashMap.empty(),
  wildcards: VirtualHostDiscovery.noDomains
})

/** Domains are compared in lower case, as hosts are. */
const keyOf = (self: VirtualHostTable<unknown>, domain: string): string =>
  VirtualHostDiscovery.nameOf(self.routeConfiguration, domain.toLowerCase())

/**
 * The table with other virtual hosts from RDS. Fetched ones stay.
 *
 * @since 0.1.0
 */
export const withGiven = <A>(
  self: VirtualHostTable<A>,
  virtualHosts: ReadonlyArray<VirtualHost<A>>
): VirtualHostTable<A> => {
  let { wildcards } = self
  for (const key of HashMap.keys(self.given)) wildcards = VirtualHostDiscovery.withoutDomain(wildcards, key)
  const given = HashMap.beginMutation(HashMap.empty<string, VirtualHost<A>>())
  for (const virtualHost of virtualHosts) {
    for (const domain of virtualHost.domains) {
      const key = keyOf(self, domain)
      // A domain of two virtual hosts belongs to the first.
      if (HashMap.has(given, key)) continue
      HashMap.set(given, key, virtualHost)
      wildcards = VirtualHostDiscovery.withDomain(wildcards, key)
    }
  }
  return { ...self, given: HashMap.endMutation(given), wildcards }
}

/**
 * The table without fetched virtual hosts.
 *
 * @since 0.1.0
 */
export const withoutFetched = <A>(self: VirtualHostTable<A>): VirtualHostTable<A> => {
  let { wildcards } = self
  for (const { virtualHost } of HashMap.values(self.fetched)) wildcards = discount(self, wildcards, virtualHost)
  return { ...self, fetched: HashMap.empty(), owners: HashMap.empty(), wildcards }
}

const discount = (
  self: VirtualHostTable<unknown>,
  wildcards: VirtualHostDiscovery.DomainIndex,
  { domains }: VirtualHost<unknown>
): VirtualHostDiscovery.DomainIndex =>
  domains.reduce((rest, domain) => VirtualHostDiscovery.withoutDomain(rest, keyOf(self, domain)), wildcards)

/**
 * The fetched virtual host of a resource name.
 *
 * @since 0.1.0
 */
export const get = <A>(self: VirtualHostTable<A>, resource: string): Fetched<A> | undefined =>
  Option.getOrUndefined(HashMap.get(self.fetched, resource))

/**
 * The table with a fetched virtual host, as the answer to one more name.
 *
 * @since 0.1.0
 */
export const withFetched = <A>(
  self: VirtualHostTable<A>,
  alias: string,
  virtualHost: VirtualHost<A>,
  now: number
): VirtualHostTable<A> => {
  const { name } = virtualHost
  const before = get(self, name)
  const aliases = before === undefined ? HashSet.make(alias) : HashSet.add(before.aliases, alias)
  const fetched = HashMap.set(self.fetched, name, { virtualHost, aliases, usedAt: before?.usedAt ?? now })
  if (before?.virtualHost.value === virtualHost.value) return { ...self, fetched }
  let { owners, wildcards } = before === undefined ? self : withoutDomains(self, before.virtualHost)
  for (const domain of virtualHost.domains) {
    const key = keyOf(self, domain)
    owners = HashMap.set(owners, key, name)
    wildcards = VirtualHostDiscovery.withDomain(wildcards, key)
  }
  return { ...self, fetched, owners, wildcards }
}

const withoutDomains = (
  self: VirtualHostTable<unknown>,
  virtualHost: VirtualHost<unknown>
): Pick<VirtualHostTable<unknown>, "owners" | "wildcards"> => {
  let { owners } = self
  for (const domain of virtualHost.domains) {
    const key = keyOf(self, domain)
    // Another virtual host may have taken the domain over.
    if (Option.getOrUndefined(HashMap.get(owners, key)) === virtualHost.name) owners = HashMap.remove(owners, key)
  }
  return { owners, wildcards: discount(self, self.wildcards, virtualHost) }
}

/**
 * The table in which a fetched virtual host no longer answers a name. It goes with its last name.
 *
 * @since 0.1.0
 */
export const withoutAlias = <A>(self: VirtualHostTable<A>, resource: string, alias: string): VirtualHostTable<A> => {
  const before = get(self, resource)
  if (before === undefined) return self
  const aliases = HashSet.remove(before.aliases, alias)
  if (HashSet.size(aliases) > 0) {
    return { ...self, fetched: HashMap.set(self.fetched, resource, { ...before, aliases }) }
  }
  return { ...self, fetched: HashMap.remove(self.fetched, resource), ...withoutDomains(self, before.virtualHost) }
}

/**
 * The table in which a request used a fetched virtual host.
 *
 * @since 0.1.0
 */
export const withUse = <A>(self: VirtualHostTable<A>, { name }: VirtualHost<A>, now: number): VirtualHostTable<A> => {
  const before = get(self, name)
  if (before === undefined || before.usedAt === now) return self
  return { ...self, fetched: HashMap.set(self.fetched, name, { ...before, usedAt: now }) }
}

/**
 * The virtual host for a host: that with the exact domain, then that with the longest suffix, then prefix, then `*`. One from
 * RDS precedes a fetched one with an equal domain.
 *
 * @param name `<route configuration>/<host>`, the host in lower case
 * @since 0.1.0
 */
export const find = <A>(
  self: VirtualHostTable<A>,
  name: string
): { readonly virtualHost: VirtualHost<A>; readonly isGiven: boolean } | undefined => {
  const at = (key: string) => {
    const given = HashMap.get(self.given, key)
    if (given._tag === "Some") return { virtualHost: given.value, isGiven: true }
    const owner = HashMap.get(self.owners, key)
    const fetched = owner._tag === "Some" ? get(self, owner.value) : undefined
    return fetched && { virtualHost: fetched.virtualHost, isGiven: false }
  }
  return at(name) ?? VirtualHostDiscovery.best(self.wildcards, name, at)
}
