/**
 * Writes the values of the protobuf wire format into one buffer, which is kept for the next message. Nothing is checked here that
 * only the schema tells.
 *
 * @since 0.1.0
 */

/** The most bytes of a number, a tag or a length. */
const longest = 10

/** A lone surrogate: with the flag `u` a pair is one character. */
const half = /\p{Surrogate}/u

const text = new TextEncoder()

/**
 * A buffer that grows with what is written.
 *
 * @since 0.1.0
 */
export class ByteWriter {
  #bytes = new Uint8Array(4_096)
  #view = new DataView(this.#bytes.buffer)
  #at = 0

  /** How many bytes are written. */
  get at(): number {
    return this.#at
  }

  /** Takes back what was written from there on. */
  rewind(at: number): void {
    this.#at = at
  }

  /** A copy of what is written. */
  finish(): Uint8Array {
    return this.#bytes.slice(0, this.#at)
  }

  /** What is written, without a copy: it is there until something else is written. */
  lend(): Uint8Array {
    return this.#bytes.subarray(0, this.#at)
  }

  /** Whether all that was written from there on is zeros. */
  isZero(begin: number): boolean {
    for (let at = begin; at < this.#at; at++) if (this.#bytes[at] !== 0) return false
    return true
  }

  #room(size: number): void {
    if (this.#at + size <= this.#bytes.length) return
    const larger = new Uint8Array(Math.max(2 * this.#bytes.length, this.#at + size))
    larger.set(this.#bytes.subarray(0, this.#at))
    this.#bytes = larger
    this.#view = new DataView(larger.buffer)
  }

  /** A tag, a length, or an integer from 0 to 2^53. */
  number(value: number): void {
    this.#room(longest)
    let rest = value
    for (; rest > 0x7fffffff; rest = Math.floor(rest / 128)) this.#bytes[this.#at++] = (rest % 128) | 0x80
    for (; rest > 0x7f; rest >>>= 7) this.#bytes[this.#at++] = (rest & 0x7f) | 0x80
    this.#bytes[this.#at++] = rest
  }

  /** ★ A negative number of 32 bits has ten bytes, as one of 64 bits. */
  int32(value: number): void {
    if (value < 0) this.long(BigInt(value))
    else this.number(value)
  }

  /** 64 bits, with a sign or without one. */
  long(value: bigint): void {
    this.#room(longest)
    let rest = BigInt.asUintN(64, value)
    for (; rest > 0x7fn; rest >>= 7n) this.#bytes[this.#at++] = Number(rest & 0x7fn) | 0x80
    this.#bytes[this.#at++] = Number(rest)
  }

  float(value: number): void {
    this.#room(4)
    this.#view.setFloat32(this.#at, value, true)
    this.#at += 4
  }

  double(value: number): void {
    this.#room(8)
    this.#view.setFloat64(this.#at, value, true)
    this.#at += 8
  }

  /** Bytes behind their length. */
  bytes(value: Uint8Array): void {
    const { byteLength } = value
    this.number(byteLength)
    this.#room(byteLength)
    this.#bytes.set(value, this.#at)
    this.#at += byteLength
  }

  /** A text behind its length. `false`: it holds half of a surrogate pair, for which UTF-8 has no bytes, and is not written. */
  string(value: string): boolean {
    const { length } = value
    this.#room(3 * length + longest)
    if (length < 0x80 && this.#ascii(value)) return true
    if (half.test(value)) return false
    const begin = this.begin()
    this.#at += text.encodeInto(value, this.#bytes.subarray(this.#at)).written
    this.end(begin)
    return true
  }

  /** A short text without other characters, as nearly all are. */
  #ascii(value: string): boolean {
    const { length } = value
    const bytes = this.#bytes
    const begin = this.#at
    bytes[begin] = length
    for (let index = 0; index < length; index++) {
      const code = value.charCodeAt(index)
      if (code > 0x7f) return false
      bytes[begin + 1 + index] = code
    }
    this.#at = begin + 1 + length
    return true
  }

  /** Leaves a byte for the length of what follows. Returns where that begins. */
  begin(): number {
    this.#room(longest)
    return ++this.#at
  }

  /** Writes the length of what began there. */
  end(begin: number): void {
    const length = this.#at - begin
    if (length < 0x80) {
      this.#bytes[begin - 1] = length
      return
    }
    const size = length < 0x4000 ? 2 : length < 0x200000 ? 3 : length < 0x10000000 ? 4 : 5
    this.#room(longest)
    this.#bytes.copyWithin(begin - 1 + size, begin, this.#at)
    this.#at = begin - 1
    this.number(length)
    this.#at += length
  }
}
