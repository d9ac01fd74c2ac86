/**
 * The metrics of a {@link RestClient}. Those of resource states belong to the client.
 *
 * @since 0.1.0
 */
import * as Metric from "effect/Metric"
import type * as MetricKeyType from "effect/MetricKeyType"

/**
 * How a poll ended: with a response, with 304, with an error, or aborted because the subscription changed.
 *
 * @since 0.1.0
 */
export type Outcome = "changed" | "unchanged" | "failed" | "aborted"

const ended = Metric.counter("xds_rest_client_polls_total", { description: "Polls that ended", incremental: true })

/**
 * Finished polls: a counter with the tag `outcome`.
 *
 * @since 0.1.0
 */
export const polls = (
  outcome: Outcome
): Metric.Metric<MetricKeyType.MetricKeyType.Counter<number>, number, { readonly count: number }> =>
  Metric.tagged(ended, "outcome", outcome)
