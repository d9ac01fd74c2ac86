/**
 * Formats Effect's metrics in the text format of Prometheus, version 0.0.4.
 *
 * @see https://prometheus.io/docs/instrumenting/exposition_formats/#text-based-format
 * @since 0.1.0
 */
import type * as MetricPair from "effect/MetricPair"
import type * as MetricLabel from "effect/MetricLabel"
import * as MetricKeyType from "effect/MetricKeyType"
import * as MetricState from "effect/MetricState"
import * as Option from "effect/Option"

/**
 * The HTTP content type of the format.
 *
 * @since 0.1.0
 */
export const contentType = "text/plain; version=0.0.4; charset=utf-8"

const nameOf = (name: string): string => name.replace(/[^a-zA-Z0-9_:]/g, "_").replace(/^(?=[0-9])/, "_")

const labelNameOf = (name: string): string => name.replace(/[^a-zA-Z0-9_]/g, "_").replace(/^(?=[0-9])/, "_")

const escapeHelp = (text: string): string => text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n")

const escapeLabel = (text: string): string => escapeHelp(text).replaceAll('"', '\\"')

const numberOf = (value: number | bigint): string =>
  value === Number.POSITIVE_INFINITY ? "+Inf" : value === Number.NEGATIVE_INFINITY ? "-Inf" : String(value)

type Labels = ReadonlyArray<readonly [name: string, value: string]>

const labelsOf = (tags: ReadonlyArray<MetricLabel.MetricLabel>): Labels =>
  tags.map(({ key, value }) => [labelNameOf(key), value] as const)

const sample = (name: string, labels: Labels, value: number | bigint): string => {
  const inside = labels.map(([key, text]) => `${key}="${escapeLabel(text)}"`).join(",")
  return `${name}${inside === "" ? "" : `{${inside}}`} ${numberOf(value)}`
}

/** Prometheus counters never fall: a counter that may is a gauge. */
const isCounter = ({ metricKey, metricState }: MetricPair.MetricPair.Untyped): boolean =>
  MetricState.isCounterState(metricState)
    ? MetricKeyType.isCounterKey(metricKey.keyType) && metricKey.keyType.incremental
    : MetricState.isFrequencyState(metricState)

/** The common name of a metric's samples. */
const familyOf = (pair: MetricPair.MetricPair.Untyped): string => {
  const name = nameOf(pair.metricKey.name)
  return isCounter(pair) && !name.endsWith("_total") ? `${name}_total` : name
}

/** A metric's kind and samples. */
interface Rendered {
  readonly kind: "counter" | "gauge" | "histogram" | "summary"
  readonly samples: ReadonlyArray<string>
}

const render = (name: string, pair: MetricPair.MetricPair.Untyped): Rendered | undefined => {
  const { metricKey, metricState } = pair
  const labels = labelsOf(metricKey.tags)
  if (MetricState.isCounterState(metricState)) {
    return { kind: isCounter(pair) ? "counter" : "gauge", samples: [sample(name, labels, metricState.count)] }
  }
  if (MetricState.isGaugeState(metricState)) {
    return { kind: "gauge", samples: [sample(name, labels, metricState.value)] }
  }
  if (MetricState.isFrequencyState(metricState)) {
    const samples = Array.from(metricState.occurrences, ([key, count]) =>
      sample(name, [...labels, ["key", key]], count)
    )
    return { kind: "counter", samples }
  }
  if (MetricState.isHistogramState(metricState)) {
    const samples = metricState.buckets
      .filter(([boundary]) => boundary !== Number.POSITIVE_INFINITY)
      .map(([boundary, count]) => sample(`${name}_bucket`, [...labels, ["le", numberOf(boundary)]], count))
    return {
      kind: "histogram",
      samples: [
        ...samples,
        sample(`${name}_bucket`, [...labels, ["le", "+Inf"]], metricState.count),
        sample(`${name}_sum`, labels, metricState.sum),
        sample(`${name}_count`, labels, metricState.count)
      ]
    }
  }
  if (MetricState.isSummaryState(metricState)) {
    const samples = Array.from(metricState.quantiles, ([quantile, value]) =>
      sample(
        name,
        [...labels, ["quantile", numberOf(quantile)]],
        Option.getOrElse(value, () => Number.NaN)
      )
    )
    const total = [sample(`${name}_sum`, labels, metricState.sum), sample(`${name}_count`, labels, metricState.count)]
    return { kind: "summary", samples: [...samples, ...total] }
  }
  return undefined
}

/**
 * Formats the result of `Metric.snapshot` or `Metric.unsafeSnapshot`. Characters that Prometheus forbids in names
 * become `_`. Every counter's name ends in `_total`, which is added if it is missing.
 *
 * @example
 * import { PrometheusText } from "@effect-xds/admin"
 * import { Effect, Metric } from "effect"
 *
 * const text = Effect.map(Metric.snapshot, PrometheusText.format)
 *
 * @since 0.1.0
 */
export const format = (pairs: ReadonlyArray<MetricPair.MetricPair.Untyped>): string => {
  const families = new Map<string, { help: string; kind: Rendered["kind"]; samples: Array<string> }>()
  for (const pair of pairs) {
    const name = familyOf(pair)
    const rendered = render(name, pair)
    if (rendered === undefined) continue
    const help = Option.getOrElse(pair.metricKey.description, () => "")
    const family = families.get(name)
    if (family === undefined) {
      families.set(name, { help, kind: rendered.kind, samples: [...rendered.samples] })
    } else if (family.kind === rendered.kind) {
      for (const sample of rendered.samples) family.samples.push(sample)
    }
  }
  const lines: Array<string> = []
  for (const [name, { help, kind, samples }] of Array.from(families).sort(([one], [other]) => (one < other ? -1 : 1))) {
    if (help !== "") lines.push(`# HELP ${name} ${escapeHelp(help)}`)
    lines.push(`# TYPE ${name} ${kind}`)
    for (const sample of samples) lines.push(sample)
  }
  return lines.length === 0 ? "" : `${lines.join("\n")}\n`
}
