/** Drives scoped routes: watches the scopes, and has a driver of hosts for each route configuration that the core opens. */
import * as CoreScopedRoutes from "@effect-xds/core/client/ScopedRoutes"
import * as StatusCode from "@effect-xds/core/protocol/StatusCode"
import type * as CoreVirtualHosts from "@effect-xds/core/client/VirtualHosts"
import type { Protocol } from "@effect-xds/core/wire/Request"
import type * as EventLoop from "@effect-xds/transport/EventLoop"
import * as Either from "effect/Either"
import type { ResourceEvent } from "../ResourceEvent.js"
import type { Types } from "../VirtualHosts.js"
import type { WatchableType } from "../WatchableType.js"
import type { Driver } from "./Driver.js"
import { HostDriver, lookAt, unavailable } from "./HostDriver.js"

/** A table of the core: the hosts of one route configuration. */
interface Table<R, A> {
  readonly hosts: HostDriver<R, A>
  /** The watch of the route configuration; `undefined`: it is given. */
  readonly watcher: number | undefined
}

/** Who answered, and what; `routeConfiguration` is `undefined` if nobody was asked. */
type OnOutcome<A> = (outcome: CoreScopedRoutes.Outcome<A>, routeConfiguration: string | undefined) => void

export class ScopeDriver<S, R, A> {
  private state: CoreScopedRoutes.ScopedRoutes<R>
  private readonly inputs: Array<CoreScopedRoutes.Input<R, A>> = []
  private stepping = false
  /** Why nobody looks after them any more; `undefined`: somebody does. */
  private closed: string | undefined
  private lastRequest = 0
  private readonly requests = new Map<number, OnOutcome<A>>()
  private readonly tables = new Map<string, Table<R, A>>()
  private readonly watchers: Array<number> = []
  /** Whether it is told when a response was told in whole. */
  private hearsAnswers = false
  /** Scopes that changed and are not passed on yet: those of one response together. */
  private changes = new Map<string, CoreScopedRoutes.Scope<R> | undefined>()

  constructor(
    private readonly driver: Driver,
    private readonly types: Types<R, A>,
    private readonly environment: {
      readonly protocol: Protocol
      readonly now: () => number
      /** Sets the deadline if it is earlier than the present one. */
      readonly alarm: (at: number) => void
      readonly loop: Pick<EventLoop.Service, "soon">
    },
    private readonly nameOf: (routeConfiguration: R) => string,
    private readonly options: CoreVirtualHosts.Options
  ) {
    const { maxWaiting, timeout } = options
    this.state = CoreScopedRoutes.make({ maxWaiting, timeout })
  }

  /** Uses these scopes, and watches none. */
  give(scopes: ReadonlyArray<readonly [name: string, scope: CoreScopedRoutes.Scope<R>]>): void {
    this.run({ _tag: "Scopes", changes: scopes })
    this.run({ _tag: "Answered" })
  }

  /** Begins to watch the scopes. `name`: `*`, or a collection. `scopeOf`: `undefined` for one that cannot be used. */
  watch(
    type: WatchableType<S>,
    name: string,
    scopeOf: (value: S) => CoreScopedRoutes.Scope<R> | undefined
  ): ReturnType<Driver["listen"]> {
    return Either.map(
      this.driver.listen(type, name, (event) => this.onScope(name, event, scopeOf)),
      (watcher) => {
        this.watchers.push(watcher)
        // Responses of the type may be about other collections: one is answered when a member comes, or when there is none.
        if (name !== "*") return watcher
        this.hearsAnswers = true
        const answers = this.driver.listenForAnswers(type.typeUrl, () => {
          this.flush()
          this.run({ _tag: "Answered" })
        })
        this.watchers.push(answers)
        return watcher
      }
    )
  }

  /** Asks for the virtual host of a request. Returns the request, to cancel it. `until`: a shorter wait, in milliseconds. */
  request(key: string | undefined, host: string, until: number | undefined, onOutcome: OnOutcome<A>): number {
    const request = ++this.lastRequest
    if (this.closed !== undefined) {
      onOutcome(unavailable(this.closed), undefined)
      return request
    }
    this.requests.set(request, onOutcome)
    this.flush()
    this.run({ _tag: "Request", request, key, host, until })
    return request
  }

  cancel(request: number): void {
    if (this.requests.delete(request)) this.run({ _tag: "Cancel", request })
  }

  statistics(prefix: string): Readonly<Record<string, number>> {
    const all: Record<string, number> = {}
    for (const { hosts } of this.tables.values()) Object.assign(all, hosts.statistics(prefix))
    return all
  }

  onDeadline(): void {
    this.run({ _tag: "Deadline" })
    for (const { hosts } of this.tables.values()) this.environment.alarm(hosts.onDeadline())
  }

  /** Gives up all watches. Requests that wait, and later ones, are unavailable. */
  close(reason: string): void {
    if (this.closed !== undefined) return
    this.closed = reason
    const waiting = Array.from(this.requests.values())
    this.requests.clear()
    for (const watcher of this.watchers) this.driver.unwatch(watcher)
    for (const table of Array.from(this.tables.keys())) this.shut(table, reason)
    for (const answer of waiting) answer(unavailable(reason), undefined)
  }

  private run(first: CoreScopedRoutes.Input<R, A>): void {
    if (this.closed !== undefined) return
    this.inputs.push(first)
    if (this.stepping) return
    this.stepping = true
    try {
      for (let input = this.inputs.shift(); input !== undefined; input = this.inputs.shift()) {
        const [state, outputs] = CoreScopedRoutes.step<R, A>(this.state, input, this.environment.now())
        this.state = state
        for (const output of outputs) this.handle(output)
      }
    } finally {
      this.stepping = false
    }
    this.environment.alarm(lookAt(CoreScopedRoutes.deadline(this.state), this.requests.size))
  }

  private handle(output: CoreScopedRoutes.Output<R, A>): void {
    switch (output._tag) {
      case "Open":
        return this.open(output.table, output.routes)
      case "Give":
        return this.tables.get(output.table)?.hosts.give(output.value)
      case "Close":
        return this.shut(output.table, "its route configuration is not used any more")
      case "Find": {
        const { host, request, table, until } = output
        return this.tables
          .get(table)
          ?.hosts.request(request, host, until, (outcome) => this.run({ _tag: "Outcome", table, request, outcome }))
      }
      case "Withdraw":
        return this.tables.get(output.table)?.hosts.cancel(output.request)
      case "Answer": {
        const answer = this.requests.get(output.request)
        this.requests.delete(output.request)
        const table = output.table === undefined ? undefined : this.tables.get(output.table)
        return answer?.(output.outcome, table?.hosts.routeConfiguration)
      }
    }
  }

  private open(id: string, routes: CoreScopedRoutes.Routes<R>): void {
    const name = routes._tag === "Named" ? routes.name : this.nameOf(routes.value)
    const { driver, environment, options, types } = this
    const hosts = new HostDriver<R, A>(driver, types, environment, name, options)
    const begun = routes._tag === "Named" ? hosts.start() : undefined
    const watcher = begun === undefined ? undefined : Either.getOrUndefined(begun)
    this.tables.set(id, { hosts, watcher })
    if (routes._tag === "Given") hosts.give(routes.value)
  }

  private shut(id: string, reason: string): void {
    const table = this.tables.get(id)
    this.tables.delete(id)
    table?.hosts.close(reason)
    if (table?.watcher !== undefined) this.driver.unwatch(table.watcher)
  }

  private onScope(
    watched: string,
    event: ResourceEvent<S>,
    scopeOf: (value: S) => CoreScopedRoutes.Scope<R> | undefined
  ): void {
    switch (event._tag) {
      case "Updated":
        return this.change(event.name, scopeOf(event.value))
      case "DoesNotExist":
        return event.name === watched ? this.run({ _tag: "Answered" }) : this.change(event.name, undefined)
      case "Error": {
        const { code, message: reason } = event.error
        if (event.name !== watched) return this.change(event.name, undefined)
        return code === StatusCode.codes.UNAVAILABLE ? this.run({ _tag: "Unreachable", reason }) : undefined
      }
      case "AmbientError":
      case "Recovered":
    }
  }

  /** ★ What one response changes is one change: a key that moves from one scope to another is never nobody's. */
  private change(name: string, scope: CoreScopedRoutes.Scope<R> | undefined): void {
    if (this.changes.size === 0) this.environment.loop.soon(() => this.flush())
    this.changes.set(name, scope)
  }

  private flush(): void {
    if (this.changes.size === 0) return
    const changes = Array.from(this.changes)
    this.changes = new Map()
    this.run({ _tag: "Scopes", changes })
    // ★ A long response is told in several turns: its first scopes are not all there are, and the end of it says so.
    if (!this.hearsAnswers) this.run({ _tag: "Answered" })
  }
}
