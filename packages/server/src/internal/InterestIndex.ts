/**
 * Whom a change of a group concerns: the streams by the names and types they ask for. A change of one resource among ten
 * thousand then costs what those streams cost that ask for it, however many others there are.
 */
import { isSame } from "@effect-xds/core/resource/Cursor"
import * as Difference from "@effect-xds/core/resource/Difference"
import type { ResourceGroup } from "@effect-xds/core/resource/ResourceGroup"
import * as ResourceGroups from "@effect-xds/core/resource/ResourceGroup"
import type { Interest } from "@effect-xds/core/server/ServerStream"
import * as HashMap from "effect/HashMap"
import { NameMap } from "./NameMap.js"

/** Those who ask for one type. */
interface Listeners<A> {
  /** For every resource of it. */
  readonly all: Set<A>
  readonly named: NameMap<Set<A>>
}

/** What part of all gets its turn with each change. */
const share = 64

/** Names that are noted or forgotten at a time. */
const namesAtATime = 1_024

/** Work on many names that is done in slices: each `next` is one. */
export type Slices = Iterator<void, void>

/** What somebody asks for of one type, before and after. */
interface Change {
  readonly typeUrl: string
  readonly from: Interest | undefined
  readonly to: Interest | undefined
}

const noNames = HashMap.empty<string, unknown>()

const sizeOf = (interest: Interest | undefined): number => (interest === undefined ? 0 : HashMap.size(interest.names))

export class InterestIndex<A> {
  readonly #types = new Map<string, Listeners<A>>()
  readonly #interests = new Map<A, ReadonlyArray<Interest>>()
  /** What those asked for before whose slices are not done yet. */
  readonly #unfinished = new Map<A, ReadonlyArray<Interest>>()

  /**
   * Notes what somebody asks for now. Costs as much as what is different; if that is many names, it is done in the slices that
   * are given back, one after the other and before the next call for the same. Until then every change concerns them.
   */
  set(item: A, interests: ReadonlyArray<Interest>): Slices | undefined {
    const before = this.#interests.get(item) ?? []
    this.#interests.set(item, interests)
    const changes: Array<Change> = []
    for (const to of interests) {
      const from = before.find(({ typeUrl }) => typeUrl === to.typeUrl)
      if (from === undefined || from.names !== to.names || from.everything !== to.everything)
        changes.push({ typeUrl: to.typeUrl, from, to })
    }
    for (const from of before) {
      // A type may also be given up: route configurations with the last interest in their virtual hosts.
      if (!interests.some(({ typeUrl }) => typeUrl === from.typeUrl))
        changes.push({ typeUrl: from.typeUrl, from, to: undefined })
    }
    const slices = this.#apply(item, changes)
    if (slices === undefined) return undefined
    for (const { typeUrl } of changes) this.#listeners(typeUrl).all.add(item)
    this.#unfinished.set(item, before)
    return slices
  }

  /** Forgets somebody: at once, but for many names, which are forgotten in slices. Nobody is there when they are visited. */
  delete(item: A): Slices | undefined {
    const interests = [...(this.#interests.get(item) ?? []), ...(this.#unfinished.get(item) ?? [])]
    this.#interests.delete(item)
    this.#unfinished.delete(item)
    for (const { typeUrl } of interests) this.#types.get(typeUrl)?.all.delete(item)
    return this.#apply(
      item,
      interests.map((from) => ({ typeUrl: from.typeUrl, from, to: undefined }))
    )
  }

  /** Entries of the index: for each type, those who ask for everything, and each pair of a name and who asks for it. */
  size(): number {
    let size = this.#types.size
    for (const { all, named } of this.#types.values()) {
      size += all.size
      for (const [, those] of named) size += those.size
    }
    return size
  }

  /** Visits those whom a change concerns, each once. */
  forEach(before: ResourceGroup, after: ResourceGroup, visit: (item: A) => void): void {
    const changes: Array<readonly [Listeners<A>, Difference.Difference]> = []
    for (const [typeUrl, listeners] of this.#types) {
      const set = ResourceGroups.set(after, typeUrl)
      const old = ResourceGroups.set(before, typeUrl)
      if (!isSame(set.cursor, old.cursor)) changes.push([listeners, Difference.of(set, old.cursor)])
    }
    const [first] = changes
    if (changes.length === 1 && first !== undefined && first[0].named.size === 0) return first[0].all.forEach(visit)
    const seen = new Set<A>()
    const see = (item: A): void => {
      if (seen.has(item)) return
      seen.add(item)
      visit(item)
    }
    for (const [{ all, named }, difference] of changes) {
      all.forEach(see)
      for (const name of difference.touched.keys()) named.get(name)?.forEach(see)
      // A domain like `*.example.com` changed: whoever asks for a host that it stands for is concerned.
      if (difference.domains.length === 0) continue
      for (const [name, those] of named) if (Difference.concerns(difference, name)) those.forEach(see)
    }
  }

  /** Visits some, in turn: with each change a part of all, so that nobody holds on to a state of long ago. */
  someInTurn(visit: (item: A) => void): void {
    let left = Math.ceil(this.#interests.size / share)
    // The first go to the end. No iterator is kept from turn to turn: it would hold on to all who were there when it was made.
    for (const [item, interests] of this.#interests) {
      if (left === 0) return
      left--
      this.#interests.delete(item)
      this.#interests.set(item, interests)
      visit(item)
    }
  }

  #listeners(typeUrl: string): Listeners<A> {
    const known = this.#types.get(typeUrl)
    if (known !== undefined) return known
    const made = { all: new Set<A>(), named: new NameMap<Set<A>>() }
    this.#types.set(typeUrl, made)
    return made
  }

  /** Does few changes now; gives back the slices of many. */
  #apply(item: A, changes: ReadonlyArray<Change>): Slices | undefined {
    let size = 0
    for (const { from, to } of changes) size += sizeOf(from) + sizeOf(to)
    if (size > namesAtATime) return this.#slices(item, changes, namesAtATime)
    this.#slices(item, changes, Number.POSITIVE_INFINITY).next()
    return undefined
  }

  *#slices(item: A, changes: ReadonlyArray<Change>, most: number): Generator<void, void> {
    let left = most
    for (const { from, to, typeUrl } of changes) {
      const listeners = this.#listeners(typeUrl)
      const { all, named } = listeners
      for (const name of HashMap.keys(from?.names ?? noNames)) {
        if (to === undefined || !HashMap.has(to.names, name)) drop(named, name, item)
        if (--left > 0) continue
        left = most
        yield
      }
      for (const name of HashMap.keys(to?.names ?? noNames)) {
        const those = named.get(name)
        if (those === undefined) named.set(name, new Set([item]))
        else those.add(item)
        if (--left > 0) continue
        left = most
        yield
      }
      if (to?.everything === true) all.add(item)
      else all.delete(item)
      // A type that nobody asks for.
      if (all.size === 0 && named.size === 0 && this.#types.get(typeUrl) === listeners) this.#types.delete(typeUrl)
    }
    this.#unfinished.delete(item)
  }
}

const drop = <A>(named: NameMap<Set<A>>, name: string, item: A): void => {
  const those = named.get(name)
  if (those?.delete(item) === true && those.size === 0) named.delete(name)
}
