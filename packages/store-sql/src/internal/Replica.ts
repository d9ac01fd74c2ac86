/**
 * What this process has of the database: the groups in memory, and the revision that they are of. It only ever goes forward:
 * a database that is not a continuation of it is not followed.
 *
 * One at a time may use it: changes are applied in the order of their revisions.
 */
import * as ResourceGroup from "@effect-xds/core/resource/ResourceGroup"
import type * as Steps from "@effect-xds/core/Steps"
import * as HeldGroups from "@effect-xds/server/HeldGroups"
import type { InvalidInForce } from "@effect-xds/server/InvalidInForce"
import type { InvalidResource } from "@effect-xds/server/StoreError"
import type * as EventLoop from "@effect-xds/transport/EventLoop"
import * as Slices from "@effect-xds/transport/Slices"
import type { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import type { Database } from "../Database.js"
import type * as GroupDifference from "./GroupDifference.js"
import * as Log from "./Log.js"
import * as States from "./States.js"
import * as Transaction from "./Transaction.js"
import { Trouble } from "./Trouble.js"

/** The log of a group since its last checkpoint. */
export interface Since {
  readonly changes: number
  readonly bytes: number
  /** The size of the checkpoint, or of the group's first change. */
  readonly base: number
}

const diverged = (detail: string): Trouble =>
  new Trouble({
    kind: "Diverged",
    detail: `${detail}; this process serves what it has and writes nothing: restart it to take what the database has`
  })

const noResources = function* (): Steps.Steps<object> {
  return ResourceGroup.empty
}

export class Replica {
  /** Of the last change that was applied. */
  revision = 0
  private chain = ""
  private store: string | undefined
  private readonly since = new Map<string, Since>()

  constructor(
    private readonly database: Database,
    readonly held: HeldGroups.HeldGroups,
    readonly loop: EventLoop.Service,
    /** Told when a group goes over another one. */
    private readonly layered: (before: string | undefined, over: string | undefined) => void,
    /** What breaks rules and is served. */
    readonly inForce: InvalidInForce
  ) {}

  /** The chain after the last change that was applied. */
  get digest(): string {
    return this.chain
  }

  /** The log of a group since its last checkpoint; `undefined`: it is not set. */
  sinceCheckpoint(group: string): Since | undefined {
    return this.since.get(group)
  }

  /** A checkpoint of this size was written. */
  checkpointed(group: string, size: number): void {
    if (this.since.has(group)) this.since.set(group, { changes: 0, bytes: 0, base: size })
  }

  /** Whether the database is as this process left it, or goes on from there. */
  private check(head: Log.Head): Effect.Effect<void, Trouble> {
    const lost = this.database.lost?.()
    if (lost !== undefined) return Effect.fail(diverged(lost))
    if (this.store !== undefined && head.store !== this.store)
      return Effect.fail(diverged("it is another database than before"))
    if (head.revision < this.revision)
      return Effect.fail(
        diverged(`it is at revision ${head.revision}, and this process has ${this.revision}: the database lost changes`)
      )
    if (head.revision === this.revision && this.store !== undefined && head.chain !== this.chain)
      return Effect.fail(
        diverged(`its revision ${head.revision} is not the one that this process has: it lost changes`)
      )
    return Effect.void
  }

  /**
   * Applies what is new in the database. `isLocked`: in a transaction that holds the head.
   *
   * Returns whether there was something.
   */
  catchUp(head: Log.Head, isLocked: boolean): Effect.Effect<boolean, SqlError | Trouble> {
    return Effect.flatMap(this.check(head), () => {
      if (this.store === undefined || head.floor > this.revision) {
        const load = this.load(head)
        return Effect.as(
          isLocked
            ? load
            : Transaction.run(
                this.database,
                "read",
                Effect.flatMap(Log.head(this.database, false), (now) => this.load(now))
              ),
          true
        )
      }
      return head.revision === this.revision ? Effect.succeed(false) : Effect.as(this.follow(head), true)
    })
  }

  private follow(head: Log.Head): Effect.Effect<void, SqlError | Trouble> {
    const { database } = this
    return Effect.whileLoop({
      while: () => this.revision < head.revision,
      body: () =>
        Effect.flatMap(Log.after(database, this.revision), (rows) =>
          rows.length === 0
            ? Effect.fail(new Trouble({ kind: "Away", detail: Log.gone }))
            : Effect.forEach(rows, (row) => this.next(row), { discard: true })
        ),
      step: () => undefined
    })
  }

  /** Applies the next row of the log. */
  private next(row: Log.Row): Effect.Effect<void, SqlError | Trouble> {
    if (row.revision !== this.revision + 1) return Effect.fail(new Trouble({ kind: "Away", detail: Log.gone }))
    if (row.chain !== Log.chainOf(this.chain, row.digest))
      return Effect.fail(
        diverged(
          `its revision ${row.revision} does not follow the one that this process has: the database lost changes`
        )
      )
    const before = this.held.stored(row.group)?.own
    return Effect.flatMap(States.afterChange(this.database, this.loop, before, row), (state) => this.apply(row, state))
  }

  /**
   * Makes a change visible, in steps if it is large; nobody sees a part of it. `invalid`: resources of it that break rules, if it was
   * checked here.
   */
  apply(
    row: Omit<Log.Row, "body">,
    state: GroupDifference.State | undefined,
    invalid: ReadonlyArray<InvalidResource> = []
  ): Effect.Effect<void> {
    const { group, revision } = row
    const before = this.held.stored(group)
    const differences =
      state === undefined ? Effect.void : Slices.steps(this.loop, findDifferences(before?.own, state.own))
    return Effect.zipRight(
      differences,
      Effect.suspend(() => {
        const rest = state === undefined ? this.held.clear(group) : this.held.put({ group, revision, ...state })
        this.layered(before?.over, state?.over)
        this.inForce.changed(group, state?.own ?? ResourceGroup.empty, invalid)
        this.revision = revision
        this.chain = row.chain
        this.count(group, state === undefined ? undefined : row.size)
        return rest === undefined ? Effect.void : Slices.steps(this.loop, rest)
      })
    ).pipe(Effect.asVoid, Effect.uninterruptible)
  }

  private count(group: string, size: number | undefined): void {
    const since = this.since.get(group)
    if (size === undefined) this.since.delete(group)
    else if (since === undefined) this.since.set(group, { changes: 0, bytes: 0, base: size })
    else this.since.set(group, { ...since, changes: since.changes + 1, bytes: since.bytes + size })
  }

  /** Reads every group anew. In a transaction, so that all are of one revision. */
  private load(head: Log.Head): Effect.Effect<void, SqlError | Trouble> {
    const { database, loop } = this
    return Effect.gen(this, function* () {
      const states = new Map<string, GroupDifference.State & { readonly revision: number }>()
      const since = new Map<string, Since>()
      for (let from = 0; ;) {
        const rows = yield* Log.checkpoints(database, from)
        for (const row of rows) {
          states.set(row.group, { ...(yield* States.ofCheckpoint(database, loop, row)), revision: row.revision })
          since.set(row.group, { changes: 0, bytes: 0, base: row.size })
        }
        const last = rows.at(-1)
        if (last === undefined) break
        from = last.revision
      }
      let chain = head.chain
      for (let from = 0; ;) {
        const rows = yield* Log.afterCheckpoints(database, from)
        for (const row of rows) {
          const state = yield* States.afterChange(database, loop, states.get(row.group)?.own, row)
          const old = since.get(row.group)
          if (state === undefined) {
            states.delete(row.group)
            since.delete(row.group)
          } else {
            states.set(row.group, { ...state, revision: row.revision })
            since.set(
              row.group,
              old === undefined
                ? { changes: 0, bytes: 0, base: row.size }
                : { ...old, changes: old.changes + 1, bytes: old.bytes + row.size }
            )
          }
          if (row.revision === head.revision) chain = row.chain
        }
        const last = rows.at(-1)
        if (last === undefined) break
        from = last.revision
      }
      if (chain !== head.chain)
        return yield* Effect.fail(
          new Trouble({ kind: "Damaged", detail: "its last change and its head differ; restore it from a backup" })
        )
      yield* Effect.uninterruptible(this.replaceAll(states))
      this.since.clear()
      for (const [group, counted] of since) this.since.set(group, counted)
      this.revision = head.revision
      this.chain = head.chain
      this.store = head.store
    })
  }

  /**
   * Clients that are connected continue from what they have: every group is made from the one before. A group follows the one that
   * it is over, so what is above it meanwhile, by the old layers or the new ones, is never below it, too.
   */
  private replaceAll(
    states: ReadonlyMap<string, GroupDifference.State & { readonly revision: number }>
  ): Effect.Effect<void, Trouble> {
    const { held, inForce, layered, loop } = this
    return Effect.gen(function* () {
      for (const group of held.names()) {
        if (states.has(group)) continue
        layered(held.stored(group)?.over, undefined)
        inForce.changed(group, ResourceGroup.empty, [])
        yield* Slices.steps(loop, held.clear(group) ?? noResources())
      }
      for (const group of baseFirst(states)) {
        const state = states.get(group)
        if (state === undefined) continue
        const { over, own, revision } = state
        const before = held.stored(group)
        if (before !== undefined && before.revision === revision) continue
        let next = own
        if (before !== undefined) {
          const versions = Object.fromEntries(Array.from(own.sets, ([typeUrl, { version }]) => [typeUrl, version]))
          const made = yield* Slices.steps(loop, ResourceGroup.replacing(before.own, ResourceGroup.all(own), versions))
          if (Either.isLeft(made))
            return yield* Effect.fail(new Trouble({ kind: "Damaged", detail: made.left.message }))
          next = made.right
        }
        yield* Slices.steps(loop, findDifferences(before?.own, next))
        yield* Slices.steps(loop, held.put({ group, revision, own: next, over }) ?? noResources())
        layered(before?.over, over)
        inForce.changed(group, next, [])
      }
    })
  }
}

/** The groups, and those that they are over though they are not set: each after the one that it is over. */
const baseFirst = function* (states: ReadonlyMap<string, GroupDifference.State>): Generator<string, void> {
  const seen = new Set<string>()
  for (const start of states.keys()) {
    const down: Array<string> = []
    for (let name: string | undefined = start; name !== undefined && !seen.has(name); name = states.get(name)?.over) {
      seen.add(name)
      down.push(name)
    }
    yield* down.reverse()
  }
}

const findDifferences = function* (
  before: ResourceGroup.ResourceGroup | undefined,
  next: ResourceGroup.ResourceGroup
): Steps.Steps<object> {
  yield* before === undefined ? HeldGroups.findLists(next) : HeldGroups.findDifferences(before, next)
  return next
}
