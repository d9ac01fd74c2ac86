/** Servers on loopback for probes to meet, each with its sockets, closed with the scope. */
import { FreePort } from "@effect-xds/testing"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as NodeHttp from "node:http"
import * as NodeHttp2 from "node:http2"
import * as Net from "node:net"

export interface Running {
  readonly address: string
  /** Connections that came so far. */
  readonly connections: () => number
  /** Those that are open. */
  readonly open: () => number
}

const listen = (server: Net.Server): Effect.Effect<Running, never, Scope.Scope> => {
  const sockets = new Set<Net.Socket>()
  let connections = 0
  server.on("connection", (socket: Net.Socket) => {
    connections++
    sockets.add(socket)
    // What a probe does to it is no matter.
    socket.on("error", () => undefined)
    socket.on("close", () => sockets.delete(socket))
  })
  return Effect.acquireRelease(
    Effect.async<Running>((resume) => {
      server.listen(0, "127.0.0.1", () => {
        const address = server.address()
        const port = typeof address === "object" && address !== null ? address.port : 0
        resume(
          Effect.succeed({
            address: `127.0.0.1:${port}`,
            connections: () => connections,
            open: () => sockets.size
          })
        )
      })
    }),
    () =>
      Effect.async<void>((resume) => {
        server.close(() => resume(Effect.void))
        for (const socket of sockets) socket.destroy()
      })
  )
}

/** Does with each connection what it is told; `n`: the how manieth it is. */
export const tcp = (accept: (socket: Net.Socket, n: number) => void): Effect.Effect<Running, never, Scope.Scope> => {
  let n = 0
  return listen(Net.createServer({ allowHalfOpen: true }, (socket) => accept(socket, ++n)))
}

/** A server of HTTP/1 that says bytes as they are, as soon as a request is there. */
export const says = (...pieces: ReadonlyArray<string>): Effect.Effect<Running, never, Scope.Scope> =>
  tcp((socket) =>
    socket.on("data", () => {
      for (const piece of pieces) socket.write(piece)
    })
  )

export const http1 = (listener: NodeHttp.RequestListener): Effect.Effect<Running, never, Scope.Scope> =>
  listen(NodeHttp.createServer(listener))

export const http2 = (
  onStream: (stream: NodeHttp2.ServerHttp2Stream, headers: NodeHttp2.IncomingHttpHeaders) => void
): Effect.Effect<Running, never, Scope.Scope> => {
  const server = NodeHttp2.createServer()
  server.on("sessionError", () => undefined)
  server.on("stream", (stream, headers) => {
    stream.on("error", () => undefined)
    onStream(stream, headers)
  })
  return listen(server)
}

/** An address at which nobody listens. */
export const nobody: Effect.Effect<string> = Effect.map(FreePort.any(), (port) => `127.0.0.1:${port}`)

/** Something that happens once. */
export const once = (): { readonly happen: () => void; readonly happened: Effect.Effect<void> } => {
  const deferred = Effect.runSync(Deferred.make<void>())
  return {
    happen: () => Deferred.unsafeDone(deferred, Effect.void),
    happened: Deferred.await(deferred)
  }
}
