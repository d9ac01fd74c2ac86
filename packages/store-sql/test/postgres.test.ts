import * as Postgres from "@effect-xds/store-sql/Postgres"
import * as SqlStore from "@effect-xds/store-sql/SqlStore"
import * as PeerProgram from "@effect-xds/testing/PeerProgram"
import * as PostgresServer from "@effect-xds/testing/PostgresServer"
import { describeStore } from "@effect-xds/testing/vitest"
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Fiber from "effect/Fiber"
import * as Redacted from "effect/Redacted"
import { hash } from "node:crypto"
import { onePostgres } from "./onePostgres.js"
import {
  clusters,
  contentOf,
  describeReplicas,
  failing,
  follow,
  live,
  namesOf,
  opened,
  tagOf,
  until
} from "./replicas.js"

const { peer, server } = onePostgres()

let schemas = 0

/** A schema of its own on a server. */
const schemaOn = ({ url }: PostgresServer.PostgresServer) =>
  Effect.gen(function* () {
    const schema = `s${++schemas}`
    const { sql } = yield* Postgres.make({ url: Redacted.make(url()) })
    yield* sql`CREATE SCHEMA ${sql(schema)}`
    return Postgres.make({ url: Redacted.make(url(schema)) })
  }).pipe(Effect.scoped, Effect.orDie)

const place = Effect.flatMap(server, schemaOn)

if (peer._tag === "Missing") {
  it.skip(PeerProgram.title("a store in PostgreSQL", peer), () => undefined)
} else {
  describeStore(
    "a store in PostgreSQL",
    Effect.flatMap(Effect.flatten(place), (each) => SqlStore.make(each))
  )

  describeReplicas("replicas on PostgreSQL", place)

  describe("PostgreSQL that does not take a name", () => {
    live("a group whose name is too long for an index is refused at once, and the others are written", () =>
      Effect.gen(function* () {
        const store = yield* opened(yield* place)
        // Nothing that PostgreSQL could compress.
        const long = Array.from({ length: 63 }, (_, at) => hash("sha256", `${at}`)).join("")
        const names = [long, ...Array.from({ length: 10 }, (_, at) => `other-${at}`)]
        const results = yield* Effect.forEach(names, (name) => Effect.either(store.set(name, clusters("a"))), {
          concurrency: "unbounded"
        })
        const errors = results.flatMap((result) => (Either.isLeft(result) ? result.left : []))
        expect(errors.map(({ _tag }) => _tag)).toEqual(["StoreUnavailable"])
        expect(errors[0]?.message).toMatch(/index row size .*; give the group a shorter name$/)
        expect([...(yield* store.groups)].sort()).toEqual(names.slice(1))
        // Below the limit a name may be long.
        yield* store.set(long.slice(0, 2_500), clusters("a"))
      })
    )
  })

  describe("PostgreSQL that goes away", () => {
    live("★ serving goes on, writes fail with words, and what was missed is applied when it is back", () =>
      Effect.gen(function* () {
        const own = yield* PostgresServer.make(peer.path)
        const open = yield* schemaOn(own)
        const one = yield* opened(open, { writeTimeout: "300 millis" })
        const other = yield* opened(open)
        yield* one.set("g", clusters("a"))
        yield* follow(one, other)
        yield* own.kill
        const error = yield* failing(one.update("g", { upsert: clusters("b") }))
        expect(error._tag).toBe("StoreUnavailable")
        expect(error.message).toContain(`the store is not available: postgres://127.0.0.1:${own.port}/postgres: `)
        yield* until(() => Effect.runSync(other.status).trouble !== undefined, "the other to be told", other)
        expect([namesOf(one, "g"), namesOf(other, "g")]).toEqual([["a"], ["a"]])
        const patient = yield* Effect.fork(other.update("g", { upsert: clusters("c") }))
        yield* own.start
        yield* Fiber.join(patient)
        const told: Array<string> = []
        yield* one.listen((group) => void told.push(group))
        yield* one.update("g", { upsert: clusters("d") })
        yield* follow(one, other)
        yield* follow(other, one)
        expect(yield* contentOf(one)).toEqual(yield* contentOf(other))
        expect(namesOf(one, "g")).toEqual(["a", "c", "d"])
        yield* until(() => Effect.runSync(one.status).trouble === undefined, "it to be followed again", one)
      })
    )

    live("★ failover to a standby: it is read only until it is promoted, and goes on with what it has", () =>
      Effect.gen(function* () {
        const primary = yield* PostgresServer.make(peer.path)
        const open = yield* schemaOn(primary)
        const schema = `s${schemas}`
        const store = yield* opened(open)
        yield* store.set("g", clusters("a"))
        const standby = yield* primary.standby
        const other = Postgres.make({ url: Redacted.make(standby.url(schema)) })
        yield* store.update("g", { upsert: clusters("b") })
        const { sql } = yield* other
        yield* Effect.repeat(Effect.delay(sql<{ revision: unknown }>`SELECT revision FROM xds_head`, 20), {
          until: ([row]) => Number(row?.revision) === 2,
          times: 500
        })
        // A standby cannot be written to, and says so.
        const replica = yield* opened(other, { writeTimeout: "100 millis" })
        expect(namesOf(replica, "g")).toEqual(["a", "b"])
        const error = yield* failing(replica.update("g", { upsert: clusters("c") }))
        expect(error.message).toContain("it is a standby: give the address of the primary")
        yield* primary.kill
        yield* sql`SELECT pg_promote()`
        yield* replica.update("g", { upsert: clusters("d") })
        expect(namesOf(replica, "g")).toEqual(["a", "b", "d"])
        expect(namesOf(store, "g")).toEqual(["a", "b"])
      })
    )

    live("★ killed again and again under two writers: no acknowledged change is lost, none is torn, both agree", () =>
      Effect.gen(function* () {
        const own = yield* PostgresServer.make(peer.path)
        const open = yield* schemaOn(own)
        const stores = [yield* opened(open), yield* opened(open)] as const
        yield* stores[0].set("g", {})
        yield* follow(stores[0], stores[1])
        const acknowledged = new Set<string>()
        const tried = new Set<string>()
        let isOver = false
        const writing = (at: number) =>
          Effect.gen(function* () {
            const store = stores[at === 0 ? 0 : 1]
            for (let count = 0; !isOver; count++) {
              // Two resources in one change: both are there or neither is.
              const names = [`${at}-${count}-x`, `${at}-${count}-y`]
              for (const name of names) tried.add(name)
              if ((yield* tagOf(store.update("g", { upsert: clusters(...names) }))) === "none")
                for (const name of names) acknowledged.add(name)
            }
          })
        const writers = yield* Effect.fork(Effect.all([writing(0), writing(1)], { concurrency: 2 }))
        for (let round = 0; round < 4; round++) {
          const before = acknowledged.size
          yield* until(() => acknowledged.size > before + 10, "writes to go on")
          yield* own.kill
          yield* own.start
        }
        isOver = true
        yield* Fiber.join(writers)
        yield* follow(stores[0], stores[1])
        yield* follow(stores[1], stores[0])
        const content = yield* contentOf(stores[0])
        expect(yield* contentOf(stores[1])).toEqual(content)
        expect(yield* contentOf(yield* opened(open))).toEqual(content)
        const names = new Set(namesOf(stores[0], "g"))
        expect([...acknowledged].filter((name) => !names.has(name))).toEqual([])
        expect([...names].filter((name) => !tried.has(name))).toEqual([])
        for (const name of names) expect(names.has(name.replace(/x$/, "y"))).toBe(true)
        for (const name of names) expect(names.has(name.replace(/y$/, "x"))).toBe(true)
      })
    )
  })
}
