/**
 * The protobuf wire format, as far as a control plane needs it: writing messages from encoded parts, and reading top-level
 * fields without decoding the rest.
 *
 * @see https://protobuf.dev/programming-guides/encoding/
 * @since 0.1.0
 */
import { BinaryReader, WireType } from "@bufbuild/protobuf/wire"
import type { Steps } from "../Steps.js"

const encoder = new TextEncoder()

/** Longest text, in UTF-16 units, that is encoded by hand. */
const shortText = 128

/**
 * Writes ASCII text into `bytes`, which must have room for it. Returns `false` at the first other character; the text before it
 * is already written then.
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
  // Short ASCII, as most names and versions are, is encoded by hand: starting `TextEncoder` takes several times as long.
  if (text.length > shortText) return encoder.encode(text)
  const bytes = new Uint8Array(text.length)
  return writeAscii(text, bytes, 0) ? bytes : encoder.encode(text)
}

/**
 * The length of a string as UTF-8, in bytes.
 *
 * @since 0.1.0
 */
export const sizeOfText = (text: string): number => {
  // Names and versions are almost always ASCII.
  for (let index = 0; index < text.length; index++) {
    if (text.charCodeAt(index) >= 0x80) return utf8(text).byteLength
  }
  return text.length
}

/**
 * The length of an unsigned number as a varint, in bytes. Exact up to 2^53 - 1.
 *
 * @since 0.1.0
 */
export const sizeOfVarint = (value: number): number => {
  let size = 1
  for (let rest = value; rest >= 0x80; rest = Math.floor(rest / 0x80)) size++
  return size
}

/**
 * The length of a length-delimited field, in bytes: tag, length and content.
 *
 * @since 0.1.0
 */
export const sizeOfField = (field: number, length: number): number =>
  sizeOfVarint(field * 8) + sizeOfVarint(length) + length

/**
 * Allocator of small zeroed buffers, as parts of a larger one: a buffer of its own costs a microsecond and garbage collection.
 * Parts never overlap.
 *
 * @since 0.1.0
 */
export class Slab {
  /** Size of a larger buffer, and of the largest part of it, in bytes. */
  static readonly bytes = 8192
  static readonly most = 1024
  /** Smallest part, in bytes. V8 keeps smaller arrays inside the object, which costs less. */
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
 * Writes into a buffer whose size was computed before, so nothing grows or is copied twice. The buffer may be a view.
 *
 * @since 0.1.0
 */
export class Writer {
  private offset = 0

  constructor(readonly bytes: Uint8Array) {}

  /** Number of bytes written so far. */
  get written(): number {
    return this.offset
  }

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

  raw(bytes: Uint8Array, size = bytes.length): void {
    this.bytes.set(bytes, this.offset)
    this.offset += size
  }

  /** A string; `size` is its {@link sizeOfText}. */
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
 * A whole length-delimited field in a buffer of its own.
 *
 * @since 0.1.0
 */
export const fieldOf = (field: number, bytes: Uint8Array): Uint8Array => {
  const writer = new Writer(new Uint8Array(sizeOfField(field, bytes.byteLength)))
  writer.field(field, bytes)
  return writer.bytes
}

/**
 * Calls `visit` for every top-level field. The visitor reads the value from the reader and returns `true`, or returns `false`
 * to skip it. Throws the errors of protobuf-es for malformed bytes; callers turn them into errors of their own.
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

/**
 * What reads bytes word by word.
 *
 * @since 0.1.0
 */
export const viewOf = ({ buffer, byteLength, byteOffset }: Uint8Array): DataView =>
  new DataView(buffer, byteOffset, byteLength)

/**
 * Copies pieces one behind the other into one array, in steps.
 *
 * @since 0.1.0
 */
export const joining = function* <A extends Uint8Array>(
  pieces: ReadonlyArray<Uint8Array>,
  allocate: (size: number) => A
): Steps<A> {
  const whole = allocate(pieces.reduce((size, piece) => size + piece.byteLength, 0))
  let at = 0
  for (const piece of pieces) {
    if (at > 0) yield
    whole.set(piece, at)
    at += piece.byteLength
  }
  return whole
}
