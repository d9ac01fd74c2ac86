/** What every database is tested for: several processes on it, as several stores in this one. */
import { create } from "@bufbuild/protobuf"
import * as ResourceGroup from "@effect-xds/core/resource/ResourceGroup"
import * as Steps from "@effect-xds/core/Steps"
import { ClusterSchema } from "@effect-xds/proto/envoy/config/cluster/v3/cluster"
import { ClusterLoadAssignmentSchema } from "@effect-xds/proto/envoy/config/endpoint/v3/endpoint"
import { RouteConfigurationSchema } from "@effect-xds/proto/envoy/config/route/v3/route"
import * as ResourceType from "@effect-xds/proto/ResourceType"
import * as Snapshot from "@effect-xds/server/Snapshot"
import type * as SnapshotStore from "@effect-xds/server/SnapshotStore"
import type { Database } from "@effect-xds/store-sql/Database"
import type { OpenError } from "@effect-xds/store-sql/OpenError"
import * as SqlStore from "@effect-xds/store-sql/SqlStore"
import * as Waiting from "@effect-xds/testing/Waiting"
import * as EventLoop from "@effect-xds/transport/EventLoop"
import { describe, expect, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Logger from "effect/Logger"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import { Buffer } from "node:buffer"
import { inspect } from "node:util"
import * as Log from "../src/internal/Log.js"

const cluster = (name: string, altStatName = "") => create(ClusterSchema, { name, altStatName })
const routesTo = (name: string, ...to: ReadonlyArray<string>) =>
  create(RouteConfigurationSchema, {
    name,
    virtualHosts: to.map((value) => {
      const action = { case: "route", value: { clusterSpecifier: { case: "cluster", value } } } as const
      const match = { pathSpecifier: { case: "prefix", value: "/" } } as const
      return { name: value, domains: [value], routes: [{ match, action }] }
    })
  })
export const clusters = (...names: ReadonlyArray<string>) => ({ clusters: names.map((name) => cluster(name)) })
export const many = (count: number, altStatName = "") => ({
  clusters: Array.from({ length: count }, (_, index) => cluster(`many-${index}`, altStatName))
})

export const namesOf = (store: SnapshotStore.Store, group: string) => {
  const seen = store.unsafeGet(group)
  return (
    seen &&
    ResourceGroup.all(seen)
      .map(({ name }) => name)
      .sort()
  )
}

/** All that a store has of its groups, down to the bytes. */
export const contentOf = (store: SnapshotStore.Store) =>
  Effect.gen(function* () {
    const groups = [...(yield* store.groups)].sort()
    const content: Array<unknown> = []
    for (const group of groups) {
      const { over, own, revision, seen } = Option.getOrThrow(yield* store.get(group))
      for (const each of [own, seen ?? ResourceGroup.empty]) {
        for (const [typeUrl, set] of [...each.sets].sort(([one], [other]) => (one < other ? -1 : 1))) {
          const resources = ResourceGroup.all(each)
            .filter((resource) => resource.typeUrl === typeUrl)
            .map(({ aliases, error, fingerprint, name, ttl, value, variants, version }) =>
              [
                [name, version, fingerprint, ttl, aliases.join(), Buffer.from(value).toString("hex")].join(" "),
                ...(error === undefined ? [] : [error]),
                ...(variants ?? [])
              ].map((part) => (typeof part === "string" ? part : inspect(part, { depth: 5, maxArrayLength: null })))
            )
            .sort()
          if (resources.length > 0) content.push([group, revision, over, typeUrl, set.version, resources])
        }
      }
      content.push([group, revision, over])
    }
    return content
  })

/** How the process is, for what never came: whether its event loop brings I/O, and what it waits for. */
const processSeen = (looks: number, turns: number): string => {
  const waited = new Map<string, number>()
  for (const each of process.getActiveResourcesInfo()) waited.set(each, (waited.get(each) ?? 0) + 1)
  return `${looks} looks, ${turns} turns of the event loop; the process waits for ${inspect(waited)}`
}

/** Waits until it is so; what never is says how the stores are instead. */
export const until = (isSo: () => boolean, what = "it to be so", ...stores: ReadonlyArray<SqlStore.Service>) =>
  Effect.suspend(() => {
    let looks = 0
    let turns = 0
    const look = (): boolean => {
      looks++
      setImmediate(() => {
        turns++
      })
      return isSo()
    }
    const seen = () => `${inspect(stores.map(({ status }) => Effect.runSync(status)))}, ${processSeen(looks, turns)}`
    // More than the 30 s after which a store breaks a connection that does not answer.
    return Effect.asVoid(Waiting.found(what, look, { limit: "90 seconds", seen }))
  })

/** Waits until the other store is at the revision of the first. */
export const follow = (one: SqlStore.Service, other: SqlStore.Service) =>
  Effect.suspend(() => {
    const { revision } = Effect.runSync(one.status)
    return until(() => Effect.runSync(other.status).revision >= revision, `revision ${revision}`, other)
  })

/** The tag of an effect's error, or "none". */
export const tagOf = <A, E extends { readonly _tag: string }>(effect: Effect.Effect<A, E>) =>
  Effect.match(effect, { onFailure: ({ _tag }) => _tag, onSuccess: () => "none" })

/** The error of an effect. One that does not fail is told in words: a whole group is too much for a report. */
export const failing = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<E, never, R> =>
  Effect.matchEffect(effect, {
    onFailure: (error) => Effect.succeed(error),
    onSuccess: () => Effect.dieMessage("it did not fail")
  })

/** A new database, which may be opened several times. */
export type Place = Effect.Effect<Effect.Effect<Database, OpenError, Scope.Scope>, never, Scope.Scope>

/** Opens a store, and gives its end. */
export const opened = (open: Effect.Effect<Database, OpenError, Scope.Scope>, options?: SqlStore.Options) =>
  Effect.flatMap(open, (database) => SqlStore.make(database, options))

/** The stores of a test log what it does to them. */
const silent = Logger.replace(Logger.defaultLogger, Logger.none)

/** A test in real time, with a scope, and without the log. */
export const live = <E>(title: string, body: () => Effect.Effect<void, E, Scope.Scope>): void =>
  it.scopedLive(title, () => Effect.provide(body(), silent))

export const describeReplicas = (name: string, place: Place): void => {
  describe(name, () => {
    live("what was written is there when it is opened again, byte for byte", () =>
      Effect.gen(function* () {
        const open = yield* place
        const assignment = create(ClusterLoadAssignmentSchema, { clusterName: "a" })
        const before = yield* Effect.scoped(
          Effect.gen(function* () {
            const store = yield* opened(open)
            yield* store.set("shared", { ...clusters("s", "a"), versions: { clusters: "release 7" } })
            yield* store.set('odd "name"\u0000\ud800', many(700))
            yield* store.set("g", { ...many(300), over: "shared" })
            yield* store.update("g", {
              upsert: {
                clusters: [Snapshot.resource(cluster("many-3", "new"), { version: "mine", aliases: ["other"] })],
                endpoints: [Snapshot.resource(assignment, { ttl: "1500 millis" })]
              },
              remove: { clusters: ["many-4"] }
            })
            // Content that is equal, under another label.
            yield* store.update("g", {
              upsert: { clusters: [Snapshot.resource(cluster("many-5"), { version: "label" })] }
            })
            const only = (env: string) => ({ constraints: { _tag: "Value", key: "env", value: env } as const })
            const variants = [
              Snapshot.resource(cluster("v", "1"), { ...only("prod"), ttl: "2 seconds", version: "mine" }),
              Snapshot.resource(cluster("v", "2"), only("test"))
            ]
            const key = { typeUrl: ResourceType.Cluster.typeUrl, name: "w" }
            const error = Snapshot.unavailable(key, { code: 7, message: "not yours" })
            yield* store.set("varied", { clusters: [...variants, error] })
            yield* store.set("gone", clusters("x"))
            yield* store.clear("gone")
            return yield* contentOf(store)
          })
        )
        const store = yield* opened(open)
        expect(yield* contentOf(store)).toEqual(before)
        expect(JSON.stringify(before)).toContain("not yours")
        expect(store.unsafeGet("gone")).toBeUndefined()
      })
    )

    live("★ reload and increment agree byte for byte, after any changes", () =>
      Effect.gen(function* () {
        const open = yield* place
        const writer = yield* opened(open)
        const replica = yield* opened(open)
        let seed = 7
        const next = (most: number) => (seed = (seed * 48_271) % 2_147_483_647) % most
        yield* writer.set("base", clusters("b"))
        for (let count = 0; count < 120; count++) {
          const group = `g${next(4)}`
          const names = Array.from({ length: next(6) }, () => `r${next(12)}`)
          const upsert = { clusters: [...new Set(names)].map((each) => cluster(each, `${next(3)}`)) }
          const dice = next(10)
          if (dice === 0) yield* writer.clear(group)
          else if (dice < 3) {
            const over = next(2) === 0 ? { over: "base" } : {}
            yield* writer.set(group, { ...upsert, ...over, versions: next(3) === 0 ? { clusters: `v${count}` } : {} })
          } else yield* Effect.ignore(writer.update(group, { upsert, remove: { clusters: [`r${next(12)}`] } }))
        }
        yield* follow(writer, replica)
        const fresh = yield* opened(open)
        const content = yield* contentOf(writer)
        expect(yield* contentOf(replica)).toEqual(content)
        expect(yield* contentOf(fresh)).toEqual(content)
      })
    )

    live("the changes of one process are seen by another, in their order", () =>
      Effect.gen(function* () {
        const open = yield* place
        const [one, other] = [yield* opened(open), yield* opened(open)]
        const seen: Array<number> = []
        yield* other.listen((group) => {
          if (group === "g") seen.push(ResourceGroup.all(other.unsafeGet("g") ?? ResourceGroup.empty).length)
        })
        yield* one.set("g", {})
        for (let count = 0; count < 50; count++) yield* one.update("g", { upsert: clusters(`${count}`) })
        yield* follow(one, other)
        expect(seen).toEqual(Array.from({ length: 51 }, (_, index) => index))
        yield* other.clear("g")
        yield* follow(other, one)
        expect(one.unsafeGet("g")).toBeUndefined()
      })
    )

    live("★ told alone, and looking alone: each of both is enough to see a change", () =>
      Effect.gen(function* () {
        const open = yield* place
        const writer = yield* opened(open)
        const told = yield* opened(open, { interval: "1 hour" })
        // Nobody tells this one.
        const looking = yield* SqlStore.make({ ...(yield* open), listen: () => Effect.void }, { interval: "50 millis" })
        // Several: what is seen when it begins to listen is not all.
        for (let count = 0; count < 5; count++) {
          yield* writer.set("g", clusters(`${count}`))
          yield* follow(writer, told)
          yield* follow(writer, looking)
        }
        expect(yield* contentOf(told)).toEqual(yield* contentOf(writer))
        expect(yield* contentOf(looking)).toEqual(yield* contentOf(writer))
      })
    )

    live(
      "★ a clock that jumps: changes keep their order, and who waits for the database waits as long as it should",
      () =>
        Effect.gen(function* () {
          const open = yield* place
          let jump = 0
          const clock = Clock.make()
          const jumping: Clock.Clock = {
            ...clock,
            unsafeCurrentTimeMillis: () => clock.unsafeCurrentTimeMillis() + jump,
            unsafeCurrentTimeNanos: () => clock.unsafeCurrentTimeNanos(),
            currentTimeMillis: Effect.map(clock.currentTimeMillis, (now) => now + jump),
            currentTimeNanos: clock.currentTimeNanos,
            sleep: (duration) => clock.sleep(duration)
          }
          const database = yield* open
          const work = Effect.gen(function* () {
            const store = yield* SqlStore.make(database, { writeTimeout: "300 millis", interval: "50 millis" })
            const other = yield* opened(open)
            const day = 86_400_000
            const revisions: Array<number> = []
            for (jump of [0, day, -day, 365 * day, 0]) {
              revisions.push((yield* store.set("g", clusters(`${jump}`))).revision)
              yield* follow(store, other)
              expect(namesOf(other, "g")).toEqual([`${jump}`])
            }
            expect(revisions).toEqual([1, 2, 3, 4, 5])
            expect((yield* store.history("g")).map(({ revision }) => revision)).toEqual([5, 4, 3, 2, 1])
            // Somebody holds the head while the clock is set forward by a day, and then back.
            const { sql } = yield* open
            for (jump of [-day, 0]) {
              const began = performance.now()
              const error = yield* sql.withTransaction(
                Effect.gen(function* () {
                  yield* sql`UPDATE xds_head SET epoch = epoch WHERE id = 1`
                  const call = yield* Effect.fork(failing(store.set("g", clusters("late"))))
                  yield* Effect.sleep(50)
                  jump = jump === 0 ? day : -2 * day
                  return yield* Fiber.join(call)
                })
              )
              expect(error._tag).toBe("StoreUnavailable")
              expect(performance.now() - began).toBeGreaterThan(290)
            }
          })
          yield* Effect.withClock(work, jumping)
        })
    )

    live("★ two writers race: no acknowledged change is lost, and of two at one revision one wins", () =>
      Effect.gen(function* () {
        const open = yield* place
        const stores = [yield* opened(open), yield* opened(open)] as const
        yield* stores[0].set("g", {})
        yield* follow(stores[0], stores[1])
        const calls = stores.flatMap((store, at) =>
          Array.from({ length: 30 }, (_, index) => store.update("g", { upsert: clusters(`${at}-${index}`) }))
        )
        const results = yield* Effect.all(calls, { concurrency: "unbounded" })
        expect(new Set(results.map(({ revision }) => revision)).size).toBe(60)
        yield* follow(stores[0], stores[1])
        yield* follow(stores[1], stores[0])
        expect(namesOf(stores[0], "g")).toHaveLength(60)
        expect(yield* contentOf(stores[0])).toEqual(yield* contentOf(stores[1]))
        for (let round = 0; round < 10; round++) {
          const ifRevision = Option.getOrThrow(yield* stores[0].get("g")).revision
          const tags = yield* Effect.all(
            stores.map((store, at) =>
              tagOf(store.update("g", { upsert: clusters(`r${round}-${at}`) }, { ifRevision }))
            ),
            { concurrency: "unbounded" }
          )
          expect([...tags].sort()).toEqual(["Conflict", "none"])
          yield* follow(stores[0], stores[1])
          yield* follow(stores[1], stores[0])
        }
      })
    )

    live("a layer cycle that two processes would make together is refused", () =>
      Effect.gen(function* () {
        const open = yield* place
        const [one, other] = [yield* opened(open), yield* opened(open)]
        const tags = yield* Effect.all([tagOf(one.set("a", { over: "b" })), tagOf(other.set("b", { over: "a" }))], {
          concurrency: "unbounded"
        })
        expect(tags.sort()).toEqual(["LayerCycle", "none"])
      })
    )

    live("history has every change with its author and note, and a rollback is one more", () =>
      Effect.gen(function* () {
        const open = yield* place
        const store = yield* opened(open, { process: "cp-1" })
        const first = yield* store.set("g", { ...clusters("a", "b"), versions: { clusters: "v1" } }, { author: "ann" })
        yield* store.set("other", clusters("x"))
        const second = yield* store.update(
          "g",
          { upsert: clusters("c"), remove: { clusters: ["a"] } },
          { author: "bob\u0000", note: "why" }
        )
        const back = yield* store.rollback("g", first.revision)
        expect(namesOf(store, "g")).toEqual(["a", "b"])
        expect(back.own.sets.get("type.googleapis.com/envoy.config.cluster.v3.Cluster")?.version).toBe("v1")
        const entries = yield* store.history("g")
        expect(entries.map((entry) => ({ ...entry, at: undefined }))).toEqual([
          {
            group: "g",
            revision: back.revision,
            kind: "put",
            author: "cp-1",
            note: `rollback to revision ${first.revision}`,
            upserts: 1,
            removals: 1,
            at: undefined
          },
          {
            group: "g",
            revision: second.revision,
            kind: "put",
            author: "bob\ufffd",
            note: "why",
            upserts: 1,
            removals: 1,
            at: undefined
          },
          { group: "g", revision: first.revision, kind: "put", author: "ann", note: "", upserts: 2, removals: 0 }
        ])
        expect(yield* store.history("g", { before: second.revision, limit: 1 })).toHaveLength(1)
        // A revision of the store at which another group changed is one of this group, too.
        yield* store.rollback("g", second.revision)
        expect(namesOf(store, "g")).toEqual(["b", "c"])
        const unknown = yield* failing(store.rollback("g", 99))
        expect(unknown.message).toBe('group "g" has no revision 99: the store is at revision 5; see its history')
        expect(yield* tagOf(store.rollback("g", first.revision, { ifRevision: first.revision }))).toBe("Conflict")
        yield* store.clear("g")
        yield* store.rollback("g", first.revision)
        expect(namesOf(store, "g")).toEqual(["a", "b"])
      })
    )

    live(
      "numbers that are no whole ones are no trouble of the database: a page is as large as can be, a revision is not there",
      () =>
        Effect.gen(function* () {
          const store = yield* opened(yield* place)
          for (const name of ["a", "b", "c"]) yield* store.set("g", clusters(name))
          const revisions = (options: Parameters<typeof store.history>[1]) =>
            Effect.map(store.history("g", options), (entries) => entries.map(({ revision }) => revision))
          for (const limit of [Infinity, 2 ** 60, NaN]) expect(yield* revisions({ limit })).toEqual([3, 2, 1])
          expect(yield* revisions({ limit: 1.5 })).toEqual([3])
          expect(yield* revisions({ limit: -1 })).toEqual([])
          for (const before of [Infinity, NaN]) expect(yield* revisions({ before })).toEqual([3, 2, 1])
          expect(yield* revisions({ before: 2.5 })).toEqual([2, 1])
          expect(yield* revisions({ before: -Infinity })).toEqual([])
          for (const revision of [1.5, NaN, Infinity, -1]) {
            expect(yield* tagOf(store.at("g", revision))).toBe("RevisionNotFound")
            expect(yield* tagOf(store.rollback("g", revision))).toBe("RevisionNotFound")
          }
        })
    )

    live("what is to be removed is a list of names: nothing else removes anything", () =>
      Effect.gen(function* () {
        const store = yield* opened(yield* place)
        yield* store.set("g", clusters("old", "o"))
        const misspelled = { cluster: ["old"], listeners: [] }
        const error = yield* failing(store.update("g", { upsert: clusters("new"), remove: misspelled }))
        expect(error.message).toContain('"cluster" is no property of a snapshot')
        const direct = { versions: {}, ...clusters("new") }
        expect((yield* failing(store.update("g", direct))).message).toContain('"clusters" is no property of a change')
        expect(namesOf(store, "g")).toEqual(["o", "old"])
      })
    )

    live("a process that takes the right to write fences the others", () =>
      Effect.gen(function* () {
        const open = yield* place
        const shared = yield* opened(open)
        yield* shared.set("g", clusters("a"))
        const release = yield* Effect.scoped(
          Effect.gen(function* () {
            const leader = yield* opened(open, { writers: "exclusive", process: "leader" })
            yield* leader.update("g", { upsert: clusters("b") })
            const error = yield* failing(shared.update("g", { upsert: clusters("c") }))
            expect(error.message).toBe(
              'group "g" was not changed: this process may not write any more: leader took the right to write (epoch 2); ' +
                'write there, or restart this process when it has given it up; if it is gone, open the store once with writers: "exclusive"'
            )
            const late = yield* opened(open)
            expect(yield* tagOf(late.clear("g"))).toBe("Fenced")
            const next = yield* opened(open, { writers: "exclusive", process: "next" })
            expect(yield* tagOf(leader.clear("g"))).toBe("Fenced")
            yield* next.update("g", { upsert: clusters("d") })
            yield* follow(next, shared)
            return namesOf(shared, "g")
          })
        )
        expect(release).toEqual(["a", "b", "d"])
        const after = yield* opened(open)
        expect(yield* tagOf(after.update("g", { upsert: clusters("e") }))).toBe("none")
      })
    )

    live("★ a process that cannot open takes no right to write", () =>
      Effect.gen(function* () {
        const open = yield* place
        const { sql } = yield* open
        const store = yield* opened(open)
        yield* store.set("g", clusters("a"))
        yield* sql`UPDATE xds_change SET digest = digest || 'x'`
        const leader = { writers: "exclusive", process: "leader" } as const
        const error = yield* failing(Effect.scoped(opened(open, leader)))
        expect(error.reason).toBe("Damaged")
        yield* store.update("g", { upsert: clusters("b") })
        expect(yield* sql`SELECT epoch FROM xds_head WHERE epoch = 1 AND writer IS NULL`).toHaveLength(1)
        yield* sql`UPDATE xds_change SET digest = SUBSTR(digest, 1, 64)`
        const next = yield* opened(open, leader)
        expect(namesOf(next, "g")).toEqual(["a", "b"])
      })
    )

    live(
      "the log is compacted: history keeps what it should, and a replica that is far behind reads the groups anew",
      () =>
        Effect.gen(function* () {
          const open = yield* place
          const database = yield* open
          // No whole number: no database takes it.
          const store = yield* SqlStore.make(database, { history: 5.9 })
          // A replica that is never told, and looks once an hour.
          const late = yield* SqlStore.make({ ...(yield* open), listen: () => Effect.void }, { interval: "1 hour" })
          yield* store.set("g", clusters("a"))
          yield* late.set("late", clusters("l"))
          const large = "x".repeat(1_000)
          const grow = (count: number) => store.set("g", many(400, `${large}${count}`))
          for (let count = 0; count < 30; count++) yield* grow(count)
          const rows = Effect.map(database.sql<{ n: unknown }>`SELECT COUNT(*) AS n FROM xds_change`, ([row]) =>
            Number(row?.n)
          )
          let kept = yield* rows
          for (let turns = 0; kept > 12 && turns < 1_000; turns++) {
            yield* Effect.sleep(10)
            kept = yield* rows
          }
          expect(kept).toBeGreaterThanOrEqual(6)
          expect(kept).toBeLessThanOrEqual(12)
          const entries = yield* store.history("g")
          const oldest = entries.at(-1)?.revision ?? 0
          const { own } = yield* store.at("g", oldest)
          expect(ResourceGroup.all(own)).toHaveLength(400)
          const unknown = yield* failing(store.rollback("g", 1))
          expect(unknown.message).toContain('group "g" has no revision 1: its history begins with revision ')
          const told: Array<string> = []
          yield* late.listen((group) => void told.push(group))
          // To write, it must have everything.
          yield* late.update("late", { upsert: clusters("m") })
          expect(told.sort()).toEqual(["g", "late"])
          yield* follow(late, store)
          const fresh = yield* opened(open)
          expect(yield* contentOf(late)).toEqual(yield* contentOf(store))
          expect(yield* contentOf(fresh)).toEqual(yield* contentOf(store))
        })
    )

    live("★ a replica that reads the groups anew: layers that were turned round are never a cycle in between", () =>
      Effect.gen(function* () {
        const open = yield* place
        const database = yield* open
        const store = yield* SqlStore.make(database)
        const late = yield* SqlStore.make({ ...(yield* open), listen: () => Effect.void }, { interval: "1 hour" })
        yield* store.set("low", clusters("low"))
        yield* store.set("middle", { ...clusters("middle"), over: "low" })
        yield* store.set("high", { ...clusters("high"), over: "middle" })
        yield* late.set("late", {})
        yield* follow(late, store)
        yield* store.set("high", clusters("high"))
        yield* store.set("low", { ...clusters("low"), over: "high" })
        // As after a compaction.
        yield* database.sql`UPDATE xds_head SET floor = revision WHERE id = 1`
        const told: Array<string> = []
        yield* late.listen((group) => void told.push(`${group}: ${namesOf(late, group)?.join(" ")}`))
        yield* late.set("late", clusters("l"))
        expect(told).toEqual(["high: high", "low: high low", "middle: high low middle", "late: l"])
        yield* follow(late, store)
        expect(yield* contentOf(late)).toEqual(yield* contentOf(store))
      })
    )

    const bodies = {
      "is not what was written": Buffer.alloc(0),
      "is of a later format": Buffer.from([9]),
      "is cut": Buffer.from([1, 0, 1, 9])
    }
    const reasons = {
      "is not what was written": "its bytes are not those that were written",
      "is of a later format": "it is of format 9, and this version reads 1",
      "is cut": "it ends too early"
    }
    for (const what of ["is not what was written", "is of a later format", "is cut"] as const) {
      live(`a row that ${what}: the last good state is served, and nothing is overwritten`, () =>
        Effect.gen(function* () {
          const open = yield* place
          const database = yield* open
          const store = yield* SqlStore.make(database)
          const replica = yield* SqlStore.make(
            { ...(yield* open), listen: () => Effect.void },
            { interval: "20 millis" }
          )
          yield* store.set("g", clusters("a"))
          yield* follow(store, replica)
          const { sql } = database
          const [first] = yield* Log.after(database, 0)
          const entry = { ...first, group: "g", kind: "put", revision: 2, at: 0, epoch: 1 } as const
          const row = { author: "", note: "", token: "", upserts: 1, removals: 0, ...entry }
          const isFormat = bodies[what].byteLength > 0
          const { digest } = Steps.toEnd(Log.digestOf(row, isFormat ? bodies[what] : Buffer.from([1])))
          const chain = Log.chainOf(first?.chain ?? "", digest)
          const change = { row: { ...row, digest, chain }, body: bodies[what] }
          yield* sql.withTransaction(Log.append(database, EventLoop.process, [change]))
          yield* until(() => Effect.runSync(replica.status).trouble !== undefined, "it to be told", replica)
          expect(namesOf(replica, "g")).toEqual(["a"])
          const error = yield* failing(replica.set("g", clusters("b")))
          expect(error._tag).toBe("StoreUnavailable")
          const rows = yield* sql<{ n: unknown }>`SELECT COUNT(*) AS n FROM xds_change`
          expect(Number(rows[0]?.n)).toBe(2)
          const fresh = yield* failing(opened(open))
          expect(fresh.reason).toBe("Damaged")
          expect(fresh.message).toContain(`the change of group "g" at revision 2 cannot be used: ${reasons[what]}; `)
        })
      )
    }

    live("tables of a later version are not touched", () =>
      Effect.gen(function* () {
        const open = yield* place
        const database = yield* open
        yield* Effect.scoped(Effect.asVoid(opened(open)))
        yield* database.sql`UPDATE xds_head SET schema_version = 9 WHERE id = 1`
        const error = yield* failing(opened(open))
        expect(error.reason).toBe("LaterSchema")
        expect(error.detail).toBe(
          "its tables are of version 9, and this program knows version 1; run the program's newer release"
        )
      })
    )

    live("a database that lost changes is not followed, and what is served stays", () =>
      Effect.gen(function* () {
        const open = yield* place
        const database = yield* open
        const { sql } = database
        const store = yield* SqlStore.make(database, { interval: "20 millis" })
        yield* store.set("g", clusters("a"))
        const [head] = yield* sql<Record<string, unknown>>`SELECT revision, chain FROM xds_head`
        yield* store.set("g", clusters("b"))
        // As after a failover to a standby that did not have the last change.
        yield* sql`DELETE FROM xds_change WHERE revision = 2`
        yield* sql`UPDATE xds_head SET revision = 1, chain = ${String(head?.["chain"])} WHERE id = 1`
        yield* until(() => Effect.runSync(store.status).trouble !== undefined, "it to be told", store)
        expect(namesOf(store, "g")).toEqual(["b"])
        // Another process goes on from there.
        const fresh = yield* opened(open)
        expect(namesOf(fresh, "g")).toEqual(["a"])
        yield* fresh.set("g", clusters("c"))
        yield* fresh.set("g", clusters("d"))
        const error = yield* failing(store.update("g", { upsert: clusters("e") }))
        expect(error.message).toContain("does not follow the one that this process has: the database lost changes")
        expect(namesOf(store, "g")).toEqual(["b"])
      })
    )

    live(
      "★ rules over a group: warned of in every process, and refused from the state that the change will follow",
      () =>
        Effect.gen(function* () {
          const open = yield* place
          const [one, other] = [yield* opened(open), yield* opened(open)] as const
          const rulesOf = (store: SqlStore.Service, group = "g") =>
            Effect.map(store.broken(group), ({ rules }) => rules.map(({ name, rule }) => `${name} ${rule}`))
          yield* one.set("g", { ...clusters("a"), routes: [routesTo("main", "a", "b")] })
          yield* follow(one, other)
          for (const store of [one, other]) {
            expect(yield* rulesOf(store)).toEqual(["main cluster-reference"])
            expect(Option.getOrThrow(yield* store.get("g")).broken?.rules).toHaveLength(1)
          }
          const remove = { remove: { clusters: ["a"] } }
          const words = yield* Effect.match(one.update("g", remove, { groupRules: "refuse" }), {
            onFailure: ({ message }) => message,
            onSuccess: () => "none"
          })
          expect(words).toContain('names cluster "a", which is not there (cluster-reference)')
          expect(namesOf(one, "g")).toEqual(["a", "main"])
          // What is broken already is no reason; nor is what another process has mended.
          yield* one.update("g", { upsert: clusters("c") }, { groupRules: "refuse" })
          yield* other.update("g", { upsert: { routes: [routesTo("main", "c")] } })
          yield* one.update("g", remove, { groupRules: "refuse" })
          expect(namesOf(one, "g")).toEqual(["c", "main"])
          // Of two that break it only together the second is refused.
          yield* one.set("h", { ...clusters("a"), routes: [routesTo("one", "a"), routesTo("two")] })
          yield* follow(one, other)
          const tags = yield* Effect.all(
            [
              tagOf(one.update("h", { remove: { clusters: ["a"], routes: ["one"] } }, { groupRules: "refuse" })),
              tagOf(other.update("h", { upsert: { routes: [routesTo("two", "a")] } }, { groupRules: "refuse" }))
            ],
            { concurrency: "unbounded" }
          )
          expect(tags.sort()).toEqual(["BrokenRules", "none"])
        })
    )

    live(
      "resources that break rules and are served: a store that warns lists them, until any process changes them",
      () =>
        Effect.gen(function* () {
          const open = yield* place
          const [one, other] = [yield* opened(open, { validate: "warn" }), yield* opened(open)] as const
          const bad = (name: string) => create(ClusterSchema, { name, connectTimeout: { seconds: 0n } })
          const invalidOf = (store: SqlStore.Service) =>
            Effect.map(store.get("g"), (found) =>
              Option.getOrThrow(found)
                .invalid?.map(({ name }) => name)
                .join(" ")
            )
          yield* one.set("g", { clusters: [bad("a"), bad("b"), cluster("c")] })
          expect(yield* invalidOf(one)).toBe("a b")
          yield* one.update("g", { upsert: { clusters: [bad("d")] } })
          expect(yield* invalidOf(one)).toBe("a b d")
          // What was not checked is not known.
          yield* one.update("g", { upsert: { clusters: [bad("e")] } }, { validate: "off" })
          expect(yield* invalidOf(one)).toBe("a b d")
          yield* follow(one, other)
          expect(yield* invalidOf(other)).toBeUndefined()
          yield* other.update("g", { upsert: clusters("a"), remove: { clusters: ["d"] } })
          yield* follow(other, one)
          expect(yield* invalidOf(one)).toBe("b")
          // As after a compaction: it is read anew.
          yield* other.set("g", clusters("b"))
          yield* (yield* open).sql`UPDATE xds_head SET floor = revision WHERE id = 1`
          yield* one.set("h", {})
          expect(yield* invalidOf(one)).toBeUndefined()
          yield* one.set("g", { clusters: [bad("a")] })
          yield* one.clear("g")
          yield* one.set("g", clusters("a"))
          expect(yield* invalidOf(one)).toBeUndefined()
        })
    )

    live("groups in layers of different versions of the API are refused, of two at once the second", () =>
      Effect.gen(function* () {
        const open = yield* place
        const [one, other] = [yield* opened(open), yield* opened(open)] as const
        const v2 = (name: string) => ({
          resources: [
            Snapshot.resource(
              { typeUrl: "type.googleapis.com/envoy.api.v2.Cluster", name, value: Uint8Array.of(10, 1, 97) },
              { isUnknownType: true }
            )
          ]
        })
        yield* one.set("below", {})
        yield* one.set("above", { over: "below" })
        yield* follow(one, other)
        // Somebody holds the head: the first call waits for it, and the next two are in one transaction after it.
        const { sql } = yield* open
        const calls = [
          tagOf(one.set("first", {})),
          tagOf(one.update("below", { upsert: v2("a") }, { validate: "off" })),
          tagOf(one.update("above", { upsert: clusters("b") })),
          tagOf(other.update("above", { upsert: clusters("c") }))
        ]
        const running = yield* sql.withTransaction(
          Effect.zipRight(
            sql`UPDATE xds_head SET epoch = epoch WHERE id = 1`,
            // Until all are encoded: those who then wait are taken together.
            Effect.zipLeft(
              Effect.forEach(calls, (call) => Effect.zipLeft(Effect.fork(call), Effect.sleep(10))),
              Effect.sleep(300)
            )
          )
        )
        const tags = yield* Effect.forEach(running, Fiber.join)
        expect(tags.filter((tag) => tag === "MixedApis").length).toBeGreaterThan(0)
        yield* follow(one, other)
        yield* follow(other, one)
        for (const store of [one, other]) {
          const apis = new Set(
            (yield* Effect.all([store.get("below"), store.get("above")])).map(
              (found) => Option.getOrThrow(found).own.api
            )
          )
          apis.delete(undefined)
          expect(apis.size).toBe(1)
        }
        const error = yield* failing(
          one
            .set("new", { ...v2("a"), over: "mixed" }, { validate: "off" })
            .pipe(Effect.zipRight(one.set("mixed", clusters("a"))))
        )
        expect(error._tag).toBe("MixedApis")
      })
    )

    live("★ a write that is interrupted, wherever Effect yields: the next one of its group does not wait for it", () =>
      Effect.gen(function* () {
        const open = yield* place
        const store = yield* opened(open)
        yield* store.set("warm", clusters("a"))
        // Effect yields after 2048 steps of a fiber, and looks only there whether it is interrupted.
        for (let steps = 1_990; steps < 2_048; steps++) {
          let left = steps
          const before = Effect.whileLoop({ while: () => left-- > 0, body: () => Effect.void, step: () => undefined })
          const write = Effect.runFork(Effect.zipRight(before, store.set(`g-${steps}`, clusters("a"))))
          write.unsafeInterruptAsFork(write.id())
          yield* Fiber.await(write)
          const next = yield* Effect.timeoutOption(store.set(`g-${steps}`, clusters("b")), "10 seconds")
          if (Option.isNone(next)) throw new Error(`after ${steps} steps the next write is never made`)
        }
      })
    )

    live(
      "★ a row that the database does not take: of the writes that shared its transaction only that one fails, at once",
      () =>
        Effect.gen(function* () {
          const open = yield* place
          const database = yield* open
          const { sql } = database
          const store = yield* opened(open)
          yield* store.set("warm", clusters("a"))
          yield* database.dialect === "sqlite"
            ? sql`CREATE TRIGGER refusing BEFORE INSERT ON xds_change WHEN NEW.author = 'not me'
              BEGIN SELECT RAISE(ABORT, 'not him'); END`
            : sql`ALTER TABLE xds_change ADD CONSTRAINT "not him" CHECK (author <> 'not me')`
          // Somebody holds the head: the first call waits for it, and the next ones are in one transaction after it.
          const [first, ...rest] = yield* sql.withTransaction(
            Effect.gen(function* () {
              yield* sql`UPDATE xds_head SET epoch = epoch WHERE id = 1`
              const calls = [
                yield* Effect.fork(store.set("first", clusters("a"))),
                yield* Effect.fork(store.set("one", clusters("a"))),
                yield* Effect.fork(store.set("bad", clusters("a"), { author: "not me" })),
                yield* Effect.fork(store.set("other", clusters("a")))
              ]
              yield* Effect.sleep(100)
              return calls
            })
          )
          if (first !== undefined) yield* Fiber.join(first)
          const exits = yield* Effect.forEach(rest, (call) => Effect.either(Fiber.join(call)))
          expect(exits.map(Either.isRight)).toEqual([true, false, true])
          expect(exits.flatMap((exit) => (Either.isLeft(exit) ? exit.left.message : [])).join()).toContain("not him")
          expect(store.unsafeGet("bad")).toBeUndefined()
          expect((yield* store.status).trouble).toBeUndefined()
          expect(yield* store.groups).toHaveLength(4)
        })
    )

    live("calls that wait when the store is closed fail", () =>
      Effect.gen(function* () {
        const open = yield* place
        const store = yield* Effect.scoped(opened(open))
        const exit = yield* Effect.exit(store.set("g", clusters("a")))
        expect(Exit.isFailure(exit) && Cause.pretty(exit.cause)).toContain("it was closed; open it again")
      })
    )
  })
}
