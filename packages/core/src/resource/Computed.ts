/**
 * Cache of what is computed once for a set of resources and shared by all streams. It belongs to the set and ends with it. It
 * is no part of the set's value: it is neither compared nor printed.
 *
 * @since 0.1.0
 */
import * as HashMap from "effect/HashMap"
import * as Option from "effect/Option"
import * as Steps from "../Steps.js"
import type { Before } from "./Before.js"
import type { CollectionIndex } from "./CollectionIndex.js"
import type { Crossing } from "./Crossing.js"
import type { Responses } from "./Crossing.js"
import { type Cursor, isAlike } from "./Cursor.js"
import type { NameTrie } from "./NameTrie.js"
import type { Resource } from "./Resource.js"

/**
 * Most crossings kept, of each kind; the newest stay. Shared: from a state of the set, where many streams are. Own: from any
 * other cursor, where one stream is.
 */
const mostShared = 16

const mostOwn = 4

/** Most resources of a set that has a `Map`: making it takes a millisecond or two. */
const mostMapped = 16_384

/** Most names that have changed since a list of all resources that goes on: each is looked for in it. */
const mostChanged = Steps.atOnce

/** Places of a list that are looked at in one step: that takes some hundredths of a millisecond. */
const mostLooked = 512 * Steps.atOnce

/** A list of all resources of an earlier set, and what has changed since: what was there under the names before, oldest first. */
interface EarlierListing {
  readonly resources: ReadonlyArray<Resource>
  readonly changes: ReadonlyArray<Before>
  /** Names in the changes. */
  readonly names: number
}

/** What was there under each changed name; `undefined`: nothing under one of them. */
const replaced = ({ changes }: EarlierListing): ReadonlyMap<string, Resource> | undefined => {
  const first = new Map<string, Resource>()
  for (const change of changes) {
    for (const [name, resource] of change) {
      if (resource === undefined) return undefined
      if (!first.has(name)) first.set(name, resource)
    }
  }
  return first
}

/** The list with what is there now in the place of what was; `undefined`: a name has come or gone. */
const renewed = function* (
  earlier: EarlierListing,
  resources: NameTrie<Resource>
): Steps.Steps<ReadonlyArray<Resource> | undefined> {
  const before = replaced(earlier)
  if (before === undefined) return undefined
  const list = earlier.resources.slice()
  let looked = 0
  for (const [name, resource] of before) {
    const place = list.indexOf(resource)
    const now = resources.get(name)
    if (place < 0 || now === undefined) return undefined
    list[place] = now
    looked += place
    if (looked < mostLooked) continue
    looked = 0
    yield
  }
  return list
}

/**
 * How many resources have each TTL, with so many more that have this one.
 *
 * @since 0.1.0
 */
export const counted = (
  lifetimes: HashMap.HashMap<number, number>,
  ttl: number | undefined,
  more: number
): HashMap.HashMap<number, number> =>
  ttl === undefined
    ? lifetimes
    : HashMap.modifyAt(lifetimes, ttl, (count) => {
        const next = Option.getOrElse(count, () => 0) + more
        return next === 0 ? Option.none() : Option.some(next)
      })

/**
 * The cache of one set.
 *
 * @since 0.1.0
 */
export class Computed {
  /** How many resources have each TTL, in milliseconds, if any stream needs it. */
  lifetimes: Steps.Once<HashMap.HashMap<number, number>> | undefined
  /** The resources with each TTL, if any stream renewed them. */
  expiring: Steps.Once<ReadonlyMap<number, ReadonlyArray<Resource>>> | undefined
  /** For route configurations with VHDS: their opener names. */
  openers: ReadonlyArray<string> | undefined
  /** The members of glob collections, if any stream subscribes to one. */
  collections: Steps.Once<CollectionIndex> | undefined
  #listing: Steps.Once<ReadonlyArray<Resource>> | undefined
  #earlier: EarlierListing | undefined
  #full: Responses | undefined
  #byName: Map<string, Resource> | undefined
  /** How often a resource was looked up without a `Map`. */
  #lookUps = 0
  /** Oldest first. */
  #crossings: Array<Crossing> = []

  /** Responses that carry all resources. */
  get full(): Responses {
    return (this.#full ??= new Map())
  }

  /**
   * The resources in a `Map`, which finds one sooner than a hash trie, above all in a process that has just started. It is made
   * when as many were looked up as there are, so it costs no more than it may save.
   */
  byName(resources: NameTrie<Resource>): ReadonlyMap<string, Resource> | undefined {
    if (this.#byName !== undefined || ++this.#lookUps < resources.size) return this.#byName
    if (resources.size > mostMapped) return undefined
    return (this.#byName = new Map(resources))
  }

  /**
   * All resources, in an order that depends on the content alone. After small changes the list of an earlier set goes on: its order is
   * that of the trie, in which a resource has the place of the one before.
   */
  listing(resources: NameTrie<Resource>): Steps.Once<ReadonlyArray<Resource>> {
    return (this.#listing ??= new Steps.Once(() => this.#list(resources)))
  }

  *#list(resources: NameTrie<Resource>): Steps.Steps<ReadonlyArray<Resource>> {
    const next = this.#earlier && (yield* renewed(this.#earlier, resources))
    const list = next ?? (yield* Steps.filter(resources.values(), () => true))
    this.#earlier = undefined
    return list
  }

  /**
   * The cache of the set after a change, of which this is what was there before under each name; `undefined`: it has nothing yet. After a
   * small change it takes over the `Map`. This one has none then until it is looked into as often again, which happens only if the
   * change is not made, or to streams that are behind: a copy for each change would cost more.
   */
  after(resources: NameTrie<Resource>, before: Before): Computed | undefined {
    const map = this.#mapAfter(resources, before)
    const earlier = this.#earlierAfter(before)
    const lifetimes = this.#lifetimesAfter(resources, before)
    if (map === undefined && earlier === undefined && lifetimes === undefined) return undefined
    const next = new Computed()
    next.#byName = map
    next.#earlier = earlier
    next.lifetimes = lifetimes
    return next
  }

  #lifetimesAfter(resources: NameTrie<Resource>, before: Before) {
    const known = this.lifetimes?.value
    if (known === undefined || before.size > Steps.atOnce) return undefined
    let lifetimes = known
    for (const [name, resource] of before) {
      lifetimes = counted(lifetimes, resource?.ttl, -1)
      lifetimes = counted(lifetimes, resources.get(name)?.ttl, 1)
    }
    return new Steps.Once(() => Steps.of(lifetimes))
  }

  #mapAfter(resources: NameTrie<Resource>, names: Before): Map<string, Resource> | undefined {
    const map = this.#byName
    if (map === undefined || names.size > Steps.atOnce || resources.size > mostMapped) return undefined
    this.#byName = undefined
    this.#lookUps = 0
    for (const name of names.keys()) {
      const resource = resources.get(name)
      if (resource === undefined) map.delete(name)
      else map.set(name, resource)
    }
    return map
  }

  #earlierAfter(before: Before): EarlierListing | undefined {
    const listed = this.#listing?.value
    const earlier = listed === undefined ? this.#earlier : { resources: listed, changes: [], names: 0 }
    if (earlier === undefined) return undefined
    const names = earlier.names + before.size
    return names > mostChanged ? undefined : { ...earlier, changes: [...earlier.changes, before], names }
  }

  /** The crossing from a cursor, if it is kept. */
  known(since: Cursor): Crossing | undefined {
    // Newest first: most streams come from the same cursor as the stream before.
    for (let index = this.#crossings.length - 1; index >= 0; index--) {
      const each = this.#crossings[index]
      if (each !== undefined && isAlike(each.since, since)) return each
    }
    return undefined
  }

  keep(crossing: Crossing): void {
    const all = this.#crossings
    if (all.includes(crossing)) return
    const isOwn = crossing.since.digest === undefined
    let others = 0
    for (const { since } of all) if ((since.digest === undefined) === isOwn) others++
    if (others >= (isOwn ? mostOwn : mostShared)) {
      all.splice(
        all.findIndex(({ since }) => (since.digest === undefined) === isOwn),
        1
      )
    }
    all.push(crossing)
  }
}
