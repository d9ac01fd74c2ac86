/**
 * Hashes of a name and its version, for {@link VersionInterner}: a fast one of some bytes, which nearly always tells pairs
 * apart, and one of all bytes. Equal hashes mean nothing alone: the interner compares bytes.
 */

/** Hash of bytes, as 32 bits. `view` covers the same bytes. */
export type HashOf = (view: DataView, start: number, end: number) => number

/** Hashes eight bytes at a time; the last eight may overlap. Fewer than eight bytes: one at a time. */
const wholeHash =
  (seed: number): HashOf =>
  (view, start, end) => {
    let one = seed ^ (end - start)
    let two = ~seed
    if (end - start < 8) for (let at = start; at < end; at++) one = Math.imul(one ^ view.getUint8(at), 0x9e3779b1)
    else {
      for (let at = start; at < end - 8; at += 8) {
        one = Math.imul(one ^ view.getInt32(at, true), 0x9e3779b1)
        two = Math.imul(two ^ view.getInt32(at + 4, true), 0x85ebca6b)
        one ^= one >>> 15
        two ^= two >>> 13
      }
      one = Math.imul(one ^ view.getInt32(end - 8, true), 0x9e3779b1)
      two = Math.imul(two ^ view.getInt32(end - 4, true), 0x85ebca6b)
    }
    one ^= Math.imul(two ^ (two >>> 15), 0xc2b2ae35)
    return one ^ (one >>> 16)
  }

/** Hashes the last eight bytes, where a version has its digest, and eight of the others. */
const quickHash = (seed: number): HashOf => {
  const whole = wholeHash(seed)
  return (view, start, end) => {
    const length = end - start
    if (length < 16) return whole(view, start, end)
    const one = Math.imul(view.getInt32(end - 4, true) ^ seed, 0x9e3779b1) ^ view.getInt32(start + (length >> 2), true)
    const two =
      Math.imul(view.getInt32(end - 8, true) ^ length, 0x85ebca6b) ^ view.getInt32(start + (length >> 1), true)
    const both = Math.imul(one ^ (one >>> 15), 0xc2b2ae35) + Math.imul(two ^ (two >>> 13), 0x27d4eb2f)
    return both ^ (both >>> 16)
  }
}

/** The hashes of a pair. */
export interface Hashes {
  /** Of some bytes. Pairs that differ elsewhere have the same one. */
  readonly quick: HashOf
  /** Of all bytes. For pairs whose quick hash another one has. */
  readonly whole: HashOf
}

/** With a seed that no client knows, none can find pairs with equal hashes. */
export const seeded = (seed: number): Hashes => ({ quick: quickHash(seed), whole: wholeHash(seed) })
