/**
 * The routes of scopes that calls belong to: a scope is in use from its first call on, and its routes are watched as long as the
 * scope is there.
 *
 * Scopes with one RouteConfiguration share its table. What a step costs depends on what changes and not on the number of scopes;
 * those in use are looked through when all scopes are others.
 */
import { equals } from "@bufbuild/protobuf"
import { ConfigSourceSchema } from "@effect-xds/proto/envoy/config/core/v3/config_source"
import * as HashMap from "effect/HashMap"
import * as HashSet from "effect/HashSet"
import * as Option from "effect/Option"
import type { RouteScopes, Routes } from "../RouteScope.js"
import * as Scopes from "../RouteScope.js"
import type { RouteTable } from "../RouteTable.js"
import type { VirtualHost } from "../VirtualHost.js"
import { type Known, valueOf } from "./ClusterGraph.js"
import * as FetchedHost from "./FetchedHost.js"

/** What the routes of a scope are for its calls. */
export type Outcome =
  | { readonly _tag: "VirtualHost"; readonly virtualHost: VirtualHost }
  | { readonly _tag: "Failed"; readonly message: string }

/** The routes of scopes. */
interface Table {
  readonly routes: Routes
  /** How many scopes have it, now or before. */
  readonly uses: number
  readonly known: Known<RouteTable> | undefined
  /** The virtual host that is fetched, as far as it can be used here. */
  readonly fetched: { readonly name: string; readonly known: Known<VirtualHost> | undefined } | undefined
  /** `undefined`: calls wait. */
  readonly outcome: Outcome | undefined
  /** ★ What the outcome will be when its clusters are known. Until then the one before serves. */
  readonly next: VirtualHost | undefined
  /** Keys of scopes whose calls go by the table of before until this one has an outcome. */
  readonly followers: HashSet.HashSet<string>
}

/** A scope that is in use. */
interface Use {
  readonly table: string
  /** ★ The table that serves until that one has an outcome. */
  readonly before: string | undefined
}

/** A virtual host that is fetched, and the tables that fetch it. */
interface Host {
  readonly known: Known<VirtualHost> | undefined
  readonly tables: HashSet.HashSet<string>
}

export interface ScopeTables {
  readonly scopes: RouteScopes
  /** By key. */
  readonly uses: HashMap.HashMap<string, Use>
  readonly tables: HashMap.HashMap<string, Table>
  readonly hosts: HashMap.HashMap<string, Host>
  /** Tables with a `next`. */
  readonly pending: HashSet.HashSet<string>
  /** How many virtual hosts of tables name a cluster. */
  readonly named: HashMap.HashMap<string, number>
  /** The clusters of those. The same value while they are the same. */
  readonly clusters: ReadonlySet<string>
  /** Is another number when calls go by other routes. */
  readonly revision: number
}

export type Input =
  /** The scopes that there are. */
  | { readonly _tag: "Scopes"; readonly scopes: RouteScopes }
  /** A call belongs to the scope with this key. */
  | { readonly _tag: "Use"; readonly key: string }
  | { readonly _tag: "RouteConfiguration"; readonly name: string; readonly known: Known<RouteTable> }
  | { readonly _tag: "VirtualHost"; readonly name: string; readonly known: Known<VirtualHost> }
  /** More may be known of clusters. */
  | { readonly _tag: "Clusters" }
  | { readonly _tag: "Close" }

export interface Output {
  readonly _tag: "Watch" | "Unwatch" | "Refresh"
  readonly kind: "RouteConfiguration" | "VirtualHost"
  readonly name: string
}

export interface Context {
  readonly authority: string
  /** Whether a cluster, with all that it needs, is known. */
  readonly isKnown: (cluster: string) => boolean
}

export const empty: ScopeTables = {
  scopes: Scopes.none,
  uses: HashMap.empty(),
  tables: HashMap.empty(),
  hosts: HashMap.empty(),
  pending: HashSet.empty(),
  named: HashMap.empty(),
  clusters: new Set(),
  revision: 0
}

/** Whether calls go by these scopes, and have the same outcomes. */
export const isSame = (a: ScopeTables, b: ScopeTables): boolean =>
  a.scopes === b.scopes && a.revision === b.revision && a.clusters === b.clusters

export const isUsed = ({ uses }: ScopeTables, key: string): boolean => HashMap.has(uses, key)

/** What calls with a key get; `undefined`: they wait, if their scope is there. */
export const outcomeOf = (self: ScopeTables, key: string): Outcome | undefined => {
  const use = get(self.uses, key)
  if (use === undefined) return undefined
  const { outcome } = get(self.tables, use.table) ?? {}
  return outcome ?? (use.before === undefined ? undefined : get(self.tables, use.before)?.outcome)
}

/** What calls with a key wait for: a resource, or that what failed is mended, or else clusters. */
export const waitsFor = (
  self: ScopeTables,
  key: string
): Pick<Output, "kind" | "name"> | (Outcome & { readonly _tag: "Failed" }) | undefined => {
  const outcome = outcomeOf(self, key)
  if (outcome !== undefined) return outcome._tag === "Failed" ? outcome : undefined
  const use = get(self.uses, key)
  const table = use === undefined ? undefined : get(self.tables, use.table)
  if (table === undefined) return undefined
  if (table.known === undefined && table.routes._tag === "Rds") {
    return { kind: "RouteConfiguration", name: table.routes.name }
  }
  return table.fetched !== undefined && table.fetched.known === undefined
    ? { kind: "VirtualHost", name: table.fetched.name }
    : undefined
}

export const step = (
  self: ScopeTables,
  input: Input,
  context: Context
): readonly [ScopeTables, ReadonlyArray<Output>] => {
  const draft = new Draft(self, context)
  switch (input._tag) {
    case "Scopes":
      draft.change(input.scopes)
      break
    case "Use":
      draft.use(input.key)
      break
    case "RouteConfiguration":
      draft.learn(input.name, input.known)
      break
    case "VirtualHost":
      draft.learnHost(input.name, input.known)
      break
    case "Clusters":
      draft.retry()
      break
    case "Close":
      draft.close()
  }
  return [draft.end(), draft.outputs]
}

const get = <A>(map: HashMap.HashMap<string, A>, key: string): A | undefined =>
  Option.getOrUndefined(HashMap.get(map, key))

/** ★ Routes that are in a scope are those of its key: what serves calls for a while may not become what others are given. */
const idOf = ({ key, name, routes }: Scopes.RouteScope): string =>
  routes._tag === "Rds" ? `rds ${routes.name}` : `scope ${key} ${name}`

const tablesOf = ({ before, table }: Use): ReadonlyArray<string> => (before === undefined ? [table] : [table, before])

const none: ReadonlySet<string> = new Set()

/** The draft of one step. */
class Draft {
  readonly outputs: Array<Output> = []
  private scopes: RouteScopes
  private uses: HashMap.HashMap<string, Use>
  private tables: HashMap.HashMap<string, Table>
  private hosts: HashMap.HashMap<string, Host>
  private pending: HashSet.HashSet<string>
  private named: HashMap.HashMap<string, number>
  private revision: number
  /** Whether the names of clusters are others. */
  private isOther = false

  constructor(
    private readonly self: ScopeTables,
    private readonly context: Context
  ) {
    this.scopes = self.scopes
    this.uses = self.uses
    this.tables = self.tables
    this.hosts = self.hosts
    this.pending = self.pending
    this.named = self.named
    this.revision = self.revision
  }

  end(): ScopeTables {
    const { hosts, named, pending, revision, scopes, tables, uses } = this
    const clusters = this.isOther ? new Set(HashMap.keys(named)) : this.self.clusters
    return { scopes, uses, tables, hosts, pending, named, clusters, revision }
  }

  change(scopes: RouteScopes): void {
    const { since } = scopes
    const isNext = since !== undefined && since.byKey === this.self.scopes.byKey
    this.scopes = scopes
    const left: Array<string> = []
    for (const key of isNext ? since.keys : HashMap.keys(this.self.uses)) {
      const scope = Scopes.find(scopes, key)
      const use = get(this.uses, key)
      if (use === undefined) continue
      if (scope === undefined) {
        this.uses = HashMap.remove(this.uses, key)
        for (const each of tablesOf(use)) left.push(each)
        this.revision++
        continue
      }
      const id = idOf(scope)
      const table = get(this.tables, id)
      if (id !== use.table) for (const each of this.move(key, use, scope)) left.push(each)
      else if (table !== undefined && scope.routes._tag === "Inline") this.give(id, table, scope.routes)
    }
    // ★ Last: what one scope leaves another may take.
    for (const id of left) this.release(id)
  }

  use(key: string): void {
    const scope = Scopes.find(this.scopes, key)
    if (scope === undefined || HashMap.has(this.uses, key)) return
    const table = idOf(scope)
    this.uses = HashMap.set(this.uses, key, { table, before: undefined })
    this.retain(table, scope.routes)
    if (get(this.tables, table)?.outcome !== undefined) this.revision++
  }

  learn(name: string, known: Known<RouteTable>): void {
    const id = `rds ${name}`
    const table = get(this.tables, id)
    if (table !== undefined) this.know(id, table, known)
  }

  learnHost(name: string, known: Known<VirtualHost>): void {
    const host = get(this.hosts, name)
    if (host === undefined) return
    this.hosts = HashMap.set(this.hosts, name, { ...host, known })
    for (const id of host.tables) {
      const table = get(this.tables, id)
      if (table?.fetched === undefined) continue
      const used = FetchedHost.usable(valueOf(table.known), known, table.fetched.known)
      this.put(id, { ...table, fetched: { name, known: used } })
      this.settle(id)
    }
  }

  retry(): void {
    for (const id of this.pending) this.settle(id)
  }

  close(): void {
    this.scopes = Scopes.none
    for (const use of HashMap.values(this.uses)) for (const id of tablesOf(use)) this.release(id)
    this.uses = HashMap.empty()
    this.revision++
  }

  /** Another table for the calls of a scope. Returns those that it leaves. */
  private move(key: string, use: Use, scope: Scopes.RouteScope): ReadonlyArray<string> {
    const table = idOf(scope)
    this.retain(table, scope.routes)
    const made = get(this.tables, table)
    // ★ The one that has an outcome serves on.
    const hasOutcome = get(this.tables, use.table)?.outcome !== undefined
    const before = made?.outcome !== undefined ? undefined : hasOutcome ? use.table : use.before
    this.uses = HashMap.set(this.uses, key, { table, before })
    this.revision++
    if (before !== undefined && made !== undefined) {
      this.put(table, { ...made, followers: HashSet.add(made.followers, key) })
    }
    return tablesOf(use).filter((id) => id !== before)
  }

  private give(id: string, table: Table, routes: Routes & { readonly _tag: "Inline" }): void {
    if (valueOf(table.known) === routes.table) return
    this.put(id, { ...table, routes })
    this.know(id, { ...table, routes }, { _tag: "Value", value: routes.table })
  }

  private know(id: string, table: Table, known: Known<RouteTable>): void {
    this.put(id, { ...table, known })
    // ★ Another source: what was fetched from the one before is asked for again, and used until the answer is there.
    const [a, b] = [valueOf(table.known)?.vhds, valueOf(known)?.vhds]
    const isOther = a !== undefined && b !== undefined && !equals(ConfigSourceSchema, a, b)
    this.settle(id)
    const name = get(this.tables, id)?.fetched?.name
    if (isOther && name !== undefined && name === table.fetched?.name) {
      this.outputs.push({ _tag: "Refresh", kind: "VirtualHost", name })
    }
  }

  private retain(id: string, routes: Routes): void {
    const table = get(this.tables, id)
    if (table !== undefined) {
      this.put(id, { ...table, uses: table.uses + 1 })
      if (routes._tag === "Inline") this.give(id, { ...table, uses: table.uses + 1 }, routes)
      return
    }
    const made: Table = {
      routes,
      uses: 1,
      known: undefined,
      fetched: undefined,
      outcome: undefined,
      next: undefined,
      followers: HashSet.empty()
    }
    this.put(id, made)
    if (routes._tag === "Rds") this.outputs.push({ _tag: "Watch", kind: "RouteConfiguration", name: routes.name })
    else this.know(id, made, { _tag: "Value", value: routes.table })
  }

  private release(id: string): void {
    const table = get(this.tables, id)
    if (table === undefined) return
    if (table.uses > 1) return this.put(id, { ...table, uses: table.uses - 1 })
    this.tables = HashMap.remove(this.tables, id)
    this.pending = HashSet.remove(this.pending, id)
    this.recount(clustersOf(table), none)
    if (table.fetched !== undefined) this.unfetch(id, table.fetched.name)
    const { routes } = table
    if (routes._tag === "Rds") this.outputs.push({ _tag: "Unwatch", kind: "RouteConfiguration", name: routes.name })
  }

  /** Brings the outcome of a table to what is known. */
  private settle(id: string): void {
    const table = get(this.tables, id)
    if (table?.known === undefined) return
    if (table.known._tag === "Failed") {
      const name = table.routes._tag === "Rds" ? table.routes.name : id
      return this.decide(id, {
        _tag: "Failed",
        message: `RouteConfiguration ${JSON.stringify(name)}: ${table.known.message}`
      })
    }
    const { value } = table.known
    const { authority, isKnown } = this.context
    const fetched = this.fetch(id, table, value)
    const virtualHost = FetchedHost.choose(value, authority, () => fetched?.known)
    if (virtualHost !== undefined) {
      const clusters = FetchedHost.clustersOf(virtualHost)
      for (const cluster of clusters) if (!isKnown(cluster)) return this.await(id, virtualHost)
      return this.decide(id, { _tag: "VirtualHost", virtualHost })
    }
    // The decision waits for the host.
    if (fetched !== undefined && fetched.known === undefined) return
    const message =
      fetched?.known?._tag === "Failed"
        ? `VirtualHost ${JSON.stringify(fetched.name)}: ${fetched.known.message}`
        : FetchedHost.words(value, authority)
    this.decide(id, { _tag: "Failed", message })
  }

  /** Begins to fetch the virtual host that the table lacks, and ends it where it has its own. */
  private fetch(id: string, table: Table, value: RouteTable): Table["fetched"] {
    const name = FetchedHost.nameOf(value, this.context.authority)
    const before = table.fetched
    if (name === before?.name) return before
    if (before !== undefined) this.unfetch(id, before.name)
    let fetched: Table["fetched"]
    if (name !== undefined) {
      const host = get(this.hosts, name)
      if (host === undefined) this.outputs.push({ _tag: "Watch", kind: "VirtualHost", name })
      const known = host?.known === undefined ? undefined : FetchedHost.usable(value, host.known, undefined)
      const tables = HashSet.add(host?.tables ?? HashSet.empty<string>(), id)
      this.hosts = HashMap.set(this.hosts, name, { known: host?.known, tables })
      fetched = { name, known }
    }
    this.put(id, { ...table, fetched })
    return fetched
  }

  private unfetch(id: string, name: string): void {
    const host = get(this.hosts, name)
    if (host === undefined) return
    const tables = HashSet.remove(host.tables, id)
    if (HashSet.size(tables) > 0) {
      this.hosts = HashMap.set(this.hosts, name, { ...host, tables })
      return
    }
    this.hosts = HashMap.remove(this.hosts, name)
    this.outputs.push({ _tag: "Unwatch", kind: "VirtualHost", name })
  }

  private await(id: string, next: VirtualHost): void {
    const table = get(this.tables, id)
    if (table === undefined || table.next === next) return
    this.pending = HashSet.add(this.pending, id)
    this.replace(id, table, { ...table, next })
  }

  private decide(id: string, outcome: Outcome): void {
    const table = get(this.tables, id)
    if (table === undefined) return
    this.pending = HashSet.remove(this.pending, id)
    if (isSameOutcome(table.outcome, outcome) && table.next === undefined) return
    this.revision++
    this.replace(id, table, { ...table, outcome, next: undefined, followers: HashSet.empty() })
    for (const key of table.followers) {
      const use = get(this.uses, key)
      if (use?.table !== id || use.before === undefined) continue
      this.uses = HashMap.set(this.uses, key, { table: id, before: undefined })
      this.release(use.before)
    }
  }

  private replace(id: string, before: Table, after: Table): void {
    this.put(id, after)
    this.recount(clustersOf(before), clustersOf(after))
  }

  private recount(before: ReadonlySet<string>, after: ReadonlySet<string>): void {
    const add = (cluster: string, by: number): void => {
      const old = get(this.named, cluster) ?? 0
      const count = old + by
      this.named = count > 0 ? HashMap.set(this.named, cluster, count) : HashMap.remove(this.named, cluster)
      if (old > 0 !== count > 0) this.isOther = true
    }
    // Those that stay never go down to none.
    for (const cluster of after) if (!before.has(cluster)) add(cluster, 1)
    for (const cluster of before) if (!after.has(cluster)) add(cluster, -1)
  }

  private put(id: string, table: Table): void {
    this.tables = HashMap.set(this.tables, id, table)
  }
}

/** Those of the virtual host that is used, and of the one that will be. */
const clustersOf = ({ next, outcome }: Table): ReadonlySet<string> => {
  const now = outcome?._tag === "VirtualHost" ? FetchedHost.clustersOf(outcome.virtualHost) : none
  return next === undefined ? now : new Set([...now, ...FetchedHost.clustersOf(next)])
}

const isSameOutcome = (a: Outcome | undefined, b: Outcome): boolean => {
  if (a?._tag === "VirtualHost") return b._tag === "VirtualHost" && a.virtualHost === b.virtualHost
  return a?._tag === "Failed" && b._tag === "Failed" && a.message === b.message
}
