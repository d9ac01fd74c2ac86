/**
 * The held versions of clients, as numbers of an interner. The comparison with a resource set is computed once for all
 * clients that hold the same.
 */
import type { Cursor } from "@effect-xds/core/resource/Cursor"
import * as Difference from "@effect-xds/core/resource/Difference"
import type { Comparison, SharedVersions } from "@effect-xds/core/resource/HeldVersions"
import * as HeldVersions from "@effect-xds/core/resource/HeldVersions"
import type { Resource } from "@effect-xds/core/resource/Resource"
import * as ResourceSet from "@effect-xds/core/resource/ResourceSet"
import * as Steps from "@effect-xds/core/Steps"
import type { Numbers } from "./Numbers.js"

const [unknown, otherwise] = [-1, -2]

/** Entries by number; all numbers are below `size`. */
interface Interner {
  readonly size: number
  readonly textOf: (number: number) => readonly [name: string, version: string]
}

/** A client that quotes fewer than one in so many of the resources is compared by its names, where nothing is prepared. */
const few = 16

/** A comparison follows from an earlier one if at most one in so many of the resources has changed. */
const follows = 8

/** Earlier comparisons to follow from: clients that return after an outage hold one state, or one of a few. */
const maxRoots = 4

/** The place of each number's resource in a resource set, computed once for all clients. */
class Places {
  /** {@link otherwise}: the set has no resource with this name and version. */
  #places = new Int32Array(0)

  private constructor(
    private readonly interner: Interner,
    readonly resources: ReadonlyArray<Resource>,
    private readonly placeOf: ReadonlyMap<string, number>
  ) {}

  static *make(interner: Interner, set: ResourceSet.ResourceSet): Steps.Steps<Places> {
    const resources = yield* ResourceSet.listing(set)
    const placeOf = new Map<string, number>()
    for (const { name } of resources) if (placeOf.set(name, placeOf.size).size % Steps.atOnce === 0) yield
    return new Places(interner, resources, placeOf)
  }

  *compare(numbers: Numbers): Steps.Steps<Comparison> {
    const { interner, placeOf, resources } = this
    const held = new Uint8Array(resources.length)
    const others = new Map<string, string>()
    let count = 0
    for (const number of numbers) {
      if (++count % Steps.atOnce === 0) yield
      const place = this.#placeOf(number)
      if (place >= 0) {
        held[place] = 1
        continue
      }
      const [name, version] = interner.textOf(number)
      others.set(name, version)
    }
    const all = (isHeld: number) => () => Steps.filter(resources, (_, place) => held[place] === isHeld)
    const unheld = new Steps.Once(all(0))
    return {
      isHeld: ({ name }) => held[placeOf.get(name) ?? resources.length] === 1,
      unheld: () => unheld.steps(),
      held: all(1),
      others
    }
  }

  /** The resource of that name. */
  at(name: string): Resource | undefined {
    const place = this.placeOf.get(name)
    return place === undefined ? undefined : this.resources[place]
  }

  #placeOf(number: number): number {
    if (number >= this.#places.length) {
      const grown = new Int32Array(Math.max(this.interner.size, 2 * this.#places.length)).fill(unknown)
      grown.set(this.#places)
      this.#places = grown
    }
    const known = this.#places[number] ?? unknown
    if (known !== unknown) return known
    const [name, version] = this.interner.textOf(number)
    const place = this.placeOf.get(name)
    const found = place !== undefined && this.resources[place]?.version === version ? place : otherwise
    this.#places[number] = found
    return found
  }
}

/** A comparison with a set as it was once. */
interface Root {
  readonly numbers: Numbers
  readonly places: Places
  readonly comparison: Comparison
  readonly cursor: Cursor
}

/**
 * The comparison of the same versions with a later set. ★ Clients return while resources change: to compare all of them again
 * after each change would take longer than to read what the clients send.
 */
const followed = function* (
  { comparison, places }: Root,
  set: ResourceSet.ResourceSet,
  { changed, touched }: Difference.Difference
): Steps.Steps<Comparison> {
  const others = new Map<string, string>()
  let count = 0
  for (const [name, version] of comparison.others) {
    others.set(name, version)
    if (++count % Steps.atOnce === 0) yield
  }
  const held = new Set<string>()
  for (const name of touched.keys()) {
    if (++count % Steps.atOnce === 0) yield
    const before = places.at(name)
    const quoted = before !== undefined && comparison.isHeld(before) ? before.version : undefined
    const version = ResourceSet.get(set, name)?.version
    if (version !== undefined && (quoted === version || others.get(name) === version)) held.add(name)
    if (quoted !== undefined && quoted !== version) others.set(name, quoted)
  }
  const isHeld = (resource: Resource): boolean =>
    touched.has(resource.name) ? held.has(resource.name) : comparison.isHeld(resource)
  const unheld = new Steps.Once(function* () {
    const untouched = yield* Steps.filter(yield* comparison.unheld(), ({ name }) => !touched.has(name))
    return untouched.concat(yield* Steps.filter(changed, ({ name }) => !held.has(name)))
  })
  return {
    isHeld,
    unheld: () => unheld.steps(),
    held: function* () {
      return yield* Steps.filter(yield* ResourceSet.listing(set), isHeld)
    },
    others
  }
}

/** What is known of a set. */
interface Known {
  places: Steps.Once<Places> | undefined
  /** Kept for the next client: after a restart of the server nearly all hold the same. */
  last: { readonly numbers: Numbers; readonly comparison: Steps.Once<Comparison> } | undefined
}

/** The held versions of clients, as numbers of one interner. */
export class InternedVersions {
  readonly #known = new WeakMap<ResourceSet.ResourceSet, Known>()
  /** The latest first. They go with the interner, when no client has quoted versions for a while. */
  #roots: ReadonlyArray<Root> = []

  constructor(private readonly interner: Interner) {}

  /** The held versions of one client. */
  of(numbers: Numbers): SharedVersions {
    const { interner } = this
    const comparisonWith = (set: ResourceSet.ResourceSet) => this.#comparison(numbers, set)
    return {
      size: numbers.count,
      compare: function* (set) {
        return yield* comparisonWith(set).steps()
      },
      compared: (set) => {
        const last = this.#known.get(set)?.last
        return last?.numbers.equals(numbers) === true ? last.comparison.value : undefined
      },
      *[Symbol.iterator]() {
        for (const number of numbers) yield interner.textOf(number)
      }
    }
  }

  #comparison(numbers: Numbers, set: ResourceSet.ResourceSet): Steps.Once<Comparison> {
    const known = this.#known.get(set) ?? { places: undefined, last: undefined }
    this.#known.set(set, known)
    if (known.last?.numbers.equals(numbers) === true) return known.last.comparison
    const comparison = new Steps.Once(() => this.#compare(numbers, set, known))
    known.last = { numbers, comparison }
    return comparison
  }

  *#compare(numbers: Numbers, set: ResourceSet.ResourceSet, known: Known): Steps.Steps<Comparison> {
    const size = set.resources.size
    if (known.places === undefined) {
      const root = this.#roots.find((each) => each.numbers.equals(numbers))
      const difference = root && (yield* Difference.inSteps(set, root.cursor))
      if (root !== undefined && difference !== undefined && difference.touched.size * follows <= size) {
        return yield* followed(root, set, difference)
      }
      if (numbers.count * few < size) {
        const versions = new Map(Array.from(numbers, (number) => this.interner.textOf(number)))
        return yield* HeldVersions.compare(versions, set)
      }
    }
    known.places ??= new Steps.Once(() => Places.make(this.interner, set))
    const places = yield* known.places.steps()
    const comparison = yield* places.compare(numbers)
    const others = this.#roots.filter((each) => !each.numbers.equals(numbers))
    this.#roots = [{ numbers, places, comparison, cursor: set.cursor }, ...others].slice(0, maxRoots)
    return comparison
  }
}
