/** Reads what a `ByteWriter` wrote. Damaged bytes give no exception: the first mistake is kept, and then all is empty. */
import type { Buffer } from "node:buffer"

const nothing = new Uint8Array(0)

/** Bytes of the memory that small byte strings share. */
const room = 8_192

export class ByteReader {
  private at = 0
  private shared = new ArrayBuffer(0)
  private filled = 0
  /** The first mistake; `undefined`: there was none yet. */
  mistake: string | undefined

  constructor(private readonly from: Buffer) {}

  /** Whether there was no mistake yet. */
  isGood(): boolean {
    return this.mistake === undefined
  }

  get isAtEnd(): boolean {
    return this.at === this.from.length
  }

  number(): number {
    let value = 0
    let factor = 1
    for (let count = 0; count < 8 && this.mistake === undefined; count++) {
      const byte = this.from[this.at++]
      if (byte === undefined) return this.fail("it ends too early")
      value += (byte & 0x7f) * factor
      if (byte < 0x80) return Number.isSafeInteger(value) ? value : this.fail("a number in it is too large")
      factor *= 0x80
    }
    return this.fail("a number in it is too large")
  }

  text(): string {
    const [from, to] = this.span()
    return this.from.toString("utf8", from, to)
  }

  /** A copy, so that the row that it was in is not kept. Small ones share memory, of which each keeps at most 8 KB. */
  bytes(): Uint8Array {
    const [from, to] = this.span()
    const length = to - from
    if (length === 0) return nothing
    if (length > room / 8) return new Uint8Array(this.from.subarray(from, to))
    if (length > this.shared.byteLength - this.filled) {
      this.shared = new ArrayBuffer(Math.min(room, this.from.length - from))
      this.filled = 0
    }
    const copy = new Uint8Array(this.shared, this.filled, length)
    this.filled += length
    this.from.copy(copy, 0, from, to)
    return copy
  }

  fail(mistake: string): 0 {
    this.mistake ??= mistake
    return 0
  }

  private span(): readonly [from: number, to: number] {
    const length = this.number()
    const from = this.at
    if (this.mistake === undefined && length > this.from.length - from) this.fail("it ends too early")
    if (this.mistake !== undefined) return [0, 0]
    this.at = from + length
    return [from, this.at]
  }
}
