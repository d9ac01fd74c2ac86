/** Real packets of a real server on loopback. */
import * as Resolver from "@effect-xds/discovery-node/Resolver"
import { afterAll, beforeAll, describe, expect, it } from "@effect/vitest"
import * as Packets from "dns-packet"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import { createSocket, type Socket } from "node:dgram"

type Behaviour =
  | { readonly records: ReadonlyArray<readonly [string, number]> }
  | "NXDOMAIN"
  | "NODATA"
  | "SERVFAIL"
  | "silence"
  | "garbage"

let behaviour: Behaviour = "silence"
let asked = 0
let socket: Socket
let server: string

beforeAll(async () => {
  socket = createSocket("udp4")
  socket.on("message", (message, from) => {
    asked++
    const { id, questions = [] } = Packets.decode(message)
    const reply = (flags: number, answers: Array<Packets.Answer> = []) => {
      const packet = Packets.encode({ type: "response", id, flags: 0x180 | flags, questions, answers })
      socket.send(packet, from.port, from.address)
    }
    const [question] = questions
    if (behaviour === "silence" || question === undefined) return
    if (behaviour === "garbage") return socket.send(Buffer.from("no packet at all"), from.port, from.address)
    if (behaviour === "NXDOMAIN") return reply(3)
    if (behaviour === "SERVFAIL") return reply(2)
    if (behaviour === "NODATA") return reply(0)
    const type = question.type === "AAAA" ? "AAAA" : "A"
    reply(
      0,
      behaviour.records.map(([data, ttl]) => ({ type, name: question.name, ttl, data }))
    )
  })
  await new Promise<void>((resolve) => socket.bind(0, "127.0.0.1", resolve))
  server = `127.0.0.1:${socket.address().port}`
})

afterAll(() => socket.close())

const ask = (as: Behaviour, family: 4 | 6 = 4, options: Resolver.Options = {}) =>
  Effect.suspend(() => {
    behaviour = as
    const layer = Resolver.layer({ servers: [server], timeout: 100, tries: 1, usesSystem: false, ...options })
    const query = Effect.flatMap(Resolver.Resolver, ({ resolve }) => resolve("backend.test", family))
    return Effect.either(Effect.provide(query, layer))
  })

const failure = <A>(result: Either.Either<A, Resolver.ResolveError>) =>
  Either.match(result, { onLeft: ({ code }) => code, onRight: () => "no failure" })

describe("node:dns", () => {
  it.effect("addresses of both families, in order, with their TTLs", () =>
    Effect.gen(function* () {
      const records = [
        ["10.0.0.2", 30],
        ["10.0.0.1", 0]
      ] as const
      expect(yield* ask({ records })).toEqual(
        Either.right([
          { address: "10.0.0.2", ttl: 30 },
          { address: "10.0.0.1", ttl: 0 }
        ])
      )
      expect(yield* ask({ records: [["fd00::1", 12]] }, 6)).toEqual(Either.right([{ address: "fd00::1", ttl: 12 }]))
    })
  )

  it.effect("a name without addresses is an answer", () =>
    Effect.gen(function* () {
      expect(yield* ask("NXDOMAIN")).toEqual(Either.right([]))
      expect(yield* ask("NODATA")).toEqual(Either.right([]))
    })
  )

  it.live("an error, silence and garbage are failures", () =>
    Effect.gen(function* () {
      expect(failure(yield* ask("SERVFAIL"))).toBe("ESERVFAIL")
      expect(failure(yield* ask("silence"))).toBe("ETIMEOUT")
      expect(failure(yield* ask("garbage"))).not.toBe("no failure")
    })
  )

  it.live("what DNS does not know may be known to the system", () =>
    Effect.gen(function* () {
      behaviour = "NXDOMAIN"
      const layer = Resolver.layer({ servers: [server] })
      const query = Effect.flatMap(Resolver.Resolver, ({ resolve }) => resolve("localhost", 4))
      expect(yield* Effect.provide(query, layer)).toEqual([{ address: "127.0.0.1", ttl: undefined }])
    })
  )

  it.live("a query that runs when the scope closes ends, and is no failure", () =>
    Effect.gen(function* () {
      behaviour = "silence"
      const before = asked
      const scope = yield* Scope.make()
      const { resolve } = yield* Scope.extend(Resolver.make({ servers: [server], timeout: 60_000 }), scope)
      const fiber = yield* Effect.fork(resolve("backend.test", 4))
      yield* Effect.repeat(Effect.yieldNow(), { until: () => asked > before })
      yield* Scope.close(scope, Exit.void)
      expect(Exit.isInterrupted(yield* fiber.await)).toBe(true)
    })
  )
})
