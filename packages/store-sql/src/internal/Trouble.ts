/** Why the log cannot be read or written, as the parts of a store tell each other. */
import type { SqlError } from "@effect/sql/SqlError"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"

/**
 * - `Away`: the database does not answer, or failed; it is tried again
 * - `Busy`: another process holds what a change needs; it is tried again
 * - `Damaged`: a row cannot be read, or is not what its writer wrote
 * - `Diverged`: the database is not a continuation of what this process has
 * - `Later`: a later version of this package made the tables
 * - `Refused`: the database does not take a row; it would not the next time
 */
export class Trouble extends Data.TaggedError("Trouble")<{
  readonly kind: "Away" | "Busy" | "Damaged" | "Diverged" | "Later" | "Refused"
  readonly detail: string
}> {}

const codeOf = (cause: unknown): string | undefined => {
  if (typeof cause !== "object" || cause === null || !("code" in cause)) return undefined
  return typeof cause.code === "string" ? cause.code : undefined
}

/** Messages of drivers repeat neither values nor passwords, but may have several lines. */
const wordsOf = (cause: unknown): string => {
  const text = cause instanceof Error ? cause.message : String(cause)
  const code = codeOf(cause)
  const line = text.replaceAll(/\s+/g, " ").slice(0, 300)
  return line === "" ? (code ?? "it failed without a word") : line
}

const advice: Readonly<Record<string, string | undefined>> = {
  SQLITE_FULL: "; make room on the disk",
  SQLITE_READONLY: "; let this process write the file and its folder",
  SQLITE_CANTOPEN: "; see that the folder exists, and that this process may write it",
  // Of what is in an index only the name of a group may be long.
  "54000": "; give the group a shorter name",
  "53100": "; make room on the database's disk",
  "25006": "; it is a standby: give the address of the primary",
  "28P01": "; mend the password in the URL",
  "28000": "; mend the user in the URL",
  "3D000": "; create the database first",
  "42501": "; let this user create and write tables there"
}

const damage = new Set(["SQLITE_CORRUPT", "SQLITE_NOTADB"])

/** Lock not available, serialization failure, deadlock. */
const waits = new Set(["55P03", "40001", "40P01"])

/** A value that is too large, or breaks a constraint. PostgreSQL: a class of codes; SQLite: the beginning of a name. */
const refusals = new Set(["22", "23", "54"])
const isRefusal = (code: string): boolean =>
  /^[0-9A-Z]{5}$/.test(code) ? refusals.has(code.slice(0, 2)) : /^SQLITE_(CONSTRAINT|TOOBIG|MISMATCH)/.test(code)

/** The trouble behind an error of SQL. */
export const of = (error: SqlError): Trouble => {
  const { cause } = error
  const code = codeOf(cause)
  const busy = code !== undefined && (/^SQLITE_(BUSY|LOCKED)/.test(code) || waits.has(code))
  const words = cause === undefined ? error.message : wordsOf(cause)
  if (code !== undefined && damage.has(code.split("_").slice(0, 2).join("_"))) {
    return new Trouble({ kind: "Damaged", detail: `${words}; restore the file from a backup, or move it away` })
  }
  const refused = code !== undefined && isRefusal(code)
  return new Trouble({
    kind: busy ? "Busy" : refused ? "Refused" : "Away",
    detail: `${words}${code === undefined ? "" : (advice[code] ?? "")}`
  })
}

/** A mistake of ours, or of what is given to us, is a trouble as well: the loop that meets it goes on, and tells it. */
export const orDefect = <A, E>(work: Effect.Effect<A, E>): Effect.Effect<A, E | Trouble> =>
  Effect.catchAllDefect(work, (defect) =>
    Effect.fail(new Trouble({ kind: "Away", detail: `a defect: ${wordsOf(defect)}; please report it` }))
  )
