/** What strangers make the server hold, and what they take of its time. */
import { create, toBinary } from "@bufbuild/protobuf"
import { NodeSchema } from "@effect-xds/proto/envoy/config/core/v3/base"
import { DiscoveryRequestSchema } from "@effect-xds/proto/envoy/service/discovery/v3/discovery"
import { ResourceType } from "@effect-xds/proto"
import { eventually } from "@effect-xds/testing/Waiting"
import type { ServerTransport } from "@effect-xds/transport"
import { ByteBudget } from "@effect-xds/transport-node/ByteBudget"
import * as TransportMetrics from "@effect-xds/transport/TransportMetrics"
import { inSlices, TimeSlices } from "@effect-xds/transport-node/TimeSlices"
import { RestServerMetrics } from "@effect-xds/transport-rest"
import { describe, expect, it } from "@effect/vitest"
import { Effect, Metric } from "effect"
import * as Http from "node:http"
import * as V8 from "node:v8"
import * as Vm from "node:vm"
import * as SessionTimers from "../src/internal/SessionTimers.js"
import { shared } from "../src/internal/DiscoveryResponse.js"
import * as Sessions from "../src/internal/Sessions.js"
import * as DiscoveryRequests from "../src/internal/DiscoveryRequest.js"
import * as ControlPlane from "./ControlPlane.js"

V8.setFlagsFromString("--expose_gc")
const collect = new Vm.Script("gc()")

/** Bytes in use when nothing more is freed, on the heap and beside it. */
const used = Effect.gen(function* () {
  let least = Number.POSITIVE_INFINITY
  for (let round = 0; round < 5; round++) {
    collect.runInNewContext()
    yield* Effect.sleep(5)
    const { arrayBuffers, external, heapUsed } = process.memoryUsage()
    least = Math.min(least, heapUsed + Math.max(external, arrayBuffers))
  }
  return least
})

const megabyte = 1024 * 1024
const decodeLimits = { ignoreUnknownFields: false, maxJsonValues: 20_000, maxNames: 100_000, rememberedBytes: 100_000 }
const held = Effect.map(Metric.value(TransportMetrics.clientBytes("REST")), ({ value }) => value)
const evictions = Effect.map(Metric.value(TransportMetrics.evictions("REST")), ({ count }) => count)
const sessions = Effect.map(Metric.value(RestServerMetrics.sessions), ({ value }) => value)

const protobuf = { "content-type": "application/x-protobuf", accept: "application/x-protobuf" }

/** A poll of a client that nobody has seen before. */
const stranger = (id: number, metadata: number, resourceNames: ReadonlyArray<string> = []): Uint8Array => {
  const large = { blob: { kind: { case: "stringValue" as const, value: `${id} `.padEnd(metadata, "x") } } }
  const node = create(NodeSchema, { id: `n${id}`, cluster: "edge", metadata: { fields: large } })
  return toBinary(DiscoveryRequestSchema, create(DiscoveryRequestSchema, { node, resourceNames: [...resourceNames] }))
}

const agentOf = (maxSockets: number) =>
  Effect.acquireRelease(
    Effect.sync(() => new Http.Agent({ keepAlive: true, maxSockets })),
    (agent) => Effect.sync(() => agent.destroy())
  )

/** A poll that is not answered: nobody holds on to its body on this side. */
const hold = (port: number, agent: Http.Agent, body: string): void => {
  const headers = { "content-type": "application/json" }
  const sent = Http.request({ port, agent, headers, path: "/v3/discovery:clusters", method: "POST" })
  sent.on("error", () => undefined)
  sent.end(body)
}

describe("a poll for many names", () => {
  it.scopedLive(
    "is answered whole, also to a client that comes back without a version: the server takes turns for it",
    () =>
      Effect.gen(function* () {
        const names = Array.from({ length: 5_000 }, (_, at) => `cluster ${at}`).sort()
        const { port, store } = yield* ControlPlane.serve()
        yield* store.set("edge", ControlPlane.clusters(...names))
        for (let time = 0; time < 3; time++) {
          const reply = yield* ControlPlane.client(port, { names }).poll()
          expect(reply.status).toBe(200)
          expect(ControlPlane.contentOf(reply).names).toEqual(names)
        }
      })
  )
})

describe("newcomers that are refused", () => {
  it.scopedLive("since all sessions are waiting are told of by a metric, until there is room", () =>
    Effect.gen(function* () {
      const refusing = Effect.map(Metric.value(TransportMetrics.refusing("maxSessions")), ({ value }) => value)
      const { port, store } = yield* ControlPlane.serve({ maxSessions: 1, wait: 60_000 })
      yield* store.set("edge", ControlPlane.clusters("a"))
      const first = ControlPlane.client(port)
      yield* first.poll()
      const waiting = yield* Effect.fork(first.poll())
      yield* ControlPlane.held(1)
      const refused = yield* ControlPlane.client(port, { id: "n2" }).poll()
      expect([refused.status, ControlPlane.reasonOf(refused)]).toEqual([
        503,
        "1 clients wait for changes already, the limit of this server"
      ])
      expect(yield* refusing).toBe(1)
      yield* store.set("edge", ControlPlane.clusters("b"))
      yield* waiting
      expect(yield* refusing).toBe(0)
      expect((yield* ControlPlane.client(port, { id: "n2" }).poll()).status).toBe(200)
    })
  )
})

describe("what sessions hold", { timeout: 300_000 }, () => {
  it.scopedLive("150 polls with a megabyte of metadata each leave next to nothing", () =>
    Effect.gen(function* () {
      const { port, store } = yield* ControlPlane.serve({}, { group: ({ cluster }) => Effect.succeed(cluster) })
      yield* store.set("edge", ControlPlane.clusters("a"))
      const agent = yield* agentOf(4)
      const poll = (id: number) =>
        Effect.promise(async () => {
          const reply = await ControlPlane.request(port, { agent, headers: protobuf, body: stranger(id, megabyte) })
          expect(reply.status).toBe(200)
        })
      yield* poll(0)
      const [before, open] = [yield* used, yield* sessions]
      yield* Effect.forEach(
        Array.from({ length: 150 }, (_, id) => id + 1),
        poll,
        { concurrency: 4, discard: true }
      )
      expect((yield* sessions) - open).toBe(150)
      // Each kept three times its metadata before.
      expect(((yield* used) - before) / megabyte).toBeLessThan(40)
      expect(yield* held).toBeLessThan(megabyte)
    })
  )

  it.scopedLive("polls that are held do not hold on to what they came in", () =>
    Effect.gen(function* () {
      const { port, store } = yield* ControlPlane.serve({ wait: 600_000, maxWait: 600_000 })
      yield* store.set("edge", ControlPlane.clusters("a"))
      const agent = yield* agentOf(200)
      const bodyOf = (id: number, version: string) => {
        const metadata = { blob: `${id} `.padEnd(megabyte, "x") }
        return JSON.stringify({ node: { id: `n${id}`, cluster: "edge", metadata }, version_info: version })
      }
      const poll = (id: number) => ControlPlane.request(port, { agent, body: bodyOf(id, "") })
      const version = ControlPlane.contentOf(yield* Effect.promise(() => poll(0))).version
      const before = yield* used
      for (let id = 1; id <= 60; id++) {
        yield* Effect.promise(() => poll(id))
        hold(port, agent, bodyOf(id, version))
      }
      yield* ControlPlane.held(60)
      expect(((yield* used) - before) / megabyte).toBeLessThan(30)
    })
  )

  it.scopedLive("names count: when they are more than the budget, those idle for the longest time are ended", () =>
    Effect.gen(function* () {
      const limit = 4 * megabyte
      const { events, logs, port, status, store } = yield* ControlPlane.serve({ maxClientBytes: limit })
      yield* store.set("edge", ControlPlane.clusters("a"))
      const before = yield* evictions
      // Each is half a megabyte.
      const names = (id: number) => ["a", ...Array.from({ length: 1000 }, (_, at) => `${id} ${at} `.padEnd(130, "x"))]
      for (let id = 0; id < 40; id++) {
        const body = stranger(id, 0, names(id))
        const reply = yield* Effect.promise(() => ControlPlane.request(port, { headers: protobuf, body }))
        expect(reply.status).toBe(200)
        expect(yield* held).toBeLessThanOrEqual(limit)
      }
      const left = (yield* status).map(({ node }) => Number(node?.id.slice(1)))
      expect(left.length).toBeGreaterThan(5)
      expect(left).toEqual(Array.from({ length: left.length }, (_, at) => 40 - left.length + at))
      expect((yield* evictions) - before).toBe(40 - left.length)
      yield* eventually(() => expect(events.filter(({ _tag }) => _tag === "Ended")).toHaveLength(40 - left.length))
      expect(logs.filter((line) => line.includes("refused"))).toEqual([])
    })
  )

  it.scopedLive("bodies that do not end count: the oldest gives way, and a whole one is answered", () =>
    Effect.gen(function* () {
      const { port, store } = yield* ControlPlane.serve({ maxClientBytes: 4 * megabyte })
      yield* store.set("edge", ControlPlane.clusters("a"))
      const statuses: Array<number> = []
      const begun: Array<Http.ClientRequest> = []
      yield* Effect.addFinalizer(() => Effect.sync(() => begun.forEach((each) => each.destroy())))
      for (let number = 0; number < 8; number++) {
        const sent = Http.request({
          port,
          host: "127.0.0.1",
          path: "/v3/discovery:clusters",
          method: "POST",
          headers: { ...protobuf, "content-length": 2 * megabyte }
        })
        sent.on("error", () => undefined)
        sent.on("response", (response) => void statuses.push(response.statusCode ?? 0))
        sent.write(Buffer.alloc(megabyte))
        begun.push(sent)
      }
      yield* eventually(() => expect(statuses.length).toBeGreaterThanOrEqual(4))
      expect(statuses.every((status) => status === 503)).toBe(true)
      expect(yield* held).toBeLessThanOrEqual(4 * megabyte)
      const body = stranger(1, 1000)
      const reply = yield* Effect.promise(() => ControlPlane.request(port, { headers: protobuf, body }))
      expect(reply.status).toBe(200)
    })
  )

  it.scopedLive("10 000 clients that come once and are forgotten leave nothing", () =>
    Effect.gen(function* () {
      const deadlines = yield* SessionTimers.make
      const budget = new ByteBudget(megabyte, "test")
      let served = 0
      const accept = (stream: ServerTransport.AcceptedStream): ServerTransport.StreamHandler => {
        served++
        return {
          onRequest: () => stream.write({ body: new Uint8Array(), suffix: new Uint8Array() }),
          onWritable: () => undefined,
          onEnd: () => {
            served--
          }
        }
      }
      const limits = { maxSessions: 20, maxHeld: 10, idleTimeout: 60_000 }
      const table = new Sessions.Sessions(limits, deadlines, budget, accept, shared(new TimeSlices()))
      const decode = DiscoveryRequests.decoder(decodeLimits, new TimeSlices())
      let answered = 0
      const visit = (round: number) =>
        Effect.gen(function* () {
          for (let id = 0; id < 5_000; id++) {
            const name = `name ${round} ${id}`
            const body = JSON.stringify({ node: { id: name, cluster: "edge" }, resource_names: [name] })
            const decoded = yield* decode("json", Buffer.from(body))
            const incoming = {
              type: ResourceType.Cluster,
              decoded,
              peer: { address: `10.0.0.1:${id}`, identity: undefined },
              headers: { authorization: name },
              credentials: [name],
              // Some are held, and gone before they are answered.
              wait: id % 3 === 0 ? 1000 : 0,
              patience: 0
            }
            const key = yield* inSlices(new TimeSlices(), Sessions.keyOf(incoming))
            const takeBack = table.poll(key, incoming, undefined, () => {
              answered++
            })
            takeBack()
          }
        })
      // 5 000, and as many again.
      yield* visit(0)
      let [before, bytes] = [yield* used, Number.POSITIVE_INFINITY]
      // What is measured is not only theirs, so it is measured again before it counts.
      for (let round = 1; round <= 3 && bytes > 50; round++) {
        yield* visit(round)
        const after = yield* used
        bytes = Math.min(bytes, (after - before) / 5_000)
        before = after
      }
      expect(bytes).toBeLessThan(50)
      expect(answered).toBeGreaterThan(5_000)
      expect([served, budget.size, deadlines.size()]).toEqual([20, 20, 1])
      table.close()
      expect([served, budget.size, budget.held, deadlines.size()]).toEqual([0, 0, 0, 0])
    })
  )
})

/** Turns in which there is time for one part only, and how many there were. */
const countingTurns = () => {
  const counted = {
    turns: 0,
    isOver: () => true,
    later: (work: () => void) => {
      counted.turns++
      setImmediate(work)
    }
  }
  return counted
}

describe("what is read takes many turns", () => {
  const decode = (format: "json" | "protobuf", body: Uint8Array) =>
    Effect.gen(function* () {
      const turns = countingTurns()
      const result = yield* Effect.either(DiscoveryRequests.decoder(decodeLimits, turns)(format, body))
      return { result, turns: turns.turns }
    })
  const fieldOf = (field: number, bytes: Uint8Array) =>
    Buffer.concat([Buffer.from([field * 8 + 2, bytes.length]), bytes])

  it.live("a protobuf body of two million fields: 2 048 in each at most", () =>
    Effect.gen(function* () {
      const { result, turns } = yield* decode("protobuf", Buffer.alloc(4 * megabyte, Buffer.from([0x7a, 0])))
      expect(result._tag).toBe("Right")
      expect(turns).toBeGreaterThanOrEqual((2 * megabyte) / 2048 - 1)
    })
  )

  it.live("a hundred thousand names are read and sorted in parts, and are in order, each once", () =>
    Effect.gen(function* () {
      const names = Array.from({ length: 100_000 }, (_, at) => `name ${(at * 7919) % 100_000}`)
      const twice = [...names, ...names.slice(0, 1000)]
      const { result, turns } = yield* decode(
        "protobuf",
        Buffer.concat(twice.map((name) => fieldOf(3, Buffer.from(name))))
      )
      expect(result._tag === "Right" && result.right.request.resourceNames).toEqual([...names].sort())
      // Read, taken once, sorted in runs, and merged seven times.
      expect(turns).toBeGreaterThan(100_000 / 2048 + (9 * 100_000) / 1024 - 20)
    })
  )

  it.live("more names than the limit are refused, before they are sorted", () =>
    Effect.gen(function* () {
      const names = Array.from({ length: 100_001 }, (_, at) => fieldOf(3, Buffer.from(`${at}`)))
      const { result } = yield* decode("protobuf", Buffer.concat(names))
      expect(result._tag === "Left" && result.left).toMatchObject({ status: 429, code: "RESOURCE_EXHAUSTED" })
    })
  )

  it.live("JSON with more values than the limit is refused before it is parsed, whatever they are", () =>
    Effect.gen(function* () {
      for (const [name, body] of Object.entries({
        objects: `{"node":{"extensions":[${"{},".repeat(20_000)}{}]}}`,
        arrays: `{"node":{"metadata":{"a":[${"[],".repeat(20_000)}[]]}}}`,
        members: `{${Array.from({ length: 20_001 }, (_, at) => `"k${at}":0`).join()}}`,
        strings: `{"resource_names":[${`"\\"",`.repeat(20_000)}""]}`
      })) {
        const { result } = yield* decode("json", Buffer.from(body))
        expect([name, result._tag === "Left" && result.left.status]).toEqual([name, 413])
      }
    })
  )

  it.live("JSON within it is counted 64 KB at a time; what a string holds does not count", () =>
    Effect.gen(function* () {
      const blob = `\\"{[,`.repeat(600_000)
      const body = Buffer.from(`{"node":{"id":"n","metadata":{"a":"${blob}"}},"resource_names":["b","a"]}`)
      const { result, turns } = yield* decode("json", body)
      expect(result._tag === "Right" && result.right.request.resourceNames).toEqual(["a", "b"])
      expect(turns).toBeGreaterThanOrEqual(Math.floor(body.length / 65_536))
      // And the node is read, and written again, in turns of their own.
      if (result._tag === "Left") return
      expect((yield* result.right.node)?.length).toBeGreaterThan(2_000_000)
    })
  )
})
