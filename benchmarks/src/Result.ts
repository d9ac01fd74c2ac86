/** What cases measure. */
import type { Peer } from "./Peer.js"

type Unit = "ms" | "µs" | "KB" | "MB"

/** The figures of one peer: one for each repeat; or why there are none. */
export type Measurement =
  | { readonly _tag: "Measured"; readonly values: ReadonlyArray<number>; readonly note?: string | undefined }
  | { readonly _tag: "Failed"; readonly reason: string }
  | { readonly _tag: "Missing"; readonly reason: string }

/** What ours is to be at most. */
export type Target =
  /** So many times the figure of another. */
  | { readonly _tag: "Ratio"; readonly peer: Peer; readonly atMost: number }
  | { readonly _tag: "Value"; readonly atMost: number }
  /** So many times our own figure in another row. */
  | { readonly _tag: "Row"; readonly row: string; readonly atMost: number }

export interface Row {
  /** Unique within the case. */
  readonly label: string
  /** What the figure is: "server CPU per update". */
  readonly figure: string
  readonly unit: Unit
  readonly measurements: Partial<Record<Peer, Measurement>>
  readonly targets: ReadonlyArray<Target>
  /** A ratio says nothing of it: a difference, which may be zero. */
  readonly isDifference?: boolean | undefined
  readonly notes: ReadonlyArray<string>
}

export interface CaseResult {
  readonly name: string
  readonly title: string
  readonly seconds: number
  readonly rows: ReadonlyArray<Row>
}

export const median = (values: ReadonlyArray<number>): number => {
  const sorted = [...values].sort((left, right) => left - right)
  const middle = Math.floor(sorted.length / 2)
  const upper = sorted[middle] ?? Number.NaN
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2
}

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
