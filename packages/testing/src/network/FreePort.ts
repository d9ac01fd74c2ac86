/**
 * A TCP port for a server that is stopped and started again at it.
 *
 * @since 0.1.0
 */
import { Effect } from "effect"
import { createServer } from "node:net"

/**
 * The ports that no system hands out by itself: Linux gives those from 32 768 to whoever listens on port 0, and to the
 * near end of every connection, even of one that is tried to that very port; others give those from 49 152.
 */
const first = 20_000
const last = 32_767

const isFree = (port: number, address: string): Effect.Effect<boolean> =>
  Effect.async((resume) => {
    const server = createServer()
    server.once("error", (error: NodeJS.ErrnoException) =>
      resume(error.code === "EADDRINUSE" ? Effect.succeed(false) : Effect.die(error))
    )
    server.listen(port, address, () => server.close(() => resume(Effect.succeed(true))))
  })

/**
 * A port (20 000 to 32 767) at which nobody listens at an address of this machine (default: 127.0.0.1), and which the
 * system gives to nobody who asks for any. What port 0 gave may be somebody else's as soon as it is let go.
 *
 * @since 0.1.0
 */
export const any = (address = "127.0.0.1"): Effect.Effect<number> =>
  Effect.suspend(() => {
    const port = first + Math.floor(Math.random() * (last - first + 1))
    return Effect.flatMap(isFree(port, address), (free) => (free ? Effect.succeed(port) : any(address)))
  })
