/** Drives virtual hosts on demand of one route configuration: watches what the core asks for, and answers requests. */
import { toBinary } from "@bufbuild/protobuf"
import * as CoreVirtualHosts from "@effect-xds/core/client/VirtualHosts"
import * as StatusCode from "@effect-xds/core/protocol/StatusCode"
import type { Protocol } from "@effect-xds/core/wire/Request"
import type { ConfigSource } from "@effect-xds/proto/envoy/config/core/v3/config_source"
import { ConfigSourceSchema } from "@effect-xds/proto/envoy/config/core/v3/config_source"
import * as Reason from "@effect-xds/proto/Reason"
import * as Either from "effect/Either"
import * as MetricLabel from "effect/MetricLabel"
import type { ResourceEvent } from "../ResourceEvent.js"
import type { Types } from "../VirtualHosts.js"
import * as XdsClientMetrics from "../XdsClientMetrics.js"
import type { Driver } from "./Driver.js"

const { FAILED_PRECONDITION, INVALID_ARGUMENT } = StatusCode.codes

/** The answer of hosts that nobody looks after any more: no alarm would end the wait. */
export const unavailable = (reason: string): CoreVirtualHosts.Outcome<never> => ({ _tag: "Unavailable", reason })

/** Why they are unavailable when their client has ended. */
export const clientClosed = "the scope of the client has closed"

/** Why virtual hosts cannot be fetched from a source; `undefined` if they can. */
const problemOf = ({ configSourceSpecifier: { case: kind } }: ConfigSource, protocol: Protocol): string | undefined => {
  if (kind !== "ads" && kind !== "self") {
    return `vhds.config_source is ${kind ?? "empty"}; use ads: virtual hosts are fetched from the servers of this client`
  }
  return protocol === "Incremental" ? undefined : "VHDS is incremental only; make the client with protocol Incremental"
}

/** Requests of which each may have a look for itself. */
const few = 100

/**
 * When to look for requests that have waited too long, in milliseconds. A look visits all that wait: where many do, they are looked
 * for together, every ten milliseconds.
 */
export const lookAt = (deadline: number, waiting: number): number =>
  waiting > few ? Math.ceil(deadline / 10) * 10 : deadline

/** Whether waiting is of no use: another resource must come. */
const isFinal = ({ code }: { readonly code: number }): boolean =>
  code === INVALID_ARGUMENT || code === FAILED_PRECONDITION

/** What a reader of the program gives, if it is what its type says: the core takes nothing else. */
const textsOf = (texts: ReadonlyArray<string>): ReadonlyArray<string> => {
  const given: unknown = texts
  if (Array.isArray(given) && given.every((text: unknown) => typeof text === "string")) return texts
  throw new Error("it gives something that is no list of texts")
}

export class HostDriver<R, A> {
  private state: CoreVirtualHosts.VirtualHosts<A>
  private readonly inputs: Array<CoreVirtualHosts.Input<A>> = []
  private stepping = false
  /** Why nobody looks after them any more; `undefined`: somebody does. */
  private closed: string | undefined
  private readonly requests = new Map<number, (outcome: CoreVirtualHosts.Outcome<A>) => void>()
  /** Watcher ids by name. */
  private readonly watchers = new Map<string, number>()
  private readonly own: ReturnType<Driver["claim"]>
  private readonly labels: ReadonlyArray<MetricLabel.MetricLabel>

  constructor(
    private readonly driver: Driver,
    private readonly types: Types<R, A>,
    private readonly environment: {
      readonly protocol: Protocol
      readonly now: () => number
      readonly alarm: (at: number) => void
    },
    readonly routeConfiguration: string,
    options: Partial<CoreVirtualHosts.Options>
  ) {
    this.state = CoreVirtualHosts.make(routeConfiguration, options)
    this.own = driver.claim()
    this.labels = [MetricLabel.make("route_configuration", routeConfiguration)]
  }

  /** Begins to watch the route configuration. */
  start(): ReturnType<Driver["listen"]> {
    const { routeConfiguration, types } = this
    return Either.flatMap(this.driver.withType(types.virtualHost), () =>
      this.driver.listen(types.routeConfiguration, routeConfiguration, (event) => this.onRoutes(event))
    )
  }

  /** Takes a route configuration that is not watched, but given. */
  give(routeConfiguration: R): void {
    this.onValue(routeConfiguration)
  }

  /** Asks for the virtual host of a host. `request`: no other one that waits has it. `until`: a shorter wait, in milliseconds. */
  request(
    request: number,
    host: string,
    until: number | undefined,
    onOutcome: (outcome: CoreVirtualHosts.Outcome<A>) => void
  ): void {
    if (this.closed !== undefined) return onOutcome(unavailable(this.closed))
    // A program in JavaScript may have a request without a host.
    if (typeof host !== "string") return onOutcome({ _tag: "NotFound" })
    this.requests.set(request, onOutcome)
    this.run({ _tag: "Request", request, host, until })
  }

  cancel(request: number): void {
    if (this.requests.delete(request)) this.run({ _tag: "Cancel", request })
  }

  statistics(prefix: string): Readonly<Record<string, number>> {
    return CoreVirtualHosts.statistics(this.state, prefix)
  }

  /** Returns the next deadline, in milliseconds. */
  onDeadline(): number {
    this.run({ _tag: "Deadline" })
    return lookAt(CoreVirtualHosts.deadline(this.state), this.requests.size)
  }

  /** Gives up all watches and what the route configuration owns. Requests that wait, and later ones, are unavailable. */
  close(reason: string): void {
    if (this.closed !== undefined) return
    const waiting = Array.from(this.requests.values())
    this.requests.clear()
    this.run({ _tag: "RouteConfiguration", vhds: undefined, virtualHosts: [] })
    this.closed = reason
    this.environment.alarm(Number.POSITIVE_INFINITY)
    for (const answer of waiting) answer(unavailable(reason))
  }

  private run(first: CoreVirtualHosts.Input<A>): void {
    if (this.closed !== undefined) return
    this.inputs.push(first)
    if (this.stepping) return
    this.stepping = true
    try {
      for (let input = this.inputs.shift(); input !== undefined; input = this.inputs.shift()) {
        const before = this.state.statistics
        const [state, outputs] = CoreVirtualHosts.step(this.state, input, this.environment.now())
        this.state = state
        this.count(before)
        for (const output of outputs) this.handle(output)
      }
    } finally {
      this.stepping = false
    }
    this.environment.alarm(lookAt(CoreVirtualHosts.deadline(this.state), this.requests.size))
  }

  private count(before: CoreVirtualHosts.Statistics): void {
    const { configReload, emptyUpdate } = this.state.statistics
    const reloads = configReload - before.configReload
    const empties = emptyUpdate - before.emptyUpdate
    if (reloads > 0) XdsClientMetrics.vhdsConfigReload.unsafeUpdate(reloads, this.labels)
    if (empties > 0) XdsClientMetrics.vhdsEmptyUpdate.unsafeUpdate(empties, this.labels)
  }

  private handle(output: CoreVirtualHosts.Output<A>): void {
    switch (output._tag) {
      case "Watch": {
        const { name } = output
        const begun = this.driver.listen(this.types.virtualHost, name, (event, ownName) =>
          this.onVirtualHost(name, event, ownName)
        )
        if (Either.isRight(begun)) this.watchers.set(name, begun.right)
        else this.run({ _tag: "Rejected", name, reason: begun.left.message })
        return
      }
      case "Unwatch": {
        const id = this.watchers.get(output.name)
        this.watchers.delete(output.name)
        if (id !== undefined) this.driver.unwatch(id)
        return
      }
      case "Refresh":
        return this.driver.pass({ _tag: "Refresh", typeUrl: output.typeUrl, names: [output.name] })
      case "Own":
        return this.own(output.typeUrl, output.owner, output.keys)
      case "Answer": {
        const answer = this.requests.get(output.request)
        this.requests.delete(output.request)
        return answer?.(output.outcome)
      }
    }
  }

  private onRoutes(event: ResourceEvent<R>): void {
    if (event._tag === "DoesNotExist") {
      return this.run({ _tag: "RouteConfiguration", vhds: undefined, virtualHosts: [] })
    }
    if (event._tag === "Updated") return this.onValue(event.value)
    // ★ `Error`: none is held any more. `AmbientError`: what is held stays in use.
    if (event._tag === "Error") {
      const { error } = event
      if (isFinal(error)) this.unusable(error.message)
      else this.run({ _tag: "Withdrawn", reason: error.message })
    }
  }

  private onValue(routeConfiguration: R): void {
    let input: CoreVirtualHosts.Input<A>
    try {
      const { vhds, virtualHosts } = this.types.routesOf(routeConfiguration)
      input = {
        _tag: "RouteConfiguration",
        vhds: vhds && Buffer.from(toBinary(ConfigSourceSchema, vhds)).toString("hex"),
        unusable: vhds && problemOf(vhds, this.environment.protocol),
        virtualHosts: virtualHosts.map(({ domains, name, value }) => {
          textsOf([name])
          return { name, domains: textsOf(domains), value }
        })
      }
    } catch (cause) {
      return this.unusable(`the reader of route configurations failed: ${Reason.of(cause)}`)
    }
    this.run(input)
  }

  /** Until another route configuration comes, nothing is found, and requests are told why. */
  private unusable(reason: string): void {
    this.run({ _tag: "RouteConfiguration", vhds: reason, unusable: reason, virtualHosts: [] })
  }

  private onVirtualHost(name: string, event: ResourceEvent<A>, ownName: string): void {
    switch (event._tag) {
      case "Updated": {
        const { value } = event
        let domains: ReadonlyArray<string>
        try {
          domains = textsOf(this.types.domainsOf(value))
        } catch (cause) {
          return this.run({ _tag: "Rejected", name, reason: `the reader of domains failed: ${Reason.of(cause)}` })
        }
        return this.run({ _tag: "Arrived", name, virtualHost: { name: ownName, domains, value } })
      }
      case "DoesNotExist":
        return this.run({ _tag: "Missing", name })
      case "Error": {
        const { message: reason } = event.error
        return this.run({ _tag: isFinal(event.error) ? "Rejected" : "Unreachable", name, reason })
      }
      case "AmbientError":
      case "Recovered":
    }
  }
}
