/** The results as a table, for the terminal and for docs/performance.md. */
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { existsSync, readFileSync, writeFileSync } from "node:fs"
import { format } from "./Bench.js"
import { Machine } from "./Machine.js"
import type { Peer } from "./Peer.js"
import { peerTitles } from "./Peer.js"
import type { Measurement, Row, Target } from "./Result.js"
import { CaseResult, figureOf, isMet, median } from "./Result.js"

const Report = Schema.Struct({
  date: Schema.String,
  quick: Schema.Boolean,
  repeats: Schema.Number,
  machine: Machine,
  versions: Schema.Record({ key: Schema.String, value: Schema.String }),
  cases: Schema.Array(CaseResult)
})
export type Report = typeof Report.Type

const decodeReport = Schema.decodeUnknownOption(Schema.parseJson(Report))

/** What a file of `--json` has from an earlier run, if it is of the same machine, versions and sizes. */
export const earlier = (path: string, now: Report): Option.Option<Report> =>
  existsSync(path)
    ? Option.filter(decodeReport(readFileSync(path, "utf8")), (then) => {
        const key = ({ machine, quick, repeats, versions }: Report): string =>
          JSON.stringify([machine, quick, repeats, Object.keys(now.versions).map((name) => versions[name])])
        return key(then) === key(now)
      })
    : Option.none()

const others: ReadonlyArray<Peer> = [
  "before",
  "gcp-snapshot",
  "gcp-linear",
  "bare",
  "grpc-js",
  "protobuf-es",
  "grpc-js-xds"
]

const oursOf = (row: Row): Measurement | undefined => row.measurements.ours ?? row.measurements.transport

const times = (value: number): string => (value < 0.5 && value > 0 ? `1/${format(1 / value)}` : `${format(value)} ×`)

/** The same for a limit: 1/40, not 1/40.0. */
const limit = (value: number): string =>
  value < 0.5 ? `1/${String(Math.round(1 / value))} of` : value === 1 ? "" : `${String(value)} ×`

const spread = (values: ReadonlyArray<number>): string =>
  values.length < 2 ? "" : ` (${format(Math.min(...values))}–${format(Math.max(...values))})`

/**
 * What the ratio was in each round, and the median of them: who takes turns with us has seen the same moments of the
 * machine as we have, so this says more than the ratio of two medians when the machine has fast and slow minutes.
 */
const roundRatios = (ours: Measurement | undefined, before: Measurement): string => {
  if (ours?._tag !== "Measured" || before._tag !== "Measured") return ""
  if (ours.values.length < 2 || ours.values.length !== before.values.length) return ""
  const ratios = before.values.flatMap((value, round) => {
    const own = ours.values[round]
    return own !== undefined && own > 0 && value > 0 ? [own / value] : []
  })
  return ratios.length < 2 ? "" : `, by rounds ${times(median(ratios))}${spread(ratios)}`
}

const cell = (row: Row, measurement: Measurement | undefined, peer: Peer): string => {
  switch (measurement?._tag) {
    case undefined:
      return ""
    case "Failed":
      return `failed: ${measurement.reason}`
    case "Missing":
      return "missing"
    case "Measured": {
      const figure = figureOf(measurement)
      if (figure === undefined) return ""
      const ours = figureOf(oursOf(row))
      const text = `${format(figure)} ${row.unit}${spread(measurement.values)}`
      return oursOf(row) === measurement || row.isDifference === true || ours === undefined || figure <= 0 || ours <= 0
        ? text
        : `${text}; ours ${times(ours / figure)}${peer === "before" ? roundRatios(oursOf(row), measurement) : ""}`
    }
  }
}

const targetText = (target: Target, row: Row): string => {
  switch (target._tag) {
    case "Ratio":
      return ["≤", limit(target.atMost), peerTitles[target.peer]].filter((part) => part !== "").join(" ")
    case "Value":
      return `≤ ${target.atMost} ${row.unit}`
    case "Row":
      return `≤ ${limit(target.atMost)} ours with ${target.row}`
  }
}

const verdict = (target: Target, row: Row, rows: ReadonlyArray<Row>): string => {
  const met = isMet(target, row, rows)
  return `${targetText(target, row)}: ${met === undefined ? "not measured" : met ? "met" : "**missed**"}`
}

/** What failed, in words. */
export const failures = (cases: ReadonlyArray<CaseResult>): ReadonlyArray<string> =>
  cases.flatMap(({ name, rows }) =>
    rows.flatMap(({ label, measurements }) =>
      Object.entries(measurements).flatMap(([peer, measurement]) =>
        measurement?._tag === "Failed" ? [`${name}, ${label}, ${peer}: ${measurement.reason}`] : []
      )
    )
  )

/** Why peers are missing, each reason once. */
const missing = (cases: ReadonlyArray<CaseResult>): ReadonlyArray<string> => {
  const reasons = cases.flatMap(({ rows }) =>
    rows.flatMap(({ measurements }) =>
      Object.values(measurements).flatMap((measurement) =>
        measurement?._tag === "Missing" ? [measurement.reason] : []
      )
    )
  )
  return [...new Set(reasons)].map((reason) => `Missing is go-control-plane: ${reason}`)
}

const about = (report: Report): ReadonlyArray<string> => {
  const { machine, quick, repeats, versions } = report
  const list = Object.entries(versions).map(([name, version]) => `${name} ${version}`)
  const loads = report.cases.map(({ loadBefore }) => loadBefore)
  const range = [...new Set([Math.min(...loads), Math.max(...loads)])].map((load) => load.toFixed(2)).join(" to ")
  return [
    `Measured ${report.date.slice(0, 10)} on ${machine.cores} cores of ${machine.cpu}, ${machine.memoryGigabytes} GiB, ` +
      `Linux ${machine.kernel}; load in the minute before each case: ${range}.`,
    `${list.join(", ")}.`,
    `Medians of ${repeats} ${repeats === 1 ? "repeat" : "repeats"}, smallest and largest in parentheses` +
      `${quick ? "; **quick sizes: only an indication**" : ""}.`,
    ...missing(report.cases)
  ]
}

/** Markdown, between the markers of a page. */
const markdown = (report: Report): string => {
  const lines = about(report).map((line) => `- ${line}`)
  for (const { name, rows, title } of report.cases) {
    const columns = others.filter((peer) => rows.some((row) => row.measurements[peer] !== undefined))
    lines.push("", `### ${name}`, "", `${title.charAt(0).toUpperCase()}${title.slice(1)}.`, "")
    lines.push(`| | ours | ${[...columns.map((peer) => peerTitles[peer]), "target"].join(" | ")} |`)
    lines.push(`|---|---|${"---|".repeat(columns.length + 1)}`)
    for (const row of rows) {
      const cells = [
        `${row.label}: ${row.figure}`,
        cell(row, oursOf(row), "ours"),
        ...columns.map((peer) => cell(row, row.measurements[peer], peer)),
        row.targets.map((target) => verdict(target, row, rows)).join("<br>")
      ]
      lines.push(`| ${cells.map((text) => text.replaceAll("|", "\\|")).join(" | ")} |`)
    }
    const notes = rows.flatMap((row) => row.notes.map((note) => `- ${row.label}: ${note}`))
    if (notes.length > 0) lines.push("", ...notes)
  }
  return lines
    .join("\n")
    .replace(/\n\n- /g, "\n- ")
    .replace(/\|\n- /g, "|\n\n- ")
}

/** The same for the terminal. */
export const plain = (report: Report): string => {
  const lines = [...about(report)]
  for (const { name, rows, seconds, title } of report.cases) {
    lines.push("", `${name}: ${title} (${seconds.toFixed(0)} s)`)
    for (const row of rows) {
      lines.push(`  ${row.label}: ${row.figure}`)
      for (const peer of ["ours", "transport", ...others] as const) {
        const measurement = row.measurements[peer]
        if (measurement === undefined) continue
        lines.push(`    ${peerTitles[peer].padEnd(34)} ${cell(row, measurement, peer)}`)
      }
      for (const target of row.targets) lines.push(`    target ${verdict(target, row, rows).replaceAll("**", "")}`)
      for (const note of row.notes) lines.push(`    ${note}`)
    }
  }
  return lines.join("\n")
}

const begin = "<!-- bench: begin; written by `npm run bench -- --markdown` -->"
const end = "<!-- bench: end -->"

/** Puts the table between the markers of a page, which is made if it is not there. The rest of it stays. */
export const writeMarkdown = (path: string, report: Report): void => {
  const page = existsSync(path) ? readFileSync(path, "utf8") : `# Performance\n\n${begin}\n${end}\n`
  const from = page.indexOf(begin)
  const to = page.indexOf(end)
  const table = `${begin}\n\n${markdown(report)}\n\n`
  const written =
    from < 0 || to < from ? `${page.trimEnd()}\n\n${table}${end}\n` : page.slice(0, from) + table + page.slice(to)
  writeFileSync(path, written)
}
