/**
 * XXH64 with seed 0: the hash of rings, of 64 bits, the same in every implementation of `ring_hash`.
 *
 * Written out here because it must be synchronous and pure: the library for it is WebAssembly that loads asynchronously.
 * The 64 bits are two halves of 32; `Math.imul` and additions below 2⁵³ are exact.
 *
 * @see https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md
 * @since 0.1.0
 */

// The primes of the specification, as halves: [high, low].
const P1H = 0x9e3779b1
const P1L = 0x85ebca87
const P2H = 0xc2b2ae3d
const P2L = 0x27d4eb4f
const P3H = 0x165667b1
const P3L = 0x9e3779f9
const P4H = 0x85ebca77
const P4L = 0xc2b2ae63
const P5H = 0x27d4eb2f
const P5L = 0x165667c5

/** A number of 64 bits that is worked on in place. */
class Word {
  constructor(
    public high: number,
    public low: number
  ) {}

  set(high: number, low: number): void {
    this.high = high >>> 0
    this.low = low >>> 0
  }

  add(high: number, low: number): void {
    const sum = this.low + low
    this.high = (this.high + high + (sum > 0xffffffff ? 1 : 0)) >>> 0
    this.low = sum >>> 0
  }

  multiply(high: number, low: number): void {
    const a0 = this.low & 0xffff
    const a1 = this.low >>> 16
    const b0 = low & 0xffff
    const b1 = low >>> 16
    const p00 = a0 * b0
    const middle = a1 * b0 + (p00 >>> 16)
    const carried = (middle % 0x10000) + a0 * b1
    const upper = a1 * b1 + Math.floor(middle / 0x10000) + Math.floor(carried / 0x10000)
    const crossed = (Math.imul(this.high, low) + Math.imul(this.low, high)) >>> 0
    this.low = (((carried & 0xffff) << 16) | (p00 & 0xffff)) >>> 0
    this.high = (upper + crossed) >>> 0
  }

  rotate(bits: number): void {
    const { high, low } = this
    if (bits < 32) {
      this.set((high << bits) | (low >>> (32 - bits)), (low << bits) | (high >>> (32 - bits)))
    } else {
      const rest = bits - 32
      if (rest === 0) this.set(low, high)
      else this.set((low << rest) | (high >>> (32 - rest)), (high << rest) | (low >>> (32 - rest)))
    }
  }

  xor(high: number, low: number): void {
    this.set(this.high ^ high, this.low ^ low)
  }

  /** Exclusive or with itself, shifted right. */
  fold(bits: number): void {
    const { high, low } = this
    if (bits === 32) this.set(high, low ^ high)
    else if (bits > 32) this.set(high, low ^ (high >>> (bits - 32)))
    else this.set(high ^ (high >>> bits), low ^ ((low >>> bits) | (high << (32 - bits))))
  }
}

const round = (lane: Word, high: number, low: number): void => {
  const input = new Word(high, low)
  input.multiply(P2H, P2L)
  lane.add(input.high, input.low)
  lane.rotate(31)
  lane.multiply(P1H, P1L)
}

const merge = (hash: Word, lane: Word): void => {
  const value = new Word(0, 0)
  round(value, lane.high, lane.low)
  hash.xor(value.high, value.low)
  hash.multiply(P1H, P1L)
  hash.add(P4H, P4L)
}

/**
 * The hash of bytes as two halves of 32 bits: cheaper than a `bigint` where many are made.
 *
 * @since 0.1.0
 */
export const halves = (bytes: Uint8Array): { readonly high: number; readonly low: number } => {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const { byteLength } = bytes
  const hash = new Word(P5H, P5L)
  let at = 0
  if (byteLength >= 32) {
    const first = new Word(P1H, P1L)
    first.add(P2H, P2L)
    const second = new Word(P2H, P2L)
    const third = new Word(0, 0)
    // 0 − P1
    const fourth = new Word(~P1H >>> 0, ~P1L >>> 0)
    fourth.add(0, 1)
    for (; at + 32 <= byteLength; at += 32) {
      round(first, view.getUint32(at + 4, true), view.getUint32(at, true))
      round(second, view.getUint32(at + 12, true), view.getUint32(at + 8, true))
      round(third, view.getUint32(at + 20, true), view.getUint32(at + 16, true))
      round(fourth, view.getUint32(at + 28, true), view.getUint32(at + 24, true))
    }
    hash.set(0, 0)
    const rotations = [
      [first, 1],
      [second, 7],
      [third, 12],
      [fourth, 18]
    ] as const
    for (const [lane, bits] of rotations) {
      const rotated = new Word(lane.high, lane.low)
      rotated.rotate(bits)
      hash.add(rotated.high, rotated.low)
    }
    for (const [lane] of rotations) merge(hash, lane)
  }
  hash.add(Math.floor(byteLength / 0x100000000), byteLength >>> 0)
  for (; at + 8 <= byteLength; at += 8) {
    const lane = new Word(0, 0)
    round(lane, view.getUint32(at + 4, true), view.getUint32(at, true))
    hash.xor(lane.high, lane.low)
    hash.rotate(27)
    hash.multiply(P1H, P1L)
    hash.add(P4H, P4L)
  }
  if (at + 4 <= byteLength) {
    const lane = new Word(0, view.getUint32(at, true))
    lane.multiply(P1H, P1L)
    hash.xor(lane.high, lane.low)
    hash.rotate(23)
    hash.multiply(P2H, P2L)
    hash.add(P3H, P3L)
    at += 4
  }
  for (; at < byteLength; at++) {
    const lane = new Word(0, view.getUint8(at))
    lane.multiply(P5H, P5L)
    hash.xor(lane.high, lane.low)
    hash.rotate(11)
    hash.multiply(P1H, P1L)
  }
  hash.fold(33)
  hash.multiply(P2H, P2L)
  hash.fold(29)
  hash.multiply(P3H, P3L)
  hash.fold(32)
  return { high: hash.high, low: hash.low }
}

/**
 * The hash of bytes.
 *
 * @since 0.1.0
 */
export const ofBytes = (bytes: Uint8Array): bigint => {
  const { high, low } = halves(bytes)
  return (BigInt(high) << 32n) | BigInt(low)
}

const encoder = new TextEncoder()

/**
 * The hash of a string's UTF-8.
 *
 * @since 0.1.0
 */
export const ofString = (text: string): bigint => ofBytes(encoder.encode(text))
