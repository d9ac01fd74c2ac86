/** Writes the responses of one stream, and remembers what their answers are about. */
import type * as ServerStream from "@effect-xds/core/server/ServerStream"
import type * as Steps from "@effect-xds/core/Steps"
import type * as Request from "@effect-xds/core/wire/Request"
import * as Response from "@effect-xds/core/wire/Response"
import type * as ServerTransport from "@effect-xds/transport/ServerTransport"
import * as AckLatency from "./AckLatency.js"
import type { ChangeTimes } from "./ChangeTimes.js"
import type { Environment } from "./Environment.js"
import * as ResponseSize from "./ResponseSize.js"
import * as StreamReport from "./StreamReport.js"
import * as UnansweredResponses from "./UnansweredResponses.js"

type Send = ServerStream.Output & { readonly _tag: "Send" }

type Answer = ServerStream.Output & { readonly _tag: "Acked" | "Nacked" }

/** A response whose body is being written. */
interface Unwritten {
  readonly output: Send
  readonly work: Steps.Steps<Uint8Array | ReadonlyArray<Uint8Array>>
}

/** Bytes of the field of the longest possible nonce. */
const longestNonce = Response.nonceField(String(Number.MAX_SAFE_INTEGER)).byteLength

/** Responses from this many resources are encoded in turns after the one that made them, and in pieces. */
const manyResources = 1_000

/** The writer of one stream. */
export class ResponseWriter {
  /** The resources that the client may quote in a NACK. */
  private unanswered = UnansweredResponses.none
  private unacked = AckLatency.none
  /** A large response whose body is encoded in later turns. */
  private unwritten: Unwritten | undefined
  oversized = ResponseSize.none

  constructor(
    private readonly environment: Pick<Environment<never>, "settings" | "bodies">,
    private readonly accepted: ServerTransport.AcceptedStream,
    private readonly subject: StreamReport.Subject
  ) {}

  /** Most bytes of the shared part of a response; `undefined`: it must be one message, whatever it holds. */
  get maxBytes(): number | undefined {
    const { method, whole } = this.accepted
    if (method.unary || whole === true) return undefined
    const { controlPlane, maxResponseBytes } = this.environment.settings
    const name = controlPlane === undefined ? 0 : Response.controlPlaneField(method.protocol, controlPlane).byteLength
    return maxResponseBytes - longestNonce - name
  }

  /** Whether a response is being written: {@link goOn} writes more of it. */
  get isWriting(): boolean {
    return this.unwritten !== undefined
  }

  /** Writes a response. Whether the stream takes more; `undefined`: it is long, and not written yet. */
  begin(output: Send, changes: ChangeTimes): boolean | undefined {
    // The time to the ACK of a change begins when the response is made.
    const since = output.from === undefined ? undefined : changes.after(output.typeUrl, output.from)
    if (since !== undefined) this.unacked = AckLatency.sent(this.unacked, output, since)
    const { response } = output
    const { bodies } = this.environment
    if (response.resources.length + response.heartbeats.length < manyResources)
      return this.write(output, Response.body(response, bodies))
    const takesPieces = this.accepted.writePieces !== undefined
    const written = takesPieces ? Response.written(response, bodies) : undefined
    if (written !== undefined) return this.write(output, written)
    if (!takesPieces && Response.isWritten(response, bodies)) return this.write(output, Response.body(response, bodies))
    this.unwritten = { output, work: (takesPieces ? Response.pieces : Response.writing)(response, bodies) }
    return undefined
  }

  /** Encodes a part of a long response. Whether the stream takes more; `undefined`: there is more to encode. */
  goOn(): boolean | undefined {
    const { unwritten } = this
    if (unwritten === undefined) return undefined
    const { done, value } = unwritten.work.next()
    if (done !== true) return undefined
    this.unwritten = undefined
    return this.write(unwritten.output, value)
  }

  /** A request may answer responses. The resources that its error may quote. */
  requested(request: Request.Request): ReturnType<typeof UnansweredResponses.quotable> {
    const { unanswered } = this
    this.unanswered = UnansweredResponses.after(unanswered, request)
    return request.errorDetail === undefined ? [] : UnansweredResponses.quotable(unanswered, request.typeUrl)
  }

  /** The changes that an ACK or a NACK answers. */
  answered(output: Answer): ReadonlyArray<AckLatency.Unacked> {
    const { unacked } = this
    this.unacked = AckLatency.after(unacked, output)
    return AckLatency.answeredBy(unacked, output)
  }

  /** The stream has ended. */
  stop(): void {
    this.unwritten = undefined
    this.unanswered = UnansweredResponses.none
  }

  private write(output: Send, body: Uint8Array | ReadonlyArray<Uint8Array>): boolean {
    const { nonce, response, typeUrl } = output
    const suffix = this.suffix(nonce)
    const size = (body instanceof Uint8Array ? body.byteLength : Response.sizeOf(body)) + suffix.byteLength
    StreamReport.sent(this.subject, output, size)
    if (response.resources.length > 0 && !this.accepted.method.unary) {
      this.unanswered = UnansweredResponses.sent(this.unanswered, typeUrl, nonce, response.resources)
    }
    this.judgeSize(output, size)
    if (body instanceof Uint8Array) return this.accepted.write({ body, suffix })
    return this.accepted.writePieces?.(body, suffix) ?? false
  }

  private judgeSize(output: Send, bytes: number): void {
    // A transport with whole responses has no gRPC limit.
    if (this.accepted.whole === true) return
    const { maxResponseBytes } = this.environment.settings
    if (bytes <= maxResponseBytes) {
      this.oversized = ResponseSize.withSmall(this.oversized, output.typeUrl)
      return
    }
    this.oversized = ResponseSize.withLarge(this.oversized, output.typeUrl, bytes)
    StreamReport.oversized(this.subject, output, bytes, maxResponseBytes)
  }

  private suffix(nonce: string): Uint8Array {
    const { controlPlane } = this.environment.settings
    const field = Response.nonceField(nonce)
    if (controlPlane === undefined) return field
    const name = Response.controlPlaneField(this.accepted.method.protocol, controlPlane)
    const suffix = new Uint8Array(field.byteLength + name.byteLength)
    suffix.set(field)
    suffix.set(name, field.byteLength)
    return suffix
  }
}
