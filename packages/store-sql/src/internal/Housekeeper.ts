/** Writes checkpoints and deletes what no history needs, beside the writes. A failure is no harm: the next write tries again. */
import * as ResourceGroup from "@effect-xds/core/resource/ResourceGroup"
import * as Slices from "@effect-xds/transport/Slices"
import type { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import type * as Scope from "effect/Scope"
import type { Database } from "../Database.js"
import * as GroupDifference from "./GroupDifference.js"
import * as Log from "./Log.js"
import type { Replica, Since } from "./Replica.js"
import * as Transaction from "./Transaction.js"
import { of as troubleOf, orDefect } from "./Trouble.js"
import type { Trouble } from "./Trouble.js"

/** Changes after which a group gets a checkpoint. */
const mostChanges = 1_000

/** Bytes of changes below which a group needs none. */
const fewBytes = 1_048_576

/** Revisions of the store for which the history of a cleared group is kept. */
const keepCleared = 10_000

/** Reading the log must not take much longer than reading the group. */
const isDue = ({ base, bytes, changes }: Since): boolean =>
  changes >= mostChanges || bytes > Math.max(fewBytes, 2 * base)

export class Housekeeper {
  private readonly due = new Set<string>()
  private readonly wake = Effect.unsafeMakeLatch(false)
  private checkedAt = 0

  constructor(
    private readonly database: Database,
    private readonly replica: Replica,
    private readonly keep: number
  ) {}

  /** Told which groups were written. */
  readonly look = (groups: ReadonlyArray<string>): Effect.Effect<void> =>
    Effect.sync(() => {
      for (const group of groups) {
        const since = this.replica.sinceCheckpoint(group)
        if (since !== undefined && isDue(since)) this.due.add(group)
      }
      if (this.due.size > 0 || this.replica.revision - this.checkedAt > keepCleared / 10) this.wake.unsafeOpen()
    })

  /** Works until the scope closes. */
  get run(): Effect.Effect<void, never, Scope.Scope> {
    const work = Effect.suspend(() => {
      this.wake.unsafeClose()
      const groups = Array.from(this.due)
      this.due.clear()
      return Effect.zipRight(
        Effect.forEach(groups, (group) => this.checkpoint(group), { discard: true }),
        this.forget()
      )
    })
    const quietly = Effect.catchAll(orDefect(work), (error) =>
      Effect.logDebug(
        `${this.database.name}: no checkpoint: ${(error._tag === "SqlError" ? troubleOf(error) : error).detail}`
      )
    )
    return Effect.asVoid(Effect.forkScoped(Effect.forever(Effect.zipRight(this.wake.await, quietly))))
  }

  private checkpoint(group: string): Effect.Effect<void, SqlError | Trouble> {
    const { database, keep, replica } = this
    return Effect.gen(function* () {
      const stored = replica.held.stored(group)
      if (stored === undefined) return
      const { over, own, revision } = stored
      const difference = yield* Slices.steps(replica.loop, GroupDifference.between(ResourceGroup.empty, { over, own }))
      const body = yield* Slices.steps(replica.loop, GroupDifference.encode(difference))
      if (Either.isLeft(body)) return
      yield* Transaction.run(
        database,
        "write",
        Log.insertCheckpoint(database, replica.loop, revision, group, body.right)
      )
      replica.checkpointed(group, body.right.length)
      yield* Transaction.run(
        database,
        "write",
        Effect.zipRight(Log.head(database, true), Log.compact(database, group, keep))
      )
    })
  }

  private forget(): Effect.Effect<void, SqlError | Trouble> {
    const { database, replica } = this
    if (replica.revision - this.checkedAt <= keepCleared / 10) return Effect.void
    this.checkedAt = replica.revision
    return Transaction.run(
      database,
      "write",
      Effect.zipRight(Log.head(database, true), Log.forgetCleared(database, replica.revision - keepCleared))
    )
  }
}
