/**
 * A gRPC stream on a bare HTTP/2 stream: what every Envoy and gRPC client opens, so this path is short. Plain
 * synchronous code from the socket to the server and back.
 *
 * @see https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md
 */
import * as Reason from "@effect-xds/proto/Reason"
import * as Request from "@effect-xds/core/wire/Request"
import type { ServerTransport } from "@effect-xds/transport"
import type { ByteBudget, Holder } from "@effect-xds/transport-node/ByteBudget"
import { Status } from "@effect-xds/transport"
import type { TimeSlices } from "@effect-xds/transport-node/TimeSlices"
import * as Either from "effect/Either"
import type { Buffer } from "node:buffer"
import type { Http2Session, ServerHttp2Stream } from "node:http2"
import { constants } from "node:http2"
import * as ConnectServerMetrics from "../ConnectServerMetrics.js"
import type { OpenCalls } from "./OpenCalls.js"
import * as GrpcStatus from "../grpc/GrpcStatus.js"
import type { Inflater } from "./Inflater.js"
import type { ReadPause } from "./ReadPause.js"
import { HeldVersionsReader, WholeRequestReader } from "./HeldVersionsReader.js"
import type { SharedVersions } from "./SharedVersions.js"
import * as LengthPrefixedMessage from "../grpc/LengthPrefixedMessage.js"

/** What the streams of a server share. */
export interface Shared {
  readonly calls: OpenCalls
  readonly known: SharedVersions
  readonly slices: TimeSlices
  readonly inflater: Inflater
  /** What streams hold of requests that are not complete, or wait to be read. */
  readonly held: ByteBudget
  readonly maxRequestBytes: number
  /** Of requests that Connect gives as a whole. */
  readonly maxWholeRequestBytes: number
  /** Of such requests in JSON. */
  readonly maxJsonValues: number
  readonly writeBufferBytes: number
  /** Milliseconds that a unary call has to bring its request. */
  readonly requestTimeout: number
  /** Whether clients may ask which services and messages there are. */
  readonly reflection: boolean
  /** Milliseconds that an ended stream has to be read to its end before it is destroyed. */
  readonly shutdownGrace: number
  readonly accept: (stream: ServerTransport.AcceptedStream) => ServerTransport.StreamHandler
  readonly onRefused: (
    method: string,
    peer: ServerTransport.Peer,
    reason: ConnectServerMetrics.RefusalReason,
    message: string
  ) => void
  /** A defect of the server behind the port, which must not take the process with it. */
  readonly onDefect: (method: string, peer: ServerTransport.Peer, defect: unknown) => void
}

const replyHeaders = { ":status": 200, "content-type": "application/grpc", "grpc-accept-encoding": "identity,gzip" }

/** Any error of a stream is followed by its "close", where it is dealt with. */
const ignoreError = (): void => undefined

/**
 * Resets a stream, always from a turn of its own. Within an event of HTTP/2, Node 20 sends a reset before the trailers
 * that were handed over already, and may never come back from it when other streams are open.
 */
export const closeSoon = (stream: ServerHttp2Stream, code: number): void => {
  setImmediate(() => {
    if (!stream.destroyed) stream.close(code)
  })
}

/** Bytes from which on a request may say so much of what its client holds that it is shared with other clients. */
const largeRequest = 2048

/** Bytes up to which a chunk is short: an ACK, or some. */
const shortChunk = 512

/** Bytes from which on a message is read in parts, and so many fields, or bytes of what its client holds, at a time. */
const hugeRequest = 32_768
const fieldsAtATime = 2_048
const bytesAtATime = 65_536

/**
 * Bytes that a client may send on a stream before it is told that they were read. A client that comes back says what it holds
 * in 850 KB: with what HTTP/2 begins with, 64 KB, that is fourteen rounds between the two. Of a stream that is not read it is
 * memory.
 */
export const streamWindow = 256 * 1024

/** Bytes that a stream takes while it is not read. What comes then waits within its window, which is counted as if it were full. */
const mostUnread = 65_536

/** Ends a stream that was not accepted: a response of headers only. */
export const refuse = (stream: ServerHttp2Stream, status: Status.Status): void => {
  stream.on("error", ignoreError)
  stream.respond({ ...replyHeaders, ...GrpcStatus.trailers(status) }, { endStream: true })
  // What the client still sends is of no interest.
  closeSoon(stream, constants.NGHTTP2_NO_ERROR)
}

/** Why a stream was closed without an end, for people. */
const closeReason = (stream: ServerHttp2Stream, session: Http2Session | undefined): string => {
  if (session === undefined || session.destroyed) return "the connection was lost"
  return stream.rstCode === constants.NGHTTP2_CANCEL || stream.rstCode === constants.NGHTTP2_NO_ERROR
    ? "the client cancelled the stream"
    : `the stream was reset with HTTP/2 error code ${stream.rstCode}`
}

/**
 * A larger body is written in pieces of this size. HTTP/2 makes frames of what a client's window takes, and Node keeps the
 * room for the list of them as long as the connection lasts: for 7 MB at once that is 40 KB, for 1 MB hardly anything.
 */
const pieceLimit = 1024 * 1024

export class GrpcStream implements ServerTransport.AcceptedStream, Holder {
  readonly #reader: LengthPrefixedMessage.Reader<HeldVersionsReader>
  /** A stream that was closed does not know it any more. */
  readonly #session: Http2Session | undefined
  #handler: ServerTransport.StreamHandler | undefined
  #open = true
  #waiting = false
  /** What is left of a large body. */
  #rest: Uint8Array | undefined
  #timer: NodeJS.Timeout | undefined
  /** A request is being read, or reading goes on in another turn. */
  #reading = false
  /** A chunk is being read now. */
  #inside = false
  /** That is short. */
  #isShort = false
  /** What it holds is in the budget. */
  #isCounted = false
  /** The server wants requests. */
  #wanted = true
  /** Chunks that wait to be read; of the first one what was read is cut off. */
  #unread: Array<Buffer> = []
  #unreadBytes = 0
  /** Bytes of the message that is being inflated or read. */
  #workingBytes = 0
  /** What comes waits within the window of the stream. */
  #paused = false
  /** The client has ended its side. */
  #peerEnded = false

  constructor(
    private readonly shared: Shared,
    private readonly stream: ServerHttp2Stream,
    private readonly path: string,
    private readonly encoding: string | undefined,
    readonly method: ServerTransport.Method,
    readonly peer: ServerTransport.Peer,
    private readonly readPause: ReadPause,
    readonly headers: Readonly<Record<string, string>>
  ) {
    this.#session = stream.session
    // Only incremental clients say what they hold.
    const readHeld = method.protocol === "Incremental" ? this.#readHeld : undefined
    this.#reader = new LengthPrefixedMessage.Reader(shared.maxRequestBytes, this.#onMessage, readHeld)
  }

  /** Answers with headers and hands the stream to the server. */
  start(): void {
    const { shared, stream } = this
    shared.calls.add(this, this.peer)
    stream.on("error", ignoreError)
    stream.on("close", this.#onClose)
    stream.on("drain", this.#onDrain)
    stream.respond(replyHeaders, { waitForTrailers: true })
    try {
      this.#handler = shared.accept(this)
    } catch (defect) {
      this.#defect(defect)
    }
    if (!this.#open) return
    stream.on("data", this.#onData)
    stream.on("end", this.#onPeerEnd)
  }

  readonly write = ({ body, suffix }: ServerTransport.Outgoing): boolean => {
    if (!this.#open) return false
    const { stream } = this
    const bytes = body.length + suffix.length
    if (bytes <= LengthPrefixedMessage.copyLimit) {
      stream.write(LengthPrefixedMessage.encode(body, suffix))
    } else {
      stream.cork()
      stream.write(LengthPrefixedMessage.encodeHead(body.length, suffix))
      stream.write(body.length <= pieceLimit ? body : body.subarray(0, pieceLimit))
      stream.uncork()
      if (body.length > pieceLimit) this.#rest = body.subarray(pieceLimit)
    }
    ConnectServerMetrics.sentBytes.unsafeUpdate(LengthPrefixedMessage.prefixBytes + bytes, [])
    // Without `writableNeedDrain` there is no "drain" to come.
    if (!stream.writableNeedDrain || stream.writableLength < this.shared.writeBufferBytes) return true
    this.#waiting = true
    return false
  }

  readonly end = (status: Status.Status): void => {
    if (!this.#open) return
    const { stream } = this
    const rest = this.#rest
    this.#close()
    if (stream.destroyed) return
    if (rest !== undefined) stream.write(rest)
    stream.once("wantTrailers", () => {
      stream.sendTrailers(GrpcStatus.trailers(status))
      // The client may not have ended its side, and need not any more.
      closeSoon(stream, constants.NGHTTP2_NO_ERROR)
    })
    stream.end()
    // A client that does not read keeps everything that was written to it.
    this.#timer = setTimeout(() => stream.close(constants.NGHTTP2_CANCEL), this.shared.shutdownGrace)
  }

  shutdown(status: Status.Status): void {
    this.#finish(status, status.message)
  }

  /** Ends the stream on the transport's part: the server is told, the client too. */
  #finish(status: Status.Status, reason: string): void {
    if (!this.#open) return
    const handler = this.#handler
    this.end(status)
    this.#notifyEnd(handler, reason)
  }

  #close(): void {
    this.#open = false
    this.#handler = undefined
    this.#rest = undefined
    this.#unread = []
    this.#unreadBytes = 0
    this.#workingBytes = 0
    this.#paused = false
    this.shared.held.delete(this)
    this.shared.calls.delete(this)
    // The rest of what the client sends is read and dropped, so that its end is seen.
    this.stream.removeListener("data", this.#onData)
    this.stream.removeListener("end", this.#onPeerEnd)
    this.stream.resume()
  }

  #notifyEnd(handler: ServerTransport.StreamHandler | undefined, reason: string): void {
    try {
      handler?.onEnd(reason)
    } catch (defect) {
      this.shared.onDefect(this.path, this.peer, defect)
    }
  }

  #refuse(reason: ConnectServerMetrics.RefusalReason, status: Status.Status): void {
    this.shared.onRefused(this.path, this.peer, reason, status.message)
    this.#finish(status, status.message)
  }

  #defect(defect: unknown): void {
    this.shared.onDefect(this.path, this.peer, defect)
    this.#finish(Status.make("INTERNAL", "internal error"), "internal error")
  }

  setReading(wanted: boolean): void {
    this.#wanted = wanted
    if (wanted) this.#readOn()
  }

  /** What this stream holds is more than the server has room for. */
  evict(): void {
    const text = "this server holds as many bytes of requests that are not complete as it may; try again later"
    this.#refuse("too many unread bytes", Status.make("RESOURCE_EXHAUSTED", text))
  }

  readonly #onData = (chunk: Buffer): void => {
    ConnectServerMetrics.receivedBytes.unsafeUpdate(chunk.length, [])
    if (this.#reading || !this.#wanted || this.#unread.length > 0) return this.#keepUnread(chunk)
    if (this.#isOver(chunk.length <= shortChunk)) {
      this.#keepUnread(chunk)
      this.readPause.hold()
      return this.#readLater(() => this.#letGo(), false)
    }
    this.#read(chunk)
    this.#noteHeld()
  }

  #isOver(isShort: boolean): boolean {
    const { slices } = this.shared
    return isShort ? slices.isLate() : slices.isOver()
  }

  #keepUnread(chunk: Buffer): void {
    this.#unread.push(chunk)
    this.#unreadBytes += chunk.length
    if (this.#unreadBytes > mostUnread) this.#pause()
    this.#noteHeld()
  }

  #pause(): void {
    if (!this.#open || this.#paused) return
    this.#paused = true
    this.stream.pause()
  }

  #resume(): void {
    if (!this.#paused) return
    this.#paused = false
    this.stream.resume()
  }

  #noteHeld(): void {
    if (!this.#open) return
    const window = this.#paused ? streamWindow : 0
    const held = this.#reader.held + this.#workingBytes + this.#unreadBytes + window
    if (held === 0 && !this.#isCounted) return
    this.#isCounted = held > 0
    this.shared.held.set(this, held)
  }

  private hasEnded(): boolean {
    return !this.#open
  }

  #readLater(work: () => void, heavy: boolean): void {
    this.#reading = true
    this.shared.slices.later(work, heavy)
  }

  #goOn(): void {
    this.#reading = false
    this.#readOn()
  }

  /** The same where the connection waited in its socket for this turn. */
  #letGo(): void {
    this.readPause.release()
    this.#goOn()
  }

  /** Reads what waits, as far as it may. */
  #readOn(): void {
    // The server may want requests again while it is given one.
    if (this.#inside) return
    while (this.#open && this.#wanted && !this.#reading) {
      const chunk = this.#unread.shift()
      if (chunk === undefined) {
        // An array that was used keeps its room, and a stream rests most of its life.
        this.#unread = []
        if (this.#peerEnded) this.#onPeerEnd()
        else this.#resume()
        break
      }
      this.#unreadBytes -= chunk.length
      this.#read(chunk)
    }
    this.#noteHeld()
  }

  #read(chunk: Buffer): void {
    this.#inside = true
    this.#isShort = chunk.length <= shortChunk
    const problem = this.#reader.read(chunk)
    this.#inside = false
    if (problem === undefined) return
    switch (problem._tag) {
      case "Paused":
        if (!this.#open) return
        if (problem.at < chunk.length) {
          const rest = chunk.subarray(problem.at)
          this.#unread.unshift(rest)
          this.#unreadBytes += rest.length
        }
        return
      case "TooLarge":
        return this.#refuse("message too large", this.#tooLarge(`of ${problem.bytes} bytes`))
      case "BadFlag":
        return this.#refuse(
          "malformed message",
          Status.make("INTERNAL", `a gRPC message begins with a byte 0 or 1, not ${problem.flag}`)
        )
    }
  }

  #tooLarge(size: string): Status.Status {
    return Status.make(
      "RESOURCE_EXHAUSTED",
      `a request ${size} is larger than this server's limit of ${this.shared.maxRequestBytes} bytes`
    )
  }

  readonly #readHeld = (keep: LengthPrefixedMessage.Keep): HeldVersionsReader =>
    new HeldVersionsReader(this.shared.known.interner(), keep)

  readonly #onMessage = (
    message: Uint8Array,
    compressed: boolean,
    held: HeldVersionsReader | undefined
  ): LengthPrefixedMessage.Then => {
    if (compressed) return this.#inflate(message)
    return this.#take(message, held)
  }

  /** `held`: what its client holds was taken out of the message while it came. Of a large message that came whole it is here. */
  #take(bytes: Uint8Array, held: HeldVersionsReader | undefined): LengthPrefixedMessage.Then {
    const { protocol } = this.method
    const isLarge = held === undefined && protocol === "Incremental" && bytes.length >= largeRequest
    const reader = isLarge ? new WholeRequestReader(this.shared.known.interner(), bytes) : undefined
    if (bytes.length < hugeRequest) {
      const separated = reader?.next(bytes.length)
      return this.#hand(Request.decode(protocol, separated?.rest ?? bytes, separated?.held ?? held))
    }
    this.#workingBytes = bytes.length
    return reader === undefined ? this.#decode(new Request.Reader(protocol, bytes, held)) : this.#readWhole(reader)
  }

  /** Takes out of a large request what its client holds, as far as there is time in this turn. */
  #readWhole(reader: WholeRequestReader): LengthPrefixedMessage.Then {
    for (;;) {
      const separated = reader.next(bytesAtATime)
      if (separated !== undefined)
        return this.#decode(new Request.Reader(this.method.protocol, separated.rest, separated.held))
      if (this.shared.slices.isOver()) return this.#workLater(() => this.#readWhole(reader))
    }
  }

  /** Decodes a large request as far as there is time in this turn. */
  #decode(reader: Request.Reader): LengthPrefixedMessage.Then {
    for (;;) {
      const request = reader.read(fieldsAtATime)
      if (request !== undefined) return this.#hand(request)
      if (this.shared.slices.isOver()) return this.#workLater(() => this.#decode(reader))
    }
  }

  /** Goes on in another turn, and then with what comes after the message. */
  #workLater(work: () => LengthPrefixedMessage.Then): LengthPrefixedMessage.Then {
    this.#readLater(() => {
      this.#reading = false
      if (this.#open && work() !== "stop") this.#readOn()
    }, true)
    return "pause"
  }

  #hand(request: ReturnType<typeof Request.decode>): LengthPrefixedMessage.Then {
    this.#workingBytes = 0
    if (Either.isLeft(request)) {
      // INTERNAL is what grpc-go, gRPC C++ and grpc-js answer to a message they cannot parse.
      this.#refuse("malformed message", Status.make("INTERNAL", request.left.message))
      return "stop"
    }
    try {
      this.#handler?.onRequest(request.right)
    } catch (defect) {
      this.#defect(defect)
    }
    if (!this.#open) return "stop"
    if (!this.#wanted) return "pause"
    if (!this.#isOver(this.#isShort)) return "go on"
    this.#readLater(() => this.#goOn(), true)
    return "pause"
  }

  #inflate(message: Uint8Array): LengthPrefixedMessage.Then {
    if (this.encoding !== "gzip") {
      const text = "a message is flagged as compressed, but the stream has no grpc-encoding"
      this.#refuse("malformed message", Status.make("INTERNAL", text))
      return "stop"
    }
    const { inflater } = this.shared
    try {
      const bytes = inflater.now(message)
      if (bytes !== undefined) return this.#take(bytes, undefined)
    } catch (cause) {
      this.#notGzip(cause)
      return "stop"
    }
    this.#reading = true
    this.#workingBytes = message.length
    inflater.inflate(message, (result) => {
      this.#reading = false
      if (!this.#open) return
      if (!(result instanceof Error)) {
        this.#workingBytes = result.length
        this.#noteHeld()
        // It may be the one that had to give way.
        if (this.hasEnded()) return
      }
      if (result instanceof RangeError) this.#refuse("message too large", this.#tooLarge("that was inflated"))
      else if (result instanceof Error) this.#notGzip(result)
      // In a turn of reading, and after those who have just sent something.
      else this.#workLater(() => this.#take(result, undefined))
    })
    return "pause"
  }

  #notGzip(cause: unknown): void {
    const reason = Reason.of(cause)
    this.#refuse("malformed message", Status.make("INTERNAL", `a message is not gzip: ${reason}`))
  }

  readonly #onDrain = (): void => {
    if (!this.#open) return
    if (this.#rest !== undefined) {
      const rest = this.#rest
      this.#rest = rest.length > pieceLimit ? rest.subarray(pieceLimit) : undefined
      this.stream.write(rest.subarray(0, pieceLimit))
      return
    }
    if (!this.#waiting) return
    this.#waiting = false
    try {
      this.#handler?.onWritable()
    } catch (defect) {
      this.#defect(defect)
    }
  }

  readonly #onPeerEnd = (): void => {
    // Node shows a reset as an end too, and closes the stream after it.
    if (this.stream.closed) return
    // What was read before the end is dealt with first.
    if (this.#reading || this.#unread.length > 0) {
      this.#peerEnded = true
      return
    }
    if (this.#reader.incomplete) {
      const status = Status.make("INTERNAL", "the client ended the stream inside a message")
      this.#refuse("malformed message", status)
    } else {
      this.#finish(Status.ok, "the client ended the stream")
    }
  }

  readonly #onClose = (): void => {
    clearTimeout(this.#timer)
    if (!this.#open) return
    const handler = this.#handler
    this.#close()
    this.#notifyEnd(handler, closeReason(this.stream, this.#session))
  }
}
