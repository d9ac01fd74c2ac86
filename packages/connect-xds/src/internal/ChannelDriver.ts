/**
 * Drives a channel: its inputs go in one after another, and its outputs are carried out at once. It holds the
 * connections and the watches; what is decided, `Channel` decides.
 */
import type { ServerConnection } from "@effect-xds/client/ServerConnection"
import type { Cluster } from "@effect-xds/routing/Cluster"
import type { CallStatus } from "@effect-xds/routing/CallStatus"
import * as Status from "@effect-xds/routing/CallStatus"
import type { CallCounters } from "@effect-xds/routing/CallCounters"
import * as Channel from "@effect-xds/routing/Channel"
import type { Selected } from "@effect-xds/routing/ConfigSelector"
import type { Endpoint } from "@effect-xds/routing/Endpoint"
import type { RingStore } from "@effect-xds/routing/RingStore"
import type * as XdsConfig from "@effect-xds/routing/XdsConfig"
import * as Reason from "@effect-xds/proto/Reason"
import * as HashMap from "effect/HashMap"
import * as Option from "effect/Option"
import type { Connect, Connection } from "./Connection.js"
import type { Environment } from "./Environment.js"

/** Where an attempt of a call goes. */
export interface Sent<C> {
  readonly connection: C
  readonly address: string
  readonly endpoint: Endpoint
  readonly selected: Selected
}

/** Who made a call. It may be told within `call` and `retry`, and is told once for each. */
export interface Caller<C> {
  /** What was chosen for a call that waited for the configuration, and waits on. */
  readonly onSelect: (selected: Selected) => void
  readonly onSend: (sent: Sent<C>) => void
  /** The call is over, and was not sent. */
  readonly onEnd: (status: CallStatus) => void
}

export interface Options<C extends Connection> {
  /** The name of the listener. */
  readonly name: string
  /** What the virtual host is chosen by. */
  readonly authority: string
  readonly counters: CallCounters
  readonly rings: RingStore
  readonly environment: Environment
  readonly connect: Connect<C>
  /** What tells apart how connections to clusters are made: how they are secured, and the versions of HTTP. */
  readonly wayOf: (cluster: Cluster) => string
  /** Begins to watch. The result ends it. */
  readonly watch: (kind: XdsConfig.Kind, name: string) => () => void
  /** Asks for a resource that is watched again. */
  readonly refresh: (kind: XdsConfig.Kind, name: string) => void
  /** What a resource that is not known yet waits for, beside the control plane. */
  readonly detail?: ((kind: XdsConfig.Kind, name: string) => string | undefined) | undefined
  /** Addresses of names may be old. */
  readonly resolveAgain: () => void
}

interface Watch {
  end: () => void
  /** Milliseconds. */
  readonly since: number
}

interface Link<C> {
  readonly connection: C
  readonly way: string
  /** Milliseconds. */
  readonly since: number
  /** When it was READY, in milliseconds; `undefined`: it was not yet. */
  readySince: number | undefined
}

const never = Number.POSITIVE_INFINITY
/** Milliseconds. A connection that ends sooner, without an answer, was of no use. */
const briefly = 1_000
const kinds: ReadonlyArray<XdsConfig.Kind> = [
  "Listener",
  "Scopes",
  "RouteConfiguration",
  "Cluster",
  "Assignment",
  "Dns"
]

export class ChannelDriver<C extends Connection> {
  private channel: Channel.Channel
  private readonly inputs: Array<Channel.Input> = []
  private isStepping = false
  private isClosed = false
  private readonly links = new Map<string, Link<C>>()
  /** Connections that take no new calls, and their addresses; they end with their last one. */
  private readonly draining = new Map<C, string>()
  private readonly watches = new Map<string, Watch>()
  private readonly callers = new Map<number, Caller<C>>()
  /** Addresses that are wanted and that nothing says how to connect to. */
  private readonly stranded = new Set<string>()
  /** Why the last attempt to connect failed, by address. */
  private readonly failures = new Map<string, string>()
  /** Calls that nothing is chosen for yet. */
  private readonly unselected = new Set<number>()
  private owned: ReadonlyMap<string, Cluster | undefined> = new Map()
  private ids = 0
  private due = never
  private stopTimer = (): void => undefined

  constructor(private readonly options: Options<C>) {
    const { authority, environment, name } = options
    const id = BigInt(Math.floor(environment.random() * 2 ** 32)) * 2n ** 32n
    this.channel = Channel.make(name, authority, id + BigInt(Math.floor(environment.random() * 2 ** 32)))
  }

  start(): void {
    this.give({ _tag: "Xds", input: { _tag: "Start" } })
  }

  /** Whether it was closed. */
  get closed(): boolean {
    return this.isClosed
  }

  /** Calls that are not over. */
  get calls(): number {
    return HashMap.size(this.channel.calls)
  }

  /** Connections that are there or being made, draining ones included. */
  get connections(): number {
    return this.links.size + this.draining.size
  }

  /** Begins a call. ★ Of a channel that is closed nothing comes any more: who called it is told at once. */
  call(asked: Channel.Asked, caller: Caller<C>): number {
    const id = ++this.ids
    if (this.isClosed) {
      caller.onEnd(Status.unavailable("Resource", "the channel was closed"))
      return id
    }
    this.callers.set(id, caller)
    this.give({ _tag: "Call", id, call: asked })
    if (this.callers.has(id) && this.selected(id) === undefined) this.unselected.add(id)
    return id
  }

  /** What was chosen for a call; `undefined`: nothing yet, or the call is over. */
  selected(id: number): Selected | undefined {
    return Option.getOrUndefined(HashMap.get(this.channel.calls, id))?.selected
  }

  /** Another attempt of a call that was sent. */
  retry(id: number, outcome: "Succeeded" | "Failed" | undefined): void {
    this.give({ _tag: "Retry", id, outcome })
  }

  commit(id: number): void {
    this.give({ _tag: "Commit", id })
  }

  /** The call is over. Nothing comes of it if it was already. */
  over(id: number, outcome: "Succeeded" | "Failed" | undefined): void {
    if (this.callers.delete(id)) this.give({ _tag: "Over", id, outcome })
  }

  /** News of a resource. */
  news(input: Exclude<XdsConfig.Input, { readonly _tag: "Start" | "Subscribe" | "Unsubscribe" | "Scope" }>): void {
    if (this.watches.has(`${input._tag} ${input.name}`)) this.give({ _tag: "Xds", input })
  }

  /** Ends the connections to an address at once, and their calls. */
  cut(address: string): void {
    const reason = "the health check failed"
    this.links.get(address)?.connection.close(reason)
    for (const [connection, to] of this.draining) if (to === address) connection.close(reason)
  }

  /** What a call that was not sent waits for, for people. */
  waitsFor(id: number, servers: ReadonlyArray<ServerConnection>): string {
    const now = this.options.environment.now()
    const seconds = (since: number): string => secondsOf(now - since)
    const going = Option.getOrUndefined(HashMap.get(this.channel.calls, id))
    if (going?.selected === undefined) {
      const lost = lostOf(servers)
      const resource = (kind: XdsConfig.Kind, name: string): string => {
        const since = this.watches.get(`${kind} ${name}`)?.since ?? now
        const detail = this.options.detail?.(kind, name)
        if (detail !== undefined) return `${detail} for ${seconds(since)}`
        const what = `${labels[kind]} ${JSON.stringify(name)}`
        if (kind === "Dns") return `${what} for ${seconds(since)}`
        if (lost !== "") return `${what} from ${lost}`
        const where = servers.map(({ server }) => server).join(", ")
        return `${what} from ${where === "" ? "the control plane" : where} for ${seconds(since)}`
      }
      const ofScope = Channel.waitsForRoutes(this.channel, id)
      if (ofScope !== undefined && "kind" in ofScope) return resource(ofScope.kind, ofScope.name)
      if (ofScope !== undefined) return lost === "" ? ofScope.message : `${ofScope.message}; ${lost}`
      for (const kind of kinds) {
        for (const [name, known] of this.channel.xds.resources[kind]) {
          if (known === undefined) return resource(kind, name)
        }
      }
      if (this.channel.told?._tag !== "Failed") return "the configuration"
      return lost === "" ? this.channel.told.message : `${this.channel.told.message}; ${lost}`
    }
    const { cluster } = going.selected
    const connecting: Array<string> = []
    for (const address of this.addressesOf(cluster)) {
      const link = this.links.get(address)
      const failure = this.failures.get(address)
      if (link?.readySince !== undefined || (link === undefined && failure === undefined)) continue
      const time = link === undefined ? "" : ` for ${seconds(link.since)}`
      connecting.push(`${address}${time}${failure === undefined ? "" : `, last error: ${failure}`}`)
      if (connecting.length === maxShown) break
    }
    const what = `an endpoint of cluster ${JSON.stringify(cluster)}`
    return connecting.length === 0 ? what : `${what}: connecting to ${connecting.join("; ")}`
  }

  private *addressesOf(cluster: string): Iterable<string> {
    const { told } = this.channel
    const config = told?._tag === "Config" ? told.config.clusters.get(cluster) : undefined
    if (config?._tag === "Aggregate") for (const leaf of config.leaves) yield* this.addressesOf(leaf)
    if (config?._tag === "Leaf") yield* addressesIn(config)
  }

  /**
   * By address, the cluster that says how a connection to it is made; `undefined` if those that have the address
   * do not agree.
   */
  private owners(): ReadonlyMap<string, Cluster | undefined> {
    const owners = new Map<string, Cluster | undefined>()
    const { told } = this.channel
    if (told?._tag !== "Config") return owners
    for (const config of told.config.clusters.values()) {
      if (config._tag !== "Leaf") continue
      const { cluster } = config
      const key = this.options.wayOf(cluster)
      for (const address of addressesIn(config)) {
        const before = owners.get(address)
        const isShared = owners.has(address) && (before === undefined || this.options.wayOf(before) !== key)
        owners.set(address, isShared ? undefined : cluster)
      }
    }
    return owners
  }

  /** ★ A connection that is no longer made as its cluster says takes no new calls. */
  private onConfig(): void {
    // Without a configuration the policies have that of before.
    if (this.channel.told?._tag !== "Config") return
    const owners = new Map(this.owners())
    for (const address of this.links.keys()) {
      // Of an address that no cluster has any more it is known how it was made, for as long as there is a connection.
      if (!owners.has(address) && this.owned.has(address)) owners.set(address, this.owned.get(address))
    }
    this.owned = owners
    for (const [address, link] of this.links) {
      const owner = owners.get(address)
      if (owner !== undefined && this.options.wayOf(owner) === link.way) continue
      this.drain(address, link)
      // One that is being made is made anew: it has not failed, no backoff is due.
      if (link.readySince === undefined) this.connect(address)
      else this.give({ _tag: "Connection", address, state: "IDLE", message: "it is connected to in another way now" })
    }
    for (const address of this.stranded) {
      if (owners.get(address) === undefined) continue
      // What was in the way is gone: at once, no backoff is due.
      this.give({ _tag: "Connection", address, state: "CONNECTING", message: "" })
      this.connect(address)
    }
  }

  /** Ends all calls, watches and connections. */
  close(): void {
    if (this.isClosed) return
    this.give({ _tag: "Close" })
    this.isClosed = true
    this.stopTimer()
    for (const { end } of this.watches.values()) end()
    this.watches.clear()
    for (const { connection } of this.links.values()) connection.close("the channel was closed")
    for (const connection of this.draining.keys()) connection.close("the channel was closed")
    this.links.clear()
    this.draining.clear()
  }

  private give(first: Channel.Input): void {
    if (this.isClosed) return
    this.inputs.push(first)
    if (this.isStepping) return
    this.isStepping = true
    let thrown: { readonly error: unknown } | undefined
    try {
      for (let input = this.inputs.shift(); input !== undefined; input = this.inputs.shift()) {
        // Whatever is thrown ends what is done for one input, not the channel. Of a call its caller is told.
        try {
          this.step(input)
        } catch (error) {
          if (input._tag === "Call" || input._tag === "Retry") this.failCall(input.id, error)
          else thrown ??= { error }
        }
      }
    } finally {
      this.isStepping = false
    }
    this.setTimer()
    if (thrown !== undefined) throw thrown.error
  }

  private failCall(id: number, error: unknown): void {
    const caller = this.callers.get(id)
    this.over(id, undefined)
    caller?.onEnd({ code: "INTERNAL", reason: "Resource", message: Reason.of(error) })
  }

  private step(input: Channel.Input): void {
    const { counters, environment, rings } = this.options
    const context = { now: environment.now(), draw: environment.random, rings }
    const [next, outputs] = Channel.step(this.channel, input, context, counters)
    const isNews = next.told !== this.channel.told && clustersOf(next) !== clustersOf(this.channel)
    this.channel = next
    // Before anything is connected or sent by the new configuration.
    if (isNews) this.onConfig()
    for (const output of outputs) this.handle(output)
    if (input._tag === "Xds" && this.unselected.size > 0) this.tellSelected()
  }

  private tellSelected(): void {
    for (const id of this.unselected) {
      const selected = this.selected(id)
      const caller = this.callers.get(id)
      if (selected === undefined && caller !== undefined) continue
      this.unselected.delete(id)
      if (selected !== undefined) caller?.onSelect(selected)
    }
  }

  private setTimer(): void {
    const due = Channel.deadline(this.channel)
    if (due === this.due) return
    this.stopTimer()
    this.due = due
    if (due === never) return
    const { after, now } = this.options.environment
    this.stopTimer = after(Math.max(0, due - now()), () => {
      this.due = never
      this.give({ _tag: "Deadline" })
    })
  }

  private handle(output: Channel.Output): void {
    switch (output._tag) {
      case "Watch": {
        const { kind, name } = output
        const watch: Watch = { end: () => undefined, since: this.options.environment.now() }
        // ★ What is watched may be known as the watch begins, such as the address that stands in the place of a name.
        this.watches.set(`${kind} ${name}`, watch)
        watch.end = this.options.watch(kind, name)
        return
      }
      case "Unwatch": {
        const key = `${output.kind} ${output.name}`
        const watch = this.watches.get(key)
        this.watches.delete(key)
        return watch?.end()
      }
      case "Refresh":
        return this.options.refresh(output.kind, output.name)
      case "Connect":
        return this.connect(output.address)
      case "Disconnect":
        return this.disconnect(output.address)
      case "ReResolve":
        return this.options.resolveAgain()
      case "Send": {
        const { address, endpoint, id, selected } = output
        const link = this.links.get(address)
        const caller = this.callers.get(id)
        if (caller === undefined) return
        // ★ It was picked before the policies heard that the connection takes no new calls: they have by then.
        if (link === undefined) return this.retry(id, undefined)
        return caller.onSend({ connection: link.connection, address, endpoint, selected })
      }
      case "End": {
        const caller = this.callers.get(output.id)
        this.callers.delete(output.id)
        return caller?.onEnd(output.status)
      }
    }
  }

  private connect(address: string): void {
    const before = this.links.get(address)
    if (before !== undefined) this.drain(address, before)
    const owner = this.owned.get(address)
    if (owner === undefined) return this.strand(address)
    this.stranded.delete(address)
    const tell = (state: "READY" | "IDLE" | "TRANSIENT_FAILURE", message: string): void =>
      this.give({ _tag: "Connection", address, state, message })
    const isCurrent = (): boolean => this.links.get(address) === link
    const link: Link<C> = {
      readySince: undefined,
      since: this.options.environment.now(),
      way: this.options.wayOf(owner),
      connection: this.options.connect(
        address,
        {
          ready: () => {
            if (!isCurrent()) return
            link.readySince = this.options.environment.now()
            this.failures.delete(address)
            tell("READY", "")
          },
          gone: (reason) => {
            if (!isCurrent()) return
            // ★ Its calls go on where the server let it end in order (GOAWAY).
            this.drain(address, link)
            const { connection, readySince = never } = link
            const wasOfUse = connection.hasAnswered || this.options.environment.now() - readySince >= briefly
            if (!wasOfUse) this.failed(address, reason)
            tell(wasOfUse ? "IDLE" : "TRANSIENT_FAILURE", reason)
          },
          ended: () => this.draining.delete(link.connection)
        },
        owner
      )
    }
    this.links.set(address, link)
  }

  /** Nothing says how to connect to an address: it waits for that. */
  private strand(address: string): void {
    this.stranded.add(address)
    // ★ Never in the way of one of them: a call of the other would go out as it must not.
    const message = this.owned.has(address)
      ? "clusters that have this address connect to it in different ways"
      : "no cluster has this address"
    this.failed(address, message)
    this.give({ _tag: "Connection", address, state: "TRANSIENT_FAILURE", message, isHeld: true })
  }

  private failed(address: string, reason: string): void {
    this.failures.delete(address)
    this.failures.set(address, reason)
    // Of addresses that come and go only the last ones are of interest.
    const [oldest] = this.failures.keys()
    if (this.failures.size > maxFailures && oldest !== undefined) this.failures.delete(oldest)
  }

  private disconnect(address: string): void {
    this.stranded.delete(address)
    const link = this.links.get(address)
    if (link !== undefined) this.drain(address, link)
  }

  private drain(address: string, { connection }: Link<C>): void {
    this.links.delete(address)
    this.draining.set(connection, address)
    connection.drain()
  }
}

/** They say how to connect to addresses; `undefined`: there are none. */
const clustersOf = ({ told }: Channel.Channel): XdsConfig.Config["clusters"] | undefined =>
  told?._tag === "Config" ? told.config.clusters : undefined

function* addressesIn({ assignment }: XdsConfig.ClusterConfig & { readonly _tag: "Leaf" }): Iterable<string> {
  for (const localities of assignment?.priorities ?? []) {
    for (const { draining = [], endpoints } of localities) {
      for (const { addresses } of endpoints) yield* addresses
      for (const { addresses } of draining) yield* addresses
    }
  }
}

const secondsOf = (milliseconds: number): string => `${(Math.max(0, milliseconds) / 1_000).toFixed(1)} s`

/** Servers that there is no connection to, and why; empty: there is one. */
const lostOf = (servers: ReadonlyArray<ServerConnection>): string =>
  servers.some(({ state }) => state === "Connected")
    ? ""
    : servers
        .map(({ lastError, milliseconds, server }) => {
          const why = lastError === undefined ? "" : `, last error: ${lastError}`
          return `${server}: connecting for ${secondsOf(milliseconds)}${why}`
        })
        .join("; ")

const maxFailures = 100
/** Addresses in a message. */
const maxShown = 3

const labels: Readonly<Record<XdsConfig.Kind, string>> = {
  Listener: "LDS",
  Scopes: "SRDS",
  RouteConfiguration: "RDS",
  VirtualHost: "VHDS",
  Cluster: "CDS",
  Assignment: "EDS",
  Dns: "DNS"
}
