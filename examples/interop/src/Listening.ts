/** An HTTP/2 server on a port, that a scope owns. */
import type { ConnectRouter } from "@connectrpc/connect"
import { connectNodeAdapter } from "@connectrpc/connect-node"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { createServer } from "node:http2"
import type { Socket } from "node:net"

/** It cannot listen there. */
export class CannotListen extends Data.TaggedError("CannotListen")<{ readonly port: number; readonly reason: string }> {
  override get message(): string {
    return `cannot listen on port ${this.port}: ${this.reason}. Give another port, or 0 for any`
  }
}

/** Serves gRPC until the scope closes, which cuts all connections; gives the port. */
export const listen = (options: {
  readonly routes: (router: ConnectRouter) => void
  /** 0: any. */
  readonly port: number
  /** Default: all that the machine has. */
  readonly host?: string
}): Effect.Effect<number, CannotListen, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.async<{ readonly port: number; readonly close: () => Promise<void> }, CannotListen>((resume) => {
      const sockets = new Set<Socket>()
      const server = createServer(connectNodeAdapter({ routes: options.routes }))
      server.on("connection", (socket: Socket) => {
        sockets.add(socket)
        socket.once("close", () => sockets.delete(socket))
      })
      server.on("session", (session) => session.on("error", () => undefined))
      // As if the process were killed: no stream is ended in good order.
      const close = () =>
        new Promise<void>((resolve) => {
          server.close(() => resolve())
          for (const socket of sockets) socket.resetAndDestroy()
        })
      server.once("error", ({ message }: Error) =>
        resume(Effect.fail(new CannotListen({ port: options.port, reason: message })))
      )
      server.listen(options.port, options.host, () => {
        const address = server.address()
        resume(Effect.succeed({ close, port: typeof address === "object" && address !== null ? address.port : 0 }))
      })
    }),
    ({ close }) => Effect.promise(close)
  ).pipe(Effect.map(({ port }) => port))
