/**
 * A call through Connect, in the form of the port: Connect pulls responses one at a time.
 */
import { Code, ConnectError } from "@connectrpc/connect"
import * as Request from "@effect-xds/core/wire/Request"
import type { ServerTransport } from "@effect-xds/transport"
import type { Holder } from "@effect-xds/transport-node/ByteBudget"
import { Status } from "@effect-xds/transport"
import * as Either from "effect/Either"
import * as Struct from "effect/Struct"
import type * as ConnectServerMetrics from "../ConnectServerMetrics.js"
import type { Refusal } from "./OpenCalls.js"
import { type Shared, streamWindow } from "./GrpcStream.js"

/** A call: its HTTP path and method. */
export interface Call {
  readonly path: string
  /** `undefined`: the service is none of xDS. */
  readonly method: ServerTransport.Method | undefined
  readonly peer: ServerTransport.Peer
  readonly headers: Readonly<Record<string, string>>
  /** The status with which an interceptor ended the call. */
  readonly refusal: Status.Status | undefined
  /** For a call of the application's code: aborts it. */
  readonly abort?: ((reason: Error) => void) | undefined
  /** Called when the call begins. A unary call begins when its request was read. */
  readonly onStart: () => void
  /** Called when the call has ended, even if the client has not read everything. */
  readonly onEnd: () => void
}

const codes: Record<Status.Code, Code | undefined> = {
  OK: undefined,
  CANCELLED: Code.Canceled,
  UNKNOWN: Code.Unknown,
  INVALID_ARGUMENT: Code.InvalidArgument,
  DEADLINE_EXCEEDED: Code.DeadlineExceeded,
  NOT_FOUND: Code.NotFound,
  ALREADY_EXISTS: Code.AlreadyExists,
  PERMISSION_DENIED: Code.PermissionDenied,
  RESOURCE_EXHAUSTED: Code.ResourceExhausted,
  FAILED_PRECONDITION: Code.FailedPrecondition,
  ABORTED: Code.Aborted,
  OUT_OF_RANGE: Code.OutOfRange,
  UNIMPLEMENTED: Code.Unimplemented,
  INTERNAL: Code.Internal,
  UNAVAILABLE: Code.Unavailable,
  DATA_LOSS: Code.DataLoss,
  UNAUTHENTICATED: Code.Unauthenticated
}

/** A status other than OK as Connect's error. */
export const toError = ({ code, message }: Status.Status): ConnectError => new ConnectError(message, codes[code])

const codeOf = (code: Code): Status.Code => {
  for (const name of Struct.keys(codes)) if (codes[name] === code) return name
  return "UNKNOWN"
}

const fromError = (cause: unknown): Status.Status => {
  const error = ConnectError.from(cause)
  return Status.make(codeOf(error.code), error.rawMessage)
}

/** Counts a call. Throws the error to answer with if it was refused or there is no room. */
export const admit = ({ calls, onRefused }: Shared, call: Call): void => {
  call.onStart()
  const refusal: Refusal | undefined =
    call.refusal === undefined
      ? calls.refusal(call.peer)
      : { reason: "refused by an interceptor", status: call.refusal }
  if (refusal === undefined) return
  // It is not counted, so the client has little time to read the answer.
  call.onEnd()
  onRefused(call.path, call.peer, refusal.reason, refusal.status.message)
  throw toError(refusal.status)
}

/** Fields that are decoded in one part. */
const fieldsAtATime = 2048

export class ConnectStream implements ServerTransport.AcceptedStream, Holder {
  readonly method: ServerTransport.Method
  readonly peer: ServerTransport.Peer
  readonly headers: Readonly<Record<string, string>>
  #handler: ServerTransport.StreamHandler | undefined
  #open = true
  #next: ServerTransport.Outgoing | undefined
  #status: Status.Status = Status.ok
  #wake: () => void = () => undefined
  /** The server takes requests. */
  #wanted = true
  #readOn: () => void = () => undefined

  constructor(
    private readonly shared: Shared,
    private readonly call: Call & { readonly method: ServerTransport.Method },
    private readonly signal: AbortSignal
  ) {
    this.method = call.method
    this.peer = call.peer
    this.headers = call.headers
  }

  /** Passes the call to the server. Throws the error to answer with if there is no room. */
  start(): void {
    admit(this.shared, this.call)
    this.shared.calls.add(this, this.peer)
    // While nothing is written, only the signal reports that the client disconnected.
    this.signal.addEventListener("abort", this.#onAbort)
    this.#guard(() => {
      this.#handler = this.shared.accept(this)
    })
    if (this.signal.aborted) this.#onAbort()
  }

  readonly write = (response: ServerTransport.Outgoing): boolean => {
    if (!this.#open) return false
    this.#next = response
    this.#wake()
    // There is credit again when this response was pulled and the client has read enough.
    return false
  }

  readonly end = (status: Status.Status): void => {
    if (!this.#open) return
    this.#open = false
    this.#handler = undefined
    this.#status = status
    this.shared.held.delete(this)
    this.shared.calls.delete(this)
    this.signal.removeEventListener("abort", this.#onAbort)
    this.call.onEnd()
    this.#wake()
    this.#readOn()
  }

  readonly shutdown = (status: Status.Status): void => this.#finish(status, status.message)

  /** Decodes a request in time slices. Returns whether the server takes more. Never rejects. */
  async request(bytes: Uint8Array): Promise<boolean> {
    const { slices } = this.shared
    const reader = new Request.Reader(this.method.protocol, bytes)
    for (;;) {
      if (slices.isOver()) await this.#turn()
      if (!this.#open) return false
      const request = reader.read(fieldsAtATime)
      if (request === undefined) continue
      if (Either.isLeft(request)) this.refuse("malformed message", Status.make("INTERNAL", request.left.message))
      else this.#guard(() => this.#handler?.onRequest(request.right))
      return this.#open
    }
  }

  /** Waits for a later turn. */
  #turn(): Promise<void> {
    return new Promise((resolve) => this.shared.slices.later(resolve, true))
  }

  readonly setReading = (wanted: boolean): void => {
    this.#wanted = wanted
    if (wanted) this.#readOn()
  }

  /** Called when the byte budget of the server is exceeded. */
  evict(): void {
    const text = "this server holds as many bytes of requests that are not read as it may; try again later"
    this.refuse("too many unread bytes", Status.make("RESOURCE_EXHAUSTED", text))
  }

  /** Reads all requests of a stream. Never rejects. */
  async readAll(requests: AsyncIterable<Uint8Array>): Promise<void> {
    try {
      for await (const bytes of requests) {
        if (!(await this.request(bytes))) return
        // Further requests wait where they are, limited by the stream's window.
        while (!this.#wanted && this.#open) {
          const goesOn = new Promise<void>((resolve) => {
            this.#readOn = resolve
          })
          // This call may be evicted by this: then the loop ends at once.
          this.shared.held.set(this, streamWindow)
          await goesOn
        }
        this.shared.held.delete(this)
      }
    } catch (cause) {
      if (!this.signal.aborted) {
        const status = fromError(cause)
        const reason = status.code === "RESOURCE_EXHAUSTED" ? "message too large" : "malformed message"
        return this.refuse(reason, status)
      }
    }
    // Connect shows a client's cancel as the end of its requests.
    if (this.signal.aborted) this.#onAbort()
    else this.#finish(Status.ok, "the client ended the stream")
  }

  /** The written responses, each pulled when there is room. Throws the status at the end, unless OK. */
  async *responses(): AsyncGenerator<ServerTransport.Outgoing, void, undefined> {
    try {
      for (;;) {
        const next = this.#next
        if (next !== undefined) {
          this.#next = undefined
          yield next
          this.#guard(() => this.#handler?.onWritable())
        } else if (this.#open) {
          await new Promise<void>((resolve) => {
            this.#wake = resolve
          })
        } else if (this.#status.code === "OK") {
          return
        } else {
          throw toError(this.#status)
        }
      }
    } finally {
      this.#finish(Status.ok, this.method.unary ? "the call was answered" : "the connection was lost")
    }
  }

  refuse(reason: ConnectServerMetrics.RefusalReason, status: Status.Status): void {
    if (!this.#open) return
    this.shared.onRefused(this.call.path, this.peer, reason, status.message)
    this.#finish(status, status.message)
  }

  #finish(status: Status.Status, reason: string): void {
    if (!this.#open) return
    const handler = this.#handler
    this.end(status)
    this.#guard(() => handler?.onEnd(reason))
  }

  #guard(callServer: () => void): void {
    try {
      callServer()
    } catch (defect) {
      this.shared.onDefect(this.call.path, this.peer, defect)
      this.#finish(Status.make("INTERNAL", "internal error"), "internal error")
    }
  }

  readonly #onAbort = (): void => {
    this.#next = undefined
    const status = fromError(this.signal.reason)
    if (status.code === "DEADLINE_EXCEEDED") this.#finish(status, "the client's deadline passed")
    else this.#finish(Status.make("CANCELLED", "cancelled"), "the client cancelled the stream")
  }
}
