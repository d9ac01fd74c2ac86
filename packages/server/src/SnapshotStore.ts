/**
 * What every group of nodes is served. Programs write to a store; servers read it by its port, `GroupSource`. The one in
 * memory is enough for most control planes; others keep the groups in something that outlives the process.
 *
 * @since 0.1.0
 */
import * as ResourceGroup from "@effect-xds/core/resource/ResourceGroup"
import * as ResourceSet from "@effect-xds/core/resource/ResourceSet"
import * as Steps from "@effect-xds/core/Steps"
import * as EventLoop from "@effect-xds/transport/EventLoop"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type * as Stream from "effect/Stream"
import { GroupSource } from "./GroupSource.js"
import type * as GroupSources from "./GroupSource.js"
import * as HeldGroups from "./HeldGroups.js"
import { InvalidInForce } from "./internal/InvalidInForce.js"
import * as Slice from "./internal/Slice.js"
import * as Snapshot from "./Snapshot.js"
import * as StoreError from "./StoreError.js"
import * as Validator from "./Validator.js"

/**
 * A change of a group in one step: every client sees all of it or nothing. A resource that is both put in and removed
 * is put in.
 *
 * @since 0.1.0
 */
export interface Change {
  /** Put in or replaced. */
  readonly upsert?: Snapshot.Resources | undefined
  /** Taken out. Names that are not there are passed over. */
  readonly remove?: Snapshot.Names | undefined
  /** Labels for whole types. A type that changes without one is labelled by its content. */
  readonly versions?: Snapshot.Versions | undefined
}

/**
 * What a write depends on.
 *
 * @since 0.1.0
 */
export interface WriteOptions {
  /**
   * Compare and set: the `revision` that the group must be at, as `get` gave it; 0: it must not be set. Otherwise the write fails
   * with `Conflict` and changes nothing. Default: whatever it is at.
   */
  readonly ifRevision?: number | undefined
  /**
   * What becomes of resources of this call that break rules of Envoy's API. What is served already is not looked at again. Default: as
   * the store has it.
   */
  readonly validate?: Validator.Mode | undefined
}

/**
 * A store of snapshots, as programs write to it.
 *
 * Every store keeps these promises, and `StoreConformance` of `@effect-xds/testing` checks them: `set`, `update` and `clear` of
 * one group take effect in the order they were called, each in one step; a refused or interrupted one changes nothing; the call
 * returns when the servers of this process have the change, for the group and for those that are over it.
 *
 * @since 0.1.0
 */
export interface Service {
  /**
   * Makes a group hold exactly this, over the group that the snapshot names, if any. The first time it answers every client
   * that waits for the group.
   */
  readonly set: (
    group: string,
    snapshot: Snapshot.Snapshot,
    options?: WriteOptions
  ) => Effect.Effect<HeldGroups.Stored, StoreError.SetError>
  /** Changes a part of what a group holds. Costs as much as the change, not as the group. */
  readonly update: (
    group: string,
    change: Change,
    options?: WriteOptions
  ) => Effect.Effect<HeldGroups.Stored, StoreError.UpdateError>
  /** Makes a group as if it was never set. Connected clients keep what they have and are sent nothing. */
  readonly clear: (group: string, options?: WriteOptions) => Effect.Effect<void, StoreError.ClearError>
  /** What a group holds. `None`: it was never set, or it was cleared. */
  readonly get: (group: string) => Effect.Effect<Option.Option<HeldGroups.Stored>>
  /** The names of the groups that are set. */
  readonly groups: Effect.Effect<ReadonlyArray<string>>
  /**
   * Every group that is served, then every one that changes, always as it is when it is taken: a slow subscriber misses
   * states in between, and holds one element per group, not a queue.
   */
  readonly changes: Stream.Stream<HeldGroups.GroupChange>
}

/**
 * A store as it is made: what programs write to, and the port for servers. {@link layerOf} gives it to both.
 *
 * @since 0.1.0
 */
export interface Store extends Service, GroupSources.Service {}

/**
 * The tag of the store.
 *
 * @since 0.1.0
 */
export class SnapshotStore extends Context.Tag("@effect-xds/server/SnapshotStore")<SnapshotStore, Service>() {}

/**
 * Bounds of a store in memory.
 *
 * @since 0.1.0
 */
export interface Options {
  /** Default: 100 000. */
  readonly maxGroups?: number | undefined
  /** Resources of all types that are put into a group, together. Default: 1 000 000. */
  readonly maxResourcesPerGroup?: number | undefined
  /**
   * What becomes of resources that break rules of Envoy's API. Default: they are refused, by the rules of the `.proto` files.
   *
   * @see {@link Validator.make}
   */
  readonly validate?: Validator.Mode | Validator.Options | undefined
}

/** One call of set, update or clear, in the order of the calls. */
interface Turn {
  /** The group has changed; it is over when those over the group have it. */
  isApplied: boolean
  /** Goes on when it is the first; `undefined`: it does not wait. */
  begin: (() => void) | undefined
}

const sizeOf = (group: ResourceGroup.ResourceGroup): number => {
  let size = 0
  for (const set of group.sets.values()) size += ResourceSet.size(set)
  return size
}

const noOptions: WriteOptions = {}

const nothing: Validator.Validated = { resources: [], invalid: [] }

/** What is to become of a group. */
interface Next {
  readonly own: ResourceGroup.ResourceGroup
  readonly over: string | undefined
  readonly invalid: Validator.Validated["invalid"]
}

/** What came of a change, and what is left to do until those over the group have it, too. */
interface Changed<A> {
  readonly result: () => A
  readonly rest: Steps.Steps<object> | undefined
}

type Applied<A, E> = Either.Either<Changed<A>, E>

/** Does what is left in slices, whatever becomes of who asked for it. `true`: it was done at once. */
const finish = (loop: EventLoop.Service, rest: Steps.Steps<object>, onEnd: () => void): boolean => {
  if (Slice.some(loop, rest) !== undefined) return true
  loop.later(() => {
    if (finish(loop, rest, onEnd)) onEnd()
  })
  return false
}

/**
 * A store in memory: what programs write to, and the port for servers.
 *
 * @since 0.1.0
 */
export const makeMemory = (options: Options = {}): Effect.Effect<Store> =>
  Effect.map(HeldGroups.make, (held) => {
    const maxGroups = options.maxGroups ?? 100_000
    const maxResourcesPerGroup = options.maxResourcesPerGroup ?? 1_000_000
    const validator = Validator.make(options.validate)
    const invalidInForce = new InvalidInForce()
    const turns = new Map<string, Array<Turn>>()
    let revision = 0

    /** Ends a turn; the next one may begin. */
    const leave = (group: string, turn: Turn): void => {
      const queue = turns.get(group)
      const place = queue?.indexOf(turn) ?? -1
      if (queue === undefined || place < 0) return
      queue.splice(place, 1)
      if (queue.length === 0) turns.delete(group)
      if (place === 0) queue[0]?.begin?.()
    }

    const commit = (
      group: string,
      { invalid, over, own }: Next
    ): Applied<HeldGroups.Stored, StoreError.LimitExceeded | StoreError.LayerCycle> => {
      const before = held.stored(group)
      if (before !== undefined && before.over === over && HeldGroups.isSame(before.own, own)) {
        invalidInForce.changed(group, before.own, invalid)
        return Either.right({ result: () => before, rest: undefined })
      }
      const cycle = held.cycleOf(group, over)
      if (cycle !== undefined) return Either.left(cycle)
      if (before === undefined && held.size() >= maxGroups) {
        const size = held.size() + 1
        return Either.left(new StoreError.LimitExceeded({ limit: "maxGroups", group, size, maximum: maxGroups }))
      }
      const size = sizeOf(own)
      if (size > maxResourcesPerGroup) {
        const maximum = maxResourcesPerGroup
        return Either.left(new StoreError.LimitExceeded({ limit: "maxResourcesPerGroup", group, size, maximum }))
      }
      const stored = { group, revision: ++revision, own, over, seen: undefined }
      const rest = held.put(stored)
      invalidInForce.changed(group, own, invalid)
      return Either.right({ result: () => held.stored(group) ?? stored, rest })
    }

    /** A change that may take long. */
    const changing = function* (
      group: string,
      { before, invalid, over }: Omit<Next, "own"> & { readonly before: ResourceGroup.ResourceGroup },
      work: Steps.Steps<Either.Either<ResourceGroup.ResourceGroup, ResourceGroup.ChangeError>>
    ): Steps.Steps<Either.Either<Next, StoreError.SetError>> {
      const next = yield* work
      if (Either.isLeft(next)) return Either.left(next.left)
      // Of a group that is set for the first time all is new.
      if (held.stored(group) !== undefined) yield* HeldGroups.findDifferences(before, next.right)
      return Either.right({ own: next.right, over, invalid })
    }

    /** Waits until those that were called before are applied, or gave up. */
    const awaitTurn = (turn: Turn): Effect.Effect<void> =>
      Effect.async((resume) => {
        turn.begin = () => {
          turn.begin = undefined
          resume(Effect.void)
        }
        return Effect.sync(() => {
          turn.begin = undefined
        })
      })

    /**
     * Takes a turn now, prepares, and applies when the turn has come: at once, or in steps, while the group is as it was for everybody
     * and no other change of it begins. Then it is the group's. A call that fails or is interrupted before gives its turn up.
     */
    const inTurn = <P, N, A, E>(
      group: string,
      { ifRevision }: WriteOptions,
      prepare: Effect.Effect<P, E>,
      apply: (prepared: P) => Either.Either<N, E> | Steps.Steps<Either.Either<N, E>>,
      commit: (next: N) => Applied<A, E>
    ): Effect.Effect<A, E | StoreError.Conflict> =>
      Effect.flatMap(EventLoop.guarded, (loop) => {
        const turn: Turn = { isApplied: false, begin: undefined }
        const queue = turns.get(group)
        if (queue === undefined) turns.set(group, [turn])
        else queue.push(turn)
        const end = (next: Either.Either<N, E>): Effect.Effect<A, E> => {
          const applied = Either.flatMap(next, commit)
          if (Either.isLeft(applied)) {
            leave(group, turn)
            return Either.left(applied.left)
          }
          const { rest, result } = applied.right
          turn.isApplied = true
          let resume: (() => void) | undefined
          const onEnd = (): void => {
            leave(group, turn)
            resume?.()
          }
          if (rest === undefined || finish(loop, rest, onEnd)) {
            leave(group, turn)
            return Exit.succeed(result())
          }
          return Effect.async((done) => {
            resume = () => done(Effect.sync(result))
          })
        }
        const applying = (prepared: P): Effect.Effect<A, E | StoreError.Conflict> => {
          const actual = held.stored(group)?.revision ?? 0
          if (ifRevision !== undefined && ifRevision !== actual) {
            leave(group, turn)
            return Either.left(new StoreError.Conflict({ group, expected: ifRevision, actual }))
          }
          const applied = apply(prepared)
          return Either.isEither(applied) ? end(applied) : Effect.flatMap(Slice.steps(loop, applied), end)
        }
        const giveUp = Effect.sync(() => {
          if (!turn.isApplied) leave(group, turn)
        })
        return Effect.flatMap(prepare, (prepared) =>
          // Most are the first in the queue, and there is nothing to wait for.
          turns.get(group)?.[0] === turn
            ? applying(prepared)
            : Effect.flatMap(awaitTurn(turn), () => applying(prepared))
        ).pipe(Effect.onError(() => giveUp))
      })

    /** Encodes and checks what a call puts in. */
    const encode = (group: string, resources: Snapshot.Resources, { validate }: WriteOptions) =>
      Effect.suspend(() => validator.encode(group, resources, held.stored(group)?.own, validate))

    return {
      set: (group, snapshot, write = noOptions) =>
        inTurn<Validator.Validated, Next, HeldGroups.Stored, StoreError.SetError>(
          group,
          write,
          encode(group, snapshot, write),
          ({ invalid, resources }) => {
            const before = held.stored(group)?.own ?? ResourceGroup.empty
            const versions = Snapshot.versionsByTypeUrl(snapshot.versions ?? {})
            const work = ResourceGroup.replacing(before, resources, versions)
            return changing(group, { before, over: snapshot.over, invalid }, work)
          },
          (next) => commit(group, next)
        ),
      update: (group, { remove, upsert, versions }, write = noOptions) =>
        inTurn<Validator.Validated, Next, HeldGroups.Stored, StoreError.UpdateError>(
          group,
          write,
          upsert === undefined ? Effect.succeed(nothing) : encode(group, upsert, write),
          ({ invalid, resources }) => {
            const before = held.stored(group)
            if (before === undefined) return Either.left(new StoreError.GroupNotSet({ group }))
            const { over, own } = before
            const removed = remove === undefined ? undefined : Snapshot.keys(remove)
            const change = { upsert: resources, remove: removed, versions: Snapshot.versionsByTypeUrl(versions ?? {}) }
            return resources.length + (removed?.length ?? 0) < Steps.atOnce
              ? Either.map(ResourceGroup.update(own, change), (next) => ({ own: next, over, invalid }))
              : changing(group, { before: own, over, invalid }, ResourceGroup.updating(own, change))
          },
          (next) => commit(group, next)
        ),
      clear: (group, write = noOptions) =>
        inTurn<void, void, void, never>(
          group,
          write,
          Effect.void,
          () => Either.void,
          () => {
            invalidInForce.changed(group, ResourceGroup.empty, [])
            return Either.right({ result: () => undefined, rest: held.clear(group) })
          }
        ),
      get: (group) =>
        Effect.sync(() => {
          const stored = held.stored(group)
          const invalid = stored && invalidInForce.of(group)
          return Option.fromNullable(invalid === undefined ? stored : stored && { ...stored, invalid })
        }),
      groups: Effect.sync(held.names),
      changes: held.changes,
      unsafeGet: held.unsafeGet,
      listen: held.listen
    } satisfies Store
  })

/**
 * Gives a store to programs and servers.
 *
 * @since 0.1.0
 */
export const layerOf = (store: Store): Layer.Layer<SnapshotStore | GroupSource> =>
  Layer.succeedContext(Context.empty().pipe(Context.add(SnapshotStore, store), Context.add(GroupSource, store)))

/**
 * A store in memory, for programs and servers.
 *
 * @since 0.1.0
 */
export const layerMemory = (options: Options = {}): Layer.Layer<SnapshotStore | GroupSource> =>
  Layer.unwrapEffect(Effect.map(makeMemory(options), layerOf))
