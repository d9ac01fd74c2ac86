/**
 * Pauses reading from the socket of one connection. Unread bytes then stay in the system's buffers, and TCP slows the
 * client down.
 *
 * HTTP/2 offers no such pause: Node takes whatever has arrived, returns the connection's credit at once, and hands the
 * bytes to their streams. If more arrives than can be read, that takes hundreds of megabytes, and the bytes have left
 * the processor's cache before they are read: a thousand clients reconnecting at once cost half as much again.
 */
import type { Http2Session } from "node:http2"
import type { Socket } from "node:net"

/** The libuv handle of a socket. */
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

/** Node has no public way to pause a socket that belongs to HTTP/2: `pause` throws. Internally it calls these. */
const handleOf = (socket: Socket | undefined): Handle | undefined => {
  const handle: unknown = socket && Reflect.get(socket, "_handle")
  return isHandle(handle) ? handle : undefined
}

export class ReadPause {
  readonly #handle: Handle | undefined
  /** Streams that hold the pause. */
  #holders = 0

  constructor(
    private readonly session: Http2Session,
    socket: Socket | undefined
  ) {
    this.#handle = handleOf(socket)
  }

  /**
   * Stops reading until `release` was called as often. Up to 64 KB that are being delivered still arrive. Without a
   * handle this does nothing.
   */
  hold(): void {
    this.#holders++
    // On every call: Node resumes reading after a write.
    if (!this.session.destroyed) this.#handle?.readStop()
  }

  release(): void {
    this.#holders--
    if (this.#holders === 0 && !this.session.destroyed) this.#handle?.readStart()
  }
}
