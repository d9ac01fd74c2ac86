import { eventually } from "@effect-xds/testing/Waiting"
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Http2Client from "../Http2Client.js"
import { assignment, CDS, cluster, clusters, EDS, endpoints, group, serve } from "./ControlPlane.js"
import { type Protocol, protocols, XdsClient } from "./XdsClient.js"

/** Names of equal length, sorted. */
const numbered = (count: number, bytes = 6): ReadonlyArray<string> =>
  Array.from({ length: count }, (_, index) => String(index).padStart(bytes, "0"))

const connected = (port: number, protocol: Protocol, node?: string) =>
  Effect.map(
    Http2Client.connect(port),
    (session) => new XdsClient(session, protocol, node === undefined ? {} : { node })
  )

/** What an answer to so many names brings, which may come in several responses; each is ACKed. */
const answered = (client: XdsClient, count: number) =>
  Effect.gen(function* () {
    const names: Array<string> = []
    const removed: Array<string> = []
    for (;;) {
      const response = yield* client.receive
      client.ack(response)
      names.push(...response.names)
      removed.push(...response.removed)
      if (names.length + removed.length >= count) {
        const { nonce, typeUrl } = response
        return { names: names.sort(), removed: removed.sort(), nonce, typeUrl }
      }
    }
  })

/** A client that got its first answer, and says whether it is still served. */
const neighbour = (port: number, store: Effect.Effect.Success<ReturnType<typeof serve>>["store"]) =>
  Effect.gen(function* () {
    const client = yield* connected(port, "Incremental", "neighbour")
    client.subscribe(CDS)
    yield* client.receive
    return Effect.gen(function* () {
      yield* store.update(group, { upsert: clusters("changed") })
      expect((yield* client.receive).names).toEqual(["changed"])
      expect(yield* client.settle).toEqual([])
    })
  })

describe.each(protocols)("many names, %s", (protocol) => {
  it.scopedLive("of more than the bytes of a request end the stream with words, and nobody else notices", () =>
    Effect.gen(function* () {
      const { clients, figures, port, store } = yield* serve()
      yield* store.set(group, clusters("a"))
      const isServed = yield* neighbour(port, store)
      const client = yield* connected(port, protocol)
      client.subscribe(EDS, numbered(5_000, 1_000))
      const { code, message } = yield* client.ended
      expect(code).toBe(8)
      expect(message).toMatch(/^a request of 5\d{6} bytes is larger than this server's limit of 4194304 bytes$/)
      yield* isServed
      expect(yield* clients).toEqual(["neighbour"])
      expect((yield* figures).violations).toBe(1)
    })
  )

  it.scopedLive("of more than maxNames end the stream with words; as many as that are answered", () =>
    Effect.gen(function* () {
      const maxNames = 50_000
      const { clients, port, store } = yield* serve({ maxNames }, { maxRequestBytes: 8_000_000 })
      const names = numbered(maxNames, 98)
      const [present = ""] = names
      yield* store.set(group, { clusters: [cluster("a")], endpoints: [assignment(present)] })
      const isServed = yield* neighbour(port, store)
      const many = yield* connected(port, protocol, "many")
      many.subscribe(EDS, names)
      const isTold = protocol === "Incremental"
      const answer = yield* answered(many, isTold ? maxNames : 1)
      expect(answer.names).toEqual([present])
      // As text: of long lists that differ, Vitest would take minutes to show how.
      if (isTold) expect(answer.removed.join() === names.slice(1).join()).toBe(true)
      expect((yield* many.settle).flatMap((response) => response.names)).toEqual([])

      many.subscribe(EDS, ["one more"])
      const refused = { code: 8, message: `50001 names of ${EDS}; at most 50000 are allowed` }
      expect(yield* many.ended).toEqual(refused)
      const atOnce = yield* connected(port, protocol)
      atOnce.subscribe(EDS, [...names, "one more"])
      expect(yield* atOnce.ended).toEqual(refused)
      yield* isServed
      expect(yield* clients).toEqual(["neighbour"])
    })
  )

  it.scopedLive("are answered, ACKed in silence, updated alone and unsubscribed from", () =>
    Effect.gen(function* () {
      const { events, port, store } = yield* serve()
      const names = numbered(10_000)
      yield* store.set(group, {
        clusters: names.map((name) => cluster(name)),
        endpoints: names.map((name) => assignment(name))
      })
      const client = yield* connected(port, protocol)
      const acked = (nonce: string) =>
        eventually(() => expect(events).toContainEqual(expect.objectContaining({ _tag: "Acked", nonce })))
      for (const [typeUrl, change] of [
        [EDS, { endpoints: [assignment("005000", 1)] }],
        [CDS, { clusters: [cluster("005000", "changed")] }]
      ] as const) {
        client.subscribe(typeUrl, names)
        const first = yield* answered(client, names.length)
        expect(first).toMatchObject({ typeUrl, names, removed: [] })
        yield* acked(first.nonce)
        expect(yield* client.settle).toEqual([])

        yield* store.update(group, { upsert: change })
        const update = yield* client.receive
        const wholeState = protocol === "StateOfTheWorld" && typeUrl === CDS
        expect(update).toMatchObject({ typeUrl, names: wholeState ? names : ["005000"], removed: [] })
        client.ack(update)
        yield* acked(update.nonce)
        expect(yield* client.settle).toEqual([])

        client.unsubscribe(typeUrl, names)
        expect(yield* client.settle).toEqual([])
        expect(events.findLast((event) => event._tag === "Subscribed" && event.typeUrl === typeUrl)).toMatchObject({
          wildcard: false,
          names: 0
        })
        yield* store.update(group, { upsert: { clusters: [cluster("007000", typeUrl)] } })
        yield* store.update(group, { upsert: { endpoints: [assignment("007000", typeUrl.length)] } })
        expect(yield* client.settle).toEqual([])
      }
    })
  )
})

describe.each(protocols)("two requests before the first response, %s", (protocol) => {
  it.scopedLive("are both answered", () =>
    Effect.gen(function* () {
      const { port, store } = yield* serve()
      yield* store.set(group, { endpoints: [assignment("a"), assignment("b")] })
      const client = yield* connected(port, protocol)
      client.write(client.subscription(EDS, ["a"]), client.subscription(EDS, ["b"]))
      const responses = [yield* client.receive, ...(yield* client.settle)]
      expect(responses.map(({ names }) => names)).toEqual([["a"], ["b"]])
      for (const response of responses) client.ack(response)
      yield* store.update(group, { upsert: { endpoints: [assignment("a", 1), assignment("b", 1)] } })
      expect((yield* client.receive).names).toEqual(["a", "b"])
      expect(yield* client.settle).toEqual([])
    })
  )

  it.scopedLive("are answered in one, if the group was not set until then", () =>
    Effect.gen(function* () {
      const { events, port, store } = yield* serve()
      const client = yield* connected(port, protocol)
      client.write(client.subscription(EDS, ["a"]), client.subscription(EDS, ["b"]))
      yield* eventually(() => expect(events.filter(({ _tag }) => _tag === "Subscribed").length).toBe(2))
      yield* store.set(group, endpoints("a", "b", "c"))
      expect((yield* client.receive).names).toEqual(["a", "b"])
      expect(yield* client.settle).toEqual([])
    })
  )

  it.scopedLive("of which the second gives up the first's names, leave the second's", () =>
    Effect.gen(function* () {
      const { port, store } = yield* serve()
      yield* store.set(group, endpoints("a", "b"))
      const client = yield* connected(port, protocol)
      client.subscribe(EDS, ["a"])
      client.unsubscribe(EDS, ["a"])
      client.subscribe(EDS, ["b"])
      const responses = yield* client.settle
      expect(responses.at(-1)?.names).toEqual(["b"])
      yield* store.update(group, { upsert: { endpoints: [assignment("a", 1), assignment("b", 1)] } })
      expect((yield* client.receive).names).toEqual(["b"])
      expect(yield* client.settle).toEqual([])
    })
  )
})

describe("what was never subscribed to", () => {
  it.scopedLive("is unsubscribed from without effect, incremental", () =>
    Effect.gen(function* () {
      const { figures, port, store } = yield* serve()
      yield* store.set(group, clusters("a", "b"))
      const named = yield* connected(port, "Incremental")
      named.subscribe(CDS, ["a"])
      expect((yield* named.receive).names).toEqual(["a"])
      named.unsubscribe(CDS, ["b", "*", "", "phantom"])
      expect(yield* named.settle).toEqual([])
      // A legacy wildcard is ended by no unsubscription.
      const wild = yield* connected(port, "Incremental")
      wild.send({ typeUrl: CDS, unsubscribe: ["phantom"] })
      expect((yield* wild.receive).names).toEqual(["a", "b"])
      wild.unsubscribe(CDS, ["*", "a", "phantom"])
      expect(yield* wild.settle).toEqual([])
      yield* store.update(group, { upsert: { clusters: [cluster("a", "2"), cluster("b", "2")] } })
      expect((yield* named.receive).names).toEqual(["a"])
      expect((yield* wild.receive).names).toEqual(["a", "b"])
      expect(yield* named.settle).toEqual([])
      expect(yield* wild.settle).toEqual([])
      expect((yield* figures).violations).toBe(0)
    })
  )

  it.scopedLive("as a type, is given up without effect, state of the world", () =>
    Effect.gen(function* () {
      const { port, store } = yield* serve()
      yield* store.set(group, endpoints("a", "b"))
      const client = yield* connected(port, "StateOfTheWorld")
      client.subscribe(EDS, ["a"])
      expect((yield* client.receive).names).toEqual(["a"])
      // No names twice in a row: the second has nothing left to give up, and neither is a wildcard.
      client.unsubscribe(EDS, ["a"])
      client.unsubscribe(EDS, ["a", "phantom", "*"])
      expect(yield* client.settle).toEqual([])
      client.subscribe(EDS, ["b"])
      expect((yield* client.receive).names).toEqual(["b"])
      yield* store.update(group, { upsert: { endpoints: [assignment("a", 1), assignment("b", 1)] } })
      expect((yield* client.receive).names).toEqual(["b"])
      expect(yield* client.settle).toEqual([])
    })
  )
})
