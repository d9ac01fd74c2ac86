import { PrometheusText } from "@effect-xds/admin"
import { describe, expect, it } from "@effect/vitest"
import { Duration, Effect, Metric, MetricBoundaries } from "effect"

/** The lines about the metrics whose names begin so. */
const linesOf = (prefix: string) =>
  Effect.map(Metric.snapshot, (pairs) =>
    PrometheusText.format(pairs)
      .split("\n")
      .filter((line) => line.includes(prefix))
  )

describe("PrometheusText", () => {
  it.effect("writes counters and gauges with their tags", () =>
    Effect.gen(function* () {
      const hits = Metric.counter("text_hits", { description: "How often\nit was \\hit", incremental: true })
      yield* Metric.incrementBy(hits, 2)
      yield* Metric.incrementBy(Metric.tagged(hits, "place", 'a "b"\\\n'), 3)
      yield* Metric.set(Metric.gauge("text_level"), -1.5)
      yield* Metric.incrementBy(Metric.counter("text_open"), 4)
      yield* Metric.incrementBy(Metric.counter("text_big", { bigint: true, incremental: true }), 9007199254740993n)
      expect(yield* linesOf("text_hits")).toEqual([
        "# HELP text_hits_total How often\\nit was \\\\hit",
        "# TYPE text_hits_total counter",
        "text_hits_total 2",
        'text_hits_total{place="a \\"b\\"\\\\\\n"} 3'
      ])
      expect(yield* linesOf("text_level")).toEqual(["# TYPE text_level gauge", "text_level -1.5"])
      // It may fall, which a counter of Prometheus may not.
      expect(yield* linesOf("text_open")).toEqual(["# TYPE text_open gauge", "text_open 4"])
      expect(yield* linesOf("text_big")).toEqual(["# TYPE text_big_total counter", "text_big_total 9007199254740993"])
    })
  )

  it.effect("writes histograms with cumulative buckets, and summaries", () =>
    Effect.gen(function* () {
      const sizes = Metric.histogram("text_sizes", MetricBoundaries.fromIterable([1, 10]))
      for (const size of [0.5, 5, 7, 100]) yield* Metric.update(sizes, size)
      expect(yield* linesOf("text_sizes")).toEqual([
        "# TYPE text_sizes histogram",
        'text_sizes_bucket{le="1"} 1',
        'text_sizes_bucket{le="10"} 3',
        'text_sizes_bucket{le="+Inf"} 4',
        "text_sizes_sum 112.5",
        "text_sizes_count 4"
      ])
      const times = Metric.summary({
        name: "text_times",
        maxAge: Duration.minutes(1),
        maxSize: 100,
        error: 0.01,
        quantiles: [0.5]
      })
      yield* Metric.update(times, 4)
      expect(yield* linesOf("text_times")).toEqual([
        "# TYPE text_times summary",
        'text_times{quantile="0.5"} 4',
        "text_times_sum 4",
        "text_times_count 1"
      ])
    })
  )

  it.effect("makes names and frequencies fit", () =>
    Effect.gen(function* () {
      yield* Metric.increment(Metric.tagged(Metric.counter("text.dots-é", { incremental: true }), "a.b", "c"))
      expect(yield* linesOf("text_dots__")).toEqual([
        "# TYPE text_dots___total counter",
        'text_dots___total{a_b="c"} 1'
      ])
      yield* Metric.update(Metric.frequency("text_words"), "hello")
      expect(yield* linesOf("text_words")).toEqual([
        "# TYPE text_words_total counter",
        'text_words_total{key="hello"} 1'
      ])
    })
  )

  it.effect("does not put a second `_total` behind a counter", () =>
    Effect.gen(function* () {
      yield* Metric.increment(Metric.counter("text_sent_total", { incremental: true }))
      expect(yield* linesOf("text_sent")).toEqual(["# TYPE text_sent_total counter", "text_sent_total 1"])
    })
  )

  it.effect("tells one kind of what has one name: Prometheus refuses a text with two", () =>
    Effect.gen(function* () {
      yield* Metric.set(Metric.gauge("text_twice"), 1)
      yield* Metric.update(Metric.histogram("text_twice", MetricBoundaries.fromIterable([1])), 1)
      const lines = yield* linesOf("text_twice")
      const kind = /(?<=^# TYPE text_twice )\w+/.exec(lines[0] ?? "")?.[0]
      expect(lines.filter((line) => line.startsWith("#"))).toHaveLength(1)
      expect(lines.filter((line) => /^text_twice(?: |_)/.test(line))).toHaveLength(kind === "gauge" ? 1 : 4)
    })
  )

  it("is empty without metrics", () => {
    expect(PrometheusText.format([])).toBe("")
  })
})
