/**
 * A gRPC stream on a bare HTTP/2 stream. Every Envoy and gRPC client opens one, so this path is short: synchronous code
 * from the socket to the server and back.
 *
 * @see https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md
 */
import * as LengthPrefix from "@effect-xds/core/wire/LengthPrefix"
import * as Request from "@effect-xds/core/wire/Request"
import * as Response from "@effect-xds/core/wire/Response"
import type { ServerTransport } from "@effect-xds/transport"
import type { ByteBudget, Holder } from "@effect-xds/transport-node/ByteBudget"
import type { Inflater, NotInflated } from "@effect-xds/transport-node/Inflater"
import { Status } from "@effect-xds/transport"
import type { TimeSlices } from "@effect-xds/transport-node/TimeSlices"
import * as Either from "effect/Either"
import { Buffer } from "node:buffer"
import type { Http2Session, ServerHttp2Stream } from "node:http2"
import { constants } from "node:http2"
import * as ConnectServerMetrics from "../ConnectServerMetrics.js"
import type { OpenCalls } from "./OpenCalls.js"
import * as GrpcStatus from "../grpc/GrpcStatus.js"
import type { ReadPause } from "./ReadPause.js"
import { HeldVersionsReader, WholeRequestReader } from "./HeldVersionsReader.js"
import type { SharedVersions } from "./SharedVersions.js"
import * as LengthPrefixedMessage from "../grpc/LengthPrefixedMessage.js"

/** What all streams of a server share. */
export interface Shared {
  readonly calls: OpenCalls
  readonly known: SharedVersions
  readonly slices: TimeSlices
  readonly inflater: Inflater
  /** The budget for incomplete and unread requests. */
  readonly held: ByteBudget
  readonly maxRequestBytes: number
  /** The limit for requests that Connect reads whole, in bytes. */
  readonly maxWholeRequestBytes: number
  /** The limit for JSON values in such requests. */
  readonly maxJsonValues: number
  readonly writeBufferBytes: number
  /** Milliseconds within which a call must begin: the request of one that takes a single one must have arrived. */
  readonly requestTimeout: number
  /** Whether server reflection is served. */
  readonly reflection: boolean
  /** Milliseconds for the client to read the end of a stream, before it is destroyed. */
  readonly shutdownGrace: number
  readonly accept: (stream: ServerTransport.AcceptedStream) => ServerTransport.StreamHandler
  readonly onRefused: (
    method: string,
    peer: ServerTransport.Peer,
    reason: ConnectServerMetrics.RefusalReason,
    message: string
  ) => void
  /** Reports a defect of the server behind the port, which must not end the process. */
  readonly onDefect: (method: string, peer: ServerTransport.Peer, defect: unknown) => void
}

const replyHeaders = { ":status": 200, "content-type": "application/grpc", "grpc-accept-encoding": "identity,gzip" }

/** A stream error is followed by "close", which handles it. */
const ignoreError = (): void => undefined

/**
 * Resets a stream in a turn of its own. Within an HTTP/2 event Node 20 sends a reset before trailers that were passed
 * to it earlier, and may never return from it if other streams are open.
 */
export const closeSoon = (stream: ServerHttp2Stream, code: number): void => {
  setImmediate(() => {
    if (!stream.destroyed) stream.close(code)
  })
}

/** Requests from this size, in bytes, may hold so many versions that they are shared with other clients. */
const largeRequest = 2048

/** The largest short chunk, in bytes: an ACK or a few. */
const shortChunk = 512

/** Messages from this size, in bytes, are read in parts: of so many fields, or so many bytes of held versions. */
const hugeRequest = 32_768
const fieldsAtATime = 2_048
const bytesAtATime = 65_536

/**
 * The flow-control window of a stream, in bytes. A returning client sends 850 KB of held versions; HTTP/2's default of
 * 64 KB would take fourteen round trips. A stream that is not read holds as much memory.
 */
export const streamWindow = 256 * 1024

/** Bytes that a stream without reading buffers. Further bytes wait in its window, which is counted as full. */
const mostUnread = 65_536

/** Refuses a stream with a headers-only response. */
export const refuse = (stream: ServerHttp2Stream, status: Status.Status): void => {
  stream.on("error", ignoreError)
  stream.respond({ ...replyHeaders, ...GrpcStatus.trailers(status) }, { endStream: true })
  // Further bytes of the client are dropped.
  closeSoon(stream, constants.NGHTTP2_NO_ERROR)
}

/** Why a stream was closed without an end, in words. */
const closeReason = (stream: ServerHttp2Stream, session: Http2Session | undefined): string => {
  if (session === undefined || session.destroyed) return "the connection was lost"
  return stream.rstCode === constants.NGHTTP2_CANCEL || stream.rstCode === constants.NGHTTP2_NO_ERROR
    ? "the client cancelled the stream"
    : `the stream was reset with HTTP/2 error code ${stream.rstCode}`
}

/**
 * At most so much of a body is written at once, in bytes. HTTP/2 splits what fits the client's window into frames,
 * and Node keeps the list of frames as long as the connection: 40 KB for 7 MB at once, hardly anything for 1 MB.
 */
const pieceLimit = 1024 * 1024

export class GrpcStream implements ServerTransport.AcceptedStream, Holder {
  readonly #reader: LengthPrefixedMessage.Reader<HeldVersionsReader>
  /** Kept here: a closed stream no longer has its session. */
  readonly #session: Http2Session | undefined
  #handler: ServerTransport.StreamHandler | undefined
  #open = true
  #waiting = false
  /** The unwritten rest of a large body: pieces, of which none is empty. */
  #rest: ReadonlyArray<Uint8Array> = []
  #timer: NodeJS.Timeout | undefined
  /** A request is being read, or reading continues in a later turn. */
  #reading = false
  /** `#read` is running. */
  #inside = false
  /** The chunk being read is short. */
  #isShort = false
  /** This stream is in the byte budget. */
  #isCounted = false
  /** The server takes requests. */
  #wanted = true
  /** Unread chunks; the first one without the bytes already read. */
  #unread: Array<Buffer> = []
  #unreadBytes = 0
  /** Bytes of the message being inflated or read. */
  #workingBytes = 0
  /** Gives up a message that waits to be inflated. */
  #stopInflating: (() => void) | undefined
  /** The stream is paused: bytes wait in its window. */
  #paused = false
  /** The client ended its side. */
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
    // Only incremental clients send held versions.
    const readHeld = method.protocol === "Incremental" ? this.#readHeld : undefined
    this.#reader = new LengthPrefixedMessage.Reader(shared.maxRequestBytes, this.#onMessage, readHeld)
  }

  /** Answers with headers and passes the stream to the server. */
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
    if (body.length + suffix.length > LengthPrefixedMessage.copyLimit) return this.writePieces([body], suffix)
    this.stream.write(LengthPrefixedMessage.encode(body, suffix))
    return this.#wrote(body.length + suffix.length)
  }

  readonly writePieces = (pieces: ReadonlyArray<Uint8Array>, suffix: Uint8Array): boolean => {
    if (!this.#open) return false
    const bytes = Response.sizeOf(pieces)
    const head = LengthPrefixedMessage.encodeHead(bytes, suffix)
    const first = pieces[0]
    this.stream.cork()
    // What comes before the resources is a version, mostly. Each write costs a microsecond.
    if (first !== undefined && first.length <= LengthPrefixedMessage.copyLimit) {
      this.stream.write(Buffer.concat([head, first]))
      this.#writeSome(pieces.slice(1))
    } else {
      this.stream.write(head)
      this.#writeSome(pieces)
    }
    this.stream.uncork()
    return this.#wrote(bytes + suffix.length)
  }

  /** Writes as much of a body as goes at once; the rest stays. After less than that no "drain" might follow. */
  #writeSome(pieces: ReadonlyArray<Uint8Array>): void {
    let room = pieceLimit
    let written = 0
    for (const piece of pieces) {
      this.stream.write(piece.length <= room ? piece : piece.subarray(0, room))
      if (piece.length >= room) {
        const others = pieces.slice(written + 1)
        this.#rest = piece.length === room ? others : [piece.subarray(room), ...others]
        return
      }
      room -= piece.length
      written++
    }
    this.#rest = []
  }

  /** Counts a response. Whether the stream takes another one. */
  #wrote(bytes: number): boolean {
    const { stream } = this
    ConnectServerMetrics.sentBytes.unsafeUpdate(LengthPrefix.size + bytes, [])
    // "drain" follows only if `writableNeedDrain` is set.
    const isFull = stream.writableNeedDrain && stream.writableLength >= this.shared.writeBufferBytes
    // However much may be buffered: the next response would come into the middle of this one.
    this.#waiting = isFull || this.#rest.length > 0
    return !this.#waiting
  }

  readonly end = (status: Status.Status): void => {
    if (!this.#open) return
    const { stream } = this
    const rest = this.#rest
    this.#close()
    if (stream.destroyed) return
    for (const piece of rest) stream.write(piece)
    stream.once("wantTrailers", () => {
      stream.sendTrailers(GrpcStatus.trailers(status))
      // Resets the client's side, which may still be open.
      closeSoon(stream, constants.NGHTTP2_NO_ERROR)
    })
    stream.end()
    // A client that does not read would keep all written bytes in memory.
    this.#timer = setTimeout(() => stream.close(constants.NGHTTP2_CANCEL), this.shared.shutdownGrace)
  }

  shutdown(status: Status.Status): void {
    this.#finish(status, status.message)
  }

  /** Ends the stream from the transport: both the server and the client learn of it. */
  #finish(status: Status.Status, reason: string): void {
    if (!this.#open) return
    const handler = this.#handler
    this.end(status)
    this.#notifyEnd(handler, reason)
  }

  #close(): void {
    this.#open = false
    this.#handler = undefined
    this.#rest = []
    this.#unread = []
    this.#unreadBytes = 0
    this.#workingBytes = 0
    this.#stopInflating?.()
    this.#stopInflating = undefined
    this.#paused = false
    this.shared.held.delete(this)
    this.shared.calls.delete(this)
    // Further bytes of the client are read and dropped, so that its end is seen.
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

  /** Called when the byte budget of the server is exceeded. */
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

  /** The same after a pause of the connection. */
  #letGo(): void {
    this.readPause.release()
    this.#goOn()
  }

  /** Reads waiting chunks, as far as the server and the time slice allow. */
  #readOn(): void {
    // The server may call `setReading` from within `onRequest`.
    if (this.#inside) return
    while (this.#open && this.#wanted && !this.#reading) {
      const chunk = this.#unread.shift()
      if (chunk === undefined) {
        // A used array keeps its capacity, and most streams are idle.
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

  /** Reads a message. `held`: its held versions, read while it arrived. A large message in one chunk is read here. */
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

  /** Reads the held versions of a large request, as far as this time slice allows. */
  #readWhole(reader: WholeRequestReader): LengthPrefixedMessage.Then {
    for (;;) {
      const separated = reader.next(bytesAtATime)
      if (separated !== undefined)
        return this.#decode(new Request.Reader(this.method.protocol, separated.rest, separated.held))
      if (this.shared.slices.isOver()) return this.#workLater(() => this.#readWhole(reader))
    }
  }

  /** Decodes a large request, as far as this time slice allows. */
  #decode(reader: Request.Reader): LengthPrefixedMessage.Then {
    for (;;) {
      const request = reader.read(fieldsAtATime)
      if (request !== undefined) return this.#hand(request)
      if (this.shared.slices.isOver()) return this.#workLater(() => this.#decode(reader))
    }
  }

  /** Continues in a later turn, and then with the bytes after the message. */
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
      // grpc-go, gRPC C++ and grpc-js answer INTERNAL to a message that they cannot parse.
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
    const small = inflater.now(message)
    if (small !== undefined) {
      if (Either.isRight(small)) return this.#take(small.right, undefined)
      this.#notInflated(small.left)
      return "stop"
    }
    this.#reading = true
    this.#workingBytes = message.length
    this.#stopInflating = inflater.inflate(message, (result) => {
      this.#stopInflating = undefined
      this.#reading = false
      if (!this.#open) return
      if (Either.isLeft(result)) return this.#notInflated(result.left)
      this.#workingBytes = result.right.length
      this.#noteHeld()
      // This stream may have been evicted.
      if (this.hasEnded()) return
      // As large work, in a time slice.
      this.#workLater(() => this.#take(result.right, undefined))
    })
    return "pause"
  }

  #notInflated(problem: NotInflated): void {
    if (problem.reason === "TooLarge") this.#refuse("message too large", this.#tooLarge("that was inflated"))
    else this.#refuse("malformed message", Status.make("INTERNAL", `a message is ${problem.message}`))
  }

  readonly #onDrain = (): void => {
    if (!this.#open) return
    if (this.#rest.length > 0) {
      this.stream.cork()
      this.#writeSome(this.#rest)
      this.stream.uncork()
      // No "drain" follows a last piece of a few bytes.
      if (this.#rest.length > 0 || this.stream.writableNeedDrain) return
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
    // Node emits "end" for a reset too, and then closes the stream.
    if (this.stream.closed) return
    // Requests before the end are processed first.
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
