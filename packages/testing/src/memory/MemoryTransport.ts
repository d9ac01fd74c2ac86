/**
 * A server transport without a network, the smallest implementation of the port. Every effect happens within the call that
 * causes it. {@link MemoryClient} is a client for it.
 *
 * @since 0.1.0
 */
import type { Request } from "@effect-xds/core"
import { ServerTransport, Status } from "@effect-xds/transport"
import { Context, Effect, Layer } from "effect"

/**
 * The client's end of a stream in memory.
 *
 * @since 0.1.0
 */
export interface Link {
  readonly send: (request: Request.Request) => void
  /** Gives credit again, after `onResponse` returned `false`. */
  readonly grant: () => void
  readonly end: (reason: string) => void
}

/**
 * The handler of a client. `onResponse` returns whether there is credit for another response.
 *
 * @since 0.1.0
 */
export interface Receiver {
  readonly onResponse: (response: ServerTransport.Outgoing) => boolean
  readonly onEnd: (status: Status.Status) => void
}

/**
 * The clients' side of the transport.
 *
 * @since 0.1.0
 */
export class MemoryTransport extends Context.Tag("@effect-xds/testing/memory/MemoryTransport")<
  MemoryTransport,
  {
    /** Opens a stream; `undefined` if there is no server. */
    readonly open: (call: Omit<ServerTransport.AcceptedStream, "write" | "end">, to: Receiver) => Link | undefined
    /** Number of streams that neither side has ended. */
    readonly openStreams: () => number
  }
>() {}

/**
 * The transport, for one server and any number of clients.
 *
 * @since 0.1.0
 */
export const layer: Layer.Layer<MemoryTransport | ServerTransport.ServerTransport> = Layer.effectContext(
  Effect.sync(() => {
    let accept: ((stream: ServerTransport.AcceptedStream) => ServerTransport.StreamHandler) | undefined
    const handlers = new Map<ServerTransport.AcceptedStream, ServerTransport.StreamHandler>()

    const open = (call: Omit<ServerTransport.AcceptedStream, "write" | "end">, to: Receiver): Link | undefined => {
      const stream: ServerTransport.AcceptedStream = {
        ...call,
        write: to.onResponse,
        end: (status) => {
          if (state.ended) return
          state.ended = true
          handlers.delete(stream)
          to.onEnd(status)
        }
      }
      const state = { ended: false }
      const handler = accept?.(stream)
      if (handler === undefined) return undefined
      if (!state.ended) handlers.set(stream, handler)
      const unlessEnded = (act: () => void) => {
        if (!state.ended) act()
      }
      return {
        send: (request) => unlessEnded(() => handler.onRequest(request)),
        grant: () => unlessEnded(handler.onWritable),
        end: (reason) =>
          unlessEnded(() => {
            state.ended = true
            handlers.delete(stream)
            handler.onEnd(reason)
          })
      }
    }

    const stop = () => {
      accept = undefined
      for (const [stream, handler] of handlers) {
        stream.end(Status.make("UNAVAILABLE", "the server stopped"))
        handler.onEnd("the server stopped")
      }
    }
    const serve: ServerTransport.Service["serve"] = (handle) =>
      Effect.acquireRelease(
        Effect.sync(() => {
          accept = handle
          return "memory"
        }),
        () => Effect.sync(stop)
      )
    return Context.make(ServerTransport.ServerTransport, { serve }).pipe(
      Context.add(MemoryTransport, { open, openStreams: () => handlers.size })
    )
  })
)
