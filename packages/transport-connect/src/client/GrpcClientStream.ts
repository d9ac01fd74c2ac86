/**
 * A client's gRPC stream on a bare HTTP/2 stream.
 *
 * @see https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md
 */
import * as Reason from "@effect-xds/proto/Reason"
import type { ClientTransport } from "@effect-xds/transport"
import * as Status from "@effect-xds/transport/Status"
import type { Inflated, Inflater } from "@effect-xds/transport-node/Inflater"
import * as Either from "effect/Either"
import type { Buffer } from "node:buffer"
import type { ClientHttp2Session, ClientHttp2Stream, IncomingHttpHeaders } from "node:http2"
import { constants } from "node:http2"
import * as GrpcStatus from "../grpc/GrpcStatus.js"
import * as LengthPrefixedMessage from "../grpc/LengthPrefixedMessage.js"

const nothing = new Uint8Array(0)

export interface Options {
  readonly maxResponseBytes: number
  /** For responses of that size at most. */
  readonly inflater: Inflater
  /** Reports a defect of the client behind the port, which must not end the process. */
  readonly onDefect: (defect: unknown) => void
}

/** A message that arrived. */
interface Arrived {
  readonly message: Uint8Array
  readonly isCompressed: boolean
}

/** A stream that may still wait for its connection; `start` passes it the HTTP/2 session. */
export class GrpcClientStream implements ClientTransport.ClientStream {
  readonly #reader: LengthPrefixedMessage.Reader
  #stream: ClientHttp2Stream | undefined
  /** Kept here: a closed stream no longer has its session. */
  #session: ClientHttp2Session | undefined
  #open = false
  #done = false
  #credit = 1
  /** Messages that arrived without credit, or whose first one is being inflated. */
  readonly #waiting: Array<Arrived> = []
  #delivering = false
  #inflating = false
  #encoding: string | undefined
  #httpStatus = 0
  #status: Status.Status | undefined
  /** The final status, which is reported after the waiting messages. */
  #over: Status.Status | undefined

  constructor(
    private readonly handler: ClientTransport.StreamHandler,
    private readonly options: Options,
    private readonly onDone: (stream: GrpcClientStream) => void
  ) {
    this.#reader = new LengthPrefixedMessage.Reader(options.maxResponseBytes, this.#onFramed)
  }

  readonly send = (message: Uint8Array): void => {
    if (this.#open && this.#stream !== undefined) this.#stream.write(LengthPrefixedMessage.encode(message, nothing))
  }

  readonly next = (): void => {
    this.#credit++
    this.#deliver()
  }

  readonly end = (): void => {
    if (this.#done) return
    this.#finish()
    this.#cancel()
  }

  /** Whether the stream has ended for the client. */
  get done(): boolean {
    return this.#done
  }

  /** Sends the request's headers. `lost`: why the connection was lost, with the error that it gave. */
  start(
    session: ClientHttp2Session,
    headers: Readonly<Record<string, string>>,
    lost: (error: Error | undefined) => string
  ): void {
    let stream: ClientHttp2Stream
    try {
      stream = session.request({ ...headers }, { endStream: false })
    } catch (cause) {
      // The connection was lost, or has no stream ids left.
      const reason = Reason.of(cause)
      return this.fail(Status.make("UNAVAILABLE", `no stream on this connection: ${reason}`))
    }
    this.#stream = stream
    this.#session = session
    let failure: Error | undefined
    // Followed by "close", which handles it.
    stream.on("error", (error: Error) => void (failure = error))
    stream.on("response", this.#onHeaders)
    stream.on("trailers", this.#onHeaders)
    stream.on("data", this.#onData)
    stream.on("close", () => this.#onClose(stream.rstCode, () => lost(failure)))
    if (stream.pending) stream.once("ready", this.#onReady)
    else this.#onReady()
  }

  /** Ends the stream with a status of the transport: the connection failed or was lost. */
  fail(status: Status.Status): void {
    if (this.#done) return
    this.#finish()
    this.#cancel()
    this.#tell(() => this.handler.onEnd(status))
  }

  #cancel(): void {
    const stream = this.#stream
    if (stream === undefined || stream.destroyed) return
    stream.resume()
    // In a turn of its own: Node 20 may never return from a reset within an HTTP/2 event.
    setImmediate(() => {
      if (!stream.destroyed) stream.close(constants.NGHTTP2_CANCEL)
    })
  }

  #finish(): void {
    this.#done = true
    this.#open = false
    this.#waiting.length = 0
    this.onDone(this)
  }

  /** Calls the client's handler, whose defects must not end the process. */
  #tell(run: () => void): void {
    try {
      run()
    } catch (defect) {
      this.options.onDefect(defect)
      this.end()
    }
  }

  readonly #onReady = (): void => {
    if (this.#done) return
    this.#open = true
    this.#tell(() => this.handler.onOpen())
  }

  readonly #onHeaders = (headers: IncomingHttpHeaders): void => {
    const status = Number(headers[":status"])
    if (Number.isInteger(status)) {
      this.#httpStatus = status
      this.#encoding = typeof headers["grpc-encoding"] === "string" ? headers["grpc-encoding"] : undefined
      const type = headers["content-type"] ?? ""
      if (status === 200 && headers["grpc-status"] === undefined && !type.startsWith("application/grpc")) {
        return this.fail(Status.make("UNKNOWN", `the server's answer is ${JSON.stringify(type)} and not gRPC`))
      }
    }
    this.#status = GrpcStatus.parse(headers) ?? this.#status
  }

  readonly #onData = (chunk: Buffer): void => {
    if (this.#done || this.#httpStatus !== 200) return
    const problem = this.#reader.read(chunk)
    if (problem?._tag === "TooLarge") return this.#tooLarge(`of ${problem.bytes} bytes`)
    if (problem?._tag === "BadFlag") {
      return this.fail(
        Status.make("INTERNAL", `a gRPC message begins with a byte 0 or 1, the server's with ${problem.flag}`)
      )
    }
    this.#deliver()
  }

  #tooLarge(size: string): void {
    const limit = `larger than this client's limit of ${this.options.maxResponseBytes} bytes`
    this.fail(Status.make("RESOURCE_EXHAUSTED", `a response ${size} is ${limit}; ask for fewer resources at a time`))
  }

  readonly #onFramed = (message: Uint8Array, isCompressed: boolean): LengthPrefixedMessage.Then => {
    if (isCompressed && this.#encoding !== "gzip") {
      const encoding = this.#encoding ?? "no grpc-encoding"
      this.fail(Status.make("INTERNAL", `a message is compressed with ${encoding}; this client takes gzip`))
      return "stop"
    }
    this.#waiting.push({ message, isCompressed })
    return "go on"
  }

  /** Inflates the first message: a large one off the event loop, since it may take a tenth of a second. */
  #inflate(message: Uint8Array): void {
    const { inflater } = this.options
    const now = inflater.now(message)
    if (now !== undefined) return this.#onInflated(now)
    this.#inflating = true
    inflater.inflate(message, (inflated) => {
      this.#inflating = false
      if (this.#done) return
      this.#onInflated(inflated)
      this.#deliver()
    })
  }

  #onInflated(inflated: Inflated): void {
    if (Either.isRight(inflated)) this.#waiting[0] = { message: inflated.right, isCompressed: false }
    else if (inflated.left.reason === "TooLarge") this.#tooLarge("that was inflated")
    else this.fail(Status.make("INTERNAL", `a message is ${inflated.left.message}`))
  }

  #deliver(): void {
    // Credit given from within a delivery is used by the loop below.
    if (this.#delivering) return
    this.#delivering = true
    while (this.#credit > 0 && !this.#inflating) {
      const next = this.#waiting[0]
      if (next === undefined) break
      if (next.isCompressed) {
        this.#inflate(next.message)
        continue
      }
      this.#waiting.shift()
      this.#credit--
      this.#tell(() => this.handler.onMessage(next.message))
    }
    this.#delivering = false
    if (this.#credit === 0 || this.#inflating) this.#stream?.pause()
    else this.#stream?.resume()
    if (this.#over !== undefined && this.#waiting.length === 0) this.fail(this.#over)
  }

  #onClose(code: number, lost: () => string): void {
    if (this.#done) return
    if (this.#status !== undefined) {
      // An orderly end follows all messages before it.
      this.#over = this.#status
      return this.#deliver()
    }
    if (this.#httpStatus !== 0 && this.#httpStatus !== 200) this.fail(GrpcStatus.ofHttp(this.#httpStatus))
    else if (this.#session?.destroyed === true) this.fail(Status.make("UNAVAILABLE", lost()))
    else this.fail(ofReset(code))
  }
}

/** The status of a stream that ended without one. */
const ofReset = (code: number): Status.Status => {
  switch (code) {
    case constants.NGHTTP2_NO_ERROR:
      return Status.make("INTERNAL", "the server ended the stream without a status")
    case constants.NGHTTP2_REFUSED_STREAM:
      return Status.make("UNAVAILABLE", "the server refused the stream")
    case constants.NGHTTP2_CANCEL:
      return Status.make("CANCELLED", "the server cancelled the stream")
    case constants.NGHTTP2_ENHANCE_YOUR_CALM:
      return Status.make("RESOURCE_EXHAUSTED", "the server asks for fewer requests")
    default:
      return Status.make("INTERNAL", `the server reset the stream with HTTP/2 error code ${code}`)
  }
}
