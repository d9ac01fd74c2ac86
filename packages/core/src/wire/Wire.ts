/**
 * The protobuf wire format, as far as a control plane needs it: writing responses from parts that are already encoded,
 * and reading a few top-level fields of a message without decoding the rest.
 *
 * @see https://protobuf.dev/programming-guides/encoding/
 * @since 0.1.0
 */
import { BinaryReader, WireType } from "@bufbuild/protobuf/wire"

const encoder = new TextEncoder()

/** Up to here text is encoded by hand. */
const shortText = 128

/**
 * Writes ASCII into bytes that have room for it; `false`, with a part of it written, if the text is something else.
 *
 * @since 0.1.0
 */
export const writeAscii = (text: string, bytes: Uint8Array, at: number): boolean => {
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index)
    if (code >= 0x80) return false
    bytes[at + index] = code
  }
  return true
}

/**
 * The UTF-8 bytes of a string.
 *
 * @since 0.1.0
 */
export const utf8 = (text: string): Uint8Array => {
  // By hand what is short and ASCII, as names and versions are: the encoder takes several times as long to get going.
  if (text.length > shortText) return encoder.encode(text)
  const bytes = new Uint8Array(text.length)
  return writeAscii(text, bytes, 0) ? bytes : encoder.encode(text)
}

/**
 * Bytes that a string takes as UTF-8.
 *
 * @since 0.1.0
 */
export const sizeOfText = (text: string): number => {
  // Names and versions hardly ever have anything but ASCII.
  for (let index = 0; index < text.length; index++) {
    if (text.charCodeAt(index) >= 0x80) return utf8(text).byteLength
  }
  return text.length
}

/**
 * Bytes that an unsigned number takes as a varint. Exact up to 2^53 - 1.
 *
 * @since 0.1.0
 */
export const sizeOfVarint = (value: number): number => {
  let size = 1
  for (let rest = value; rest >= 0x80; rest = Math.floor(rest / 0x80)) size++
  return size
}

/**
 * Bytes that a length-delimited field takes: tag, length and content.
 *
 * @since 0.1.0
 */
export const sizeOfField = (field: number, length: number): number =>
  sizeOfVarint(field * 8) + sizeOfVarint(length) + length

/**
 * Small zeroed buffers as parts of a larger one: a buffer of its own costs a microsecond, and work for the garbage collector.
 * No part is given out twice.
 *
 * @since 0.1.0
 */
export class Slab {
  /** Bytes of the larger buffers, and the most that a part of them has. */
  static readonly bytes = 8192
  static readonly most = 1024
  /** V8 keeps arrays of fewer bytes within the object, which costs less than a part of a larger buffer. */
  static readonly least = 65
  #bytes = new Uint8Array(0)
  #used = 0

  allocate(size: number): Uint8Array {
    if (size < Slab.least || size > Slab.most) return new Uint8Array(size)
    if (this.#used + size > this.#bytes.length) {
      this.#bytes = new Uint8Array(Slab.bytes)
      this.#used = 0
    }
    const start = this.#used
    this.#used += size
    return this.#bytes.subarray(start, this.#used)
  }
}

/**
 * Writes into a buffer of a size that was computed beforehand: nothing is grown and nothing is copied twice. The buffer
 * may be a view into a larger one.
 *
 * @since 0.1.0
 */
export class Writer {
  private offset = 0

  constructor(readonly bytes: Uint8Array) {}

  varint(value: number): void {
    let rest = value
    while (rest >= 0x80) {
      this.bytes[this.offset++] = (rest % 0x80) | 0x80
      rest = Math.floor(rest / 0x80)
    }
    this.bytes[this.offset++] = rest
  }

  /** The tag and length of a length-delimited field. */
  head(field: number, length: number): void {
    this.varint(field * 8 + WireType.LengthDelimited)
    this.varint(length)
  }

  raw(bytes: Uint8Array): void {
    this.bytes.set(bytes, this.offset)
    this.offset += bytes.length
  }

  /** A string of which {@link sizeOfText} is known. */
  text(text: string, size: number): void {
    if (size !== text.length) return this.raw(utf8(text))
    writeAscii(text, this.bytes, this.offset)
    this.offset += size
  }

  /** A whole length-delimited field. */
  field(field: number, bytes: Uint8Array): void {
    this.head(field, bytes.length)
    this.raw(bytes)
  }
}

/**
 * One whole length-delimited field in bytes of its own.
 *
 * @since 0.1.0
 */
export const fieldOf = (field: number, bytes: Uint8Array): Uint8Array => {
  const writer = new Writer(new Uint8Array(sizeOfField(field, bytes.byteLength)))
  writer.field(field, bytes)
  return writer.bytes
}

/**
 * Calls `visit` for every top-level field. The visitor reads the field's value from the reader and returns `true`, or
 * returns `false` and the value is skipped. Throws what protobuf-es throws for bytes that are not a message: callers
 * turn that into their own error.
 *
 * @since 0.1.0
 */
export const fields = (
  bytes: Uint8Array,
  visit: (reader: BinaryReader, field: number, type: WireType) => boolean
): void => {
  const reader = new BinaryReader(bytes)
  while (reader.pos < reader.len) {
    const [field, type] = reader.tag()
    if (!visit(reader, field, type)) reader.skip(type, field)
  }
}
