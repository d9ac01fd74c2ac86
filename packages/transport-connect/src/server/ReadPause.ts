/**
 * What one connection sends. It can wait in its socket, where it costs this process nothing and stops the client.
 *
 * HTTP/2 has no such thing: Node takes from a socket whatever has come, gives the connection new credit at once, and hands
 * the bytes to their streams. When more comes than there are turns to read, that is memory by the hundred megabytes, and bytes
 * that have left the processor's cache before they are read: a thousand clients that came back at once cost half as much again.
 */
import type { Http2Session } from "node:http2"

/** What a socket reads from, where it can stop. */
interface Handle {
  readonly readStart: () => void
  readonly readStop: () => void
}

const isHandle = (value: unknown): value is Handle =>
  typeof value === "object" &&
  value !== null &&
  "readStart" in value &&
  "readStop" in value &&
  typeof value.readStart === "function" &&
  typeof value.readStop === "function"

/** Node has no public way to stop a socket that belongs to HTTP/2: `pause` throws. Its own `pause` does this. */
const handleOf = (session: Http2Session): Handle | undefined => {
  const handle: unknown = Reflect.get(session.socket, "_handle")
  return isHandle(handle) ? handle : undefined
}

export class ReadPause {
  readonly #handle: Handle | undefined
  /** Streams that want it to wait. */
  #holders = 0

  constructor(private readonly session: Http2Session) {
    this.#handle = handleOf(session)
  }

  /**
   * Nothing more is taken from the socket until there were as many calls of `release`; only what is in the middle of being
   * handed over still comes, 64 KB at most. Where Node has no handle that can do so nothing happens.
   */
  hold(): void {
    this.#holders++
    // Each time: Node starts to read again when it has written something.
    if (!this.session.destroyed) this.#handle?.readStop()
  }

  release(): void {
    this.#holders--
    if (this.#holders === 0 && !this.session.destroyed) this.#handle?.readStart()
  }
}
