/**
 * A store that outlives its process, and that several processes share: a log of changes and checkpoints in SQLite or
 * PostgreSQL. The groups are in memory, as in the store in memory; the database is never on the path of an answer to a
 * client. While it is away serving goes on, and writes fail.
 *
 * @since 0.1.0
 */
import * as ResourceGroup from "@effect-xds/core/resource/ResourceGroup"
import type * as Steps from "@effect-xds/core/Steps"
import * as GroupChecker from "@effect-xds/server/GroupChecker"
import { GroupSource } from "@effect-xds/server/GroupSource"
import * as HeldGroups from "@effect-xds/server/HeldGroups"
import { InvalidInForce } from "@effect-xds/server/InvalidInForce"
import * as Snapshot from "@effect-xds/server/Snapshot"
import * as SnapshotStore from "@effect-xds/server/SnapshotStore"
import * as StoreError from "@effect-xds/server/StoreError"
import * as Validator from "@effect-xds/server/Validator"
import * as BadOption from "@effect-xds/transport/BadOption"
import * as EventLoop from "@effect-xds/transport/EventLoop"
import { SqlError } from "@effect/sql/SqlError"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import { hostname } from "node:os"
import type { Database } from "./Database.js"
import { Housekeeper } from "./internal/Housekeeper.js"
import * as Log from "./internal/Log.js"
import * as Monotonic from "./internal/Monotonic.js"
import { Replica } from "./internal/Replica.js"
import * as Schema from "./internal/Schema.js"
import * as States from "./internal/States.js"
import * as Transaction from "./internal/Transaction.js"
import { of as troubleOf, orDefect } from "./internal/Trouble.js"
import type { Trouble } from "./internal/Trouble.js"
import { Writer } from "./internal/Writer.js"
import type { Call, Next, Prepared } from "./internal/Writer.js"
import { OpenError, RevisionNotFound } from "./OpenError.js"
import * as SqlStoreMetrics from "./SqlStoreMetrics.js"

/**
 * Options and limits of a store on SQL.
 *
 * @since 0.1.0
 */
export interface Options extends SnapshotStore.Options {
  /**
   * Who may write.
   *
   * - `shared`: every process; each change follows the one before, whoever made it
   * - `exclusive`: this one takes the right from all others, whose writes fail with `Fenced` from then on
   *
   * Default: `shared`.
   */
  readonly writers?: "shared" | "exclusive" | undefined
  /** The name of this process in histories and errors. Default: `<host name>:<process id>`. */
  readonly process?: string | undefined
  /** How long opening tries to reach the database. Default: 10 seconds. */
  readonly openTimeout?: Duration.DurationInput | undefined
  /** How long a write tries to reach the database, before it fails with `StoreUnavailable`. Default: 5 seconds. */
  readonly writeTimeout?: Duration.DurationInput | undefined
  /** How often the database is looked at without being told; 1 ms or more. Default: 1 second. */
  readonly interval?: Duration.DurationInput | undefined
  /** The most writes that wait; 1 or more. Default: 10 000. */
  readonly maxWaiting?: number | undefined
  /** The changes of each group that its history keeps at least. Default: 1 000. */
  readonly history?: number | undefined
}

/**
 * Whether the database is followed.
 *
 * @since 0.1.0
 */
export interface Status {
  /** The database, without secrets. */
  readonly database: string
  /** The revision that this process has applied, and serves. */
  readonly revision: number
  /** Why it cannot be followed, and since when, as Unix time in milliseconds; `undefined`: it is followed. */
  readonly trouble: { readonly since: number; readonly detail: string } | undefined
}

/**
 * A change in a group's history.
 *
 * @since 0.1.0
 */
export interface HistoryEntry {
  readonly group: string
  readonly revision: number
  /** Unix time in milliseconds, by the clock of the process that made it. */
  readonly at: number
  /** `clear`: the group was cleared. */
  readonly kind: "put" | "clear"
  readonly author: string
  /** Empty: none was given. */
  readonly note: string
  /** Resources that were added or changed. */
  readonly upserts: number
  readonly removals: number
}

/**
 * A store on SQL: what every store does, and its history.
 *
 * @since 0.1.0
 */
export interface Service extends SnapshotStore.Store {
  readonly broken: NonNullable<SnapshotStore.Service["broken"]>
  readonly reports: NonNullable<SnapshotStore.Service["reports"]>
  readonly status: Effect.Effect<Status>
  /** The changes of a group, the latest first. */
  readonly history: (
    group: string,
    options?: {
      /** Only changes before this revision. Default: all. */
      readonly before?: number | undefined
      /** The most changes. Default: 100. */
      readonly limit?: number | undefined
    }
  ) => Effect.Effect<ReadonlyArray<HistoryEntry>, StoreError.StoreUnavailable>
  /** The own resources of a group as they were at a revision of the store. */
  readonly at: (
    group: string,
    revision: number
  ) => Effect.Effect<Pick<HeldGroups.Stored, "own" | "over">, RevisionNotFound | StoreError.StoreUnavailable>
  /** Sets a group to what it was at a revision: a new change, which can be rolled back itself. */
  readonly rollback: (
    group: string,
    revision: number,
    options?: SnapshotStore.WriteOptions
  ) => Effect.Effect<HeldGroups.Stored, RevisionNotFound | StoreError.SetError>
}

/**
 * The service tag of a store on SQL.
 *
 * @since 0.1.0
 */
export class SqlStore extends Context.Tag("@effect-xds/store-sql/SqlStore")<SqlStore, Service>() {}

const noOptions: SnapshotStore.WriteOptions = {}

const nothing: Validator.Validated = { resources: [], places: new Map(), invalid: [] }

/** The most changes that are read at once: what both databases take as a limit. */
const mostEntries = 2 ** 31 - 1

/** A number as the databases take it; `usual`: where it is NaN. */
const whole = (given: number, usual: number, most: number = Number.MAX_SAFE_INTEGER): number =>
  Number.isNaN(given) ? usual : Math.min(Math.max(0, Math.floor(given)), most)

/** After every revision. */
const latest = Number.MAX_SAFE_INTEGER

const usualHistory = 1_000
const usualEntries = 100

/** UTF-16 code units of an author and a note. */
const mostOfAuthor = 256
const mostOfNote = 4_096

/** What every database can hold as text. */
const plain = (text: string, most: number): string => text.slice(0, most).replaceAll(/\p{Surrogate}|\0/gu, "\ufffd")

const versionsOf = (own: ResourceGroup.ResourceGroup): Readonly<Record<string, string>> =>
  Object.fromEntries(Array.from(own.sets, ([typeUrl, { version }]) => [typeUrl, version]))

const toTrouble = (error: SqlError | Trouble): Trouble => (error instanceof SqlError ? troubleOf(error) : error)

/** Tries again while the database is away or busy, until this time. */
const insisting =
  (until: number) =>
  <A, R>(work: Effect.Effect<A, Trouble, R>): Effect.Effect<A, Trouble, R> =>
    Effect.retry(work, {
      while: ({ kind }) =>
        kind !== "Away" && kind !== "Busy"
          ? Effect.succeed(false)
          : Effect.as(Effect.sleep(100), true).pipe(Effect.zipRight(Effect.map(Monotonic.now, (now) => now < until)))
    })

/** What is wrong with the options; `undefined`: nothing. */
const wrongOption = (options: Options): string | undefined => {
  if (!(BadOption.milliseconds(options.interval ?? "1 second") >= 1)) {
    return "interval must be 1 ms or more: the database is looked at as often"
  }
  const least = { maxWaiting: 1, history: 0, maxGroups: 0, maxResourcesPerGroup: 0, openTimeout: 0, writeTimeout: 0 }
  return (BadOption.find(options, least) ?? Validator.wrongWith(options.validate))?.message
}

/** The head, outside of a transaction. It is one row: a database that does not give it in 10 s gives nothing. */
const headOf = (database: Database) => Transaction.within(database, 10_000, Log.head(database, false))

/** Milliseconds in which the right to write is given back. */
const givingBack = 2_000

/**
 * Opens a store: makes its tables if they are not there, and reads every group.
 *
 * @since 0.1.0
 */
export const make = (database: Database, options: Options = {}): Effect.Effect<Service, OpenError, Scope.Scope> =>
  Effect.gen(function* () {
    const wrong = wrongOption(options)
    if (wrong !== undefined) {
      return yield* Effect.fail(new OpenError({ reason: "BadOption", database: database.name, detail: wrong }))
    }
    const loop = yield* EventLoop.guarded
    const held = yield* HeldGroups.make
    const validation = Validator.optionsOf(options.validate)
    const checker = yield* GroupChecker.make(held, validation)
    const inForce = new InvalidInForce()
    const replica = new Replica(database, held, loop, checker.layered, inForce)
    const mutex = Effect.unsafeMakeSemaphore(1)
    const alone = mutex.withPermits(1)
    const validator = Validator.make(validation)
    const name = plain(options.process ?? `${hostname()}:${process.pid}`, mostOfAuthor)
    let trouble: Status["trouble"]

    const report = (found: Pick<Trouble, "detail"> | undefined): Effect.Effect<void> =>
      Effect.flatMap(Clock.currentTimeMillis, (now) => {
        SqlStoreMetrics.revision.unsafeUpdate(replica.revision, [])
        const before = trouble
        trouble = found && { since: before?.since ?? now, detail: found.detail }
        SqlStoreMetrics.awaySince.unsafeUpdate(trouble === undefined ? 0 : trouble.since / 1000, [])
        if (before?.detail === trouble?.detail) return Effect.void
        return trouble === undefined
          ? Effect.logInfo(`the store ${database.name} is followed again, at revision ${replica.revision}`)
          : Effect.logWarning(
              `the store ${database.name} cannot be followed: ${trouble.detail}; ` +
                `revision ${replica.revision} is served meanwhile, and writes fail`
            )
      })

    /** Applies what is new. */
    const look: Effect.Effect<void, Trouble> = alone(
      Transaction.within(
        database,
        30_000,
        Effect.flatMap(headOf(database), (head) => replica.catchUp(head, false))
      )
    ).pipe(Effect.mapError(toTrouble), Effect.asVoid)

    // Opening: in each attempt everything, until the time is over.
    const until = (yield* Monotonic.now) + Duration.toMillis(options.openTimeout ?? "10 seconds")
    // The right to write comes last: whoever cannot open leaves it to others.
    const claimed = alone(claim(database, options, name, (head) => replica.catchUp(head, true)))
    const fenced = yield* Schema.prepare(database).pipe(
      Effect.mapError(toTrouble),
      Effect.zipRight(look),
      Effect.zipRight(Effect.mapError(claimed, toTrouble)),
      insisting(until),
      Effect.mapError(({ detail, kind }) => {
        const reason = kind === "Later" ? "LaterSchema" : kind === "Damaged" ? "Damaged" : "Unreachable"
        return new OpenError({ reason, database: database.name, detail })
      })
    )
    yield* report(undefined)

    const wake = Effect.unsafeMakeLatch(true)
    yield* database.listen(() => wake.unsafeOpen())
    const interval = Duration.decode(options.interval ?? "1 second")
    /** Whether writes are being tried again: a full disk can still be read, and that is no end of the trouble. */
    let isWritingInVain = (): boolean => false
    const follow = Effect.suspend(() => {
      wake.unsafeClose()
      return Effect.matchEffect(orDefect(look), {
        onFailure: (found) => report(found),
        onSuccess: () => report(isWritingInVain() ? trouble : undefined)
      })
    })
    yield* Effect.forkScoped(
      Effect.forever(Effect.zipRight(Effect.raceFirst(wake.await, Effect.sleep(interval)), follow))
    )

    const housekeeper = new Housekeeper(database, replica, whole(options.history ?? usualHistory, usualHistory))
    yield* housekeeper.run
    const writer = new Writer(database, replica, alone, report, housekeeper.look, {
      timeout: Duration.toMillis(options.writeTimeout ?? "5 seconds"),
      maxWaiting: options.maxWaiting ?? 10_000,
      maxGroups: options.maxGroups ?? 100_000,
      maxResourcesPerGroup: options.maxResourcesPerGroup ?? 1_000_000,
      fenced
    })
    isWritingInVain = () => writer.isInVain
    yield* writer.run

    const callOf = (group: string, { author, ifRevision, note }: SnapshotStore.WriteOptions): Call => ({
      group,
      ifRevision,
      author: plain(author ?? name, mostOfAuthor),
      note: plain(note ?? "", mostOfNote)
    })

    const call = (
      group: string,
      write: SnapshotStore.WriteOptions,
      prepare: Effect.Effect<Prepared<StoreError.UpdateError>, StoreError.UpdateError>
    ) => {
      const check = checker.refusing(group, write.groupRules)
      if (check === undefined) return writer.call(callOf(group, write), prepare)
      // What is there is read before the transaction, so that in it a check costs the change.
      const read = Effect.map(Effect.zip(prepare, checker.broken(group)), ([prepared]) => ({ ...prepared, check }))
      return writer.call(callOf(group, write), read)
    }

    const encode = (group: string, resources: Snapshot.Resources, { validate }: SnapshotStore.WriteOptions) =>
      Effect.suspend(() =>
        Effect.map(validator.encode(group, resources, held.stored(group)?.own, validate), (validated) => {
          checker.placed(validated.places)
          return validated
        })
      )

    const stored = (group: string) => (found: HeldGroups.Stored | undefined) =>
      found === undefined
        ? Effect.fail(new StoreError.StoreUnavailable({ group, detail: "it was cleared by another writer at once" }))
        : Effect.succeed(found)

    const unavailable = (group: string) => (error: SqlError | Trouble) =>
      new StoreError.StoreUnavailable({ group, detail: `${database.name}: ${toTrouble(error).detail}` })

    const at: Service["at"] = (group, revision) =>
      Effect.gen(function* () {
        // Databases differ in what they take a fraction for, and it is no trouble of theirs.
        const state = Number.isSafeInteger(revision) ? yield* States.at(database, loop, group, revision) : undefined
        const { revision: latest } = yield* Log.head(database, false)
        if (state !== undefined && revision <= latest) return state
        const oldest = yield* Log.oldest(database, group)
        return yield* Effect.fail(new RevisionNotFound({ group, revision, latest, oldest }))
      }).pipe(
        // One state of the database: the log may be compacted meanwhile.
        (work) => Transaction.run(database, "read", work),
        Effect.catchIf(
          (error): error is SqlError | Trouble => error._tag !== "RevisionNotFound",
          (error) => Effect.fail(unavailable(group)(error))
        )
      )

    const service: Service = {
      set: (group, snapshot, write = noOptions) =>
        call(
          group,
          write,
          Effect.map(encode(group, snapshot, write), ({ invalid, resources }) => {
            const versions = Snapshot.versionsByTypeUrl(snapshot.versions ?? {}, Snapshot.apiOf(resources))
            return { ...replacing(resources, versions, snapshot.over), invalid }
          })
        ).pipe(Effect.flatMap(stored(group)), exceptNotSet),
      update: (group, change, write = noOptions) =>
        call(
          group,
          write,
          Effect.map(
            Effect.suspend(() => {
              const malformed = Snapshot.malformedChange(change)
              if (malformed !== undefined) return malformed
              return change.upsert === undefined ? Effect.succeed(nothing) : encode(group, change.upsert, write)
            }),
            ({ invalid, resources }) => {
              const { remove, versions } = change
              const updated = updating(group, (own) => {
                const api = Snapshot.apiOf(resources, own)
                return {
                  upsert: resources,
                  remove: remove === undefined ? undefined : Snapshot.keys(remove, api),
                  versions: Snapshot.versionsByTypeUrl(versions ?? {}, api)
                }
              })
              return { ...updated, invalid }
            }
          )
        ).pipe(Effect.flatMap(stored(group))),
      clear: (group, write = noOptions) =>
        Effect.asVoid(call(group, write, Effect.succeed(clearing))).pipe(
          Effect.catchAll((error) =>
            error._tag === "Conflict" || error._tag === "Fenced" || error._tag === "StoreUnavailable"
              ? Effect.fail(error)
              : Effect.die(error)
          )
        ),
      get: (group) =>
        Effect.sync(() => {
          const found = held.stored(group)
          if (found === undefined) return Option.none()
          return Option.some(HeldGroups.withFindings(found, inForce.of(group), checker.of(group)))
        }),
      groups: Effect.sync(held.names),
      changes: held.changes,
      broken: checker.broken,
      reports: checker.reports,
      unsafeGet: held.unsafeGet,
      listen: held.listen,
      status: Effect.sync(() => ({ database: database.name, revision: replica.revision, trouble })),
      history: (group, { before = latest, limit = usualEntries } = {}) =>
        Transaction.within(
          database,
          30_000,
          Log.history(database, group, whole(Math.ceil(before), latest), whole(limit, usualEntries, mostEntries))
        ).pipe(
          Effect.map((entries) =>
            entries.map(({ at: time, author, kind, note, removals, revision, upserts }) => {
              return { group, revision, at: time, kind, author, note, upserts, removals }
            })
          ),
          Effect.mapError(unavailable(group))
        ),
      at,
      rollback: (group, revision, write = noOptions) =>
        Effect.flatMap(at(group, revision), ({ over, own }) =>
          call(
            group,
            { note: `rollback to revision ${revision}`, ...write },
            Effect.succeed(replacing(ResourceGroup.all(own), versionsOf(own), over))
          )
        ).pipe(Effect.flatMap(stored(group)), exceptNotSet)
    }
    return service
  })

/** Why this process may not write, by the head; `undefined`: it may. */
type Fenced = (head: Log.Head) => string | undefined

/**
 * Takes the right to write, until the scope closes, or notes who has it. `catchUp`: applies what is new before it is taken, in the
 * same transaction.
 */
const claim = (
  database: Database,
  { writers }: Options,
  name: string,
  catchUp: (head: Log.Head) => Effect.Effect<unknown, SqlError | Trouble>
): Effect.Effect<Fenced, SqlError | Trouble, Scope.Scope> => {
  const { sql } = database
  const heldBy = (head: Log.Head): string =>
    head.writer === undefined ? `another process took the right to write` : `${head.writer} took the right to write`
  if (writers !== "exclusive") {
    return Effect.map(headOf(database), ({ epoch, writer }): Fenced => (head) => {
      if (writer === undefined && head.epoch === epoch) return undefined
      const restart = "restart this process when it has given it up"
      const gone = head.writer === undefined ? "" : '; if it is gone, open the store once with writers: "exclusive"'
      return `${heldBy(head)} (epoch ${head.epoch}); write there, or ${restart}${gone}`
    })
  }
  const take = Effect.gen(function* () {
    const head = yield* Log.head(database, true)
    yield* catchUp(head)
    yield* sql`UPDATE xds_head SET epoch = ${head.epoch + 1}, writer = ${name} WHERE id = 1`
    return head.epoch + 1
  })
  const release = (epoch: number) =>
    Effect.flatMap(Monotonic.now, (now) =>
      Transaction.within(
        database,
        givingBack,
        Transaction.run(
          database,
          "write",
          sql`UPDATE xds_head SET writer = NULL WHERE id = 1 AND epoch = ${epoch}`
        ).pipe(
          Effect.mapError(toTrouble),
          insisting(now + givingBack),
          Effect.catchAll(({ detail }) =>
            Effect.logWarning(
              `the right to write to the store ${database.name} was not given back: ${detail}; no other process may ` +
                'write until one has opened it with writers: "exclusive"'
            )
          )
        )
      )
    )
  return Effect.map(
    // An interruption comes before it or after it: nobody else would give back what was taken.
    Effect.acquireRelease(Transaction.run(database, "write", take), release),
    (epoch): Fenced =>
      (head) =>
        head.epoch === epoch
          ? undefined
          : `${heldBy(head)} (epoch ${head.epoch}); end this process, or restart it to take it back`
  )
}

const nextOf = function* (
  work: Steps.Steps<Either.Either<ResourceGroup.ResourceGroup, ResourceGroup.ChangeError>>,
  over: string | undefined,
  names?: Next["names"]
): Steps.Steps<Either.Either<Next, ResourceGroup.ChangeError>> {
  return Either.map(yield* work, (own) => ({ state: { own, over }, names }))
}

/** Makes a group hold exactly these resources. */
const replacing = (
  resources: Iterable<Parameters<typeof ResourceGroup.replace>[1] extends Iterable<infer R> ? R : never>,
  versions: Readonly<Record<string, string>>,
  over: string | undefined
): Prepared<ResourceGroup.ChangeError> => ({
  change: (before) => nextOf(ResourceGroup.replacing(before?.own ?? ResourceGroup.empty, resources, versions), over)
})

const namesOf = ({ remove, upsert }: ResourceGroup.Change): Next["names"] => {
  const names = new Map<string, Set<string>>()
  for (const { name, typeUrl } of [...(upsert ?? []), ...(remove ?? [])]) {
    const known = names.get(typeUrl)
    if (known === undefined) names.set(typeUrl, new Set([name]))
    else known.add(name)
  }
  return names
}

/** Changes a part of a group. */
const updating = (
  group: string,
  changeOf: (own: ResourceGroup.ResourceGroup) => ResourceGroup.Change
): Prepared<ResourceGroup.ChangeError | StoreError.GroupNotSet> => ({
  change: function* (before) {
    if (before === undefined) return Either.left(new StoreError.GroupNotSet({ group }))
    const change = changeOf(before.own)
    return yield* nextOf(ResourceGroup.updating(before.own, change), before.over, namesOf(change))
  }
})

const clearing: Prepared<never> = {
  change: function* () {
    return Either.right({ state: undefined })
  }
}

/** `set` and `rollback` do not need the group to be set. */
const exceptNotSet = <A, E extends { readonly _tag: string }>(
  effect: Effect.Effect<A, E | StoreError.GroupNotSet>
): Effect.Effect<A, Exclude<E, StoreError.GroupNotSet>> =>
  Effect.catchIf(
    effect,
    (error): error is StoreError.GroupNotSet => error._tag === "GroupNotSet",
    (error) => Effect.die(error)
  )

/**
 * Provides a store to programs and servers.
 *
 * @since 0.1.0
 */
export const layer = <E>(
  database: Effect.Effect<Database, E, Scope.Scope>,
  options: Options = {}
): Layer.Layer<SqlStore | SnapshotStore.SnapshotStore | GroupSource, E | OpenError> =>
  Layer.scopedContext(
    Effect.map(
      Effect.flatMap(database, (each) => make(each, options)),
      (store) =>
        Context.make(SqlStore, store).pipe(
          Context.add(SnapshotStore.SnapshotStore, store),
          Context.add(GroupSource, store)
        )
    )
  )
