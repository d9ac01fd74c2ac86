/**
 * Writes changes, in the order of the calls for a group, many in one transaction. In it the head is locked and everything
 * before is applied, so a change is made from the state that it will follow.
 */
import * as ResourceGroup from "@effect-xds/core/resource/ResourceGroup"
import * as ResourceSet from "@effect-xds/core/resource/ResourceSet"
import type * as Steps from "@effect-xds/core/Steps"
import type * as HeldGroups from "@effect-xds/server/HeldGroups"
import { SnapshotError } from "@effect-xds/server/Snapshot"
import * as StoreError from "@effect-xds/server/StoreError"
import * as Slices from "@effect-xds/transport/Slices"
import type { SqlError } from "@effect/sql/SqlError"
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as FiberId from "effect/FiberId"
import type * as Scope from "effect/Scope"
import { Buffer } from "node:buffer"
import { randomUUID } from "node:crypto"
import type { Database } from "../Database.js"
import * as SqlStoreMetrics from "../SqlStoreMetrics.js"
import * as GroupDifference from "./GroupDifference.js"
import * as Log from "./Log.js"
import * as Monotonic from "./Monotonic.js"
import type { Replica } from "./Replica.js"
import * as Transaction from "./Transaction.js"
import { of as troubleOf, orDefect, Trouble } from "./Trouble.js"

/** What a call makes of a group; `undefined`: it is cleared. */
export interface Next {
  readonly state: GroupDifference.State | undefined
  /** All names that may differ; absent: everything is compared. */
  readonly names?: GroupDifference.Names | undefined
}

/** A call, ready to be applied. */
export interface Prepared<E> {
  /** Changes the group in steps; must not fail but by its result. */
  readonly change: (before: HeldGroups.Stored | undefined) => Steps.Steps<Either.Either<Next, E>>
  /** Whether the next state may be; absent: it may. Asked with all that is before applied. */
  readonly check?: ((next: GroupDifference.State) => Effect.Effect<void, E>) | undefined
  /** Resources of the call that break rules, and are served all the same; absent: there are none. */
  readonly invalid?: ReadonlyArray<StoreError.InvalidResource> | undefined
}

export interface Call {
  readonly group: string
  readonly ifRevision: number | undefined
  readonly author: string
  readonly note: string
}

export type Failure = StoreError.UpdateError

interface Waiting extends Call {
  prepared: Prepared<Failure> | undefined
  /** In a transaction: it cannot be taken back. */
  isTaken: boolean
  /** A transaction with it ended without an answer: the token says whether it took place. */
  isUncertain: boolean
  /** The database refused a transaction with it and others: it is written by itself, so that only one of them fails. */
  isSuspect: boolean
  readonly token: string
  /** By the clock that does not jump. */
  readonly until: number
  readonly done: Deferred.Deferred<HeldGroups.Stored | undefined, Failure>
}

interface Staged {
  readonly waiting: Waiting
  readonly row: Omit<Log.Row, "parts" | "body">
  readonly body: Buffer
  readonly state: GroupDifference.State | undefined
}

export interface Options {
  /** Milliseconds that a call waits for the database. */
  readonly timeout: number
  readonly maxWaiting: number
  readonly maxGroups: number
  readonly maxResourcesPerGroup: number
  /** The process may not write; why not. */
  readonly fenced: (head: Log.Head) => string | undefined
}

/** The most changes of a transaction, and about the most bytes. */
const mostChanges = 256
const mostBytes = 4_194_304

const noBytes = Buffer.alloc(0)

const sizeOf = ({ own }: GroupDifference.State): number => {
  let size = 0
  for (const set of own.sets.values()) size += ResourceSet.size(set)
  return size
}

const closed = (group: string): StoreError.StoreUnavailable =>
  new StoreError.StoreUnavailable({ group, detail: "it was closed; open it again" })

const illFormed = (text: string): SnapshotError =>
  new SnapshotError({
    reason: "Invalid",
    typeUrl: "",
    name: "",
    detail: `the text ${JSON.stringify(text.slice(0, 100))} is not well-formed Unicode; mend it`
  })

export class Writer {
  private readonly queue: Array<Waiting> = []
  private readonly wake = Effect.unsafeMakeLatch(false)
  private isClosed = false
  /** Whether the last attempt failed. */
  private hasFailed = false

  constructor(
    private readonly database: Database,
    private readonly replica: Replica,
    /** Holds the replica for a piece of work. */
    private readonly alone: <A, E>(work: Effect.Effect<A, E>) => Effect.Effect<A, E>,
    /** Told the trouble of an attempt, and its absence. */
    private readonly report: (trouble: Trouble | undefined) => Effect.Effect<void>,
    /** Called after every transaction, with the groups that changed. */
    private readonly written: (groups: ReadonlyArray<string>) => Effect.Effect<void>,
    private readonly options: Options
  ) {}

  /** Enqueues a call, prepares it, and waits until it is applied. */
  call(
    call: Call,
    prepare: Effect.Effect<Prepared<Failure>, Failure>
  ): Effect.Effect<HeldGroups.Stored | undefined, Failure> {
    // Effect may yield anywhere: a call that is interrupted between its place in the queue and what takes it out again would stay.
    return Effect.uninterruptibleMask((restore) =>
      Effect.flatMap(Monotonic.now, (now) => {
        const { group } = call
        if (this.isClosed) return Effect.fail(closed(group))
        if (this.queue.length >= this.options.maxWaiting) {
          const detail = `${this.queue.length} writes wait for it; write less at once`
          return Effect.fail(new StoreError.StoreUnavailable({ group, detail }))
        }
        const waiting: Waiting = {
          ...call,
          prepared: undefined,
          isTaken: false,
          isUncertain: false,
          isSuspect: false,
          token: randomUUID(),
          until: now + this.options.timeout,
          done: Deferred.unsafeMake(FiberId.none)
        }
        this.queue.push(waiting)
        const leave = Effect.suspend(() => {
          // A change in a transaction takes place or not: its outcome is awaited.
          if (waiting.isTaken || waiting.isUncertain) return Effect.exit(Deferred.await(waiting.done))
          this.remove(waiting)
          return Effect.void
        })
        return Effect.onInterrupt(
          restore(
            Effect.flatMap(
              Effect.onError(prepare, () => Effect.sync(() => this.remove(waiting))),
              (prepared) => {
                waiting.prepared = prepared
                this.wake.unsafeOpen()
                return Deferred.await(waiting.done)
              }
            )
          ),
          () => leave
        )
      })
    )
  }

  /** Writes what is called, until the scope closes; then calls that wait fail. */
  get run(): Effect.Effect<void, never, Scope.Scope> {
    const loop = Effect.forever(
      Effect.zipRight(
        this.wake.await,
        Effect.suspend(() => {
          this.wake.unsafeClose()
          return this.drain(0)
        })
      )
    )
    const close = Effect.suspend(() => {
      this.isClosed = true
      return Effect.forEach(this.queue.splice(0), (each) => Deferred.fail(each.done, closed(each.group)), {
        discard: true
      })
    })
    return Effect.zipRight(
      Effect.addFinalizer(() => close),
      Effect.asVoid(Effect.forkScoped(loop))
    )
  }

  /** Whether calls wait that could not be written. */
  get isInVain(): boolean {
    return this.hasFailed && this.queue.length > 0
  }

  private remove(waiting: Waiting): void {
    const place = this.queue.indexOf(waiting)
    if (place >= 0) this.queue.splice(place, 1)
    // Others of its group may have waited for it.
    this.wake.unsafeOpen()
  }

  /** The calls that may be applied now: of each group the first, if it is prepared; a suspect alone. */
  private take(): ReadonlyArray<Waiting> {
    const seen = new Set<string>()
    const taken: Array<Waiting> = []
    for (const waiting of this.queue) {
      if (seen.has(waiting.group)) continue
      seen.add(waiting.group)
      if (waiting.prepared === undefined) continue
      if (waiting.isSuspect && taken.length > 0) break
      taken.push(waiting)
      if (waiting.isSuspect || taken.length === mostChanges) break
    }
    return taken
  }

  private drain(failures: number): Effect.Effect<void> {
    const taken = this.take()
    if (taken.length === 0) return Effect.void
    for (const waiting of taken) waiting.isTaken = true
    return Effect.flatMap(
      Effect.either(orDefect(Effect.uninterruptible(this.alone(this.attempt(taken))))),
      (attempted) => {
        for (const waiting of taken) waiting.isTaken = false
        if (Either.isRight(attempted)) {
          this.hasFailed = false
          return this.drain(0)
        }
        const trouble = attempted.left
        this.hasFailed = trouble.kind !== "Busy" && trouble.kind !== "Refused"
        // It is not away: the next attempt is another one.
        if (trouble.kind === "Refused") return Effect.flatMap(this.failed(taken, trouble), () => this.drain(0))
        return Effect.flatMap(this.failed(taken, trouble), () =>
          Effect.zipRight(Effect.sleep(Math.min(250, 2 ** failures)), this.drain(Math.min(failures + 1, 10)))
        )
      }
    )
  }

  /** After an attempt that failed: those whose time is over get an error, the others are tried again. */
  private failed(taken: ReadonlyArray<Waiting>, trouble: Trouble): Effect.Effect<void> {
    if (trouble.kind === "Refused" && taken.length > 1) {
      for (const waiting of taken) waiting.isSuspect = true
      return Effect.void
    }
    return Effect.flatMap(Monotonic.now, (now) => {
      const over = taken.filter(({ until }) => (trouble.kind !== "Away" && trouble.kind !== "Busy") || now >= until)
      const fail = (waiting: Waiting): Effect.Effect<void> => {
        if (!this.queue.includes(waiting)) return Effect.void
        this.remove(waiting)
        SqlStoreMetrics.failed.unsafeUpdate(1, [])
        const doubt = waiting.isUncertain
          ? " (its answer was lost: see the group's history whether the change is there)"
          : ""
        const detail = `${this.database.name}: ${trouble.detail}${doubt}`
        return Effect.asVoid(
          Deferred.fail(
            waiting.done,
            new StoreError.StoreUnavailable({ group: waiting.group, detail, isUnknown: waiting.isUncertain })
          )
        )
      }
      return Effect.zipRight(
        trouble.kind === "Busy" || trouble.kind === "Refused" ? Effect.void : this.report(trouble),
        Effect.zipRight(this.askOf(over), Effect.forEach(over, fail, { discard: true }))
      )
    })
  }

  /**
   * Settles what is uncertain, if a file can still be read: a full disk is told at COMMIT, and says nothing about the change. A
   * server that went away at COMMIT would only be waited for.
   */
  private askOf(over: ReadonlyArray<Waiting>): Effect.Effect<void> {
    const { database, replica } = this
    const uncertain = over.filter(({ isUncertain }) => isUncertain)
    if (uncertain.length === 0 || database.dialect !== "sqlite") return Effect.void
    const body = Effect.gen(this, function* () {
      yield* replica.catchUp(yield* Log.head(database, true), true)
      yield* this.afterUncertain(uncertain)
    })
    return Effect.ignore(orDefect(Effect.uninterruptible(this.alone(Transaction.run(database, "write", body)))))
  }

  private answer(waiting: Waiting, result: Either.Either<HeldGroups.Stored | undefined, Failure>): void {
    const place = this.queue.indexOf(waiting)
    if (place >= 0) this.queue.splice(place, 1)
    Deferred.unsafeDone(waiting.done, result)
  }

  /** One transaction. */
  private attempt(taken: ReadonlyArray<Waiting>): Effect.Effect<void, Trouble> {
    const { database, replica } = this
    let atStake: ReadonlyArray<Staged> = []
    const body = Effect.gen(this, function* () {
      const head = yield* Log.head(database, true)
      yield* replica.catchUp(head, true)
      const rest = yield* this.afterUncertain(taken)
      const fence = this.options.fenced(head)
      if (fence !== undefined) {
        for (const waiting of rest) {
          this.answer(waiting, Either.left(new StoreError.Fenced({ group: waiting.group, detail: fence })))
        }
        return []
      }
      const at = yield* Clock.currentTimeMillis
      const staged = yield* this.stage(rest, head, at)
      if (staged.length > 0) {
        yield* Log.append(database, replica.loop, staged)
        yield* Effect.mapError(database.notify, (cause) => new Trouble({ kind: "Away", detail: String(cause) }))
      }
      atStake = staged
      return staged
    })
    const onCommit = (): void => {
      for (const { waiting } of atStake) waiting.isUncertain = true
    }
    return Effect.gen(this, function* () {
      const staged = yield* Effect.catchTag(
        Transaction.run(database, "write", body, onCommit),
        "SqlError",
        (error: SqlError) => Effect.fail(troubleOf(error))
      )
      for (const { row, state, waiting } of staged) {
        yield* replica.apply({ ...row, parts: 0 }, state, waiting.prepared?.invalid)
        this.answer(waiting, Either.right(replica.held.stored(row.group)))
      }
      SqlStoreMetrics.written.unsafeUpdate(staged.length, [])
      yield* this.report(undefined)
      yield* this.written(staged.map(({ row }) => row.group))
    })
  }

  /** Settles the calls whose earlier transaction took place; returns the others. */
  private afterUncertain(taken: ReadonlyArray<Waiting>): Effect.Effect<ReadonlyArray<Waiting>, SqlError> {
    const tokens = taken.filter(({ isUncertain }) => isUncertain).map(({ token }) => token)
    return Effect.map(Log.ofTokens(this.database, tokens), (found) =>
      taken.filter((waiting) => {
        // The head is locked: what is not there now will never be.
        waiting.isUncertain = false
        if (!found.has(waiting.token)) return true
        this.answer(waiting, Either.right(this.replica.held.stored(waiting.group)))
        return false
      })
    )
  }

  /** Makes the changes. A call that is refused, or changes nothing, is settled here. */
  private stage(taken: ReadonlyArray<Waiting>, head: Log.Head, at: number): Effect.Effect<ReadonlyArray<Staged>> {
    const { held, loop } = this.replica
    return Effect.gen(this, function* () {
      const staged: Array<Staged> = []
      let { chain, revision } = head
      let bytes = 0
      let groups = held.size()
      for (const waiting of taken) {
        const { author, group, note, prepared, token } = waiting
        if (prepared === undefined) continue
        const before = held.stored(group)
        const actual = before?.revision ?? 0
        const expected = waiting.ifRevision
        if (expected !== undefined && expected !== actual) {
          this.answer(waiting, Either.left(new StoreError.Conflict({ group, expected, actual })))
          continue
        }
        const made = yield* Slices.steps(loop, prepared.change(before))
        if (Either.isLeft(made)) {
          this.answer(waiting, Either.left(made.left))
          continue
        }
        const { names, state } = made.right
        // What is checked depends on other groups, or they on it: the change is alone.
        const isAlone = prepared.check !== undefined || this.isOfLayers(group, before, state)
        if (isAlone && staged.length > 0) break
        const refused = state && this.refusalOf(group, state, before === undefined ? groups + 1 : groups)
        if (refused !== undefined) {
          this.answer(waiting, Either.left(refused))
          continue
        }
        const checked = state && prepared.check && (yield* Effect.either(prepared.check(state)))
        if (checked !== undefined && Either.isLeft(checked)) {
          this.answer(waiting, Either.left(checked.left))
          continue
        }
        const difference =
          state &&
          (yield* Slices.steps(loop, GroupDifference.between(before?.own ?? ResourceGroup.empty, state, names)))
        const isSame =
          before === undefined ? state === undefined : difference?.types.length === 0 && state?.over === before.over
        if (isSame) {
          this.answer(waiting, Either.right(before))
          continue
        }
        const encoded = difference && (yield* Slices.steps(loop, GroupDifference.encode(difference)))
        if (encoded !== undefined && Either.isLeft(encoded)) {
          this.answer(waiting, Either.left(illFormed(encoded.left)))
          continue
        }
        const body = encoded?.right ?? noBytes
        const counts = difference === undefined ? { upserts: 0, removals: 0 } : GroupDifference.counts(difference)
        const entry: Log.Entry = {
          revision: ++revision,
          group,
          kind: state === undefined ? "clear" : "put",
          at,
          epoch: head.epoch,
          author,
          note,
          token,
          ...counts
        }
        const { digest } = yield* Slices.steps(loop, Log.digestOf(entry, body))
        chain = Log.chainOf(chain, digest)
        staged.push({ waiting, body, state, row: { ...entry, digest, chain, size: body.length } })
        if (before === undefined && state !== undefined) groups++
        bytes += body.length
        if (isAlone || bytes > mostBytes) break
      }
      return staged
    })
  }

  /** Whether a change is one of layers, or of the version of the API in a group that has layers. */
  private isOfLayers(
    group: string,
    before: HeldGroups.Stored | undefined,
    state: GroupDifference.State | undefined
  ): boolean {
    if (state?.over !== before?.over) return true
    const hasLayers = state?.over !== undefined || this.replica.held.isBelow(group)
    return hasLayers && state?.own.api !== before?.own.api
  }

  private refusalOf(group: string, state: GroupDifference.State, groups: number): Failure | undefined {
    const { maxGroups, maxResourcesPerGroup } = this.options
    const { held } = this.replica
    const cycle = held.cycleOf(group, state.over)
    if (cycle !== undefined) return cycle
    const mix = held.mixOf(group, state.over, state.own)
    if (mix !== undefined) return mix
    if (groups > maxGroups && held.stored(group) === undefined)
      return new StoreError.LimitExceeded({ limit: "maxGroups", group, size: groups, maximum: maxGroups })
    const size = sizeOf(state)
    return size > maxResourcesPerGroup
      ? new StoreError.LimitExceeded({ limit: "maxResourcesPerGroup", group, size, maximum: maxResourcesPerGroup })
      : undefined
  }
}
