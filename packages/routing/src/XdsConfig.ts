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
import { type ClusterConfig, type Known, valueOf } from "./internal/ClusterGraph.js"
import type { Listener } from "./Listener.js"
import * as HashSet from "effect/HashSet"
import * as FetchedHost from "./internal/FetchedHost.js"
import * as ScopeTables from "./internal/ScopeTables.js"
import type { Scoped, RouteScopes } from "./RouteScope.js"
import type { RouteTable } from "./RouteTable.js"
import type { VirtualHost } from "./VirtualHost.js"

/**
 * What is watched. `Scopes`: scoped routes, by `*` or a collection. `Dns`: the addresses of `host:port`. `VirtualHost`: `<route configuration>/<authority>`, where the routes have
 * none for the authority and fetch them on demand (VHDS).
 *
 * @since 0.1.0
 */
export type Kind = "Listener" | "Scopes" | "RouteConfiguration" | "VirtualHost" | "Cluster" | "Assignment" | "Dns"

export type { ClusterConfig, Known } from "./internal/ClusterGraph.js"
export type { ScopeTables } from "./internal/ScopeTables.js"

/**
 * A whole configuration.
 *
 * @since 0.1.0
 */
export interface Config {
  readonly listener: Listener
  /** `undefined`: the listener has scoped routes. */
  readonly table: RouteTable | undefined
  /** `undefined` with scoped routes: calls choose it by their headers, from `scopes`. */
  readonly virtualHost: VirtualHost | undefined
  readonly scopes: ScopeTables.ScopeTables | undefined
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
  readonly Scopes: RouteScopes
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
  /** What is watched; `undefined`: nothing is known of it yet. Routes of scopes are in `scoped`. */
  readonly resources: Resources
  /** The routes of scopes; `undefined`: the listener has no scoped routes. */
  readonly scoped: ScopeTables.ScopeTables | undefined
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
  /** There is a call with this key: the routes of its scope are wanted. */
  | { readonly _tag: "Scope"; readonly key: string }

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
  Scopes: new Map(),
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
  scoped: undefined,
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
    case "Scope":
      // Done for each call that waits for its scope.
      if (self.scoped === undefined || ScopeTables.isUsed(self.scoped, input.key)) return [self, []]
      break
    case "Listener":
      resources = { ...resources, Listener: learn(resources.Listener, input.name, input.known) }
      break
    case "Scopes":
      resources = { ...resources, Scopes: learn(resources.Scopes, input.name, input.known) }
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
        VirtualHost: learn(
          resources.VirtualHost,
          input.name,
          FetchedHost.usable(tableOf(self), input.known, resources.VirtualHost.get(input.name))
        )
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
  const scoped = scopedAfter({ ...self, resources }, input, outputs)
  const routed = routedBy({ ...self, scoped, resources }, input)
  const isOfScope = scoped !== undefined && input._tag !== "Listener" && input._tag !== "Scopes"
  // What the routes of a scope say changes nothing else that is watched, if they name no other clusters.
  const isSameTree = isOfScope && !isOfClusters(input) && routed === self.routed && self.told?._tag === "Config"
  if (!isSameTree) resources = watch(resources, neededBy({ ...self, scoped, routed, dynamic, resources }), outputs)
  for (const name of refreshed) {
    if (resources.VirtualHost.has(name)) outputs.push({ _tag: "Refresh", kind: "VirtualHost", name })
  }
  const next = { ...self, scoped, routed, dynamic, resources }
  const told = withSame(tell(next, isSameTree), self.told)
  if (told === undefined) return [{ ...next, isWhole: false }, outputs]
  const isWhole = scoped === undefined || HashSet.size(scoped.pending) === 0
  if (isSame(told, self.told)) return [{ ...next, isWhole }, outputs]
  return [{ ...next, told, isWhole }, [...outputs, told]]
}

const isOfClusters = ({ _tag }: Input): boolean =>
  _tag === "Cluster" || _tag === "Assignment" || _tag === "Dns" || _tag === "Subscribe" || _tag === "Unsubscribe"

/** The routes of scopes after an input; resources are what is known then. */
const scopedAfter = (self: XdsConfig, input: Input, outputs: Array<Output>): ScopeTables.ScopeTables | undefined => {
  const routes = valueOf(self.resources.Listener.get(self.name))?.routes
  let scoped = self.scoped ?? (routes?._tag === "Scoped" ? ScopeTables.empty : undefined)
  if (scoped === undefined) return undefined
  const context = {
    authority: self.authority,
    isKnown: (cluster: string) => ClusterGraph.resolve(self, cluster, new Map())
  }
  const give = (tables: ScopeTables.ScopeTables, given: ScopeTables.Input): ScopeTables.ScopeTables => {
    const [next, made] = ScopeTables.step(tables, given, context)
    for (const output of made) outputs.push(output)
    return next
  }
  if (routes?._tag !== "Scoped") {
    give(scoped, { _tag: "Close" })
    return undefined
  }
  // ★ Until other scopes are known, those before serve.
  const scopes = scopesOf(self.resources, routes)
  if (scopes !== undefined && scopes !== scoped.scopes) scoped = give(scoped, { _tag: "Scopes", scopes })
  if (input._tag === "Scope") return give(scoped, { _tag: "Use", key: input.key })
  if (input._tag === "RouteConfiguration" || input._tag === "VirtualHost") return give(scoped, input)
  return isOfClusters(input) && HashSet.size(scoped.pending) > 0 ? give(scoped, { _tag: "Clusters" }) : scoped
}

const scopesOf = (resources: Resources, { scopes }: Scoped): RouteScopes | undefined =>
  scopes._tag === "Given" ? scopes.scopes : valueOf(resources.Scopes.get(scopes.name))

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
    Scopes: bring("Scopes", resources.Scopes),
    RouteConfiguration: bring("RouteConfiguration", resources.RouteConfiguration),
    VirtualHost: bring("VirtualHost", resources.VirtualHost),
    Cluster: bring("Cluster", resources.Cluster),
    Assignment: bring("Assignment", resources.Assignment),
    Dns: bring("Dns", resources.Dns)
  }
}

const tableOf = ({ name, resources }: XdsConfig): RouteTable | undefined => {
  const listener = valueOf(resources.Listener.get(name))
  if (listener === undefined || listener.routes._tag === "Scoped") return undefined
  return listener.routes._tag === "Inline"
    ? listener.routes.table
    : valueOf(resources.RouteConfiguration.get(listener.routes.name))
}

/** The virtual host of the authority. */
const virtualHostOf = ({ authority, resources }: XdsConfig, table: RouteTable | undefined): VirtualHost | undefined =>
  FetchedHost.choose(table, authority, (name) => resources.VirtualHost.get(name))

/** The clusters that routes name, after an input. */
const routedBy = (self: XdsConfig, { _tag }: Input): ReadonlySet<string> => {
  if (self.scoped !== undefined) return self.scoped.clusters
  const isOfRoutes = _tag === "Listener" || _tag === "Scopes" || _tag === "RouteConfiguration" || _tag === "VirtualHost"
  return isOfRoutes ? FetchedHost.clustersOf(virtualHostOf(self, tableOf(self))) : self.routed
}

const neededBy = (self: XdsConfig): Needed => {
  const needed: Needed = {
    Listener: new Set([self.name]),
    Scopes: new Set(),
    RouteConfiguration: new Set(),
    VirtualHost: new Set(),
    Cluster: new Set(),
    Assignment: new Set(),
    Dns: new Set()
  }
  const listener = valueOf(self.resources.Listener.get(self.name))
  if (listener?.routes._tag === "Rds") needed.RouteConfiguration.add(listener.routes.name)
  if (listener?.routes._tag === "Scoped" && listener.routes.scopes._tag === "Watched") {
    needed.Scopes.add(listener.routes.scopes.name)
  }
  const fetched = FetchedHost.nameOf(tableOf(self), self.authority)
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

/**
 * What is to be told; `undefined`: something is not known yet, and what was told before goes on.
 *
 * @param isSameTree clusters are as they were told
 */
const tell = (self: XdsConfig, isSameTree: boolean): Told | undefined => {
  const { authority, name, resources } = self
  const failed = (message: string): Told => ({ _tag: "Failed", message })
  const known = resources.Listener.get(name)
  if (known === undefined) return undefined
  if (known._tag === "Failed") return failed(`Listener ${JSON.stringify(name)}: ${known.message}`)
  const listener = known.value
  if (listener.routes._tag === "Scoped") return tellScoped(self, listener, listener.routes, isSameTree)
  if (listener.routes._tag === "Rds") {
    const routes = resources.RouteConfiguration.get(listener.routes.name)
    if (routes === undefined) return undefined
    if (routes._tag === "Failed") {
      return failed(`RouteConfiguration ${JSON.stringify(listener.routes.name)}: ${routes.message}`)
    }
  }
  const table = tableOf(self)
  const virtualHost = virtualHostOf(self, table)
  const fetched = FetchedHost.nameOf(table, authority)
  if (fetched !== undefined && virtualHost === undefined) {
    const known = resources.VirtualHost.get(fetched)
    // The decision waits for the host.
    if (known === undefined) return undefined
    if (known._tag === "Failed") return failed(`VirtualHost ${JSON.stringify(fetched)}: ${known.message}`)
  }
  if (table === undefined || virtualHost === undefined) {
    return failed(FetchedHost.words(table, authority))
  }
  const clusters = new Map<string, ClusterConfig>()
  for (const cluster of self.routed) if (!ClusterGraph.resolve(self, cluster, clusters)) return undefined
  // ★ What is wanted beside the routes and not known yet does not hold back the rest.
  for (const cluster of self.dynamic.keys()) {
    if (clusters.has(cluster)) continue
    const found = new Map<string, ClusterConfig>()
    if (ClusterGraph.resolve(self, cluster, found)) for (const [each, config] of found) clusters.set(each, config)
  }
  return { _tag: "Config", config: { listener, table, virtualHost, scopes: undefined, clusters } }
}

/** ★ Each scope has its outcome when all of it is known, and what is not known yet of one does not hold back the others. */
const tellScoped = (self: XdsConfig, listener: Listener, routes: Scoped, isSameTree: boolean): Told | undefined => {
  const { dynamic, resources, routed, scoped, told } = self
  if (scoped === undefined || scopesOf(resources, routes) === undefined) {
    const known = routes.scopes._tag === "Watched" ? resources.Scopes.get(routes.scopes.name) : undefined
    if (known?._tag !== "Failed") return undefined
    return { _tag: "Failed", message: `the scopes of ${JSON.stringify(routes.name)}: ${known.message}` }
  }
  const before = told?._tag === "Config" ? told.config.clusters : undefined
  const config = { listener, table: undefined, virtualHost: undefined, scopes: scoped }
  if (isSameTree && before !== undefined) return { _tag: "Config", config: { ...config, clusters: before } }
  const clusters = new Map<string, ClusterConfig>()
  for (const cluster of new Set([...routed, ...dynamic.keys()])) {
    if (clusters.has(cluster)) continue
    const needed = new Map<string, ClusterConfig>()
    if (ClusterGraph.resolve(self, cluster, needed)) for (const [each, made] of needed) clusters.set(each, made)
    else keep(cluster, before, clusters)
  }
  return { _tag: "Config", config: { ...config, clusters } }
}

/** What was told before of a cluster of which something is not known any more. */
const keep = (
  cluster: string,
  before: ReadonlyMap<string, ClusterConfig> | undefined,
  clusters: Map<string, ClusterConfig>
): void => {
  const config = before?.get(cluster)
  if (config === undefined || clusters.has(cluster)) return
  clusters.set(cluster, config)
  if (config._tag === "Aggregate") for (const leaf of config.leaves) keep(leaf, before, clusters)
}

/** What is to be told, with the values of before for clusters of which the same is said again. */
const withSame = (told: Told | undefined, before: Told | undefined): Told | undefined => {
  if (told?._tag !== "Config" || before?._tag !== "Config") return told
  if (told.config.clusters === before.config.clusters) return told
  const clusters = new Map<string, ClusterConfig>()
  let isOther = false
  for (const [name, config] of told.config.clusters) {
    const other = before.config.clusters.get(name)
    const same = other !== undefined && ClusterGraph.isSameCluster(config, other) ? other : config
    clusters.set(name, same)
    if (same !== other) isOther = true
  }
  if (!isOther && clusters.size === before.config.clusters.size) {
    return { _tag: "Config", config: { ...told.config, clusters: before.config.clusters } }
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
  if (a.scopes !== b.scopes && (!a.scopes || !b.scopes || !ScopeTables.isSame(a.scopes, b.scopes))) return false
  if (a.clusters === b.clusters) return true
  if (a.clusters.size !== b.clusters.size) return false
  for (const [name, config] of a.clusters) if (config !== b.clusters.get(name)) return false
  return true
}
