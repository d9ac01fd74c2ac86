/**
 * What an incremental client says that it holds when it comes back (`initial_resource_versions`), read as far as needed.
 *
 * A client over ten thousand clusters sends 850 KB of names and versions, and after a restart of the server all clients
 * do so at once, and say nearly the same. So an entry is kept once for all of them, and a client holds numbers: its
 * request is read while it comes and while its bytes are in the processor's cache, it takes a twentieth of the memory,
 * and what an entry means for a set of resources is found out once and not for each client.
 *
 * @see https://www.envoyproxy.io/docs/envoy/latest/api-docs/xds_protocol "Reconnect"
 * @since 0.1.0
 */
import type { Resource } from "./Resource.js"
import * as ResourceSet from "./ResourceSet.js"
import { viewOf } from "./Wire.js"

/** The tag of `initial_resource_versions` in a request. */
const ENTRY = 0x2a

/** Tags of the two fields of an entry, a string each. */
const NAME = 0x0a
const VERSION = 0x12

const decoder = new TextDecoder()

/** Twice as many words, of which the first are those that there were. */
const grown = (words: Uint32Array): Uint32Array<ArrayBuffer> => {
  const larger = new Uint32Array(2 * words.length)
  larger.set(words)
  return larger
}

/** Words of a slot: three of the hash, and the number + 1; 0 there is an empty slot. */
const slotWords = 4
/** At most so many of eight slots are taken. */
const mostOfEight = 5
/** Slots that are looked at to find an entry: a hash that is any good needs a tenth of that. */
const maxProbes = 128

/** Entries are hashed sixteen bytes at a time; for those that are shorter. */
const stride = 16
const short = new Uint8Array(stride)
const shortView = viewOf(short)

/** A lane of the hash with one word more, and another lane in it. */
const lane = (self: number, other: number, word: number, factor: number): number => {
  const next = Math.imul(self ^ word ^ (word >>> 15), factor)
  return (((next << 13) | (next >>> 19)) + other) | 0
}

/** One word of which every bit depends on every bit of three. */
const mixed = (first: number, second: number, third: number): number => {
  let word = Math.imul(first ^ (first >>> 15), 0x2c1b3c6d)
  word = Math.imul((word ^ (word >>> 12)) + second, 0x297a2d39)
  word = Math.imul((word ^ (word >>> 15)) + third, 0x85ebca6b)
  return word ^ (word >>> 16)
}

/**
 * Names and versions that clients hold, each pair once and with a number. What is put in stays; when it is full, another
 * one takes its place and this one is garbage with the last request that has numbers of it.
 *
 * An entry is known by 96 bits of a hash and its bytes are not looked at again: they would have to come from memory, which
 * takes longer than all the rest. Among a million entries two have the same with a probability of 10⁻¹⁷. A client that made
 * one up to have the hash of another's would win nothing: what a number means for a set is found by name and version, so
 * the other one would be sent again what it holds.
 *
 * @since 0.1.0
 */
export class Dictionary {
  private bytes = new Uint8Array(16_384)
  private used = 0
  /** Where an entry begins, by its number; it ends where the next one does. */
  private starts = new Uint32Array(256)
  private entries = 0
  private slots = new Int32Array(512 * slotWords)
  private full = false

  /** `maxBytes`: of the entries; their index takes about half as much. */
  constructor(readonly maxBytes: number) {}

  /** How many entries there are: their numbers are smaller. */
  get size(): number {
    return this.entries
  }

  /** Whether something was turned away. */
  get isFull(): boolean {
    return this.full
  }

  /** The number of an entry; -1 if it is new and there is no room. */
  numberOf(given: DataView, start: number, end: number): number {
    const length = end - start
    if (length >= stride) return this.find(given, start, end, length)
    short.fill(0)
    for (let index = 0; index < length; index++) short[index] = given.getUint8(start + index)
    return this.find(shortView, 0, stride, length)
  }

  /**
   * In four lanes, so that the processor works on all of them at a time. A word is folded before it is multiplied, and lanes
   * are added to one another: without that, names that differ in two letters had the same hash. What is left at the beginning
   * is hashed with some bytes a second time.
   */
  private find(view: DataView, start: number, end: number, length: number): number {
    const { slots } = this
    let a = length
    let b = 0x3c6ef372
    let c = 0x1b873593
    let d = 0x510e527f
    for (let at = end - stride; at > start - stride; at -= stride) {
      const from = at < start ? start : at
      a = lane(a, b, view.getInt32(from, true), 0x239b961b)
      b = lane(b, c, view.getInt32(from + 4, true), 0xab0e9789)
      c = lane(c, d, view.getInt32(from + 8, true), 0x38b34ae5)
      d = lane(d, a, view.getInt32(from + 12, true), 0xa1e38b93)
    }
    const one = mixed(a, (b + c) | 0, d)
    const two = mixed(b, (c + d) | 0, a)
    const three = mixed(c, (d + a) | 0, b)
    const mask = slots.length - 1
    let slot = (one * slotWords) & mask
    for (let probes = 0; probes < maxProbes; probes++) {
      const number = slots[slot + 3] ?? 0
      if (number === 0) {
        if (!this.add(view, start, length)) return -1
        this.fill(slot, one, two, three, this.entries)
        return this.entries - 1
      }
      if (slots[slot] === one && slots[slot + 1] === two && slots[slot + 2] === three) return number - 1
      slot = (slot + slotWords) & mask
    }
    return -1
  }

  private fill(slot: number, one: number, two: number, three: number, number: number): void {
    const { slots } = this
    slots[slot] = one
    slots[slot + 1] = two
    slots[slot + 2] = three
    slots[slot + 3] = number
    if (8 * number * slotWords <= mostOfEight * slots.length) return
    const larger = new Int32Array(2 * slots.length)
    const mask = larger.length - 1
    for (let from = 0; from < slots.length; from += slotWords) {
      if (slots[from + 3] === 0) continue
      let to = ((slots[from] ?? 0) * slotWords) & mask
      while (larger[to + 3] !== 0) to = (to + slotWords) & mask
      larger.set(slots.subarray(from, from + slotWords), to)
    }
    this.slots = larger
  }

  /** Keeps the bytes of an entry; `false` if there is no room. */
  private add(view: DataView, start: number, length: number): boolean {
    const end = this.used + length
    if (end > this.maxBytes) {
      this.full = true
      return false
    }
    if (end > this.bytes.byteLength) {
      const larger = new Uint8Array(Math.min(2 * end, this.maxBytes))
      larger.set(this.bytes)
      this.bytes = larger
    }
    if (this.entries + 1 === this.starts.length) this.starts = grown(this.starts)
    this.bytes.set(new Uint8Array(view.buffer, view.byteOffset + start, length), this.used)
    this.used = end
    this.entries++
    this.starts[this.entries] = end
    return true
  }

  /** The name and version with a number. */
  textOf(number: number): readonly [name: string, version: string] {
    const { bytes } = this
    const start = this.starts[number] ?? 0
    const nameEnd = start + 2 + (bytes[start + 1] ?? 0)
    return [
      decoder.decode(bytes.subarray(start + 2, nameEnd)),
      decoder.decode(bytes.subarray(nameEnd + 2, this.starts[number + 1]))
    ]
  }
}

/** Whether these bytes are a name and a version, of less than 128 bytes each, in this order. */
const isPlain = (view: DataView, start: number, end: number): boolean => {
  if (end - start < 4) return false
  const name = view.getUint8(start + 1)
  const at = start + 2 + name
  return (
    view.getUint8(start) === NAME &&
    name < 0x80 &&
    at + 2 <= end &&
    view.getUint8(at) === VERSION &&
    at + 2 + view.getUint8(at + 1) === end
  )
}

/**
 * Puts the entries of one request into a dictionary, as long as they are plain: a name and a version in this order and
 * of less than 128 bytes together, which is how everybody writes them.
 *
 * @since 0.1.0
 */
export class Collector {
  private numbers = new Uint32Array(256)
  private size = 0
  private bytes = 0

  constructor(readonly dictionary: Dictionary) {}

  /** Bytes of the entries that were taken. */
  get taken(): number {
    return this.bytes
  }

  /**
   * Takes entries that follow one another. `at` is the tag of the first, `end` the end of what has come.
   *
   * @returns where those that were taken end: before what is no entry, not plain, not whole, or found no room
   */
  take(view: DataView, at: number, end: number): number {
    const { dictionary } = this
    let next = at
    while (next + 2 <= end && view.getUint8(next) === ENTRY) {
      const start = next + 2
      const entryEnd = start + view.getUint8(next + 1)
      if (entryEnd - start >= 0x80 || entryEnd > end || !isPlain(view, start, entryEnd)) break
      const number = dictionary.numberOf(view, start, entryEnd)
      if (number < 0) break
      if (this.size === this.numbers.length) this.numbers = grown(this.numbers)
      this.numbers[this.size++] = number
      next = entryEnd
    }
    this.bytes += next - at
    return next
  }

  /** What was taken, and what was not and has come otherwise. */
  versions(others: ReadonlyMap<string, string> | undefined): ReadonlyMap<string, string> | undefined {
    if (this.size === 0) return others
    const versions = new InternedVersions(this.dictionary, this.numbers.slice(0, this.size))
    return others === undefined ? versions : new Map([...versions, ...others])
  }
}

/** The most that is kept of a chunk whose last field goes on in the next, and some of that one. */
const tailBytes = 512

/**
 * Takes the entries out of a request that comes in pieces, and passes on the rest, which is a request again.
 *
 * @since 0.1.0
 */
export class Sieve {
  /** The beginning of a field. */
  private readonly tail = new Uint8Array(tailBytes)
  private readonly tailView = viewOf(this.tail)
  private size = 0
  /** Bytes that are left of a field that is passed on. */
  private passing = 0
  private value = 0

  /** `keep`: is given what is passed on, at once. */
  constructor(
    readonly collector: Collector,
    private readonly keep: (bytes: Uint8Array, start: number, end: number) => void
  ) {}

  /** The next bytes of the request. */
  push(chunk: Uint8Array, start: number, end: number): void {
    let at = start
    if (this.size > 0) {
      const added = Math.min(tailBytes - this.size, end - at)
      this.tail.set(chunk.subarray(at, at + added), this.size)
      const next = this.field(this.tail, this.tailView, 0, this.size + added)
      if (next === 0) {
        this.size += added
        return
      }
      // What was not whole before ends behind it, or at least its head does.
      at += next - this.size
      this.size = 0
    }
    const view = viewOf(chunk)
    while (at < end) {
      if (this.passing > 0) {
        const next = Math.min(at + this.passing, end)
        this.keep(chunk, at, next)
        this.passing -= next - at
        at = next
        continue
      }
      const next = this.field(chunk, view, at, end)
      if (next === at) {
        this.tail.set(chunk.subarray(at, end))
        this.size = end - at
        return
      }
      at = next
    }
  }

  /** The request is over. What began and did not go on is passed on: it is malformed. */
  end(): void {
    this.keep(this.tail, 0, this.size)
    this.size = 0
  }

  /** Takes entries, or the head of another field; where that ends. `at`: it is not whole. */
  private field(bytes: Uint8Array, view: DataView, at: number, end: number): number {
    if (view.getUint8(at) === ENTRY) {
      if (at + 2 > end) return at
      const length = view.getUint8(at + 1)
      if (length < 0x80) {
        const entryEnd = at + 2 + length
        if (entryEnd > end) return at
        const next = this.collector.take(view, at, end)
        if (next > at) return next
        this.keep(bytes, at, entryEnd)
        return entryEnd
      }
    }
    const afterTag = this.varint(bytes, at, end)
    if (afterTag < 0) return at
    const type = this.value & 7
    let next = afterTag
    if (type === 2 || type === 0) {
      next = this.varint(bytes, afterTag, end)
      if (next < 0) return at
    }
    // Groups and types that there are not: whoever decodes the rest will say so.
    this.passing = type === 0 ? 0 : type === 1 ? 8 : type === 2 ? this.value : type === 5 ? 4 : Infinity
    this.keep(bytes, at, next)
    return next
  }

  /** Reads a number into `value`; where it ends, or -1 if it is not whole. */
  private varint(bytes: Uint8Array, at: number, end: number): number {
    let value = 0
    let unit = 1
    for (let next = at; next < end; next++) {
      const byte = bytes[next] ?? 0
      value += (byte & 0x7f) * unit
      unit *= 0x80
      // Ten bytes are the longest there is: more is malformed, which is seen later.
      if (byte < 0x80 || next === at + 9) {
        this.value = value
        return next + 1
      }
    }
    return -1
  }
}

/**
 * Names and versions as numbers of a dictionary: a map that is made when somebody asks it for anything but what
 * {@link compare} does.
 *
 * @since 0.1.0
 */
export class InternedVersions implements ReadonlyMap<string, string> {
  private decoded: ReadonlyMap<string, string> | undefined

  constructor(
    readonly dictionary: Dictionary,
    readonly numbers: Uint32Array
  ) {}

  /** Entries; one name may be in several. */
  get size(): number {
    return this.numbers.length
  }

  get(name: string): string | undefined {
    return this.map().get(name)
  }

  has(name: string): boolean {
    return this.map().has(name)
  }

  keys(): MapIterator<string> {
    return this.map().keys()
  }

  values(): MapIterator<string> {
    return this.map().values()
  }

  entries(): MapIterator<[string, string]> {
    return this.map().entries()
  }

  [Symbol.iterator](): MapIterator<[string, string]> {
    return this.map().entries()
  }

  forEach(visit: (version: string, name: string, map: ReadonlyMap<string, string>) => void): void {
    this.map().forEach(visit)
  }

  private map(): ReadonlyMap<string, string> {
    return (this.decoded ??= new Map(Array.from(this.numbers, (number) => this.dictionary.textOf(number))))
  }
}

/**
 * What a client holds, beside what a set has.
 *
 * @since 0.1.0
 */
export interface Comparison {
  /** Whether the client holds a resource of the set, as it is. */
  readonly isHeld: (resource: Resource) => boolean
  /** Those it does not, in the order of the set. */
  readonly unheld: () => ReadonlyArray<Resource>
  /** What it holds beside those: what is gone, or has another version. */
  readonly others: ReadonlyMap<string, string>
}

/**
 * A client that holds nothing, or was answered already.
 *
 * @since 0.1.0
 */
export const none: Comparison = { isHeld: () => false, unheld: () => [], others: new Map() }

/**
 * Compares what a client holds with a set.
 *
 * @since 0.1.0
 */
export const compare = (versions: ReadonlyMap<string, string>, set: ResourceSet.ResourceSet): Comparison => {
  if (versions instanceof InternedVersions) return compareInterned(versions, set)
  const isHeld = ({ name, version }: Resource): boolean => versions.get(name) === version
  return { isHeld, unheld: () => ResourceSet.all(set).filter((resource) => !isHeld(resource)), others: versions }
}

const compareInterned = ({ dictionary, numbers }: InternedVersions, set: ResourceSet.ResourceSet): Comparison => {
  const meaning = meaningOf(dictionary, set)
  const { placeOf, resources } = meaning
  const places = meaning.upTo(dictionary.size)
  const held = new Uint8Array(resources.length)
  let missing = resources.length
  const others = new Map<string, string>()
  for (const number of numbers) {
    let place = places[number] ?? unknown
    if (place === unknown) place = places[number] = meaning.find(number)
    if (place >= 0) {
      if (held[place] === 0) missing--
      held[place] = 1
    } else {
      const [name, version] = dictionary.textOf(number)
      others.set(name, version)
    }
  }
  return {
    isHeld: ({ name }) => {
      const place = placeOf.get(name)
      return place !== undefined && held[place] === 1
    },
    unheld: () => (missing === 0 ? [] : resources.filter((_, place) => held[place] === 0)),
    others
  }
}

/** It was not looked up yet. */
const unknown = -1
/** No resource of the set has this name and version. */
const otherwise = -2

/** What the entries of a dictionary are in a set of resources: found out once for each, and for all clients. */
class Meaning {
  readonly resources: ReadonlyArray<Resource>
  /** By name. */
  readonly placeOf: ReadonlyMap<string, number>
  private places = new Int32Array(0)

  constructor(
    readonly dictionary: Dictionary,
    set: ResourceSet.ResourceSet
  ) {
    this.resources = ResourceSet.all(set)
    this.placeOf = new Map(this.resources.map(({ name }, place) => [name, place]))
  }

  /** By number: the place of the resource, or that there is none, or that nobody has asked yet. */
  upTo(size: number): Int32Array {
    if (this.places.length < size) {
      const larger = new Int32Array(Math.max(size, 2 * this.places.length)).fill(unknown)
      larger.set(this.places)
      this.places = larger
    }
    return this.places
  }

  find(number: number): number {
    const [name, version] = this.dictionary.textOf(number)
    const place = this.placeOf.get(name)
    return place !== undefined && this.resources[place]?.version === version ? place : otherwise
  }
}

/** Of a set and the dictionary that it was last compared with: there are two only while one takes the other's place. */
const meanings = new WeakMap<ResourceSet.ResourceSet, Meaning>()

const meaningOf = (dictionary: Dictionary, set: ResourceSet.ResourceSet): Meaning => {
  const known = meanings.get(set)
  if (known?.dictionary === dictionary) return known
  const made = new Meaning(dictionary, set)
  meanings.set(set, made)
  return made
}
