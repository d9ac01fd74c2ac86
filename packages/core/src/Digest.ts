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
 * The digest of a list of byte strings. Every part is preceded by its length, so that moving a byte from one part to
 * the next gives another digest.
 *
 * @since 0.1.0
 */
export const ofParts = (parts: ReadonlyArray<Uint8Array>): Digest => {
  const hash = sha256.create()
  const length = new Uint8Array(4)
  const view = new DataView(length.buffer)
  for (const part of parts) {
    view.setUint32(0, part.byteLength)
    hash.update(length)
    hash.update(part)
  }
  const bytes = hash.digest()
  const result = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  return { high: result.getUint32(0), low: result.getUint32(4) }
}

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
export const toHex = (self: Digest): string =>
  self.high.toString(16).padStart(8, "0") + self.low.toString(16).padStart(8, "0")
