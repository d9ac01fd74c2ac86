/**
 * A store in one file: the default for a control plane of one process, or of several on one machine. It survives `kill -9` and
 * loss of power.
 *
 * The driver works on the event loop: a change takes one write to the disk, some milliseconds of it. Pieces are small, so that
 * nothing takes it for long. Another process that holds the file is not waited for there.
 *
 * @since 0.1.0
 */
import * as Reactivity from "@effect/experimental/Reactivity"
import * as SqlClient from "@effect/sql/SqlClient"
import type { Connection } from "@effect/sql/SqlConnection"
import { SqlError } from "@effect/sql/SqlError"
import * as Statement from "@effect/sql/Statement"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { statSync, watch } from "node:fs"
import { basename, dirname, resolve } from "node:path"
import type { Database } from "./Database.js"
import { of as troubleOf } from "./internal/Trouble.js"
import { OpenError } from "./OpenError.js"
import * as SqliteDriver from "./SqliteDriver.js"

/**
 * Options of a database in SQLite.
 *
 * @since 0.1.0
 */
export interface Options {
  /** The file; it is created if it is not there. Its folder must be on a local disk: SQLite locks it. */
  readonly file: string
  /** Default: the first of `SqliteDriver.all` that is there. */
  readonly driver?: SqliteDriver.SqliteDriver | undefined
}

const findDriver = (database: string): Effect.Effect<SqliteDriver.SqliteDriver, OpenError> =>
  Effect.gen(function* () {
    for (const load of SqliteDriver.all) {
      const found = yield* Effect.orElseSucceed(Effect.tryPromise(load), () => undefined)
      if (found !== undefined) return found
    }
    const detail = "no driver for SQLite works here: use Node 22.13 or newer, or install libsql or better-sqlite3"
    return yield* Effect.fail(new OpenError({ reason: "NoDriver", database, detail }))
  })

/** The numbers of SQLite's errors that somebody can do something about; `node:sqlite` gives no names. */
const codes: Readonly<Record<number, string>> = {
  5: "SQLITE_BUSY",
  6: "SQLITE_LOCKED",
  8: "SQLITE_READONLY",
  11: "SQLITE_CORRUPT",
  13: "SQLITE_FULL",
  14: "SQLITE_CANTOPEN",
  18: "SQLITE_TOOBIG",
  19: "SQLITE_CONSTRAINT",
  20: "SQLITE_MISMATCH",
  26: "SQLITE_NOTADB"
}

/** The number of an error without a name: `node:sqlite` has it as a property, libsql only in the words that it cannot open. */
const numberOf = (cause: Error): number | undefined => {
  if ("errcode" in cause && typeof cause.errcode === "number") return cause.errcode
  const number = /^ConnectionFailed\(.*: (\d+)"\)$/s.exec(cause.message)?.[1]
  return number === undefined ? undefined : Number(number)
}

const errorOf = (cause: unknown): SqlError => {
  if (cause instanceof Error) {
    const code = codes[(numberOf(cause) ?? 0) & 0xff]
    if (code !== undefined) return new SqlError({ cause: Object.assign(new Error(cause.message), { code }) })
  }
  return new SqlError({ cause })
}

/** `undefined`: it cannot be seen. */
const kindOf = (path: string): "Folder" | "Other" | "Missing" | undefined => {
  try {
    return statSync(path).isDirectory() ? "Folder" : "Other"
  } catch (cause) {
    const isMissing = cause instanceof Error && "code" in cause && (cause.code === "ENOENT" || cause.code === "ENOTDIR")
    return isMissing ? "Missing" : undefined
  }
}

/** What is wrong with the place of a file that cannot be opened, which no driver says; `undefined`: nothing that is seen. */
const wrongPlace = (file: string): string | undefined => {
  if (kindOf(file) === "Folder") return "it is a folder; name a file in it"
  const folder = dirname(file)
  const kind = kindOf(folder)
  if (kind === "Other") return `${folder} is no folder; name a file in one`
  return kind === "Missing" ? `there is no folder ${folder}; make it` : undefined
}

/** What tells a file from another one of its name; `undefined`: it is not there, or cannot be seen. */
const identityOf = (file: string): string | undefined => {
  try {
    const { dev, ino } = statSync(file, { bigint: true })
    return `${dev}:${ino}`
  } catch {
    return undefined
  }
}

/**
 * Milliseconds after a sign of a change at which it is looked for: the file changes before the change can be read, by as long
 * as the disk takes. A look costs microseconds.
 */
const looks = [0, 1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 18, 22, 27, 33, 40, 50, 75, 100]

const open = (
  driver: SqliteDriver.SqliteDriver,
  file: string
): Effect.Effect<SqliteDriver.Connection, SqlError, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.try({
      try: () => {
        const connection = driver.open(file)
        try {
          // Nobody waits for a lock on the event loop. Every commit is on the disk when it returns.
          connection.run("PRAGMA busy_timeout = 0")
          connection.run("PRAGMA journal_mode = WAL")
          connection.run("PRAGMA synchronous = FULL")
          return connection
        } catch (cause) {
          connection.close()
          throw cause
        }
      },
      catch: errorOf
    }),
    (connection) => Effect.ignore(Effect.try(() => connection.close()))
  )

/**
 * Opens a file.
 *
 * @since 0.1.0
 */
export const make = (options: Options): Effect.Effect<Database, OpenError, Scope.Scope> =>
  Effect.gen(function* () {
    const file = resolve(options.file)
    const name = `sqlite:${file}`
    const driver = options.driver ?? (yield* findDriver(name))
    const raw = yield* open(driver, file).pipe(
      // Another process may be opening it, or closing it as the last one.
      Effect.retry({
        times: 100,
        while: (error) => Effect.delay(Effect.succeed(troubleOf(error).kind === "Busy"), 20)
      }),
      Effect.mapError((error) => {
        const { detail, kind } = troubleOf(error)
        if (kind === "Damaged") return new OpenError({ reason: "Damaged", database: name, detail })
        return new OpenError({ reason: "Unreachable", database: name, detail: wrongPlace(file) ?? detail })
      })
    )
    const all = (sql: string, params: ReadonlyArray<unknown>) =>
      Effect.try({ try: () => raw.all(sql, params), catch: errorOf })
    const identity = identityOf(file)
    const connection: Connection = {
      execute: (sql, params, transform) => Effect.map(all(sql, params), (rows) => transform?.(rows) ?? rows),
      executeRaw: all,
      executeValues: (sql, params) =>
        Effect.map(all(sql, params), (rows) => rows.map((row): ReadonlyArray<unknown> => Object.values(row))),
      // BEGIN, COMMIT and ROLLBACK.
      executeUnprepared: (sql, params) =>
        params.length > 0 ? all(sql, params) : Effect.try({ try: () => (raw.run(sql), []), catch: errorOf }),
      executeStream: () => Stream.fail(new SqlError({ message: "a stream of rows is not supported" }))
    }
    const mutex = yield* Effect.makeSemaphore(1)
    const reserve = Effect.as(
      Effect.uninterruptibleMask((restore) =>
        Effect.zipRight(
          restore(mutex.take(1)),
          Effect.addFinalizer(() => mutex.release(1))
        )
      ),
      connection
    )
    const sql = yield* SqlClient.make({
      acquirer: reserve,
      transactionAcquirer: reserve,
      compiler: Statement.makeCompilerSqlite(),
      spanAttributes: [["db.system.name", "sqlite"]]
    }).pipe(Effect.provide(Layer.fresh(Reactivity.layer)))
    let version: unknown
    /** Whether another connection has changed something since the last call. */
    const hasChanged = (): boolean => {
      try {
        const before = version
        version = Object.values(raw.all("PRAGMA data_version", [])[0] ?? {})[0]
        return version !== before
      } catch {
        return true
      }
    }
    return {
      dialect: "sqlite",
      name,
      sql,
      listen: (wake) => watching(file, () => hasChanged() && wake()),
      notify: Effect.void,
      lost: () => {
        const now = identityOf(file)
        if (now === identity) return undefined
        return now === undefined
          ? "its file was moved away or deleted: put it back"
          : "another file was put into the place of the one that was opened"
      },
      hangUp: () => undefined
    }
  })

/** Looks whenever the log of the file is written. Where it cannot be watched, the regular look finds the change. */
const watching = (file: string, wake: () => void): Effect.Effect<void, never, Scope.Scope> => {
  const log = `${basename(file)}-wal`
  let timer: NodeJS.Timeout | undefined
  /** The place of the look that comes next. */
  let next = 0
  const look = (at: number): void => {
    const [before = 0, after] = [looks[at - 1], looks[at]]
    next = at
    timer =
      after === undefined
        ? undefined
        : setTimeout(() => {
            wake()
            look(at + 1)
          }, after - before)
  }
  const start = Effect.try(() => {
    const watcher = watch(dirname(file), { persistent: false }, (_, changed) => {
      if (changed !== log) return
      // The first look is not put off, however often the log is written.
      if (timer !== undefined && next === 0) return
      clearTimeout(timer)
      look(0)
    })
    watcher.on("error", () => watcher.close())
    return watcher
  })
  return Effect.acquireRelease(Effect.option(start), (watcher) =>
    Effect.sync(() => {
      if (watcher._tag === "Some") watcher.value.close()
      clearTimeout(timer)
    })
  ).pipe(Effect.asVoid)
}
