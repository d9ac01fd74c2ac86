/** One attempt of a call: where it goes, and what its stream told. */
import type { IncomingHttpHeaders, OutgoingHttpHeaders } from "node:http2"
import { constants } from "node:http2"
import type { Outcome } from "./Call.js"
import type { CallStream } from "./Carrier.js"
import type { EndpointConnection } from "./EndpointConnection.js"

export class Attempt {
  private stream: CallStream | undefined
  private isReserved = true
  private isAnswered = false
  /** `grpc-status`; empty if there is none. */
  private status = ""

  /**
   * @param authority `:authority`
   * @param isUnary its request is one message
   */
  constructor(
    readonly connection: EndpointConnection,
    private readonly authority: string,
    readonly isUnary: boolean
  ) {
    connection.reserve()
  }

  /** @param headers pseudo headers are added to them */
  open(method: string, path: string, headers: OutgoingHttpHeaders): CallStream {
    try {
      headers[":method"] = method
      headers[":path"] = path
      headers[":authority"] = this.authority
      headers[":scheme"] = this.connection.scheme
      const stream = this.connection.open(headers)
      this.stream = stream
      return stream
    } finally {
      this.release()
    }
  }

  /** The headers of the answer came. `flags`: those of HTTP/2. */
  onResponse(flags: number): void {
    this.connection.hasAnswered = true
    if ((flags & constants.NGHTTP2_FLAG_END_STREAM) !== 0) this.isAnswered = true
  }

  onTrailers(trailers: IncomingHttpHeaders): void {
    this.isAnswered = true
    this.status = String(trailers["grpc-status"] ?? "")
  }

  /** What the server sent was read to its end. */
  onEnd(): void {
    this.isAnswered = true
  }

  /** Calls when the stream is closed and what came on it was read, if it is read. */
  onClose(listener: (outcome: Outcome) => void): void {
    const closed = (): void => {
      const isFailed = this.isLost || this.stream?.rstCode !== constants.NGHTTP2_NO_ERROR || !/^0?$/.test(this.status)
      setImmediate(() => listener(isFailed ? "Failed" : "Succeeded"))
    }
    if (this.stream === undefined || this.stream.closed) closed()
    else this.stream.once("close", closed)
  }

  /** Nothing more of it is wanted: its stream is reset, if it is not over. */
  cancel(): void {
    const { stream } = this
    if (stream === undefined) return
    if (!stream.closed) {
      if (!this.isAnswered) stream.close(constants.NGHTTP2_CANCEL)
      // ★ The server has said all, and only the request is open yet: that is no error (as in grpc-go).
      else if (!stream.writableEnded) stream.close(constants.NGHTTP2_NO_ERROR)
    }
    // ★ What has come is dropped: until it was read the stream is there, and its connection does not end.
    stream.resume()
  }

  /** It is over, or has its stream. */
  release(): void {
    if (!this.isReserved) return
    this.isReserved = false
    this.connection.release()
  }

  /** Nothing of it was sent: it may be tried again as if it had not been. */
  get isUnsent(): boolean {
    return this.stream === undefined ? !this.isReserved : this.stream.id === undefined
  }

  /** Who sends it was asked for what is sent: of a stream it is gone then, whether it was sent or not. */
  get isBegun(): boolean {
    return this.stream !== undefined
  }

  /** The server says that it has not looked at it. */
  get isRefused(): boolean {
    return this.stream?.rstCode === constants.NGHTTP2_REFUSED_STREAM
  }

  /** `grpc-status` of the trailers; empty if there is none. */
  get grpcStatus(): string {
    return this.status
  }

  /** The connection was lost before the answer was whole. */
  get isLost(): boolean {
    return !this.isAnswered && (this.stream?.isLost === true || this.connection.isLost)
  }
}
