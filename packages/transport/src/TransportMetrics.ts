/**
 * Metrics that all server transports share.
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
 * The number of servers in this process that refuse new connections or streams because a limit is reached: a gauge with
 * the tag `limit`, the name of the option (`maxConnections`).
 *
 * @since 0.1.0
 */
export const refusing = (
  limit: string
): Metric.Metric<MetricKeyType.MetricKeyType.Gauge<number>, number, { readonly value: number }> =>
  Metric.tagged(gauge, "limit", limit)

/**
 * Whether one server has reached a limit. While it has, {@link refusing} counts it.
 *
 * @since 0.1.0
 */
export class Refusing {
  #is = false

  constructor(private readonly limit: string) {}

  /** Sets whether the limit is reached. */
  set(is: boolean): void {
    if (is === this.#is) return
    this.#is = is
    refusing(this.limit).unsafeModify(is ? 1 : -1, [])
  }
}

const bytes = Metric.gauge("xds_transport_client_bytes", {
  description: "Bytes that clients make the server hold before or beside what they are served"
})

/**
 * Bytes that clients make the server hold, by kind: a gauge with the tag `kind`.
 *
 * @since 0.1.0
 */
export const clientBytes = (
  kind: string
): Metric.Metric<MetricKeyType.MetricKeyType.Gauge<number>, number, { readonly value: number }> =>
  Metric.tagged(bytes, "kind", kind)

const evicted = Metric.counter("xds_transport_evictions_total", {
  description: "Clients that were ended since all together made the server hold too many bytes",
  incremental: true
})

/**
 * Clients that were ended to free memory for others, by kind: a counter with the tag `kind`.
 *
 * @since 0.1.0
 */
export const evictions = (
  kind: string
): Metric.Metric<MetricKeyType.MetricKeyType.Counter<number>, number, { readonly count: number }> =>
  Metric.tagged(evicted, "kind", kind)
