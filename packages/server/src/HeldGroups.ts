/**
 * The groups that a process holds in memory, with what was put into each and what is seen of it: a group may be over another
 * one. A store over something else keeps what it read in one of these, and has its port for servers from it.
 *
 * @since 0.1.0
 */
import * as Difference from "@effect-xds/core/resource/Difference"
import * as LayeredGroup from "@effect-xds/core/resource/LayeredGroup"
import * as ResourceGroup from "@effect-xds/core/resource/ResourceGroup"
import * as Steps from "@effect-xds/core/Steps"
import * as Cause from "effect/Cause"
import * as Chunk from "effect/Chunk"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Runtime from "effect/Runtime"
import * as Stream from "effect/Stream"
import type * as GroupSource from "./GroupSource.js"
import { type InvalidResource, LayerCycle } from "./StoreError.js"

/**
 * A group that is set.
 *
 * @since 0.1.0
 */
export interface Stored {
  readonly group: string
  /** When it was set or updated last, in changes of the whole store: it only grows, and no two changes have the same. */
  readonly revision: number
  /** What was put into it. */
  readonly own: ResourceGroup.ResourceGroup
  /** The group whose resources are seen below its own. `undefined`: none. */
  readonly over: string | undefined
  /**
   * What its clients are served: `own`, if it is over no group. List it with `ResourceGroup.all`. `undefined`: the group that
   * it is over is not set, and its clients wait as if it was not, either.
   */
  readonly seen: ResourceGroup.ResourceGroup | undefined
  /** Resources of `own` that break rules of Envoy's API and are served all the same; absent: none, or nobody looked. */
  readonly invalid?: ReadonlyArray<InvalidResource> | undefined
}

/**
 * A group as it is served now.
 *
 * @since 0.1.0
 */
export interface GroupChange {
  readonly group: string
  /** `None`: it is not set any more. */
  readonly resources: Option.Option<ResourceGroup.ResourceGroup>
}

/**
 * The groups of a process.
 *
 * @since 0.1.0
 */
export interface HeldGroups extends GroupSource.Service {
  /** A group that is set. */
  readonly stored: (group: string) => Stored | undefined
  /** How many are set. */
  readonly size: () => number
  /** The names of those that are set. */
  readonly names: () => ReadonlyArray<string>
  /** Why a group cannot be put over another one. */
  readonly cycleOf: (group: string, over: string | undefined) => LayerCycle | undefined
  /**
   * Puts into a group what was made of its last `own` by `ResourceGroup`. What is given back is left to do, in steps: other
   * groups see the change then. Until that is over no other change of the group may begin. `undefined`: nothing is left.
   */
  readonly put: (next: Omit<Stored, "seen">) => Steps.Steps<object> | undefined
  /** Makes a group as if it was never set; see `put`. */
  readonly clear: (group: string) => Steps.Steps<object> | undefined
  /**
   * Every group that is served, then every one that changes, always as it is when it is taken: a slow subscriber misses
   * states in between, and holds one element per group, not a queue.
   */
  readonly changes: Stream.Stream<GroupChange>
}

/** A group that is set, or that others are over. */
interface Node {
  readonly group: string
  /** `undefined`: it is not set. */
  stored: Stored | undefined
  /** What was put in last, and is yet to be seen. */
  own: ResourceGroup.ResourceGroup | undefined
  revision: number
  base: Node | undefined
  /** How what is seen came about; `undefined`: it is `own`. */
  layers: LayeredGroup.LayeredGroup | undefined
  /** Those that are over it. */
  readonly above: Set<Node>
}

/**
 * What is different, which listeners ask for: where that takes long it is found in steps, before they do.
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
 * Whether nothing changed: sets that did not change are the same objects.
 *
 * @since 0.1.0
 */
export const isSame = (before: ResourceGroup.ResourceGroup, next: ResourceGroup.ResourceGroup): boolean => {
  if (before === next) return true
  for (const [typeUrl, set] of next.sets) if (ResourceGroup.set(before, typeUrl) !== set) return false
  return true
}

/**
 * No groups yet.
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
        // The state is set, and the others are to know it.
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
      above: new Set()
    }
    nodes.set(group, made)
    return made
  }

  /** Forgets a node that nobody set and nobody is over. */
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

  /** Makes what is seen of a group, and tells of it. Gives whether it is something else. */
  const show = (node: Node, seen: ResourceGroup.ResourceGroup | undefined): boolean => {
    const before = node.stored?.seen
    const { base, group, own, revision } = node
    node.stored = own === undefined ? undefined : { group, revision, own, over: base?.group, seen }
    if (before === seen || (before !== undefined && seen !== undefined && isSame(before, seen))) return false
    tell(group, seen)
    return true
  }

  /** Brings what is seen of a group up to what is in it and below it. */
  const see = function* (node: Node): Steps.Steps<boolean> {
    for (;;) {
      const { base, layers, own } = node
      const below = base === undefined ? ResourceGroup.empty : base.stored?.seen
      if (own === undefined || below === undefined) {
        node.layers = undefined
        return show(node, undefined)
      }
      const before = node.stored?.seen
      // Who is connected goes on from what it has.
      const from = layers ?? (before === undefined ? undefined : LayeredGroup.plain(before))
      const next = yield* LayeredGroup.layering(from, own, below)
      if (before !== undefined) yield* findDifferences(before, next.seen)
      // Others had their turn: what it was made of may be gone.
      const isCurrent = node.own === own && node.base === base && node.layers === layers
      if (!isCurrent || (base !== undefined && base.stored?.seen !== below)) continue
      node.layers = next
      return show(node, next.seen)
    }
  }

  /** The same for all that are over a group, over those, and so on. */
  const seeAbove = function* (node: Node): Steps.Steps<object> {
    const rest = Array.from(node.above)
    for (let at = 0; at < rest.length; at++) {
      const next = rest[at]
      if (next === undefined) continue
      if (at % Steps.atOnce === 0) yield
      if (yield* see(next)) for (const each of next.above) rest.push(each)
    }
    return rest
  }

  const seeAll = function* (node: Node): Steps.Steps<object> {
    return (yield* see(node)) ? yield* seeAbove(node) : node
  }

  const listen: HeldGroups["listen"] = (listener) =>
    Effect.asVoid(
      Effect.acquireRelease(
        Effect.sync(() => listeners.add(listener)),
        () => Effect.sync(() => listeners.delete(listener))
      )
    )

  const changes = Stream.unwrapScoped(
    Effect.gen(function* () {
      const pending = new Map<string, ResourceGroup.ResourceGroup | undefined>()
      for (const { group, stored } of nodes.values()) if (stored?.seen !== undefined) pending.set(group, stored.seen)
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
    unsafeGet: (group) => nodes.get(group)?.stored?.seen,
    listen,
    changes,
    stored: (group) => nodes.get(group)?.stored,
    size: () => size,
    names: () => Array.from(nodes.values()).flatMap(({ group, own }) => (own === undefined ? [] : [group])),
    cycleOf: (group, over) => {
      const path: Array<string> = []
      for (let name = over; name !== undefined; name = nodes.get(name)?.base?.group) {
        path.push(name)
        if (name === group) return new LayerCycle({ group, path })
      }
      return undefined
    },
    put: ({ group, over, own, revision }) => {
      const node = nodeOf(group)
      if (node.own === undefined) size++
      node.own = own
      node.revision = revision
      setBase(node, over)
      // Plain, and was before.
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
