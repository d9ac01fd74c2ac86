/**
 * What a {@link RestClient} counts. How many resources are in which state is counted by the client itself.
 *
 * @since 0.1.0
 */
import * as Metric from "effect/Metric"
import type * as MetricKeyType from "effect/MetricKeyType"

/**
 * How a poll ended: with a response, with 304, in an error, or given up because something else was asked for.
 *
 * @since 0.1.0
 */
export type Outcome = "changed" | "unchanged" | "failed" | "aborted"

const ended = Metric.counter("xds_rest_client_polls_total", { description: "Polls that ended", incremental: true })

/**
 * Polls that ended: a counter with the tag `outcome`.
 *
 * @since 0.1.0
 */
export const polls = (
  outcome: Outcome
): Metric.Metric<MetricKeyType.MetricKeyType.Counter<number>, number, { readonly count: number }> =>
  Metric.tagged(ended, "outcome", outcome)
