/**
 * Memory for requests that come in many chunks. After a restart of the server every client says what it holds, which is
 * 850 KB for ten thousand clusters. New memory for each of these requests costs more than reading them: the system clears
 * it, and the garbage collector looks at the whole heap whenever 64 MB of it were used.
 */
import { Buffer } from "node:buffer"

/** Buffers are multiples of this: requests of clients that hold the same differ by a few bytes. Smaller ones are not kept. */
const step = 65_536

/** A message does not take a buffer that is so many times too large: it may keep it. */
const largest = 8

/** Milliseconds without a request that gave a buffer back, after which all are let go. */
const rest = 10_000

/** Buffers that were given back: a bounded number of bytes. */
export class MessageBuffers {
  /** The smallest first. */
  readonly #free: Array<Buffer> = []
  #bytes = 0
  #timer: NodeJS.Timeout | undefined

  /** `limit`: bytes that are kept. */
  constructor(private readonly limit: number) {}

  /** A buffer for a message of this length, if there is one. Its bytes are those of another message. */
  take(length: number): Buffer | undefined {
    const found = this.#free.findIndex((buffer) => buffer.length >= length)
    const buffer = this.#free[found]
    if (buffer === undefined || buffer.length > largest * length) return undefined
    this.#free.splice(found, 1)
    this.#bytes -= buffer.length
    return buffer
  }

  /** A buffer of at least so many bytes that is new. */
  make(bytes: number): Buffer {
    return Buffer.allocUnsafeSlow(bytes < step ? bytes : Math.ceil(bytes / step) * step)
  }

  /** Keeps a buffer that nobody reads or writes any more. */
  give(buffer: Buffer): void {
    if (buffer.length < step || this.#bytes + buffer.length > this.limit) return
    const larger = this.#free.findIndex(({ length }) => length >= buffer.length)
    this.#free.splice(larger < 0 ? this.#free.length : larger, 0, buffer)
    this.#bytes += buffer.length
    if (this.#timer === undefined) this.#timer = setTimeout(this.clear, rest).unref()
    else this.#timer.refresh()
  }

  /** Lets go of all. */
  readonly clear = (): void => {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#free.length = 0
    this.#bytes = 0
  }
}
