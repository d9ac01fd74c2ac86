import type { MessageInitShape } from "@bufbuild/protobuf"
import { create } from "@bufbuild/protobuf"
import { anyPack } from "@bufbuild/protobuf/wkt"
import { ClusterSchema, Cluster_DiscoveryType } from "@effect-xds/proto/envoy/config/cluster/v3/cluster"
import { ClusterLoadAssignmentSchema } from "@effect-xds/proto/envoy/config/endpoint/v3/endpoint"
import { ClusterConfigSchema } from "@effect-xds/proto/envoy/extensions/clusters/aggregate/v3/cluster"
import { RouteConfigurationSchema } from "@effect-xds/proto/envoy/config/route/v3/route"
import { StatefulSessionSchema } from "@effect-xds/proto/envoy/extensions/filters/http/stateful_session/v3/stateful_session"
import { CookieBasedSessionStateSchema } from "@effect-xds/proto/envoy/extensions/http/stateful_session/cookie/v3/cookie"
import type { HttpFilterSchema } from "@effect-xds/proto/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager"
import * as Assignment from "@effect-xds/routing/Assignment"
import { CallCounters } from "@effect-xds/routing/CallCounters"
import * as CallHeaders from "@effect-xds/routing/CallHeaders"
import * as Channel from "@effect-xds/routing/Channel"
import * as Cluster from "@effect-xds/routing/Cluster"
import * as Listener from "@effect-xds/routing/Listener"
import { RingStore } from "@effect-xds/routing/RingStore"
import * as RouteTable from "@effect-xds/routing/RouteTable"
import type * as XdsConfig from "@effect-xds/routing/XdsConfig"
import { GrpcListener } from "@effect-xds/testing"
import * as Either from "effect/Either"
import type { RouteInit } from "./Routes.js"

const ads = { configSourceSpecifier: { case: "ads" as const, value: {} } }

type Filter = MessageInitShape<typeof HttpFilterSchema>

/** Sessions by the cookie `host`. */
export const sessions: Filter = {
  name: "sessions",
  configType: {
    case: "typedConfig",
    value: anyPack(
      StatefulSessionSchema,
      create(StatefulSessionSchema, {
        sessionState: {
          name: "cookie",
          typedConfig: anyPack(
            CookieBasedSessionStateSchema,
            create(CookieBasedSessionStateSchema, { cookie: { name: "host" } })
          )
        }
      })
    )
  }
}

/** @param filters come before the router */
export const listenerOf = (routes: string, filters: ReadonlyArray<Filter> = []) =>
  Listener.make(GrpcListener.make("shop", { routes, filters }))

export const routesOf = (...routes: ReadonlyArray<RouteInit>) =>
  RouteTable.make(
    create(RouteConfigurationSchema, {
      name: "routes",
      virtualHosts: [{ name: "shop", domains: ["shop"], routes: [...routes] }]
    })
  )

export const clusterOf = (name: string, value: object = {}) =>
  Cluster.make(
    create(ClusterSchema, {
      name,
      clusterDiscoveryType: { case: "type", value: Cluster_DiscoveryType.EDS },
      edsClusterConfig: { edsConfig: ads },
      ...value
    })
  )

/** An aggregate of clusters. */
export const aggregateOf = (name: string, ...clusters: ReadonlyArray<string>) =>
  clusterOf(name, {
    clusterDiscoveryType: {
      case: "clusterType",
      value: {
        name: "envoy.clusters.aggregate",
        typedConfig: anyPack(ClusterConfigSchema, create(ClusterConfigSchema, { clusters: [...clusters] }))
      }
    }
  })

/** Localities of a priority each, with addresses `10.0.0.n:80`. */
export const assignmentOf = (name: string, ...priorities: ReadonlyArray<ReadonlyArray<number>>) =>
  localitiesOf(name, priorities, (index) => index)

/** Localities of one priority. */
export const zonesOf = (name: string, ...zones: ReadonlyArray<ReadonlyArray<number>>) =>
  localitiesOf(name, zones, () => 0)

const localitiesOf = (
  name: string,
  localities: ReadonlyArray<ReadonlyArray<number>>,
  priorityOf: (index: number) => number
) =>
  Assignment.make(
    create(ClusterLoadAssignmentSchema, {
      clusterName: name,
      endpoints: localities.map((numbers, index) => ({
        priority: priorityOf(index),
        locality: { zone: `zone-${index}` },
        loadBalancingWeight: 1,
        lbEndpoints: numbers.map((number) => ({
          hostIdentifier: {
            case: "endpoint" as const,
            value: {
              address: {
                address: {
                  case: "socketAddress" as const,
                  value: { address: `10.0.0.${number}`, portSpecifier: { case: "portValue" as const, value: 80 } }
                }
              }
            }
          }
        }))
      }))
    })
  )

export const value = <A>(made: Either.Either<A, unknown>): XdsConfig.Known<A> => ({
  _tag: "Value",
  value: Either.getOrThrow(made)
})

/** Random numbers from a seed (mulberry32). */
export const random = (seed: number): (() => number) => {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

/** What a world needs of time: `SimulatedTime` is such a one. */
export interface Time {
  /** Milliseconds. */
  readonly now: () => number
  /** Does something after so many milliseconds. The result takes it back. */
  readonly schedule: (milliseconds: number, task: () => void) => () => void
}

/** Time that goes on when a test says so. */
class OwnTime implements Time {
  private time = 0
  private events: Array<{ readonly at: number; readonly task: () => void }> = []

  readonly now = (): number => this.time

  readonly schedule = (milliseconds: number, task: () => void): (() => void) => {
    const event = { at: this.time + milliseconds, task }
    this.events.push(event)
    return () => {
      this.events = this.events.filter((each) => each !== event)
    }
  }

  until(end: number): void {
    for (;;) {
      this.events.sort((a, b) => a.at - b.at)
      const [next] = this.events
      if (next === undefined || next.at > end) break
      this.events.shift()
      this.time = Math.max(this.time, next.at)
      next.task()
    }
    this.time = end
  }
}

/** A channel among endpoints that can be reached or not. */
export class World {
  readonly counters = new CallCounters()
  channel = Channel.make("shop", "shop", 1n)
  /** Connections that the channel wants, and whether they are there. */
  readonly connections = new Map<string, "connecting" | "ready" | "failed">()
  readonly down = new Set<string>()
  /** Addresses whose calls fail. */
  readonly bad = new Set<string>()
  readonly watched = new Set<string>()
  readonly sent = new Map<string, number>()
  readonly ended = new Map<string, number>()
  readonly faults: Array<string> = []
  onSend: ((id: number, address: string, output: Channel.Output & { readonly _tag: "Send" }) => void) | undefined
  private ids = 0

  constructor(
    readonly draw: () => number,
    /** Milliseconds that calls take. */
    readonly callTime: () => number = () => 10,
    /** Addresses that calls may be sent to now. */
    public allowed?: (cluster: string, address: string) => boolean,
    private readonly rings = new RingStore(),
    private readonly time: Time = new OwnTime()
  ) {}

  get now(): number {
    return this.time.now()
  }

  get waiting(): number {
    return this.ids - this.over
  }

  private over = 0

  give(input: Channel.Input): void {
    const context = { now: this.now, draw: () => this.draw(), rings: this.rings }
    const [next, outputs] = Channel.step(this.channel, input, context, this.counters)
    this.channel = next
    for (const output of outputs) this.handle(output)
    this.setTimer()
  }

  private due = Number.POSITIVE_INFINITY
  private stopTimer = (): void => undefined

  private setTimer(): void {
    const due = Channel.deadline(this.channel)
    if (due === this.due) return
    this.stopTimer()
    this.due = due
    if (due === Number.POSITIVE_INFINITY) return
    this.stopTimer = this.time.schedule(due - this.now, () => {
      this.due = Number.POSITIVE_INFINITY
      this.give({ _tag: "Deadline" })
    })
  }

  xds(input: XdsConfig.Input): void {
    this.give({ _tag: "Xds", input })
  }

  call(path = "/shop.Cart/Add", waitForReady = false, headers: ReadonlyArray<readonly [string, string]> = []): number {
    const id = ++this.ids
    const drawn = new Map<number, number>()
    const draw = (n: number): number => {
      const known = drawn.get(n) ?? this.draw()
      drawn.set(n, known)
      return known
    }
    const call = { path, headers: CallHeaders.fromEntries(headers), draw, waitForReady, timeout: undefined }
    this.give({ _tag: "Call", id, call })
    return id
  }

  private after(delay: number, run: () => void): void {
    this.time.schedule(delay, run)
  }

  private handle(output: Channel.Output): void {
    switch (output._tag) {
      case "Watch":
        this.watched.add(`${output.kind} ${output.name}`)
        return
      case "Unwatch":
        this.watched.delete(`${output.kind} ${output.name}`)
        return
      case "Refresh":
        return
      case "Connect":
        this.connections.set(output.address, "connecting")
        return this.after(1 + this.draw() * 50, () => this.connect(output.address))
      case "Disconnect":
        this.connections.delete(output.address)
        return
      case "ReResolve":
        return
      case "Send": {
        const { address, id, selected } = output
        this.onSend?.(id, address, output)
        if (this.connections.get(address) !== "ready") this.faults.push(`call ${id} sent to ${address}: not connected`)
        if (this.allowed?.(selected.cluster, address) === false) {
          this.faults.push(`call ${id} of ${selected.cluster} sent to ${address}: not an endpoint of it`)
        }
        this.sent.set(address, (this.sent.get(address) ?? 0) + 1)
        return this.after(this.callTime(), () => {
          this.over++
          this.give({ _tag: "Over", id, outcome: this.bad.has(address) ? "Failed" : "Succeeded" })
        })
      }
      case "End":
        this.over++
        this.ended.set(output.status.message, (this.ended.get(output.status.message) ?? 0) + 1)
    }
  }

  private connect(address: string): void {
    if (this.connections.get(address) !== "connecting") return
    const isDown = this.down.has(address)
    this.connections.set(address, isDown ? "failed" : "ready")
    const state = isDown ? "TRANSIENT_FAILURE" : "READY"
    this.give({ _tag: "Connection", address, state, message: "connection refused" })
  }

  /** An endpoint goes down, or comes back. */
  flip(address: string): void {
    if (this.down.delete(address)) return
    this.down.add(address)
    if (this.connections.get(address) !== "ready") return
    this.connections.set(address, "failed")
    this.give({ _tag: "Connection", address, state: "IDLE", message: "connection reset" })
  }

  /** Time goes on until then, event by event. */
  until(end: number): void {
    if (!(this.time instanceof OwnTime)) throw new Error("this world's time goes on with the clock of the test")
    this.time.until(end)
  }
}
