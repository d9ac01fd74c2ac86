/** One request over HTTP/1.1 and its answer, with the events of a stream of HTTP/2. */
import { EventEmitter } from "node:events"
import type { Agent, ClientRequest, IncomingMessage } from "node:http"
import * as Http from "node:http"
import type { IncomingHttpHeaders, OutgoingHttpHeaders } from "node:http2"
import type { CallStream } from "./Carrier.js"

/** Of one connection alone; nobody else is told of them. */
export const hopByHop: ReadonlySet<string> = new Set([
  "connection",
  "http2-settings",
  "keep-alive",
  "proxy-connection",
  "transfer-encoding",
  "upgrade"
])

/** ★ Methods that may be sent again when the server closed a connection that had been idle (RFC 9110, 9.2.2). */
const idempotent: ReadonlySet<string> = new Set(["GET", "HEAD", "OPTIONS", "PUT", "DELETE", "TRACE"])

export class Http1Stream extends EventEmitter implements CallStream {
  id: number | undefined
  rstCode = 0
  closed = false
  errored: Error | null = null
  writableEnded = false
  isLost = false
  private readonly method: string
  private request: ClientRequest | undefined
  private answer: IncomingMessage | undefined
  private hasEnded = false
  private isReused = false
  /** What was written before there was a place for it. */
  private pending: Array<(request: ClientRequest) => void> = []

  constructor(
    private readonly headers: OutgoingHttpHeaders,
    private readonly onClosed: (stream: Http1Stream) => void
  ) {
    super()
    this.method = String(headers[":method"])
  }

  start(agent: Agent): void {
    const fields: OutgoingHttpHeaders = { host: String(this.headers[":authority"]) }
    for (const name in this.headers) if (!name.startsWith(":")) fields[name] = this.headers[name]
    try {
      const request = Http.request({
        agent,
        method: this.method,
        path: String(this.headers[":path"]),
        headers: fields,
        setHost: false
      })
      this.request = request
      request.once("socket", () => {
        this.isReused = request.reusedSocket
        this.id = 1
      })
      request.on("error", (error) => this.onError(error))
      request.once("response", (answer) => this.onResponse(answer))
      // ★ Node gives the connection back just after it says this; who comes next is to have it.
      request.once("close", () => process.nextTick(() => this.onClose()))
      for (const write of this.pending) write(request)
    } catch (error) {
      // As a header that cannot be sent.
      this.fail(error instanceof Error ? error : new Error(String(error)))
    }
    this.pending = []
  }

  /** Ends one that was not sent. */
  fail(error: Error): void {
    // ★ First: without a listener yet, that it tells the error throws, and it would keep its place for ever.
    setImmediate(() => this.onClose())
    this.onError(error)
  }

  write(chunk: Uint8Array, done: (error?: Error | null) => void): void {
    if (this.closed || this.hasEnded) return done(new Error("the answer has ended"))
    // A request that is destroyed calls nobody back.
    this.once("close", done)
    this.give((request) =>
      request.write(chunk, (error) => {
        this.off("close", done)
        done(error)
      })
    )
  }

  end(chunk?: Uint8Array): void {
    this.writableEnded = true
    this.give((request) => request.end(chunk))
  }

  isPaused(): boolean {
    return this.answer?.isPaused() ?? false
  }

  pause(): void {
    this.answer?.pause()
  }

  resume(): void {
    this.answer?.resume()
  }

  close(code: number): void {
    if (this.closed) return
    this.rstCode = code
    if (this.request !== undefined) return void this.request.destroy()
    // ★ At once: what comes before that immediate may make room for it, and it would be sent.
    this.onClosed(this)
    setImmediate(() => this.onClose())
  }

  private give(write: (request: ClientRequest) => void): void {
    if (this.request === undefined) this.pending.push(write)
    else write(this.request)
  }

  private onResponse(answer: IncomingMessage): void {
    this.answer = answer
    const headers: IncomingHttpHeaders = {}
    for (const name in answer.headers) if (!hopByHop.has(name)) headers[name] = answer.headers[name]
    answer.on("data", (chunk: Buffer) => this.emit("data", chunk))
    answer.on("error", (error) => this.onError(error))
    answer.once("end", () => this.onEnd(answer))
    this.emit("response", Object.assign(headers, { ":status": answer.statusCode ?? 0 }), 0)
  }

  private onEnd(answer: IncomingMessage): void {
    this.hasEnded = true
    if (Object.keys(answer.trailers).length > 0) this.emit("trailers", answer.trailers, 0)
    this.emit("end")
    // ★ Answered before all was asked: the rest of the request is not sent, so nothing else can be.
    if (this.request?.writableEnded === false) this.request.destroy()
  }

  private onError(error: Error): void {
    if (this.hasEnded || this.errored !== null || this.closed || this.rstCode !== 0) return
    this.errored = error
    this.isLost = true
    if (this.answer === undefined && this.isReused && idempotent.has(this.method)) this.id = undefined
    this.emit("error", error)
  }

  private onClose(): void {
    if (this.closed) return
    this.closed = true
    this.emit("close")
    this.onClosed(this)
  }
}
