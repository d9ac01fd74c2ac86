/**
 * The size of the pieces in which large bodies are written. HTTP/2 takes what fits the client's window from a piece at once,
 * and that is the kernel's copying on the thread of the event loop: with many large bodies at a time, pieces are small.
 */

/**
 * The largest piece, in bytes. HTTP/2 splits what fits the client's window into frames, and Node keeps the list of frames as
 * long as the connection: 40 KB for 7 MB at once, hardly anything for 1 MB.
 */
const largest = 1024 * 1024

/** The smallest piece, in bytes: HTTP/2's default window. */
const smallest = 64 * 1024

/** Bytes that all pieces together have, as long as none is the smallest. */
const together = 4 * 1024 * 1024

/** The bodies of one server that are being written in pieces. */
export class BodyPieces {
  #bodies = 0

  /** Bytes of the next piece. */
  size(): number {
    return Math.min(largest, Math.max(smallest, Math.floor(together / Math.max(1, this.#bodies))))
  }

  /** So many bodies more. */
  count(more: number): void {
    this.#bodies += more
  }
}
