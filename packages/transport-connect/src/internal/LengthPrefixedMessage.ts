/**
 * gRPC's framing of messages: a compressed-flag of one byte, the length in four, the message.
 *
 * @see https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md#requests
 */
import { Buffer } from "node:buffer"
import type { MessageBuffers } from "./MessageBuffers.js"

/** Bytes before a message. */
export const prefixBytes = 5

/** Room in a message's buffer, in multiples of what has arrived of it. Few steps: each of them copies. */
const growth = 8

/** What is wrong with the bytes of a stream. */
export type Problem =
  | { readonly _tag: "TooLarge"; readonly bytes: number }
  /** The first byte of a prefix is neither 0 nor 1: this is no gRPC framing at all. */
  | { readonly _tag: "BadFlag"; readonly flag: number }

/**
 * What became of a message: its bytes may still be read later (`kept`), or will not be (`done`); or the rest of the chunk
 * is of no interest either (`stop`).
 */
export type Taken = "kept" | "done" | "stop"

/**
 * Takes chunks as they come and gives messages. A message that lies within one chunk is a view into it; one that is
 * spread over several is put together in a buffer that grows with what has really arrived, so that a length alone
 * takes no memory, or in one that another message is done with.
 */
export class Reader {
  #prefixed = 0
  #compressed = false
  #length = 0
  #buffer: Buffer | undefined
  #received = 0

  constructor(
    private readonly maxBytes: number,
    private readonly onMessage: (message: Uint8Array, compressed: boolean) => Taken,
    /** Where buffers come from and go to, if messages may share them. */
    private readonly buffers?: MessageBuffers
  ) {}

  /** Whether a message has begun that is not complete. */
  get incomplete(): boolean {
    return this.#prefixed > 0
  }

  read(chunk: Buffer): Problem | undefined {
    let at = 0
    while (at < chunk.length) {
      if (this.#prefixed < prefixBytes) {
        const byte = chunk[at++] ?? 0
        if (this.#prefixed++ === 0) {
          if (byte > 1) return { _tag: "BadFlag", flag: byte }
          this.#compressed = byte === 1
          continue
        }
        this.#length = this.#length * 256 + byte
        if (this.#prefixed < prefixBytes) continue
        if (this.#length > this.maxBytes) return { _tag: "TooLarge", bytes: this.#length }
      }
      const end = Math.min(chunk.length, at + this.#length - this.#received)
      const isWhole = end - at === this.#length
      if (!isWhole && end > at) this.#append(chunk, at, end)
      if ((isWhole || this.#received === this.#length) && this.#give(chunk.subarray(at, end)) === "stop")
        return undefined
      at = end
    }
    return undefined
  }

  /** Gives the message that is complete: what was put together, or all that there is of it. */
  #give(whole: Uint8Array): Taken {
    const buffer = this.#buffer
    const message = buffer?.subarray(0, this.#length) ?? whole
    this.#prefixed = 0
    this.#length = 0
    this.#received = 0
    this.#buffer = undefined
    const taken = this.onMessage(message, this.#compressed)
    if (buffer !== undefined && taken === "done") this.buffers?.give(buffer)
    return taken
  }

  #append(chunk: Buffer, start: number, end: number): void {
    const received = this.#received + end - start
    if (this.#buffer === undefined || received > this.#buffer.length) {
      const old = this.#buffer
      const bytes = Math.min(this.#length, received * growth)
      const larger =
        this.buffers === undefined
          ? Buffer.allocUnsafeSlow(bytes)
          : (this.buffers.take(this.#length) ?? this.buffers.make(bytes))
      if (old !== undefined) {
        old.copy(larger, 0, 0, this.#received)
        this.buffers?.give(old)
      }
      this.#buffer = larger
    }
    chunk.copy(this.#buffer, this.#received, start, end)
    this.#received = received
  }
}

/**
 * Up to this size a message is copied into one buffer. Above it a write of two buffers costs less than the copy, the
 * more so since many streams share the body.
 */
export const copyLimit = 2048

/** A message in one buffer. */
export const encode = (body: Uint8Array, suffix: Uint8Array): Buffer => {
  const buffer = Buffer.allocUnsafe(prefixBytes + body.length + suffix.length)
  buffer[0] = 0
  buffer.writeUInt32BE(body.length + suffix.length, 1)
  buffer.set(body, prefixBytes)
  buffer.set(suffix, prefixBytes + body.length)
  return buffer
}

/** What goes before a body that is not copied: the prefix and the suffix, since protobuf fields have no order. */
export const encodeHead = (bodyBytes: number, suffix: Uint8Array): Buffer => {
  const buffer = Buffer.allocUnsafe(prefixBytes + suffix.length)
  buffer[0] = 0
  buffer.writeUInt32BE(bodyBytes + suffix.length, 1)
  buffer.set(suffix, prefixBytes)
  return buffer
}
