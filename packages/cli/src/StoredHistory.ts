/**
 * What `effect-xds history` and `effect-xds rollback` do. Apart from the commands, so that the others need not load a database.
 *
 * @since 0.1.0
 */
import type * as SqlStores from "@effect-xds/store-sql/SqlStore"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { hostname, userInfo } from "node:os"
import { CommandFailure } from "./CommandFailure.js"
import * as ResourceText from "./ResourceText.js"
import * as StoreOfUrl from "./StoreOfUrl.js"

const failed = (message: string): CommandFailure => new CommandFailure({ kind: "failed", message })

const opened = (url: string | undefined): Effect.Effect<SqlStores.Service, CommandFailure, Scope.Scope> =>
  url === undefined
    ? Effect.fail(new CommandFailure({ kind: "usage", message: "--store URL is missing: say which store" }))
    : StoreOfUrl.open(url, { openTimeout: "2 seconds" }, true)

const lineOf = ({
  at,
  author,
  kind,
  note,
  removals,
  revision,
  upserts
}: SqlStores.HistoryEntry): ReadonlyArray<string> => [
  String(revision),
  new Date(at).toISOString(),
  kind === "clear" ? "cleared" : `+${upserts} -${removals}`,
  author,
  note
]

/** Columns as wide as their longest cell; a note may have control characters, which a terminal would obey. */
const table = (rows: ReadonlyArray<ReadonlyArray<string>>): ReadonlyArray<string> => {
  const clean = rows.map((row) => row.map((cell) => cell.replaceAll(/\p{Cc}/gu, " ")))
  const widths = [0, 1, 2, 3].map((at) => clean.reduce((most, row) => Math.max(most, row[at]?.length ?? 0), 0))
  return clean.map((row) =>
    row
      .map((cell, at) => cell.padEnd(widths[at] ?? 0))
      .join("  ")
      .trimEnd()
  )
}

/**
 * Runs `history`.
 *
 * @since 0.1.0
 */
export const history = (values: {
  readonly group: string
  readonly store: string | undefined
  readonly limit: number
  readonly output: ResourceText.Format
}): Effect.Effect<void, CommandFailure> =>
  Effect.gen(function* () {
    const { group, limit, output } = values
    const store = yield* opened(values.store)
    const entries = yield* Effect.mapError(store.history(group, { limit }), ({ message }) => failed(message))
    if (output === "json") return yield* Console.log(JSON.stringify(entries, undefined, 2))
    if (output === "yaml") return yield* Console.log(ResourceText.yaml([entries]))
    if (entries.length === 0) {
      const groups = [...(yield* store.groups)].sort().slice(0, 10)
      const others = groups.length === 0 ? "it has no groups" : `it has ${groups.join(", ")}`
      return yield* failed(`the store has no changes of group ${JSON.stringify(group)}; ${others}`)
    }
    const head = ["REVISION", "TIME", "RESOURCES", "AUTHOR", "NOTE"]
    yield* Console.log(table([head, ...entries.map(lineOf)]).join("\n"))
  }).pipe(Effect.scoped)

/**
 * Runs `rollback`.
 *
 * @since 0.1.0
 */
export const rollback = (values: {
  readonly group: string
  readonly revision: string
  readonly store: string | undefined
  readonly author: string | undefined
  readonly note: string | undefined
}): Effect.Effect<void, CommandFailure> =>
  Effect.gen(function* () {
    const { author = `${userInfo().username}@${hostname()}`, group, note } = values
    if (!/^\d{1,15}$/.test(values.revision)) {
      const message = "REVISION is a number, as effect-xds history prints it"
      return yield* new CommandFailure({ kind: "usage", message })
    }
    const store = yield* opened(values.store)
    const revision = Number(values.revision)
    const back = yield* Effect.mapError(
      store.rollback(group, revision, { author, ...(note !== undefined && { note }) }),
      ({ message }) => failed(message)
    )
    yield* Console.log(
      `Group ${JSON.stringify(group)} is as at revision ${revision}; this is revision ${back.revision}`
    )
  }).pipe(Effect.scoped)
