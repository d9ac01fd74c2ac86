/**
 * The resources of every group. Programs write to a store; servers read it through its port, `GroupSource`. The store
 * in memory suffices for most control planes; others keep the groups in something that outlives the process.
 *
 * @since 0.1.0
 */
import * as ResourceGroup from "@effect-xds/core/resource/ResourceGroup"
import * as ResourceSet from "@effect-xds/core/resource/ResourceSet"
import * as Steps from "@effect-xds/core/Steps"
import * as BadOption from "@effect-xds/transport/BadOption"
import type * as EventLoop from "@effect-xds/transport/EventLoop"
import * as Slices from "@effect-xds/transport/Slices"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type * as Stream from "effect/Stream"
import * as GroupChecker from "./GroupChecker.js"
import type { Broken, GroupReport } from "./GroupReport.js"
import { GroupSource } from "./GroupSource.js"
import type * as GroupSources from "./GroupSource.js"
import * as HeldGroups from "./HeldGroups.js"
import { InvalidInForce } from "./InvalidInForce.js"
import * as Immediate from "./internal/Immediate.js"
import * as Snapshot from "./Snapshot.js"
import * as StoreError from "./StoreError.js"
import * as Validator from "./Validator.js"

/**
 * A change of a group in one step: every client sees all of it or nothing. A resource in both `upsert` and `remove` is
 * upserted.
 *
 * @since 0.1.0
 */
export interface Change {
  /** Resources to add or replace. */
  readonly upsert?: Snapshot.Resources | undefined
  /** Resources to remove. Unknown names are ignored. */
  readonly remove?: Snapshot.Names | undefined
  /** Version labels of whole types. A type that changes without a label gets the digest of its content. */
  readonly versions?: Snapshot.Versions | undefined
}

/**
 * Options of a write.
 *
 * @since 0.1.0
 */
export interface WriteOptions {
  /**
   * Compare and set: the `revision` at which the group must be, as `get` returned it; 0: the group must not be set.
   * Otherwise the write fails with `Conflict` and changes nothing. Default: any revision.
   */
  readonly ifRevision?: number | undefined
  /**
   * The handling of this call's resources that break rules of Envoy's API. Unchanged resources are not checked again.
   * Default: that of the store.
   */
  readonly validate?: Validator.Mode | undefined
  /** Who makes the change, for the history of a store that has one. Default: the process. */
  readonly author?: string | undefined
  /** The reason for the change, for the same history. Default: none. */
  readonly note?: string | undefined
  /**
   * Whether this call is refused if it breaks group rules that were not broken before: see `Validator.GroupMode`. Which rules are
   * off, and what is reported of what is served, is up to the store. Default: that of the store.
   */
  readonly groupRules?: Exclude<Validator.GroupMode, "off"> | undefined
}

/**
 * The operations of a store.
 *
 * The contract of every store, which `StoreConformance` of `@effect-xds/testing` checks: `set`, `update` and `clear` of
 * one group take effect in the order of the calls, each in one step. A refused or interrupted call changes nothing. A
 * call returns when the servers of this process have the change, for the group and for those over it.
 *
 * @since 0.1.0
 */
export interface Service {
  /**
   * Replaces the content of a group, and the group that it is over. The first call answers every client that waits for
   * the group.
   */
  readonly set: (
    group: string,
    snapshot: Snapshot.Snapshot,
    options?: WriteOptions
  ) => Effect.Effect<HeldGroups.Stored, StoreError.SetError>
  /** Changes a part of a group's content. Its cost is the size of the change, not of the group. */
  readonly update: (
    group: string,
    change: Change,
    options?: WriteOptions
  ) => Effect.Effect<HeldGroups.Stored, StoreError.UpdateError>
  /** Clears a group, as if it was never set. Connected clients keep their resources and are sent nothing. */
  readonly clear: (group: string, options?: WriteOptions) => Effect.Effect<void, StoreError.ClearError>
  /** The content of a group. `None`: it was never set, or was cleared. */
  readonly get: (group: string) => Effect.Effect<Option.Option<HeldGroups.Stored>>
  /** The names of the groups that are set. */
  readonly groups: Effect.Effect<ReadonlyArray<string>>
  /**
   * Every served group, then every changed one, always in its latest state: a slow subscriber misses intermediate
   * states, and holds one element per group, not a queue. It has no end: it goes on until it is interrupted, also when the
   * store's layer is closed.
   */
  readonly changes: Stream.Stream<HeldGroups.GroupChange>
  /**
   * The group rules that the resources of a group break, after a check of what has changed; none where they are off. Absent: the
   * store does not check groups.
   */
  readonly broken?: ((group: string) => Effect.Effect<Broken>) | undefined
  /**
   * What is broken in a group, whenever that changes from now on. A subscriber that is 256 reports behind misses the oldest.
   * Absent: the store does not check groups. It has no end, like {@link Service.changes}.
   */
  readonly reports?: Stream.Stream<GroupReport> | undefined
}

/**
 * A new store: the side for programs, and the port for servers. {@link layerOf} provides both.
 *
 * @since 0.1.0
 */
export interface Store extends Service, GroupSources.Service {}

/**
 * A store in memory, which checks groups.
 *
 * @since 0.1.0
 */
export interface MemoryStore extends Store {
  readonly broken: NonNullable<Service["broken"]>
  readonly reports: NonNullable<Service["reports"]>
}

/**
 * The service tag of a store.
 *
 * @since 0.1.0
 */
export class SnapshotStore extends Context.Tag("@effect-xds/server/SnapshotStore")<SnapshotStore, Service>() {}

/**
 * Options and limits of a store in memory.
 *
 * @since 0.1.0
 */
export interface Options {
  /** The most groups. Default: 100 000. */
  readonly maxGroups?: number | undefined
  /** The most resources of a group's own, of all types together. Default: 1 000 000. */
  readonly maxResourcesPerGroup?: number | undefined
  /**
   * The handling of resources that break rules. Default: by the rules of the `.proto` files they are refused; of those of a group
   * together, which are checked soon after a change, the store warns.
   *
   * @see {@link Validator.make}
   */
  readonly validate?: Validator.Mode | Validator.Options | undefined
}

/** A call of set, update or clear in its group's queue. */
interface PendingWrite {
  /** The group has changed; the write ends when the groups over it have the change. */
  isApplied: boolean
  /** Called when the write is first in the queue; `undefined` if nothing waits for that. */
  begin: (() => void) | undefined
}

const sizeOf = (group: ResourceGroup.ResourceGroup): number => {
  let size = 0
  for (const set of group.sets.values()) size += ResourceSet.size(set)
  return size
}

const noOptions: WriteOptions = {}

const nothing: Validator.Validated = { resources: [], places: new Map(), invalid: [] }

/** The next state of a group. */
interface Next {
  readonly own: ResourceGroup.ResourceGroup
  readonly over: string | undefined
  readonly invalid: Validator.Validated["invalid"]
}

/** The result of a change, and the remaining steps for the groups over it. */
interface Changed<A> {
  readonly result: () => A
  readonly rest: Steps.Steps<object> | undefined
}

type Applied<A, E> = Either.Either<Changed<A>, E>

/** Runs the remaining steps in slices, even if the caller is interrupted. `true`: done at once. */
const finish = (loop: EventLoop.Service, rest: Steps.Steps<object>, onEnd: () => void): boolean => {
  if (Slices.some(loop, rest) !== undefined) return true
  loop.later(() => {
    if (finish(loop, rest, onEnd)) onEnd()
  })
  return false
}

/**
 * Makes a store in memory: the side for programs, and the port for servers. It checks groups by themselves; a scope that is there
 * ends that when it closes.
 *
 * @since 0.1.0
 */
export const makeMemory = (options: Options = {}): Effect.Effect<MemoryStore> =>
  Effect.gen(function* () {
    yield* BadOption.check(options, { maxGroups: 0, maxResourcesPerGroup: 0 })
    const validation = Validator.optionsOf(options.validate)
    const validator = Validator.make(validation)
    const held = yield* HeldGroups.make
    const checker = yield* GroupChecker.make(held, validation)
    const maxGroups = options.maxGroups ?? 100_000
    const maxResourcesPerGroup = options.maxResourcesPerGroup ?? 1_000_000
    const invalidInForce = new InvalidInForce()
    const pendingWrites = new Map<string, Array<PendingWrite>>()
    let revision = 0

    /** Ends a write, so that the next one may begin. */
    const leave = (group: string, pending: PendingWrite): void => {
      const queue = pendingWrites.get(group)
      const place = queue?.indexOf(pending) ?? -1
      if (queue === undefined || place < 0) return
      if (queue.length === 1) return void pendingWrites.delete(group)
      queue.splice(place, 1)
      if (place === 0) queue[0]?.begin?.()
    }

    const commit = (
      group: string,
      { invalid, over, own }: Next
    ): Applied<HeldGroups.Stored, StoreError.LimitExceeded | StoreError.LayerCycle | ResourceGroup.MixedApis> => {
      const before = held.stored(group)
      if (before !== undefined && before.over === over && HeldGroups.isSame(before.own, own)) {
        invalidInForce.changed(group, before.own, invalid)
        return Either.right({ result: () => before, rest: undefined })
      }
      const cycle = held.cycleOf(group, over)
      if (cycle !== undefined) return Either.left(cycle)
      const mix = held.mixOf(group, over, own)
      if (mix !== undefined) return Either.left(mix)
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
      checker.layered(before?.over, over)
      invalidInForce.changed(group, own, invalid)
      return Either.right({ result: () => held.stored(group) ?? stored, rest })
    }

    /** A change that may take many steps. */
    const changing = function* (
      group: string,
      { before, invalid, over }: Omit<Next, "own"> & { readonly before: ResourceGroup.ResourceGroup },
      work: Steps.Steps<Either.Either<ResourceGroup.ResourceGroup, ResourceGroup.ChangeError>>
    ): Steps.Steps<Either.Either<Next, StoreError.SetError>> {
      const next = yield* work
      if (Either.isLeft(next)) return Either.left(next.left)
      // In a new group everything differs.
      if (held.stored(group) === undefined) yield* HeldGroups.findLists(next.right)
      else yield* HeldGroups.findDifferences(before, next.right)
      return Either.right({ own: next.right, over, invalid })
    }

    const isFirst = (group: string, pending: PendingWrite): boolean => pendingWrites.get(group)?.[0] === pending

    const enter = (group: string, pending: PendingWrite): void => {
      const queue = pendingWrites.get(group)
      if (queue === undefined) pendingWrites.set(group, [pending])
      else queue.push(pending)
    }

    /** Waits until earlier calls are applied or abandoned. */
    const awaitEarlier = (group: string, pending: PendingWrite): Effect.Effect<void> =>
      Effect.async((resume) => {
        // The runtime may have let others run since the caller looked.
        if (isFirst(group, pending)) return resume(Effect.void)
        pending.begin = () => {
          pending.begin = undefined
          resume(Effect.void)
        }
        return Effect.sync(() => {
          pending.begin = undefined
        })
      })

    /**
     * Prepares the call, and applies it in its turn: at once or in steps. Until the last step everyone sees the old group,
     * and no other change of it begins. A call that fails or is interrupted before leaves the queue.
     *
     * ★ Effect's runtime may let others run, and interrupt the call, before any effect that is returned here. So a call that
     * is not done at once leaves the queue, and enters it again where it is sure to leave it.
     */
    const writeInOrder = <P, N, A, E>(
      group: string,
      { ifRevision }: WriteOptions,
      prepare: (at: Validator.At) => Effect.Effect<P, E>,
      apply: (prepared: P) => Either.Either<N, E> | Steps.Steps<Either.Either<N, E>>,
      commit: (next: N) => Applied<A, E>,
      check?: (next: N) => Effect.Effect<void, E>
    ): Effect.Effect<A, E | StoreError.Conflict> =>
      Immediate.here((at) => {
        const { loop } = at
        const pending: PendingWrite = { isApplied: false, begin: undefined }
        const end = (next: Either.Either<N, E>): Effect.Effect<A, E> =>
          check === undefined || Either.isLeft(next) ? put(next) : Effect.flatMap(check(next.right), () => put(next))
        const put = (next: Either.Either<N, E>): Effect.Effect<A, E> => {
          const applied = Either.flatMap(next, commit)
          if (Either.isLeft(applied)) {
            leave(group, pending)
            return Exit.fail(applied.left)
          }
          const { rest, result } = applied.right
          pending.isApplied = true
          let isOver = false
          let resume: (() => void) | undefined
          const onEnd = (): void => {
            isOver = true
            leave(group, pending)
            resume?.()
          }
          if (rest === undefined || finish(loop, rest, onEnd)) {
            leave(group, pending)
            return Exit.succeed(result())
          }
          return Effect.async((done) => {
            resume = () => done(Effect.sync(result))
            if (isOver) resume()
          })
        }
        const applying = (prepared: P): Effect.Effect<A, E | StoreError.Conflict> => {
          const actual = held.stored(group)?.revision ?? 0
          if (ifRevision !== undefined && ifRevision !== actual) {
            leave(group, pending)
            return Exit.fail(new StoreError.Conflict({ group, expected: ifRevision, actual }))
          }
          const applied = apply(prepared)
          return Either.isEither(applied) ? end(applied) : Immediate.flatMap(Slices.steps(loop, applied), end)
        }
        const giveUp = (): void => {
          if (!pending.isApplied) leave(group, pending)
        }
        const prepared = prepare(at)
        const before = held.stored(group)
        let begun: Effect.Effect<A, E | StoreError.Conflict> | undefined
        // Most calls are first in the queue, and done by the end of this step.
        if (Immediate.isThere(prepared) && !pendingWrites.has(group)) {
          if (Exit.isFailure(prepared)) return Exit.failCause(prepared.cause)
          enter(group, pending)
          try {
            begun = applying(prepared.value)
          } catch (cause) {
            // What the caller gave has thrown it.
            giveUp()
            throw cause
          }
          if (Immediate.isThere(begun) || pending.isApplied) return begun
          leave(group, pending)
        }
        return Effect.uninterruptibleMask((restore) => {
          enter(group, pending)
          const inTurn = Effect.flatMap(prepared, (value) => {
            // If the group has changed meanwhile, what was begun is of no use.
            const rest = () => (begun !== undefined && held.stored(group) === before ? begun : applying(value))
            return isFirst(group, pending) ? rest() : Effect.flatMap(awaitEarlier(group, pending), rest)
          })
          const written = restore(inTurn)
          return Effect.onError(written, () => Effect.sync(giveUp))
        })
      })

    /** Encodes and checks the resources of a call. */
    const encode =
      (group: string, resources: Snapshot.Resources, { validate }: WriteOptions) =>
      (at: Validator.At) =>
        Immediate.map(validator.encodeAt(at, group, resources, held.stored(group)?.own, validate), (validated) => {
          checker.placed(validated.places)
          return validated
        })

    return {
      set: (group, snapshot, write = noOptions) =>
        writeInOrder<Validator.Validated, Next, HeldGroups.Stored, StoreError.SetError>(
          group,
          write,
          encode(group, snapshot, write),
          ({ invalid, resources }) => {
            const before = held.stored(group)?.own ?? ResourceGroup.empty
            const versions = Snapshot.versionsByTypeUrl(snapshot.versions ?? {}, Snapshot.apiOf(resources))
            const work = ResourceGroup.replacing(before, resources, versions)
            return changing(group, { before, over: snapshot.over, invalid }, work)
          },
          (next) => commit(group, next),
          checker.refusing(group, write.groupRules)
        ),
      update: (group, given, write = noOptions) =>
        writeInOrder<Validator.Validated, Next, HeldGroups.Stored, StoreError.UpdateError>(
          group,
          write,
          given.upsert === undefined ? () => Exit.succeed(nothing) : encode(group, given.upsert, write),
          ({ invalid, resources }) => {
            const { remove, versions } = given
            const before = held.stored(group)
            if (before === undefined) return Either.left(new StoreError.GroupNotSet({ group }))
            const { over, own } = before
            const malformed = Snapshot.malformedChange(given)
            if (malformed !== undefined) return Either.left(malformed)
            const api = Snapshot.apiOf(resources, own)
            const removed = remove === undefined ? undefined : Snapshot.keys(remove, api)
            const labels = versions === undefined ? undefined : Snapshot.versionsByTypeUrl(versions, api)
            const change = { upsert: resources, remove: removed, versions: labels }
            return resources.length + (removed?.length ?? 0) < Steps.atOnce
              ? Either.map(ResourceGroup.update(own, change), (next) => ({ own: next, over, invalid }))
              : changing(group, { before: own, over, invalid }, ResourceGroup.updating(own, change))
          },
          (next) => commit(group, next),
          checker.refusing(group, write.groupRules)
        ),
      clear: (group, write = noOptions) =>
        writeInOrder<void, void, void, never>(
          group,
          write,
          () => Exit.void,
          () => Either.void,
          () => {
            invalidInForce.changed(group, ResourceGroup.empty, [])
            checker.layered(held.stored(group)?.over, undefined)
            return Either.right({ result: () => undefined, rest: held.clear(group) })
          }
        ),
      get: (group) =>
        Effect.sync(() => {
          const stored = held.stored(group)
          if (stored === undefined) return Option.none()
          return Option.some(HeldGroups.withFindings(stored, invalidInForce.of(group), checker.of(group)))
        }),
      groups: Effect.sync(held.names),
      changes: held.changes,
      broken: checker.broken,
      reports: checker.reports,
      unsafeGet: held.unsafeGet,
      listen: held.listen
    } satisfies MemoryStore
  })

/**
 * Provides a store to programs and servers.
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
  Layer.unwrapScoped(Effect.map(makeMemory(options), layerOf))
