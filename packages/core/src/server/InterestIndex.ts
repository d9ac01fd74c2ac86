/**
 * Interest index: the streams of a group by subscribed types and names. So a change of one resource among ten thousand costs
 * only the streams that subscribe to it.
 *
 * @since 0.1.0
 */
import * as HashMap from "effect/HashMap"
import * as Collection from "../protocol/Collection.js"
import { isSame } from "../resource/Cursor.js"
import * as Difference from "../resource/Difference.js"
import type { ResourceGroup } from "../resource/ResourceGroup.js"
import * as ResourceGroups from "../resource/ResourceGroup.js"
import * as ResourceSets from "../resource/ResourceSet.js"
import * as VirtualHostDiscovery from "../resource/VirtualHostDiscovery.js"
import * as Steps from "../Steps.js"
import { NameMap } from "./NameMap.js"
import { isSubscribed, isUnsubscribed, type NamesChange } from "./NamesChange.js"
import type { Interest } from "./ServerStream.js"
import * as NameTable from "./NameTable.js"
import { SmallSet } from "./SmallSet.js"

/** The streams that subscribe to one type. */
interface Subscribers<A> {
  /** Streams that subscribe to the whole type. */
  readonly all: Set<A>
  readonly named: NameMap<SmallSet<A>>
  /** Number of glob collections among the names. */
  globs: number
}

/** With each change, one in this many unconcerned streams gets a turn. */
const share = 64

/** Names that one slice indexes or removes. */
const namesAtATime = 1_024

/**
 * Indexing of many names, in slices: each `next` does one.
 *
 * @since 0.1.0
 */
export type Slices = Iterator<void, void>

/**
 * A name of a type.
 *
 * @since 0.1.0
 */
export interface Named {
  readonly typeUrl: string
  readonly name: string
}

/** The old and the new interest of a stream in one type. */
interface Change {
  readonly typeUrl: string
  readonly from: Interest | undefined
  readonly to: Interest | undefined
  /** A superset of the names that one of them has and the other has not; `undefined`: not known. */
  readonly changed?: ReadonlyArray<string> | undefined
}

const noNames = NameTable.empty<unknown>()
const noItems: ReadonlyArray<never> = []

const sizeOf = (interest: Interest | undefined): number => (interest === undefined ? 0 : interest.names.size)

/** How many names a change visits. */
const visits = ({ changed, from, to }: Change): number => changed?.length ?? sizeOf(from) + sizeOf(to)

/**
 * The names that a request may have changed; `undefined` if it does not tell. ★ One more name beside a thousand must not cost a
 * thousand. The maps of names are not compared: what was sent is in them, too.
 */
const changedBy = (
  request: NamesChange | undefined,
  from: Interest | undefined,
  to: Interest
): ReadonlyArray<string> | undefined => {
  if (request === undefined || from === undefined || request.typeUrl !== to.typeUrl) return undefined
  const { after, before, dropped, listed } = request
  if (sizeOf(from) !== before.size || sizeOf(to) !== after.size) return undefined
  if (listed.length + dropped.length >= sizeOf(from) + sizeOf(to)) return undefined
  const names = Array.from(new Set([...listed, ...dropped]))
  let difference = 0
  for (const name of names) {
    if (isSubscribed(request, name)) difference++
    else if (isUnsubscribed(request, name)) difference--
  }
  // Otherwise it changed names that it does not list.
  return difference === sizeOf(to) - sizeOf(from) ? names : undefined
}

/**
 * The index. It is mutable; `A` stands for a stream.
 *
 * @since 0.1.0
 */
export class InterestIndex<A> {
  readonly #seed: number
  readonly #types = new Map<string, Subscribers<A>>()
  readonly #interests = new Map<A, ReadonlyArray<Interest>>()
  /** The former interests of streams whose slices are not done yet. */
  readonly #unfinished = new Map<A, ReadonlyArray<Interest>>()
  /** How many streams left whose names are not all removed yet. */
  #leaving = 0

  /** @param seed see `NameMap` */
  constructor(seed: number) {
    this.#seed = seed
  }

  /**
   * Sets the interests of a stream, in time proportional to the difference. Many names are indexed in the returned slices: run
   * them one after another, all of them before the next call for this stream. Until then every change of these types concerns
   * it.
   *
   * @param request what changed the interests: then only the names in it are visited
   */
  set(item: A, interests: ReadonlyArray<Interest>, request?: NamesChange): Slices | undefined {
    const before = this.#interests.get(item) ?? []
    this.#interests.set(item, interests)
    const changes: Array<Change> = []
    interests.forEach((to) => {
      const from = before.find(({ typeUrl }) => typeUrl === to.typeUrl)
      if (from === undefined || from.names !== to.names || from.everything !== to.everything)
        changes.push({ typeUrl: to.typeUrl, from, to, changed: changedBy(request, from, to) })
    })
    before.forEach((from) => {
      // A type may also be dropped: RDS together with the interest in VHDS.
      if (!interests.some(({ typeUrl }) => typeUrl === from.typeUrl))
        changes.push({ typeUrl: from.typeUrl, from, to: undefined })
    })
    const slices = this.#apply(item, changes)
    if (slices === undefined) return undefined
    for (const { typeUrl } of changes) this.#subscribersOf(typeUrl).all.add(item)
    this.#unfinished.set(item, before)
    return slices
  }

  /**
   * Removes a stream, which is not visited from now on. Many names are removed in the returned slices. The stream may come back
   * before they are done: they leave alone what it is interested in by then.
   */
  delete(item: A): Slices | undefined {
    const interests = [...(this.#interests.get(item) ?? []), ...(this.#unfinished.get(item) ?? [])]
    this.#interests.delete(item)
    this.#unfinished.delete(item)
    for (const { typeUrl } of interests) this.#types.get(typeUrl)?.all.delete(item)
    this.#leaving++
    if (interests.reduce((sum, interest) => sum + sizeOf(interest), 0) > namesAtATime)
      return this.#removal(item, interests, namesAtATime)
    this.#removal(item, interests, Number.POSITIVE_INFINITY).next()
    return undefined
  }

  /** Number of entries: types, wildcard streams of each type, and pairs of a name and a stream. */
  size(): number {
    let size = this.#types.size
    for (const { all, named } of this.#types.values()) {
      size += all.size
      for (const [, those] of named) size += those.size
    }
    return size
  }

  /** Visits the streams that a change concerns, each once. */
  forEach(before: ResourceGroup, after: ResourceGroup, visit: (item: A) => void): void {
    const changes: Array<readonly [Subscribers<A>, Difference.Difference]> = []
    for (const [typeUrl, subscribers] of this.#types) {
      const set = ResourceGroups.set(after, typeUrl)
      const old = ResourceGroups.set(before, typeUrl)
      if (!isSame(set.cursor, old.cursor)) changes.push([subscribers, Difference.of(set, old.cursor)])
    }
    const [first] = changes
    if (changes.length === 1 && first !== undefined && first[0].named.size === 0) return first[0].all.forEach(visit)
    const seen = new Set<A>()
    const see = (item: A): void => {
      if (seen.has(item)) return
      seen.add(item)
      if (this.#isHere(item)) visit(item)
    }
    for (const [{ all, globs, named }, difference] of changes) {
      all.forEach(see)
      for (const name of difference.touched.keys()) named.get(name)?.forEach(see)
      if (globs > 0) {
        for (const name of difference.touched.keys()) {
          const glob = Collection.of(name)
          if (glob !== undefined) named.get(glob)?.forEach(see)
        }
      }
      // A wildcard domain like `*.example.com` changed: it concerns subscriptions to the hosts that it matches.
      if (difference.domains.length === 0) continue
      for (const [name, those] of named) if (Difference.concerns(difference, name)) those.forEach(see)
    }
  }

  /** Visits the streams that subscribe to a name by name, and those whose names are not fully indexed yet. */
  forName(typeUrl: string, name: string, visit: (item: A) => void): void {
    const those = this.#types.get(typeUrl)?.named.get(name)
    those?.forEach((item) => {
      if (this.#isHere(item)) visit(item)
    })
    for (const item of this.#unfinished.keys()) if (those?.has(item) !== true) visit(item)
  }

  /** Whether any stream subscribes to this name by name. */
  isNamed(typeUrl: string, name: string): boolean {
    const those = this.#types.get(typeUrl)?.named.get(name)
    if (this.#unfinished.size === 0) return those !== undefined
    // ★ What is not indexed yet counts all the same: on-demand work gives up what nobody subscribes to.
    for (const item of those ?? noItems) {
      if (!this.#unfinished.has(item) || this.#names(item, typeUrl, name)) return true
    }
    for (const item of this.#unfinished.keys()) if (this.#names(item, typeUrl, name)) return true
    return false
  }

  /** Whether any stream subscribes to this name, or by name to a host that it matches if it is a wildcard domain. */
  isSubscribed(typeUrl: string, name: string): boolean {
    if (!VirtualHostDiscovery.isWildcard(name)) return this.isNamed(typeUrl, name)
    const isWanted = (each: string): boolean => VirtualHostDiscovery.matches(name, each) && this.isNamed(typeUrl, each)
    for (const [each] of this.#types.get(typeUrl)?.named ?? noItems) if (isWanted(each)) return true
    for (const item of this.#unfinished.keys()) {
      for (const each of (this.#of(item, typeUrl)?.names ?? noNames).keys()) if (isWanted(each)) return true
    }
    return false
  }

  /** Whether {@link gone} may find anything. */
  isAnyGone(before: ResourceGroup, after: ResourceGroup): boolean {
    for (const [typeUrl, { named }] of this.#types) {
      const [old, set] = [ResourceGroups.set(before, typeUrl), ResourceGroups.set(after, typeUrl)]
      if (named.size === 0 || isSame(set.cursor, old.cursor)) continue
      if (!HashMap.isEmpty(old.cursor.aliases) || Difference.of(set, old.cursor).removed.size > 0) return true
    }
    return false
  }

  /** The names that streams subscribe to by name, and whose resource the change removed. */
  *gone(before: ResourceGroup, after: ResourceGroup): Steps.Steps<ReadonlyArray<Named>> {
    const found: Array<Named> = []
    let count = 0
    for (const [typeUrl, { named }] of this.#types) {
      const [old, set] = [ResourceGroups.set(before, typeUrl), ResourceGroups.set(after, typeUrl)]
      if (named.size === 0 || isSame(set.cursor, old.cursor)) continue
      const difference = yield* Difference.inSteps(set, old.cursor)
      const see = (name: string): void => {
        if (ResourceSets.find(old, name) !== undefined && ResourceSets.find(set, name) === undefined) {
          found.push({ typeUrl, name })
        }
      }
      for (const name of difference.touched.keys()) {
        if (++count % Steps.atOnce === 0) yield
        if (named.get(name) !== undefined) see(name)
      }
      if (difference.domains.length === 0) continue
      // Not in steps: names could move within the map meanwhile.
      for (const [name] of named) if (!difference.touched.has(name) && Difference.concerns(difference, name)) see(name)
    }
    return found
  }

  /** Visits a share of all streams, in turn, so that no stream keeps an old state of the group in memory. */
  someInTurn(visit: (item: A) => void): void {
    let left = Math.ceil(this.#interests.size / share)
    // Visited streams move to the end. A stored iterator would keep closed streams in memory.
    for (const [item, interests] of this.#interests) {
      if (left === 0) return
      left--
      this.#interests.delete(item)
      this.#interests.set(item, interests)
      visit(item)
    }
  }

  /** The interest of a stream in a type, indexed or not. */
  #of(item: A, typeUrl: string): Interest | undefined {
    return this.#interests.get(item)?.find((interest) => interest.typeUrl === typeUrl)
  }

  #names(item: A, typeUrl: string, name: string): boolean {
    const interest = this.#of(item, typeUrl)
    return interest !== undefined && interest.names.has(name)
  }

  #subscribersOf(typeUrl: string): Subscribers<A> {
    const known = this.#types.get(typeUrl)
    if (known !== undefined) return known
    const made = { all: new Set<A>(), named: new NameMap<SmallSet<A>>(this.#seed), globs: 0 }
    this.#types.set(typeUrl, made)
    return made
  }

  /** Applies a change of few names now; returns the slices for many. */
  #apply(item: A, changes: ReadonlyArray<Change>): Slices | undefined {
    const size = changes.reduce((sum, change) => sum + visits(change), 0)
    if (size > namesAtATime) return this.#slices(item, changes, namesAtATime)
    this.#slices(item, changes, Number.POSITIVE_INFINITY).next()
    return undefined
  }

  *#slices(item: A, changes: ReadonlyArray<Change>, most: number): Generator<void, void> {
    let left = most
    for (const { changed, from, to, typeUrl } of changes) {
      const subscribers = this.#subscribersOf(typeUrl)
      const { all, named } = subscribers
      for (const name of changed ?? (from?.names ?? noNames).keys()) {
        if (to === undefined || !to.names.has(name)) drop(subscribers, name, item)
        if (--left > 0) continue
        left = most
        yield
      }
      for (const name of changed ?? (to?.names ?? noNames).keys()) {
        if (changed !== undefined && (to === undefined || !to.names.has(name))) continue
        const those = named.get(name)
        if (those === undefined) {
          named.set(name, new SmallSet(item))
          if (Collection.isGlob(name)) subscribers.globs++
        } else those.add(item)
        if (--left > 0) continue
        left = most
        yield
      }
      if (to?.everything === true) all.add(item)
      else all.delete(item)
      this.#forgetUnused(typeUrl, subscribers)
    }
    this.#unfinished.delete(item)
  }

  /**
   * Removes the names of a stream that left. ★ It may be back, as after a move to another group and back: then its names are being
   * indexed, and whether it is visited is no matter of this removal.
   */
  *#removal(item: A, interests: ReadonlyArray<Interest>, most: number): Generator<void, void> {
    let left = most
    for (const { names, typeUrl } of interests) {
      const subscribers = this.#types.get(typeUrl)
      if (subscribers === undefined) continue
      let again = this.#of(item, typeUrl)
      for (const name of names.keys()) {
        if (again?.names.has(name) !== true) drop(subscribers, name, item)
        if (--left > 0) continue
        left = most
        yield
        again = this.#of(item, typeUrl)
      }
      this.#forgetUnused(typeUrl, subscribers)
    }
    this.#leaving--
  }

  /** Whether a stream that a name still leads to has not left. */
  #isHere(item: A): boolean {
    return this.#leaving === 0 || this.#interests.has(item)
  }

  /** No stream may subscribe to the type any more. */
  #forgetUnused(typeUrl: string, subscribers: Subscribers<A>): void {
    const { all, named } = subscribers
    if (all.size === 0 && named.size === 0 && this.#types.get(typeUrl) === subscribers) this.#types.delete(typeUrl)
  }
}

const drop = <A>(self: Subscribers<A>, name: string, item: A): void => {
  const those = self.named.get(name)
  if (those?.delete(item) !== true || those.size > 0) return
  self.named.delete(name)
  if (Collection.isGlob(name)) self.globs--
}
