/**
 * The calls of a transport. The codecs are those of `@connectrpc/connect-node`: an interceptor, the innermost, places each
 * attempt and calls on with a URL that has the attempt's number in front of its path; what the codec then sends to that
 * URL goes where the attempt goes.
 */
import type { Interceptor, StreamRequest, StreamResponse, UnaryRequest, UnaryResponse } from "@connectrpc/connect"
import { Code, ConnectError, createContextKey } from "@connectrpc/connect"
import type { UniversalClientFn } from "@connectrpc/connect/protocol"
import * as StatefulSession from "@effect-xds/routing/StatefulSession"
import type { XdsChannel } from "../XdsChannels.js"
import { Attempt } from "./Attempt.js"
import type { Failure } from "./Call.js"
import { Call } from "./Call.js"
import type { Sent } from "./ChannelDriver.js"
import type { EndpointConnection } from "./EndpointConnection.js"
import * as Errors from "./Errors.js"
import * as Exchange from "./Exchange.js"
import * as Outcomes from "./Outcomes.js"
import { Replay } from "./Replay.js"

/** Milliseconds until the caller's deadline. */
export const timeout = createContextKey<number | undefined>(undefined, {
  description: "milliseconds until the deadline"
})

/** Whether a call waits where others fail. */
export const waitForReady = createContextKey(false, { description: "wait for ready" })

export interface Options {
  readonly channel: XdsChannel
  /** How a limit of time is told to the server. */
  readonly timeoutHeader: "grpc-timeout" | "connect-timeout-ms"
}

type Request = UnaryRequest | StreamRequest
type Response = UnaryResponse | StreamResponse
type Next = (request: Request) => Promise<Response>

/** What the codecs think they send to. */
export const origin = "http://xds"

export class Calls {
  private readonly attempts = new Map<number, Attempt>()
  private ids = 0

  constructor(private readonly options: Options) {}

  /** Sends what the codec made as the attempt whose number is in front of the path. */
  readonly httpClient: UniversalClientFn = (request) => {
    const { url } = request
    const slash = url.indexOf("/", origin.length + 1)
    const attempt = this.attempts.get(Number(url.slice(origin.length + 1, slash)))
    if (attempt === undefined) return Promise.reject(new ConnectError("the call is over", Code.Canceled))
    return Exchange.send(attempt, url.slice(slash), request)
  }

  readonly interceptor: Interceptor = (next) => (request) => this.run(request, next)

  private async run(request: Request, next: Next): Promise<Response> {
    const { contextValues, header, method, service, signal } = request
    const path = `/${service.typeName}/${method.name}`
    const { authorityOf, driver, environment, hear, report, servers } = this.options.channel
    const call = new Call(
      driver,
      environment,
      {
        path,
        headers: header,
        waitForReady: contextValues.get(waitForReady),
        timeout: contextValues.get(timeout),
        signal
      },
      servers
    )
    // Of what is sent in many messages only that is kept which cannot be much.
    const replay = request.stream && method.methodKind === "server_streaming" ? new Replay(request.message) : undefined
    for (;;) {
      let sent: Sent<EndpointConnection>
      try {
        sent = await call.place()
      } catch (error) {
        call.over(undefined)
        throw error
      }
      if (!sent.connection.isDuplex && method.methodKind === "bidi_streaming") {
        call.over(undefined)
        const where = `${sent.address} speaks HTTP/1.1`
        throw new ConnectError(`streams in both directions need HTTP/2; ${where}`, Code.Unimplemented)
      }
      const attempt = new Attempt(sent.connection, authorityOf(sent.endpoint, sent.selected), !request.stream)
      const id = ++this.ids
      this.attempts.set(id, attempt)
      this.setHeaders(header, call)
      try {
        const url = `${origin}/${id}${path}`
        const response = request.stream
          ? await next({ ...request, url, signal: call.signal, message: replay ?? request.message })
          : await next({ ...request, url, signal: call.signal })
        if (sent.selected.session !== undefined) {
          const { address, endpoint, selected } = sent
          const cookie = StatefulSession.setCookie(sent.selected.session, selected.cluster, endpoint, address)
          if (cookie !== undefined) response.header.append("set-cookie", cookie)
        }
        hear(sent.endpoint, response.header)
        if (response.stream) {
          const { endpoint } = sent
          call.streams()
          attempt.onClose((outcome) => {
            const isGivenUp = call.signal.aborted && call.ended?.code !== Code.DeadlineExceeded
            if (!isGivenUp) report(endpoint, Outcomes.ofStream(attempt, call))
            call.over(outcome)
          })
          return { ...response, message: this.answers(response.message, call, attempt) }
        }
        report(sent.endpoint, Outcomes.answered)
        call.over("Succeeded")
        return response
      } catch (cause) {
        const error = Errors.of(cause, call, attempt)
        hear(sent.endpoint, error.metadata)
        report(sent.endpoint, Outcomes.ofError(error, call, attempt))
        const isSentAgain = !request.stream || replay !== undefined
        const failure: Failure = {
          code: error.code,
          // ★ The headers of a unary answer commit to nothing: connect-node sends its errors behind headers, and the caller
          // has seen none of it. Who has a stream has its headers, and does not come here any more.
          isCommitted: !isSentAgain && !attempt.isUnsent,
          isUnsent: attempt.isUnsent,
          isRefused: attempt.isRefused,
          pushback: error.metadata.get("grpc-retry-pushback-ms") ?? undefined
        }
        if (!(await call.again(failure))) {
          call.over(signal.aborted ? undefined : "Failed")
          throw call.ended ?? error
        }
      } finally {
        this.attempts.delete(id)
        attempt.release()
      }
    }
  }

  private setHeaders(header: Headers, call: Call): void {
    if (call.attempts > 0) header.set("grpc-previous-rpc-attempts", String(call.attempts))
    const { left } = call
    if (left === Number.POSITIVE_INFINITY) return
    const { timeoutHeader } = this.options
    const milliseconds = Math.max(1, Math.floor(left))
    // The text of a gRPC timeout has at most eight digits.
    const unit = milliseconds < 100_000_000 ? `${milliseconds}m` : `${Math.floor(milliseconds / 1_000)}S`
    header.set(timeoutHeader, timeoutHeader === "grpc-timeout" ? unit : String(Math.min(milliseconds, 9_999_999_999)))
  }

  /** The answers of a stream, at whose end the call is over. */
  private answers<A>(messages: AsyncIterable<A>, call: Call, attempt: Attempt): AsyncIterable<A> {
    return {
      [Symbol.asyncIterator]: () => {
        const iterator = messages[Symbol.asyncIterator]()
        return {
          next: async () => {
            try {
              const result = await iterator.next()
              if (result.done === true) call.over("Succeeded")
              return result
            } catch (cause) {
              const error = Errors.of(cause, call, attempt)
              call.over("Failed")
              throw error
            }
          }
        }
      }
    }
  }
}
