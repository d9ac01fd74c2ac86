/** One attempt of a unary call of gRPC: a frame goes out, and a message or an error comes in. */
import { Code, ConnectError } from "@connectrpc/connect"
import type { Compression } from "@connectrpc/connect/protocol"
import * as Protocol from "@connectrpc/connect/protocol"
import * as Grpc from "@connectrpc/connect/protocol-grpc"
import type { IncomingHttpHeaders, IncomingHttpStatusHeader } from "node:http2"
import type { Attempt } from "./Attempt.js"
import type { Call } from "./Call.js"
import type { CallStream } from "./Carrier.js"
import * as ConnectErrors from "./ConnectErrors.js"
import * as Fields from "./Fields.js"
import * as StreamErrors from "./StreamErrors.js"

export interface Request {
  readonly path: string
  /** Without pseudo headers. They are this attempt's own. */
  readonly fields: Record<string, string>
  /** The message and the five bytes before it. */
  readonly frame: Uint8Array
}

/** How an answer is read. */
export interface Reading<A> {
  readonly acceptCompression: ReadonlyArray<Compression>
  /** Of a message, in bytes. */
  readonly readMaxBytes: number
  /** Throws if the bytes are no message, or too many. */
  readonly parse: (data: Uint8Array) => A
}

export interface Answer<A> {
  readonly message: A
  readonly headers: IncomingHttpHeaders
  readonly trailers: IncomingHttpHeaders
}

/** Rejects with a ConnectError if there is no message, or an error. When the call is given up the stream is reset. */
export const send = <A>(attempt: Attempt, call: Call, request: Request, reading: Reading<A>): Promise<Answer<A>> =>
  new Promise((resolve, reject) => {
    if (call.ended !== undefined) return reject(call.ended)
    const { fields, frame, path } = request
    const stream = attempt.open("POST", path, fields)
    const exchange = new UnaryExchange(attempt, stream, reading, resolve, reject)
    call.onGivenUp = (error) => exchange.fail(error)
    stream.end(frame)
  })

const prefix = 5
const compressed = 1
const nothing = new Uint8Array()

type Verdict = ReturnType<typeof Grpc.validateResponseWithCompression>

class UnaryExchange<A> {
  private headers: IncomingHttpHeaders & IncomingHttpStatusHeader = {}
  private trailers: IncomingHttpHeaders = {}
  private readonly chunks: Array<Uint8Array> = []
  private size = 0
  /** Bytes of the frame, when its length has come. */
  private promised: number | undefined
  private hasHeaders = false
  /** Whether the headers say nothing but that an answer comes. */
  private isUsual = false
  private verdict: Verdict | undefined
  private hasEnded = false
  private isOver = false

  constructor(
    attempt: Attempt,
    private readonly stream: CallStream,
    private readonly reading: Reading<A>,
    private readonly resolve: (answer: Answer<A>) => void,
    private readonly reject: (error: ConnectError) => void
  ) {
    stream.on("error", (error: Error) => this.fail(StreamErrors.ofStream(stream, error)))
    stream.once("response", (headers: IncomingHttpHeaders & IncomingHttpStatusHeader, flags: number) => {
      attempt.onResponse(flags)
      this.headers = headers
      this.hasHeaders = true
      this.isUsual = isUsual(headers, reading)
      if (!this.isUsual) this.attemptTo(() => void this.judge())
    })
    stream.on("data", (chunk: Uint8Array) => this.onData(chunk))
    stream.once("trailers", (trailers: IncomingHttpHeaders) => {
      attempt.onTrailers(trailers)
      this.trailers = trailers
    })
    stream.once("end", () => {
      // ★ Of a stream that was reset, or lost with its connection, Node tells an end too.
      if (!this.hasHeaders || StreamErrors.isReset(stream)) return
      attempt.onEnd()
      this.hasEnded = true
      this.onEnd()
    })
    stream.once("close", () => {
      const error = StreamErrors.ofClosed(stream, this.hasEnded)
      if (error !== undefined) this.fail(error)
    })
  }

  fail(error: ConnectError): void {
    if (this.isOver) return
    this.isOver = true
    this.reject(error)
    if (!this.stream.closed) this.stream.close(StreamErrors.resetCode(error))
  }

  private attemptTo(work: () => void): void {
    try {
      work()
    } catch (cause) {
      this.fail(ConnectErrors.of(cause))
    }
  }

  /** What the headers say, where they are not the usual ones. Throws if they say that there is no answer. */
  private judge(): Verdict {
    const { headers, reading } = this
    return (this.verdict ??= Grpc.validateResponseWithCompression(
      Array.from(reading.acceptCompression),
      headers[":status"] ?? 0,
      Fields.toHeaders(headers)
    ))
  }

  private onData(chunk: Uint8Array): void {
    if (this.isOver) return
    this.chunks.push(chunk)
    this.size += chunk.byteLength
    if (this.promised === undefined) {
      if (this.size < prefix) return
      const bytes = this.bytes()
      const length = new DataView(bytes.buffer, bytes.byteOffset).getUint32(1)
      const { readMaxBytes } = this.reading
      if (length > readMaxBytes) {
        const words = `message size ${length} is larger than configured readMaxBytes ${readMaxBytes}`
        return this.fail(new ConnectError(words, Code.ResourceExhausted))
      }
      this.promised = prefix + length
    }
    if (this.size > this.promised) {
      const words = "protocol error: received extra output message for unary method"
      this.fail(new ConnectError(words, Code.Unimplemented))
    }
  }

  /** What has come so far, as one piece. */
  private bytes(): Uint8Array {
    if (this.chunks.length > 1) this.chunks.splice(0, this.chunks.length, Buffer.concat(this.chunks))
    return this.chunks[0] ?? nothing
  }

  private onEnd(): void {
    if (this.isOver) return
    if (this.size !== (this.promised ?? 0)) {
      return this.fail(new ConnectError("protocol error: incomplete envelope", Code.InvalidArgument))
    }
    const bytes = this.bytes()
    const isPlain = bytes[0] === 0 && this.isUsual && isSuccess(this.trailers)
    if (isPlain) this.attemptTo(() => this.succeed(this.reading.parse(bytes.subarray(prefix))))
    else this.readOther(bytes).catch((cause: unknown) => this.fail(ConnectErrors.of(cause)))
  }

  /** An answer that is compressed, or an error. */
  private async readOther(bytes: Uint8Array): Promise<void> {
    const { compression, headerError } = this.judge()
    let message: A | undefined
    if (bytes.byteLength > 0) {
      const frame = { flags: bytes[0] ?? 0, data: bytes.subarray(prefix) }
      const isCompressed = (frame.flags & compressed) !== 0
      const { data } = isCompressed
        ? await Protocol.envelopeDecompress(frame, compression ?? null, this.reading.readMaxBytes)
        : frame
      message = this.reading.parse(data)
    }
    const trailer = Fields.toHeaders(this.trailers)
    Grpc.validateTrailer(trailer, Fields.toHeaders(this.headers))
    if (message !== undefined && headerError === undefined) return this.succeed(message)
    if (message === undefined && headerError !== undefined) throw headerError
    if (message !== undefined) {
      const words = "protocol error: received output message for unary method with error status"
      throw new ConnectError(words, Code.Unknown)
    }
    const code = trailer.has(Grpc.headerGrpcStatus) ? Code.Unimplemented : Code.Unknown
    throw new ConnectError("protocol error: missing output message for unary method", code)
  }

  private succeed(message: A): void {
    if (this.isOver) return
    this.isOver = true
    this.resolve({ message, headers: this.headers, trailers: this.trailers })
  }
}

const isUsual = (
  headers: IncomingHttpHeaders & IncomingHttpStatusHeader,
  { acceptCompression }: Pick<Reading<unknown>, "acceptCompression">
): boolean => {
  const { "content-type": type, "grpc-encoding": encoding } = headers
  return (
    headers[":status"] === 200 &&
    (type === Grpc.contentTypeProto || type === "application/grpc") &&
    headers["grpc-status"] === undefined &&
    headers["grpc-status-details-bin"] === undefined &&
    (encoding === undefined || acceptCompression.some(({ name }) => name === encoding))
  )
}

const isSuccess = (trailers: IncomingHttpHeaders): boolean =>
  trailers["grpc-status"] === "0" && trailers["grpc-status-details-bin"] === undefined
