/** A database that is far away, slow, or cut off; and what tells a process of changes, each thing by itself. */
import * as Postgres from "@effect-xds/store-sql/Postgres"
import type * as SqlStore from "@effect-xds/store-sql/SqlStore"
import * as TcpProxy from "@effect-xds/testing/network/TcpProxy"
import * as PeerProgram from "@effect-xds/testing/PeerProgram"
import * as Waiting from "@effect-xds/testing/Waiting"
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import { onePostgres } from "./onePostgres.js"
import { clusters, contentOf, failing, follow, live, namesOf, opened, until } from "./replicas.js"

const { peer, server } = onePostgres()

let schemas = 0

/** A database, the same by way of a network, and connections of the database to ask it. */
const place = Effect.gen(function* () {
  const { port, url } = yield* server
  const schema = `n${++schemas}`
  const { sql } = yield* Postgres.make({ url: Redacted.make(url()) })
  yield* sql`CREATE SCHEMA ${sql(schema)}`
  const network = yield* TcpProxy.make(port)
  const at = (way: string) => Postgres.make({ url: Redacted.make(way) })
  const near = url(schema)
  return { sql, network, direct: at(near), far: at(near.replace(`:${port}/`, `:${network.port}/`)) }
})

const troubleOf = (store: SqlStore.Service) => Effect.runSync(store.status).trouble?.detail

if (peer._tag === "Missing") {
  it.skip(PeerProgram.title("a network in front of PostgreSQL", peer), () => undefined)
} else {
  describe("a network in front of PostgreSQL", () => {
    live(
      "★ cut: what is served stays, writes fail with words, and when it is back only what is missing is applied",
      () =>
        Effect.gen(function* () {
          const { direct, far, network } = yield* place
          const writer = yield* opened(direct)
          const replica = yield* opened(far, { writeTimeout: "200 millis", interval: "50 millis" })
          yield* writer.set("g", clusters("a"))
          yield* follow(writer, replica)
          network.set("refusing")
          yield* until(() => troubleOf(replica) !== undefined, "the replica to be told", replica)
          yield* writer.update("g", { upsert: clusters("b") })
          const error = yield* failing(replica.update("g", { upsert: clusters("c") }))
          expect(error.message).toMatch(
            /^group "g" was not changed: the store is not available: postgres:.*(ECONNRESET|closed|terminated)/
          )
          expect(namesOf(replica, "g")).toEqual(["a"])
          const told: Array<number> = []
          yield* replica.listen((group) => void told.push(namesOf(replica, group)?.length ?? 0))
          network.set("open")
          yield* until(() => troubleOf(replica) === undefined, "it to be followed again", replica)
          yield* follow(writer, replica)
          // Nothing was told twice, and nothing that was there before.
          expect(told).toEqual([2])
          yield* replica.update("g", { upsert: clusters("d") })
          yield* follow(replica, writer)
          expect(yield* contentOf(writer)).toEqual(yield* contentOf(replica))
          expect(namesOf(writer, "g")).toEqual(["a", "b", "d"])
        })
    )

    live("★ silent: a write that gets no answer ends with words, and is not there twice when the network is back", () =>
      Effect.gen(function* () {
        const { direct, far, network } = yield* place
        const writer = yield* opened(direct)
        const replica = yield* opened(far, { writeTimeout: "100 millis" })
        yield* writer.set("g", clusters("a"))
        yield* follow(writer, replica)
        network.set("silent")
        // The connections are broken after 10 s: no error of the network's own comes.
        const error = yield* failing(replica.update("g", { upsert: clusters("c") }))
        expect(error._tag).toBe("StoreUnavailable")
        expect(namesOf(replica, "g")).toEqual(["a"])
        yield* writer.update("g", { upsert: clusters("b") })
        network.set("open")
        yield* follow(writer, replica)
        yield* replica.update("g", { upsert: clusters("d") })
        yield* follow(replica, writer)
        expect(namesOf(writer, "g")).toEqual(["a", "b", "d"])
        expect(yield* writer.history("g")).toHaveLength(3)
        expect(yield* contentOf(writer)).toEqual(yield* contentOf(replica))
      })
    )

    live("slow: writes wait for it, many of them share a transaction, and what is served is served at once", () =>
      Effect.gen(function* () {
        const { direct, far, network } = yield* place
        const near = yield* opened(direct)
        const slow = yield* opened(far)
        yield* near.set("g", clusters("a"))
        yield* follow(near, slow)
        network.delay(40)
        const began = performance.now()
        const writing = yield* Effect.fork(
          Effect.all(
            Array.from({ length: 200 }, (_, at) => slow.set(`slow-${at}`, clusters(`${at}`))),
            { concurrency: "unbounded" }
          )
        )
        yield* Effect.sleep(20)
        // Nobody who asks for what is there waits for the network.
        const asked = performance.now()
        for (let count = 0; count < 1_000; count++) slow.unsafeGet("g")
        const served = performance.now() - asked
        const results = yield* writing
        const took = performance.now() - began
        network.delay(0)
        expect(new Set(results.map(({ revision }) => revision)).size).toBe(200)
        // Five exchanges of 80 ms for each transaction: one for each call would take more than a minute.
        expect(took).toBeGreaterThan(400)
        expect(took).toBeLessThan(20_000)
        expect(served).toBeLessThan(took / 4)
        yield* follow(slow, near)
        expect(yield* contentOf(near)).toEqual(yield* contentOf(slow))
      })
    )

    live("a replica that lags: it gets what it missed in its order, never an older state after a newer one", () =>
      Effect.gen(function* () {
        const { direct, far, network } = yield* place
        const writer = yield* opened(direct)
        const replica = yield* opened(far)
        yield* writer.set("g", {})
        yield* follow(writer, replica)
        const seen: Array<number> = []
        yield* replica.listen((group) => void seen.push(namesOf(replica, group)?.length ?? 0))
        network.set("silent")
        for (let count = 0; count < 150; count++) yield* writer.update("g", { upsert: clusters(`${count}`) })
        expect(seen).toEqual([])
        network.set("open")
        yield* follow(writer, replica)
        expect(seen).toEqual(Array.from({ length: 150 }, (_, index) => index + 1))
        expect(yield* contentOf(replica)).toEqual(yield* contentOf(writer))
      })
    )

    live("★ LISTEN alone: its connection may die, a process is told all the same without a look", () =>
      Effect.gen(function* () {
        const { direct, sql } = yield* place
        const writer = yield* opened(direct)
        const replica = yield* opened(direct, { interval: "1 hour" })
        yield* writer.set("g", clusters("a"))
        yield* follow(writer, replica)
        const listeners = sql`SELECT pid FROM pg_stat_activity WHERE query LIKE 'LISTEN %' AND pid <> pg_backend_pid()`
        yield* sql`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN %'`
        // What is written while nobody listens is looked for when somebody does again.
        yield* writer.update("g", { upsert: clusters("b") })
        yield* follow(writer, replica)
        yield* Effect.repeat(Effect.delay(listeners, 20), { until: (rows) => rows.length > 0, times: 500 })
        yield* writer.update("g", { upsert: clusters("c") })
        yield* follow(writer, replica)
        expect(namesOf(replica, "g")).toEqual(["a", "b", "c"])
      })
    )

    live("★ LISTEN behind a network that is cut: its connection is broken with those that get no answer", () =>
      Effect.gen(function* () {
        const { far, network } = yield* place
        const database = yield* far
        let wakes = 0
        yield* database.listen(() => {
          wakes++
        })
        yield* until(() => wakes === 1, "it to listen")
        network.set("silent")
        database.hangUp()
        yield* until(() => wakes === 2, "the loss to be told")
        network.set("open")
        yield* until(() => wakes === 3, "it to listen again")
      })
    )

    live("a network that is cut before LISTEN is answered: another connection is made after 10 s", () =>
      Effect.gen(function* () {
        const { far, network, sql } = yield* place
        const database = yield* far
        network.delay(500)
        yield* database.listen(() => undefined)
        const isGreeted = sql`SELECT pid FROM pg_stat_activity WHERE state = 'idle' AND query = ''`
        yield* Waiting.until("a connection that has asked nothing yet", isGreeted, (rows) => rows.length > 0)
        network.set("silent")
        expect(network.made()).toBe(1)
        yield* until(() => network.made() === 2, "the next connection")
      })
    )
  })
}
