/**
 * What every transport of a server tells alike.
 *
 * @since 0.1.0
 */
import * as Metric from "effect/Metric"
import type * as MetricKeyType from "effect/MetricKeyType"

/**
 * The name of {@link refusing}.
 *
 * @since 0.1.0
 */
export const refusingName = "xds_transport_refusing"

const gauge = Metric.gauge(refusingName, { description: "Limits that are reached, so that newcomers are refused now" })

/**
 * How many servers of this process refuse newcomers now, because a limit is reached: a gauge with the tag `limit`, which names
 * the option (`maxConnections`).
 *
 * @since 0.1.0
 */
export const refusing = (
  limit: string
): Metric.Metric<MetricKeyType.MetricKeyType.Gauge<number>, number, { readonly value: number }> =>
  Metric.tagged(gauge, "limit", limit)

/**
 * A limit that is told while it is reached.
 *
 * @since 0.1.0
 */
export class Refusing {
  #is = false

  constructor(private readonly limit: string) {}

  /** Somebody was refused, or there is room again. */
  set(is: boolean): void {
    if (is === this.#is) return
    this.#is = is
    refusing(this.limit).unsafeModify(is ? 1 : -1, [])
  }
}
