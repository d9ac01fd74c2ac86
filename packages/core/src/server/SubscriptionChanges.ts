/**
 * The changes that a subscription needs for a new set: its part of the shared difference.
 *
 * @since 0.1.0
 */
import * as Cursor from "../resource/Cursor.js"
import * as Difference from "../resource/Difference.js"
import type { Resource } from "../resource/Resource.js"
import * as ResourceSet from "../resource/ResourceSet.js"
import * as Steps from "../Steps.js"
import { AskedAliases } from "./AskedAliases.js"
import { type Subscription, isWild, noList } from "./Subscription.js"

/**
 * The changes for a subscription since its cursor.
 *
 * @since 0.1.0
 */
export interface Changes {
  /** Resources that are new to the client or have new content. */
  readonly changed: ReadonlyArray<Resource>
  /** Names, as the client knows them, whose resource was removed, with its last content. */
  readonly gone: ReadonlyMap<string, Resource | undefined>
  /** Names of resources with a pending removal that came back unchanged. */
  readonly returned: ReadonlyArray<string>
  /**
   * Names of resources that the client holds only by names that belong to another resource now. They are removed together with
   * that change, not later: a client accepts neither of two resources with one name.
   */
  readonly superseded: ReadonlySet<string>
}

const noneSuperseded: ReadonlySet<string> = new Set()

/**
 * No changes.
 *
 * @since 0.1.0
 */
export const noChanges: Changes = { changed: [], gone: new Map(), returned: [], superseded: noneSuperseded }

/** Collects the changes under subscribed names, one by one. */
class ChangesByName {
  private readonly find: typeof ResourceSet.find
  private changed: Map<string, Resource> | undefined
  private gone: Map<string, Resource | undefined> | undefined
  private returned: Array<string> | undefined
  private superseded: Set<string> | undefined
  /** Resources that requested names led to. If the client should still have one of them, it is neither gone nor superseded. */
  private others: Set<string> | undefined

  constructor(
    private readonly self: Subscription,
    private readonly cursor: Cursor.Cursor,
    private readonly set: ResourceSet.ResourceSet,
    private readonly difference: Difference.OfNames,
    private readonly incremental: boolean
  ) {
    this.find = incremental ? ResourceSet.find : ResourceSet.get
  }

  see(name: string, held: string): void {
    const { difference, incremental, cursor, self, set } = this
    const now = this.find(set, name)
    const own = held === "" || !incremental ? name : Cursor.nameAt(cursor, name)
    if (now === undefined) {
      if (held === "") return
      // The client may know it by the subscribed name or by its own: both are removed, unless another name leads to it.
      const before = difference.removed.get(own)
      this.gone ??= new Map()
      this.gone.set(name, before)
      if (own === name) return
      this.gone.set(own, before)
      ;(this.others ??= new Set()).add(own)
      return
    }
    if (held !== "" && own !== now.name) {
      ;(this.superseded ??= new Set()).add(own)
      ;(this.others ??= new Set()).add(own)
    }
    if (now.fingerprint === held) return
    if (isBack(self, name, now)) (this.returned ??= []).push(name)
    else (this.changed ??= new Map()).set(now.name, now)
  }

  /** Sees the subscribed names that the difference concerns. */
  seeConcerned(): void {
    for (const [name, held] of this.self.names) if (Difference.concerns(this.difference, name)) this.see(name, held)
  }

  end(): Changes {
    if (this.others !== undefined) Steps.toEnd(this.settle(this.others))
    const { changed, gone, returned, superseded } = this
    return {
      changed: changed === undefined ? noChanges.changed : Array.from(changed.values()),
      gone: gone ?? noChanges.gone,
      returned: returned ?? noChanges.returned,
      superseded: superseded ?? noneSuperseded
    }
  }

  /** {@link end} in steps. */
  *inSteps(): Steps.Steps<Changes> {
    if (this.others !== undefined) yield* this.settle(this.others)
    return this.end()
  }

  /** ★ Thousands of names may have led to one resource: whether it is still served is looked up once. */
  private *settle(others: ReadonlySet<string>): Steps.Steps<void> {
    const asked = new AskedAliases(this.self, this.set)
    let count = 0
    for (const own of others) {
      if (++count % Steps.atOnce === 0) yield
      yield* asked.ready(ResourceSet.get(this.set, own))
      if (!asked.isServed(own)) continue
      this.gone?.delete(own)
      this.superseded?.delete(own)
    }
    this.others = undefined
  }
}

/** Whether a resource with a pending removal under this name is back unchanged, and the client still has it. */
const isBack = ({ mayBeLost, pendingRemovals }: Subscription, name: string, resource: Resource): boolean =>
  pendingRemovals.get(name)?.resource?.fingerprint === resource.fingerprint && !mayBeLost.has(resource.name)

/**
 * The changes of a set since the subscription's cursor: for a wildcard the whole shared difference, for names the part that
 * touches them. Nothing else is examined. Aliases count in incremental only.
 *
 * @since 0.1.0
 */
export const changes = (self: Subscription, set: ResourceSet.ResourceSet, incremental: boolean): Changes => {
  const { cursor, names } = self
  if (cursor === undefined || Cursor.isSame(cursor, set.cursor)) return noChanges
  if (isByNames(self, set, cursor)) {
    if (names.size > Steps.atOnce) return Steps.toEnd(changesOfNames(self, set, cursor, incremental))
    const few = Difference.ofFewNames(set, cursor, names.keys())
    const byName = new ChangesByName(self, cursor, set, few, incremental)
    byName.seeConcerned()
    return byName.end()
  }
  const difference = Difference.of(set, cursor)
  if (isWild(self)) {
    if (self.pendingRemovals.size > 0 || (incremental && names.size > 0)) {
      return Steps.toEnd(changesInSteps(self, set, incremental))
    }
    const { changed, removed, replaced } = difference
    return { changed, gone: removed, returned: noList, superseded: incremental ? replaced : noneSuperseded }
  }
  const byName = new ChangesByName(self, cursor, set, difference, incremental)
  if (isSmaller(self, difference)) {
    for (const [name, hash] of difference.touched) {
      const held = names.getHash(name, hash)
      if (held !== undefined) byName.see(name, held)
    }
  } else {
    byName.seeConcerned()
  }
  return byName.end()
}

/**
 * {@link changes} in steps: a client may subscribe to a hundred thousand names.
 *
 * @since 0.1.0
 */
export const changesInSteps = function* (
  self: Subscription,
  set: ResourceSet.ResourceSet,
  incremental: boolean
): Steps.Steps<Changes> {
  if (self.cursor === undefined || Cursor.isSame(self.cursor, set.cursor)) return noChanges
  const { pendingRemovals, cursor } = self
  if (isByNames(self, set, cursor)) return yield* changesOfNames(self, set, cursor, incremental)
  const difference = yield* Difference.inSteps(set, cursor)
  if (!isWild(self)) {
    const byName = new ChangesByName(self, cursor, set, difference, incremental)
    yield* seeNames(self, difference, (name, held) => byName.see(name, held))
    return yield* byName.inSteps()
  }
  const { removed, replaced } = difference
  let { changed } = difference
  const superseded = incremental ? replaced : noneSuperseded
  let gone = removed
  if (incremental && self.names.size > 0) {
    const named = new Map<string, Resource | undefined>()
    let count = 0
    for (const [name, resource] of removed) {
      named.set(name, resource)
      if (++count % Steps.atOnce === 0) yield
    }
    const moved = new Set<Resource>()
    yield* seeNames(self, difference, (name) => {
      const own = Cursor.nameAt(cursor, name)
      // Under a wildcard, too, the client may know it by a subscribed name.
      const now = ResourceSet.find(set, name)
      if (now === undefined) {
        if (cursor.fingerprints.has(own)) named.set(name, removed.get(own))
      } else if (own !== now.name) moved.add(now)
    })
    gone = named
    if (moved.size > 0) {
      for (const each of changed) {
        moved.delete(each)
        if (++count % Steps.atOnce === 0) yield
      }
      // A name that led elsewhere leads to an unchanged resource now.
      changed = [...changed, ...moved]
    }
  }
  if (pendingRemovals.size === 0) return { changed, gone, returned: noChanges.returned, superseded }
  const others: Array<Resource> = []
  const returned: Array<string> = []
  let count = 0
  for (const resource of changed) {
    if (isBack(self, resource.name, resource)) returned.push(resource.name)
    else others.push(resource)
    if (++count % Steps.atOnce === 0) yield
  }
  return { changed: others, gone, returned, superseded }
}

/** Whether to look up the difference in the subscribed names; otherwise these in the difference. */
const isSmaller = ({ names }: Subscription, difference: Difference.Difference): boolean =>
  difference.domains.length === 0 && difference.touched.size < names.size

/** Whether to go through the subscribed names, because the difference takes longer. The order of the changes is theirs then. */
const isByNames = (self: Subscription, set: ResourceSet.ResourceSet, cursor: Cursor.Cursor): boolean =>
  !isWild(self) && Difference.isLonger(set, cursor, self.names.size)

const changesOfNames = function* (
  self: Subscription,
  set: ResourceSet.ResourceSet,
  cursor: Cursor.Cursor,
  incremental: boolean
): Steps.Steps<Changes> {
  const difference = yield* Difference.ofNames(set, cursor, self.names)
  const byName = new ChangesByName(self, cursor, set, difference, incremental)
  yield* seeConcerned(self, difference, (name, held) => byName.see(name, held))
  return yield* byName.inSteps()
}

/**
 * Whether {@link changes} takes no time: then no steps are needed.
 *
 * @param most names and resources to look at
 * @since 0.1.0
 */
export const areNear = (self: Subscription, set: ResourceSet.ResourceSet, most: number): boolean => {
  const { pendingRemovals, cursor, names } = self
  if (cursor === undefined) return true
  if (pendingRemovals.size > Steps.atOnce) return false
  if (Cursor.isSame(cursor, set.cursor)) return true
  if (names.size <= Math.min(Steps.atOnce, most) && isByNames(self, set, cursor)) return true
  if (!Difference.isNear(set, cursor)) return false
  const difference = Difference.of(set, cursor)
  if (difference.removed.size > Steps.atOnce) return false
  // Any resource that a wildcard sent may be back.
  const isMatched = pendingRemovals.size > 0 && isWild(self)
  const named = isSmaller(self, difference) ? difference.touched.size : names.size
  return Math.max(named, isMatched ? difference.changed.length : 0) <= most
}

/** Visits the subscribed names that a difference concerns. */
const seeNames = function* (
  self: Subscription,
  difference: Difference.Difference,
  see: (name: string, held: string) => void
): Steps.Steps<void> {
  if (!isSmaller(self, difference)) return yield* seeConcerned(self, difference, see)
  let count = 0
  for (const [name, hash] of difference.touched) {
    const held = self.names.getHash(name, hash)
    if (held !== undefined) see(name, held)
    if (++count % Steps.atOnce === 0) yield
  }
}

/** {@link seeNames} in the order of the names. */
const seeConcerned = function* (
  { names }: Subscription,
  difference: Difference.OfNames,
  see: (name: string, held: string) => void
): Steps.Steps<void> {
  let count = 0
  for (const [name, held] of names) {
    if (Difference.concerns(difference, name)) see(name, held)
    if (++count % Steps.atOnce === 0) yield
  }
}
