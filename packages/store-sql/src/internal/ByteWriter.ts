/** Bytes that are put together piece by piece. Texts and byte strings follow their length, numbers are varints. */
import type * as Steps from "@effect-xds/core/Steps"
import { joining } from "@effect-xds/core/wire/Wire"
import { Buffer } from "node:buffer"

const room = 16_384

const loneSurrogate = /\p{Surrogate}/u

export class ByteWriter {
  private readonly full: Array<Uint8Array> = []
  private piece = Buffer.allocUnsafe(room)
  private at = 0
  private before = 0
  /** A text that is not well-formed Unicode: it would be read as another one. `undefined`: there was none. */
  illFormed: string | undefined

  /** The number of bytes so far. */
  get length(): number {
    return this.before + this.at
  }

  number(value: number): void {
    this.reserve(8)
    let rest = value
    while (rest > 0x7f) {
      this.piece[this.at++] = (rest % 0x80) | 0x80
      rest = Math.floor(rest / 0x80)
    }
    this.piece[this.at++] = rest
  }

  text(value: string): void {
    if (loneSurrogate.test(value)) this.illFormed ??= value
    const length = Buffer.byteLength(value)
    this.number(length)
    this.reserve(length)
    this.at += this.piece.write(value, this.at)
  }

  bytes(value: Uint8Array): void {
    this.number(value.length)
    this.reserve(value.length)
    this.piece.set(value, this.at)
    this.at += value.length
  }

  /** Everything, in one piece. Nothing may be written after it. */
  finish(): Steps.Steps<Buffer> {
    this.full.push(this.piece.subarray(0, this.at))
    return joining(this.full, (size) => Buffer.allocUnsafe(size))
  }

  private reserve(size: number): void {
    if (this.at + size <= this.piece.length) return
    this.full.push(this.piece.subarray(0, this.at))
    this.before += this.at
    this.piece = Buffer.allocUnsafe(Math.max(room, size))
    this.at = 0
  }
}
