/**
 * The calls of a transport. The codecs are those of `@connectrpc/connect-node`: an interceptor, the innermost, places each
 * attempt and calls on with a URL that has the attempt's number in front of its path; what the codec then sends to that
 * URL goes where the attempt goes. Unary calls of gRPC come without a codec, from `GrpcUnary`, straight to `run`.
 */
import type { DescMethod } from "@bufbuild/protobuf"
import type { ContextKey, ContextValues, Interceptor, StreamResponse, UnaryResponse } from "@connectrpc/connect"
import { Code, ConnectError, createContextKey, createContextValues } from "@connectrpc/connect"
import type { UniversalClientFn } from "@connectrpc/connect/protocol"
import type { CallHeaders } from "@effect-xds/routing/CallHeaders"
import type { XdsChannel } from "../XdsChannels.js"
import { Attempt } from "./Attempt.js"
import type { Failure } from "./Call.js"
import { Call } from "./Call.js"
import type { Sent } from "./ChannelDriver.js"
import { Deadline } from "./Deadline.js"
import type { EndpointConnection } from "./EndpointConnection.js"
import * as Errors from "./Errors.js"
import * as Exchange from "./Exchange.js"
import * as Outcomes from "./Outcomes.js"
import { Replay } from "./Replay.js"
import * as SessionCookie from "./SessionCookie.js"
import * as Timeout from "./Timeout.js"

/** Milliseconds until the caller's deadline. */
const timeout = createContextKey<number | undefined>(undefined, {
  description: "milliseconds until the deadline"
})

/** The same, where interceptors take time of it. */
const deadline = createContextKey<Deadline | undefined>(undefined, { description: "the deadline" })

/** Whether a call waits where others fail. */
export const waitForReady = createContextKey(false, { description: "wait for ready" })

export interface Options {
  readonly channel: XdsChannel
  /** How a limit of time is told to the server. */
  readonly timeoutHeader: "grpc-timeout" | "connect-timeout-ms"
}

type Response = UnaryResponse | StreamResponse

/** What the codecs think they send to. */
export const origin = "http://xds"

/** A call, as it is asked for. */
export interface Asked {
  /** `/package.Service/Method` */
  readonly path: string
  readonly headers: CallHeaders
  readonly waitForReady: boolean
  /** Milliseconds; `undefined`: there is no deadline. */
  readonly timeout: number | undefined
  /** What the timeout is left of. */
  readonly deadline?: Deadline | undefined
  readonly signal: AbortSignal | undefined
  /** One message is sent, and one comes. */
  readonly isUnary: boolean
  /** Both sides may speak at the same time. */
  readonly isDuplex: boolean
  /** What is sent can be sent again. */
  readonly isSentAgain: boolean
}

/** Sends one attempt; rejects if it is not answered, or with an error. */
type Send<A> = (attempt: Attempt, call: Call) => Promise<A>

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

  /** The first of interceptors that are not ours: from here on the time of a call counts. */
  readonly first: Interceptor = (next) => (request) => {
    const { contextValues, signal } = request
    const milliseconds = contextValues.get(timeout)
    if (milliseconds === undefined) return next(request)
    const made = new Deadline(this.options.channel.environment, milliseconds, signal)
    contextValues.set(deadline, made)
    return next({ ...request, signal: made.signal })
  }

  readonly interceptor: Interceptor = (next) => (request) => {
    const { contextValues, header, method, signal } = request
    // Of what is sent in many messages only that is kept which cannot be much.
    const replay = request.stream && method.methodKind === "server_streaming" ? new Replay(request.message) : undefined
    const path = pathOf(method)
    const asked: Asked = {
      path,
      headers: header,
      waitForReady: contextValues.get(waitForReady),
      ...timeOf(contextValues),
      signal,
      isUnary: !request.stream,
      isDuplex: method.methodKind === "bidi_streaming",
      isSentAgain: !request.stream || replay !== undefined
    }
    return this.run<Response>(asked, async (attempt, call) => {
      const id = ++this.ids
      this.attempts.set(id, attempt)
      this.tell(call, (name, value) => header.set(name, value))
      try {
        const url = `${origin}/${id}${path}`
        if (!request.stream) return await next({ ...request, url, signal: call.signal })
        const message = replay ?? request.message
        const response = await next({ ...request, url, signal: call.signal, message })
        return response.stream ? { ...response, message: this.answers(response.message, call, attempt) } : response
      } finally {
        this.attempts.delete(id)
      }
    })
  }

  /** Places a call, has it sent, and perhaps sent again. */
  async run<A extends { readonly header: Headers }>(asked: Asked, send: Send<A>): Promise<A> {
    const { authorityOf, driver, environment, hear, report, servers } = this.options.channel
    const call = new Call(driver, environment, asked, servers)
    for (;;) {
      let sent: Sent<EndpointConnection>
      try {
        sent = await call.place()
      } catch (error) {
        call.over(undefined)
        throw error
      }
      const { address, connection, endpoint, selected } = sent
      if (asked.isDuplex && !connection.isDuplex) {
        call.over(undefined)
        const where = `${address} speaks HTTP/1.1`
        throw new ConnectError(`streams in both directions need HTTP/2; ${where}`, Code.Unimplemented)
      }
      const attempt = new Attempt(connection, authorityOf(endpoint, selected), asked.isUnary)
      try {
        const answer = await send(attempt, call)
        SessionCookie.append(sent, answer)
        hear(endpoint, answer)
        if (asked.isUnary) {
          report(endpoint, Outcomes.answered)
          call.over("Succeeded")
        } else {
          call.streams()
          attempt.onClose((outcome) => {
            const isGivenUp = call.isGivenUp && call.ended?.code !== Code.DeadlineExceeded
            if (!isGivenUp) report(endpoint, Outcomes.ofStream(attempt, call))
            call.over(outcome)
          })
        }
        return answer
      } catch (cause) {
        const error = Errors.of(cause, call, attempt)
        hear(endpoint, { header: error.metadata })
        report(endpoint, Outcomes.ofError(error, call, attempt))
        const failure: Failure = {
          code: error.code,
          // ★ The headers of a unary answer commit to nothing: connect-node sends its errors behind headers, and the caller
          // has seen none of it. Who has a stream has its headers, and does not come here any more.
          isCommitted: !asked.isSentAgain && attempt.isBegun,
          isUnsent: attempt.isUnsent,
          isRefused: attempt.isRefused,
          pushback: error.metadata.get("grpc-retry-pushback-ms") ?? undefined
        }
        // ★ A codec that fails aborts its own signal, which reaches the stream no more when the call has a deadline.
        attempt.cancel()
        if (!(await call.again(failure))) {
          const isGivenUp = asked.signal?.aborted === true && asked.deadline?.hasCome !== true
          call.over(isGivenUp ? undefined : "Failed")
          throw call.ended ?? error
        }
      } finally {
        attempt.release()
      }
    }
  }

  /** Headers that are about the attempt. */
  tell({ attempts, left }: Call, set: (name: string, value: string) => void): void {
    if (attempts > 0) set("grpc-previous-rpc-attempts", String(attempts))
    if (left === Number.POSITIVE_INFINITY) return
    const { timeoutHeader } = this.options
    const milliseconds = Math.max(1, Math.floor(left))
    const isGrpc = timeoutHeader === "grpc-timeout"
    set(timeoutHeader, isGrpc ? Timeout.ofGrpc(milliseconds) : String(Math.min(milliseconds, 9_999_999_999)))
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
              attempt.cancel()
              call.over("Failed")
              throw error
            }
          }
        }
      }
    }
  }
}

/** Values of a call, which has a timeout. */
export const withTimeout = (values: ContextValues | undefined, milliseconds: number | undefined): ContextValues => {
  const own = createContextValues().set(timeout, milliseconds)
  if (values === undefined) return own
  const of = <A>({ id }: ContextKey<A>): ContextValues => (id === timeout.id || id === deadline.id ? own : values)
  // ★ The caller's own stay as they are: they may be those of other calls, too.
  const both: ContextValues = {
    get: (key) => of(key).get(key),
    set: (key, value) => {
      of(key).set(key, value)
      return both
    },
    delete: (key) => {
      of(key).delete(key)
      return both
    }
  }
  return both
}

/** What is left of a call's time, when its interceptors have passed it on. */
export const timeOf = (values: ContextValues): Pick<Asked, "timeout" | "deadline"> => {
  const of = values.get(deadline)
  return { timeout: of?.remaining() ?? values.get(timeout), deadline: of }
}

export const pathOf = ({ name, parent }: DescMethod): string => `/${parent.typeName}/${name}`
