/** The drivers of SQLite beside each other, without a store: a commit, and reading rows. */
import { SqliteDriver } from "@effect-xds/store-sql"
import { existsSync } from "node:fs"
import { join } from "node:path"

const body = Buffer.alloc(600, 0x61)
const rows = 10_000
const page = 64
const commits = 100
const batches = 7

const median = (numbers: ReadonlyArray<number>): number => numbers.toSorted((a, b) => a - b)[numbers.length >> 1] ?? NaN

const elapsed = (work: () => void): number => {
  const began = performance.now()
  work()
  return performance.now() - began
}

const prepare = (driver: SqliteDriver.SqliteDriver, file: string) => {
  const connection = driver.open(file)
  for (const sql of [
    "PRAGMA journal_mode = WAL",
    "PRAGMA synchronous = FULL",
    "CREATE TABLE t (id INTEGER PRIMARY KEY, body BLOB NOT NULL)",
    "BEGIN"
  ])
    connection.run(sql)
  for (let id = 0; id < rows; id++) connection.all("INSERT INTO t VALUES (?, ?)", [id, body])
  connection.run("COMMIT")
  let next = rows
  return {
    close: () => connection.close(),
    /** Milliseconds of a commit of one row. */
    commit: () =>
      elapsed(() => {
        for (let count = 0; count < commits; count++) {
          connection.run("BEGIN IMMEDIATE")
          connection.all("INSERT INTO t VALUES (?, ?)", [next++, body])
          connection.run("COMMIT")
        }
      }) / commits,
    /** Milliseconds of reading all rows, a page after the other. */
    read: () =>
      elapsed(() => {
        for (let from = 0; from < rows; from += page)
          connection.all(`SELECT * FROM t WHERE id >= ? ORDER BY id LIMIT ${page}`, [from])
      })
  }
}

/** Measures those that are there, by turns; a line for each. */
export const measure = async (folder: string): Promise<ReadonlyArray<string>> => {
  const drivers: Array<SqliteDriver.SqliteDriver> = []
  for (const load of SqliteDriver.all) {
    // Binaries for a newer Node would end this one.
    if (load === SqliteDriver.betterSqlite3 && Number(process.versions.node.split(".")[0]) < 22) continue
    const found = await load().catch(() => undefined)
    if (found !== undefined) drivers.push(found)
  }
  const memory = existsSync("/dev/shm") ? "/dev/shm" : folder
  const open = drivers.map((driver) => {
    const file = `${driver.name.replace(":", "-")}-${process.pid}.db`
    return {
      name: driver.name,
      disk: prepare(driver, join(folder, file)),
      memory: prepare(driver, join(memory, file)),
      figures: { disk: new Array<number>(), memory: new Array<number>(), read: new Array<number>() }
    }
  })
  for (let batch = 0; batch < batches; batch++) {
    for (const { disk, figures, memory: shm } of open) {
      figures.disk.push(disk.commit())
      figures.memory.push(shm.commit())
      figures.read.push(shm.read())
    }
  }
  return open.map(({ disk, figures, memory: shm, name }) => {
    disk.close()
    shm.close()
    const first = open[0]?.figures ?? figures
    const of = (what: "disk" | "memory" | "read"): string => {
      const [own, other] = [median(figures[what]), median(first[what])]
      return `${own.toFixed(3)} ms (${(own / other).toFixed(2)} × ${open[0]?.name ?? ""})`
    }
    return `${name}: a commit on the disk ${of("disk")}, in memory ${of("memory")}; ${rows} rows read ${of("read")}`
  })
}
