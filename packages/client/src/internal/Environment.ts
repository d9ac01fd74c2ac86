/**
 * What the driver uses of the surrounding program. If a tracer or random source of the program throws or returns
 * nonsense, that is logged, and the client goes on without it.
 */
import type * as Client from "@effect-xds/core/client/Client"
import * as Reason from "@effect-xds/proto/Reason"
import type * as ClientTransport from "@effect-xds/transport/ClientTransport"
import type * as EventLoop from "@effect-xds/transport/EventLoop"
import * as LogThrottle from "@effect-xds/transport-node/LogThrottle"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as LogLevel from "effect/LogLevel"
import * as Random from "effect/Random"
import * as Runtime from "effect/Runtime"

/** A server: its id and features for the core, its address for messages, and its channel. */
export interface ServerLink {
  readonly server: Client.Server
  readonly address: string
  readonly channel: ClientTransport.Channel
}

/** The trace of one stream. */
export interface StreamSpan {
  readonly end: (reason: string) => void
}

export interface Environment {
  /** By the id of the server. */
  readonly servers: ReadonlyMap<string, ServerLink>
  /** Milliseconds of a monotonic clock. */
  readonly now: () => number
  /** In [0, 1). */
  readonly random: () => number
  readonly alarm: (at: number) => void
  /** For work that is put off. */
  readonly loop: EventLoop.Service
  readonly log: LogThrottle.LogThrottle
  readonly span: (attributes: Record<string, unknown>) => StreamSpan
}

/** The part of the environment that comes from an Effect runtime. */
export const fromRuntime = (
  runtime: Runtime.Runtime<never>,
  now: () => number,
  nanos: () => bigint
): Pick<Environment, "log" | "now" | "random" | "span"> => {
  const log = LogThrottle.make(runtime, now)
  const complain = (culprit: string, cause: unknown): void =>
    log(LogLevel.Error, `defect ${culprit}`, `${culprit} failed: ${Reason.of(cause)}`, Cause.die(cause))
  return {
    now,
    log,
    random: () => {
      try {
        const random: unknown = Runtime.runSync(runtime)(Random.next)
        if (typeof random === "number" && random >= 0 && random < 1) return random
        complain("Random", `${Reason.of(random)} is not in [0, 1)`)
      } catch (cause) {
        complain("Random", cause)
      }
      return 0.5
    },
    span: (attributes) => {
      const guarded = (work: () => void): void => {
        try {
          work()
        } catch (cause) {
          complain("the tracer", cause)
        }
      }
      let end: StreamSpan["end"] = () => undefined
      guarded(() => {
        const span = Runtime.runSync(runtime)(
          Effect.makeSpan("xds.client.stream", { attributes, root: true, kind: "client", captureStackTrace: false })
        )
        end = (reason) =>
          guarded(() => {
            span.attribute("xds.end", reason)
            span.end(nanos(), Exit.void)
          })
      })
      return { end }
    }
  }
}
