/**
 * Room for the pieces of a response, and of the parts after it.
 *
 * V8 counts the bytes of buffers: beyond 64 MB of new ones it marks all that the process holds, and does 5 to 10 ms of that whenever
 * another buffer is made. So the pieces of 60 MB lie in one buffer, where 150 of their own took a fifth more of the main thread. It is
 * held as long as somebody sends one of them.
 */
import type * as Response from "@effect-xds/core/wire/Response"

/** The most bytes of a buffer for what is still to come: resources may be smaller than those before them. */
const most = 64 * 1024 * 1024

/** The sizes of resources are known when they are encoded: the rest is taken to be like those before, and a little larger. */
const spare = 1.02

export class PieceRoom implements Response.PieceRoom {
  /** Weak: a response is kept, and its bytes are not. */
  #buffer: WeakRef<ArrayBuffer> | undefined
  #used = 0

  allocate(size: number, count: number, left: number): Uint8Array {
    const begun = this.#buffer?.deref()
    if (begun !== undefined && this.#used + size <= begun.byteLength) return this.#cut(begun, size)
    const rest = Math.min(Math.ceil((size / count) * left * spare), most)
    if (rest === 0) return new Uint8Array(size)
    const buffer = new ArrayBuffer(size + rest)
    this.#buffer = new WeakRef(buffer)
    this.#used = 0
    return this.#cut(buffer, size)
  }

  #cut(buffer: ArrayBuffer, size: number): Uint8Array {
    const from = this.#used
    this.#used += size
    return new Uint8Array(buffer, from, size)
  }
}
