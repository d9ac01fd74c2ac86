/**
 * The log of the changes of a resource set, bounded. A stream whose cursor lies within it is sent the changes since, without
 * comparing names.
 *
 * @since 0.1.0
 */
import type { Cursor } from "./Cursor.js"
import * as Digest from "./Digest.js"
import type { Resource } from "./Resource.js"

/**
 * One change of a set: the names that it touched, each with its resource before.
 *
 * @since 0.1.0
 */
export interface LogEntry {
  /** Digest of the content before the change. The revision follows from the place in the log. */
  readonly from: Digest.Digest
  readonly before: ReadonlyMap<string, Resource | undefined>
}

/**
 * Whether a change started at a cursor. The cursor must have the revision of the change.
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
  /** The changes after `log`. Few, because every change copies this array. */
  readonly recent: ReadonlyArray<LogEntry>
  /** Number of names in `log` and `recent`, which is bounded. */
  readonly logged: number
}

/**
 * The log of a set without changes.
 *
 * @since 0.1.0
 */
export const empty: ChangeLog = { log: [], recent: [], logged: 0 }

/**
 * Whether the log shows that a resource had an alias at a version made from its content.
 *
 * @since 0.1.0
 */
export const hadAlias = ({ log, recent }: ChangeLog, name: string, alias: string, version: string): boolean => {
  const isOf = ({ before }: LogEntry) => {
    const resource = before.get(name)
    return resource?.fingerprint === version && resource.version === version && resource.aliases.includes(alias)
  }
  return recent.some(isOf) || log.some(isOf)
}

/**
 * The changes of a set since a cursor, oldest first, and the names that only have a new label. `undefined`: the log does not
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

/** Most changes in a log. At fifty changes a second a stream may lag by ten seconds before names are compared. */
const maxLogEntries = 512
/** Most names in a log, unless the last change alone has more. */
const maxLoggedNames = 8192
/** Most changes in `recent`. Then they move to `log`, which is copied. */
const maxRecentEntries = 32

/**
 * A log with one more change. The last change stays, however large it is.
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

/** A log within its bounds, with room for the next recent changes. */
const shortened = (log: ReadonlyArray<LogEntry>, logged: number): ChangeLog => {
  let left = logged
  let drop = 0
  while (log.length - drop > 1 && (log.length - drop > maxLogEntries - maxRecentEntries || left > maxLoggedNames)) {
    left -= log[drop]?.before.size ?? 0
    drop++
  }
  return { log: log.slice(drop), recent: [], logged: left }
}
