/**
 * How long the event loop keeps work waiting: what a process does at once, everyone else waits for.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Metric from "effect/Metric"
import * as MetricBoundaries from "effect/MetricBoundaries"
import type * as Scope from "effect/Scope"

/**
 * Seconds by which the event loop was late, for each of the samples that are taken 50 times a second.
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
 * Measures until the scope closes. `AdminServer.make` and `AdminServer.layer` do it; who mounts `AdminApp` in a server of
 * their own runs it once.
 *
 * @since 0.1.0
 */
export const measure: Effect.Effect<void, never, Scope.Scope> = Effect.asVoid(
  Effect.acquireRelease(
    Effect.sync(() => {
      let last = performance.now()
      // Not `monitorEventLoopDelay`: after each reset, without which it cannot be read bit by bit, it loses the next sample.
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
