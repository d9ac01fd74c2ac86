/**
 * Content digests: the identity of a resource's content, and the version of a whole set of resources.
 *
 * A digest is the first 64 bits of a SHA-256, kept as two unsigned 32-bit lanes. A set's digest is the lane-wise sum of
 * its members' digests: the order of the members does not matter and one member is added or taken away in constant
 * time, so two replicas that hold the same content give the same versions however they came to it.
 *
 * @since 0.1.0
 */
import { sha256 } from "@noble/hashes/sha2.js"
import { utf8, writeAscii } from "../wire/Wire.js"

/**
 * 64 bits as two unsigned 32-bit lanes.
 *
 * @since 0.1.0
 */
export interface Digest {
  readonly high: number
  readonly low: number
}

/**
 * The digest of nothing: the neutral element of {@link add}.
 *
 * @since 0.1.0
 */
export const zero: Digest = { high: 0, low: 0 }

/**
 * A SHA-256 of bytes in hexadecimal digits, as the platform may have one that is faster than the one here.
 *
 * @since 0.1.0
 */
export type Sha256 = (bytes: Uint8Array) => string

/** Where small parts are put together: to hash them one by one takes longer than to copy them. Nothing is kept in it. */
const room = 1024
const gathered = new Uint8Array(room)
const gatheredView = new DataView(gathered.buffer)

const empty = sha256.create()
const hasher = sha256.create()
const digested = new Uint8Array(32)
const digestedView = new DataView(digested.buffer)

/** Parts with their lengths before them, in a row. What is given back is read before the next call. */
const joined = (parts: ReadonlyArray<Uint8Array | string>): Uint8Array => {
  let filled = 0
  for (const part of parts) {
    const start = filled + 4
    if (start + part.length > room) return joinedLong(parts)
    if (typeof part !== "string") gathered.set(part, start)
    else if (!writeAscii(part, gathered, start)) return joinedLong(parts)
    gatheredView.setUint32(filled, part.length)
    filled = start + part.length
  }
  return gathered.subarray(0, filled)
}

const joinedLong = (parts: ReadonlyArray<Uint8Array | string>): Uint8Array => {
  const pieces = parts.map((part) => (typeof part === "string" ? utf8(part) : part))
  const bytes = new Uint8Array(pieces.reduce((size, piece) => size + 4 + piece.length, 0))
  const view = new DataView(bytes.buffer)
  let at = 0
  for (const piece of pieces) {
    view.setUint32(at, piece.length)
    bytes.set(piece, at + 4)
    at += 4 + piece.length
  }
  return bytes
}

/** 32 bits from eight hexadecimal digits. */
const lane = (hex: string, from: number): number => {
  let value = 0
  for (let at = from; at < from + 8; at++) {
    const code = hex.charCodeAt(at)
    value = (value << 4) | (code > 57 ? code - 87 : code - 48)
  }
  return value >>> 0
}

/**
 * The digest of a list of byte strings, or of texts as their UTF-8. Every part is preceded by its length, so that moving
 * a byte from one part to the next gives another digest. It is the same with any SHA-256.
 *
 * @since 0.1.0
 */
export const ofParts = (parts: ReadonlyArray<Uint8Array | string>, hashOf?: Sha256): Digest => {
  if (hashOf !== undefined) {
    const hex = hashOf(joined(parts))
    return { high: lane(hex, 0), low: lane(hex, 8) }
  }
  // The same one each time: to make it takes as long as to hash a hundred bytes.
  const hash = empty._cloneInto(hasher).update(joined(parts))
  hash.digestInto(digested)
  return { high: digestedView.getUint32(0), low: digestedView.getUint32(4) }
}

/**
 * Whether two are the same 64 bits.
 *
 * @since 0.1.0
 */
export const equals = (one: Digest, other: Digest): boolean => one.low === other.low && one.high === other.high

/**
 * Adds one member's digest to a set's.
 *
 * @since 0.1.0
 */
export const add = (self: Digest, that: Digest): Digest => ({
  high: (self.high + that.high) >>> 0,
  low: (self.low + that.low) >>> 0
})

/**
 * Takes one member's digest out of a set's.
 *
 * @since 0.1.0
 */
export const subtract = (self: Digest, that: Digest): Digest => ({
  high: (self.high - that.high) >>> 0,
  low: (self.low - that.low) >>> 0
})

/**
 * Sixteen hexadecimal digits: what clients see as a version when the caller gave none.
 *
 * @since 0.1.0
 */
export const toHex = ({ high, low }: Digest): string =>
  // One flat string from the start: it is kept for each resource, and two that are put together take three times as much.
  String.fromCharCode(
    digit(high, 28),
    digit(high, 24),
    digit(high, 20),
    digit(high, 16),
    digit(high, 12),
    digit(high, 8),
    digit(high, 4),
    digit(high, 0),
    digit(low, 28),
    digit(low, 24),
    digit(low, 20),
    digit(low, 16),
    digit(low, 12),
    digit(low, 8),
    digit(low, 4),
    digit(low, 0)
  )

/** The character code of four bits of a lane. */
const digit = (lane: number, shift: number): number => {
  const value = (lane >>> shift) & 15
  return value < 10 ? 48 + value : 87 + value
}
