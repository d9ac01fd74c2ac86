/**
 * Inflates messages off the event loop: a few kilobytes may become megabytes. A bounded number at a time limits memory,
 * and leaves threads of the process for other work.
 */
import type { Buffer } from "node:buffer"
import { gunzip, gunzipSync } from "node:zlib"

/** Messages inflated at a time; others wait in order. Node's thread pool has four threads. */
const most = 2

/** Messages up to this many compressed bytes are inflated at once, if they do not exceed `smallOutput` bytes. */
const smallInput = 2048
const smallOutput = 65_536

const chunkSize = 65_536

/** Called with the message, or with an error: a `RangeError` if it is too large. */
export type Inflated = (result: Buffer | Error) => void

export class Inflater {
  #running = 0
  readonly #waiting: Array<() => void> = []

  /** `maxBytes`: the largest inflated message. */
  constructor(private readonly maxBytes: number) {}

  /** Messages that are being inflated or wait. */
  get size(): number {
    return this.#running + this.#waiting.length
  }

  /** Inflates a small message at once; `undefined` if it may be large. Throws if it is not gzip. */
  now(message: Uint8Array): Buffer | undefined {
    if (message.length > smallInput) return undefined
    try {
      return gunzipSync(message, { maxOutputLength: Math.min(smallOutput, this.maxBytes) })
    } catch (cause) {
      if (cause instanceof RangeError) return undefined
      throw cause
    }
  }

  /** Inflates any message, later. */
  inflate(message: Uint8Array, onInflated: Inflated): void {
    const start = (): void => {
      this.#running++
      gunzip(message, { maxOutputLength: this.maxBytes, chunkSize }, (error, bytes) => {
        this.#running--
        this.#waiting.shift()?.()
        onInflated(error ?? bytes)
      })
    }
    if (this.#running < most) start()
    else this.#waiting.push(start)
  }
}
