/**
 * The held versions of clients, as numbers of an interner. The comparison with a resource set is computed once for all
 * clients that hold the same.
 */
import type { Comparison, SharedVersions } from "@effect-xds/core/resource/HeldVersions"
import type { Resource } from "@effect-xds/core/resource/Resource"
import * as ResourceSet from "@effect-xds/core/resource/ResourceSet"
import * as Steps from "@effect-xds/core/Steps"

/** From this many numbers a bitmap may be used. */
const leastBits = 256

const larger = (words: Uint32Array, least: number): Uint32Array<ArrayBuffer> => {
  const grown = new Uint32Array(Math.max(least, 2 * words.length))
  grown.set(words)
  return grown
}

/** The numbers of one client: a list, or a bitmap as soon as that takes less memory. */
export class Numbers {
  #words = new Uint32Array(16)
  #areBits = false
  #count = 0

  /** In a list, a number added twice counts twice. */
  get count(): number {
    return this.#count
  }

  /** `size`: of the interner. */
  add(numbers: Int32Array, size: number): void {
    if (this.#areBits) return this.#set(numbers)
    const count = this.#count + numbers.length
    if (count < leastBits || 32 * count < size) {
      if (count > this.#words.length) this.#words = larger(this.#words, count)
      this.#words.set(numbers, this.#count)
      this.#count = count
      return
    }
    const list = this.#words.subarray(0, this.#count)
    this.#areBits = true
    this.#count = 0
    this.#words = new Uint32Array(Math.ceil(size / 32))
    this.#set(list)
    this.#set(numbers)
  }

  #set(numbers: ArrayLike<number>): void {
    let words = this.#words
    let count = this.#count
    for (let index = 0; index < numbers.length; index++) {
      const number = numbers[index] ?? 0
      const at = number >>> 5
      if (at >= words.length) words = larger(words, at + 1)
      const before = words[at] ?? 0
      const after = (before | (1 << (number & 31))) >>> 0
      words[at] = after
      if (after !== before) count++
    }
    this.#words = words
    this.#count = count
  }

  *[Symbol.iterator](): IterableIterator<number> {
    if (!this.#areBits) yield* this.#words.subarray(0, this.#count)
    else
      for (const [at, word] of this.#words.entries())
        for (let left = word; left !== 0; left &= left - 1) yield 32 * at + 31 - Math.clz32(left & -left)
  }

  /** Whether two are equal. Equal lists in different order count as different. */
  equals(that: Numbers): boolean {
    if (this.#count !== that.#count || this.#areBits !== that.#areBits) return false
    const length = this.#areBits ? Math.max(this.#words.length, that.#words.length) : this.#count
    for (let at = 0; at < length; at++) if ((this.#words[at] ?? 0) !== (that.#words[at] ?? 0)) return false
    return true
  }
}

const [unknown, otherwise] = [-1, -2]

/** Entries by number; all numbers are below `size`. */
interface Interner {
  readonly size: number
  readonly textOf: (number: number) => readonly [name: string, version: string]
}

/** The place of each number's resource in a resource set, computed once for all clients. */
class Places {
  /** {@link otherwise}: the set has no resource with this name and version. */
  #places = new Int32Array(0)
  #last: { readonly numbers: Numbers; readonly comparison: Steps.Once<Comparison> } | undefined

  private constructor(
    private readonly interner: Interner,
    private readonly resources: ReadonlyArray<Resource>,
    private readonly placeOf: ReadonlyMap<string, number>
  ) {}

  static *make(interner: Interner, set: ResourceSet.ResourceSet): Steps.Steps<Places> {
    const resources = yield* ResourceSet.listing(set)
    const placeOf = new Map<string, number>()
    for (const { name } of resources) if (placeOf.set(name, placeOf.size).size % Steps.atOnce === 0) yield
    return new Places(interner, resources, placeOf)
  }

  /** Kept for the next client: after a restart of the server nearly all hold the same. */
  comparison(numbers: Numbers): Steps.Once<Comparison> {
    const known = this.known(numbers)
    if (known !== undefined) return known
    const comparison = new Steps.Once(() => this.#compare(numbers))
    this.#last = { numbers, comparison }
    return comparison
  }

  known(numbers: Numbers): Steps.Once<Comparison> | undefined {
    return this.#last?.numbers.equals(numbers) === true ? this.#last.comparison : undefined
  }

  *#compare(numbers: Numbers): Steps.Steps<Comparison> {
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

/** The held versions of clients, as numbers of one interner. */
export class InternedVersions {
  readonly #places = new WeakMap<ResourceSet.ResourceSet, Steps.Once<Places>>()

  constructor(private readonly interner: Interner) {}

  /** The held versions of one client. */
  of(numbers: Numbers): SharedVersions {
    const { interner } = this
    const placesIn = (set: ResourceSet.ResourceSet) => this.#placesIn(set)
    return {
      size: numbers.count,
      compare: function* (set) {
        return yield* (yield* placesIn(set).steps()).comparison(numbers).steps()
      },
      compared: (set) => placesIn(set).value?.known(numbers)?.value,
      *[Symbol.iterator]() {
        for (const number of numbers) yield interner.textOf(number)
      }
    }
  }

  #placesIn(set: ResourceSet.ResourceSet): Steps.Once<Places> {
    const known = this.#places.get(set)
    if (known !== undefined) return known
    const made = new Steps.Once(() => Places.make(this.interner, set))
    this.#places.set(set, made)
    return made
  }
}
