/**
 * A durable store for xDS control planes, and replicas of it, on SQLite or PostgreSQL.
 *
 * @since 0.1.0
 */
export * as Database from "./Database.js"
export * as OpenError from "./OpenError.js"
export * as Postgres from "./Postgres.js"
export * as Sqlite from "./Sqlite.js"
export * as SqliteDriver from "./SqliteDriver.js"
export * as SqlStore from "./SqlStore.js"
export * as SqlStoreMetrics from "./SqlStoreMetrics.js"
export * as StoreUrl from "./StoreUrl.js"
