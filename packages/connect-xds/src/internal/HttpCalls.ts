/** Plain HTTP requests as calls of a channel. */
import { Code, ConnectError } from "@connectrpc/connect"
import type { CallHeaders } from "@effect-xds/routing/CallHeaders"
import type { ClientHttp2Stream, IncomingHttpHeaders, IncomingHttpStatusHeader } from "node:http2"
import { constants } from "node:http2"
import { Readable } from "node:stream"
import type { XdsChannel } from "../XdsChannels.js"
import { Attempt } from "./Attempt.js"
import { Call } from "./Call.js"
import type { Sent } from "./ChannelDriver.js"
import * as Errors from "./Errors.js"
import type { Http2Connection } from "./Http2Connection.js"
import * as Outcomes from "./Outcomes.js"

/** Bytes can be sent again; of a stream nobody knows. */
export type Payload = Uint8Array | globalThis.ReadableStream<Uint8Array> | undefined

export interface Request {
  readonly method: string
  /** Without the query. */
  readonly path: string
  readonly query: string
  readonly headers: Readonly<Record<string, string>>
  readonly callHeaders: CallHeaders
  readonly payload: Payload
  readonly waitForReady: boolean
  /** Milliseconds. */
  readonly timeout: number | undefined
  readonly signal: AbortSignal
}

const codes: ReadonlyMap<number, Code> = new Map([
  [429, Code.Unavailable],
  [502, Code.Unavailable],
  [503, Code.Unavailable],
  [504, Code.Unavailable],
  [408, Code.DeadlineExceeded],
  [500, Code.Internal]
])

/** Of HTTP/1.1 and of one connection alone; HTTP/2 has none of them (RFC 9113, 8.2.2). */
const hopByHop = new Set(["connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade", "host"])

/** Rejects with a ConnectError when there is no answer. */
export const send = async (channel: XdsChannel, request: Request): Promise<Response> => {
  const { callHeaders: headers, path, payload, signal, timeout, waitForReady } = request
  const call = new Call(
    channel.driver,
    channel.environment,
    { path, headers, waitForReady, timeout, signal },
    channel.servers
  )
  const fields = Object.fromEntries(Object.entries(request.headers).filter(([name]) => !hopByHop.has(name)))
  for (;;) {
    let attempt: Attempt | undefined
    let sent: Sent<Http2Connection> | undefined
    try {
      sent = await call.place()
      const { connection, endpoint, selected } = sent
      attempt = new Attempt(connection, channel.authorityOf(endpoint, selected), false)
      const stream = attempt.open(request.method, `${path}${request.query}`, { ...fields })
      const response = await answerOf(stream, payload, call.signal)
      channel.hear(endpoint, response.headers)
      channel.report(endpoint, { _tag: "Response", status: response.status })
      const code = codes.get(response.status)
      const isSentAgain = payload === undefined || payload instanceof Uint8Array
      const failure = { code, isCommitted: !isSentAgain, isUnsent: false, isRefused: false, pushback: undefined }
      if (code === undefined || !(await call.again({ ...failure, code }))) {
        const isFailed = response.status >= 500
        call.streams()
        attempt.onClose((outcome) => call.over(isFailed ? "Failed" : outcome))
        return response
      }
      await response.body?.cancel()
    } catch (cause) {
      if (attempt === undefined || sent === undefined) {
        call.over(undefined)
        throw cause
      }
      const error = Errors.of(cause, call, attempt)
      channel.report(sent.endpoint, Outcomes.ofError(error, call, attempt))
      const isSentAgain = !(payload instanceof globalThis.ReadableStream) || attempt.isUnsent
      const failure = {
        code: error.code,
        isCommitted: !isSentAgain,
        isUnsent: attempt.isUnsent,
        isRefused: attempt.isRefused,
        pushback: undefined
      }
      if (!(await call.again(failure))) {
        call.over(signal.aborted ? undefined : "Failed")
        throw call.ended ?? error
      }
    } finally {
      attempt?.release()
    }
  }
}

const answerOf = (stream: ClientHttp2Stream, payload: Payload, signal: AbortSignal): Promise<Response> =>
  new Promise((resolve, reject) => {
    const abort = (): void => {
      reject(ConnectError.from(signal.reason, Code.Canceled))
      stream.close(constants.NGHTTP2_CANCEL)
    }
    if (signal.aborted) return abort()
    signal.addEventListener("abort", abort, { once: true })
    stream.once("close", () => signal.removeEventListener("abort", abort))
    stream.on("error", reject)
    stream.once("response", (headers: IncomingHttpHeaders & IncomingHttpStatusHeader) => {
      const status = headers[":status"] ?? 0
      const fields = new Headers()
      for (const [name, value] of Object.entries(headers)) {
        if (name.startsWith(":") || value === undefined) continue
        for (const each of Array.isArray(value) ? value : [value]) fields.append(name, each)
      }
      const hasNoBody = status === 204 || status === 205 || status === 304
      if (hasNoBody) stream.resume()
      const body = hasNoBody ? null : webOf(stream)
      resolve(new Response(body, { status, headers: fields }))
    })
    if (payload === undefined || payload instanceof Uint8Array) stream.end(payload)
    else {
      const source = payload[Symbol.asyncIterator]()
      const body = Readable.from({ [Symbol.asyncIterator]: () => source }, { objectMode: false })
      body.on("error", (error) => stream.destroy(error))
      body.pipe(stream)
    }
  })

/** The body as the web has it. A reader that gives it up resets the stream. */
const webOf = (stream: ClientHttp2Stream): globalThis.ReadableStream<Uint8Array> => {
  const iterator: AsyncIterator<unknown> = stream[Symbol.asyncIterator]()
  return new globalThis.ReadableStream<Uint8Array>({
    pull: async (controller) => {
      const next: IteratorResult<unknown, unknown> = await iterator.next()
      if (next.done === true) controller.close()
      else if (next.value instanceof Uint8Array) controller.enqueue(next.value)
    },
    cancel: () => {
      stream.close(constants.NGHTTP2_CANCEL)
    }
  })
}
