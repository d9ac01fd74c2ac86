/**
 * Messages with a `LengthPrefix` in chunks of bytes: a reader, and writers.
 */
import * as LengthPrefix from "@effect-xds/core/wire/LengthPrefix"
import { Buffer } from "node:buffer"

/** The buffer of a message grows by this factor of the bytes received: few steps, since each copies. */
const growth = 8

/** Why a chunk was not read to its end. */
export type Problem =
  /** The last message must be processed first; read on from `at` later. */
  | { readonly _tag: "Paused"; readonly at: number }
  | { readonly _tag: "TooLarge"; readonly bytes: number }
  /** The first byte of a prefix is neither 0 nor 1: the data has no gRPC framing. */
  | { readonly _tag: "BadFlag"; readonly flag: number }

/** How to go on after a message: `stop` drops the rest of the chunk, `pause` keeps it for later. */
export type Then = "go on" | "stop" | "pause"

/** Reads a message in parts while it arrives. It takes out what it wants, and passes the rest on to be assembled. */
export interface PartReader {
  readonly push: (chunk: Uint8Array, start: number, end: number) => void
  /** The message is complete. */
  readonly end: () => void
}

/** Receives the bytes that a part reader does not take. */
export type Keep = (bytes: Uint8Array, start: number, end: number) => void

/**
 * Reads chunks and emits messages. A message within one chunk is a view into it. One that spans several is assembled in
 * a buffer that grows with the bytes received, so that an announced length alone takes no memory.
 */
export class Reader<P extends PartReader = PartReader> {
  #prefixed = 0
  #compressed = false
  #length = 0
  #received = 0
  #buffer: Buffer | undefined
  #kept = 0
  #parts: P | undefined

  /**
   * @param onMessage gets the part reader, if the message was read in parts
   * @param readParts makes a part reader, for an uncompressed message that spans several chunks
   */
  constructor(
    private readonly maxBytes: number,
    private readonly onMessage: (message: Uint8Array, compressed: boolean, parts: P | undefined) => Then,
    private readonly readParts?: (keep: Keep) => P | undefined
  ) {}

  /** Whether a message has begun and is incomplete. */
  get incomplete(): boolean {
    return this.#prefixed > 0
  }

  /** Bytes of memory of the incomplete message. */
  get held(): number {
    return this.#buffer?.length ?? 0
  }

  read(chunk: Buffer): Problem | undefined {
    let at = 0
    while (at < chunk.length) {
      if (this.#prefixed < LengthPrefix.size) {
        const byte = chunk[at++] ?? 0
        if (this.#prefixed++ === 0) {
          if (byte > 1) return { _tag: "BadFlag", flag: byte }
          this.#compressed = byte === 1
          continue
        }
        this.#length = this.#length * 256 + byte
        if (this.#prefixed < LengthPrefix.size) continue
        if (this.#length > this.maxBytes) return { _tag: "TooLarge", bytes: this.#length }
      }
      const end = Math.min(chunk.length, at + this.#length - this.#received)
      const isWhole = end - at === this.#length
      if (!isWhole && end > at) this.#part(chunk, at, end)
      if (isWhole || this.#received === this.#length) {
        const then = this.#give(chunk.subarray(at, end))
        if (then === "stop") return undefined
        if (then === "pause") return { _tag: "Paused", at: end }
      }
      at = end
    }
    return undefined
  }

  /** Emits a complete message: the assembled buffer, or the whole from one chunk. */
  #give(whole: Uint8Array): Then {
    const parts = this.#parts
    parts?.end()
    const message = this.#received === 0 ? whole : (this.#buffer?.subarray(0, this.#kept) ?? nothing)
    this.#prefixed = 0
    this.#length = 0
    this.#received = 0
    this.#kept = 0
    this.#buffer = undefined
    this.#parts = undefined
    return this.onMessage(message, this.#compressed, parts)
  }

  #part(chunk: Buffer, start: number, end: number): void {
    if (this.#received === 0 && !this.#compressed) this.#parts = this.readParts?.(this.#keep)
    this.#received += end - start
    if (this.#parts === undefined) this.#keep(chunk, start, end)
    else this.#parts.push(chunk, start, end)
  }

  readonly #keep: Keep = (bytes, start, end) => {
    const kept = this.#kept + end - start
    if (this.#buffer === undefined || kept > this.#buffer.length) {
      const larger = Buffer.allocUnsafeSlow(Math.min(this.#length, kept * growth))
      this.#buffer?.copy(larger, 0, 0, this.#kept)
      this.#buffer = larger
    }
    this.#buffer.set(start === 0 && end === bytes.length ? bytes : bytes.subarray(start, end), this.#kept)
    this.#kept = kept
  }
}

const nothing = new Uint8Array()

/**
 * Messages up to this size, in bytes, are copied into one buffer. Above it two writes are cheaper than the copy, and
 * many streams share the body.
 */
export const copyLimit = 2048

/** A message in one buffer. */
export const encode = (body: Uint8Array, suffix: Uint8Array): Buffer => {
  const buffer = Buffer.allocUnsafe(LengthPrefix.size + body.length + suffix.length)
  LengthPrefix.write(buffer, body.length + suffix.length)
  buffer.set(body, LengthPrefix.size)
  buffer.set(suffix, LengthPrefix.size + body.length)
  return buffer
}

/** The bytes before a body that is not copied: the prefix, and the suffix, since protobuf fields have no order. */
export const encodeHead = (bodyBytes: number, suffix: Uint8Array): Buffer => {
  const buffer = Buffer.allocUnsafe(LengthPrefix.size + suffix.length)
  LengthPrefix.write(buffer, bodyBytes + suffix.length)
  buffer.set(suffix, LengthPrefix.size)
  return buffer
}
