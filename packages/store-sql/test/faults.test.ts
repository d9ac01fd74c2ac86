import * as Digest from "@effect-xds/core/resource/Digest"
import * as Resource from "@effect-xds/core/resource/Resource"
import * as ResourceGroup from "@effect-xds/core/resource/ResourceGroup"
import * as Steps from "@effect-xds/core/Steps"
import * as ResourceType from "@effect-xds/proto/ResourceType"
import * as Postgres from "@effect-xds/store-sql/Postgres"
import * as Sqlite from "@effect-xds/store-sql/Sqlite"
import * as SqliteDriver from "@effect-xds/store-sql/SqliteDriver"
import * as SqlStore from "@effect-xds/store-sql/SqlStore"
import * as SqliteFaults from "@effect-xds/testing/store/SqliteFaults"
import * as Waiting from "@effect-xds/testing/Waiting"
import * as EventLoop from "@effect-xds/transport/EventLoop"
import { SqlError } from "@effect/sql/SqlError"
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Logger from "effect/Logger"
import * as LogLevel from "effect/LogLevel"
import * as Redacted from "effect/Redacted"
import * as TestClock from "effect/TestClock"
import { spawn } from "node:child_process"
import { hash } from "node:crypto"
import {
  copyFileSync,
  openSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync,
  writeSync
} from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { ByteWriter } from "../src/internal/ByteWriter.js"
import * as GroupDifference from "../src/internal/GroupDifference.js"
import * as Log from "../src/internal/Log.js"
import { folder } from "./folder.js"
import { clusters, contentOf, failing, follow, live, many, namesOf, opened, tagOf, until } from "./replicas.js"

/** That of `npm run test:nodes`, or else the one that a store takes by itself. */
const named: Readonly<Record<string, () => Promise<SqliteDriver.SqliteDriver | undefined>>> = {
  libsql: SqliteDriver.libsql,
  "better-sqlite3": SqliteDriver.betterSqlite3
}
const driver = Effect.promise(async () => {
  const wanted = process.env["XDS_SQLITE_DRIVERS"]?.split(",").at(-1)
  const found = (await named[wanted ?? ""]?.()) ?? (await SqliteDriver.node()) ?? (await SqliteDriver.libsql())
  if (found === undefined) throw new Error("there is no driver")
  return found
})

/** A store whose statements fail as the test says, and a place to open it without faults. */
const faulty = Effect.gen(function* () {
  const file = join(yield* folder, "store.db")
  const plan: { fault: (sql: string) => SqliteFaults.Fault | undefined } = { fault: () => undefined }
  const own = yield* driver
  const open = Sqlite.make({ file, driver: SqliteFaults.make(own, (sql) => plan.fault(sql)) })
  // By the same driver: two copies of SQLite in one process do not see each other's locks.
  return { file, plan, open, sound: Sqlite.make({ file, driver: own }) }
})

describe("a database that fails in the middle", () => {
  live("★ an error at each statement of a transaction: the change is there as a whole or not at all", () =>
    Effect.gen(function* () {
      const { open, plan, sound } = yield* faulty
      const store = yield* opened(open)
      yield* store.set("g", many(20))
      let acknowledged = 0
      for (const when of ["before", "after"] as const) {
        for (let place = 0; place < 8; place++) {
          let count = 0
          let isIn = false
          plan.fault = (sql) => {
            if (sql.startsWith("BEGIN IMMEDIATE")) isIn = true
            return isIn && count++ === place ? { code: "SQLITE_IOERR", when } : undefined
          }
          yield* store.update("g", { upsert: clusters(`${when}-${place}`), remove: { clusters: [`many-${place}`] } })
          acknowledged++
        }
      }
      plan.fault = () => undefined
      // Each took place once, whether its answer was lost or not.
      const fresh = yield* opened(sound)
      const entries = yield* fresh.history("g")
      expect(entries).toHaveLength(1 + acknowledged)
      expect(yield* contentOf(store)).toEqual(yield* contentOf(fresh))
      expect(namesOf(fresh, "g")).toHaveLength(12 + acknowledged)
    })
  )

  live("a defect in the middle: a write fails with words, and the database is followed again after it", () =>
    Effect.gen(function* () {
      const { open, sound } = yield* faulty
      const database = yield* open
      const bad = { write: true, read: false }
      const store = yield* SqlStore.make(
        {
          ...database,
          notify: Effect.suspend(() => (bad.write ? Effect.die(new Error("a word")) : database.notify)),
          get sql() {
            if (bad.read) throw new Error("another word")
            return database.sql
          }
        },
        { writeTimeout: "100 millis", interval: "20 millis" }
      )
      expect((yield* failing(store.set("g", clusters("a")))).message).toContain("a defect: a word; please report it")
      bad.write = false
      yield* store.set("g", clusters("a"))
      const other = yield* opened(sound)
      bad.read = true
      yield* other.set("h", clusters("b"))
      yield* until(() => Effect.runSync(store.status).trouble?.detail.includes("another word") === true)
      bad.read = false
      yield* until(() => namesOf(store, "h")?.join() === "b")
      expect((yield* store.status).trouble).toBeUndefined()
    })
  )

  it.scoped("★ a database that gives no answer: it is told after 10 s, and followed again when it does", () =>
    Effect.gen(function* () {
      const { open, sound } = yield* faulty
      const database = yield* open
      const asked = new Set<() => void>()
      let isSilent = false
      const answer = Effect.async<never, SqlError>((resume) => {
        asked.add(() => resume(Effect.fail(new SqlError({ cause: new Error("it was cut") }))))
      })
      const sql = new Proxy(database.sql, {
        apply: (target, self, given: ReadonlyArray<unknown>): unknown => {
          const statement: unknown = Reflect.apply(target, self, given)
          if (!String(given[0]).startsWith("SELECT * FROM xds_head") || !Effect.isEffect(statement)) return statement
          return Effect.suspend(() => (isSilent ? answer : statement))
        }
      })
      const hangUp = () => {
        for (const cut of asked) cut()
        asked.clear()
      }
      const store = yield* SqlStore.make({ ...database, sql, hangUp })
      const troubled = Effect.map(store.status, ({ trouble }) => trouble?.detail)
      isSilent = true
      const isAsked = Effect.sync(() => asked.size > 0)
      yield* Waiting.found("a look that is not answered", Effect.zipRight(TestClock.adjust("1 second"), isAsked))
      yield* TestClock.adjust("8 seconds")
      expect(yield* troubled).toBeUndefined()
      yield* TestClock.adjust("2 seconds")
      expect(yield* Waiting.found("it to be told", troubled)).toBe("it was cut")
      const other = yield* SqlStore.make(yield* sound)
      yield* other.set("g", clusters("a"))
      isSilent = false
      const isFollowed = Effect.sync(() => namesOf(store, "g")?.join() === "a")
      yield* Waiting.found("it to be followed", Effect.zipRight(TestClock.adjust("1 second"), isFollowed))
      expect(yield* troubled).toBeUndefined()
    }).pipe(Logger.withMinimumLogLevel(LogLevel.None))
  )

  /** Hides a change before its parts are read, as compaction does; and shows it again. */
  const hiding = Effect.map(faulty, ({ file, open, plan, sound }) => {
    let isHidden = false
    const turn = (own: SqliteDriver.SqliteDriver, revision: number) => {
      const other = own.open(file)
      other.run("BEGIN IMMEDIATE")
      for (const table of ["xds_change", "xds_part"])
        other.all(`UPDATE ${table} SET revision = -revision WHERE ABS(revision) = ?`, [revision])
      other.run("COMMIT")
      other.close()
      isHidden = !isHidden
    }
    return {
      open,
      sound,
      isHidden: () => isHidden,
      hide: (own: SqliteDriver.SqliteDriver, revision: number) => {
        plan.fault = (sql) => {
          if (!isHidden && sql.includes("SELECT body FROM xds_part")) turn(own, revision)
          return undefined
        }
      },
      show: (own: SqliteDriver.SqliteDriver, revision: number) => {
        plan.fault = () => undefined
        turn(own, revision)
      }
    }
  })

  live("a log that is compacted while a group is read: the group as it was", () =>
    Effect.gen(function* () {
      const { hide, isHidden, open } = yield* hiding
      const store = yield* opened(open)
      yield* store.set("g", many(3_000, "x".repeat(100)))
      const { revision } = yield* store.set("g", clusters("a"))
      hide(yield* driver, revision - 1)
      const { own } = yield* store.at("g", revision - 1)
      expect(isHidden()).toBe(true)
      expect(ResourceGroup.all(own)).toHaveLength(3_000)
    })
  )

  live("a log that is compacted while it is followed: no damage, and it is read again", () =>
    Effect.gen(function* () {
      const { hide, open, show, sound } = yield* hiding
      const own = yield* driver
      const told: Array<string> = []
      const logger = Logger.make(({ message }) => void told.push(String(message)))
      const store = yield* Effect.provide(opened(open), Logger.add(logger))
      const other = yield* opened(sound)
      hide(own, 1)
      yield* other.set("g", many(3_000, "x".repeat(100)))
      yield* until(() => Effect.runSync(store.status).trouble !== undefined)
      expect((yield* store.status).trouble?.detail).toBe("changes went while they were read")
      show(own, 1)
      yield* until(() => namesOf(store, "g")?.length === 3_000)
      // Also when it was seen first, between a row and its parts.
      const troubles = told.filter((line) => line.includes("cannot be followed"))
      expect(troubles).toEqual([expect.stringContaining("changes went while they were read")])
    })
  )

  live("a process that stands still before it writes a checkpoint: a group that was forgotten meanwhile stays so", () =>
    Effect.gen(function* () {
      const { file, open, plan, sound } = yield* faulty
      const own = yield* driver
      yield* Effect.scoped(
        Effect.gen(function* () {
          const store = yield* opened(open, { interval: "1 hour" })
          yield* store.set("g", clusters("a"))
          yield* store.set("other", {})
          let writes = 0
          let isOver = false
          plan.fault = (sql) => {
            if (sql.startsWith("BEGIN IMMEDIATE") && ++writes === 2) {
              // Another one clears it, and 10 000 revisions later deletes all of it.
              const other = own.open(file)
              other.run("DELETE FROM xds_change WHERE group_name LIKE '%g%'")
              other.run("DELETE FROM xds_part")
              other.run("UPDATE xds_head SET floor = revision")
              other.close()
            }
            if (/^(COMMIT|ROLLBACK)/.test(sql) && writes === 2) isOver = true
            return undefined
          }
          // Larger than a log may be without a checkpoint.
          yield* store.set("g", many(3_000, "x".repeat(500)))
          yield* until(() => isOver)
        })
      )
      const fresh = yield* opened(sound)
      expect(yield* fresh.groups).toEqual(["other"])
    })
  )

  live("a change just before a process takes the right to write: it is there once the process has that", () =>
    Effect.gen(function* () {
      const { open, plan, sound } = yield* faulty
      const database = yield* sound
      const other = yield* SqlStore.make(database)
      yield* other.set("g", clusters("a"))
      const [last] = yield* Log.after(database, 0)
      if (last === undefined) throw new Error("no change is there")
      const entry: Log.Entry = { ...last, revision: 2, kind: "clear", token: "another" }
      const body = Buffer.alloc(0)
      const { digest } = Steps.toEnd(Log.digestOf(entry, body))
      const row = { ...entry, digest, chain: Log.chainOf(last.chain, digest) }
      let isWritten = false
      plan.fault = (sql) => {
        if (sql.startsWith("BEGIN IMMEDIATE") && !isWritten) {
          isWritten = true
          Effect.runSync(database.sql.withTransaction(Log.append(database, EventLoop.process, [{ row, body }])))
        }
        return undefined
      }
      const leader = yield* opened(open, { writers: "exclusive" })
      expect(isWritten).toBe(true)
      expect(leader.unsafeGet("g")).toBeUndefined()
    })
  )

  live("a file that is busy when a process with the right to write ends: the right is given back all the same", () =>
    Effect.gen(function* () {
      const { open, plan, sound } = yield* faulty
      let attempts = 0
      yield* Effect.scoped(
        Effect.gen(function* () {
          const leader = yield* opened(open, { writers: "exclusive" })
          yield* leader.set("g", clusters("a"))
          plan.fault = (sql) =>
            sql.startsWith("BEGIN IMMEDIATE") && attempts++ < 3 ? { code: "SQLITE_BUSY", when: "before" } : undefined
        })
      )
      expect(attempts).toBe(4)
      const other = yield* opened(sound)
      expect(yield* tagOf(other.set("g", clusters("b")))).toBe("none")
    })
  )

  live("★ a right to write that is not given back is in the log, and the errors of others say how to take it", () =>
    Effect.gen(function* () {
      const { open, plan, sound } = yield* faulty
      const lines: Array<string> = []
      yield* Effect.scoped(
        Effect.gen(function* () {
          const leader = yield* opened(open, { writers: "exclusive" })
          yield* leader.set("g", clusters("a"))
          plan.fault = (sql) =>
            sql.startsWith("BEGIN IMMEDIATE") ? { code: "SQLITE_CORRUPT", when: "before" } : undefined
        })
      ).pipe(Effect.provide(Logger.add(Logger.make(({ message }) => void lines.push(String(message))))))
      expect(lines.filter((line) => line.includes("was not given back"))).toHaveLength(1)
      const other = yield* opened(sound)
      const { message } = yield* failing(other.set("g", clusters("b")))
      expect(message).toContain('if it is gone, open the store once with writers: "exclusive"')
      yield* Effect.scoped(opened(sound, { writers: "exclusive" }))
      const after = yield* opened(sound)
      expect(yield* tagOf(after.set("g", clusters("b")))).toBe("none")
    })
  )

  live("a full disk: the write fails with words after its time, serving goes on, and the next write is fine", () =>
    Effect.gen(function* () {
      const { open, plan } = yield* faulty
      const store = yield* opened(open, { writeTimeout: "100 millis" })
      yield* store.set("g", clusters("a"))
      plan.fault = (sql) => (sql.startsWith("INSERT") ? { code: "SQLITE_FULL", when: "before" } : undefined)
      const error = yield* failing(store.update("g", { upsert: clusters("b") }))
      expect(error.message).toContain("SQLITE_FULL on purpose; make room on the disk")
      expect(namesOf(store, "g")).toEqual(["a"])
      const { trouble } = yield* store.status
      expect(trouble?.detail).toContain("SQLITE_FULL")
      plan.fault = () => undefined
      yield* store.update("g", { upsert: clusters("c") })
      expect(namesOf(store, "g")).toEqual(["a", "c"])
      expect((yield* store.status).trouble).toBeUndefined()
    })
  )

  live("a full disk that can be read is told once, however often it is looked at while writes are tried again", () => {
    const lines: Array<string> = []
    const told = (words: string) => lines.filter((line) => line.includes(words)).length
    return Effect.gen(function* () {
      const { open, plan } = yield* faulty
      const store = yield* opened(open, { writeTimeout: "1 second", interval: "1 millis" })
      yield* store.set("g", clusters("a"))
      let looks = 0
      let inserts = 0
      plan.fault = (sql) => {
        if (sql.includes("xds_head")) looks++
        if (!sql.startsWith("INSERT")) return undefined
        inserts++
        return { code: "SQLITE_FULL", when: "before" }
      }
      yield* failing(store.update("g", { upsert: clusters("b") }))
      // It was looked at between the attempts.
      expect(inserts).toBeGreaterThan(2)
      expect(looks).toBeGreaterThan(2 * inserts)
      expect([told("cannot be followed"), told("followed again")]).toEqual([1, 0])
      plan.fault = () => undefined
      yield* store.update("g", { upsert: clusters("c") })
      expect([told("cannot be followed"), told("followed again")]).toEqual([1, 1])
    }).pipe(Effect.provide(Logger.add(Logger.make(({ message }) => void lines.push(String(message))))))
  })

  live("a disk that is full at COMMIT, and can be read: the error says that nothing was changed, and no more", () =>
    Effect.gen(function* () {
      const { open, plan } = yield* faulty
      const store = yield* opened(open, { writeTimeout: "100 millis" })
      yield* store.set("g", clusters("a"))
      let isFull = false
      plan.fault = (sql) => {
        // What had nothing to write can be committed.
        if (sql.startsWith("INSERT")) isFull = true
        if (!sql.startsWith("COMMIT") || !isFull) return undefined
        isFull = false
        return { code: "SQLITE_FULL", when: "before" }
      }
      const error = yield* failing(store.update("g", { upsert: clusters("b") }))
      expect(error.message).toMatch(/^group "g" was not changed: .*make room on the disk$/)
    })
  )

  live("an answer that was lost at the last attempt is asked for", () =>
    Effect.gen(function* () {
      const { open, plan } = yield* faulty
      const store = yield* opened(open)
      yield* store.set("g", clusters("a"))
      let isWritten = false
      plan.fault = (sql) => {
        if (sql.startsWith("INSERT")) isWritten = true
        if (!sql.startsWith("COMMIT") || !isWritten) return undefined
        isWritten = false
        // A trouble after which it is not tried again.
        return { code: "SQLITE_CORRUPT", when: "after" }
      }
      yield* store.update("g", { upsert: clusters("b") })
      expect(namesOf(store, "g")).toEqual(["a", "b"])
    })
  )

  live("an answer that was lost and no way to ask: the error says that it is not known", () =>
    Effect.gen(function* () {
      const { open, plan, sound } = yield* faulty
      const store = yield* opened(open, { writeTimeout: "100 millis" })
      yield* store.set("g", clusters("a"))
      let isLost = false
      plan.fault = (sql) => {
        if (isLost) return { code: "SQLITE_IOERR", when: "before" }
        if (!sql.startsWith("COMMIT")) return undefined
        isLost = true
        return { code: "SQLITE_IOERR", when: "after" }
      }
      const error = yield* failing(store.update("g", { upsert: clusters("b") }))
      expect(error.message).toMatch(/^group "g" may have been changed or not: /)
      expect(error.message).toContain("(its answer was lost: see the group's history whether the change is there)")
      plan.fault = () => undefined
      yield* until(() => namesOf(store, "g")?.length === 2, "what was written to be applied", store)
      expect(namesOf(yield* opened(sound), "g")).toEqual(["a", "b"])
    })
  )

  live("another process that holds the file: a write waits, and nobody else", () =>
    Effect.gen(function* () {
      const { open, sound } = yield* faulty
      const store = yield* opened(open, { writeTimeout: "200 millis" })
      yield* store.set("g", clusters("a"))
      const { sql } = yield* sound
      const error = yield* sql.withTransaction(
        Effect.zipRight(
          sql`UPDATE xds_head SET epoch = epoch WHERE id = 1`,
          failing(store.update("g", { upsert: clusters("b") }))
        )
      )
      expect(error._tag).toBe("StoreUnavailable")
      expect(error.message).toContain("database is locked")
      yield* store.update("g", { upsert: clusters("c") })
      expect(namesOf(store, "g")).toEqual(["a", "c"])
    })
  )
})

describe("a body of many parts", () => {
  live("★ others have turns of the event loop between its parts, when it is written and when it is read", () =>
    Effect.gen(function* () {
      const { open, plan, sound } = yield* faulty
      let turn = 0
      let tick: NodeJS.Immediate | undefined
      const ticking = (): void => {
        turn++
        tick = setImmediate(ticking)
      }
      yield* Effect.addFinalizer(() => Effect.sync(() => clearImmediate(tick)))
      ticking()
      const turns = { write: new Array<number>(), read: new Array<number>() }
      plan.fault = (sql) => {
        if (sql.startsWith("INSERT INTO xds_part")) turns.write.push(turn)
        if (sql.startsWith("SELECT body FROM xds_part")) turns.read.push(turn)
        return undefined
      }
      const other = yield* opened(open, { interval: "1 hour" })
      const store = yield* opened(sound)
      yield* other.set("g", many(4_000, "x".repeat(1_000)))
      yield* store.set("g", many(4_000, "y".repeat(1_000)))
      yield* other.set("h", {})
      expect(turns.write.length).toBeGreaterThan(25)
      expect(turns.read.length).toBeGreaterThan(3)
      for (const each of [turns.write, turns.read]) expect(new Set(each).size).toBe(each.length)
    })
  )

  live("what is computed of all of it is computed in steps", () =>
    Effect.sync(() => {
      const body = Buffer.alloc(40 * 131_072 + 1)
      const to = new ByteWriter()
      for (let count = 0; count < 40; count++) to.bytes(body.subarray(0, 131_072))
      for (const work of [Log.checkpointDigest(1, "g", body), to.finish()])
        expect(Array.from(work).length).toBeGreaterThanOrEqual(40)
      const hasher = new Digest.Hasher((bytes) => hash("sha256", bytes))
      const { typeUrl } = ResourceType.Cluster
      const upsert = Array.from({ length: 40 }, (_, at) =>
        Either.getOrThrow(Resource.make({ typeUrl, name: `${at}`, value: body.subarray(0, 131_072) }, hasher))
      )
      const difference = { over: undefined, types: [{ typeUrl, digest: "", version: "", upsert, remove: [] }] }
      const encoded = Either.getOrThrow(Steps.toEnd(GroupDifference.encode(difference)))
      // Each is a step when it is written, and two when all are put together: its bytes, and what is before them.
      expect(Array.from(GroupDifference.encode(difference)).length).toBeGreaterThanOrEqual(120)
      expect(Array.from(GroupDifference.decode(encoded)).length).toBeGreaterThanOrEqual(40)
    })
  )
})

describe("files that are no store", () => {
  live("a file that is no database is not touched", () =>
    Effect.gen(function* () {
      const file = join(yield* folder, "store.db")
      const text = "resources:\n".repeat(1_000)
      writeFileSync(file, text)
      const error = yield* failing(opened(Sqlite.make({ file })))
      expect([error.reason, error.detail]).toEqual([
        "Damaged",
        "file is not a database; restore the file from a backup, or move it away"
      ])
      expect(readFileSync(file, "utf8")).toBe(text)
    })
  )

  live("★ a file that is damaged in the middle is not opened, and not overwritten", () =>
    Effect.gen(function* () {
      const file = join(yield* folder, "store.db")
      yield* Effect.scoped(
        Effect.gen(function* () {
          const database = yield* Sqlite.make({ file })
          const store = yield* SqlStore.make(database)
          yield* store.set("g", many(2_000, "x".repeat(200)))
          yield* database.sql`PRAGMA wal_checkpoint(TRUNCATE)`
        })
      )
      const { size } = statSync(file)
      const at = openSync(file, "r+")
      for (let place = 8_192; place < size; place += 8_192) writeSync(at, Buffer.alloc(512, 0x5a), 0, 512, place)
      const before = readFileSync(file)
      const error = yield* failing(opened(Sqlite.make({ file })))
      expect(error.reason).toBe("Damaged")
      expect(error.message).toMatch(/restore the (file|database) from a backup/)
      expect(readFileSync(file).equals(before)).toBe(true)
    })
  )

  live(
    "a file that is moved away or replaced while it is open: nothing is written that the next process would not have",
    () =>
      Effect.gen(function* () {
        const file = join(yield* folder, "store.db")
        const store = yield* opened(Sqlite.make({ file }), { interval: "20 millis" })
        yield* store.set("g", clusters("a"))
        renameSync(file, `${file}.old`)
        const error = yield* failing(store.set("g", clusters("b")))
        expect(error.message).toContain(
          "its file was moved away or deleted: put it back; this process serves what it has"
        )
        yield* until(() => Effect.runSync(store.status).trouble !== undefined, "it to be told", store)
        renameSync(`${file}.old`, file)
        yield* store.set("g", clusters("c"))
        copyFileSync(file, `${file}.new`)
        renameSync(`${file}.new`, file)
        yield* until(() => Effect.runSync(store.status).trouble !== undefined, "it to be told", store)
        const next = yield* failing(store.set("g", clusters("d")))
        expect(next.message).toContain(
          "another file was put into the place of the one that was opened; this process serves"
        )
        expect(namesOf(store, "g")).toEqual(["c"])
      })
  )

  live("a folder that is not there", () =>
    Effect.gen(function* () {
      const place = yield* folder
      const said = (file: string) =>
        Effect.gen(function* () {
          const error = yield* failing(opened(Sqlite.make({ file, driver: yield* driver })))
          expect(error.reason).toBe("Unreachable")
          const start = `the store sqlite:${file} cannot be opened: `
          expect(error.message.slice(0, start.length)).toBe(start)
          return error.message.slice(start.length)
        })
      expect(yield* said(join(place, "no", "such", "store.db"))).toBe(
        `there is no folder ${join(place, "no", "such")}; make it`
      )
      expect(yield* said(place)).toBe("it is a folder; name a file in it")
      writeFileSync(join(place, "file"), "")
      expect(yield* said(join(place, "file", "store.db"))).toBe(
        `${join(place, "file")} is no folder; name a file in one`
      )
    })
  )

  live("a file that cannot be opened, whatever the driver says of it", () =>
    Effect.gen(function* () {
      const file = join(yield* folder, "store.db")
      symlinkSync("store.db", file)
      const error = yield* failing(opened(Sqlite.make({ file, driver: yield* driver })))
      expect(error.message).toContain("; see that the folder exists, and that this process may write it")
    })
  )
})

describe("numbers that are no limits", () => {
  live("are refused, with words", () =>
    Effect.gen(function* () {
      const database = yield* Sqlite.make({ file: join(yield* folder, "store.db"), driver: yield* driver })
      const said = (options: SqlStore.Options) =>
        Effect.map(failing(SqlStore.make(database, options)), ({ message, reason }) => {
          expect(reason).toBe("BadOption")
          return message.slice(message.indexOf("opened: ") + "opened: ".length)
        })
      // Without a pause the database would be asked all the time.
      for (const interval of [0, -1, NaN, "0 seconds", "900 micros"] as const) {
        expect(yield* said({ interval })).toBe("interval must be 1 ms or more: the database is looked at as often")
      }
      expect(yield* said({ maxWaiting: NaN })).toBe("maxWaiting must be 1 or more, not NaN")
      expect(yield* said({ maxWaiting: 0 })).toBe("maxWaiting must be 1 or more, not 0")
      expect(yield* said({ openTimeout: NaN })).toBe("openTimeout must be 0 or more, not NaN")
      expect(yield* said({ writeTimeout: "-1 seconds" })).toBe('writeTimeout must be 0 or more, not "-1 seconds"')
      expect(yield* said({ validate: { maxIndexed: NaN } })).toBe("maxIndexed must be 0 or more, not NaN")
      expect(yield* said({ history: -1 })).toBe("history must be 0 or more, not -1")
      expect(yield* said({ maxGroups: NaN })).toBe("maxGroups must be 0 or more, not NaN")
      expect(yield* said({ maxResourcesPerGroup: -5 })).toBe("maxResourcesPerGroup must be 0 or more, not -5")
      const url = Redacted.make("postgres://a:secret@127.0.0.1:1/d")
      const error = yield* failing(Postgres.make({ url, maxConnections: NaN }))
      expect(error.message).toBe(
        "the store postgres://127.0.0.1:1/d cannot be opened: maxConnections must be 1 or more, not NaN"
      )
    })
  )

  live("are none that say that there is no limit", () =>
    Effect.gen(function* () {
      const database = yield* Sqlite.make({ file: join(yield* folder, "store.db"), driver: yield* driver })
      const options = { maxWaiting: Infinity, history: Infinity, maxGroups: Infinity, maxResourcesPerGroup: Infinity }
      const store = yield* SqlStore.make(database, { ...options, interval: Infinity, writeTimeout: Infinity })
      yield* store.set("g", clusters("a"))
      expect(namesOf(store, "g")).toEqual(["a"])
    })
  )
})

describe("a writer that is killed", () => {
  live("★ kill -9 at any moment: what was acknowledged is there, nothing is torn, and the next one goes on", () =>
    Effect.gen(function* () {
      const file = join(yield* folder, "store.db")
      const reader = yield* opened(Sqlite.make({ file }))
      yield* reader.set("g", {})
      const acknowledged = new Set<string>()
      for (let round = 0; round < 3; round++) {
        yield* Effect.async<void>((resume) => {
          const program = fileURLToPath(new URL("writer.mjs", import.meta.url))
          const child = spawn(process.execPath, [program, `sqlite:${file}`, `w${round}`], {
            stdio: ["ignore", "pipe", "inherit"]
          })
          let rest = ""
          let said = 0
          child.stdout.on("data", (chunk: Buffer) => {
            const lines = `${rest}${chunk.toString()}`.split("\n")
            rest = lines.pop() ?? ""
            for (const line of lines) if (line !== "open") acknowledged.add(line)
            said += lines.length
            if (said > 5 + 7 * round) child.kill("SIGKILL")
          })
          child.on("exit", () => resume(Effect.void))
        })
      }
      expect(acknowledged.size).toBeGreaterThan(30)
      const fresh = yield* opened(Sqlite.make({ file }))
      yield* follow(fresh, reader)
      expect(yield* contentOf(reader)).toEqual(yield* contentOf(fresh))
      const names = new Set(namesOf(fresh, "g"))
      expect([...acknowledged].filter((name) => !names.has(name))).toEqual([])
      for (const name of names)
        expect(names.has(name.replace(/x$/, "y")) && names.has(name.replace(/y$/, "x"))).toBe(true)
      expect(yield* tagOf(fresh.update("g", { upsert: clusters("next") }))).toBe("none")
    })
  )
})
