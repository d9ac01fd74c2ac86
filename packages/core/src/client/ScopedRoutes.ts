/**
 * Scoped routes (SRDS) as a client uses them: the headers of a request make a key, the key names a scope, and the scope says
 * which route configuration the request is routed by. With `on_demand` that route configuration is watched from the first
 * request on.
 *
 * What a request finds in the route configuration is the business of a table: {@link VirtualHosts} of that route configuration.
 * Outputs open and close tables and hand requests to them; inputs report what the tables answer.
 *
 * @see https://www.envoyproxy.io/docs/envoy/latest/api-v3/config/route/v3/scoped_route.proto
 * @since 0.1.0
 */
import * as HashMap from "effect/HashMap"
import * as Option from "effect/Option"
import type { Outcome as TableOutcome } from "./VirtualHosts.js"

/**
 * The options. Fixed.
 *
 * @since 0.1.0
 */
export interface Options {
  /** Milliseconds that a request may take in all: for scopes, route configuration and virtual host. Default: 5 000. */
  readonly timeout: number
  /** Most requests that wait. Default: 10 000. */
  readonly maxWaiting: number
}

/**
 * The default options.
 *
 * @since 0.1.0
 */
export const defaults: Options = { timeout: 5_000, maxWaiting: 10_000 }

/**
 * Where the routes of a scope are: in a route configuration to watch, or in the scope itself.
 *
 * @since 0.1.0
 */
export type Routes<R> =
  { readonly _tag: "Named"; readonly name: string } | { readonly _tag: "Given"; readonly value: R }

/**
 * A scope.
 *
 * @since 0.1.0
 */
export interface Scope<R> {
  /** As `ScopeKey.make` writes it. */
  readonly key: string
  /** Whether its route configuration is watched only when a request needs it. */
  readonly onDemand: boolean
  readonly routes: Routes<R>
}

/**
 * An event.
 *
 * @since 0.1.0
 */
export type Input<R, A> =
  /** Scopes came, changed, or went (`undefined`): all changes of one response are one input. */
  | { readonly _tag: "Scopes"; readonly changes: ReadonlyArray<readonly [name: string, scope: Scope<R> | undefined]> }
  /** The server has said which scopes there are. Until then, requests wait. */
  | { readonly _tag: "Answered" }
  /** No server can be reached: requests wait on, and say why if they wait in vain. */
  | { readonly _tag: "Unreachable"; readonly reason: string }
  /**
   * A request with the key of its headers; `undefined`: they make none. Request ids are never used twice. `until`: a shorter wait,
   * in milliseconds.
   */
  | {
      readonly _tag: "Request"
      readonly request: number
      readonly key: string | undefined
      readonly host: string
      readonly until?: number | undefined
    }
  /** A request that waits has ended. */
  | { readonly _tag: "Cancel"; readonly request: number }
  /** The table that a request was handed to has answered. */
  | {
      readonly _tag: "Outcome"
      readonly table: string
      readonly request: number
      readonly outcome: TableOutcome<A>
    }
  | { readonly _tag: "Deadline" }

/**
 * The outcome of a request.
 *
 * @since 0.1.0
 */
export type Outcome<A> =
  | TableOutcome<A>
  /** ★ It is of no scope: 404. */
  | { readonly _tag: "NoScope" }

/**
 * An instruction or event for the driver. `table`: identity of a table.
 *
 * @since 0.1.0
 */
export type Output<R, A> =
  | { readonly _tag: "Open"; readonly table: string; readonly routes: Routes<R> }
  /** The routes that a scope holds itself have changed. */
  | { readonly _tag: "Give"; readonly table: string; readonly value: R }
  /** ★ No request is in it any more. */
  | { readonly _tag: "Close"; readonly table: string }
  /** Ask the table for the virtual host; `until`: the end of the wait, in milliseconds. Answer with `Outcome`. */
  | {
      readonly _tag: "Find"
      readonly table: string
      readonly request: number
      readonly host: string
      readonly until: number
    }
  /** The request is not the table's any more. */
  | { readonly _tag: "Withdraw"; readonly table: string; readonly request: number }
  /** `table`: who answered it, if a table did. */
  | {
      readonly _tag: "Answer"
      readonly request: number
      readonly table: string | undefined
      readonly outcome: Outcome<A>
    }

interface Waiter {
  readonly key: string
  readonly host: string
  /** Milliseconds. */
  readonly until: number
  /** The table that it was handed to; `undefined`: the scopes are awaited. */
  readonly table: string | undefined
}

interface Table<R> {
  readonly routes: Routes<R>
  /** How many scopes use it. */
  readonly scopes: number
  /** How many of them are not on demand. */
  readonly eager: number
  readonly isOpen: boolean
}

/**
 * The state. Made by {@link make}, changed by {@link step}; its fields are private.
 *
 * @since 0.1.0
 */
export interface ScopedRoutes<out R> {
  readonly options: Options
  readonly isAnswered: boolean
  /** Why the scopes have not come. */
  readonly reason: string
  /** By name. */
  readonly scopes: HashMap.HashMap<string, Scope<R>>
  /** Key → name. */
  readonly names: HashMap.HashMap<string, string>
  readonly tables: HashMap.HashMap<string, Table<R>>
  readonly waiting: HashMap.HashMap<number, Waiter>
  /** Not later than the end of the first wait for scopes, in milliseconds. */
  readonly dueAt: number
}

const never = Number.POSITIVE_INFINITY

/**
 * No scope is known yet.
 *
 * @since 0.1.0
 */
export const make = <R>(options: Partial<Options> = {}): ScopedRoutes<R> => ({
  options: { ...defaults, ...options },
  isAnswered: false,
  reason: "",
  scopes: HashMap.empty(),
  names: HashMap.empty(),
  tables: HashMap.empty(),
  waiting: HashMap.empty(),
  dueAt: never
})

/**
 * Time of the next `Deadline` input in milliseconds; Infinity if none is due. May be too early.
 *
 * @since 0.1.0
 */
export const deadline = ({ dueAt }: ScopedRoutes<unknown>): number => dueAt

/**
 * Applies one input. Total: what concerns no waiting request is ignored.
 *
 * @param now milliseconds, never less than in the step before
 * @since 0.1.0
 */
export const step = <R, A>(
  self: ScopedRoutes<R>,
  input: Input<R, A>,
  now: number
): readonly [ScopedRoutes<R>, ReadonlyArray<Output<R, A>>] => {
  const draft = new Draft<R, A>(self, now)
  switch (input._tag) {
    case "Scopes":
      draft.change(input.changes)
      break
    case "Answered":
      draft.begin()
      break
    case "Unreachable":
      draft.delay(input.reason)
      break
    case "Request":
      draft.request(input.request, input.key, input.host, Math.min(input.until ?? never, now + self.options.timeout))
      break
    case "Cancel":
      draft.cancel(input.request)
      break
    case "Outcome":
      draft.tableAnswers(input.table, input.request, input.outcome)
      break
    case "Deadline":
      draft.expire()
  }
  return [draft.end(), draft.outputs]
}

/** Scopes with one route configuration share its table: names of virtual hosts have the route configuration, not the scope. */
const tableOf = <R>(scope: string, { routes }: Scope<R>): string =>
  routes._tag === "Named" ? `rds ${routes.name}` : `scope ${scope}`

/** The draft of one step. */
class Draft<R, A> {
  readonly outputs: Array<Output<R, A>> = []
  private isAnswered: boolean
  private reason: string
  private scopes: HashMap.HashMap<string, Scope<R>>
  private names: HashMap.HashMap<string, string>
  private tables: HashMap.HashMap<string, Table<R>>
  private waiting: HashMap.HashMap<number, Waiter>
  private dueAt: number

  constructor(
    private readonly self: ScopedRoutes<R>,
    private readonly now: number
  ) {
    this.isAnswered = self.isAnswered
    this.reason = self.reason
    this.scopes = self.scopes
    this.names = self.names
    this.tables = self.tables
    this.waiting = self.waiting
    this.dueAt = self.dueAt
  }

  end(): ScopedRoutes<R> {
    const { dueAt, isAnswered, names, reason, scopes, tables, waiting } = this
    return { ...this.self, isAnswered, reason, scopes, names, tables, waiting, dueAt }
  }

  change(changes: ReadonlyArray<readonly [name: string, scope: Scope<R> | undefined]>): void {
    const touched = new Set<string>()
    for (const [name, scope] of changes) {
      const before = Option.getOrUndefined(HashMap.get(this.scopes, name))
      if (before !== undefined) this.remove(name, before, touched)
      if (scope !== undefined) this.add(name, scope, touched)
    }
    for (const id of touched) {
      const table = this.table(id)
      if (table !== undefined && table.eager > 0) this.open(id, table)
    }
    for (const id of touched) {
      const before = Option.getOrUndefined(HashMap.get(this.self.tables, id))
      const after = this.table(id)
      const isHeld = before?.isOpen === true && before.routes._tag === "Given"
      if (isHeld && after?.routes._tag === "Given" && before.routes.value !== after.routes.value) {
        this.outputs.push({ _tag: "Give", table: id, value: after.routes.value })
      }
    }
    if (this.isAnswered) this.routeWaiting()
    // ★ Last: a table is closed when its requests have gone to others.
    for (const id of touched) {
      const table = this.table(id)
      if (table === undefined || table.scopes > 0) continue
      this.tables = HashMap.remove(this.tables, id)
      if (table.isOpen) this.outputs.push({ _tag: "Close", table: id })
    }
  }

  begin(): void {
    if (this.isAnswered) return
    this.isAnswered = true
    this.dueAt = never
    this.routeWaiting()
  }

  delay(reason: string): void {
    this.reason = reason
  }

  request(request: number, key: string | undefined, host: string, until: number): void {
    const { maxWaiting } = this.self.options
    if (HashMap.has(this.waiting, request)) return
    if (key === undefined) return this.answer(request, { _tag: "NoScope" })
    if (HashMap.size(this.waiting) >= maxWaiting) {
      const reason = `${maxWaiting} requests wait for scoped routes, which is the limit`
      return this.answer(request, { _tag: "Unavailable", reason })
    }
    const waiter = { key, host, until, table: undefined }
    if (this.isAnswered) return this.route(request, waiter)
    this.put(request, waiter)
    this.dueAt = Math.min(this.dueAt, until)
  }

  cancel(request: number): void {
    const waiter = this.waiter(request)
    if (waiter === undefined) return
    this.waiting = HashMap.remove(this.waiting, request)
    if (waiter.table !== undefined) this.outputs.push({ _tag: "Withdraw", table: waiter.table, request })
  }

  tableAnswers(table: string, request: number, outcome: TableOutcome<A>): void {
    // It may have been withdrawn from the table.
    if (this.waiter(request)?.table === table) this.answer(request, outcome)
  }

  /** Those that a table has are answered by it: it has the same deadline. */
  expire(): void {
    if (this.now < this.dueAt) return
    let next = never
    const why = this.reason === "" ? "" : `: ${this.reason}`
    const late: Array<number> = []
    for (const [request, { table, until }] of this.waiting) {
      if (table !== undefined) continue
      if (until > this.now) next = Math.min(next, until)
      else late.push(request)
    }
    for (const request of late.sort((one, other) => one - other)) {
      this.answer(request, { _tag: "Unavailable", reason: `the scopes have not come in time${why}` })
    }
    this.dueAt = next
  }

  private answer(request: number, outcome: Outcome<A>): void {
    const table = this.waiter(request)?.table
    this.waiting = HashMap.remove(this.waiting, request)
    this.outputs.push({ _tag: "Answer", request, table, outcome })
  }

  private add(name: string, scope: Scope<R>, touched: Set<string>): void {
    const id = tableOf(name, scope)
    const { eager, isOpen, scopes } = this.table(id) ?? { eager: 0, isOpen: false, scopes: 0 }
    touched.add(id)
    this.scopes = HashMap.set(this.scopes, name, scope)
    this.names = HashMap.set(this.names, scope.key, name)
    const table = { routes: scope.routes, scopes: scopes + 1, eager: eager + (scope.onDemand ? 0 : 1), isOpen }
    this.tables = HashMap.set(this.tables, id, table)
  }

  private remove(name: string, scope: Scope<R>, touched: Set<string>): void {
    const id = tableOf(name, scope)
    const table = this.table(id)
    touched.add(id)
    this.scopes = HashMap.remove(this.scopes, name)
    // ★ A key may move from one scope to another in one response: then it is the other's already.
    if (this.nameOf(scope.key) === name) this.names = HashMap.remove(this.names, scope.key)
    if (table === undefined) return
    const eager = table.eager - (scope.onDemand ? 0 : 1)
    this.tables = HashMap.set(this.tables, id, { ...table, scopes: table.scopes - 1, eager })
  }

  private open(id: string, table: Table<R>): void {
    if (table.isOpen) return
    this.tables = HashMap.set(this.tables, id, { ...table, isOpen: true })
    this.outputs.push({ _tag: "Open", table: id, routes: table.routes })
  }

  /** Requests whose scope has another table now, or none. */
  private routeWaiting(): void {
    for (const [request, waiter] of this.inOrder()) {
      const id = this.tableFor(waiter.key)
      if (id !== undefined && id === waiter.table) continue
      this.cancel(request)
      this.route(request, waiter)
    }
  }

  /** Hands a request to the table of its scope. */
  private route(request: number, waiter: Waiter): void {
    const id = this.tableFor(waiter.key)
    const table = id === undefined ? undefined : this.table(id)
    if (id === undefined || table === undefined) return this.answer(request, { _tag: "NoScope" })
    this.open(id, table)
    this.put(request, { ...waiter, table: id })
    this.outputs.push({ _tag: "Find", table: id, request, host: waiter.host, until: waiter.until })
  }

  private tableFor(key: string): string | undefined {
    const name = this.nameOf(key)
    const scope = name === undefined ? undefined : Option.getOrUndefined(HashMap.get(this.scopes, name))
    return name === undefined || scope === undefined ? undefined : tableOf(name, scope)
  }

  private nameOf(key: string): string | undefined {
    return Option.getOrUndefined(HashMap.get(this.names, key))
  }

  private table(id: string): Table<R> | undefined {
    return Option.getOrUndefined(HashMap.get(this.tables, id))
  }

  private waiter(request: number): Waiter | undefined {
    return Option.getOrUndefined(HashMap.get(this.waiting, request))
  }

  private put(request: number, waiter: Waiter): void {
    this.waiting = HashMap.set(this.waiting, request, waiter)
  }

  private inOrder(): ReadonlyArray<readonly [number, Waiter]> {
    return Array.from(this.waiting).sort(([one], [other]) => one - other)
  }
}
