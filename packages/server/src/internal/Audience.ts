/**
 * Whom a change of a group concerns: the streams by the names and types they ask for. A change of one resource among ten
 * thousand then costs what those streams cost that ask for it, however many others there are.
 */
import type { ResourceGroup } from "@effect-xds/core/ResourceGroup"
import * as ResourceGroups from "@effect-xds/core/ResourceGroup"
import * as ResourceSet from "@effect-xds/core/ResourceSet"
import type { Interest } from "@effect-xds/core/ServerStream"
import * as HashMap from "effect/HashMap"

/** Those who ask for one type. */
interface Listeners<A> {
  /** For every resource of it. */
  readonly all: Set<A>
  readonly named: Map<string, Set<A>>
}

/** What part of all gets its turn with each change. */
const share = 64

export class Audience<A> {
  readonly #types = new Map<string, Listeners<A>>()
  readonly #interests = new Map<A, ReadonlyArray<Interest>>()

  /** Notes what somebody asks for now. Costs as much as what is different. */
  set(item: A, interests: ReadonlyArray<Interest>): void {
    const before = this.#interests.get(item) ?? []
    this.#interests.set(item, interests)
    for (const interest of interests) {
      const known = before.find(({ typeUrl }) => typeUrl === interest.typeUrl)
      if (known !== undefined && known.names === interest.names && known.everything === interest.everything) continue
      const listeners = this.#listeners(interest.typeUrl)
      if (interest.everything) listeners.all.add(item)
      for (const name of HashMap.keys(interest.names)) {
        const those = listeners.named.get(name)
        if (those === undefined) listeners.named.set(name, new Set([item]))
        else those.add(item)
      }
      if (known !== undefined) this.#drop(item, known, interest)
      else this.#tidy(interest.typeUrl, listeners)
    }
    for (const known of before) {
      // A type may also be given up: route configurations with the last interest in their virtual hosts.
      if (!interests.some(({ typeUrl }) => typeUrl === known.typeUrl)) this.#drop(item, known, undefined)
    }
  }

  delete(item: A): void {
    for (const interest of this.#interests.get(item) ?? []) this.#drop(item, interest, undefined)
    this.#interests.delete(item)
  }

  /** Entries of the index: for each type, those who ask for everything, and each pair of a name and who asks for it. */
  size(): number {
    let size = this.#types.size
    for (const { all, named } of this.#types.values()) {
      size += all.size
      for (const those of named.values()) size += those.size
    }
    return size
  }

  /** Visits those whom a change concerns, each once. */
  forEach(before: ResourceGroup, after: ResourceGroup, visit: (item: A) => void): void {
    const changes: Array<readonly [Listeners<A>, ReadonlyMap<string, number>]> = []
    for (const [typeUrl, listeners] of this.#types) {
      const set = ResourceGroups.set(after, typeUrl)
      const old = ResourceGroups.set(before, typeUrl)
      if (set.mark !== old.mark) changes.push([listeners, ResourceSet.difference(set, old.mark).touched])
    }
    const [first] = changes
    if (changes.length === 1 && first !== undefined && first[0].named.size === 0) return first[0].all.forEach(visit)
    const seen = new Set<A>()
    const see = (item: A): void => {
      if (seen.has(item)) return
      seen.add(item)
      visit(item)
    }
    for (const [{ all, named }, touched] of changes) {
      all.forEach(see)
      for (const name of touched.keys()) named.get(name)?.forEach(see)
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
    const made = { all: new Set<A>(), named: new Map<string, Set<A>>() }
    this.#types.set(typeUrl, made)
    return made
  }

  /** Forgets what of an interest is not in the one that follows it. */
  #drop(item: A, from: Interest, to: Interest | undefined): void {
    const listeners = this.#types.get(from.typeUrl)
    if (listeners === undefined) return
    const { all, named } = listeners
    if (to?.everything !== true) all.delete(item)
    for (const name of HashMap.keys(from.names)) {
      if (to !== undefined && HashMap.has(to.names, name)) continue
      const those = named.get(name)
      those?.delete(item)
      if (those?.size === 0) named.delete(name)
    }
    this.#tidy(from.typeUrl, listeners)
  }

  /** Forgets a type that nobody asks for. */
  #tidy(typeUrl: string, { all, named }: Listeners<A>): void {
    if (all.size === 0 && named.size === 0) this.#types.delete(typeUrl)
  }
}
