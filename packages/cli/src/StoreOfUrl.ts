/**
 * Opens the store that `--store` names.
 *
 * @since 0.1.0
 */
import * as SqlStore from "@effect-xds/store-sql/SqlStore"
import * as StoreUrl from "@effect-xds/store-sql/StoreUrl"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import type * as Scope from "effect/Scope"
import { existsSync } from "node:fs"
import { CommandFailure } from "./CommandFailure.js"

/** The URL itself, which may come from the environment. */
const resolved = (url: string): string | undefined => {
  const name = /^env:(.*)$/.exec(url)?.[1]
  return name === undefined ? url : process.env[name]
}

/**
 * Opens a store. The text of a URL is in no message: it may hold a password.
 *
 * @param mustExist a file that is not there is a mistake, and is not created
 * @since 0.1.0
 */
export const open = (
  url: string,
  options: SqlStore.Options,
  mustExist = false
): Effect.Effect<SqlStore.Service, CommandFailure, Scope.Scope> =>
  Effect.gen(function* () {
    const text = resolved(url)
    if (text === undefined) {
      const message = `--store ${url}: there is no such variable in the environment`
      return yield* new CommandFailure({ kind: "usage", message })
    }
    const file = /^sqlite:(.+)$/s.exec(text)?.[1]
    if (mustExist && file !== undefined && !existsSync(file)) {
      return yield* new CommandFailure({ kind: "failed", message: `--store sqlite:${file}: there is no such file` })
    }
    const database = yield* StoreUrl.open(Redacted.make(text))
    return yield* SqlStore.make(database, options)
  }).pipe(
    Effect.mapError((error) =>
      error._tag === "OpenError" ? new CommandFailure({ kind: "failed", message: error.message }) : error
    )
  )
