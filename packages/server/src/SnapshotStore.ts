/**
 * What every group of nodes is served. A store keeps one {@link ResourceGroup.ResourceGroup} per group and tells
 * servers when one changes. The one in memory is enough for most control planes; the interface can be implemented over
 * something else.
 *
 * @since 0.1.0
 */
import type { Resource } from "@effect-xds/core/resource/Resource"
import * as Difference from "@effect-xds/core/resource/Difference"
import * as ResourceGroup from "@effect-xds/core/resource/ResourceGroup"
import * as ResourceSet from "@effect-xds/core/resource/ResourceSet"
import * as Steps from "@effect-xds/core/Steps"
import { EventLoop } from "@effect-xds/transport/EventLoop"
import * as Cause from "effect/Cause"
import * as Chunk from "effect/Chunk"
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Runtime from "effect/Runtime"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as Slice from "./internal/Slice.js"
import * as Snapshot from "./Snapshot.js"

/**
 * A change of a group in one step: every client sees all of it or nothing. A resource that is both put in and removed
 * is put in.
 *
 * @since 0.1.0
 */
export interface Change {
  /** Put in or replaced, with its version labels. */
  readonly upsert?: Snapshot.Snapshot | undefined
  /** Taken out. Names that are not there are passed over. */
  readonly remove?: Snapshot.Names | undefined
  /** Labels for whole types. A type that changes without one is labelled by its content. */
  readonly versions?: Snapshot.Versions | undefined
}

/**
 * A group as it is now.
 *
 * @since 0.1.0
 */
export interface GroupChange {
  readonly group: string
  /** `None`: the group was cleared. */
  readonly resources: Option.Option<ResourceGroup.ResourceGroup>
}

/**
 * A bound of the store was reached. The group is as it was.
 *
 * @since 0.1.0
 */
export class LimitExceeded extends Data.TaggedError("LimitExceeded")<{
  readonly limit: "maxGroups" | "maxResourcesPerGroup"
  readonly group: string
  /** What it would have become. */
  readonly size: number
  readonly maximum: number
}> {
  override get message(): string {
    const what = this.limit === "maxGroups" ? "groups in the store" : "resources in the group"
    return (
      `group ${JSON.stringify(this.group)}: ${this.size} ${what}, the limit is ${this.maximum}; ` +
      (this.limit === "maxGroups" ? "clear groups that have no clients" : "split the group")
    )
  }
}

/**
 * An update of a group that was never set. To apply it would serve clients a part of their configuration, and they
 * would delete the rest.
 *
 * @since 0.1.0
 */
export class GroupNotSet extends Data.TaggedError("GroupNotSet")<{ readonly group: string }> {
  override get message(): string {
    return (
      `group ${JSON.stringify(this.group)} was never set: clients would delete what the update does not name; ` +
      `set the whole group first, with Snapshot.make({}) if it begins empty`
    )
  }
}

/**
 * Why a store refused a set or update. The group is as it was.
 *
 * @since 0.1.0
 */
export type SetError = Snapshot.SnapshotError | ResourceGroup.ChangeError | LimitExceeded

/**
 * A store of snapshots.
 *
 * Whoever implements it over something else keeps these promises: `set` and `update` of one group take effect in the
 * order they were called, each in one step; a refused one changes nothing; a change goes through
 * `ResourceGroup.replace` or `ResourceGroup.update` on what is held, so that clients are sent only what is different;
 * listeners are called synchronously, after `unsafeGet` gives the new state.
 *
 * @since 0.1.0
 */
export interface Service {
  /** Makes a group hold exactly this. The first time it answers every client that waits for the group. */
  readonly set: (group: string, snapshot: Snapshot.Snapshot) => Effect.Effect<ResourceGroup.ResourceGroup, SetError>
  /** Changes a part of a group. Costs as much as the change, not as the group. */
  readonly update: (group: string, change: Change) => Effect.Effect<ResourceGroup.ResourceGroup, SetError | GroupNotSet>
  /** What a group holds: list it with `ResourceGroup.all`. `None`: it was never set, or it was cleared. */
  readonly get: (group: string) => Effect.Effect<Option.Option<ResourceGroup.ResourceGroup>>
  /** Makes a group as if it was never set. Connected clients keep what they have and are sent nothing. */
  readonly clear: (group: string) => Effect.Effect<void>
  /** The names of the groups that are set. */
  readonly groups: Effect.Effect<ReadonlyArray<string>>
  /**
   * Every group that is set, then every one that changes, always as it is when it is taken: a slow subscriber misses
   * states in between, and holds one element per group, not a queue.
   */
  readonly changes: Stream.Stream<GroupChange>
  /** What a group holds, at once. For servers. */
  readonly unsafeGet: (group: string) => ResourceGroup.ResourceGroup | undefined
  /** Calls a function for every change, at once, until the scope closes. It must not throw. For servers. */
  readonly listen: (listener: Listener) => Effect.Effect<void, never, Scope.Scope>
}

/**
 * Hears of changes. `undefined`: the group was cleared.
 *
 * @since 0.1.0
 */
export type Listener = (group: string, resources: ResourceGroup.ResourceGroup | undefined) => void

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
  /** Resources of all types together. Default: 1 000 000. */
  readonly maxResourcesPerGroup?: number | undefined
}

/** One call of set, update or clear, in the order of the calls. */
interface Turn {
  /** Goes on when it is the first; `undefined`: it does not wait. */
  begin: (() => void) | undefined
}

const sizeOf = (group: ResourceGroup.ResourceGroup): number => {
  let size = 0
  for (const set of group.sets.values()) size += ResourceSet.size(set)
  return size
}

/** What is different, which listeners ask for: where that takes long it is found in steps, before they do. */
const findDifferences = function* (
  before: ResourceGroup.ResourceGroup,
  next: ResourceGroup.ResourceGroup
): Steps.Steps<void> {
  for (const [typeUrl, set] of next.sets) {
    const { cursor } = ResourceGroup.set(before, typeUrl)
    if (!Difference.isNear(set, cursor)) yield* Difference.inSteps(set, cursor)
  }
}

/** Sets that did not change are the same objects. */
const isSame = (before: ResourceGroup.ResourceGroup, next: ResourceGroup.ResourceGroup): boolean => {
  if (before === next) return true
  for (const [typeUrl, set] of next.sets) if (ResourceGroup.set(before, typeUrl) !== set) return false
  return true
}

/**
 * A store in memory.
 *
 * @since 0.1.0
 */
export const makeMemory = (options: Options = {}): Effect.Effect<Service> =>
  Effect.map(Effect.runtime(), (runtime) => {
    const maxGroups = options.maxGroups ?? 100_000
    const maxResourcesPerGroup = options.maxResourcesPerGroup ?? 1_000_000
    const held = new Map<string, ResourceGroup.ResourceGroup>()
    const listeners = new Set<Listener>()
    const turns = new Map<string, Array<Turn>>()

    const tell: Listener = (group, next) => {
      for (const listener of listeners) {
        try {
          listener(group, next)
        } catch (cause) {
          // The state is set, and the others are to know it.
          const message = `a listener of the SnapshotStore failed at a change of group ${JSON.stringify(group)}`
          Runtime.runFork(runtime)(Effect.logError(message, Cause.die(cause)))
        }
      }
    }

    /** Ends a turn; the next one may begin. */
    const leave = (group: string, turn: Turn): void => {
      const queue = turns.get(group)
      const place = queue?.indexOf(turn) ?? -1
      if (queue === undefined || place < 0) return
      queue.splice(place, 1)
      if (queue.length === 0) turns.delete(group)
      if (place === 0) queue[0]?.begin?.()
    }

    const put = (
      group: string,
      next: ResourceGroup.ResourceGroup
    ): Either.Either<ResourceGroup.ResourceGroup, LimitExceeded> => {
      const before = held.get(group)
      if (before !== undefined && isSame(before, next)) return Either.right(before)
      if (before === undefined && held.size >= maxGroups) {
        const size = held.size + 1
        return Either.left(new LimitExceeded({ limit: "maxGroups", group, size, maximum: maxGroups }))
      }
      const size = sizeOf(next)
      if (size > maxResourcesPerGroup) {
        const maximum = maxResourcesPerGroup
        return Either.left(new LimitExceeded({ limit: "maxResourcesPerGroup", group, size, maximum }))
      }
      held.set(group, next)
      tell(group, next)
      return Either.right(next)
    }

    /** A change that may take long. */
    const changing = function* (
      group: string,
      before: ResourceGroup.ResourceGroup,
      work: Steps.Steps<Either.Either<ResourceGroup.ResourceGroup, ResourceGroup.ChangeError>>
    ): Steps.Steps<Either.Either<ResourceGroup.ResourceGroup, ResourceGroup.ChangeError | LimitExceeded>> {
      const next = yield* work
      if (Either.isLeft(next)) return Either.left(next.left)
      // Of a group that is set for the first time all is new.
      if (held.has(group)) yield* findDifferences(before, next.right)
      return put(group, next.right)
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
     * and no other change of it begins. A call that fails or is interrupted gives its turn up.
     */
    const inTurn = <P, A, E>(
      group: string,
      prepare: Effect.Effect<P, E>,
      apply: (prepared: P) => Either.Either<A, E> | Steps.Steps<Either.Either<A, E>>
    ): Effect.Effect<A, E> =>
      Effect.flatMap(EventLoop, (loop) => {
        const turn: Turn = { begin: undefined }
        const queue = turns.get(group)
        if (queue === undefined) turns.set(group, [turn])
        else queue.push(turn)
        const end = (applied: Either.Either<A, E>) => {
          leave(group, turn)
          return applied
        }
        const applying = (prepared: P) => {
          const applied = apply(prepared)
          return Either.isEither(applied) ? end(applied) : Effect.flatMap(Slice.steps(loop, applied), end)
        }
        return Effect.flatMap(prepare, (prepared) =>
          // Most are the first in the queue, and there is nothing to wait for.
          turns.get(group)?.[0] === turn
            ? applying(prepared)
            : Effect.flatMap(awaitTurn(turn), () => applying(prepared))
        ).pipe(Effect.onError(() => Effect.sync(() => leave(group, turn))))
      })

    const listen = (listener: Listener) =>
      Effect.asVoid(
        Effect.acquireRelease(
          Effect.sync(() => listeners.add(listener)),
          () => Effect.sync(() => listeners.delete(listener))
        )
      )

    const changes = Stream.unwrapScoped(
      Effect.gen(function* () {
        const pending = new Map<string, ResourceGroup.ResourceGroup | undefined>(held)
        const told = new Set<string>()
        const latch = yield* Effect.makeLatch(pending.size > 0)
        yield* listen((group, resources) => {
          // A group that came and went unseen is nothing to tell; so what is pending is bounded by the groups.
          if (resources === undefined && !told.has(group)) pending.delete(group)
          else pending.set(group, resources)
          latch.unsafeOpen()
        })
        const take = Effect.map(latch.await, () => {
          const taken: Array<GroupChange> = []
          for (const [group, resources] of pending) {
            if (resources === undefined) told.delete(group)
            else told.add(group)
            taken.push({ group, resources: Option.fromNullable(resources) })
          }
          pending.clear()
          // Here, and not in an effect of its own: a change in between would be missed.
          latch.unsafeClose()
          return Chunk.unsafeFromArray(taken)
        })
        return Stream.repeatEffectChunk(take)
      })
    )

    return {
      set: (group, snapshot) =>
        inTurn<ReadonlyArray<Resource>, ResourceGroup.ResourceGroup, SetError>(
          group,
          Effect.suspend(() => Snapshot.encode(snapshot, held.get(group))),
          (resources) => {
            const before = held.get(group) ?? ResourceGroup.empty
            return changing(group, before, ResourceGroup.replacing(before, resources, snapshot.versions))
          }
        ),
      update: (group, { remove, upsert, versions }) =>
        inTurn<ReadonlyArray<Resource>, ResourceGroup.ResourceGroup, SetError | GroupNotSet>(
          group,
          Effect.suspend(() => (upsert === undefined ? Effect.succeed([]) : Snapshot.encode(upsert, held.get(group)))),
          (resources) => {
            const before = held.get(group)
            if (before === undefined) return Either.left(new GroupNotSet({ group }))
            const removed = remove === undefined ? undefined : Snapshot.keys(remove)
            const change = {
              upsert: resources,
              remove: removed,
              versions: { ...upsert?.versions, ...Snapshot.versionsByTypeUrl(versions ?? {}) }
            }
            return resources.length + (removed?.length ?? 0) < Steps.atOnce
              ? Either.flatMap(ResourceGroup.update(before, change), (next) => put(group, next))
              : changing(group, before, ResourceGroup.updating(before, change))
          }
        ),
      get: (group) => Effect.sync(() => Option.fromNullable(held.get(group))),
      clear: (group) =>
        inTurn(group, Effect.void, () => {
          if (held.delete(group)) tell(group, undefined)
          return Either.void
        }),
      groups: Effect.sync(() => Array.from(held.keys())),
      changes,
      unsafeGet: (group) => held.get(group),
      listen
    } satisfies Service
  })

/**
 * A store in memory with the default bounds.
 *
 * @since 0.1.0
 */
export const layerMemory: Layer.Layer<SnapshotStore> = Layer.effect(SnapshotStore, makeMemory())

/**
 * A store in memory.
 *
 * @since 0.1.0
 */
export const layerMemoryWith = (options: Options): Layer.Layer<SnapshotStore> =>
  Layer.effect(SnapshotStore, makeMemory(options))
