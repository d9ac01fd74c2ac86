/**
 * A server that a test plays by hand, as a client transport: the test accepts streams, reads the requests of the client, and
 * sends responses.
 *
 * @since 0.1.0
 */
import { Request, Response } from "@effect-xds/core"
import { ClientTransport, Status } from "@effect-xds/transport"
import { Context, Effect, Either, Layer } from "effect"

/**
 * The server's end of a stream that a client opened.
 *
 * @since 0.1.0
 */
export interface ScriptedStream {
  readonly server: ClientTransport.Server
  readonly method: ClientTransport.Method
  /** The requests of the client so far. A test may empty the array. */
  readonly requests: Array<Request.Request>
  /** Number of messages that the client gave credit for and was not sent yet. */
  readonly credit: () => number
  /** Whether neither side has ended it. */
  readonly isOpen: () => boolean
  /** Accepts the connection. */
  readonly accept: () => void
  /** Sends a message. Without credit it waits. */
  readonly send: (message: Uint8Array) => void
  /** Sends a response. */
  readonly respond: (response: Response.Response, nonce: string) => void
  readonly end: (status?: Status.Status) => void
}

/**
 * The streams of a test, in the order in which they were opened.
 *
 * @since 0.1.0
 */
export class ScriptedServer extends Context.Tag("@effect-xds/testing/memory/ScriptedServer")<
  ScriptedServer,
  {
    readonly streams: ReadonlyArray<ScriptedStream>
    /** Those that neither side has ended. */
    readonly open: () => ReadonlyArray<ScriptedStream>
  }
>() {}

const makeStream = (
  server: ClientTransport.Server,
  method: ClientTransport.Method,
  handler: ClientTransport.StreamHandler
): readonly [ScriptedStream, ClientTransport.ClientStream] => {
  const requests: Array<Request.Request> = []
  const waiting: Array<Uint8Array> = []
  let state: "opening" | "open" | "ended" = "opening"
  let credit = 1
  let delivering = false
  const deliver = (): void => {
    if (delivering) return
    delivering = true
    while (credit > 0 && state === "open") {
      const message = waiting.shift()
      if (message === undefined) break
      credit--
      handler.onMessage(message)
    }
    delivering = false
  }
  const send = (message: Uint8Array): void => {
    waiting.push(message)
    deliver()
  }
  return [
    {
      server,
      method,
      requests,
      credit: () => credit,
      isOpen: () => state !== "ended",
      accept: () => {
        if (state !== "opening") return
        state = "open"
        handler.onOpen()
        deliver()
      },
      send,
      respond: (response, nonce) => send(Response.encode(response, nonce)),
      end: (status = Status.make("UNAVAILABLE", "the server went away")) => {
        if (state === "ended") return
        state = "ended"
        handler.onEnd(status)
      }
    },
    {
      send: (message) => {
        if (state === "open") requests.push(Either.getOrThrow(Request.decode(method.protocol, message)))
      },
      next: () => {
        credit++
        deliver()
      },
      end: () => {
        state = "ended"
      }
    }
  ]
}

/**
 * The scripted server, as a client transport.
 *
 * @since 0.1.0
 */
export const layer: Layer.Layer<ScriptedServer | ClientTransport.ClientTransport> = Layer.effectContext(
  Effect.sync(() => {
    const streams: Array<ScriptedStream> = []
    const connect: ClientTransport.Service["connect"] = (server) =>
      Effect.succeed({
        open: (method, handler) => {
          const [scripted, stream] = makeStream(server, method, handler)
          streams.push(scripted)
          return stream
        }
      })
    return Context.make(ClientTransport.ClientTransport, { connect }).pipe(
      Context.add(ScriptedServer, { streams, open: () => streams.filter((stream) => stream.isOpen()) })
    )
  })
)
