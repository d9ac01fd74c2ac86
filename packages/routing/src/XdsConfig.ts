/**
 * Everything that a channel needs of xDS as one value: a listener, its routes, the virtual host, and clusters with their
 * endpoints. A reducer that says which resources are to be watched, and gives the value out when it is whole.
 *
 * @see https://github.com/grpc/proposal/blob/master/A74-xds-config-tears.md
 * @since 0.1.0
 */
import { equals } from "@bufbuild/protobuf"
import type { ConfigSource } from "@effect-xds/proto/envoy/config/core/v3/config_source"
import { ConfigSourceSchema } from "@effect-xds/proto/envoy/config/core/v3/config_source"
import type { Assignment } from "./Assignment.js"
import type { Cluster } from "./Cluster.js"
import type { Address } from "./Endpoint.js"
import * as ClusterGraph from "./internal/ClusterGraph.js"
import type { ClusterConfig, Known } from "./internal/ClusterGraph.js"
import type { Listener } from "./Listener.js"
import * as RouteTables from "./RouteTable.js"
import type { RouteTable } from "./RouteTable.js"
import type { VirtualHost } from "./VirtualHost.js"
import * as VirtualHosts from "./VirtualHost.js"

/**
 * What is watched. `Dns`: the addresses of `host:port`. `VirtualHost`: `<route configuration>/<authority>`, where the routes have
 * none for the authority and fetch them on demand (VHDS).
 *
 * @since 0.1.0
 */
export type Kind = "Listener" | "RouteConfiguration" | "VirtualHost" | "Cluster" | "Assignment" | "Dns"

export type { ClusterConfig, Known } from "./internal/ClusterGraph.js"

/**
 * A whole configuration.
 *
 * @since 0.1.0
 */
export interface Config {
  readonly listener: Listener
  readonly table: RouteTable
  readonly virtualHost: VirtualHost
  readonly clusters: ReadonlyMap<string, ClusterConfig>
}

/**
 * What a watcher is told of a resource, as `@effect-xds/client` tells it.
 *
 * @since 0.1.0
 */
export type ResourceEvent<A> =
  | { readonly _tag: "Updated"; readonly value: A }
  | { readonly _tag: "DoesNotExist" | "Error"; readonly error: { readonly message: string } }
  | { readonly _tag: "AmbientError" | "Recovered" }

/**
 * What is known after an event. `undefined`: what was known before, for an `AmbientError` and a `Recovered` change nothing.
 *
 * @since 0.1.0
 */
export const knownAfter = <A>(event: ResourceEvent<A>): Known<A> | undefined => {
  switch (event._tag) {
    case "Updated":
      return { _tag: "Value", value: event.value }
    case "DoesNotExist":
    case "Error":
      return { _tag: "Failed", message: event.error.message }
    case "AmbientError":
    case "Recovered":
      return undefined
  }
}

interface Values {
  readonly Listener: Listener
  readonly RouteConfiguration: RouteTable
  readonly VirtualHost: VirtualHost
  readonly Cluster: Cluster
  readonly Assignment: Assignment
  readonly Dns: ReadonlyArray<Address>
}

type Resources = { readonly [Each in Kind]: ReadonlyMap<string, Known<Values[Each]> | undefined> }

/**
 * The state. Made by {@link make}, changed by {@link step}; plain data.
 *
 * @since 0.1.0
 */
export interface XdsConfig {
  /** The name of the listener. */
  readonly name: string
  /** What the virtual host is chosen by. */
  readonly authority: string
  /** What is watched; `undefined`: nothing is known of it yet. */
  readonly resources: Resources
  /** Clusters that the routes of the virtual host name. */
  readonly routed: ReadonlySet<string>
  /** Clusters that somebody wants though no route names them, and how many do. */
  readonly dynamic: ReadonlyMap<string, number>
  /** What was given out last. */
  readonly told: Told | undefined
  /** Whether that is all that is known: nothing holds it back. */
  readonly isWhole: boolean
}

/**
 * What a channel is told.
 *
 * @since 0.1.0
 */
export type Told =
  | { readonly _tag: "Config"; readonly config: Config }
  /** Nothing can be called: the listener or the routes are not there or cannot be used. */
  | { readonly _tag: "Failed"; readonly message: string }

/**
 * What happens.
 *
 * @since 0.1.0
 */
export type Input =
  | { readonly _tag: "Start" }
  | { [Each in Kind]: { readonly _tag: Each; readonly name: string; readonly known: Known<Values[Each]> } }[Kind]
  /** A cluster is wanted, or not any more, by somebody beside the routes. */
  | { readonly _tag: "Subscribe" | "Unsubscribe"; readonly cluster: string }

/**
 * What is to be done. `Refresh`: what is watched is asked for again.
 *
 * @since 0.1.0
 */
export type Output =
  { readonly _tag: "Watch" | "Unwatch" | "Refresh"; readonly kind: Kind; readonly name: string } | Told

/**
 * How deep aggregate clusters may be nested.
 *
 * @since 0.1.0
 */
export const { maxDepth } = ClusterGraph

const noResources: Resources = {
  Listener: new Map(),
  RouteConfiguration: new Map(),
  VirtualHost: new Map(),
  Cluster: new Map(),
  Assignment: new Map(),
  Dns: new Map()
}

/**
 * Nothing is watched yet.
 *
 * @since 0.1.0
 */
export const make = (name: string, authority: string): XdsConfig => ({
  name,
  authority,
  resources: noResources,
  routed: new Set(),
  dynamic: new Map(),
  told: undefined,
  isWhole: false
})

/** What is to be watched, as far as is known. */
type Needed = { readonly [Each in Kind]: Set<string> }

/**
 * Takes one input.
 *
 * @since 0.1.0
 */
export const step = (self: XdsConfig, input: Input): readonly [XdsConfig, ReadonlyArray<Output>] => {
  const refreshed: Array<string> = []
  let { dynamic, resources } = self
  switch (input._tag) {
    case "Start":
      break
    case "Subscribe":
    case "Unsubscribe": {
      const before = dynamic.get(input.cluster) ?? 0
      const count = before + (input._tag === "Subscribe" ? 1 : -1)
      const next = new Map(dynamic)
      if (count > 0) next.set(input.cluster, count)
      else next.delete(input.cluster)
      dynamic = next
      // Done for each call: nothing else is looked at where nothing comes of it.
      if ((before > 0 && count > 0) || self.routed.has(input.cluster)) return [{ ...self, dynamic }, []]
      break
    }
    case "Listener":
      resources = { ...resources, Listener: learn(resources.Listener, input.name, input.known) }
      break
    case "RouteConfiguration": {
      const { known, name } = input
      const before = sourceOf(resources.RouteConfiguration.get(name))
      resources = { ...resources, RouteConfiguration: learn(resources.RouteConfiguration, name, known) }
      const after = sourceOf(known)
      // ★ Another source: what was fetched from the one before is asked for again, and used until the answer is there.
      const isOther = before !== undefined && after !== undefined && !equals(ConfigSourceSchema, before, after)
      if (isOther) for (const host of resources.VirtualHost.keys()) refreshed.push(host)
      break
    }
    case "VirtualHost":
      resources = {
        ...resources,
        VirtualHost: learn(resources.VirtualHost, input.name, usable(self, input.name, input.known))
      }
      break
    case "Cluster":
      resources = { ...resources, Cluster: learn(resources.Cluster, input.name, input.known) }
      break
    case "Assignment":
      resources = { ...resources, Assignment: learn(resources.Assignment, input.name, input.known) }
      break
    case "Dns":
      resources = { ...resources, Dns: learn(resources.Dns, input.name, input.known) }
  }
  const less = ofOneLeaf(self, resources, input)
  if (less !== undefined) return less
  const outputs: Array<Output> = []
  const isOfRoutes = input._tag === "Listener" || input._tag === "RouteConfiguration" || input._tag === "VirtualHost"
  const routed = isOfRoutes ? routedBy({ ...self, resources }) : self.routed
  const needed = neededBy({ ...self, routed, dynamic, resources })
  resources = watch(resources, needed, outputs)
  for (const name of refreshed) {
    if (resources.VirtualHost.has(name)) outputs.push({ _tag: "Refresh", kind: "VirtualHost", name })
  }
  const next = { ...self, routed, dynamic, resources }
  const told = withSame(tell(next), self.told)
  if (told === undefined) return [{ ...next, isWhole: false }, outputs]
  if (isSame(told, self.told)) return [{ ...next, isWhole: true }, outputs]
  return [{ ...next, told, isWhole: true }, [...outputs, told]]
}

/**
 * The step where only endpoints change, or a cluster that finds them as before: what is watched stays, and of all clusters those alone
 * are looked at that have the endpoints. `undefined`: it is more than that.
 */
const ofOneLeaf = (
  self: XdsConfig,
  resources: Resources,
  input: Input
): readonly [XdsConfig, ReadonlyArray<Output>] | undefined => {
  if (!self.isWhole || self.told?._tag !== "Config") return undefined
  if (input._tag !== "Cluster" && input._tag !== "Assignment" && input._tag !== "Dns") return undefined
  const before = self.resources[input._tag].get(input.name)
  if (before === undefined) return undefined
  const { config } = self.told
  const names: Array<string> = []
  if (input._tag === "Cluster") {
    const [a, b] = [valueOf(self.resources.Cluster.get(input.name)), valueOf(resources.Cluster.get(input.name))]
    if (a === undefined || b === undefined || !ClusterGraph.needsSame(a, b)) return undefined
    names.push(input.name)
  } else {
    for (const [name, each] of config.clusters) {
      if (each._tag === "Leaf" && ClusterGraph.endpointsOf(each.cluster) === input.name) names.push(name)
    }
  }
  const clusters = new Map(config.clusters)
  let isOther = false
  for (const name of names) {
    const leaf = clusters.get(name)
    const found = new Map<string, ClusterConfig>()
    if (leaf === undefined || !ClusterGraph.resolve({ resources }, name, found)) continue
    const made = found.get(name)
    if (made === undefined || ClusterGraph.isSameCluster(made, leaf)) continue
    clusters.set(name, made)
    isOther = true
  }
  if (!isOther) return [{ ...self, resources }, []]
  const told: Told = { _tag: "Config", config: { ...config, clusters } }
  return [{ ...self, resources, told }, [told]]
}

const sourceOf = (known: Known<RouteTable> | undefined): ConfigSource | undefined => valueOf(known)?.vhds

/** Of what is not watched any more nothing is taken. */
const learn = <A>(
  map: ReadonlyMap<string, Known<A> | undefined>,
  name: string,
  known: Known<A>
): ReadonlyMap<string, Known<A> | undefined> => (map.has(name) ? new Map(map).set(name, known) : map)

const watch = (resources: Resources, needed: Needed, outputs: Array<Output>): Resources => {
  const bring = <A>(kind: Kind, before: ReadonlyMap<string, A | undefined>): ReadonlyMap<string, A | undefined> => {
    const wanted = needed[kind]
    const added = Array.from(wanted).filter((name) => !before.has(name))
    const dropped = Array.from(before.keys()).filter((name) => !wanted.has(name))
    if (added.length === 0 && dropped.length === 0) return before
    for (const name of added) outputs.push({ _tag: "Watch", kind, name })
    for (const name of dropped) outputs.push({ _tag: "Unwatch", kind, name })
    return new Map(Array.from(wanted, (name) => [name, before.get(name)]))
  }
  return {
    Listener: bring("Listener", resources.Listener),
    RouteConfiguration: bring("RouteConfiguration", resources.RouteConfiguration),
    VirtualHost: bring("VirtualHost", resources.VirtualHost),
    Cluster: bring("Cluster", resources.Cluster),
    Assignment: bring("Assignment", resources.Assignment),
    Dns: bring("Dns", resources.Dns)
  }
}

const valueOf = <A>(known: Known<A> | undefined): A | undefined => (known?._tag === "Value" ? known.value : undefined)

const tableOf = ({ name, resources }: XdsConfig): RouteTable | undefined => {
  const listener = valueOf(resources.Listener.get(name))
  if (listener === undefined) return undefined
  return listener.routes._tag === "Inline"
    ? listener.routes.table
    : valueOf(resources.RouteConfiguration.get(listener.routes.name))
}

/** The resource name of the virtual host that is to be fetched; `undefined`: none is. */
const fetchedName = (self: XdsConfig, table: RouteTable | undefined): string | undefined => {
  const { authority } = self
  const isFetched = table?.vhds !== undefined && RouteTables.virtualHost(table, authority) === undefined
  return isFetched && !authority.includes("/") ? `${table.name}/${authority.toLowerCase()}` : undefined
}

/** The virtual host of the authority: that of the route configuration, else the fetched one. */
const virtualHostOf = (self: XdsConfig, table: RouteTable | undefined): VirtualHost | undefined => {
  if (table === undefined) return undefined
  const name = fetchedName(self, table)
  if (name === undefined) return RouteTables.virtualHost(table, self.authority)
  const fetched = valueOf(self.resources.VirtualHost.get(name))
  // ★ A server may answer with one for other domains: that is none.
  return fetched !== undefined && VirtualHosts.isFor(fetched, self.authority) ? fetched : undefined
}

/**
 * ★ A domain that the route configuration has is its own: a fetched virtual host that claims one is rejected, and the one that is
 * held stays.
 */
const usable = (self: XdsConfig, name: string, known: Known<VirtualHost>): Known<VirtualHost> => {
  const table = tableOf(self)
  if (known._tag === "Failed" || table === undefined) return known
  const isOwn = (domain: string): boolean => {
    const own = RouteTables.virtualHost(table, domain)?.domains ?? []
    return own.some((each) => each.toLowerCase() === domain.toLowerCase())
  }
  const taken = known.value.domains.find(isOwn)
  if (taken === undefined) return known
  const before = self.resources.VirtualHost.get(name)
  if (before?._tag === "Value") return before
  const routes = JSON.stringify(table.name)
  return { _tag: "Failed", message: `the domain ${JSON.stringify(taken)} belongs to RouteConfiguration ${routes}` }
}

/** The clusters that the routes of the virtual host name. */
const routedBy = (self: XdsConfig): ReadonlySet<string> => {
  const clusters = new Set<string>()
  const virtualHost = virtualHostOf(self, tableOf(self))
  for (const route of virtualHost?.routes ?? []) {
    if (route._tag !== "Route") continue
    const { clusters: to } = route.action
    if (to._tag === "Cluster") clusters.add(to.cluster)
    else for (const { cluster } of to.targets) clusters.add(cluster)
  }
  return clusters
}

const neededBy = (self: XdsConfig): Needed => {
  const needed: Needed = {
    Listener: new Set([self.name]),
    RouteConfiguration: new Set(),
    VirtualHost: new Set(),
    Cluster: new Set(),
    Assignment: new Set(),
    Dns: new Set()
  }
  const listener = valueOf(self.resources.Listener.get(self.name))
  if (listener?.routes._tag === "Rds") needed.RouteConfiguration.add(listener.routes.name)
  const fetched = fetchedName(self, tableOf(self))
  if (fetched !== undefined) needed.VirtualHost.add(fetched)
  // ★ Level by level, so that each cluster is reached by its shortest way: one that is deep in an aggregate may stand in a
  // route, too, and what it names must not be left out.
  let level: ReadonlyArray<string> = [...self.routed, ...self.dynamic.keys()]
  for (let depth = 0; depth < maxDepth && level.length > 0; depth++) {
    const below: Array<string> = []
    for (const name of level) {
      if (needed.Cluster.has(name)) continue
      needed.Cluster.add(name)
      const discovery = valueOf(self.resources.Cluster.get(name))?.discovery
      if (discovery?._tag === "Eds") needed.Assignment.add(discovery.name)
      else if (discovery?._tag === "LogicalDns") needed.Dns.add(ClusterGraph.dnsName(discovery))
      else if (discovery?._tag === "Aggregate") for (const each of discovery.clusters) below.push(each)
    }
    level = below
  }
  return needed
}

/** What is to be told; `undefined`: something is not known yet, and what was told before goes on. */
const tell = (self: XdsConfig): Told | undefined => {
  const { authority, name, resources } = self
  const failed = (message: string): Told => ({ _tag: "Failed", message })
  const known = resources.Listener.get(name)
  if (known === undefined) return undefined
  if (known._tag === "Failed") return failed(`Listener ${JSON.stringify(name)}: ${known.message}`)
  const listener = known.value
  if (listener.routes._tag === "Rds") {
    const routes = resources.RouteConfiguration.get(listener.routes.name)
    if (routes === undefined) return undefined
    if (routes._tag === "Failed") {
      return failed(`RouteConfiguration ${JSON.stringify(listener.routes.name)}: ${routes.message}`)
    }
  }
  const table = tableOf(self)
  const virtualHost = virtualHostOf(self, table)
  const fetched = fetchedName(self, table)
  if (fetched !== undefined && virtualHost === undefined) {
    const known = resources.VirtualHost.get(fetched)
    // The decision waits for the host.
    if (known === undefined) return undefined
    if (known._tag === "Failed") return failed(`VirtualHost ${JSON.stringify(fetched)}: ${known.message}`)
  }
  if (table === undefined || virtualHost === undefined) {
    return failed(
      `no virtual host of RouteConfiguration ${JSON.stringify(table?.name)} is for ${JSON.stringify(authority)}`
    )
  }
  const clusters = new Map<string, ClusterConfig>()
  for (const cluster of self.routed) if (!ClusterGraph.resolve(self, cluster, clusters)) return undefined
  // ★ What is wanted beside the routes and not known yet does not hold back the rest.
  for (const cluster of self.dynamic.keys()) {
    if (clusters.has(cluster)) continue
    const found = new Map<string, ClusterConfig>()
    if (ClusterGraph.resolve(self, cluster, found)) for (const [each, config] of found) clusters.set(each, config)
  }
  return { _tag: "Config", config: { listener, table, virtualHost, clusters } }
}

/** What is to be told, with the values of before for clusters of which the same is said again. */
const withSame = (told: Told | undefined, before: Told | undefined): Told | undefined => {
  if (told?._tag !== "Config" || before?._tag !== "Config") return told
  const clusters = new Map<string, ClusterConfig>()
  for (const [name, config] of told.config.clusters) {
    const other = before.config.clusters.get(name)
    clusters.set(name, other !== undefined && ClusterGraph.isSameCluster(config, other) ? other : config)
  }
  return { _tag: "Config", config: { ...told.config, clusters } }
}

/** Whether the same is told again: equal parts are the same values. */
const isSame = (told: Told, before: Told | undefined): boolean => {
  if (before === undefined) return false
  if (told._tag === "Failed") return before._tag === "Failed" && told.message === before.message
  if (before._tag === "Failed") return false
  const [a, b] = [told.config, before.config]
  if (a.listener !== b.listener || a.table !== b.table || a.virtualHost !== b.virtualHost) return false
  if (a.clusters.size !== b.clusters.size) return false
  for (const [name, config] of a.clusters) if (config !== b.clusters.get(name)) return false
  return true
}
