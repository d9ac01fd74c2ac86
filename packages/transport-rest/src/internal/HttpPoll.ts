/** One POST over Node's HTTP client, with an answer of bounded size. */
import type { Credentials } from "@effect-xds/transport/ClientTransport"
import * as Status from "@effect-xds/transport/Status"
import * as Inflater from "@effect-xds/transport-node/Inflater"
import * as TlsFailure from "@effect-xds/transport-node/TlsFailure"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import { Buffer } from "node:buffer"
import type * as Http from "node:http"

export interface Call {
  /** `Http.request` or `Https.request`. */
  readonly request: (options: Http.RequestOptions) => Http.ClientRequest
  readonly options: Http.RequestOptions
  readonly body: Uint8Array
  readonly maxResponseBytes: number
  /** With what the server may be asked wrongly. */
  readonly credentials: Credentials
}

export interface Reply {
  readonly status: number
  readonly contentType: string | undefined
  readonly body: Uint8Array
}

const tooLarge = (limit: number): Status.Status =>
  Status.make(
    "RESOURCE_EXHAUSTED",
    `the answer is larger than this client's limit of ${limit} bytes; ask for fewer resources at a time`
  )

const codeOf = (error: Error): string => String(Reflect.get(error, "code"))

const reasonOf = (error: Error, credentials: Credentials): string => {
  if (codeOf(error).startsWith("HPE_")) return `what the server says is not HTTP/1.1 (${error.message})`
  // In a handshake Node has other words.
  if (error.message !== "socket hang up") return TlsFailure.ofClient(error)
  return `the server closed the connection without an answer; ${TlsFailure.ofSilence(credentials)}`
}

/** The server closed a kept connection in the moment of this poll. */
const isStale = (request: Http.ClientRequest, error: Error): boolean =>
  request.reusedSocket && ["ECONNRESET", "EPIPE"].includes(codeOf(error))

const send = (call: Call): Effect.Effect<Reply & { readonly encoding: string | undefined }, Status.Status> =>
  Effect.async((resume) => {
    let current: Http.ClientRequest
    let over = false
    const finish = (exit: Parameters<typeof resume>[0]): void => {
      over = true
      resume(exit)
    }
    const attempt = (): void => {
      const request = call.request(call.options)
      current = request
      const fail = (status: Status.Status): void => {
        finish(Effect.fail(status))
        request.destroy()
      }
      let responded = false
      request.on("error", (error) => {
        if (over) return
        if (!responded && isStale(request, error)) return attempt()
        fail(Status.make("UNAVAILABLE", reasonOf(error, call.credentials)))
      })
      request.on("response", (response) => {
        responded = true
        const chunks: Array<Buffer> = []
        let size = 0
        response.on("data", (chunk: Buffer) => {
          size += chunk.length
          if (size > call.maxResponseBytes) fail(tooLarge(call.maxResponseBytes))
          else chunks.push(chunk)
        })
        response.on("error", (error) =>
          fail(Status.make("UNAVAILABLE", `the answer was cut off: ${reasonOf(error, call.credentials)}`))
        )
        response.on("end", () => {
          const { headers, statusCode = 0 } = response
          const body = Buffer.concat(chunks)
          const encoding = headers["content-encoding"]
          finish(Effect.succeed({ status: statusCode, contentType: headers["content-type"], body, encoding }))
        })
      })
      request.end(call.body)
    }
    attempt()
    return Effect.sync(() => {
      over = true
      current.destroy()
    })
  })

/** Sends a request; fails without a complete answer. Its interruption aborts the request. */
export const post = (call: Call): Effect.Effect<Reply, Status.Status> =>
  Effect.flatMap(send(call), ({ encoding, ...reply }) => {
    if (encoding === undefined || encoding === "identity") return Effect.succeed(reply)
    if (encoding !== "gzip" && encoding !== "x-gzip") {
      return Effect.fail(Status.make("INTERNAL", `the answer is compressed with ${encoding}; this client takes gzip`))
    }
    return Effect.async<Reply, Status.Status>((resume) =>
      Inflater.inflate(reply.body, call.maxResponseBytes, (inflated) =>
        resume(
          Either.mapBoth(inflated, {
            onLeft: (problem) =>
              problem.reason === "TooLarge"
                ? tooLarge(call.maxResponseBytes)
                : Status.make("INTERNAL", `the answer is ${problem.message}`),
            onRight: (body) => ({ ...reply, body })
          })
        )
      )
    )
  })
