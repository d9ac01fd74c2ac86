/**
 * Content digests: the identity of a resource's content, and the version of a whole set of resources.
 *
 * A digest is the first 64 bits of a SHA-256, as two 32-bit lanes. A set's digest is the lane-wise sum of its members'
 * digests. So order does not matter, and a member is added or removed in constant time. Replicas with the same content give the
 * same versions, whatever their history.
 *
 * @since 0.1.0
 */
import { sha256 } from "@noble/hashes/sha2.js"
import { utf8, writeAscii } from "../wire/Wire.js"

/**
 * 64 bits as two 32-bit lanes, signed: V8 keeps these in the object, and an unsigned one of 2^31 or more in one of its own.
 *
 * @since 0.1.0
 */
export interface Digest {
  readonly high: number
  readonly low: number
}

/**
 * The digest of the empty set: the neutral element of {@link add}.
 *
 * @since 0.1.0
 */
export const zero: Digest = { high: 0, low: 0 }

/**
 * A SHA-256 in hexadecimal digits. A platform may pass one that is faster than the built-in one.
 *
 * @since 0.1.0
 */
export type Sha256 = (bytes: Uint8Array) => string

/** Bytes of the buffer of a {@link Hasher}. */
const room = 1024

/**
 * A SHA-256 of the platform, and a buffer for it: to copy small parts into one buffer and hash once is faster than to hash each,
 * or to make a buffer each time. Who makes many resources owns one. Results do not depend on earlier calls.
 *
 * @since 0.1.0
 */
export class Hasher {
  readonly #buffer = new Uint8Array(room)
  readonly #view = new DataView(this.#buffer.buffer)

  constructor(private readonly sha256: Sha256) {}

  /** The first 64 bits of the SHA-256 of the parts in a row, each after its length. */
  digest(parts: ReadonlyArray<Uint8Array | string>): Digest {
    const hex = this.sha256(this.#gathered(parts) ?? joined(parts))
    return { high: lane(hex, 0), low: lane(hex, 8) }
  }

  /** The parts in the buffer; nothing if they have no room, or a text is not ASCII. */
  #gathered(parts: ReadonlyArray<Uint8Array | string>): Uint8Array | undefined {
    let filled = 0
    for (const part of parts) {
      const start = filled + 4
      if (start + part.length > room) return undefined
      if (typeof part !== "string") this.#buffer.set(part, start)
      else if (!writeAscii(part, this.#buffer, start)) return undefined
      this.#view.setUint32(filled, part.length)
      filled = start + part.length
    }
    return this.#buffer.subarray(0, filled)
  }
}

/** The parts in a row, each after its length. */
const joined = (parts: ReadonlyArray<Uint8Array | string>): Uint8Array => {
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
  return value
}

/**
 * The digest of a list of byte strings; texts count as UTF-8. Every part is preceded by its length, so that moving a byte to
 * the next part gives another digest. The result is the same with every hasher and without one.
 *
 * @since 0.1.0
 */
export const ofParts = (parts: ReadonlyArray<Uint8Array | string>, hasher?: Hasher): Digest => {
  if (hasher !== undefined) return hasher.digest(parts)
  const hash = sha256(joined(parts))
  const view = new DataView(hash.buffer, hash.byteOffset)
  return { high: view.getInt32(0), low: view.getInt32(4) }
}

/**
 * Whether two digests are equal.
 *
 * @since 0.1.0
 */
export const equals = (one: Digest, other: Digest): boolean => one.low === other.low && one.high === other.high

/**
 * Adds a member's digest to a set's.
 *
 * @since 0.1.0
 */
export const add = (self: Digest, that: Digest): Digest => ({
  high: (self.high + that.high) | 0,
  low: (self.low + that.low) | 0
})

/**
 * Removes a member's digest from a set's.
 *
 * @since 0.1.0
 */
export const subtract = (self: Digest, that: Digest): Digest => ({
  high: (self.high - that.high) | 0,
  low: (self.low - that.low) | 0
})

/**
 * Sixteen hexadecimal digits: the version that clients see unless the caller gave one.
 *
 * @since 0.1.0
 */
export const toHex = ({ high, low }: Digest): string =>
  // One flat string: each resource keeps it, and a concatenation of two takes three times the memory.
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

/** Character code of the four bits of a lane at `shift`. */
const digit = (lane: number, shift: number): number => {
  const value = (lane >>> shift) & 15
  return value < 10 ? 48 + value : 87 + value
}
