/**
 * Formats a status report as a table: one line per client and type, problems first.
 *
 * @since 0.1.0
 */
import * as Steps from "@effect-xds/core/Steps"
import * as Sorting from "./internal/Sorting.js"
import type { ClientStatus, StatusReport, TypeState, TypeStatus, Version } from "./StatusReport.js"

/**
 * The fields of a type in the table.
 *
 * @since 0.1.0
 */
export type ShownType = Pick<TypeStatus, "type" | "state" | "sent" | "acked" | "nacked" | "oversized_bytes">

/**
 * The fields of a client in the table.
 *
 * @since 0.1.0
 */
export interface ShownClient extends Pick<ClientStatus, "group" | "address" | "connected_at"> {
  readonly node: { readonly id: string } | null
  readonly types: ReadonlyArray<ShownType>
}

/**
 * The fields of a report in the table.
 *
 * @since 0.1.0
 */
export interface ShownReport extends Pick<StatusReport, "at" | "not_ready"> {
  readonly clients: ReadonlyArray<ShownClient>
}

/** States from worst to best, for sorting. */
const states: ReadonlyArray<TypeState> = ["nacked", "waiting", "sent", "asked", "acked"]

const heading = ["STATE", "SINCE", "NODE", "GROUP", "ADDRESS", "TYPE", "VERSION", "DETAIL"]

interface Row {
  readonly state: TypeState
  /** The cells of a row; the heading is not included. */
  readonly cells: ReadonlyArray<string>
}

/** Removes control characters, so that peers cannot move the cursor or forge lines. */
const oneLine = (text: string): string => text.replace(/[\p{Cc}\u2028\u2029]+/gu, " ")

/** The age: `12s`, `5m`, `3h`, `2d`. */
const age = (from: string, to: string): string => {
  const seconds = Math.max(0, Math.floor((Date.parse(to) - Date.parse(from)) / 1_000))
  const [divisor, unit] =
    seconds < 60 ? [1, "s"] : seconds < 3_600 ? [60, "m"] : seconds < 86_400 ? [3_600, "h"] : [86_400, "d"]
  return Number.isNaN(seconds) ? "?" : `${Math.floor(seconds / divisor)}${unit}`
}

/** The version that the state refers to. */
const versionOf = ({ acked, nacked, sent, state }: ShownType): Version | null =>
  state === "acked" ? acked : state === "nacked" ? nacked : sent

const detailOf = ({ acked, nacked, sent, state }: ShownType): string => {
  switch (state) {
    case "nacked":
      return `${nacked?.error.message ?? ""}${acked === null ? "; nothing was accepted yet" : `; accepted is ${acked.version}`}`
    case "waiting":
      return "its group is not set"
    case "asked":
      return "nothing sent yet"
    case "sent":
      return "not answered yet"
    case "acked":
      // An older response was rejected after the current one was accepted.
      return nacked !== null && sent !== null && nacked.at > sent.at ? `rejected also: ${nacked.error.message}` : ""
  }
}

const rowsOf = (client: ShownClient, at: string): ReadonlyArray<Row> => {
  const who = [client.node?.id ?? "?", client.group ?? "?", client.address]
  if (client.types.length === 0) {
    const cells = [age(client.connected_at, at), ...who, "-", "-", "nothing asked for yet"]
    return [{ state: "asked", cells }]
  }
  return client.types.map((type) => {
    const version = versionOf(type)
    const since = age(version?.at ?? client.connected_at, at)
    const name = version === null || version.version === "" ? "-" : version.version
    const size = type.oversized_bytes === null ? [] : [`${type.oversized_bytes} bytes, more than clients may take`]
    const detail = [detailOf(type), ...size].filter((part) => part !== "").join("; ")
    return { state: type.state, cells: [since, ...who, type.type, name, detail] }
  })
}

const columns = function* (rows: ReadonlyArray<ReadonlyArray<string>>): Steps.Steps<ReadonlyArray<string>> {
  const widths: Array<number> = []
  const lines: Array<string> = []
  let done = 0
  for (const row of rows) {
    row.forEach((cell, column) => (widths[column] = Math.max(widths[column] ?? 0, cell.length)))
    if (++done % Steps.atOnce === 0) yield
  }
  for (const row of rows) {
    const cells = row.map((cell, column) => cell.padEnd(widths[column] ?? 0))
    lines.push(cells.join("  ").trimEnd())
    if (++done % Steps.atOnce === 0) yield
  }
  return lines
}

/** By group, then by node. */
const inOrder: Sorting.Order<ReadonlyArray<string>> = (one, other) => {
  for (const column of [3, 2]) {
    const order = Sorting.byText(one[column] ?? "", other[column] ?? "")
    if (order !== 0) return order
  }
  return 0
}

const count = (number: number, what: string): string => `${number} ${what}${number === 1 ? "" : "s"}`

/**
 * The lines of the table, without line ends: first the reasons why the server is not ready, then the number of rows per
 * state, then one line per client and type. Rejections come first, then types that wait for a group, then unanswered
 * ones, then the others. Above `maxRows` the last rows are omitted; the last line says how many.
 *
 * @since 0.1.0
 */
export const lines = (report: ShownReport, maxRows = 10_000): ReadonlyArray<string> =>
  Steps.toEnd(linesInSteps(report, maxRows))

/** Clients in a step. */
const clientsAtOnce = 16

/**
 * {@link lines} in steps, for clients that may be made one after the other.
 *
 * @since 0.1.0
 */
export const linesInSteps = function* (
  { at, clients, not_ready }: Omit<ShownReport, "clients"> & { readonly clients: Iterable<ShownClient> },
  maxRows = 10_000
): Steps.Steps<ReadonlyArray<string>> {
  const byState = new Map<TypeState, Array<ReadonlyArray<string>>>(states.map((state) => [state, []]))
  const totals = new Map<TypeState, number>()
  let seen = 0
  for (const client of clients) {
    for (const { cells, state } of rowsOf(client, at)) {
      totals.set(state, (totals.get(state) ?? 0) + 1)
      const rows = byState.get(state)
      if (rows !== undefined && rows.length < maxRows) rows.push([state, ...cells.map(oneLine)])
    }
    if (++seen % clientsAtOnce === 0) yield
  }
  const rows: Array<ReadonlyArray<string>> = []
  for (const each of byState.values()) for (const row of yield* Sorting.sorted(each, inOrder)) rows.push(row)
  const shown = rows.slice(0, maxRows)
  const all = Array.from(totals.values()).reduce((sum, each) => sum + each, 0)
  const summary = states.flatMap((state) => (totals.has(state) ? [`${totals.get(state) ?? 0} ${state}`] : []))
  return [
    ...not_ready.map((reason) => `not ready: ${oneLine(reason)}`),
    seen === 0 ? "no clients" : `${count(seen, "client")}: ${summary.join(", ")}`,
    ...(shown.length === 0 ? [] : ["", ...(yield* columns([heading, ...shown]))]),
    ...(all > shown.length ? [`and ${all - shown.length} more`] : [])
  ]
}
