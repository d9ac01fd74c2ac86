import { Snapshot } from "@effect-xds/server"
import { eventually } from "@effect-xds/testing/Waiting"
import { describe, expect, it } from "@effect/vitest"
import { Effect, Either } from "effect"
import * as Net from "node:net"
import * as Http2Client from "../Http2Client.js"
import { frame } from "../RecordingServer.js"
import { CDS, cluster, clusters, EDS, endpoints, group, serve } from "./ControlPlane.js"
import { encode, protocols, XdsClient } from "./XdsClient.js"

const unknown = "type.googleapis.com/test.Unknown"

describe.each(protocols)("a request, %s", (protocol) => {
  const connect = (port: number, options: ConstructorParameters<typeof XdsClient>[2] = {}) =>
    Effect.map(Http2Client.connect(port), (session) => new XdsClient(session, protocol, options))

  it.scopedLive("with a nonce of another stream is a first request", () =>
    Effect.gen(function* () {
      const { port, store } = yield* serve()
      yield* store.set(group, clusters("a"))
      const client = yield* connect(port)
      client.send({ typeUrl: CDS, nonce: "of another stream", version: "1" })
      const first = yield* client.receive
      expect(first.names).toEqual(["a"])
      client.ack(first)
      yield* store.update(group, { upsert: clusters("b") })
      expect((yield* client.receive).names).toContain("b")
      expect(yield* client.settle).toEqual([])
    })
  )

  it.scopedLive("with a nonce that is stale is no ACK, and its names count in incremental only", () =>
    Effect.gen(function* () {
      const { events, port, status, store } = yield* serve()
      yield* store.set(group, endpoints("a", "b"))
      const client = yield* connect(port)
      client.subscribe(EDS, ["a"])
      client.ack(yield* client.receive)
      client.send({ typeUrl: EDS, names: ["b"], nonce: "stale" })
      client.send({ typeUrl: EDS, names: ["b"], nonce: "stale", error: "of what?" })
      const answers = yield* client.settle
      expect(answers.map(({ names }) => names)).toEqual(protocol === "Incremental" ? [["b"], ["b"]] : [])
      expect(events.filter(({ _tag }) => _tag === "Acked").length).toBe(1)
      // Its words are told; which response it rejects is not known.
      expect((yield* status)[0]?.types[0]?.nacked).toMatchObject({ version: "", error: { message: "of what?" } })
      for (const answer of answers) client.ack(answer)
      client.subscribe(EDS, ["a", "b"])
      expect((yield* client.settle).flatMap(({ names }) => names)).toContain("b")
    })
  )

  it.scopedLive("for an unknown type is answered with nothing, and others go on", () =>
    Effect.gen(function* () {
      const { figures, port, store } = yield* serve()
      yield* store.set(group, clusters("a"))
      const client = yield* connect(port)
      client.subscribe(unknown)
      expect(yield* client.receive).toMatchObject({ typeUrl: unknown, names: [], removed: [] })
      client.subscribe(`${unknown}2`, ["x"])
      expect(yield* client.receive).toMatchObject({
        typeUrl: `${unknown}2`,
        names: [],
        removed: protocol === "Incremental" ? ["x"] : []
      })
      client.subscribe(CDS)
      expect((yield* client.receive).names).toEqual(["a"])
      yield* store.update(group, { upsert: { clusters: [cluster("a", "changed")] } })
      expect((yield* client.receive).names).toEqual(["a"])
      expect((yield* figures).violations).toBe(0)
    })
  )

  const path = {
    StateOfTheWorld: "/envoy.service.cluster.v3.ClusterDiscoveryService/StreamClusters",
    Incremental: "/envoy.service.cluster.v3.ClusterDiscoveryService/DeltaClusters"
  }[protocol]

  it.scopedLive("without a type is refused on an aggregated stream, and is of the service's type on another", () =>
    Effect.gen(function* () {
      const { clients, port, store } = yield* serve()
      yield* store.set(group, clusters("a"))
      const aggregated = yield* connect(port)
      aggregated.send({})
      expect(yield* aggregated.ended).toEqual({
        code: 3,
        message: "type_url is empty; on an aggregated stream it says what is asked for"
      })
      const separate = yield* connect(port, { path })
      separate.send({})
      expect(yield* separate.receive).toMatchObject({ typeUrl: CDS, names: ["a"] })
      const wrong = yield* connect(port, { path })
      wrong.subscribe(EDS, ["a"])
      expect(yield* wrong.ended).toEqual({
        code: 3,
        message: `type_url ${EDS} was asked for on a service of ${CDS}`
      })
      expect(yield* clients).toEqual(["client"])
    })
  )

  it.scopedLive("without a node is refused if it is the first", () =>
    Effect.gen(function* () {
      const { clients, figures, port, store } = yield* serve()
      yield* store.set(group, clusters("a"))
      const client = yield* connect(port)
      client.write(encode(protocol, { typeUrl: CDS }))
      expect(yield* client.ended).toEqual({
        code: 3,
        message: "the first request of a stream must carry the node (field `node`): it says who asks"
      })
      expect(yield* clients).toEqual([])
      expect((yield* figures).violations).toBe(1)
    })
  )

  it.scopedLive("of a node that the group function fails for ends that stream only", () =>
    Effect.gen(function* () {
      const { clients, logs, port, store } = yield* serve({
        group: ({ id }) => {
          if (id === "bad") throw new Error("no group")
          return group
        }
      })
      yield* store.set(group, clusters("a"))
      const session = yield* Http2Client.connect(port)
      const good = new XdsClient(session, protocol, { node: "good" })
      good.subscribe(CDS)
      yield* good.receive
      const bad = new XdsClient(session, protocol, { node: "bad" })
      bad.subscribe(CDS)
      expect(yield* bad.ended).toEqual({
        code: 13,
        message: "the group function failed in the control plane; its log says why"
      })
      expect(logs).toContainEqual(expect.stringContaining("no group"))
      yield* store.update(group, { upsert: { clusters: [cluster("a", "changed")] } })
      expect((yield* good.receive).names).toEqual(["a"])
      expect(yield* clients).toEqual(["good"])
    })
  )

  it.scopedLive("whose group is never found ends with UNAVAILABLE, and one that goes meanwhile leaves nothing", () =>
    Effect.gen(function* () {
      let running = 0
      const hang = Effect.acquireUseRelease(
        Effect.sync(() => running++),
        () => Effect.never,
        () => Effect.sync(() => running--)
      )
      const { clients, events, figures, port, store } = yield* serve({
        group: ({ cluster, id }) => (id === "good" ? Effect.succeed(cluster) : hang),
        groupTimeout: "300 millis"
      })
      yield* store.set(group, clusters("a"))
      const session = yield* Http2Client.connect(port)
      const good = new XdsClient(session, protocol, { node: "good" })
      const hanging = new XdsClient(session, protocol, { node: "hanging" })
      const leaving = new XdsClient(session, protocol, { node: "leaving" })
      for (const client of [good, hanging, leaving]) client.subscribe(CDS)
      yield* good.receive
      yield* eventually(() => expect(running).toBe(2))
      leaving.call.stream.end()
      yield* eventually(() => expect(running).toBe(1))
      expect(events).toContainEqual(expect.objectContaining({ _tag: "Ended", reason: "the client ended the stream" }))
      expect(yield* hanging.ended).toEqual({
        code: 14,
        message: "the control plane took too long to find the group of the stream"
      })
      expect(running).toBe(0)
      expect(yield* good.settle).toEqual([])
      expect(yield* clients).toEqual(["good"])
      expect(yield* figures).toMatchObject({ streams: 1, deadlines: 0 })
    })
  )

  it.scopedLive("is answered from the last state that was accepted, whatever was refused since", () =>
    Effect.gen(function* () {
      const { port, store } = yield* serve()
      yield* store.set(group, { clusters: [cluster("a", "accepted")], endpoints: [] })
      const client = yield* connect(port)
      client.subscribe(CDS)
      client.ack(yield* client.receive)
      for (const bad of [
        { clusters: [cluster("b"), cluster("b", "twice")] },
        { clusters: [cluster("")] },
        { clusters: [Snapshot.resource(cluster("b"), { ttl: "1 millis" })] },
        { clusters: ["b", "c"].map((name) => Snapshot.resource(cluster(name), { aliases: ["d"] })) },
        { resources: [{ typeUrl: CDS, name: "other", value: new Uint8Array([0x0a, 1, 0x62]) }] },
        { resources: [{ typeUrl: CDS, name: "b", value: new Uint8Array([0x0a, 99]) }] }
      ]) {
        expect(Either.isLeft(yield* Effect.either(store.set(group, bad)))).toBe(true)
        expect(Either.isLeft(yield* Effect.either(store.update(group, { upsert: bad })))).toBe(true)
      }
      expect(yield* client.settle).toEqual([])
      const late = yield* connect(port)
      late.subscribe(CDS)
      expect((yield* late.receive).names).toEqual(["a"])
      yield* store.update(group, { upsert: { clusters: [cluster("a", "next")] } })
      expect((yield* client.receive).names).toEqual(["a"])
      expect((yield* late.receive).names).toEqual(["a"])
    })
  )
})

describe("a connection", () => {
  it.scopedLive("that does not answer any more is ended, with its stream, and others are not", () =>
    Effect.gen(function* () {
      const { clients, events, figures, port, store } = yield* serve({}, { keepalive: { interval: 50, timeout: 1500 } })
      yield* store.set(group, clusters("a"))
      const alive = new XdsClient(yield* Http2Client.connect(port), "Incremental", { node: "alive" })
      alive.subscribe(CDS)
      yield* alive.receive
      const socket = yield* Effect.acquireRelease(
        Effect.sync(() => Net.connect(port, "127.0.0.1")),
        (socket) => Effect.sync(() => socket.destroy())
      )
      socket.on("error", () => undefined)
      // Reads, but never answers: not a ping, nor what it is sent.
      socket.resume()
      const { bytes } = Http2Client
      const request = frame(encode("StateOfTheWorld", { typeUrl: CDS, node: "silent" }))
      socket.write(Buffer.concat([bytes.preface, bytes.open(1), bytes.frame(0, 0, 1, request)]))
      yield* eventually(async () => expect(await Effect.runPromise(clients)).toEqual(["alive", "silent"]))
      yield* eventually(() => {
        const ended = events.find(({ _tag }) => _tag === "Ended")
        expect(ended).toMatchObject({ client: { node: { id: "silent" } }, reason: "the connection was lost" })
      })
      expect(yield* clients).toEqual(["alive"])
      yield* store.update(group, { upsert: { clusters: [cluster("a", "changed")] } })
      expect((yield* alive.receive).names).toEqual(["a"])
      yield* eventually(async () =>
        expect(await Effect.runPromise(figures)).toMatchObject({ connections: 1, calls: 1, streams: 1, deadlines: 0 })
      )
    })
  )
})
