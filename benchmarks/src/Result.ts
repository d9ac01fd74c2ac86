/** What cases measure: schemas, because a file holds it and is read again. */
import * as Schema from "effect/Schema"
import type { Peer } from "./Peer.js"
import { peerTitles } from "./Peer.js"

const PeerName = Schema.String.pipe(Schema.filter((name): name is Peer => name in peerTitles))

const Unit = Schema.Literal("ms", "µs", "KB", "MB")

/** The figures of one peer: one for each repeat; or why there are none. */
const Measurement = Schema.Union(
  Schema.TaggedStruct("Measured", { values: Schema.Array(Schema.Number), note: Schema.optional(Schema.String) }),
  Schema.TaggedStruct("Failed", { reason: Schema.String }),
  Schema.TaggedStruct("Missing", { reason: Schema.String })
)
export type Measurement = typeof Measurement.Type

/** What ours is to be at most: so many times another's figure, a value, or so many times our own in another row. */
const Target = Schema.Union(
  Schema.TaggedStruct("Ratio", { peer: PeerName, atMost: Schema.Number }),
  Schema.TaggedStruct("Value", { atMost: Schema.Number }),
  Schema.TaggedStruct("Row", { row: Schema.String, atMost: Schema.Number })
)
export type Target = typeof Target.Type

const Row = Schema.Struct({
  /** Unique within the case. */
  label: Schema.String,
  /** What the figure is: "server CPU per update". */
  figure: Schema.String,
  unit: Unit,
  measurements: Schema.partial(Schema.Record({ key: PeerName, value: Measurement })),
  targets: Schema.Array(Target),
  /** A ratio says nothing of it: a difference, which may be zero. */
  isDifference: Schema.optional(Schema.Boolean),
  notes: Schema.Array(Schema.String)
})
export type Row = typeof Row.Type

export const CaseResult = Schema.Struct({
  name: Schema.String,
  title: Schema.String,
  /** The machine's load of the minute before. */
  loadBefore: Schema.Number,
  seconds: Schema.Number,
  rows: Schema.Array(Row)
})
export type CaseResult = typeof CaseResult.Type

export const median = (values: ReadonlyArray<number>): number => {
  const sorted = [...values].sort((left, right) => left - right)
  const middle = Math.floor(sorted.length / 2)
  const upper = sorted[middle] ?? Number.NaN
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2
}

/** One more round of the same: what was measured in both, or why one was not. */
export const both = (earlier: Measurement | undefined, later: Measurement): Measurement =>
  earlier?._tag === "Measured" && later._tag === "Measured"
    ? { ...later, values: [...earlier.values, ...later.values] }
    : earlier === undefined || earlier._tag === "Measured"
      ? later
      : earlier

/** The median of what was measured. */
export const figureOf = (measurement: Measurement | undefined): number | undefined =>
  measurement?._tag === "Measured" && measurement.values.length > 0 ? median(measurement.values) : undefined

/** Whether a target is met; `undefined` if one side was not measured. */
export const isMet = (target: Target, row: Row, rows: ReadonlyArray<Row>): boolean | undefined => {
  const ours = figureOf(row.measurements.ours ?? row.measurements.transport)
  const limit = limitOf(target, row, rows)
  return ours === undefined || limit === undefined ? undefined : ours <= limit
}

const limitOf = (target: Target, row: Row, rows: ReadonlyArray<Row>): number | undefined => {
  const times = (figure: number | undefined): number | undefined =>
    figure === undefined ? undefined : figure * target.atMost
  switch (target._tag) {
    case "Value":
      return target.atMost
    case "Ratio":
      return times(figureOf(row.measurements[target.peer]))
    case "Row":
      return times(figureOf(rows.find(({ label }) => label === target.row)?.measurements.ours))
  }
}
