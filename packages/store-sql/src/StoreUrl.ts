/**
 * Databases by their URL: `sqlite:FILE`, `postgres://user:password@host:port/database`.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import type * as Scope from "effect/Scope"
import type { Database } from "./Database.js"
import { OpenError } from "./OpenError.js"

/**
 * Opens the database of a URL. The driver is loaded with the first one that needs it.
 *
 * @since 0.1.0
 */
export const open = (url: Redacted.Redacted): Effect.Effect<Database, OpenError, Scope.Scope> => {
  const text = Redacted.value(url)
  if (/^sqlite:./.test(text)) {
    const file = text.slice("sqlite:".length)
    return Effect.flatMap(
      Effect.promise(() => import("./Sqlite.js")),
      (sqlite) => sqlite.make({ file })
    )
  }
  if (/^postgres(ql)?:\/\//.test(text)) {
    return Effect.flatMap(
      Effect.promise(() => import("./Postgres.js")),
      (postgres) => postgres.make({ url })
    )
  }
  // It may hold a password.
  const detail = "write sqlite:FILE or postgres://user:password@host:port/database"
  return Effect.fail(new OpenError({ reason: "BadUrl", database: "(not shown)", detail }))
}
