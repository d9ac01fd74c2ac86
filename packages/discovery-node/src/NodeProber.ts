/**
 * Probes over HTTP/1, HTTP/2, TCP and gRPC, all with `node:net` alone.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Prober, type Target } from "./Prober.js"
import * as SocketAddress from "./SocketAddress.js"
import { type Asker, network } from "./internal/Asker.js"
import * as Http1Asker from "./internal/Http1Asker.js"
import * as Http2Asker from "./internal/Http2Asker.js"
import * as TcpAsker from "./internal/TcpAsker.js"

/** Of an address that nobody can connect to. */
const unreachable = (why: string): Asker => ({
  ask: (_, done) => {
    done(network(why))
    return () => undefined
  },
  close: () => undefined
})

const askerOf = (target: Target): Asker => {
  const { address, probe, reuseConnection } = target
  const problem = SocketAddress.problemOf(SocketAddress.make(address))
  if (problem !== undefined) return unreachable(problem)
  switch (probe._tag) {
    case "Tcp":
      return TcpAsker.make(address, probe, reuseConnection)
    case "Grpc":
      return Http2Asker.make(target, probe)
    case "Http":
      return probe.codec === "HTTP2" ? Http2Asker.make(target, probe) : Http1Asker.make(target, probe)
  }
}

/**
 * A prober. It has no TLS.
 *
 * @since 0.1.0
 */
export const make: Prober = {
  open: (target) =>
    Effect.map(
      Effect.acquireRelease(
        Effect.sync(() => askerOf(target)),
        (asker) => Effect.sync(asker.close)
      ),
      (asker) => (isFresh) =>
        Effect.async((resume) => Effect.sync(asker.ask(isFresh, (result) => resume(Effect.succeed(result)))))
    )
}

/**
 * The service with the sockets of Node.
 *
 * @since 0.1.0
 */
export const layer: Layer.Layer<Prober> = Layer.succeed(Prober, make)
