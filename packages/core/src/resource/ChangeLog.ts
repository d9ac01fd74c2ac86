/**
 * What was changed in a set of resources, as far back as a bounded log reaches: a stream whose cursor is in it is sent what changed since,
 * without comparing names.
 *
 * @since 0.1.0
 */
import type { Cursor } from "./Cursor.js"
import * as Digest from "./Digest.js"
import type { Resource } from "./Resource.js"

/**
 * One change of a set: the names it touched and what was there before.
 *
 * @since 0.1.0
 */
export interface LogEntry {
  /** Digest of the content that was changed. Its revision follows from the place in the log. */
  readonly from: Digest.Digest
  readonly before: ReadonlyMap<string, Resource | undefined>
}

/**
 * Whether a change led on from a cursor, if that has the revision of the change.
 *
 * @since 0.1.0
 */
export const isFrom = ({ from }: LogEntry, { digest }: Cursor): boolean =>
  digest !== undefined && Digest.equals(from, digest)

/**
 * The changes of a set, up to its revision.
 *
 * @since 0.1.0
 */
export interface ChangeLog {
  /** Changes, oldest first. */
  readonly log: ReadonlyArray<LogEntry>
  /** The changes after those. Few, because every change copies them. */
  readonly recent: ReadonlyArray<LogEntry>
  /** Number of names in both, for their bound. */
  readonly logged: number
}

/**
 * The log of a set that was not changed, or whose changes are nobody's business.
 *
 * @since 0.1.0
 */
export const empty: ChangeLog = { log: [], recent: [], logged: 0 }

/**
 * Whether, as far as the log goes back, there was a resource of that very name.
 *
 * @since 0.1.0
 */
export const hadOwn = ({ log, recent }: ChangeLog, name: string): boolean => {
  const isOf = ({ before }: LogEntry) => before.get(name) !== undefined
  return recent.some(isOf) || log.some(isOf)
}

/**
 * The changes of a set since a cursor, oldest first, with the names that only have a new label. `undefined`: the log does not
 * reach back that far.
 *
 * @since 0.1.0
 */
export const changesSince = (
  self: ChangeLog & { readonly cursor: Cursor },
  since: Cursor
): ReadonlyArray<LogEntry> | undefined => {
  const steps = self.cursor.revision - since.revision
  const entries = steps > self.recent.length ? [...self.log, ...self.recent] : self.recent
  const start = entries.length - steps
  const first = entries[start]
  if (first === undefined || !isFrom(first, since)) return undefined
  return start === 0 ? entries : entries.slice(start)
}

/** Most changes a log keeps. At fifty changes a second a stream may lag for ten seconds before names are compared. */
const maxLogEntries = 512
/** Most names a log keeps, unless the last change alone has more. */
const maxLoggedNames = 8192
/** Changes after which what is recent goes into the log, which is copied then. */
const maxRecentEntries = 32

/**
 * A log with a change more. The last change stays, however large it is.
 *
 * @since 0.1.0
 */
export const withChange = ({ log, logged, recent }: ChangeLog, entry: LogEntry): ChangeLog => {
  const entries = [...recent, entry]
  const names = logged + entry.before.size
  return entries.length < maxRecentEntries && names <= maxLoggedNames
    ? { log, recent: entries, logged: names }
    : shortened([...log, ...entries], names)
}

/** A log within its bounds, with room for what is recent next. */
const shortened = (log: ReadonlyArray<LogEntry>, logged: number): ChangeLog => {
  let left = logged
  let drop = 0
  while (log.length - drop > 1 && (log.length - drop > maxLogEntries - maxRecentEntries || left > maxLoggedNames)) {
    left -= log[drop]?.before.size ?? 0
    drop++
  }
  return { log: log.slice(drop), recent: [], logged: left }
}
