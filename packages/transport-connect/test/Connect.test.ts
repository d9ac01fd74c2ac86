import { create, createRegistry, toBinary } from "@bufbuild/protobuf"
import type { Transport } from "@connectrpc/connect"
import { Code, ConnectError, createClient } from "@connectrpc/connect"
import * as ConnectNode from "@connectrpc/connect-node"
import { eventually } from "@effect-xds/testing/Waiting"
import { Status } from "@effect-xds/transport"
import { ClusterSchema } from "@effect-xds/proto/envoy/config/cluster/v3/cluster"
import { ClusterDiscoveryService } from "@effect-xds/proto/envoy/service/cluster/v3/cds"
import { AggregatedDiscoveryService } from "@effect-xds/proto/envoy/service/discovery/v3/ads"
import { DiscoveryResponseSchema } from "@effect-xds/proto/envoy/service/discovery/v3/discovery"
import { describe, expect, it } from "@effect/vitest"
import { Effect, Exit, Scope } from "effect"
import * as Net from "node:net"
import * as GrpcClient from "./GrpcClient.js"
import * as Http2Client from "./Http2Client.js"
import * as Deadline from "../src/server/Deadline.js"
import type { Behaviour } from "./RecordingServer.js"
import { answering, frame, request, serve } from "./RecordingServer.js"

const wait = <A>(promise: Promise<A>) => Effect.promise(() => promise)

const typeUrl = "type.googleapis.com/envoy.config.cluster.v3.Cluster"
const fetchPath = "/envoy.service.cluster.v3.ClusterDiscoveryService/FetchClusters"

const cluster = { typeUrl, value: toBinary(ClusterSchema, create(ClusterSchema, { name: "a" })) }
const message = create(DiscoveryResponseSchema, { versionInfo: "7", typeUrl, resources: [cluster] })

/** Answers with one cluster. */
const one: Behaviour = {
  onRequest: ({ stream }) =>
    void stream.write({ body: toBinary(DiscoveryResponseSchema, message), suffix: Buffer.from([0x2a, 1, 0x6e]) })
}

const jsonOptions = { registry: createRegistry(ClusterSchema) }

type MakeTransport = (baseUrl: string) => Transport
const transports: ReadonlyArray<readonly [string, MakeTransport]> = [
  ["gRPC", (baseUrl) => ConnectNode.createGrpcTransport({ baseUrl })],
  ["gRPC as JSON", (baseUrl) => ConnectNode.createGrpcTransport({ baseUrl, useBinaryFormat: false, jsonOptions })],
  ["gRPC-Web", (baseUrl) => ConnectNode.createGrpcWebTransport({ baseUrl, httpVersion: "2" })],
  [
    "gRPC-Web as JSON",
    (baseUrl) => ConnectNode.createGrpcWebTransport({ baseUrl, httpVersion: "2", useBinaryFormat: false, jsonOptions })
  ],
  ["Connect", (baseUrl) => ConnectNode.createConnectTransport({ baseUrl, httpVersion: "2", useBinaryFormat: true })],
  [
    "Connect as JSON",
    (baseUrl) => ConnectNode.createConnectTransport({ baseUrl, httpVersion: "2", useBinaryFormat: false, jsonOptions })
  ]
]
const http1: ReadonlyArray<readonly [string, MakeTransport]> = [
  ["gRPC-Web over HTTP/1.1", (baseUrl) => ConnectNode.createGrpcWebTransport({ baseUrl, httpVersion: "1.1" })],
  ["Connect over HTTP/1.1", (baseUrl) => ConnectNode.createConnectTransport({ baseUrl, httpVersion: "1.1" })]
]

/** Requests that are sent when the test says so. */
const requests = <A>(first: A) => {
  let next: (value: A | undefined) => void = () => undefined
  async function* iterate(): AsyncGenerator<A> {
    yield first
    for (;;) {
      const value = await new Promise<A | undefined>((resolve) => {
        next = resolve
      })
      if (value === undefined) return
      yield value
    }
  }
  return { iterable: iterate(), send: (value: A) => next(value), end: () => next(undefined) }
}

describe.each([...transports, ...http1])("a unary call over %s", (_name, makeTransport) => {
  it.scopedLive("is answered with what was written, and ended", () =>
    Effect.gen(function* () {
      const { address, streams } = yield* serve({}, one)
      const client = createClient(ClusterDiscoveryService, makeTransport(`http://${address}`))
      const response = yield* wait(client.fetchClusters({ typeUrl, resourceNames: ["a"], node: { id: "me" } }))
      expect(response).toMatchObject({ versionInfo: "7", nonce: "n", resources: [cluster] })
      expect(streams[0]).toMatchObject({
        requests: [{ typeUrl, resourceNames: ["a"] }],
        ends: ["the call was answered"]
      })
      expect(streams[0]?.stream.method).toEqual({ protocol: "StateOfTheWorld", typeUrl, unary: true })
      expect(Buffer.from(streams[0]?.requests[0]?.node ?? [])).toEqual(Buffer.from([10, 2, 109, 101]))
    })
  )

  it.scopedLive("ends with the server's status", () =>
    Effect.gen(function* () {
      const end: Behaviour = { onRequest: ({ stream }) => stream.end(Status.make("UNAVAILABLE", "nothing here")) }
      const { address, streams } = yield* serve({}, end)
      const client = createClient(ClusterDiscoveryService, makeTransport(`http://${address}`))
      const error = yield* Effect.flip(
        Effect.tryPromise({ try: () => client.fetchClusters({}), catch: ConnectError.from })
      )
      expect(error).toMatchObject({ code: Code.Unavailable, rawMessage: "nothing here" })
      expect(streams[0]?.ends).toEqual([])
    })
  )
})

describe.each(transports)("a stream over %s", (name, makeTransport) => {
  it.scopedLive("carries messages both ways and ends when the client does", () =>
    Effect.gen(function* () {
      const { address, streams } = yield* serve({}, one)
      const client = createClient(AggregatedDiscoveryService, makeTransport(`http://${address}`))
      const { end, iterable, send } = requests({ typeUrl })
      const responses = client.streamAggregatedResources(iterable)[Symbol.asyncIterator]()
      expect((yield* wait(responses.next())).value).toMatchObject({
        versionInfo: "7",
        nonce: "n",
        resources: [cluster]
      })
      // A bare HTTP/2 stream has room for more at once; through Connect it has when the client has read.
      yield* eventually(() => expect(streams[0]?.writable).toBe(name === "gRPC" ? 0 : 1))
      send({ typeUrl })
      expect((yield* wait(responses.next())).value).toMatchObject({ nonce: "n" })
      end()
      expect(yield* wait(responses.next())).toMatchObject({ done: true })
      expect(streams[0]).toMatchObject({ requests: [{ typeUrl }, { typeUrl }], ends: ["the client ended the stream"] })
    })
  )

  it.scopedLive("ends once when the client cancels, though nothing is being written", () =>
    Effect.gen(function* () {
      const { address, streams } = yield* serve()
      const client = createClient(AggregatedDiscoveryService, makeTransport(`http://${address}`))
      const abort = new AbortController()
      const headers = new Promise((resolve) => {
        const { iterable } = requests({ typeUrl })
        const responses = client.streamAggregatedResources(iterable, { signal: abort.signal, onHeader: resolve })
        responses[Symbol.asyncIterator]()
          .next()
          .catch(() => undefined)
      })
      // They come before there is a response.
      yield* wait(headers)
      yield* eventually(() => expect(streams[0]?.requests.length).toBe(1))
      abort.abort()
      yield* eventually(() =>
        expect(streams[0]?.ends).toEqual([expect.stringMatching(/^the client (ended|cancelled) the stream$/)])
      )
    })
  )

  it.scopedLive("ends with the server's status, after what was written", () =>
    Effect.gen(function* () {
      const both: Behaviour = {
        onRequest: (recorded, asked) => {
          one.onRequest?.(recorded, asked)
          recorded.stream.end(Status.make("PERMISSION_DENIED", "not for you"))
        }
      }
      const { address, streams } = yield* serve({}, both)
      const client = createClient(AggregatedDiscoveryService, makeTransport(`http://${address}`))
      const responses = client.streamAggregatedResources(requests({ typeUrl }).iterable)[Symbol.asyncIterator]()
      expect((yield* wait(responses.next())).value).toMatchObject({ versionInfo: "7" })
      const error = yield* Effect.flip(Effect.tryPromise({ try: () => responses.next(), catch: ConnectError.from }))
      expect(error).toMatchObject({ code: Code.PermissionDenied, rawMessage: "not for you" })
      expect(streams[0]?.ends).toEqual([])
    })
  )

  it.scopedLive("ends when the server's scope closes", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const { address, streams } = yield* Scope.extend(serve(), scope)
      const client = createClient(AggregatedDiscoveryService, makeTransport(`http://${address}`))
      const responses = client.streamAggregatedResources(requests({ typeUrl }).iterable)[Symbol.asyncIterator]()
      const next = responses.next().then(() => undefined, ConnectError.from)
      yield* eventually(() => expect(streams[0]?.requests.length).toBe(1))
      yield* Effect.fork(Scope.close(scope, Exit.void))
      expect(yield* wait(next)).toMatchObject({ code: Code.Unavailable, rawMessage: "server is shutting down" })
      expect(streams[0]?.ends).toEqual(["server is shutting down"])
    })
  )

  it.scopedLive("is held to the limits of a request", () =>
    Effect.gen(function* () {
      const { address, logs, streams } = yield* serve({ maxRequestBytes: 1000 })
      const client = createClient(AggregatedDiscoveryService, makeTransport(`http://${address}`))
      const large = requests({ resourceNames: Array.from({ length: 300 }, (_, index) => `name-${index}`) })
      const responses = client.streamAggregatedResources(large.iterable)[Symbol.asyncIterator]()
      const error = yield* Effect.flip(Effect.tryPromise({ try: () => responses.next(), catch: ConnectError.from }))
      expect(error.code).toBe(Code.ResourceExhausted)
      expect(streams[0]?.ends.length).toBe(1)
      expect(logs).toContainEqual(expect.objectContaining({ message: "stream refused" }))
    })
  )
})

describe("the same port", () => {
  it.scopedLive("answers plain JSON over HTTP/1.1, with what is inside Any", () =>
    Effect.gen(function* () {
      const { address } = yield* serve({}, one)
      const post = (path: string, body: string, contentType = "application/json") =>
        wait(fetch(`http://${address}${path}`, { method: "POST", body, headers: { "content-type": contentType } }))
      const response = yield* post(fetchPath, '{"typeUrl":"a"}')
      expect(yield* wait(response.json())).toEqual({
        versionInfo: "7",
        resources: [{ "@type": typeUrl, name: "a" }],
        typeUrl,
        nonce: "n"
      })
      expect((yield* post(fetchPath, "{")).status).toBe(400)
      expect((yield* post("/nothing", "{}")).status).toBe(404)
      expect((yield* post(fetchPath, "a", "text/plain")).status).toBe(415)
      expect((yield* wait(fetch(`http://${address}${fetchPath}`))).status).toBe(405)
    })
  )

  it.scopedLive("answers Fetch as gRPC", () =>
    Effect.gen(function* () {
      const { address } = yield* serve({}, answering)
      const client = yield* GrpcClient.connect(address)
      expect(yield* wait(GrpcClient.unary(client, fetchPath, request("t")))).toEqual(Buffer.from("\n\u0001t*\u0001n"))
    })
  )

  it.scopedLive("takes a Fetch of 10 000 names, and refuses one that is larger than 1 MiB unless it may be", () =>
    Effect.gen(function* () {
      const named = (count: number) => ({
        typeUrl,
        resourceNames: Array.from({ length: count }, (_, index) => `${index} ${"x".repeat(90)}`)
      })
      const small = yield* serve({}, one)
      const clientOf = ({ address }: { readonly address: string }) =>
        createClient(
          ClusterDiscoveryService,
          ConnectNode.createGrpcWebTransport({ baseUrl: `http://${address}`, httpVersion: "2" })
        )
      yield* wait(clientOf(small).fetchClusters(named(10_000)))
      expect(small.streams[0]?.requests[0]).toMatchObject({ resourceNames: { length: 10_000 } })
      const fetchLarge = (server: { readonly address: string }) =>
        Effect.tryPromise({ try: () => clientOf(server).fetchClusters(named(12_000)), catch: ConnectError.from })
      expect((yield* Effect.flip(fetchLarge(small))).code).toBe(Code.ResourceExhausted)
      expect(small.logs).toContainEqual(expect.objectContaining({ message: "stream refused" }))
      yield* fetchLarge(yield* serve({ maxWholeRequestBytes: 2_000_000 }, one))
    })
  )

  it.scopedLive("answers 400 to a request without a usable host", () =>
    Effect.gen(function* () {
      const { port } = yield* serve({}, answering)
      const socket = Net.connect(port, "127.0.0.1")
      let answer = ""
      socket.on("data", (chunk) => (answer += chunk.toString()))
      socket.write(
        `POST ${fetchPath} HTTP/1.1\r\nhost: [[\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}`
      )
      yield* eventually(() => expect(answer).toMatch(/^HTTP\/1\.1 400 /))
      socket.destroy()
    })
  )

  it.scopedLive("has no more calls of any protocol than it may", () =>
    Effect.gen(function* () {
      const { address, port } = yield* serve({ maxStreams: 1 })
      const session = yield* Http2Client.connect(port)
      yield* wait(Http2Client.open(session).headers)
      const client = createClient(
        ClusterDiscoveryService,
        ConnectNode.createConnectTransport({ baseUrl: `http://${address}`, httpVersion: "2" })
      )
      const error = yield* Effect.flip(
        Effect.tryPromise({ try: () => client.fetchClusters({}), catch: ConnectError.from })
      )
      expect(error.code).toBe(Code.ResourceExhausted)
    })
  )

  it.scopedLive("ends a call that its client gave up while it waited", () =>
    Effect.gen(function* () {
      const { address, streams } = yield* serve()
      const baseUrl = `http://${address}`
      const client = createClient(
        ClusterDiscoveryService,
        ConnectNode.createConnectTransport({ baseUrl, httpVersion: "2" })
      )
      const abort = new AbortController()
      const error = client.fetchClusters({}, { signal: abort.signal }).then(() => undefined, ConnectError.from)
      yield* eventually(() => expect(streams[0]?.requests.length).toBe(1))
      abort.abort()
      expect((yield* wait(error))?.code).toBe(Code.Canceled)
      yield* eventually(() => expect(streams[0]?.ends).toEqual(["the client cancelled the stream"]))
    })
  )

  it.scopedLive("stops a deadline's call", () =>
    Effect.gen(function* () {
      const { address, streams } = yield* serve()
      const client = createClient(
        ClusterDiscoveryService,
        ConnectNode.createConnectTransport({ baseUrl: `http://${address}`, httpVersion: "2" })
      )
      const error = yield* Effect.flip(
        Effect.tryPromise({ try: () => client.fetchClusters({}, { timeoutMs: 500 }), catch: ConnectError.from })
      )
      expect(error.code).toBe(Code.DeadlineExceeded)
      yield* eventually(() => expect(streams[0]?.ends.length).toBe(1))
    })
  )

  it.scopedLive("leaves to the client a deadline that is too far away for a timer", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const { port } = yield* Scope.extend(serve({}, answering), scope)
      const session = yield* Http2Client.connect(port)
      const watch = Http2Client.open(session, { ":path": "/grpc.health.v1.Health/Watch", "grpc-timeout": "8760H" })
      watch.stream.end(frame(Buffer.alloc(0)))
      const others = [
        { "content-type": "application/grpc-web+proto", "grpc-timeout": "2147484S" },
        { "content-type": "application/grpc-web+proto", "grpc-timeout": "99999999M" },
        { "content-type": "application/connect+proto", "connect-timeout-ms": "2147483648" }
      ].map((headers) => {
        const call = Http2Client.open(session, headers)
        call.stream.write(frame(request("t")))
        return call
      })
      const endOf = ({ chunks }: Http2Client.Call) =>
        /unavailable|deadline_exceeded|grpc-status: \d+/.exec(Buffer.concat(chunks).toString())?.[0]
      yield* eventually(() => {
        for (const { chunks } of [watch, ...others]) expect(chunks.length).toBeGreaterThan(0)
      })
      expect(others.map(endOf)).toEqual([undefined, undefined, undefined])
      yield* Scope.close(scope, Exit.void)
      expect((yield* wait(watch.closed))["grpc-status"]).toBe("14")
      for (const { closed } of others) yield* wait(closed)
      expect(others.map(endOf)).toEqual(["grpc-status: 14", "grpc-status: 14", "unavailable"])
    })
  )

  it.scopedLive("stops at deadlines that a timer can be set for", () =>
    Effect.gen(function* () {
      const header = new Headers({ "grpc-timeout": "2147483S", "connect-timeout-ms": "2147483647" })
      Deadline.dropDistant(header)
      expect([...header.keys()]).toEqual(["connect-timeout-ms", "grpc-timeout"])
      const { port } = yield* serve()
      const session = yield* Http2Client.connect(port)
      const path = "/grpc.health.v1.Health/Watch"
      const call = Http2Client.open(session, { ":path": path, "grpc-timeout": "100m" })
      call.stream.end(frame(Buffer.alloc(0)))
      yield* wait(call.closed)
    })
  )

  it.scopedLive("keeps credit from a gRPC-Web client that does not read", () =>
    Effect.gen(function* () {
      const body = Buffer.alloc(200_000, 1)
      body.set([0x0a, 0xbc, 0x9a, 0x0c])
      const { port, streams } = yield* serve(
        {},
        { onStream: ({ stream }) => void stream.write({ body, suffix: Buffer.alloc(0) }) }
      )
      const session = yield* Http2Client.connect(port)
      const call = Http2Client.open(session, { "content-type": "application/grpc-web+proto" }, { read: false })
      call.stream.write(frame(request("a")))
      expect((yield* wait(call.headers))[":status"]).toBe(200)
      yield* eventually(() => expect(streams[0]?.requests.length).toBe(1))
      for (let turns = 0; turns < 3; turns++)
        yield* Effect.async<void>((resume) => void session.ping(() => resume(Effect.void)))
      expect(streams[0]?.writable).toBe(0)
      call.stream.resume()
      yield* eventually(() => expect(streams[0]?.writable).toBe(1))
    })
  )
})
