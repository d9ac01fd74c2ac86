/**
 * The tables of a store.
 *
 * - `xds_head`: one row with the revision of the last change. Every change locks it, so revisions have the order of commits.
 * - `xds_change`: the log, one row per change
 * - `xds_checkpoint`: whole groups, so that a replica need not read the log from its beginning
 * - `xds_part`: the rest of what is too large for one row: kind 0 of a change, kind 1 of a checkpoint
 */
import type { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"
import { randomUUID } from "node:crypto"
import type { Database } from "../Database.js"
import * as Transaction from "./Transaction.js"
import * as Trouble from "./Trouble.js"

/** The version of the tables that this version of the package reads and writes. */
const version = 1

const tables = (bytes: "BLOB" | "BYTEA"): ReadonlyArray<string> => [
  `CREATE TABLE IF NOT EXISTS xds_head (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    schema_version INTEGER NOT NULL,
    store TEXT NOT NULL,
    revision BIGINT NOT NULL,
    chain TEXT NOT NULL,
    floor BIGINT NOT NULL,
    epoch BIGINT NOT NULL,
    writer TEXT
  )`,
  `CREATE TABLE IF NOT EXISTS xds_change (
    revision BIGINT PRIMARY KEY,
    group_name TEXT NOT NULL,
    kind INTEGER NOT NULL,
    at BIGINT NOT NULL,
    epoch BIGINT NOT NULL,
    author TEXT NOT NULL,
    note TEXT NOT NULL,
    token TEXT NOT NULL,
    upserts INTEGER NOT NULL,
    removals INTEGER NOT NULL,
    size BIGINT NOT NULL,
    parts INTEGER NOT NULL,
    body ${bytes} NOT NULL,
    digest TEXT NOT NULL,
    chain TEXT NOT NULL
  )`,
  `CREATE INDEX IF NOT EXISTS xds_change_group ON xds_change (group_name, revision)`,
  `CREATE TABLE IF NOT EXISTS xds_checkpoint (
    revision BIGINT PRIMARY KEY,
    group_name TEXT NOT NULL,
    size BIGINT NOT NULL,
    parts INTEGER NOT NULL,
    body ${bytes} NOT NULL,
    digest TEXT NOT NULL
  )`,
  `CREATE INDEX IF NOT EXISTS xds_checkpoint_group ON xds_checkpoint (group_name, revision)`,
  `CREATE TABLE IF NOT EXISTS xds_part (
    kind INTEGER NOT NULL,
    revision BIGINT NOT NULL,
    part INTEGER NOT NULL,
    body ${bytes} NOT NULL,
    PRIMARY KEY (kind, revision, part)
  )`
]

/** To compress a body takes PostgreSQL as long as to write it, and readers wait for that. */
const storage: ReadonlyArray<string> = ["xds_change", "xds_checkpoint", "xds_part"].map(
  (table) => `ALTER TABLE ${table} ALTER COLUMN body SET STORAGE EXTERNAL`
)

const exists = ({ dialect, sql }: Database): Effect.Effect<boolean, SqlError> =>
  Effect.map(
    dialect === "sqlite"
      ? sql`SELECT name FROM sqlite_master WHERE type = 'table' AND name = 'xds_head'`
      : sql`SELECT 1 WHERE to_regclass('xds_head') IS NOT NULL`,
    (rows) => rows.length > 0
  )

const check = ({ sql }: Database): Effect.Effect<boolean, SqlError | Trouble.Trouble> =>
  Effect.flatMap(sql<{ schema_version: unknown }>`SELECT schema_version FROM xds_head WHERE id = 1`, ([row]) => {
    if (row === undefined) return Effect.succeed(false)
    const found = Number(row.schema_version)
    return found === version
      ? Effect.succeed(true)
      : Effect.fail(
          new Trouble.Trouble({
            kind: "Later",
            detail: `its tables are of version ${found}, and this program knows version ${version}; run the program's newer release`
          })
        )
  })

/** Creates the tables if they are not there. Processes that open a new database at once wait for each other. */
export const prepare = (database: Database): Effect.Effect<void, SqlError | Trouble.Trouble> => {
  const { dialect, sql } = database
  const isReady = Effect.flatMap(exists(database), (there) => (there ? check(database) : Effect.succeed(false)))
  const create = Effect.gen(function* () {
    if (dialect === "postgres") yield* sql`SELECT pg_advisory_xact_lock(7090871042)`
    if (yield* isReady) return
    const made = dialect === "sqlite" ? tables("BLOB") : [...tables("BYTEA"), ...storage]
    for (const statement of made) yield* sql.unsafe(statement)
    yield* sql`INSERT INTO xds_head (id, schema_version, store, revision, chain, floor, epoch, writer)
      VALUES (1, ${version}, ${randomUUID()}, 0, '', 0, 1, NULL)`
  })
  return Effect.flatMap(isReady, (ready) => (ready ? Effect.void : Transaction.run(database, "write", create)))
}
