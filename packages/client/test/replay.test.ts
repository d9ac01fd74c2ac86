/**
 * The driver decides nothing: an hour of a client, with servers that come and go and watchers that are slow, is recorded as
 * the list of its inputs with their times; replayed through core alone, it gives the same outputs, and these are all that the
 * transport saw, byte for byte.
 */
import { Bootstrap, WatchableType, XdsClient } from "@effect-xds/client"
import type * as FlowControls from "@effect-xds/core/client/FlowControl"
import type { ResourceDecoder } from "@effect-xds/core/client/ResourceDecoder"
import * as ClientRequest from "@effect-xds/core/wire/ClientRequest"
import type { Protocol } from "@effect-xds/core/wire/Request"
import * as Response from "@effect-xds/core/wire/Response"
import { ResourceType } from "@effect-xds/proto"
import { ScriptedServer } from "@effect-xds/testing"
import { toResource } from "@effect-xds/testing/simulation/ResourceSpec"
import { ClientTransport, Status } from "@effect-xds/transport"
import { describe, expect, it } from "@effect/vitest"
import { Effect, Either, Fiber, Layer, Logger, Random, Stream, TestClock } from "effect"
import { vi } from "vitest"

type FlowControl = typeof FlowControls

/** What the driver asked of core, in its order. */
type Entry =
  | { readonly _tag: "Make"; readonly options: Parameters<FlowControl["make"]>[0] }
  | { readonly _tag: "Decoder"; readonly decoder: ResourceDecoder }
  | {
      readonly _tag: "Step"
      readonly input: FlowControls.Input
      readonly now: number
      readonly outputs: ReadonlyArray<FlowControls.Output>
    }

const record = vi.hoisted((): { entries: Array<Entry> } => ({ entries: [] }))

vi.mock("@effect-xds/core/client/FlowControl", async (original) => {
  const core = await original<FlowControl>()
  return {
    ...core,
    make: (options: Parameters<FlowControl["make"]>[0]) => {
      record.entries.push({ _tag: "Make", options })
      return core.make(options)
    },
    withDecoder: (...[self, decoder]: Parameters<FlowControl["withDecoder"]>) => {
      record.entries.push({ _tag: "Decoder", decoder })
      return core.withDecoder(self, decoder)
    },
    step: (...[self, input, now]: Parameters<FlowControl["step"]>) => {
      // As data: what is not data cannot be cloned, and what is changed later is not what came.
      const before = structuredClone(input)
      const [next, outputs] = core.step(self, input, now)
      record.entries.push({ _tag: "Step", input: before, now, outputs })
      return [next, outputs]
    }
  }
})

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex")

/** What the transport is asked to do. */
const calls: Array<string> = []

const observed = Layer.effect(
  ClientTransport.ClientTransport,
  Effect.map(ClientTransport.ClientTransport, ({ connect }) => ({
    connect: (server: ClientTransport.Server) =>
      Effect.map(connect(server), ({ open }): ClientTransport.Channel => ({
        open: (method, handler) => {
          calls.push(`open ${server.address} ${method.protocol} ${method.typeUrl ?? "ADS"}`)
          const { end, next, send } = open(method, handler)
          return {
            send: (message) => {
              calls.push(`send ${server.address} ${hex(message)}`)
              send(message)
            },
            next: () => {
              calls.push(`next ${server.address}`)
              next()
            },
            end: () => {
              calls.push(`end ${server.address}`)
              end()
            }
          }
        }
      }))
  }))
).pipe(Layer.provideMerge(ScriptedServer.layer))

const settle = Effect.repeatN(Effect.yieldNow(), 10)

const types = [ResourceType.Cluster.typeUrl, ResourceType.ClusterLoadAssignment.typeUrl].map((typeUrl) =>
  WatchableType.make({
    typeUrl,
    decode: (bytes) =>
      bytes.byteLength % 7 === 0 ? Either.left(`${bytes.byteLength} bytes`) : Either.right(bytes.byteLength)
  })
)

/** An hour in which everything happens that can. */
const hour = Effect.gen(function* () {
  const client = yield* XdsClient.XdsClient
  const server = yield* ScriptedServer.ScriptedServer
  const watches: Array<Fiber.RuntimeFiber<void, XdsClient.DecoderConflict>> = []
  const upTo = (most: number) => Random.nextIntBetween(0, most)
  const one = <A>(of: ReadonlyArray<A>) => Effect.map(upTo(Math.max(1, of.length)), (index) => of[index])
  let nonce = 0
  for (let passed = 0; passed < 3_600;) {
    const action = yield* upTo(12)
    const stream = yield* one(server.open())
    const type = yield* one(types)
    if (type === undefined) return
    if (action < 3 && watches.length < 10) {
      const name = yield* one(["a", "b", "c", "d", "*"])
      const seconds = yield* one([0, 0, 0, 1, 8, 30])
      const events = name === "*" ? client.watchAll(type) : client.watch(type, name ?? "")
      const take = () => Effect.sleep(`${seconds ?? 0} seconds`)
      watches.push(yield* Effect.fork(Stream.runForEach(events, take)))
    } else if (action < 4) {
      const [watch] = watches.splice(yield* upTo(Math.max(1, watches.length)), 1)
      if (watch !== undefined) yield* Effect.fork(Fiber.interrupt(watch))
    } else if (action < 8 && stream !== undefined) {
      stream.accept()
      yield* settle
      const { protocol, typeUrl: own } = stream.method
      const typeUrl = own ?? type.typeUrl
      const resources: Array<Response.Response["resources"][number]> = []
      for (const name of ["a", "b", "c", "d"]) {
        if (yield* Random.nextBoolean)
          resources.push(toResource({ typeUrl, name, content: "x".repeat(yield* upTo(9)) }))
      }
      const removed = protocol === "Incremental" && resources.every(({ name }) => name !== "a") ? ["a"] : []
      nonce++
      stream.respond(Response.make({ protocol, typeUrl, version: `v${nonce}`, resources, removed }), `${nonce}`)
    } else if (action === 8 && stream !== undefined) {
      stream.end(Status.make("UNAVAILABLE", "the server restarts"))
    } else {
      const seconds = yield* upTo(90)
      passed += seconds
      yield* TestClock.adjust(`${seconds} seconds`)
    }
    yield* settle
  }
  yield* Fiber.interruptAll(watches)
  yield* settle
})

const silent = Logger.replace(Logger.defaultLogger, Logger.none)

describe.each(
  (["StateOfTheWorld", "Incremental"] as const).flatMap((protocol: Protocol) =>
    [true, false].map((aggregated) => ({ protocol, aggregated }))
  )
)("★ an hour of a client, replayed through core alone: $protocol, aggregated $aggregated", (options) => {
  it.effect("gives the same outputs, and they are what the transport saw", () =>
    Effect.gen(function* () {
      record.entries.length = 0
      calls.length = 0
      const core = yield* Effect.promise(() => vi.importActual<FlowControl>("@effect-xds/core/client/FlowControl"))
      const bootstrap = Bootstrap.make({ servers: ["one:1", "two:1"], node: { id: "n" } })
      const layer = XdsClient.layer({ bootstrap, ...options }).pipe(Layer.provideMerge(observed), Layer.provide(silent))
      const entries: Array<Entry> = []
      yield* Effect.provide(
        Effect.andThen(hour, () => {
          // What comes after is the end of the client.
          entries.push(...record.entries)
        }),
        layer
      ).pipe(Effect.withRandom(Random.make(`${options.protocol} ${options.aggregated}`)))
      const seen = calls.filter((call) => !call.startsWith("end"))

      let state: FlowControls.FlowControl | undefined
      const expected: Array<string> = []
      const tags = new Set<string>()
      let steps = 0
      for (const entry of entries) {
        if (entry._tag === "Make") state = core.make(entry.options)
        if (state === undefined) throw new Error("nothing was made")
        if (entry._tag === "Decoder") state = Either.getOrThrow(core.withDecoder(state, entry.decoder))
        if (entry._tag !== "Step") continue
        const [next, outputs] = core.step(state, entry.input, entry.now)
        state = next
        steps++
        expect(outputs).toEqual(entry.outputs)
        for (const output of outputs) {
          tags.add(output._tag)
          const address = "stream" in output ? (output.stream.startsWith("%5B%22one") ? "one:1" : "two:1") : ""
          if (output._tag === "Connect") {
            expected.push(`open ${address} ${output.server.protocol} ${output.typeUrl ?? "ADS"}`)
          }
          if (output._tag === "Send") expected.push(`send ${address} ${hex(ClientRequest.encode(output.request))}`)
          if (output._tag === "Read") expected.push(`next ${address}`)
        }
      }
      expect(seen).toEqual(expected)
      expect(steps).toBeGreaterThan(300)
      expect(Array.from(tags).sort()).toEqual(
        expect.arrayContaining([
          "Close",
          "Connect",
          "Failed",
          "Notify",
          "Read",
          "Received",
          "Send",
          "Stuck",
          "Switched"
        ])
      )
    })
  )
})
