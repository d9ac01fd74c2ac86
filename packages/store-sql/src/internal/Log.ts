/** The rows of the log: reading, writing, and their digests. */
import type * as Steps from "@effect-xds/core/Steps"
import { joining } from "@effect-xds/core/wire/Wire"
import type * as EventLoop from "@effect-xds/transport/EventLoop"
import * as Slices from "@effect-xds/transport/Slices"
import type { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"
import { Buffer } from "node:buffer"
import { createHash, hash } from "node:crypto"
import type { Database } from "../Database.js"
import { Trouble } from "./Trouble.js"

/** The row that every change locks. */
export interface Head {
  /** Tells databases apart: drawn when the tables were made. */
  readonly store: string
  /** Of the last change; 0: there was none. */
  readonly revision: number
  /** The digest of all changes up to it. */
  readonly chain: string
  /** The log is whole after this revision. */
  readonly floor: number
  /** Grows when a process takes the right to write from all others. */
  readonly epoch: number
  /** The only process that may write; `undefined`: all may. */
  readonly writer: string | undefined
}

type Kind = "put" | "clear"

/** A change, without its body. */
export interface Entry {
  readonly revision: number
  readonly group: string
  readonly kind: Kind
  /** Unix time in milliseconds, by the clock of its writer. */
  readonly at: number
  readonly epoch: number
  readonly author: string
  readonly note: string
  /** Tells a writer whether a transaction took place whose answer was lost. */
  readonly token: string
  readonly upserts: number
  readonly removals: number
}

/** A change as it is in the log. */
export interface Row extends Entry {
  /** Bytes of the whole body. */
  readonly size: number
  /** Rows of `xds_part` that hold what is after the first part. */
  readonly parts: number
  /** The first part. */
  readonly body: Buffer
  readonly digest: string
  readonly chain: string
}

/** The most bytes of a body in one row: a larger one would take the event loop for too long. */
const partSize = 131_072

/** The most rows that are read at once. */
const pageSize = 64

/** What a column is called by the database is a name here; JSON, since a name may hold what a text of SQL may not. */
const groupColumn = (group: string): string => JSON.stringify(group)

const groupOf = (column: unknown): string => {
  try {
    const name: unknown = JSON.parse(String(column))
    return typeof name === "string" ? name : String(column)
  } catch {
    return String(column)
  }
}

const bufferOf = (value: unknown): Buffer => {
  if (value instanceof ArrayBuffer) return Buffer.from(value)
  if (value instanceof Uint8Array) return Buffer.from(value.buffer, value.byteOffset, value.byteLength)
  return Buffer.alloc(0)
}

type Columns = Readonly<Record<string, unknown>>

const rowOf = (columns: Columns): Row => ({
  revision: Number(columns["revision"]),
  group: groupOf(columns["group_name"]),
  kind: Number(columns["kind"]) === 0 ? "put" : "clear",
  at: Number(columns["at"]),
  epoch: Number(columns["epoch"]),
  author: String(columns["author"]),
  note: String(columns["note"]),
  token: String(columns["token"]),
  upserts: Number(columns["upserts"]),
  removals: Number(columns["removals"]),
  size: Number(columns["size"]),
  parts: Number(columns["parts"]),
  body: bufferOf(columns["body"]),
  digest: String(columns["digest"]),
  chain: String(columns["chain"])
})

const digesting = function* (
  about: ReadonlyArray<unknown>,
  body: Uint8Array
): Steps.Steps<{ readonly digest: string }> {
  const sum = createHash("sha256").update(JSON.stringify(about))
  for (let from = 0; from < body.length; from += partSize) {
    if (from > 0) yield
    sum.update(body.subarray(from, from + partSize))
  }
  return { digest: sum.digest("hex") }
}

/** The digest of a change. */
export const digestOf = (entry: Entry, body: Uint8Array): Steps.Steps<{ readonly digest: string }> => {
  const { at, author, epoch, group, kind, note, revision, token } = entry
  return digesting([revision, group, kind, at, epoch, author, note, token], body)
}

/** The digest of all changes up to one. */
export const chainOf = (before: string, digest: string): string => hash("sha256", before + digest)

/** Reads the head. `lock`: in a transaction that writes. */
export const head = ({ dialect, sql }: Database, lock: boolean): Effect.Effect<Head, SqlError | Trouble> =>
  Effect.flatMap(
    // SQLite locks the database when the transaction begins.
    lock && dialect === "postgres"
      ? sql<Columns>`SELECT * FROM xds_head WHERE id = 1 FOR UPDATE`
      : sql<Columns>`SELECT * FROM xds_head WHERE id = 1`,
    ([row]) =>
      row === undefined
        ? Effect.fail(
            new Trouble({ kind: "Damaged", detail: "xds_head has no row; restore the database from a backup" })
          )
        : Effect.succeed({
            store: String(row["store"]),
            revision: Number(row["revision"]),
            chain: String(row["chain"]),
            floor: Number(row["floor"]),
            epoch: Number(row["epoch"]),
            writer: typeof row["writer"] === "string" ? row["writer"] : undefined
          })
  )

/** The next changes after a revision, a page of them. */
export const after = ({ sql }: Database, revision: number): Effect.Effect<ReadonlyArray<Row>, SqlError> =>
  Effect.map(
    sql<Columns>`SELECT * FROM xds_change WHERE revision > ${revision} ORDER BY revision LIMIT ${pageSize}`,
    (rows) => rows.map(rowOf)
  )

/** The next changes of one group, after one revision and up to another. */
export const ofGroup = (
  { sql }: Database,
  group: string,
  from: number,
  to: number
): Effect.Effect<ReadonlyArray<Row>, SqlError> =>
  Effect.map(
    sql<Columns>`SELECT * FROM xds_change WHERE group_name = ${groupColumn(group)} AND revision > ${from}
      AND revision <= ${to} ORDER BY revision LIMIT ${pageSize}`,
    (rows) => rows.map(rowOf)
  )

/** The next changes that no checkpoint of their group holds. */
export const afterCheckpoints = ({ sql }: Database, revision: number): Effect.Effect<ReadonlyArray<Row>, SqlError> =>
  Effect.map(
    sql<Columns>`SELECT * FROM xds_change WHERE revision > ${revision} AND revision > COALESCE(
      (SELECT MAX(k.revision) FROM xds_checkpoint k WHERE k.group_name = xds_change.group_name), 0)
      ORDER BY revision LIMIT ${pageSize}`,
    (rows) => rows.map(rowOf)
  )

const entryColumns = "revision, group_name, kind, at, epoch, author, note, token, upserts, removals"

/** The latest changes of a group before a revision, the latest first; without their bodies. */
export const history = (
  { sql }: Database,
  group: string,
  before: number,
  limit: number
): Effect.Effect<ReadonlyArray<Entry>, SqlError> =>
  Effect.map(
    sql<Columns>`SELECT ${sql.literal(entryColumns)} FROM xds_change WHERE group_name = ${groupColumn(group)}
      AND revision < ${before} ORDER BY revision DESC LIMIT ${limit}`,
    (rows) => rows.map(rowOf)
  )

/** The revisions of these tokens, for those whose transaction took place. */
export const ofTokens = (
  { sql }: Database,
  tokens: ReadonlyArray<string>
): Effect.Effect<ReadonlyMap<string, number>, SqlError> =>
  tokens.length === 0
    ? Effect.succeed(new Map())
    : Effect.map(
        sql<Columns>`SELECT token, revision FROM xds_change WHERE ${sql.in("token", tokens)}`,
        (rows) => new Map(rows.map((row) => [String(row["token"]), Number(row["revision"])]))
      )

/** The kinds of bodies. */
export type Owner = "change" | "checkpoint"

/** The words of a trouble that passes: the next look reads what is there. */
export const gone = "changes went while they were read"

const kindOf: Readonly<Record<Owner, number>> = { change: 0, checkpoint: 1 }

/** The whole body of a row, from its parts. */
export const bodyOf = (
  { sql }: Database,
  loop: EventLoop.Service,
  owner: Owner,
  { body, parts, revision, size }: Pick<Row, "body" | "parts" | "revision" | "size">
): Effect.Effect<Buffer, SqlError | Trouble> => {
  if (parts === 0) return Effect.succeed(body)
  return Effect.gen(function* () {
    const pieces = [body]
    while (pieces.length <= parts) {
      // One more page than in a row of the log: the event loop is free in between.
      const rows = yield* sql<Columns>`SELECT body FROM xds_part WHERE kind = ${kindOf[owner]}
        AND revision = ${revision} AND part >= ${pieces.length} ORDER BY part LIMIT 8`
      if (rows.length === 0) break
      for (const row of rows) pieces.push(bufferOf(row["body"]))
      yield* Slices.breathe(loop)
    }
    const whole = yield* Slices.steps(
      loop,
      joining(pieces, (size) => Buffer.allocUnsafe(size))
    )
    if (whole.length === size) return whole
    const rows = yield* owner === "change"
      ? sql`SELECT revision FROM xds_change WHERE revision = ${revision}`
      : sql`SELECT revision FROM xds_checkpoint WHERE revision = ${revision}`
    // The log was compacted since the row was read.
    if (rows.length === 0) return yield* Effect.fail(new Trouble({ kind: "Away", detail: gone }))
    const detail = `revision ${revision}: ${whole.length} of ${size} bytes are there`
    return yield* Effect.fail(new Trouble({ kind: "Damaged", detail }))
  })
}

/** Writes what is in a body after its first part. A driver of SQLite takes the event loop for each. */
const insertParts = (
  { sql }: Database,
  loop: EventLoop.Service,
  owner: Owner,
  revision: number,
  body: Buffer
): Effect.Effect<void, SqlError> =>
  Effect.gen(function* () {
    for (let part = 1; part * partSize < body.length; part++) {
      const piece = body.subarray(part * partSize, (part + 1) * partSize)
      yield* sql`INSERT INTO xds_part (kind, revision, part, body) VALUES (${kindOf[owner]}, ${revision}, ${part}, ${piece})`
      yield* Slices.breathe(loop)
    }
  })

const sizesOf = (body: Buffer) => ({
  size: body.length,
  parts: Math.max(0, Math.ceil(body.length / partSize) - 1),
  body: body.subarray(0, partSize)
})

/** Writes changes, and the head after the last of them. */
export const append = (
  database: Database,
  loop: EventLoop.Service,
  changes: ReadonlyArray<{ readonly row: Omit<Row, "size" | "parts" | "body">; readonly body: Buffer }>
): Effect.Effect<void, SqlError> =>
  Effect.gen(function* () {
    const { sql } = database
    const rows = changes.map(({ body, row }) => {
      const { group, kind, ...rest } = row
      return { ...rest, group_name: groupColumn(group), kind: kind === "put" ? 0 : 1, ...sizesOf(body) }
    })
    yield* sql`INSERT INTO xds_change ${sql.insert(rows)}`
    for (const { body, row } of changes) yield* insertParts(database, loop, "change", row.revision, body)
    const last = changes.at(-1)?.row
    if (last !== undefined) {
      yield* sql`UPDATE xds_head SET revision = ${last.revision}, chain = ${last.chain} WHERE id = 1`
    }
  })

/** A whole group, as it was after the change with this revision. */
export interface Checkpoint {
  readonly revision: number
  readonly group: string
  readonly size: number
  readonly parts: number
  readonly body: Buffer
  readonly digest: string
}

const checkpointOf = (columns: Columns): Checkpoint => ({
  revision: Number(columns["revision"]),
  group: groupOf(columns["group_name"]),
  size: Number(columns["size"]),
  parts: Number(columns["parts"]),
  body: bufferOf(columns["body"]),
  digest: String(columns["digest"])
})

/** The digest of a checkpoint. */
export const checkpointDigest = (
  revision: number,
  group: string,
  body: Uint8Array
): Steps.Steps<{ readonly digest: string }> => digesting([revision, group], body)

/** The next checkpoints that are the last of their group, by revision. */
export const checkpoints = ({ sql }: Database, from: number): Effect.Effect<ReadonlyArray<Checkpoint>, SqlError> =>
  Effect.map(
    sql<Columns>`SELECT * FROM xds_checkpoint WHERE revision > ${from} AND revision =
      (SELECT MAX(k.revision) FROM xds_checkpoint k WHERE k.group_name = xds_checkpoint.group_name)
      ORDER BY revision LIMIT ${pageSize}`,
    (rows) => rows.map(checkpointOf)
  )

/** The last checkpoint of a group up to a revision. */
export const checkpointAt = (
  { sql }: Database,
  group: string,
  revision: number
): Effect.Effect<Checkpoint | undefined, SqlError> =>
  Effect.map(
    sql<Columns>`SELECT * FROM xds_checkpoint WHERE group_name = ${groupColumn(group)} AND revision <= ${revision}
      ORDER BY revision DESC LIMIT 1`,
    ([row]) => row && checkpointOf(row)
  )

/** The first revision at which a group can be read; `undefined`: nothing of it is kept. */
export const oldest = ({ sql }: Database, group: string): Effect.Effect<number | undefined, SqlError> =>
  Effect.map(
    sql<Columns>`SELECT MIN(revision) AS oldest FROM (
      SELECT revision FROM xds_change WHERE group_name = ${groupColumn(group)}
      UNION ALL SELECT revision FROM xds_checkpoint WHERE group_name = ${groupColumn(group)}) AS kept`,
    ([row]) => (row?.["oldest"] === null || row === undefined ? undefined : Number(row["oldest"]))
  )

/**
 * Writes a checkpoint; one that is there stays. In a transaction, which it fails if the change with its revision is gone meanwhile:
 * whoever deleted that has a later checkpoint, or forgot the group, which this one would set again.
 */
export const insertCheckpoint = (
  database: Database,
  loop: EventLoop.Service,
  revision: number,
  group: string,
  body: Buffer
): Effect.Effect<void, SqlError | Trouble> =>
  Effect.gen(function* () {
    const { sql } = database
    const { digest } = yield* Slices.steps(loop, checkpointDigest(revision, group, body))
    const row = { revision, group_name: groupColumn(group), ...sizesOf(body), digest }
    const there = yield* sql`SELECT revision FROM xds_checkpoint WHERE revision = ${revision}`
    if (there.length > 0) return
    yield* sql`INSERT INTO xds_checkpoint ${sql.insert(row)}`
    yield* insertParts(database, loop, "checkpoint", revision, body)
    // Nothing is deleted without the head; not before, since writers would wait for all of a large group.
    yield* head(database, true)
    const change = yield* sql`SELECT revision FROM xds_change WHERE revision = ${revision}`
    if (change.length === 0) return yield* Effect.fail(new Trouble({ kind: "Away", detail: gone }))
  })

/**
 * Deletes what the history of a group does not need any more: it begins with the last checkpoint that has at least `keep`
 * changes after it. In a transaction that holds the head.
 */
export const compact = (database: Database, group: string, keep: number): Effect.Effect<void, SqlError> =>
  Effect.gen(function* () {
    const { sql } = database
    const name = groupColumn(group)
    const [first] = yield* sql<Columns>`SELECT revision FROM xds_change WHERE group_name = ${name}
      ORDER BY revision DESC LIMIT 1 OFFSET ${Math.max(0, keep - 1)}`
    if (first === undefined) return
    const [base] = yield* sql<Columns>`SELECT MAX(revision) AS revision FROM xds_checkpoint
      WHERE group_name = ${name} AND revision < ${Number(first["revision"])}`
    const from = Number(base?.["revision"] ?? 0)
    if (from === 0) return
    yield* sql`DELETE FROM xds_part WHERE kind = 0 AND revision IN
      (SELECT revision FROM xds_change WHERE group_name = ${name} AND revision <= ${from})`
    yield* sql`DELETE FROM xds_part WHERE kind = 1 AND revision IN
      (SELECT revision FROM xds_checkpoint WHERE group_name = ${name} AND revision < ${from})`
    yield* sql`DELETE FROM xds_change WHERE group_name = ${name} AND revision <= ${from}`
    yield* sql`DELETE FROM xds_checkpoint WHERE group_name = ${name} AND revision < ${from}`
    yield* sql`UPDATE xds_head SET floor = ${from} WHERE id = 1 AND floor < ${from}`
  })

/** Deletes all of groups that were cleared before a revision, and not set again. In a transaction that holds the head. */
export const forgetCleared = (database: Database, before: number): Effect.Effect<void, SqlError> =>
  Effect.gen(function* () {
    const { sql } = database
    const gone =
      yield* sql<Columns>`SELECT group_name, revision FROM xds_change c WHERE kind = 1 AND revision < ${before}
      AND NOT EXISTS (SELECT 1 FROM xds_change d WHERE d.group_name = c.group_name AND d.revision > c.revision) LIMIT 100`
    for (const row of gone) {
      const name = String(row["group_name"])
      const last = Number(row["revision"])
      yield* sql`DELETE FROM xds_part WHERE kind = 0 AND revision IN
        (SELECT revision FROM xds_change WHERE group_name = ${name})`
      yield* sql`DELETE FROM xds_part WHERE kind = 1 AND revision IN
        (SELECT revision FROM xds_checkpoint WHERE group_name = ${name})`
      yield* sql`DELETE FROM xds_change WHERE group_name = ${name}`
      yield* sql`DELETE FROM xds_checkpoint WHERE group_name = ${name}`
      yield* sql`UPDATE xds_head SET floor = ${last} WHERE id = 1 AND floor < ${last}`
    }
  })
