// Clients of gRPC take messages of 4 MB, unless they are told to take more.
import { create } from "@bufbuild/protobuf"
import { ClusterLoadAssignmentSchema } from "@effect-xds/proto/envoy/config/endpoint/v3/endpoint"
import { eventually } from "@effect-xds/testing/Waiting"
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import * as GrpcClient from "../GrpcClient.js"
import { adsPath, deltaPath } from "../RecordingServer.js"
import { CDS, EDS, group, largeCluster, serve } from "./ControlPlane.js"
import { decode, encode, type Protocol } from "./XdsClient.js"

const gRPCDefault = 4 * 1024 * 1024

/** More than 4 MB of them. */
const count = 20_000

const names = Array.from({ length: count }, (_, index) => `name-${String(index).padStart(20, "0")}`)

const clusters = (content: number) => ({ resources: names.map((name) => largeCluster(name, 300, content)) })

const assignments = (content: number) => ({
  endpoints: names.map((clusterName) =>
    create(ClusterLoadAssignmentSchema, {
      clusterName,
      endpoints: [{ locality: { region: String(content).padEnd(300, ".") } }]
    })
  )
})

/** grpc-js as it is by default; it ACKs what comes. */
const subscribed = (
  port: number,
  protocol: Protocol,
  subscription: { readonly typeUrl: string; readonly names?: ReadonlyArray<string> }
) =>
  Effect.map(GrpcClient.connect(`127.0.0.1:${port}`), (client) => {
    const call = GrpcClient.open(client, protocol === "Incremental" ? deltaPath : adsPath)
    const held = new Map<string, string>()
    const sizes: Array<number> = []
    call.stream.on("data", (message: Buffer) => {
      sizes.push(message.byteLength)
      const { names, nonce, values, version } = decode(protocol, message)
      for (const [index, name] of names.entries()) held.set(name, Buffer.from(values[index] ?? []).toString("latin1"))
      // In state of the world each request has all the names.
      const again = protocol === "Incremental" ? {} : subscription
      call.stream.write(Buffer.from(encode(protocol, { ...again, typeUrl: subscription.typeUrl, nonce, version })))
    })
    call.stream.write(Buffer.from(encode(protocol, { ...subscription, node: "n" })))
    return { ...call, held, sizes }
  })

/** Whether the client has so many resources, and in all of them the content. */
const has = (client: Effect.Effect.Success<ReturnType<typeof subscribed>>, content: number) =>
  eventually(() => {
    expect(client.held.size).toBe(count)
    expect(Array.from(client.held.values()).filter((value) => value.includes(String(content)))).toHaveLength(count)
  })

describe("a response of more than 4 MB", () => {
  it.scopedLive("goes out in parts to an incremental client, the first and each later one", () =>
    Effect.gen(function* () {
      const { logs, port, store } = yield* serve()
      yield* store.set(group, clusters(1_111))
      const client = yield* subscribed(port, "Incremental", { typeUrl: CDS })
      yield* has(client, 1_111)
      yield* store.set(group, clusters(2_222))
      yield* has(client, 2_222)
      expect(client.sizes.length).toBeGreaterThanOrEqual(4)
      expect(client.sizes.reduce((sum, size) => sum + size)).toBeGreaterThan(2 * gRPCDefault)
      expect(Math.max(...client.sizes)).toBeLessThan(gRPCDefault)
      expect(logs.filter((line) => line.includes("in one response"))).toEqual([])
    })
  )

  it.scopedLive("goes out in parts in state of the world, if its type is asked for by name", () =>
    Effect.gen(function* () {
      const { port, store } = yield* serve()
      yield* store.set(group, assignments(1_111))
      const client = yield* subscribed(port, "StateOfTheWorld", { typeUrl: EDS, names })
      yield* has(client, 1_111)
      const before = client.sizes.length
      yield* store.set(group, assignments(2_222))
      yield* has(client, 2_222)
      const sent = () => client.sizes.slice(before)
      yield* eventually(() => expect(sent().reduce((sum, size) => sum + size, 0)).toBeGreaterThan(gRPCDefault))
      expect(sent().length).toBeGreaterThanOrEqual(2)
      expect(Math.max(...sent())).toBeLessThan(gRPCDefault)
    })
  )

  it.scopedLive("is sent as it is where it must be whole, and the operator is told what to do", () =>
    Effect.gen(function* () {
      const { events, logs, port, status, store } = yield* serve()
      yield* store.set(group, clusters(1_111))
      const client = yield* subscribed(port, "StateOfTheWorld", { typeUrl: CDS })
      const { code } = yield* Effect.promise(() => client.status)
      expect(code).toBe(8)
      const [line = ""] = logs.filter((each) => each.includes("in one response"))
      expect(line).toMatch(/^CDS of group "edge" takes \d{7} bytes in one response, more than 4000000: /)
      yield* eventually(() => expect(events.some(({ _tag }) => _tag === "Oversized")).toBe(true))
      expect((yield* status).length).toBeLessThanOrEqual(1)
    })
  )

  it.scopedLive("is sent as it is where the server was told that clients take it", () =>
    Effect.gen(function* () {
      const { port, store } = yield* serve({ maxResponseBytes: 64 * 1024 * 1024 })
      yield* store.set(group, clusters(1_111))
      const client = yield* subscribed(port, "Incremental", { typeUrl: CDS })
      expect((yield* Effect.promise(() => client.status)).code).toBe(8)
    })
  )
})
