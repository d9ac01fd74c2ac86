/**
 * Inflates gzip data of peers up to a limit: a few kilobytes may become gigabytes.
 *
 * @since 0.1.0
 */
import * as Reason from "@effect-xds/proto/Reason"
import * as Data from "effect/Data"
import * as Either from "effect/Either"
import { constants } from "node:buffer"
import { gunzip, gunzipSync } from "node:zlib"

/**
 * Why data was not inflated.
 *
 * @since 0.1.0
 */
export class NotInflated extends Data.TaggedError("NotInflated")<{
  /** `TooLarge`: the inflated data exceeds `maxBytes`. */
  readonly reason: "TooLarge" | "NotGzip"
  readonly maxBytes: number
  /** The error of gzip, in words. */
  readonly detail: string
}> {
  override get message(): string {
    return this.reason === "TooLarge"
      ? `larger than the limit of ${this.maxBytes} bytes when it is inflated`
      : `not gzip: ${this.detail}`
  }
}

/**
 * The inflated bytes, or the error.
 *
 * @since 0.1.0
 */
export type Inflated = Either.Either<Uint8Array, NotInflated>

const chunkSize = 65_536

/** Node throws for a limit below one byte, or above its longest buffer: with `Infinity`, that is the limit. */
const possible = (maxBytes: number): number => Math.max(1, Math.min(maxBytes, constants.MAX_LENGTH))

/** Node throws a `RangeError` at the limit, and stops there. */
const notInflated = (cause: unknown, maxBytes: number): NotInflated =>
  new NotInflated({ reason: cause instanceof RangeError ? "TooLarge" : "NotGzip", maxBytes, detail: Reason.of(cause) })

/**
 * Inflates data in this turn of the event loop.
 *
 * @since 0.1.0
 */
export const inflateSync = (bytes: Uint8Array, maxBytes: number): Inflated =>
  Either.try({
    try: () => gunzipSync(bytes, { maxOutputLength: possible(maxBytes) }),
    catch: (cause) => notInflated(cause, maxBytes)
  })

/**
 * Inflates data in another thread, off the event loop.
 *
 * @since 0.1.0
 */
export const inflate = (bytes: Uint8Array, maxBytes: number, onInflated: (result: Inflated) => void): void =>
  gunzip(bytes, { maxOutputLength: possible(maxBytes), chunkSize }, (cause, inflated) =>
    onInflated(cause === null ? Either.right(inflated) : Either.left(notInflated(cause, maxBytes)))
  )

/** Messages inflated at a time; others wait in order. Node's thread pool has four threads. */
const most = 2

/** Messages up to this many compressed bytes are inflated at once, if they do not exceed `smallOutput` bytes. */
const smallInput = 2048
const smallOutput = 65_536

/**
 * Inflates the messages of many streams: small ones at once, the others off the event loop. A bounded number at a time
 * limits memory, and leaves threads of the process for other work.
 *
 * @since 0.1.0
 */
export class Inflater {
  #running = 0
  /** What starts those that wait, in order. */
  readonly #waiting = new Set<() => void>()

  /** `maxBytes`: the largest inflated message. */
  constructor(private readonly maxBytes: number) {}

  /** Messages that are being inflated or wait. */
  get size(): number {
    return this.#running + this.#waiting.size
  }

  /** Inflates a small message at once; `undefined` if it may be large. */
  now(message: Uint8Array): Inflated | undefined {
    if (message.length > smallInput) return undefined
    const inflated = inflateSync(message, Math.min(smallOutput, this.maxBytes))
    return Either.isLeft(inflated) && inflated.left.reason === "TooLarge" ? undefined : inflated
  }

  /** Inflates any message, later. The result gives it up if it still waits: then `onInflated` is never called. */
  inflate(message: Uint8Array, onInflated: (result: Inflated) => void): () => void {
    const start = (): void => {
      this.#waiting.delete(start)
      this.#running++
      inflate(message, this.maxBytes, (result) => {
        this.#running--
        const [next] = this.#waiting
        next?.()
        onInflated(result)
      })
    }
    if (this.#running < most) start()
    else this.#waiting.add(start)
    return () => void this.#waiting.delete(start)
  }
}
