/** Names, texts and streams that come and go leave nothing in what a client has beside the state of the core. */
import { create, toBinary } from "@bufbuild/protobuf"
import { type ResourceEvent, WatchableType } from "@effect-xds/client"
import * as Request from "@effect-xds/core/wire/Request"
import * as Resource from "@effect-xds/core/resource/Resource"
import * as Response from "@effect-xds/core/wire/Response"
import { ResourceType } from "@effect-xds/proto"
import { type Cluster, ClusterSchema } from "@effect-xds/proto/envoy/config/cluster/v3/cluster"
import { type ClientTransport, Status } from "@effect-xds/transport"
import { EventLoop } from "@effect-xds/transport"
import { describe, expect, it } from "@effect/vitest"
import { Effect, Either } from "effect"
import { Driver } from "../src/internal/Driver.js"
import type { Watcher } from "../src/internal/Watcher.js"

const CDS = ResourceType.Cluster.typeUrl
const many = 3_000

/** How much can be reached: every object, entry and byte. */
const weigh = (root: unknown): number => {
  const seen = new Set<unknown>()
  const open: Array<unknown> = [root]
  let weight = 0
  while (open.length > 0) {
    const value = open.pop()
    weight += typeof value === "string" ? 1 + value.length : 1
    if (typeof value !== "object" || value === null || seen.has(value)) continue
    seen.add(value)
    if (ArrayBuffer.isView(value)) weight += value.byteLength
    else if (value instanceof Map) for (const entry of value) open.push(...entry)
    else if (value instanceof Set) for (const item of value) open.push(item)
    else for (const key of Reflect.ownKeys(value)) open.push(Reflect.get(value, key))
  }
  return weight
}

const cluster = (name: string): Resource.Resource =>
  Either.getOrThrow(
    Resource.make({ typeUrl: CDS, name, value: toBinary(ClusterSchema, create(ClusterSchema, { name })) })
  )

const play = (protocol: Request.Protocol) => {
  const counts = { opened: 0, acks: 0, nacks: 0, told: 0 }
  const type = WatchableType.fromSchema(ClusterSchema, {
    validate: ({ name }) => (name.startsWith("bad") ? `no cluster may be named ${name}` : undefined)
  })
  let now = 0
  let alarm = Number.POSITIVE_INFINITY
  let nonce = 0
  let names = new Set<string>()
  let handler: ClientTransport.StreamHandler | undefined
  const work: Array<() => void> = []
  const flush = (): void => {
    for (let next = work.shift(); next !== undefined; next = work.shift()) next()
  }
  const asked = (request: Request.Request): ReadonlyArray<string> => {
    if (request.errorDetail !== undefined) counts.nacks++
    else if (request.responseNonce !== "") counts.acks++
    const before = names
    names =
      request._tag === "StateOfTheWorld"
        ? new Set(request.resourceNames)
        : new Set([...before, ...request.resourceNamesSubscribe])
    if (request._tag === "Incremental") for (const name of request.resourceNamesUnsubscribe) names.delete(name)
    const isNew = Array.from(names).some((name) => !before.has(name))
    return isNew ? Array.from(names) : []
  }
  const channel: ClientTransport.Channel = {
    open: (method, given) => {
      counts.opened++
      handler = given
      names = new Set()
      work.push(() => given.onOpen())
      return {
        send: (message) => {
          const found = asked(Either.getOrThrow(Request.decode(method.protocol, message)))
          const resources = found.filter((name) => !name.startsWith("none")).map(cluster)
          const version = String(++nonce)
          if (found.length === 0) return
          const response = Response.make({ protocol: method.protocol, typeUrl: CDS, version, resources })
          work.push(() => given.onMessage(Response.encode(response, version)))
        },
        next: () => undefined,
        end: () => undefined
      }
    }
  }
  const server = { id: "s", protocol, aggregated: true, resourceTimeout: 15_000 }
  const driver = new Driver(
    {
      servers: new Map([["s", { server, address: "xds:1", channel }]]),
      now: () => now,
      random: () => 0.5,
      alarm: (at) => (alarm = at),
      loop: { ...EventLoop.process, soon: (later) => void work.push(later) },
      log: () => undefined,
      span: () => ({ end: () => undefined })
    },
    {
      servers: [server],
      authorities: new Map(),
      node: new Uint8Array(),
      watcherTimeout: 10_000,
      backoff: { initial: 1_000, factor: 1.6, max: 30_000, jitter: 0, floor: 500 }
    }
  )
  const wait = (milliseconds: number): void => {
    const until = now + milliseconds
    for (flush(); alarm <= until; flush()) {
      now = Math.max(now, alarm)
      driver.onDeadline()
    }
    now = until
  }
  return {
    counts,
    driver,
    wait,
    watch: (name: string) => Either.getOrThrow(driver.watch(type, name)),
    /** The watcher takes what it was told, and is gone. */
    leave: (watcher: Watcher<ResourceEvent.ResourceEvent<Cluster>>, isTold: boolean) => {
      if (isTold) counts.told += Effect.runSync(watcher.pull).length
      driver.unwatch(watcher.id)
      flush()
    },
    flush,
    lose: (reason: string) => {
      handler?.onEnd(Status.make("UNAVAILABLE", reason))
      wait(60_000)
    }
  }
}

describe.each(["StateOfTheWorld", "Incremental"] as const)("a client, %s", (protocol) => {
  it(`${many} names, texts and streams that come and go leave nothing`, () => {
    const client = play(protocol)
    const stays = client.watch("stays")
    client.flush()
    Effect.runSync(stays.pull)
    // Back for more, and so done with what it took.
    Effect.runFork(stays.pull)
    client.flush()
    // Some are there, some are rejected, each with words of its own, and some are never answered.
    const visit = (index: number) => {
      const kind = ["good", "bad", "none"][index % 3] ?? ""
      const watcher = client.watch(`${kind} ${index}`)
      client.flush()
      if (index % 6 === 2) client.wait(20_000)
      client.leave(watcher, kind !== "none")
      if (index % 100 === 99) client.lose(`gone for the time ${index}`)
      if (index % 10 === 9) client.wait(20_000)
    }
    const measure = () => {
      client.wait(3_600_000)
      return weigh(client.driver)
    }
    for (let index = 0; index < 600; index++) visit(index)
    const before = measure()
    for (let index = 600; index < 600 + many; index++) visit(index)
    // The digits of names, versions and times.
    expect(measure() - before).toBeLessThan(100)
    const { acks, nacks, opened, told } = client.counts
    for (const count of [acks, nacks, told]) expect(count).toBeGreaterThan(many / 4)
    expect(opened).toBeGreaterThanOrEqual(many / 100)
  })
})
