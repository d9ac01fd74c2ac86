/** What carries calls to one address, when there is a connection: streams of one HTTP/2 session, or requests of HTTP/1.1. */
import type { IncomingHttpHeaders, OutgoingHttpHeaders } from "node:http2"

/** The names of the versions in ALPN. */
export const alpn = { Http1: "http/1.1", Http2: "h2" } as const

/** Versions of HTTP that may be spoken with an address. `Any`: HTTP/2, or HTTP/1.1 where the server has nothing else. */
export type Versions = keyof typeof alpn | "Any"

/** One request and its answer, as `node:http2` has them: a `ClientHttp2Stream` is one. */
export interface CallStream {
  /** `undefined`: nothing of it was sent. */
  readonly id?: number | undefined
  /** What it was reset with; 0: it was not. */
  readonly rstCode?: number | undefined
  readonly closed: boolean
  readonly writableEnded: boolean
  /** The connection that carried it was lost; absent: the carrier's, if that is. */
  readonly isLost?: boolean | undefined
  readonly on: CallStream["once"]
  readonly once: {
    (
      event: "response",
      listener: (headers: IncomingHttpHeaders & { ":status"?: number }, flags: number) => void
    ): unknown
    (event: "trailers", listener: (trailers: IncomingHttpHeaders, flags: number) => void): unknown
    (event: "data", listener: (chunk: Buffer) => void): unknown
    (event: "error", listener: (error: Error) => void): unknown
    (event: "end" | "close", listener: () => void): unknown
  }
  readonly write: (chunk: Uint8Array, done: (error?: Error | null) => void) => unknown
  readonly end: (chunk?: Uint8Array) => unknown
  readonly isPaused: () => boolean
  readonly pause: () => unknown
  readonly resume: () => unknown
  /** Resets it with a code of HTTP/2. */
  readonly close: (code: number) => void
}

export interface Carrier {
  /** What it carried is lost. */
  readonly isLost: boolean
  /** Whether both sides may speak at the same time. */
  readonly isDuplex: boolean
  /** It carries nothing new, whether it has told that it is gone or not. */
  readonly isClosed: boolean
  /** @param headers with pseudo headers */
  readonly open: (headers: OutgoingHttpHeaders) => CallStream
  /** No new streams: it ends when the last one has ended. */
  readonly close: () => void
  /** Ends it, and its streams. */
  readonly destroy: (reason: string) => void
}

/** What a carrier tells. */
export interface Events {
  readonly ready: () => void
  readonly gone: (reason: string) => void
  /** Nothing is left of it. */
  readonly ended: () => void
  /** The server does not speak this version. Instead of all others. */
  readonly unsuitable: () => void
}
