/**
 * A store in PostgreSQL: for replicas of a control plane on several machines. The user must be able to create tables in its
 * schema the first time, and to read and write them afterwards.
 *
 * @since 0.1.0
 */
import * as BadOption from "@effect-xds/transport/BadOption"
import * as Reactivity from "@effect/experimental/Reactivity"
import * as PgClient from "@effect/sql-pg/PgClient"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import type * as Scope from "effect/Scope"
import pg from "pg"
import type { ConnectionOptions } from "node:tls"
import type { Database } from "./Database.js"
import { OpenError } from "./OpenError.js"

/**
 * Options of a database in PostgreSQL.
 *
 * @since 0.1.0
 */
export interface Options {
  /** `postgres://user:password@host:port/database`, with the parameters of `pg`. */
  readonly url: Redacted.Redacted
  /** TLS, if the URL does not say it. Default: none. */
  readonly ssl?: boolean | ConnectionOptions | undefined
  /** The most connections, beside the one that is told of changes. Default: 4. */
  readonly maxConnections?: number | undefined
}

/** The channel of notifications. */
const channel = "xds_change"

/** Milliseconds. Whoever holds the head and does not go on loses it, so that others can write. */
const limits = {
  connectionTimeoutMillis: 5_000,
  statement_timeout: 30_000,
  lock_timeout: 3_000,
  idle_in_transaction_session_timeout: 10_000
} as const

const nameOf = (url: string): string | undefined => {
  try {
    const { host, pathname, protocol } = new URL(url)
    return protocol === "postgres:" || protocol === "postgresql:" ? `postgres://${host}${pathname}` : undefined
  } catch {
    return undefined
  }
}

/**
 * Makes the connections to a database. It is not asked anything yet.
 *
 * @since 0.1.0
 */
export const make = (options: Options): Effect.Effect<Database, OpenError, Scope.Scope> =>
  Effect.gen(function* () {
    const url = Redacted.value(options.url)
    const name = nameOf(url)
    if (name === undefined) {
      const detail = "write postgres://user:password@host:port/database"
      return yield* Effect.fail(new OpenError({ reason: "BadUrl", database: "(not shown)", detail }))
    }
    const wrong = BadOption.find(options, { maxConnections: 1 })
    if (wrong !== undefined) {
      return yield* Effect.fail(new OpenError({ reason: "BadOption", database: name, detail: wrong.message }))
    }
    const ssl = options.ssl === undefined ? {} : { ssl: options.ssl }
    const config = { connectionString: url, keepAlive: true, application_name: "effect-xds", ...ssl, ...limits }
    const clients = new Set<pg.PoolClient | pg.Client>()
    const hangUp = (): void => {
      for (const client of clients) destroy(client)
      clients.clear()
    }
    const acquire = Effect.acquireRelease(
      Effect.sync(() => {
        const pool = new pg.Pool({ ...config, max: options.maxConnections ?? 4 })
        // What uses a connection is told itself.
        pool.on("error", () => undefined)
        pool.on("connect", (client) => {
          clients.add(client)
          client.on("error", () => undefined)
        })
        pool.on("remove", (client) => clients.delete(client))
        return pool
      }),
      // A database that does not answer is not waited for.
      (pool) =>
        Effect.promise(() => pool.end()).pipe(
          Effect.interruptible,
          Effect.timeoutOption(1_000),
          Effect.zipRight(Effect.sync(hangUp))
        )
    )
    const sql = yield* PgClient.fromPool({ acquire }).pipe(
      Effect.provide(Layer.fresh(Reactivity.layer)),
      Effect.mapError(({ message }) => new OpenError({ reason: "Unreachable", database: name, detail: message }))
    )
    return {
      dialect: "postgres",
      name,
      sql,
      listen: (wake) => Effect.asVoid(Effect.forkScoped(listening(config, wake, clients))),
      // The function: the statement NOTIFY takes no parameters.
      notify: Effect.asVoid(sql`SELECT pg_notify(${channel}, '')`),
      hangUp
    }
  })

/** Ends a connection at once: `end` would wait for the other side. */
const destroy = (client: pg.PoolClient | pg.Client): void => {
  // The stream is not in the types of `pg`.
  const connection: unknown = Reflect.get(client, "connection")
  const stream: unknown = typeof connection === "object" && connection !== null && Reflect.get(connection, "stream")
  if (typeof stream === "object" && stream !== null && "destroy" in stream && typeof stream.destroy === "function")
    Reflect.apply(stream.destroy, stream, [])
}

/** Milliseconds between a connection that was lost and the next one. */
const pause = 500

/** Milliseconds until a connection must listen: the answer of a network that is cut never comes. */
const patience = 10_000

/**
 * Waits for notifications, on a connection of its own. When that is lost the next one is made, and everything is looked at,
 * since notifications in between are lost. It is among the `clients` meanwhile: what breaks those breaks this one, whose network
 * may be cut as well, and which asks nothing that would tell so.
 */
const listening = (
  config: pg.ClientConfig,
  wake: () => void,
  clients: Set<pg.PoolClient | pg.Client>
): Effect.Effect<never> => {
  const once = Effect.scoped(
    Effect.gen(function* () {
      const lost = yield* Deferred.make<void>()
      const client = yield* Effect.acquireRelease(
        Effect.sync(() => new pg.Client({ ...config, statement_timeout: 0 })),
        (made) =>
          Effect.sync(() => {
            clients.delete(made)
            destroy(made)
          })
      )
      clients.add(client)
      const end = (): void => Deferred.unsafeDone(lost, Effect.void)
      client.on("error", end)
      client.on("end", end)
      client.on("notification", wake)
      yield* Effect.tryPromise(async () => {
        await client.connect()
        await client.query(`LISTEN ${channel}`)
      }).pipe(Effect.timeout(patience))
      wake()
      yield* Deferred.await(lost)
      wake()
    })
  )
  return Effect.forever(Effect.zipRight(Effect.ignore(once), Effect.sleep(pause)))
}
