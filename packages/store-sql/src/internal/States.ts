/** Groups from their rows: reading, checking and applying. */
import * as ResourceGroup from "@effect-xds/core/resource/ResourceGroup"
import type * as EventLoop from "@effect-xds/transport/EventLoop"
import * as Slices from "@effect-xds/transport/Slices"
import type { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import type { Buffer } from "node:buffer"
import type { Database } from "../Database.js"
import * as GroupDifference from "./GroupDifference.js"
import * as Log from "./Log.js"
import { Trouble } from "./Trouble.js"

const damaged = (what: string, detail: string): Trouble =>
  new Trouble({
    kind: "Damaged",
    detail: `${what} cannot be used: ${detail}; restore the database from a backup`
  })

const nameOf = (owner: Log.Owner, { group, revision }: Pick<Log.Row, "group" | "revision">): string =>
  `${owner === "change" ? "the change" : "the checkpoint"} of group ${JSON.stringify(group)} at revision ${revision}`

/** The state after a body, from the state before it. */
const applied = (
  loop: EventLoop.Service,
  what: string,
  before: ResourceGroup.ResourceGroup,
  body: Parameters<typeof GroupDifference.decode>[0]
): Effect.Effect<GroupDifference.State, Trouble> =>
  Effect.gen(function* () {
    const difference = yield* Slices.steps(loop, GroupDifference.decode(body))
    if (Either.isLeft(difference)) return yield* Effect.fail(damaged(what, difference.left))
    const after = yield* Slices.steps(loop, GroupDifference.apply(before, difference.right))
    if (Either.isLeft(after)) return yield* Effect.fail(damaged(what, after.left))
    return after.right
  })

/** The body of a row, if it is what was written. */
const bodyOf = (
  database: Database,
  loop: EventLoop.Service,
  owner: Log.Owner,
  row: Log.Row | Log.Checkpoint,
  digestOf: (body: Buffer) => ReturnType<typeof Log.digestOf>
): Effect.Effect<Buffer, SqlError | Trouble> =>
  Effect.gen(function* () {
    const body = yield* Log.bodyOf(database, loop, owner, row)
    const { digest } = yield* Slices.steps(loop, digestOf(body))
    if (digest !== row.digest)
      return yield* Effect.fail(damaged(nameOf(owner, row), "its bytes are not those that were written"))
    return body
  })

/** The state after a change; `undefined`: the group is cleared. */
export const afterChange = (
  database: Database,
  loop: EventLoop.Service,
  before: ResourceGroup.ResourceGroup | undefined,
  row: Log.Row
): Effect.Effect<GroupDifference.State | undefined, SqlError | Trouble> =>
  Effect.flatMap(
    bodyOf(database, loop, "change", row, (body) => Log.digestOf(row, body)),
    (body) =>
      row.kind === "clear"
        ? Effect.succeed(undefined)
        : applied(loop, nameOf("change", row), before ?? ResourceGroup.empty, body)
  )

/** The state in a checkpoint. */
export const ofCheckpoint = (
  database: Database,
  loop: EventLoop.Service,
  row: Log.Checkpoint
): Effect.Effect<GroupDifference.State, SqlError | Trouble> =>
  Effect.flatMap(
    bodyOf(database, loop, "checkpoint", row, (body) => Log.checkpointDigest(row.revision, row.group, body)),
    (body) => applied(loop, nameOf("checkpoint", row), ResourceGroup.empty, body)
  )

/** A group as it was at a revision of the store; `undefined`: it was not set, or that is not known any more. */
export const at = (
  database: Database,
  loop: EventLoop.Service,
  group: string,
  revision: number
): Effect.Effect<GroupDifference.State | undefined, SqlError | Trouble> =>
  Effect.gen(function* () {
    const checkpoint = yield* Log.checkpointAt(database, group, revision)
    let state = checkpoint && (yield* ofCheckpoint(database, loop, checkpoint))
    let from = checkpoint?.revision ?? 0
    for (;;) {
      const rows = yield* Log.ofGroup(database, group, from, revision)
      for (const row of rows) state = yield* afterChange(database, loop, state?.own, row)
      const last = rows.at(-1)
      if (last === undefined) return state
      from = last.revision
    }
  })
