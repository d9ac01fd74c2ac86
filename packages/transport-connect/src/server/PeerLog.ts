/** Log lines of a server about its peers. */
import * as LogThrottle from "@effect-xds/transport-node/LogThrottle"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as FiberRef from "effect/FiberRef"
import * as FiberRefs from "effect/FiberRefs"
import * as LogLevel from "effect/LogLevel"
import * as Runtime from "effect/Runtime"

export class PeerLog {
  readonly #fork: (effect: Effect.Effect<void>) => void
  readonly #throttle: LogThrottle.LogThrottle
  /** To find out that a line is not wanted takes Effect as long as a third of a new connection. */
  readonly #isDebugging: boolean

  constructor(runtime: Runtime.Runtime<never>) {
    const least = FiberRefs.getOrDefault(runtime.fiberRefs, FiberRef.currentMinimumLogLevel)
    this.#isDebugging = LogLevel.lessThanEqual(least, LogLevel.Debug)
    const fork = Runtime.runFork(runtime)
    this.#fork = (effect) => void fork(effect)
    this.#throttle = LogThrottle.make(runtime, () => performance.now())
  }

  debug(message: string, annotations: Record<string, unknown>): void {
    if (this.#isDebugging) this.#fork(Effect.annotateLogs(Effect.logDebug(message), annotations))
  }

  info(message: string): void {
    this.#fork(Effect.logInfo(message))
  }

  /** One line per peer and reason in a minute: a refused peer may retry at once, without end. */
  warn(message: string, annotations: Readonly<Record<string, string>>): void {
    const { peer = "", reason = "" } = annotations
    const host = peer.slice(0, Math.max(0, peer.lastIndexOf(":")))
    this.#throttle(LogLevel.Warning, `${message} ${host} ${reason}`, message, undefined, annotations)
  }

  /** Logs a defect of the application's code. */
  defect(message: string, defect: unknown, annotations: Record<string, unknown>): void {
    this.#fork(Effect.annotateLogs(Effect.logError(message, Cause.die(defect)), annotations))
  }
}
