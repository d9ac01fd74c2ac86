/**
 * The seam to SQLite: one connection, whose calls take effect before they return. A driver needs no install script.
 *
 * @since 0.1.0
 */

/**
 * A connection.
 *
 * @since 0.1.0
 */
export interface Connection {
  /**
   * Runs one statement and returns its rows, which have their columns as properties; throws what the driver throws. A
   * statement that writes is given only inside a transaction that began as one that writes.
   */
  readonly all: (sql: string, params: ReadonlyArray<unknown>) => ReadonlyArray<object>
  /** Runs one statement without parameters, whose rows do not matter. When it throws, nothing of it is left. */
  readonly run: (sql: string) => void
  readonly close: () => void
}

/**
 * A driver: opens a file, and creates it if it is not there.
 *
 * @since 0.1.0
 */
export interface SqliteDriver {
  readonly name: string
  readonly open: (file: string) => Connection
}

/** What the drivers have in common. */
interface Statement {
  readonly all: (...params: ReadonlyArray<unknown>) => ReadonlyArray<object>
  /** Whether it has rows; only better-sqlite3 asks for `run` where it has none. */
  readonly reader?: boolean | undefined
  readonly run: (...params: ReadonlyArray<unknown>) => unknown
}

interface Handle {
  readonly prepare: (sql: string) => Statement
  readonly exec: (sql: string) => unknown
  readonly close: () => void
}

type Constructor = new (file: string) => Handle

/** Statements that are kept, since the same few come again and again. */
const mostStatements = 64

/** Runs a statement as a driver wants it. */
type Run = (statement: Statement, params: ReadonlyArray<unknown>) => ReadonlyArray<object>

/** Empty, at a place in memory: one that is nowhere is NULL for `node:sqlite` of Node 22.13. */
const noBytes = new Uint8Array(new ArrayBuffer(8), 0, 0)

/** Parameters are given one by one. */
const oneByOne: Run = (statement, params) =>
  Reflect.apply(
    statement.all,
    statement,
    params.map((param) => (param instanceof Uint8Array && param.length === 0 ? noBytes : param))
  )

const isBusy = (cause: unknown): boolean =>
  cause instanceof Error && "code" in cause && typeof cause.code === "string" && cause.code.startsWith("SQLITE_BUSY")

/**
 * For `libsql` (0.5). Parameters are an array: it ends the process when the only one is a buffer that is given alone.
 *
 * It does not reset a prepared statement that fails because the database is locked. Until that runs again, the connection may
 * keep the state that it sees, and never see a change of another one. So it runs again before the next statement; only reads
 * can fail so, since a transaction that writes has the lock.
 */
const resetting = (): Run => {
  const busy: Array<() => unknown> = []
  return (statement, params) => {
    for (let again = busy.at(-1); again !== undefined; again = busy.at(-1)) {
      again()
      busy.pop()
    }
    try {
      return statement.all(params)
    } catch (cause) {
      if (isBusy(cause)) busy.push(() => statement.all(params))
      throw cause
    }
  }
}

const asReader: Run = (statement, params) => {
  if (statement.reader !== false) return statement.all(params)
  statement.run(params)
  return []
}

const connect = (handle: Handle, run: Run): Connection => {
  const statements = new Map<string, Statement>()
  const prepared = (sql: string): Statement => {
    const known = statements.get(sql)
    if (known !== undefined) return known
    const made = handle.prepare(sql)
    if (statements.size < mostStatements) statements.set(sql, made)
    return made
  }
  return {
    all: (sql, params) => run(prepared(sql), params),
    run: (sql) => {
      handle.exec(sql)
    },
    close: () => {
      statements.clear()
      handle.close()
    }
  }
}

// Believed, not checked: `node:sqlite` is not in the types of Node 20, and those of libsql are of another program.
const isConstructor = (value: unknown): value is Constructor => typeof value === "function"

const constructorOf = (module: object, name: string): Constructor | undefined => {
  const found: unknown = Reflect.get(module, name)
  return isConstructor(found) ? found : undefined
}

/** Its name is no literal: this package does not need it. */
const load = async (specifier: string, name: string): Promise<Constructor | undefined> => {
  const module: unknown = await import(specifier)
  return typeof module === "object" && module !== null ? constructorOf(module, name) : undefined
}

/**
 * Node's own, from 22.13 on.
 *
 * @since 0.1.0
 */
export const node = async (): Promise<SqliteDriver | undefined> => {
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number)
  if (major < 22 || (major === 22 && minor < 13)) return undefined
  const specifier = "node:sqlite"
  const Database = await load(specifier, "DatabaseSync")
  return Database && { name: specifier, open: (file) => connect(new Database(file), oneByOne) }
}

/**
 * `libsql`, whose binaries are in packages of npm.
 *
 * @since 0.1.0
 */
export const libsql = async (): Promise<SqliteDriver | undefined> => {
  const Database = constructorOf(await import("libsql"), "default")
  return Database && { name: "libsql", open: (file) => connect(new Database(file), resetting()) }
}

/**
 * `better-sqlite3`, if the application has it.
 *
 * @since 0.1.0
 */
export const betterSqlite3 = async (): Promise<SqliteDriver | undefined> => {
  const specifier = "better-sqlite3"
  const Database = await load(specifier, "default")
  return Database && { name: specifier, open: (file) => connect(new Database(file), asReader) }
}

/**
 * The drivers in the order in which they are tried.
 *
 * @since 0.1.0
 */
export const all: ReadonlyArray<() => Promise<SqliteDriver | undefined>> = [node, libsql, betterSqlite3]
