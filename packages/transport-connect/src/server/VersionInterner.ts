/**
 * Names and versions that clients hold: each pair once for all clients.
 *
 * A client with ten thousand clusters sends 850 KB of names and versions when it reconnects. After a restart of the
 * server all clients do so at once, with nearly equal content. So a client's pairs are kept as numbers, and comparing
 * them with a resource set happens once for all clients with the same numbers.
 *
 * ★ A pair is compared by all its bytes, not by a hash alone: clients share the interner before they are authorized.
 * Otherwise a client could invent a name with the hash of another one's, and decide which version that client is taken
 * to hold.
 */
import { isUtf8 } from "node:buffer"
import { InternedVersions } from "./InternedVersions.js"
import type { Numbers } from "./Numbers.js"
import * as PairHash from "./PairHash.js"

/** The most slots probed for one pair: bounds the cost of pairs that were made to collide. */
const mostProbes = 64
/** The least bytes that a pair counts, for its index entry. */
const leastBytes = 24
/** The tags of a map entry, and of its key and value. */
export const entryTag = 0x2a
const [keyTag, valueTag] = [0x0a, 0x12]
/** The longest entry that is interned, in bytes. */
export const longest = 500
/** From here on a length takes two bytes. */
const twoBytes = 0x80

const larger = (words: Int32Array, least: number): Int32Array<ArrayBuffer> => {
  const grown = new Int32Array(Math.max(least, 2 * words.length))
  grown.set(words)
  return grown
}

/**
 * Whether eight such bytes, read as a double, are a number that no other eight bytes equal: it is not zero, of which
 * there are two, and not infinite or NaN, whose last byte has all of these bits.
 */
const isNumeric = (byte: number): boolean => byte !== 0 && (byte & 0x7f) !== 0x7f

/** A length of one byte or two, as few as it takes; -1 if it is none. */
export const lengthAt = (bytes: Uint8Array, at: number): number => {
  const first = bytes[at] ?? 0
  if (first < twoBytes) return first
  const second = bytes[at + 1] ?? 0
  return second === 0 || second >= twoBytes ? -1 : first - twoBytes + twoBytes * second
}

/** Where a text begins whose length is here. */
const textStart = (bytes: Uint8Array, at: number): number => at + ((bytes[at] ?? 0) < twoBytes ? 1 : 2)

/** Where a text ends whose length is here; -1 if that is none. */
const textEnd = (bytes: Uint8Array, at: number): number => {
  const length = lengthAt(bytes, at)
  return length < 0 ? -1 : textStart(bytes, at) + length
}

/** {@link plainEnd} of an entry whose length takes two bytes. */
const plainEndOfLong = (bytes: Uint8Array, at: number, end: number): number => {
  const length = lengthAt(bytes, at + 1)
  const entry = at + 3
  const entryEnd = entry + length
  if (length < twoBytes || length > longest || entryEnd > end || bytes[entry] !== keyTag) return -1
  const value = textEnd(bytes, entry + 1)
  const isPlain = value >= 0 && value + 2 <= entryEnd && bytes[value] === valueTag
  return isPlain && textEnd(bytes, value + 1) === entryEnd ? entryEnd : -1
}

/** The end of the plain, complete entry that begins here; -1 if there is none. */
const plainEnd = (bytes: Uint8Array, at: number, end: number): number => {
  if (at + 2 > end || bytes[at] !== entryTag) return -1
  const entry = at + 2
  const length = bytes[at + 1] ?? 0
  if (length >= twoBytes) return plainEndOfLong(bytes, at, end)
  const entryEnd = entry + length
  if (entryEnd > end || bytes[entry] !== keyTag) return -1
  const value = entry + 2 + (bytes[entry + 1] ?? 0)
  const isPlain = value + 2 <= entryEnd && bytes[value] === valueTag && value + 2 + (bytes[value + 1] ?? 0) === entryEnd
  return isPlain ? entryEnd : -1
}

/** Whether the name and the version of a plain entry are UTF-8. */
const isText = (entry: Uint8Array): boolean => {
  // Tags and lengths of one byte are ASCII: the entry is UTF-8 exactly if its texts are.
  if (entry.length < twoBytes) return isUtf8(entry)
  const value = textEnd(entry, 1)
  return isUtf8(entry.subarray(textStart(entry, 1), value)) && isUtf8(entry.subarray(textStart(entry, value + 1)))
}

/**
 * An append-only interner. When it is full, a new one replaces it; it is freed with the last client that holds its
 * numbers.
 */
export class VersionInterner {
  #bytes = new Uint8Array(0)
  #view = new DataView(this.#bytes.buffer)
  /** Hash slots: a hash, and a number plus one, negative if only {@link VersionInterner.#isAt} may compare it; 0 is free. */
  #slots = new Int32Array(2048)
  /** Where the bytes of each number begin; the bytes of the number before end there. */
  #starts = new Int32Array(1024)
  #size = 0
  #full = false
  /** Numbers that were found and are not passed on yet. */
  readonly #found = new Int32Array(256)
  readonly versions = new InternedVersions(this)
  /** Texts are as protobuf reads them: a byte order mark is a part of them. */
  readonly #decoder = new TextDecoder("utf-8", { ignoreBOM: true })

  /** `maxBytes`: of the pairs. Their index takes at most twice as much. */
  constructor(
    private readonly maxBytes: number,
    private readonly hashes = PairHash.seeded(Math.floor(Math.random() * 2 ** 32))
  ) {}

  /** The number of pairs; every number is smaller. */
  get size(): number {
    return this.#size
  }

  /** Whether a pair found no room. */
  get isFull(): boolean {
    return this.#full
  }

  /**
   * Interns consecutive plain entries of `initial_resource_versions`: a name and a version, in this order and of less
   * than 495 bytes together, as every client writes them. Returns where it stopped: at something else, an entry that is
   * not plain or not complete, not text, or one without room.
   */
  take(bytes: Uint8Array, view: DataView, start: number, end: number, into: Numbers): number {
    const found = this.#found
    let at = start
    let count = 0
    for (;;) {
      const entryEnd = plainEnd(bytes, at, end)
      const number = entryEnd < 0 ? -1 : this.#numberOf(bytes, view, textStart(bytes, at + 1), entryEnd)
      if (number < 0) break
      found[count++] = number
      at = entryEnd
      if (count < found.length) continue
      into.add(found, this.#size)
      count = 0
    }
    if (count > 0) into.add(found.subarray(0, count), this.#size)
    return at
  }

  #numberOf(bytes: Uint8Array, view: DataView, start: number, end: number): number {
    const hash = this.hashes.quick(view, start, end)
    const slots = this.#slots
    const mask = slots.length - 1
    let slot = (hash << 1) & mask
    for (let probes = 0; probes < mostProbes; probes++) {
      const found = slots[slot + 1] ?? 0
      if (found === 0) return this.#add(bytes.subarray(start, end), hash, slot)
      if (slots[slot] === hash) {
        if (this.#isFound(found, view, start, end)) return Math.abs(found) - 1
        return this.#numberByAll(bytes, view, start, end)
      }
      slot = (slot + 2) & mask
    }
    return -1
  }

  /** The same by the hash of all bytes: another pair has the quick one. */
  #numberByAll(bytes: Uint8Array, view: DataView, start: number, end: number): number {
    const hash = this.hashes.whole(view, start, end)
    const slots = this.#slots
    const mask = slots.length - 1
    let slot = (hash << 1) & mask
    for (let probes = 0; probes < mostProbes; probes++) {
      const found = slots[slot + 1] ?? 0
      if (found === 0) return this.#add(bytes.subarray(start, end), hash, slot)
      if (slots[slot] === hash && this.#isFound(found, view, start, end)) return Math.abs(found) - 1
      slot = (slot + 2) & mask
    }
    return -1
  }

  /** Whether the pair of a slot has these bytes. */
  #isFound(found: number, view: DataView, start: number, end: number): boolean {
    return found > 0 ? this.#isTextAt(found - 1, view, start, end) : this.#isAt(-found - 1, view, start, end)
  }

  /**
   * Whether a number has these bytes, all of them {@link isNumeric}. Then doubles are equal exactly if their
   * eight bytes are. The last bytes may be compared twice.
   */
  #isTextAt(number: number, view: DataView, start: number, end: number): boolean {
    const length = end - start
    if (length < 16) return this.#isAt(number, view, start, end)
    const stored = this.#view
    let first = this.#starts[number] ?? 0
    if ((this.#starts[number + 1] ?? 0) - first !== length) return false
    const last = end - 16
    let at = start
    for (; at < last; at += 16, first += 16)
      if (
        stored.getFloat64(first, true) !== view.getFloat64(at, true) ||
        stored.getFloat64(first + 8, true) !== view.getFloat64(at + 8, true)
      )
        return false
    first -= at - last
    return (
      stored.getFloat64(first, true) === view.getFloat64(last, true) &&
      stored.getFloat64(first + 8, true) === view.getFloat64(last + 8, true)
    )
  }

  /** Whether a number has these bytes, whatever they are. No plain entry is shorter than four. */
  #isAt(number: number, view: DataView, start: number, end: number): boolean {
    const stored = this.#view
    const first = this.#starts[number] ?? 0
    const length = end - start
    if ((this.#starts[number + 1] ?? 0) - first !== length) return false
    if (stored.getInt32(first + length - 4, true) !== view.getInt32(end - 4, true)) return false
    for (let at = 0; at < length - 4; at += 4)
      if (stored.getInt32(first + at, true) !== view.getInt32(start + at, true)) return false
    return true
  }

  #add(entry: Uint8Array, hash: number, slot: number): number {
    // What is no text is for the decoder to refuse.
    if (!isText(entry)) return -1
    const start = this.#starts[this.#size] ?? 0
    const end = start + entry.length
    if (end > this.maxBytes || leastBytes * this.#size >= this.maxBytes) {
      this.#full = true
      return -1
    }
    if (end > this.#bytes.length) {
      const grown = new Uint8Array(Math.min(this.maxBytes, Math.max(65_536, 2 * end)))
      grown.set(this.#bytes)
      this.#bytes = grown
      this.#view = new DataView(grown.buffer)
    }
    this.#bytes.set(entry, start)
    const number = this.#size++
    if (this.#size === this.#starts.length) this.#starts = larger(this.#starts, 0)
    this.#starts[this.#size] = end
    this.#slots[slot] = hash
    this.#slots[slot + 1] = entry.every(isNumeric) ? this.#size : -this.#size
    if (4 * this.#size > this.#slots.length) this.#grow()
    return number
  }

  #grow(): void {
    const before = this.#slots
    const slots = new Int32Array(2 * before.length)
    const mask = slots.length - 1
    for (let from = 0; from < before.length; from += 2) {
      const [hash, number] = [before[from] ?? 0, before[from + 1] ?? 0]
      if (number === 0) continue
      let slot = (hash << 1) & mask
      while (slots[slot + 1] !== 0) slot = (slot + 2) & mask
      slots[slot] = hash
      slots[slot + 1] = number
    }
    this.#slots = slots
  }

  /** The name and version of a number. */
  textOf(number: number): readonly [name: string, version: string] {
    const start = this.#starts[number] ?? 0
    const bytes = this.#bytes
    const value = textEnd(bytes, start + 1)
    const text = (from: number, to: number): string => this.#decoder.decode(bytes.subarray(from, to))
    return [text(textStart(bytes, start + 1), value), text(textStart(bytes, value + 1), this.#starts[number + 1] ?? 0)]
  }
}
