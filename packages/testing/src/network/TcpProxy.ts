/**
 * A network in front of a server on this machine: it forwards, and can be slow, silent, or refuse. For tests with real
 * processes.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { Socket } from "node:net"
import { connect, createServer } from "node:net"

/**
 * How the network is.
 *
 * - `open`: it forwards
 * - `silent`: nothing comes through, and nobody is told, as when a cable is pulled. What is sent meanwhile arrives when it is
 *   open again.
 * - `refusing`: connections are reset, and new ones are, too
 *
 * @since 0.1.0
 */
export type State = "open" | "silent" | "refusing"

/**
 * A network that is in a test's hands.
 *
 * @since 0.1.0
 */
export interface TcpProxy {
  readonly port: number
  readonly set: (state: State) => void
  /** Milliseconds that everything takes in each direction. */
  readonly delay: (millis: number) => void
}

/**
 * Listens on a port of its own, until the scope closes.
 *
 * @param to the port of the server
 * @since 0.1.0
 */
export const make = (to: number): Effect.Effect<TcpProxy, never, Scope.Scope> =>
  Effect.gen(function* () {
    const sockets = new Set<Socket>()
    let state: State = "open"
    let wait = 0
    const pipe = (from: Socket, into: Socket): void => {
      from.on("data", (chunk: Buffer) => {
        // Timers of one duration keep their order.
        if (wait === 0) into.write(chunk)
        else setTimeout(() => into.writable && into.write(chunk), wait)
      })
      from.on("error", () => undefined)
      from.on("close", () => {
        sockets.delete(from)
        into.destroy()
      })
    }
    const server = createServer((near) => {
      if (state === "refusing") return void near.resetAndDestroy()
      const far = connect(to, "127.0.0.1")
      for (const socket of [near, far]) {
        socket.setNoDelay(true)
        sockets.add(socket)
      }
      pipe(near, far)
      pipe(far, near)
      if (state === "silent") for (const socket of [near, far]) socket.pause()
    })
    yield* Effect.acquireRelease(
      Effect.promise(() => new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))),
      () =>
        Effect.sync(() => {
          server.close()
          for (const socket of sockets) socket.destroy()
        })
    )
    const address = server.address()
    return {
      port: typeof address === "object" && address !== null ? address.port : 0,
      set: (next) => {
        state = next
        for (const socket of sockets) {
          if (next === "open") socket.resume()
          else if (next === "silent") socket.pause()
          else socket.resetAndDestroy()
        }
      },
      delay: (millis) => {
        wait = millis
      }
    }
  })
