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
  /** The number of connections that were made so far. */
  readonly made: () => number
}

/** Does one thing after the other, each after the delay of the moment in which it was added. */
const delayed = (delay: () => number) => {
  const queue: Array<{ readonly due: number; readonly act: () => void }> = []
  let timer: ReturnType<typeof setTimeout> | undefined
  const run = (): void => {
    timer = undefined
    for (let [first] = queue; first !== undefined; [first] = queue) {
      const left = first.due - performance.now()
      if (left > 0) {
        timer = setTimeout(run, Math.ceil(left))
        return
      }
      queue.shift()
      first.act()
    }
  }
  return {
    add: (act: () => void): void => {
      if (delay() === 0 && queue.length === 0) return act()
      queue.push({ due: performance.now() + delay(), act })
      timer ??= setTimeout(run, delay())
    },
    end: (): void => {
      clearTimeout(timer)
      queue.length = 0
    }
  }
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
    let made = 0
    const pipe = (from: Socket, into: Socket): void => {
      const inOrder = delayed(() => wait)
      from.on("data", (chunk: Buffer) =>
        inOrder.add(() => {
          if (!into.writable || into.write(chunk)) return
          from.pause()
          into.once("drain", () => {
            if (state !== "silent") from.resume()
          })
        })
      )
      from.on("end", () => inOrder.add(() => into.end()))
      from.on("error", () => undefined)
      from.on("close", (isReset) => {
        sockets.delete(from)
        if (isReset) inOrder.add(() => into.resetAndDestroy())
      })
      into.on("close", inOrder.end)
    }
    // One side may say that it ends, and read on.
    const server = createServer({ allowHalfOpen: true }, (near) => {
      made++
      if (state === "refusing") return void near.resetAndDestroy()
      const far = connect({ port: to, host: "127.0.0.1", allowHalfOpen: true })
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
      },
      made: () => made
    }
  })
