/**
 * What an incremental client says that it holds when it comes back (`initial_resource_versions`), read as far as needed.
 *
 * A client over ten thousand clusters sends 850 KB of names and versions, and after a restart of the server all clients
 * do so at once. Almost all of it is what the server would send. So the entries stay bytes, and are compared with the
 * bytes that each resource of the set would have here, which are worked out once for a set and all its clients; only what
 * is different becomes text.
 *
 * @see https://www.envoyproxy.io/docs/envoy/latest/api-docs/xds_protocol "Reconnect"
 * @since 0.1.0
 */
import type { Resource } from "./Resource.js"
import * as ResourceSet from "./ResourceSet.js"
import { utf8 } from "./Wire.js"

/** The tag of `initial_resource_versions` in a request. */
const ENTRY = 0x2a

/** Tags of the two fields of an entry, a string each. */
const NAME = 0x0a
const VERSION = 0x12

const decoder = new TextDecoder()

/**
 * Names and versions as they came: a map that is made when somebody asks it for anything but what {@link compare} does.
 *
 * @since 0.1.0
 */
export class EncodedVersions implements ReadonlyMap<string, string> {
  private decoded: ReadonlyMap<string, string> | undefined

  /** Entries; one name may be in several. */
  readonly size: number

  /** `runs`: as {@link plainEntries} found them. */
  constructor(
    readonly bytes: Uint8Array,
    readonly runs: ReadonlyArray<Run>
  ) {
    this.size = runs.reduce((sum, { size }) => sum + size, 0)
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
    if (this.decoded === undefined) {
      const made = new Map<string, string>()
      for (const run of this.runs) {
        for (let at = run.start; at < run.end; at += 2 + (this.bytes[at] ?? 0)) {
          const [name, version] = entryAt(this.bytes, at + 1)
          made.set(name, version)
        }
      }
      this.decoded = made
    }
    return this.decoded
  }
}

/** Entries that follow one another, each with its tag and length. */
export interface Run {
  /** Behind the tag of the first. */
  readonly start: number
  readonly end: number
  readonly size: number
}

/**
 * Reads entries as long as they are plain and follow one another: a name and a version in this order and of less than 128
 * bytes together, which is how everybody writes them. `at` is behind the tag of the first one. `undefined` if that is not
 * plain.
 *
 * @since 0.1.0
 */
export const plainEntries = (bytes: Uint8Array, at: number): Run | undefined => {
  let end = at
  let size = 0
  for (let start = at; ; start = end + 1) {
    const length = bytes[start] ?? 0x80
    if (length >= 0x80 || !isPlain(bytes, start + 1, start + 1 + length)) break
    end = start + 1 + length
    size++
    if (bytes[end] !== ENTRY) break
  }
  return size === 0 ? undefined : { start: at, end, size }
}

/** Whether these bytes are a name and a version, of less than 128 bytes each, in this order. */
const isPlain = (bytes: Uint8Array, start: number, end: number): boolean => {
  const name = bytes[start + 1] ?? 0x80
  const at = start + 2 + name
  const version = bytes[at + 1] ?? 0x80
  return (
    end <= bytes.byteLength &&
    bytes[start] === NAME &&
    name < 0x80 &&
    bytes[at] === VERSION &&
    version < 0x80 &&
    at + 2 + version === end
  )
}

/** The name and version of a plain entry. */
const entryAt = (bytes: Uint8Array, start: number): readonly [name: string, version: string] => {
  const nameEnd = start + 2 + (bytes[start + 1] ?? 0)
  const versionEnd = nameEnd + 2 + (bytes[nameEnd + 1] ?? 0)
  return [decoder.decode(bytes.subarray(start + 2, nameEnd)), decoder.decode(bytes.subarray(nameEnd + 2, versionEnd))]
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
  if (versions instanceof EncodedVersions) return compareEncoded(versions, set)
  const isHeld = ({ name, version }: Resource): boolean => versions.get(name) === version
  return { isHeld, unheld: () => ResourceSet.all(set).filter((resource) => !isHeld(resource)), others: versions }
}

const compareEncoded = (versions: EncodedVersions, set: ResourceSet.ResourceSet): Comparison => {
  const { bytes } = versions
  const index = indexOf(set)
  const held = new Uint8Array(index.resources.length)
  const view = viewOf(bytes)
  const others = new Map<string, string>()
  for (const run of versions.runs) {
    for (let at = run.start; at < run.end; at++) {
      const start = at + 1
      at = start + view.getUint8(at)
      const found = find(index, view, start, at)
      if (found >= 0) held[found] = 1
      else {
        const [name, version] = entryAt(bytes, start)
        others.set(name, version)
      }
    }
  }
  return {
    isHeld: (resource) => {
      const place = index.places.get(resource.name)
      return place !== undefined && held[place] === 1
    },
    unheld: () => {
      const missing: Array<Resource> = []
      for (let place = 0; place < held.length; place++) {
        const resource = index.resources[place]
        if (held[place] === 0 && resource !== undefined) missing.push(resource)
      }
      return missing
    },
    others
  }
}

/** The entries of a set as a client would write them, found by their hash: open addressing, at most half full. */
interface Index {
  readonly resources: ReadonlyArray<Resource>
  /** By name. */
  readonly places: ReadonlyMap<string, number>
  readonly view: DataView
  /** Where the entry of each resource begins; one more for the end of the last. */
  readonly starts: Uint32Array
  /** Place + 1 of a resource; 0 is empty. */
  readonly slots: Uint32Array
  /** Bytes at the end of an entry by which it is hashed. */
  readonly hashed: number
}

/** Of a version that is a fingerprint these bytes are enough to tell resources apart; labels may be alike. */
const fingerprintBytes = 8

/** More than any entry here has. */
const longest = 256

const indexes = new WeakMap<ResourceSet.ResourceSet, Index>()

const indexOf = (set: ResourceSet.ResourceSet): Index => {
  const known = indexes.get(set)
  if (known !== undefined) return known
  const resources = ResourceSet.all(set)
  const entries = resources.map(({ name, version }) => entryOf(utf8(name), utf8(version)))
  const starts = new Uint32Array(entries.length + 1)
  for (const [place, entry] of entries.entries()) starts[place + 1] = (starts[place] ?? 0) + entry.byteLength
  const bytes = new Uint8Array(starts[entries.length] ?? 0)
  const view = viewOf(bytes)
  let capacity = 16
  while (capacity < 2 * entries.length) capacity *= 2
  const slots = new Uint32Array(capacity)
  const isFingerprinted = resources.every(({ fingerprint, version }) => version === fingerprint)
  const hashed = isFingerprinted ? fingerprintBytes : longest
  for (const [place, entry] of entries.entries()) {
    bytes.set(entry, starts[place])
    let slot = hash(viewOf(entry), Math.max(0, entry.byteLength - hashed), entry.byteLength) & (capacity - 1)
    while (slots[slot] !== 0) slot = (slot + 1) & (capacity - 1)
    slots[slot] = place + 1
  }
  const places = new Map(resources.map(({ name }, place) => [name, place]))
  const made = { resources, places, view, starts, slots, hashed }
  indexes.set(set, made)
  return made
}

const entryOf = (name: Uint8Array, version: Uint8Array): Uint8Array => {
  // Longer ones are never plain: such an entry is found by its text.
  if (name.byteLength >= 0x80 || version.byteLength >= 0x80) return new Uint8Array()
  const entry = new Uint8Array(4 + name.byteLength + version.byteLength)
  entry[0] = NAME
  entry[1] = name.byteLength
  entry.set(name, 2)
  entry[2 + name.byteLength] = VERSION
  entry[3 + name.byteLength] = version.byteLength
  entry.set(version, 4 + name.byteLength)
  return entry
}

/** FNV-1a over words of four bytes, and the bytes that are left. */
const hash = (view: DataView, start: number, end: number): number => {
  let sum = 0x811c9dc5
  let at = end - 4
  for (; at >= start; at -= 4) sum = Math.imul(sum ^ view.getUint32(at, true), 0x01000193)
  for (at += 3; at >= start; at--) sum = Math.imul(sum ^ view.getUint8(at), 0x01000193)
  // The low bits are used, and of a word the high ones have had no part in them.
  sum = Math.imul(sum ^ (sum >>> 15), 0x2c1b3c6d)
  return (sum ^ (sum >>> 13)) >>> 0
}

const viewOf = (bytes: Uint8Array): DataView => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)

/**
 * From the end, where the versions are: names that are not the same often begin alike. Eight bytes at a time, the last of
 * them a second time where the length is not a multiple. They are read as numbers, which is exact but for zeros (there are
 * two of them, equal to each other) and for what is no number (not equal to itself): text is neither, and anything
 * else is compared by its bytes.
 */
const isSame = (one: DataView, first: number, other: DataView, second: number, length: number): boolean => {
  let at = length - 8
  for (; at > 0; at -= 8) if (!isSameWord(one, first + at, other, second + at)) return false
  if (length >= 8) return isSameWord(one, first, other, second)
  return isSameBytes(one, first, other, second, length)
}

const isSameWord = (one: DataView, first: number, other: DataView, second: number): boolean => {
  const word = one.getFloat64(first, true)
  return (word === other.getFloat64(second, true) && word !== 0) || isSameBytes(one, first, other, second, 8)
}

const isSameBytes = (one: DataView, first: number, other: DataView, second: number, length: number): boolean => {
  for (let at = 0; at < length; at++) if (one.getUint8(first + at) !== other.getUint8(second + at)) return false
  return true
}

/** The place of the resource with this entry; -1 if there is none. */
const find = ({ hashed, slots, starts, view }: Index, given: DataView, start: number, end: number): number => {
  const length = end - start
  const mask = slots.length - 1
  let slot = hash(given, length > hashed ? end - hashed : start, end) & mask
  for (let place = slots[slot] ?? 0; place !== 0; place = slots[slot] ?? 0) {
    const first = starts[place - 1] ?? 0
    if ((starts[place] ?? 0) - first === length && isSame(given, start, view, first, length)) return place - 1
    slot = (slot + 1) & mask
  }
  return -1
}
