/**
 * The delay of the event loop: how long blocking work makes everything else wait.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Metric from "effect/Metric"
import * as MetricBoundaries from "effect/MetricBoundaries"
import type * as Scope from "effect/Scope"

/**
 * The delay of the event loop in seconds, sampled 50 times a second.
 *
 * @since 0.1.0
 */
export const delay = Metric.histogram(
  "xds_event_loop_delay_seconds",
  MetricBoundaries.fromIterable([0.001, 0.0025, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5]),
  "Seconds by which the event loop was late"
)

/** Milliseconds between two samples. */
const interval = 20

/**
 * Measures the delay until the scope closes. `AdminServer.make` and `AdminServer.layer` do this. A program that mounts
 * `AdminApp` itself must run it once.
 *
 * @since 0.1.0
 */
export const measure: Effect.Effect<void, never, Scope.Scope> = Effect.asVoid(
  Effect.acquireRelease(
    Effect.sync(() => {
      let last = performance.now()
      // Not `monitorEventLoopDelay`: reading it in intervals needs a reset, which loses the next sample.
      const timer = setInterval(() => {
        const now = performance.now()
        delay.unsafeUpdate(Math.max(0, now - last - interval) / 1_000, [])
        last = now
      }, interval)
      timer.unref()
      return timer
    }),
    (timer) => Effect.sync(() => clearInterval(timer))
  )
)
