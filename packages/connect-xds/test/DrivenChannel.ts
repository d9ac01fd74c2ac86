/** A channel whose resources, connections and time a test says itself. */
import * as Assignment from "@effect-xds/routing/Assignment"
import * as CallHeaders from "@effect-xds/routing/CallHeaders"
import type { Asked } from "@effect-xds/routing/Channel"
import * as Cluster from "@effect-xds/routing/Cluster"
import * as Listener from "@effect-xds/routing/Listener"
import { RingStore } from "@effect-xds/routing/RingStore"
import * as RouteTable from "@effect-xds/routing/RouteTable"
import type * as XdsConfig from "@effect-xds/routing/XdsConfig"
import { GrpcListener } from "@effect-xds/testing"
import * as Either from "effect/Either"
import { ChannelCounters } from "../src/internal/ChannelCounters.js"
import { ChannelDriver } from "../src/internal/ChannelDriver.js"
import type { Connection, Events } from "../src/internal/Connection.js"
import * as Mesh from "./Mesh.js"

type News = Parameters<ChannelDriver<Connected>["news"]>[0]

export class Connected implements Connection {
  hasAnswered = false
  isDrained = false

  constructor(
    readonly address: string,
    readonly cluster: string,
    readonly events: Events
  ) {}

  drain(): void {
    this.isDrained = true
  }

  close(): void {
    this.isDrained = true
  }
}

const valueOf = <A>(made: Either.Either<A, unknown>): XdsConfig.Known<A> => ({
  _tag: "Value",
  value: Either.getOrThrow(made)
})

/** A call, and what became of it: `waits`, the address it was sent to, or why it ended. */
export interface Told {
  readonly id: number
  became: string
}

export class DrivenChannel {
  readonly connections: Array<Connected> = []
  readonly driver: ChannelDriver<Connected>
  private now = 0
  private timers: Array<{ readonly at: number; readonly task: () => void }> = []

  /** @param onConnect what becomes of a connection, a millisecond after it was begun */
  constructor(private readonly onConnect: (connection: Connected) => void = () => undefined) {
    this.driver = new ChannelDriver<Connected>({
      name: "shop",
      authority: "shop",
      counters: new ChannelCounters(),
      rings: new RingStore(),
      environment: {
        now: () => this.now,
        random: () => 0.5,
        after: (milliseconds, task) => this.later(milliseconds, task)
      },
      wayOf: ({ transportSocket }) => transportSocket?.name ?? "plain",
      connect: (address, events, { name }) => {
        const connection = new Connected(address, name, events)
        this.connections.push(connection)
        this.later(1, () => this.onConnect(connection))
        return connection
      },
      watch: () => () => undefined,
      refresh: () => undefined,
      resolveAgain: () => undefined
    })
    this.driver.start()
    this.tell({ _tag: "Listener", name: "shop", known: valueOf(Listener.make(GrpcListener.make("shop"))) })
  }

  /** Does something when so much time has passed. The result takes it back. */
  later(milliseconds: number, task: () => void): () => void {
    const timer = { at: this.now + milliseconds, task }
    this.timers.push(timer)
    return () => {
      this.timers = this.timers.filter((each) => each !== timer)
    }
  }

  private tell(news: News): this {
    this.driver.news(news)
    return this
  }

  withoutListener(): this {
    return this.tell({ _tag: "Listener", name: "shop", known: { _tag: "Failed", message: "there is none" } })
  }

  /** Calls under `/name/` go to the cluster of that name. */
  routes(...clusters: ReadonlyArray<string>): this {
    const to = clusters.map((name) => Mesh.to(name, { pathSpecifier: { case: "prefix", value: `/${name}/` } }))
    const known = valueOf(RouteTable.make(Mesh.routes("shop", ["*"], ...to)))
    return this.tell({ _tag: "RouteConfiguration", name: "shop", known })
  }

  /** @param way how it is connected to, beside `plain` */
  cluster(name: string, way?: string): this {
    const message = Mesh.cluster(name, way === undefined ? {} : { transportSocket: { name: way } })
    return this.tell({ _tag: "Cluster", name, known: valueOf(Cluster.make(message)) })
  }

  /** Endpoints of 127.0.0.1. */
  endpoints(name: string, ...ports: ReadonlyArray<number>): this {
    const known = valueOf(Assignment.make(Mesh.endpoints(name, ...ports)))
    return this.tell({ _tag: "Assignment", name, known })
  }

  call(cluster: string, more: Partial<Asked> = {}): Told {
    const told = { id: 0, became: "waits" }
    told.id = this.driver.call(
      {
        path: `/${cluster}/M`,
        headers: CallHeaders.empty,
        waitForReady: false,
        timeout: undefined,
        draw: () => 0.5,
        ...more
      },
      {
        onSelect: () => undefined,
        onSend: ({ address }) => void (told.became = address),
        onEnd: ({ message }) => void (told.became = message)
      }
    )
    return told
  }

  /** Lets time pass. */
  wait(milliseconds: number): this {
    const end = this.now + milliseconds
    for (;;) {
      const next = this.timers.filter(({ at }) => at <= end).sort((a, b) => a.at - b.at)[0]
      if (next === undefined) break
      this.timers = this.timers.filter((each) => each !== next)
      this.now = Math.max(this.now, next.at)
      next.task()
    }
    this.now = end
    return this
  }
}
