/**
 * One stream as the codecs of `@connectrpc/connect` want it: bytes of a request in, headers, bytes and trailers of
 * the answer out. A signal that aborts resets it.
 */
import { Code, ConnectError } from "@connectrpc/connect"
import type { UniversalClientRequest, UniversalClientResponse } from "@connectrpc/connect/protocol"
import type { IncomingHttpHeaders, IncomingHttpStatusHeader } from "node:http2"
import type { Attempt } from "./Attempt.js"
import type { CallStream } from "./Carrier.js"
import * as ConnectErrors from "./ConnectErrors.js"
import * as Fields from "./Fields.js"
import * as StreamErrors from "./StreamErrors.js"

/** An answer, whose body can be given up. */
export interface Answer extends UniversalClientResponse {
  readonly body: Exchange
}

type Request = Pick<UniversalClientRequest, "method" | "header" | "body" | "signal">

/** Sends a request. Rejects with a ConnectError if no headers come. */
export const send = (attempt: Attempt, path: string, request: Request): Promise<Answer> =>
  new Promise((resolve, reject) => {
    const { header, method, signal } = request
    if (signal?.aborted === true) return reject(givenUp(signal))
    const stream = attempt.open(method, path, Fields.fromHeaders(header))
    const exchange = new Exchange(attempt, stream, signal, resolve, reject)
    exchange.write(request.body, attempt.isUnary)
  })

const givenUp = (signal: AbortSignal): ConnectError => ConnectErrors.of(signal.reason, Code.Canceled)

/** Bytes that wait for the reader; with more, the server waits. */
const maxWaiting = 65_536

type Step = IteratorResult<Uint8Array, undefined>

export class Exchange implements AsyncIterable<Uint8Array>, AsyncIterator<Uint8Array, undefined> {
  private readonly trailer = new Headers()
  private chunks: Array<Uint8Array> = []
  private waiting = 0
  private hasEnded = false
  private failure: ConnectError | undefined
  private isRead = false
  /** What is sent, while it is. */
  private body: AsyncIterator<Uint8Array> | undefined
  private reader: { readonly resolve: (step: Step) => void; readonly reject: (error: ConnectError) => void } | undefined

  constructor(
    private readonly attempt: Attempt,
    private readonly stream: CallStream,
    private readonly signal: AbortSignal | undefined,
    private readonly resolve: (answer: Answer) => void,
    private readonly reject: (error: ConnectError) => void
  ) {
    signal?.addEventListener("abort", this.onAbort)
    stream.on("error", (error: Error) => this.fail(StreamErrors.ofStream(stream, error)))
    stream.once("response", (headers: IncomingHttpHeaders & IncomingHttpStatusHeader, flags: number) => {
      attempt.onResponse(flags)
      this.onResponse(headers)
    })
    stream.once("trailers", (trailers: IncomingHttpHeaders) => {
      attempt.onTrailers(trailers)
      Fields.append(this.trailer, trailers)
    })
    stream.once("close", () => {
      const error = StreamErrors.ofClosed(stream, this.hasEnded)
      if (error !== undefined) this.fail(error)
    })
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  next(): Promise<Step> {
    const chunk = this.chunks.shift()
    if (chunk !== undefined) {
      this.waiting -= chunk.byteLength
      if (this.waiting < maxWaiting && this.stream.isPaused()) this.stream.resume()
      return Promise.resolve({ done: false, value: chunk })
    }
    if (this.failure !== undefined) return Promise.reject(this.failure)
    if (this.hasEnded) {
      this.done()
      return Promise.resolve({ done: true, value: undefined })
    }
    return new Promise((resolve, reject) => {
      this.reader = { resolve, reject }
    })
  }

  throw(error: unknown): Promise<Step> {
    this.fail(ConnectErrors.of(error))
    return Promise.reject(ConnectErrors.of(error))
  }

  /** The rest is not wanted. */
  cancel(): void {
    this.fail(new ConnectError("the answer is not wanted any more", Code.Canceled))
  }

  /** @param isOne the body is one message: ★ its bytes end the stream, in one frame and not in two */
  write(body: AsyncIterable<Uint8Array> | undefined, isOne: boolean): void {
    if (body === undefined) this.stream.end()
    else void this.writeAll(body, isOne)
  }

  private async writeAll(chunks: AsyncIterable<Uint8Array>, isOne: boolean): Promise<void> {
    try {
      const body = chunks[Symbol.asyncIterator]()
      this.body = body
      for (let next = await body.next(); next.done !== true;) {
        if (this.isOver || this.hasEnded) return
        const { value } = next
        if (isOne) {
          next = await body.next()
          if (next.done === true) {
            this.stream.end(value)
            return
          }
        }
        const error = await this.writeOne(value)
        if (error !== null) {
          // ★ Who writes is told; what the server has answered is still to be read.
          await body.throw?.(StreamErrors.of(error)).catch(() => undefined)
          if (!this.stream.writableEnded) this.fail(StreamErrors.of(error))
          return
        }
        if (!isOne) next = await body.next()
      }
      this.stream.end()
    } catch (error) {
      this.fail(ConnectErrors.of(error))
    }
  }

  /** Who makes what is sent need not go on. */
  private letGo(): void {
    const { body } = this
    this.body = undefined
    body?.return?.().catch(() => undefined)
  }

  private writeOne(value: Uint8Array): Promise<Error | null> {
    return new Promise((resolve) => this.stream.write(value, (error) => resolve(error ?? null)))
  }

  private get isOver(): boolean {
    return this.failure !== undefined || this.isRead
  }

  private onResponse(headers: IncomingHttpHeaders & IncomingHttpStatusHeader): void {
    const { stream } = this
    stream.on("data", (chunk: Uint8Array) => this.onData(chunk))
    stream.once("end", () => {
      // ★ Of a stream that was reset, or lost with its connection, Node tells an end too.
      if (StreamErrors.isReset(stream)) return
      this.attempt.onEnd()
      this.hasEnded = true
      // What is still to be sent nobody reads any more.
      this.attempt.cancel()
      this.letGo()
      const { reader } = this
      this.reader = undefined
      if (reader === undefined) return
      this.done()
      reader.resolve({ done: true, value: undefined })
    })
    const header = Fields.toHeaders(headers)
    this.resolve({ status: headers[":status"] ?? 0, header, body: this, trailer: this.trailer })
  }

  private onData(chunk: Uint8Array): void {
    const { reader } = this
    if (reader !== undefined) {
      this.reader = undefined
      return reader.resolve({ done: false, value: chunk })
    }
    this.chunks.push(chunk)
    this.waiting += chunk.byteLength
    // No more comes of one that is closed than is there.
    if (this.waiting >= maxWaiting && !this.stream.closed) this.stream.pause()
  }

  private fail(error: ConnectError): void {
    if (this.isOver) return
    this.failure = error
    this.signal?.removeEventListener("abort", this.onAbort)
    this.reject(error)
    this.reader?.reject(error)
    this.reader = undefined
    this.letGo()
    if (this.stream.closed) return
    this.stream.close(StreamErrors.resetCode(error))
  }

  /** All was read. */
  private done(): void {
    this.isRead = true
    this.signal?.removeEventListener("abort", this.onAbort)
  }

  private readonly onAbort = (): void => {
    if (this.signal !== undefined) this.fail(givenUp(this.signal))
  }
}
