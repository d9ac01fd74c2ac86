/**
 * The groups of a process in memory: the own resources of each, and the visible ones, since a group may be layered over
 * another. A store over something else keeps its content here, and provides its `GroupSource` from it.
 *
 * @since 0.1.0
 */
import * as Difference from "@effect-xds/core/resource/Difference"
import * as LayeredGroup from "@effect-xds/core/resource/LayeredGroup"
import * as ResourceGroup from "@effect-xds/core/resource/ResourceGroup"
import * as ResourceSet from "@effect-xds/core/resource/ResourceSet"
import * as Steps from "@effect-xds/core/Steps"
import * as Cause from "effect/Cause"
import * as Chunk from "effect/Chunk"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Runtime from "effect/Runtime"
import * as Stream from "effect/Stream"
import type { Broken } from "./GroupReport.js"
import type * as GroupSource from "./GroupSource.js"
import { type InvalidResource, LayerCycle } from "./StoreError.js"

/**
 * A group that is set.
 *
 * @since 0.1.0
 */
export interface Stored {
  readonly group: string
  /** The store-wide number of the group's last change: it only grows, and every change has another one. */
  readonly revision: number
  /** The group's own resources. */
  readonly own: ResourceGroup.ResourceGroup
  /** The group below, whose resources are visible, too; `undefined`: none. */
  readonly over: string | undefined
  /**
   * The visible resources, which its clients are served: `own`, if there is no group below. List them with
   * `ResourceGroup.all`. `undefined`: the group below is not set, so the clients wait as if this one was not set
   * either.
   */
  readonly seen: ResourceGroup.ResourceGroup | undefined
  /** Resources of `own` that break rules of Envoy's API and are served all the same; absent: none, or not checked. */
  readonly invalid?: ReadonlyArray<InvalidResource> | undefined
  /**
   * The group rules that its own resources broke when it was last checked, soon after its last change; absent: none, or not
   * checked.
   */
  readonly broken?: Broken | undefined
}

/**
 * A group with the rules that its resources break, as far as any are known to be broken.
 *
 * @since 0.1.0
 */
export const withFindings = (self: Stored, invalid: Stored["invalid"], broken: Stored["broken"]): Stored =>
  invalid === undefined && broken === undefined
    ? self
    : { ...self, ...(invalid && { invalid }), ...(broken && { broken }) }

/**
 * The latest state of a served group.
 *
 * @since 0.1.0
 */
export interface GroupChange {
  readonly group: string
  /** `None`: it is no longer set. */
  readonly resources: Option.Option<ResourceGroup.ResourceGroup>
}

/**
 * The groups of a process.
 *
 * @since 0.1.0
 */
export interface HeldGroups extends GroupSource.Service {
  /** A group, if it is set. */
  readonly stored: (group: string) => Stored | undefined
  /** The number of groups that are set. */
  readonly size: () => number
  /** The names of groups that are set. */
  readonly names: () => ReadonlyArray<string>
  /** Whether other groups are over a group. */
  readonly isBelow: (group: string) => boolean
  /** Why a group cannot be layered over another one. */
  readonly cycleOf: (group: string, over: string | undefined) => LayerCycle | undefined
  /**
   * Why a group cannot have these resources over another one: resources of a group below or above it are of the other version
   * of Envoy's API. Ask {@link cycleOf} before.
   */
  readonly mixOf: (
    group: string,
    over: string | undefined,
    own: ResourceGroup.ResourceGroup
  ) => ResourceGroup.MixedApis | undefined
  /**
   * Sets the own resources of a group; `own` must be made from the last one by `ResourceGroup`. The returned steps
   * update the groups over it. Until they are done, no other change of the group may begin. `undefined`: nothing
   * remains.
   */
  readonly put: (next: Omit<Stored, "seen">) => Steps.Steps<object> | undefined
  /** Clears a group, as if it was never set; see `put`. */
  readonly clear: (group: string) => Steps.Steps<object> | undefined
  /**
   * Every served group, then every changed one, always in its latest state: a slow subscriber misses intermediate
   * states, and holds one element per group, not a queue.
   */
  readonly changes: Stream.Stream<GroupChange>
}

/** A group that is set, or that others are layered over. */
interface Node {
  readonly group: string
  /** `undefined` if it is not set. */
  stored: Stored | undefined
  /** The own resources after the last `put`, which may not be visible yet. */
  own: ResourceGroup.ResourceGroup | undefined
  revision: number
  base: Node | undefined
  /** The layers behind the visible resources; `undefined` if these are `own`. */
  layers: LayeredGroup.LayeredGroup | undefined
  /** The groups layered over it. */
  readonly above: Set<Node>
  /** The walks that have shown it and are on their way to the groups above. */
  walks: number
}

/**
 * Computes the differences that listeners will ask for. Large ones take many steps, so this is done before.
 *
 * @since 0.1.0
 */
export const findDifferences = function* (
  before: ResourceGroup.ResourceGroup,
  next: ResourceGroup.ResourceGroup
): Steps.Steps<void> {
  for (const [typeUrl, set] of next.sets) {
    const { cursor } = ResourceGroup.set(before, typeUrl)
    if (!Difference.isNear(set, cursor)) yield* Difference.inSteps(set, cursor)
  }
}

/**
 * Makes the lists of a new group that the first client of everything will ask for.
 *
 * @since 0.1.0
 */
export const findLists = function* (group: ResourceGroup.ResourceGroup): Steps.Steps<void> {
  for (const set of group.sets.values()) yield* ResourceSet.listing(set)
}

/**
 * Whether nothing changed: unchanged sets are the same objects.
 *
 * @since 0.1.0
 */
export const isSame = (before: ResourceGroup.ResourceGroup, next: ResourceGroup.ResourceGroup): boolean => {
  if (before === next) return true
  for (const [typeUrl, set] of next.sets) if (ResourceGroup.set(before, typeUrl) !== set) return false
  return true
}

/**
 * Creates an empty `HeldGroups`.
 *
 * @since 0.1.0
 */
export const make: Effect.Effect<HeldGroups> = Effect.map(Effect.runtime(), (runtime) => {
  const nodes = new Map<string, Node>()
  const listeners = new Set<GroupSource.Listener>()
  let size = 0

  const tell: GroupSource.Listener = (group, next) => {
    for (const listener of listeners) {
      try {
        listener(group, next)
      } catch (cause) {
        // The state is set, so the other listeners must still be called.
        const message = `a listener of the SnapshotStore failed at a change of group ${JSON.stringify(group)}`
        Runtime.runFork(runtime)(Effect.logError(message, Cause.die(cause)))
      }
    }
  }

  const nodeOf = (group: string): Node => {
    const known = nodes.get(group)
    if (known !== undefined) return known
    const made: Node = {
      group,
      stored: undefined,
      own: undefined,
      revision: 0,
      base: undefined,
      layers: undefined,
      above: new Set(),
      walks: 0
    }
    nodes.set(group, made)
    return made
  }

  /** Drops a node that is not set and has no groups over it. */
  const release = (node: Node): void => {
    if (node.own === undefined && node.above.size === 0) nodes.delete(node.group)
  }

  const setBase = (node: Node, over: string | undefined): void => {
    if (node.base?.group === over) return
    const before = node.base
    before?.above.delete(node)
    node.base = over === undefined ? undefined : nodeOf(over)
    node.base?.above.add(node)
    if (before !== undefined) release(before)
  }

  /** Sets the visible resources of a group and calls the listeners. Returns whether they changed. */
  const show = (node: Node, seen: ResourceGroup.ResourceGroup | undefined): boolean => {
    const before = node.stored?.seen
    const { base, group, own, revision } = node
    node.stored = own === undefined ? undefined : { group, revision, own, over: base?.group, seen }
    if (before === seen || (before !== undefined && seen !== undefined && isSame(before, seen))) return false
    tell(group, seen)
    return true
  }

  /** The visible resources of a base; `undefined`: it is not served. */
  const visibleOf = (base: Node | undefined): ResourceGroup.ResourceGroup | undefined =>
    base === undefined ? ResourceGroup.empty : base.stored?.seen

  /** Recomputes the visible resources of a group. */
  const see = function* (node: Node): Steps.Steps<boolean> {
    for (;;) {
      const { base, layers, own } = node
      const below = visibleOf(base)
      if (own === undefined || below === undefined) {
        node.layers = undefined
        return show(node, undefined)
      }
      const before = node.stored?.seen
      // Connected clients continue from the resources that they have.
      const from = layers ?? (before === undefined ? undefined : LayeredGroup.plain(before))
      const next = yield* LayeredGroup.layering(from, own, below)
      if (before !== undefined) yield* findDifferences(before, next.seen)
      // Others ran in between: the inputs may have changed.
      if (node.own !== own || node.base !== base || node.layers !== layers || visibleOf(base) !== below) continue
      node.layers = next
      return show(node, next.seen)
    }
  }

  /**
   * Does the same for all groups over a group, and those over them. A change ends when all of these have it: so it also goes
   * through a group that is as it was because another walk has shown the change, and has not yet come to those over it.
   */
  const seeAbove = function* (node: Node): Steps.Steps<object> {
    const changed = [node]
    node.walks++
    try {
      const rest = Array.from(node.above)
      for (let at = 0; at < rest.length; at++) {
        const next = rest[at]
        // Only in a cycle it comes back to where it began: it would go round for ever.
        if (next === undefined || next === node) continue
        if (at % Steps.atOnce === 0) yield
        const isChanged = yield* see(next)
        if (!isChanged && next.walks === 0) continue
        changed.push(next)
        next.walks++
        for (const each of next.above) rest.push(each)
      }
      return rest
    } finally {
      for (const each of changed) each.walks--
    }
  }

  const seeAll = function* (node: Node): Steps.Steps<object> {
    // Another walk may have shown this change, too.
    return (yield* see(node)) || node.walks > 0 ? yield* seeAbove(node) : node
  }

  const listen: HeldGroups["listen"] = (listener) =>
    Effect.asVoid(
      Effect.acquireRelease(
        Effect.sync(() => listeners.add(listener)),
        () => Effect.sync(() => listeners.delete(listener))
      )
    )

  const changes = Stream.unwrapScoped(
    Effect.suspend(() => {
      const pending = new Map<string, ResourceGroup.ResourceGroup | undefined>()
      const told = new Set<string>()
      const latch = Effect.unsafeMakeLatch()
      const listener: GroupSource.Listener = (group, resources) => {
        // A group that was set and cleared unseen is dropped, so pending entries are bounded by the groups.
        if (resources === undefined && !told.has(group)) pending.delete(group)
        else pending.set(group, resources)
        latch.unsafeOpen()
      }
      const take = Effect.map(latch.await, () => {
        const taken: Array<GroupChange> = []
        for (const [group, resources] of pending) {
          if (resources === undefined) told.delete(group)
          else told.add(group)
          taken.push({ group, resources: Option.fromNullable(resources) })
        }
        pending.clear()
        // Not as an effect of its own: a change in between would be missed.
        latch.unsafeClose()
        return Chunk.unsafeFromArray(taken)
      })
      // In one step, too: a change after the look at the groups and before the first call of the listener would be missed.
      const begin = Effect.sync(() => {
        for (const { group, stored } of nodes.values()) if (stored?.seen !== undefined) listener(group, stored.seen)
        listeners.add(listener)
      })
      return Effect.as(
        Effect.acquireRelease(begin, () => Effect.sync(() => listeners.delete(listener))),
        Stream.repeatEffectChunk(take)
      )
    })
  )

  return {
    unsafeGet: (group) => nodes.get(group)?.stored?.seen,
    listen,
    changes,
    stored: (group) => nodes.get(group)?.stored,
    size: () => size,
    isBelow: (group) => (nodes.get(group)?.above.size ?? 0) > 0,
    names: () => Array.from(nodes.values()).flatMap(({ group, own }) => (own === undefined ? [] : [group])),
    cycleOf: (group, over) => {
      const path: Array<string> = []
      for (let name = over; name !== undefined; name = nodes.get(name)?.base?.group) {
        path.push(name)
        if (name === group) return new LayerCycle({ group, path })
      }
      return undefined
    },
    mixOf: (group, over, own) => {
      const node = nodes.get(group)
      // As before: the layers were asked then.
      if (node?.own !== undefined && node.own.api === own.api && node.base?.group === over) return undefined
      let held = own
      for (let each = over === undefined ? undefined : nodes.get(over); each !== undefined; each = each.base) {
        const mix = each.own === undefined ? undefined : ResourceGroup.mixOf(held, each.own, each.group)
        if (mix !== undefined) return mix
        if (held.api === undefined && each.own !== undefined) held = each.own
      }
      const above = new Set(node?.above)
      // A set may grow while it is gone through.
      for (const each of above) {
        const mix = each.own === undefined ? undefined : ResourceGroup.mixOf(held, each.own, each.group)
        if (mix !== undefined) return mix
        for (const next of each.above) above.add(next)
      }
      return undefined
    },
    put: ({ group, over, own, revision }) => {
      const node = nodeOf(group)
      if (node.own === undefined) size++
      node.own = own
      node.revision = revision
      setBase(node, over)
      // There are no layers, and were none before.
      if (node.base === undefined && node.layers === undefined) {
        return show(node, own) && node.above.size > 0 ? seeAbove(node) : undefined
      }
      return seeAll(node)
    },
    clear: (group) => {
      const node = nodes.get(group)
      if (node?.own === undefined) return undefined
      size--
      node.own = undefined
      node.layers = undefined
      setBase(node, undefined)
      release(node)
      return show(node, undefined) && node.above.size > 0 ? seeAbove(node) : undefined
    }
  }
})
