/**
 * What scoped routes have to do, written for reading: every question is answered by looking at everything. The reducer is
 * compared with it step by step.
 */
import type * as ScopedRoutes from "@effect-xds/core/client/ScopedRoutes"

type Scope = ScopedRoutes.Scope<string>

interface Waiter {
  readonly key: string
  readonly host: string
  readonly until: number
  readonly table: string | undefined
}

const tableOf = (name: string, { routes }: Scope): string =>
  routes._tag === "Named" ? `rds ${routes.name}` : `scope ${name}`

export class Reference {
  /** In the order in which they came: of two with one key, the last counts. */
  private readonly scopes = new Map<string, Scope>()
  readonly open = new Map<string, string>()
  readonly waiting = new Map<number, Waiter>()
  private isAnswered = false
  private out: Array<string> = []

  constructor(private readonly timeout: number) {}

  step(input: ScopedRoutes.Input<string, string>, now: number): ReadonlyArray<string> {
    this.out = []
    switch (input._tag) {
      case "Scopes":
        for (const [name, scope] of input.changes) {
          this.scopes.delete(name)
          if (scope !== undefined) this.scopes.set(name, scope)
        }
        break
      case "Answered":
        this.isAnswered = true
        break
      case "Unreachable":
        break
      case "Request": {
        if (this.waiting.has(input.request)) break
        const until = Math.min(input.until ?? Infinity, now + this.timeout)
        if (input.key === undefined) this.out.push(`! ${input.request} NoScope`)
        else this.waiting.set(input.request, { key: input.key, host: input.host, until, table: undefined })
        break
      }
      case "Cancel":
        this.withdraw(input.request)
        this.waiting.delete(input.request)
        break
      case "Outcome":
        if (this.waiting.get(input.request)?.table !== input.table) break
        this.waiting.delete(input.request)
        this.out.push(`! ${input.request} ${input.outcome._tag} ${input.table}`)
        break
      case "Deadline":
        for (const [request, { table, until }] of Array.from(this.waiting)) {
          if (table !== undefined || until > now) continue
          this.waiting.delete(request)
          this.out.push(`! ${request} Unavailable`)
        }
    }
    this.bringTables()
    if (this.isAnswered) this.bringRequests()
    this.closeTables()
    return this.out.sort()
  }

  /** What is to be open, and with what; tables that requests opened stay while they have a scope. */
  private bringTables(): void {
    for (const [name, scope] of this.scopes) {
      const id = tableOf(name, scope)
      if (!scope.onDemand) this.opened(id, scope)
      const given = scope.routes._tag === "Given" ? scope.routes.value : ""
      if (this.open.has(id) && this.open.get(id) !== given) {
        this.open.set(id, given)
        this.out.push(`> Give ${id} {${given}}`)
      }
    }
  }

  private bringRequests(): void {
    for (const [request, waiter] of Array.from(this.waiting).sort(([one], [other]) => one - other)) {
      const found = Array.from(this.scopes).findLast(([, { key }]) => key === waiter.key)
      const table = found === undefined ? undefined : tableOf(...found)
      if (table !== undefined && table === waiter.table) continue
      this.withdraw(request)
      if (found === undefined || table === undefined) {
        this.waiting.delete(request)
        this.out.push(`! ${request} NoScope`)
        continue
      }
      this.opened(table, found[1])
      this.waiting.set(request, { ...waiter, table })
      this.out.push(`> Find ${table} ${request} ${waiter.host} until=${waiter.until / 1_000}s`)
    }
  }

  private closeTables(): void {
    const used = new Set(Array.from(this.scopes, ([name, scope]) => tableOf(name, scope)))
    for (const id of Array.from(this.open.keys())) {
      if (used.has(id)) continue
      this.open.delete(id)
      this.out.push(`> Close ${id}`)
    }
  }

  private opened(id: string, { routes }: Scope): void {
    if (this.open.has(id)) return
    this.open.set(id, routes._tag === "Given" ? routes.value : "")
    this.out.push(`> Open ${id}${routes._tag === "Given" ? ` {${routes.value}}` : ""}`)
  }

  private withdraw(request: number): void {
    const table = this.waiting.get(request)?.table
    if (table !== undefined) this.out.push(`> Withdraw ${table} ${request}`)
  }
}
