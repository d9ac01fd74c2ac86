/** The virtual host of an authority: the route configuration has it, or says that it is to be fetched by itself (VHDS). */
import type { RouteTable } from "../RouteTable.js"
import * as RouteTables from "../RouteTable.js"
import type { VirtualHost } from "../VirtualHost.js"
import * as VirtualHosts from "../VirtualHost.js"
import type { Known } from "./ClusterGraph.js"

/** The resource name of the virtual host that is to be fetched; `undefined`: none is. */
export const nameOf = (table: RouteTable | undefined, authority: string): string | undefined => {
  const isFetched = table?.vhds !== undefined && RouteTables.virtualHost(table, authority) === undefined
  return isFetched && !authority.includes("/") ? `${table.name}/${authority.toLowerCase()}` : undefined
}

/** That of the route configuration, else the fetched one. */
export const choose = (
  table: RouteTable | undefined,
  authority: string,
  fetched: (name: string) => Known<VirtualHost> | undefined
): VirtualHost | undefined => {
  if (table === undefined) return undefined
  const name = nameOf(table, authority)
  if (name === undefined) return RouteTables.virtualHost(table, authority)
  const known = fetched(name)
  // ★ A server may answer with one for other domains: that is none.
  return known?._tag === "Value" && VirtualHosts.isFor(known.value, authority) ? known.value : undefined
}

/**
 * ★ A domain that the route configuration has is its own: a fetched virtual host that claims one is rejected, and the one that is
 * held stays.
 */
export const usable = (
  table: RouteTable | undefined,
  known: Known<VirtualHost>,
  before: Known<VirtualHost> | undefined
): Known<VirtualHost> => {
  if (known._tag === "Failed" || table === undefined) return known
  const isOwn = (domain: string): boolean => {
    const own = RouteTables.virtualHost(table, domain)?.domains ?? []
    return own.some((each) => each.toLowerCase() === domain.toLowerCase())
  }
  const taken = known.value.domains.find(isOwn)
  if (taken === undefined) return known
  if (before?._tag === "Value") return before
  const routes = JSON.stringify(table.name)
  return { _tag: "Failed", message: `the domain ${JSON.stringify(taken)} belongs to RouteConfiguration ${routes}` }
}

/** The clusters that the routes of a virtual host name. */
export const clustersOf = (virtualHost: VirtualHost | undefined): ReadonlySet<string> => {
  const clusters = new Set<string>()
  for (const route of virtualHost?.routes ?? []) {
    if (route._tag !== "Route") continue
    const { clusters: to } = route.action
    if (to._tag === "Cluster") clusters.add(to.cluster)
    else for (const { cluster } of to.targets) clusters.add(cluster)
  }
  return clusters
}

/** Why there is none, for people. */
export const words = (table: RouteTable | undefined, authority: string): string =>
  `no virtual host of RouteConfiguration ${JSON.stringify(table?.name)} is for ${JSON.stringify(authority)}`
