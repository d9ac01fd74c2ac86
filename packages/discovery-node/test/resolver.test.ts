/** Real packets of a real server on loopback. */
import * as Resolver from "@effect-xds/discovery-node/Resolver"
import { afterAll, beforeAll, describe, expect, it } from "@effect/vitest"
import * as Packets from "dns-packet"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import { createSocket, type Socket } from "node:dgram"
import { createServer, type Server, type Socket as Stream } from "node:net"

interface Records {
  readonly records: ReadonlyArray<readonly [string, number]>
  /** The first of so many names that lead to them, each with this TTL. */
  readonly aliases?: ReadonlyArray<number>
}

type Behaviour =
  | Records
  /** Over UDP nothing but that there is more; over TCP all of it, in pieces. */
  | { readonly overTcp: Records | "end" | "silence" }
  /** To the next queries, one each; the last one stays. */
  | { readonly inTurn: ReadonlyArray<Behaviour> }
  /** The answer to another query, and then the one to this. */
  | { readonly noise: Records }
  | "NXDOMAIN"
  | "NODATA"
  | "SERVFAIL"
  | "silence"
  | "garbage"

let behaviour: Behaviour = "silence"
let asked = 0
let askedTcp = 0
let socket: Socket
let streams: Server
let server: string

const truncated = 0x200

/** What is said to a query; `undefined`: nothing. */
const answerOf = (as: Behaviour, query: Packets.Packet, isTcp: boolean): ReadonlyArray<Buffer> => {
  const { id, questions = [] } = query
  const [question] = questions
  const reply = (flags: number, answers: Array<Packets.Answer> = [], to = id) =>
    Packets.encode({
      type: "response",
      ...(to === undefined ? {} : { id: to }),
      flags: 0x180 | flags,
      questions,
      answers
    })
  if (question === undefined || as === "silence") return []
  if (as === "garbage") return [Buffer.from("no packet at all")]
  if (as === "NXDOMAIN") return [reply(3)]
  if (as === "SERVFAIL") return [reply(2)]
  if (as === "NODATA") return [reply(0)]
  if ("inTurn" in as) {
    const [now = "silence", ...then] = as.inTurn
    if (then.length > 0) behaviour = { inTurn: then }
    return answerOf(now, query, isTcp)
  }
  if ("overTcp" in as) {
    if (!isTcp) return [reply(truncated)]
    return typeof as.overTcp === "string" ? [] : answerOf(as.overTcp, query, isTcp)
  }
  if ("noise" in as) {
    const lie: Packets.Answer = { type: "A", name: question.name, ttl: 1, data: "10.66.66.66" }
    return [reply(0, [lie], ((id ?? 0) + 1) & 0xffff), ...answerOf(as.noise, query, isTcp)]
  }
  const type = question.type === "AAAA" ? "AAAA" : "A"
  const { aliases = [], records } = as
  const nameOf = (n: number): string => (n === 0 ? question.name : `alias-${n}.test`)
  return [
    reply(0, [
      ...aliases.map((ttl, n) => ({ type: "CNAME" as const, name: nameOf(n), ttl, data: nameOf(n + 1) })),
      ...records.map(([data, ttl]) => ({ type, name: nameOf(aliases.length), ttl, data }) as const)
    ])
  ]
}

const onStream = (stream: Stream): void => {
  let read = Buffer.alloc(0)
  stream.on("error", () => undefined)
  stream.on("data", (bytes: Buffer) => {
    read = Buffer.concat([read, bytes])
    if (read.length < 2 || read.length < 2 + read.readUInt16BE(0)) return
    askedTcp++
    const query = Packets.decode(read.subarray(2, 2 + read.readUInt16BE(0)))
    if (typeof behaviour === "object" && "overTcp" in behaviour && behaviour.overTcp === "end") {
      stream.end()
      return
    }
    for (const packet of answerOf(behaviour, query, true)) {
      const length = Buffer.alloc(2)
      length.writeUInt16BE(packet.length)
      stream.write(length)
      setImmediate(() => stream.write(packet))
    }
  })
}

/** A port that both protocols are free at. */
const listen = async (): Promise<void> => {
  for (;;) {
    streams = createServer(onStream)
    await new Promise<void>((resolve) => streams.listen(0, "127.0.0.1", resolve))
    const address = streams.address()
    const port = typeof address === "object" && address !== null ? address.port : 0
    socket = createSocket("udp4")
    const isFree = await new Promise<boolean>((resolve) => {
      socket.once("error", () => resolve(false))
      socket.bind(port, "127.0.0.1", () => resolve(true))
    })
    server = `127.0.0.1:${port}`
    if (isFree) return
    streams.close()
  }
}

beforeAll(async () => {
  await listen()
  socket.on("message", (message, from) => {
    asked++
    for (const packet of answerOf(behaviour, Packets.decode(message), false)) {
      socket.send(packet, from.port, from.address)
    }
  })
})

afterAll(() => {
  socket.close()
  streams.close()
})

const ask = (as: Behaviour, family: 4 | 6 = 4, options: Resolver.Options = {}) =>
  Effect.suspend(() => {
    behaviour = as
    // Who is not answered, or with garbage, waits for as long as it may; who is answered must not run out of time.
    const timeout = as === "silence" || as === "garbage" ? 100 : 10_000
    const layer = Resolver.layer({ servers: [server], timeout, tries: 1, usesSystem: false, ...options })
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

  const families = [
    ["IPv4", 4, (n: number) => `10.0.${n >> 8}.${n & 255}`],
    ["IPv6", 6, (n: number) => `fd00::${(n + 1).toString(16)}`]
  ] as const

  it.live.each(families)(
    "%s: 200 addresses, which are too many for one packet: over TCP, all, in order",
    ([, family, of]) =>
      Effect.gen(function* () {
        const records = Array.from({ length: 200 }, (_, n) => [of(n), n] as const)
        const before = askedTcp
        const result = yield* ask({ overTcp: { records } }, family, { timeout: 10_000 })
        expect(result).toEqual(Either.right(records.map(([address, ttl]) => ({ address, ttl }))))
        expect(askedTcp).toBe(before + 1)
      })
  )

  it.live.each(families)("%s: an error, none, silence and garbage", ([, family]) =>
    Effect.gen(function* () {
      expect(failure(yield* ask("SERVFAIL", family))).toBe("ESERVFAIL")
      expect(failure(yield* ask("silence", family))).toBe("ETIMEOUT")
      expect(failure(yield* ask("garbage", family))).not.toBe("no failure")
      expect(yield* ask("NXDOMAIN", family)).toEqual(Either.right([]))
      expect(yield* ask("NODATA", family)).toEqual(Either.right([]))
    })
  )

  it.live("★ over TCP, too, silence and an end are failures: what UDP said is not taken for all there is", () =>
    Effect.gen(function* () {
      expect(failure(yield* ask({ overTcp: "silence" }, 4, { timeout: 100 }))).toBe("ETIMEOUT")
      expect(failure(yield* ask({ overTcp: "end" }, 4, { timeout: 100 }))).not.toBe("no failure")
    })
  )

  it.live("★ each query is asked anew: answers that change, also those with a TTL", () =>
    Effect.gen(function* () {
      const to = (address: string, ttl: number): Records => ({ records: [[address, ttl]] })
      const inTurn = [to("10.0.0.1", 3_600), to("10.0.0.2", 0), "NXDOMAIN", "SERVFAIL", to("10.0.0.3", 1)] as const
      behaviour = { inTurn }
      const layer = Resolver.layer({ servers: [server], timeout: 10_000, tries: 1, usesSystem: false })
      const results = yield* Effect.flatMap(Resolver.Resolver, ({ resolve }) =>
        Effect.replicateEffect(Effect.either(resolve("backend.test", 4)), inTurn.length)
      ).pipe(Effect.provide(layer))
      expect(results.map(Either.mapLeft(({ code }) => code))).toEqual([
        Either.right([{ address: "10.0.0.1", ttl: 3_600 }]),
        Either.right([{ address: "10.0.0.2", ttl: 0 }]),
        Either.right([]),
        Either.left("ESERVFAIL"),
        Either.right([{ address: "10.0.0.3", ttl: 1 }])
      ])
    })
  )

  it.live("of a chain of aliases the least TTL", () =>
    Effect.gen(function* () {
      const records = [["10.0.0.1", 30] as const]
      const ttl = (aliases: ReadonlyArray<number>) => ask({ records, aliases })
      expect(yield* ttl([60, 7, 60])).toEqual(Either.right([{ address: "10.0.0.1", ttl: 7 }]))
      expect(yield* ttl([60])).toEqual(Either.right([{ address: "10.0.0.1", ttl: 30 }]))
      expect(yield* ttl([0])).toEqual(Either.right([{ address: "10.0.0.1", ttl: 0 }]))
    })
  )

  it.live("★ the answer to another query is passed over; a try that nobody answers is followed by the next", () =>
    Effect.gen(function* () {
      const records = [["10.0.0.1", 30] as const]
      const found = Either.right([{ address: "10.0.0.1", ttl: 30 }])
      expect(yield* ask({ noise: { records } }, 4, { timeout: 10_000 })).toEqual(found)
      expect(yield* ask({ inTurn: ["silence", { records }] }, 4, { timeout: 100, tries: 4 })).toEqual(found)
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

  it.live("★ of a name that DNS knows the system is not asked for the family it has no address of", () =>
    Effect.gen(function* () {
      const layer = Resolver.layer({ servers: [server] })
      const query = Effect.flatMap(Resolver.Resolver, ({ resolve }) => Effect.either(resolve("localhost", 4)))
      const after = (...inTurn: ReadonlyArray<Behaviour>) => {
        behaviour = { inTurn }
        return Effect.provide(query, layer)
      }
      expect(yield* after("NODATA", { records: [["fd00::9", 60]] })).toEqual(Either.right([]))
      // Of neither family: DNS does not have the name.
      const found = Either.right([{ address: "127.0.0.1", ttl: undefined }])
      expect(yield* after("NODATA", "NODATA")).toEqual(found)
      expect(yield* after("NODATA", "NXDOMAIN")).toEqual(found)
      // Nobody knows.
      expect(failure(yield* after("NODATA", "SERVFAIL"))).toBe("ESERVFAIL")
    })
  )

  it.live("waits as long as Node can for a time that is longer, and whole milliseconds for one with a fraction", () =>
    Effect.gen(function* () {
      for (const timeout of ["30 days", "1500500 micros"] as const) {
        behaviour = { records: [["10.0.0.1", 60]] }
        const query = Effect.flatMap(Resolver.Resolver, ({ resolve }) => resolve("backend.test", 4))
        const found = yield* Effect.provide(query, Resolver.layer({ servers: [server], timeout }))
        expect(found).toEqual([{ address: "10.0.0.1", ttl: 60 }])
      }
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
