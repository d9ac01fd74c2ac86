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
