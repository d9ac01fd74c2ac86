/**
 * A database that a store keeps its log in: `Sqlite.make` and `Postgres.make` make one.
 *
 * @since 0.1.0
 */
import type * as SqlClient from "@effect/sql/SqlClient"
import type * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"

/**
 * A database.
 *
 * @since 0.1.0
 */
export interface Database {
  readonly dialect: "sqlite" | "postgres"
  /** Where it is, without secrets: `sqlite:/var/lib/xds.db`, `postgres://db:5432/xds`. */
  readonly name: string
  readonly sql: SqlClient.SqlClient
  /**
   * Calls `wake` whenever another process may have changed something, until the scope closes: once in vain is no harm, and
   * a change that is missed is found by the regular look. It does not fail: it goes on when the database is back.
   */
  readonly listen: (wake: () => void) => Effect.Effect<void, never, Scope.Scope>
  /** Tells the other processes of this transaction. */
  readonly notify: Effect.Effect<void, unknown>
  /**
   * Why the connections are not to the database any more that the next process opens by this name; `undefined`: they are. Asked
   * before every change, and at every look. Absent: they are as long as they work.
   */
  readonly lost?: (() => string | undefined) | undefined
  /** Breaks every connection: what waits for an answer of a database that gives none fails. */
  readonly hangUp: () => void
}
