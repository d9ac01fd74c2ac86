/** Plain HTTP requests as calls of a channel. */
import { Code } from "@connectrpc/connect"
import * as CallHeaders from "@effect-xds/routing/CallHeaders"
import type { XdsChannel } from "../XdsChannels.js"
import { Attempt } from "./Attempt.js"
import { Call } from "./Call.js"
import type { Sent } from "./ChannelDriver.js"
import type { EndpointConnection } from "./EndpointConnection.js"
import * as Errors from "./Errors.js"
import * as Exchange from "./Exchange.js"
import { hopByHop } from "./Http1Stream.js"
import * as Outcomes from "./Outcomes.js"
import * as SessionCookie from "./SessionCookie.js"

/** Bytes can be sent again; of a stream nobody knows. */
export type Payload = Uint8Array | globalThis.ReadableStream<Uint8Array> | undefined

export interface Request {
  readonly method: string
  /** Without the query. */
  readonly path: string
  readonly query: string
  readonly headers: Readonly<Record<string, string>>
  readonly payload: Payload
  readonly waitForReady: boolean
  /** Milliseconds. */
  readonly timeout: number | undefined
  readonly signal: AbortSignal
  /** Called when the call is over, also where it never was one. */
  readonly onOver: () => void
}

const codes: ReadonlyMap<number, Code> = new Map([
  [429, Code.Unavailable],
  [502, Code.Unavailable],
  [503, Code.Unavailable],
  [504, Code.Unavailable],
  [408, Code.DeadlineExceeded],
  [500, Code.Internal]
])

/** Rejects with a ConnectError when there is no answer. */
export const send = async (channel: XdsChannel, request: Request): Promise<Response> => {
  const { method, onOver, path, payload, query, signal, timeout, waitForReady } = request
  const header = headerOf(request)
  const { authority } = channel.target
  const headers = CallHeaders.ofRequest({ method, authority, path: `${path}${query}` }, header)
  const call = new Call(
    channel.driver,
    channel.environment,
    { path, headers, waitForReady, timeout, signal, onOver },
    channel.servers
  )
  const isSentAgain = payload === undefined || payload instanceof Uint8Array
  for (;;) {
    let attempt: Attempt | undefined
    let sent: Sent<EndpointConnection> | undefined
    try {
      sent = await call.place()
      const { connection, endpoint, selected } = sent
      attempt = new Attempt(connection, channel.authorityOf(endpoint, selected), isSentAgain)
      const response = responseOf(
        await Exchange.send(attempt, `${path}${query}`, {
          method,
          header,
          ...(payload === undefined ? {} : { body: bodyOf(payload) }),
          signal: call.signal
        })
      )
      SessionCookie.append(sent, { header: response.headers })
      channel.hear(endpoint, { header: response.headers })
      channel.report(endpoint, { _tag: "Response", status: response.status })
      const code = codes.get(response.status)
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
      const failure = {
        code: error.code,
        isCommitted: !isSentAgain && attempt.isBegun,
        isUnsent: attempt.isUnsent,
        isRefused: attempt.isRefused,
        pushback: undefined
      }
      attempt.cancel()
      if (!(await call.again(failure))) {
        call.over(signal.aborted ? undefined : "Failed")
        throw call.ended ?? error
      }
    } finally {
      attempt?.release()
    }
  }
}

/** Throws where a name or a value is none that a header can have: before there is a call, which would stay. */
const headerOf = ({ headers, onOver }: Request): Headers => {
  try {
    // HTTP/2 has none of them (RFC 9113, 8.2.2), and the connections of HTTP/1.1 have their own.
    return new Headers(
      Object.entries(headers).filter(
        ([name, value]) => !hopByHop.has(name) && name !== "host" && (name !== "te" || value === "trailers")
      )
    )
  } catch (cause) {
    onOver()
    throw cause
  }
}

/** The answer as the web has it. A reader that gives its body up ends the stream. */
const responseOf = ({ body, header: headers, status }: Exchange.Answer): Response => {
  const isEmpty = status === 204 || status === 205 || status === 304
  return new Response(isEmpty ? null : webOf(body), { status, headers })
}

const webOf = (body: Exchange.Exchange): globalThis.ReadableStream<Uint8Array> =>
  new globalThis.ReadableStream<Uint8Array>({
    pull: async (controller) => {
      const next = await body.next()
      if (next.done === true) controller.close()
      else controller.enqueue(next.value)
    },
    cancel: () => body.cancel()
  })

async function* single(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield await Promise.resolve(bytes)
}

/** ★ The web's own iterator waits, when it is let go, for what it was asked for before: of a stream that is silent for ever. */
const chunksOf = (stream: globalThis.ReadableStream<Uint8Array>): AsyncIterable<Uint8Array> => ({
  [Symbol.asyncIterator]: () => {
    const reader = stream.getReader()
    return {
      next: async () => {
        const { done, value } = await reader.read()
        return done ? { done, value: undefined } : { done, value }
      },
      return: async () => {
        await reader.cancel()
        return { done: true, value: undefined }
      }
    }
  }
})

const bodyOf = (payload: Exclude<Payload, undefined>): AsyncIterable<Uint8Array> =>
  payload instanceof Uint8Array ? single(payload) : chunksOf(payload)
