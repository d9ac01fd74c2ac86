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
  #next: Iterator<A> | undefined

  /** Notes what somebody asks for now. Costs as much as what is different. */
  set(item: A, interests: ReadonlyArray<Interest>): void {
    const before = this.#interests.get(item) ?? []
    this.#interests.set(item, interests)
    for (const interest of interests) {
      const known = before.find(({ typeUrl }) => typeUrl === interest.typeUrl)
      if (known !== undefined && known.names === interest.names && known.everything === interest.everything) continue
      const listeners = this.#listeners(interest.typeUrl)
      if (interest.everything) listeners.all.add(item)
      else listeners.all.delete(item)
      if (known !== undefined) this.#drop(item, listeners, known, interest)
      for (const name of HashMap.keys(interest.names)) {
        const those = listeners.named.get(name)
        if (those === undefined) listeners.named.set(name, new Set([item]))
        else those.add(item)
      }
    }
  }

  delete(item: A): void {
    for (const interest of this.#interests.get(item) ?? []) {
      const listeners = this.#types.get(interest.typeUrl)
      if (listeners === undefined) continue
      listeners.all.delete(item)
      this.#drop(item, listeners, interest, undefined)
      if (listeners.all.size === 0 && listeners.named.size === 0) this.#types.delete(interest.typeUrl)
    }
    this.#interests.delete(item)
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
    for (let left = Math.ceil(this.#interests.size / share); left > 0; left--) {
      const next = this.#next?.next()
      if (next === undefined || next.done === true) this.#next = this.#interests.keys()
      else visit(next.value)
    }
  }

  #listeners(typeUrl: string): Listeners<A> {
    const known = this.#types.get(typeUrl)
    if (known !== undefined) return known
    const made = { all: new Set<A>(), named: new Map<string, Set<A>>() }
    this.#types.set(typeUrl, made)
    return made
  }

  /** Forgets the names of an interest that are not in the one that follows it. */
  #drop(item: A, { named }: Listeners<A>, from: Interest, to: Interest | undefined): void {
    for (const name of HashMap.keys(from.names)) {
      if (to !== undefined && HashMap.has(to.names, name)) continue
      const those = named.get(name)
      those?.delete(item)
      if (those?.size === 0) named.delete(name)
    }
  }
}
