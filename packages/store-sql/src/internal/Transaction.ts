/**
 * A transaction on a connection of its own. Unlike that of `@effect/sql` it has typed errors: a database may go away at any
 * statement, at COMMIT and ROLLBACK too.
 */
import * as SqlClient from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import type { Database } from "../Database.js"

/** - `read`: sees one state of the database; `write`: nobody else writes meanwhile (SQLite), or holds the same row */
export type Kind = "read" | "write"

const begins: Readonly<Record<Database["dialect"], Readonly<Record<Kind, string>>>> = {
  sqlite: { read: "BEGIN", write: "BEGIN IMMEDIATE" },
  postgres: { read: "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", write: "BEGIN" }
}

/** Milliseconds that a database has for a transaction, before its connections are broken and the transaction fails. */
const patience: Readonly<Record<Kind, number>> = { read: 30_000, write: 10_000 }

/**
 * Breaks the connections if a piece of work takes too long. It is not interrupted: to end a statement, a driver would wait for
 * the same database.
 */
export const within = <A, E>(database: Database, millis: number, work: Effect.Effect<A, E>): Effect.Effect<A, E> =>
  Effect.flatMap(Effect.fork(Effect.interruptible(Effect.delay(Effect.sync(database.hangUp), millis))), (watch) =>
    Effect.ensuring(work, Fiber.interruptFork(watch))
  )

/**
 * Runs `body` in a transaction. `onCommit` is called just before COMMIT is sent: when it fails after that, nobody knows
 * whether the transaction took place.
 */
export const run = <A, E>(
  database: Database,
  kind: Kind,
  body: Effect.Effect<A, E>,
  onCommit: () => void = () => undefined
): Effect.Effect<A, E | SqlError> =>
  Effect.scoped(
    Effect.uninterruptibleMask((restore) =>
      Effect.flatMap(restore(database.sql.reserve), (connection) => {
        const tell = (sql: string) => connection.executeUnprepared(sql, [], undefined)
        const undo = Effect.catchAll(tell("ROLLBACK"), () => Effect.sync(database.hangUp))
        // The answer to BEGIN may be lost, too.
        const begin = Effect.tapError(tell(begins[database.dialect][kind]), () => undo)
        return Effect.flatMap(begin, () =>
          restore(body).pipe(
            Effect.provideService(SqlClient.TransactionConnection, [connection, 0] as const),
            Effect.exit,
            Effect.flatMap((exit) => {
              if (Exit.isFailure(exit)) return Effect.zipRight(undo, exit)
              onCommit()
              return tell("COMMIT").pipe(
                // SQLite keeps the transaction open when COMMIT fails.
                Effect.tapError(() => (database.dialect === "sqlite" ? Effect.ignore(tell("ROLLBACK")) : Effect.void)),
                Effect.zipRight(exit)
              )
            })
          )
        )
      })
    )
  ).pipe((work) => within(database, patience[kind], work))
