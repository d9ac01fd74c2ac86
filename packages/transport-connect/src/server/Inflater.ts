/**
 * Inflates messages away from the event loop: a few kilobytes may become megabytes. A bounded number at a time, so that they
 * take neither the memory nor all of the threads that the process has for such work.
 */
import type { Buffer } from "node:buffer"
import { gunzip, gunzipSync } from "node:zlib"

/** Messages at a time; the others wait in order. Node has four threads for all such work. */
const most = 2

/** Compressed bytes up to which a message is inflated at once, if it becomes no more than this. */
const smallInput = 2048
const smallOutput = 65_536

const chunkSize = 65_536

/** The message, or why there is none: a `RangeError` if it is too large. */
export type Inflated = (result: Buffer | Error) => void

export class Inflater {
  #running = 0
  readonly #waiting: Array<() => void> = []

  /** `maxBytes`: of an inflated message. */
  constructor(private readonly maxBytes: number) {}

  /** Messages that are being inflated, or wait for it. */
  get size(): number {
    return this.#running + this.#waiting.length
  }

  /** A small message, now; `undefined`: it may be a large one. Throws for what is not gzip. */
  now(message: Uint8Array): Buffer | undefined {
    if (message.length > smallInput) return undefined
    try {
      return gunzipSync(message, { maxOutputLength: Math.min(smallOutput, this.maxBytes) })
    } catch (cause) {
      if (cause instanceof RangeError) return undefined
      throw cause
    }
  }

  /** Any message, later. */
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
