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

/** The change before which a set was at a revision so many changes ago. */
const entryAt = ({ log, recent }: ChangeLog, ago: number): LogEntry | undefined =>
  ago <= recent.length ? recent[recent.length - ago] : log[log.length + recent.length - ago]

/** How many changes ago a set was at a cursor; `undefined`: the log does not lead to it. */
const ageOf = (self: ChangeLog & { readonly cursor: Cursor }, since: Cursor): number | undefined => {
  const ago = self.cursor.revision - since.revision
  const first = entryAt(self, ago)
  return first !== undefined && isFrom(first, since) ? ago : undefined
}

/**
 * Number of names in the changes of a set since a cursor, counted up to `limit`. `undefined`: the log does not reach back that far.
 *
 * @since 0.1.0
 */
export const lengthSince = (
  self: ChangeLog & { readonly cursor: Cursor },
  since: Cursor,
  limit: number
): number | undefined => {
  const age = ageOf(self, since)
  if (age === undefined) return undefined
  let names = 0
  for (let ago = 1; ago <= age && names < limit; ago++) names += entryAt(self, ago)?.before.size ?? 0
  return Math.min(names, limit)
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
  const age = ageOf(self, since)
  if (age === undefined) return undefined
  const { log, recent } = self
  if (age <= recent.length) return recent.slice(recent.length - age)
  return [...log.slice(log.length + recent.length - age), ...recent]
}

/** Changes in a log of few resources. At fifty changes a second a stream may lag by ten seconds before names are compared. */
const fewLogEntries = 512
/** Most names in a log, unless the last change alone has more. */
const maxLoggedNames = 8192
/** Most changes in `recent`. Then they move to `log`, which is copied. */
const maxRecentEntries = 32

/** A log has as many changes as there are resources: then comparing these takes no longer. */
const maxLogEntries = (resources: number): number => Math.max(fewLogEntries, Math.min(resources, maxLoggedNames))

/**
 * A log with one more change, of a set of so many resources of its own. The last change stays, however large it is.
 *
 * @since 0.1.0
 */
export const withChange = ({ log, logged, recent }: ChangeLog, entry: LogEntry, resources: number): ChangeLog => {
  const entries = [...recent, entry]
  const names = logged + entry.before.size
  return entries.length < maxRecentEntries && names <= maxLoggedNames
    ? { log, recent: entries, logged: names }
    : shortened([...log, ...entries], names, maxLogEntries(resources) - maxRecentEntries)
}

/** A log within its bounds, with room for the next recent changes. */
const shortened = (log: ReadonlyArray<LogEntry>, logged: number, mostEntries: number): ChangeLog => {
  let left = logged
  let drop = 0
  while (log.length - drop > 1 && (log.length - drop > mostEntries || left > maxLoggedNames)) {
    left -= log[drop]?.before.size ?? 0
    drop++
  }
  return { log: log.slice(drop), recent: [], logged: left }
}
