/**
 * Virtual hosts on demand (VHDS), one reducer per route configuration: the first request for a host asks for its virtual host and
 * waits for it. Requests that follow are served from the table, and from the virtual hosts of the route configuration itself.
 *
 * Outputs watch resources `<route configuration>/<host>`; inputs report what the watchers are told.
 *
 * @see https://www.envoyproxy.io/docs/envoy/latest/configuration/http/http_conn_man/vhds
 * @since 0.1.0
 */
import { VirtualHost as VirtualHostType } from "@effect-xds/proto/ResourceType"
import * as HashMap from "effect/HashMap"
import * as HashSet from "effect/HashSet"
import * as Option from "effect/Option"
import * as VirtualHostDiscovery from "../resource/VirtualHostDiscovery.js"
import type { VirtualHost, VirtualHostTable } from "./VirtualHostTable.js"
import * as Table from "./VirtualHostTable.js"

export type { VirtualHost } from "./VirtualHostTable.js"

/**
 * The options. Fixed.
 *
 * @since 0.1.0
 */
export interface Options {
  /** Milliseconds that a request waits for its virtual host. Default: 5 000. */
  readonly timeout: number
  /** Milliseconds until an unused virtual host is given up. Default: Infinity, never. */
  readonly idleTimeout: number
  /** Milliseconds until the unused answer that a host does not exist is given up. Default: 60 000. */
  readonly unknownIdleTimeout: number
  /** Most names that are subscribed to. Default: 10 000. ★ Strangers choose hosts. */
  readonly maxHosts: number
  /** Most requests that wait. Default: 10 000. */
  readonly maxWaiting: number
  /** Whether the port of a host counts (`ignore_port_in_host_matching` is false). Default: true. */
  readonly withPort: boolean
}

/**
 * The default options.
 *
 * @since 0.1.0
 */
export const defaults: Options = {
  timeout: 5_000,
  idleTimeout: Number.POSITIVE_INFINITY,
  unknownIdleTimeout: 60_000,
  maxHosts: 10_000,
  maxWaiting: 10_000,
  withPort: true
}

/**
 * An event. `name` is the resource name that was asked for.
 *
 * @since 0.1.0
 */
export type Input<A> =
  /**
   * The route configuration came or changed. `vhds`: identity of its source of virtual hosts, `undefined` if it has none.
   * `unusable`: why that source cannot be used; then what it would be asked for is unavailable.
   */
  | {
      readonly _tag: "RouteConfiguration"
      readonly vhds: string | undefined
      readonly unusable?: string | undefined
      readonly virtualHosts: ReadonlyArray<VirtualHost<A>>
    }
  /**
   * The route configuration is not there, and none is held any more. Requests wait for it, and say why if they wait in vain.
   */
  | { readonly _tag: "Withdrawn"; readonly reason: string }
  /** A request needs the virtual host of a host. No two that wait have one id. `until`: a shorter wait, in milliseconds. */
  | { readonly _tag: "Request"; readonly request: number; readonly host: string; readonly until?: number | undefined }
  /** A request that waits has ended. */
  | { readonly _tag: "Cancel"; readonly request: number }
  /** The resource came, under its own name or another. */
  | { readonly _tag: "Arrived"; readonly name: string; readonly virtualHost: VirtualHost<A> }
  /** The server said that there is none. */
  | { readonly _tag: "Missing"; readonly name: string }
  /** The resource was rejected, and none is held. */
  | { readonly _tag: "Rejected"; readonly name: string; readonly reason: string }
  /** No server can be reached, or it has an error in its place; none is held. Requests wait on, and say why if they wait in vain. */
  | { readonly _tag: "Unreachable"; readonly name: string; readonly reason: string }
  | { readonly _tag: "Deadline" }

/**
 * The outcome of a request.
 *
 * @since 0.1.0
 */
export type Outcome<A> =
  | { readonly _tag: "Found"; readonly virtualHost: VirtualHost<A> }
  /** There is no virtual host for it: 404. */
  | { readonly _tag: "NotFound" }
  /** It is not known whether there is one: 503. */
  | { readonly _tag: "Unavailable"; readonly reason: string }

/**
 * An instruction or event for the driver.
 *
 * @since 0.1.0
 */
export type Output<A> =
  | { readonly _tag: "Watch" | "Unwatch" | "Refresh"; readonly typeUrl: string; readonly name: string }
  /** These names belong to the route configuration: a resource that claims one is rejected. */
  | { readonly _tag: "Own"; readonly typeUrl: string; readonly owner: string; readonly keys: ReadonlyArray<string> }
  | { readonly _tag: "Answer"; readonly request: number; readonly outcome: Outcome<A> }

/** A name that is subscribed to. */
interface Entry {
  /** `asked`: no answer yet. `overdue`: and requests have waited in vain. */
  readonly status: "asked" | "overdue" | "present" | "absent" | "rejected"
  /** The resource that answers it, if present. */
  readonly resource: string
  /** Why there is no answer, or a rejection. */
  readonly reason: string
  /** Requests that wait for it. */
  readonly waiting: HashSet.HashSet<number>
  /** When a request last used it, in milliseconds. */
  readonly usedAt: number
}

interface Waiter {
  readonly name: string
  /** Milliseconds. */
  readonly until: number
}

/**
 * The counters of the specification, since the start.
 *
 * @since 0.1.0
 */
export interface Statistics {
  /** Updates that changed the virtual hosts. */
  readonly configReload: number
  /** Answers without a virtual host. */
  readonly emptyUpdate: number
}

/**
 * The state. Made by {@link make}, changed by {@link step}; its fields are private.
 *
 * @since 0.1.0
 */
export interface VirtualHosts<out A> {
  readonly options: Options
  readonly routeConfiguration: string
  /** Identity of the source; `undefined`: none; `waiting`: the route configuration has not come. */
  readonly source: { readonly vhds: string | undefined; readonly unusable: string | undefined } | "waiting"
  /** Why the route configuration has not come. */
  readonly delay: string
  readonly table: VirtualHostTable<A>
  readonly entries: HashMap.HashMap<string, Entry>
  readonly waiting: HashMap.HashMap<number, Waiter>
  /** Not later than the end of the first wait, in milliseconds. */
  readonly dueAt: number
  /** When unused entries are next looked for, in milliseconds. */
  readonly idleAt: number
  readonly statistics: Statistics
}

const never = Number.POSITIVE_INFINITY

/** Unused entries are looked for at most so many times in an idle timeout: each look visits all. */
const looksPerTimeout = 16

/** One in so many entries goes when there is no room: each time all are visited. */
const evictedPart = 8

/**
 * The state before the route configuration has come.
 *
 * @since 0.1.0
 */
export const make = <A>(routeConfiguration: string, options: Partial<Options> = {}): VirtualHosts<A> => ({
  options: { ...defaults, ...options },
  routeConfiguration,
  source: "waiting",
  delay: "",
  table: Table.make(routeConfiguration),
  entries: HashMap.empty(),
  waiting: HashMap.empty(),
  dueAt: never,
  idleAt: never,
  statistics: { configReload: 0, emptyUpdate: 0 }
})

/** Most characters of a host: a domain name of 253, and a port. Longer ones can have no virtual host. */
const longestHost = 259

/**
 * The resource name of a host; `undefined` if it can have no virtual host, because it is empty, too long or has a slash.
 *
 * @since 0.1.0
 */
export const nameOf = (self: VirtualHosts<unknown>, host: string): string | undefined => {
  if (host.length > longestHost) return undefined
  const plain = (self.options.withPort ? host : host.replace(/:\d*$/, "")).toLowerCase()
  return plain === "" || plain.includes("/") ? undefined : VirtualHostDiscovery.nameOf(self.routeConfiguration, plain)
}

/**
 * The statistics by name, as the specification writes them: `http.<prefix>.vhds.<route configuration>.config_reload`. ★ The last
 * part but one is the route configuration, as in Envoy, and not each virtual host: that has no bound.
 *
 * @param prefix `stat_prefix` of the HTTP connection manager
 * @since 0.1.0
 */
export const statistics = (self: VirtualHosts<unknown>, prefix: string): Readonly<Record<string, number>> => {
  const root = `http.${prefix}.vhds.${self.routeConfiguration.replaceAll(":", "_")}.`
  const { configReload, emptyUpdate } = self.statistics
  return { [`${root}config_reload`]: configReload, [`${root}empty_update`]: emptyUpdate }
}

/**
 * Time of the next `Deadline` input in milliseconds; Infinity if none is due. May be too early.
 *
 * @since 0.1.0
 */
export const deadline = (self: VirtualHosts<unknown>): number => Math.min(self.dueAt, self.idleAt)

/**
 * Applies one input. Total: what concerns no subscribed name is ignored.
 *
 * @param now milliseconds, never less than in the step before
 * @since 0.1.0
 */
export const step = <A>(
  self: VirtualHosts<A>,
  input: Input<A>,
  now: number
): readonly [VirtualHosts<A>, ReadonlyArray<Output<A>>] => {
  const draft = new Draft(self, now)
  switch (input._tag) {
    case "RouteConfiguration":
      draft.configure(input.vhds, input.unusable, input.virtualHosts)
      break
    case "Withdrawn":
      draft.withdraw(input.reason)
      break
    case "Request":
      draft.request(input.request, input.host, Math.min(input.until ?? never, now + self.options.timeout))
      break
    case "Cancel":
      draft.cancel(input.request)
      break
    case "Arrived":
      draft.arrive(input.name, input.virtualHost)
      break
    case "Missing":
      draft.miss(input.name)
      break
    case "Rejected":
      draft.reject(input.name, input.reason)
      break
    case "Unreachable":
      draft.delay(input.name, input.reason)
      break
    case "Deadline":
      draft.expire()
  }
  return [draft.end(), draft.outputs]
}

const inOrder = (waiting: HashMap.HashMap<number, Waiter>): ReadonlyArray<readonly [number, Waiter]> =>
  Array.from(waiting).sort(byRequest)

const byRequest = ([one]: readonly [number, Waiter], [other]: readonly [number, Waiter]): number => one - other

/** The draft of one step. */
class Draft<A> {
  readonly outputs: Array<Output<A>> = []
  private source: VirtualHosts<A>["source"]
  private why: string
  private table: VirtualHostTable<A>
  private entries: HashMap.HashMap<string, Entry>
  private waiting: HashMap.HashMap<number, Waiter>
  private dueAt: number
  private idleAt: number
  private reloads = 0
  private empties = 0

  constructor(
    private readonly self: VirtualHosts<A>,
    private readonly now: number
  ) {
    this.source = self.source
    this.why = self.delay
    this.table = self.table
    this.entries = self.entries
    this.waiting = self.waiting
    this.dueAt = self.dueAt
    this.idleAt = self.idleAt
  }

  end(): VirtualHosts<A> {
    const { dueAt, empties, entries, idleAt, reloads, self, source, table, waiting, why: delay } = this
    const { configReload, emptyUpdate } = self.statistics
    const statistics =
      reloads + empties === 0
        ? self.statistics
        : { configReload: configReload + reloads, emptyUpdate: emptyUpdate + empties }
    return { ...self, source, delay, table, entries, waiting, dueAt, idleAt, statistics }
  }

  configure(vhds: string | undefined, unusable: string | undefined, virtualHosts: ReadonlyArray<VirtualHost<A>>): void {
    this.exchange(vhds, virtualHosts)
    this.source = { vhds, unusable }
    this.why = ""
    for (const [request, { name, until }] of inOrder(this.waiting)) this.route(request, name, until)
  }

  withdraw(reason: string): void {
    this.why = reason
    if (this.source === "waiting") return
    this.exchange(undefined, [])
    this.source = "waiting"
  }

  /** Exchanges the source of virtual hosts, and those that are given. */
  private exchange(vhds: string | undefined, virtualHosts: ReadonlyArray<VirtualHost<A>>): void {
    const before = this.source
    this.table = Table.withGiven(this.table, virtualHosts)
    const was = before === "waiting" ? undefined : before.vhds
    if (vhds !== undefined || was !== undefined) {
      const keys = vhds === undefined ? [] : Array.from(HashMap.keys(this.table.given)).sort()
      this.outputs.push({ _tag: "Own", typeUrl: VirtualHostType.typeUrl, owner: this.self.routeConfiguration, keys })
    }
    // ★ Another source: the virtual hosts of the one before are gone, and must all be sent again.
    if (was !== vhds) {
      this.table = Table.withoutFetched(this.table)
      for (const name of Array.from(HashMap.keys(this.entries)).sort()) this.tell("Unwatch", name)
      this.entries = HashMap.empty()
    }
  }

  request(request: number, host: string, until: number): void {
    if (HashMap.has(this.waiting, request)) return
    const name = nameOf(this.self, host)
    if (name === undefined) return this.answer(request, host, { _tag: "NotFound" })
    this.route(request, name, until)
  }

  cancel(request: number): void {
    const waiter = Option.getOrUndefined(HashMap.get(this.waiting, request))
    if (waiter !== undefined) this.leave(request, waiter.name)
  }

  arrive(name: string, virtualHost: VirtualHost<A>): void {
    const entry = this.entry(name)
    if (entry === undefined) return
    if (entry.status === "present" && entry.resource !== virtualHost.name) {
      this.table = Table.withoutAlias(this.table, entry.resource, name)
    }
    if (Table.get(this.table, virtualHost.name)?.virtualHost.value !== virtualHost.value) this.reloads++
    this.table = Table.withFetched(this.table, name, virtualHost, this.now)
    this.put(name, { ...entry, status: "present", resource: virtualHost.name, reason: "" })
    this.answerWaiting(name)
  }

  miss(name: string): void {
    const entry = this.entry(name)
    if (entry === undefined) return
    this.empties++
    this.detach(name, entry)
    this.put(name, { ...entry, status: "absent", resource: "", reason: "", usedAt: this.now })
    this.answerWaiting(name)
  }

  reject(name: string, reason: string): void {
    const entry = this.entry(name)
    if (entry === undefined) return
    this.detach(name, entry)
    this.put(name, { ...entry, status: "rejected", resource: "", reason, usedAt: this.now })
    this.answerWaiting(name)
  }

  delay(name: string, reason: string): void {
    const entry = this.entry(name)
    if (entry?.status === "asked" || entry?.status === "overdue") return this.put(name, { ...entry, reason })
    // ★ What is held no longer is not used: requests wait for what comes in its place.
    if (entry?.status !== "present") return
    this.detach(name, entry)
    this.put(name, { ...entry, status: "asked", resource: "", reason, usedAt: this.now })
  }

  expire(): void {
    if (this.now >= this.dueAt) {
      let next = never
      const late: Array<readonly [number, Waiter]> = []
      for (const waiting of this.waiting) {
        const { until } = waiting[1]
        if (until <= this.now) late.push(waiting)
        else next = Math.min(next, until)
      }
      for (const [request, { name }] of late.sort(byRequest)) this.giveUp(request, name)
      this.dueAt = next
    }
    if (this.now < this.idleAt) return
    let next = never
    for (const [name, entry] of this.entries) {
      const at = this.usedAt(entry) + this.timeoutOf(entry)
      if (at > this.now) next = Math.min(next, at)
      // One that requests wait for is looked at again when they no longer do.
      else if (HashSet.size(entry.waiting) === 0) this.drop(name, entry)
    }
    const { idleTimeout, unknownIdleTimeout } = this.self.options
    this.idleAt = Math.max(next, this.now + Math.min(idleTimeout, unknownIdleTimeout) / looksPerTimeout)
  }

  /** Gives a request its virtual host, lets it wait for one, or says that there is none. */
  private route(request: number, name: string, until: number): void {
    if (this.source === "waiting") return this.wait(request, name, until)
    const found = Table.find(this.table, name)
    if (found !== undefined) {
      if (!found.isGiven) this.table = Table.withUse(this.table, found.virtualHost, this.now)
      return this.answer(request, name, { _tag: "Found", virtualHost: found.virtualHost })
    }
    const { unusable, vhds } = this.source
    if (vhds === undefined) return this.answer(request, name, { _tag: "NotFound" })
    if (unusable !== undefined) return this.answer(request, name, { _tag: "Unavailable", reason: unusable })
    const entry = this.entry(name)
    if (entry === undefined) return this.ask(request, name, until)
    switch (entry.status) {
      case "asked":
        return this.wait(request, name, until)
      case "overdue":
        return this.askAgain(request, name, until)
      default:
        if (entry.usedAt !== this.now) this.put(name, { ...entry, usedAt: this.now })
        return this.answer(request, name, this.outcomeOf(name, entry))
    }
  }

  private ask(request: number, name: string, until: number): void {
    const { maxHosts } = this.self.options
    if (this.isFull(request)) return this.refuse(request, name)
    if (HashMap.size(this.entries) >= maxHosts) this.evict()
    if (HashMap.size(this.entries) >= maxHosts) {
      const reason = `${maxHosts} hosts are being fetched, which is the limit`
      return this.answer(request, name, { _tag: "Unavailable", reason })
    }
    this.tell("Watch", name)
    this.put(name, { status: "asked", resource: "", reason: "", waiting: HashSet.empty(), usedAt: this.now })
    this.wait(request, name, until)
  }

  /** ★ A name that is subscribed to again is always answered. */
  private askAgain(request: number, name: string, until: number): void {
    if (this.isFull(request)) return this.refuse(request, name)
    this.tell("Refresh", name)
    this.wait(request, name, until)
  }

  private wait(request: number, name: string, until: number): void {
    if (this.isFull(request)) return this.refuse(request, name)
    this.waiting = HashMap.set(this.waiting, request, { name, until })
    this.dueAt = Math.min(this.dueAt, until)
    const entry = this.entry(name)
    if (entry === undefined) return
    this.put(name, { ...entry, status: "asked", waiting: HashSet.add(entry.waiting, request), usedAt: this.now })
  }

  private isFull(request: number): boolean {
    return HashMap.size(this.waiting) >= this.self.options.maxWaiting && !HashMap.has(this.waiting, request)
  }

  private refuse(request: number, name: string): void {
    const reason = `${this.self.options.maxWaiting} requests wait for virtual hosts, which is the limit`
    this.answer(request, name, { _tag: "Unavailable", reason })
  }

  /** The outcome for a name whose answer is there. */
  private outcomeOf(name: string, { reason, status }: Entry): Outcome<A> {
    const found = Table.find(this.table, name)
    if (found !== undefined) return { _tag: "Found", virtualHost: found.virtualHost }
    // ★ Also if the server answered with a virtual host for other domains: it would do so again.
    return status === "rejected" ? { _tag: "Unavailable", reason } : { _tag: "NotFound" }
  }

  /** The answer is there: requests that wait for it are routed anew. */
  private answerWaiting(name: string): void {
    const entry = this.entry(name)
    if (entry === undefined) return
    this.put(name, { ...entry, waiting: HashSet.empty() })
    const outcome = this.outcomeOf(name, entry)
    for (const request of Array.from(entry.waiting).sort((a, b) => a - b)) this.answer(request, name, outcome)
  }

  private giveUp(request: number, name: string): void {
    const entry = this.entry(name)
    const resource = `VirtualHost ${JSON.stringify(name)}`
    const routes = `RouteConfiguration ${JSON.stringify(this.self.routeConfiguration)}`
    const words = `${entry === undefined ? routes : resource} has not come in time`
    const why = entry === undefined ? this.why : entry.reason
    const reason = why === "" ? words : `${words}: ${why}`
    if (entry !== undefined) this.put(name, { ...entry, status: "overdue" })
    this.answer(request, name, { _tag: "Unavailable", reason })
  }

  private answer(request: number, name: string, outcome: Outcome<A>): void {
    this.leave(request, name)
    this.outputs.push({ _tag: "Answer", request, outcome })
  }

  /** The request waits no more. The subscription stays. */
  private leave(request: number, name: string): void {
    if (!HashMap.has(this.waiting, request)) return
    this.waiting = HashMap.remove(this.waiting, request)
    const entry = this.entry(name)
    if (entry !== undefined && HashSet.has(entry.waiting, request)) {
      this.put(name, { ...entry, waiting: HashSet.remove(entry.waiting, request) })
    }
  }

  private entry(name: string): Entry | undefined {
    return Option.getOrUndefined(HashMap.get(this.entries, name))
  }

  private put(name: string, entry: Entry): void {
    this.entries = HashMap.set(this.entries, name, entry)
    this.idleAt = Math.min(this.idleAt, this.usedAt(entry) + this.timeoutOf(entry))
  }

  private timeoutOf({ status }: Entry): number {
    const { idleTimeout, unknownIdleTimeout } = this.self.options
    return status === "present" ? idleTimeout : unknownIdleTimeout
  }

  private usedAt({ resource, usedAt }: Entry): number {
    return Math.max(usedAt, Table.get(this.table, resource)?.usedAt ?? usedAt)
  }

  /** The name no longer has its virtual host. */
  private detach(name: string, { resource, status }: Entry): void {
    if (status !== "present") return
    this.table = Table.withoutAlias(this.table, resource, name)
    this.reloads++
  }

  private drop(name: string, entry: Entry): void {
    if (entry.status === "present") this.table = Table.withoutAlias(this.table, entry.resource, name)
    this.entries = HashMap.remove(this.entries, name)
    this.tell("Unwatch", name)
  }

  /** Drops the least used names: those without a virtual host first, because strangers choose hosts. */
  private evict(): void {
    const idle = Array.from(this.entries).filter(([, { waiting }]) => HashSet.size(waiting) === 0)
    const rank = ({ status }: Entry): number => (status === "present" ? 1 : 0)
    idle.sort(([, a], [, b]) => rank(a) - rank(b) || this.usedAt(a) - this.usedAt(b))
    const count = Math.ceil(this.self.options.maxHosts / evictedPart)
    for (const [name, entry] of idle.slice(0, count)) this.drop(name, entry)
  }

  private tell(_tag: "Watch" | "Unwatch" | "Refresh", name: string): void {
    this.outputs.push({ _tag, typeUrl: VirtualHostType.typeUrl, name })
  }
}
