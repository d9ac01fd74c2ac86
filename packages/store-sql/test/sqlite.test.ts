import * as Sqlite from "@effect-xds/store-sql/Sqlite"
import * as SqliteDriver from "@effect-xds/store-sql/SqliteDriver"
import * as SqlStore from "@effect-xds/store-sql/SqlStore"
import { describeStore } from "@effect-xds/testing/vitest"
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { join } from "node:path"
import { folder } from "./folder.js"
import { describeReplicas } from "./replicas.js"

const named = {
  "node:sqlite": SqliteDriver.node,
  libsql: SqliteDriver.libsql,
  "better-sqlite3": SqliteDriver.betterSqlite3
}

/** What `npm run test:nodes` says is there, so that a driver that does not load is no silence. */
const wanted = process.env["XDS_SQLITE_DRIVERS"]?.split(",")

const drivers = await Promise.all(
  Object.entries(named)
    // Binaries of one version of Node may end the process of another: without a word nobody has better-sqlite3.
    .filter(([name]) => wanted?.includes(name) ?? name !== "better-sqlite3")
    .map(async ([name, load]) => [name, await load()] as const)
)

describe("drivers of SQLite", () => {
  it("are those that should be there, and Node's own comes first", () => {
    const found = drivers.flatMap(([, driver]) => driver?.name ?? [])
    const [major = 0, minor = 0] = process.versions.node.split(".").map(Number)
    const hasOwn = major > 22 || (major === 22 && minor >= 13)
    expect(found).toEqual(wanted ?? (hasOwn ? ["node:sqlite", "libsql"] : ["libsql"]))
    expect(SqliteDriver.all).toEqual(Object.values(named))
  })

  it.each(drivers)("%s runs statements with rows and without, and takes bytes", (_, driver) => {
    if (driver === undefined) return
    const connection = driver.open(":memory:")
    expect(connection.all("CREATE TABLE t (id BIGINT, body BLOB)", [])).toEqual([])
    expect(connection.all("BEGIN IMMEDIATE", [])).toEqual([])
    expect(connection.all("INSERT INTO t VALUES (?, ?)", [2 ** 52, Buffer.from([0, 255])])).toEqual([])
    // Alone, too: libsql takes one that is no array for all parameters, and ends the process.
    expect(connection.all("INSERT INTO t (body) VALUES (?)", [Buffer.alloc(3)])).toEqual([])
    expect(connection.all("COMMIT", [])).toEqual([])
    // No bytes are not NULL, wherever they are in memory.
    const empty = Buffer.alloc(0)
    expect(empty.buffer.byteLength).toBe(0)
    connection.all("CREATE TABLE e (body BLOB NOT NULL)", [])
    for (const none of [empty, empty.subarray(0, 9), Buffer.alloc(4).subarray(0, 0)])
      expect(connection.all("INSERT INTO e VALUES (?)", [none])).toEqual([])
    const rows: ReadonlyArray<Readonly<Record<string, unknown>>> = connection
      .all("SELECT id, body FROM t ORDER BY id DESC", [])
      .map((row) => ({ ...row }))
    expect(rows.map(({ id }) => id)).toEqual([2 ** 52, null])
    expect(
      rows.map(({ body }) =>
        body instanceof ArrayBuffer || body instanceof Uint8Array ? [...new Uint8Array(body)] : body
      )
    ).toEqual([
      [0, 255],
      [0, 0, 0]
    ])
    expect(() => connection.all("SELECT missing", [])).toThrow(/no such column/)
    connection.close()
  })

  /** Two connections to a new file, each of which sees what the other one writes. */
  const pairOf = (driver: SqliteDriver.SqliteDriver, file: string, mode: "WAL" | "DELETE") => {
    const [one, other] = [driver.open(file), driver.open(file)]
    for (const each of [one, other]) {
      each.run("PRAGMA busy_timeout = 0")
      each.run(`PRAGMA journal_mode = ${mode}`)
    }
    one.run("CREATE TABLE t (id INTEGER)")
    let count = 0
    const seen = () => Number(Object.values(other.all("SELECT count(*) FROM t", [])[0] ?? {})[0])
    const expectWrites = () => {
      for (const connection of [one, other, one]) {
        connection.run("BEGIN IMMEDIATE")
        connection.all("INSERT INTO t VALUES (?)", [count++])
        connection.run("COMMIT")
        expect(seen()).toBe(count)
      }
      one.close()
      other.close()
    }
    return { one, other, seen, expectWrites }
  }

  const inFolder = (work: (path: string) => void) => Effect.runPromise(Effect.scoped(Effect.map(folder, work)))

  it.each(drivers)("%s: a transaction that could not begin leaves nothing behind", (_, driver) =>
    inFolder((path) => {
      if (driver === undefined) return
      const { expectWrites, one, other } = pairOf(driver, join(path, "a.db"), "WAL")
      one.run("BEGIN IMMEDIATE")
      expect(() => other.run("BEGIN IMMEDIATE")).toThrow(/locked/)
      one.run("COMMIT")
      expectWrites()
    })
  )

  it.each(drivers)("%s: reads that were held up leave nothing behind", (_, driver) =>
    inFolder((path) => {
      if (driver === undefined) return
      const { expectWrites, one, other, seen } = pairOf(driver, join(path, "b.db"), "DELETE")
      const last = () => other.all("SELECT max(id) FROM t WHERE id > ?", [0])
      expect(last()).toHaveLength(1)
      // The file is another one's alone, as while it is opened or mended.
      one.run("BEGIN EXCLUSIVE")
      for (const read of [last, last, seen]) expect(read).toThrow(/locked/)
      one.run("COMMIT")
      expectWrites()
    })
  )
})

for (const [name, driver] of drivers) {
  if (driver === undefined) {
    it.skip(`a store in SQLite by ${name} (skipped: Node ${process.versions.node} does not have it)`, () => undefined)
    continue
  }
  const place = Effect.map(folder, (path) => Sqlite.make({ file: join(path, "store.db"), driver }))

  describeStore(
    `a store in SQLite by ${name}`,
    Effect.flatMap(Effect.flatten(place), (each) => SqlStore.make(each))
  )

  describeReplicas(`replicas on SQLite by ${name}`, place)
}
