/**
 * The log of the changes of a resource set, bounded. A stream whose cursor lies within it is sent the changes since, without
 * comparing names.
 *
 * @since 0.1.0
 */
import type { Before } from "./Before.js"
import type { Cursor } from "./Cursor.js"
import * as Digest from "./Digest.js"

/**
 * One change of a set: the names that it touched, each with its resource before.
 *
 * @since 0.1.0
 */
export interface LogEntry {
  /** Digest of the content before the change. The revision follows from the place in the log. */
  readonly from: Digest.Digest
  readonly before: Before
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
  /** Changes, oldest first, in blocks of 32; the first block may be shorter. */
  readonly blocks: ReadonlyArray<ReadonlyArray<LogEntry>>
  /** The changes after those. Fewer than a block, because every change copies this array. */
  readonly recent: ReadonlyArray<LogEntry>
  /** Number of names in all changes, which is bounded. */
  readonly logged: number
}

/** Changes in a block. */
const blockLength = 32

/**
 * The log of a set without changes.
 *
 * @since 0.1.0
 */
export const empty: ChangeLog = { blocks: [], recent: [], logged: 0 }

/**
 * All changes of a log, oldest first.
 *
 * @since 0.1.0
 */
export const entries = ({ blocks, recent }: ChangeLog): ReadonlyArray<LogEntry> => [...blocks.flat(), ...recent]

/**
 * Whether the log shows that a resource had an alias at a version made from its content.
 *
 * @since 0.1.0
 */
export const hadAlias = ({ blocks, recent }: ChangeLog, name: string, alias: string, version: string): boolean => {
  const isOf = ({ before }: LogEntry) => {
    const resource = before.get(name)
    return resource?.fingerprint === version && resource.version === version && resource.aliases.includes(alias)
  }
  return recent.some(isOf) || blocks.some((block) => block.some(isOf))
}

/** The change before which a set was at a revision so many changes ago. */
const entryAt = ({ blocks, recent }: ChangeLog, ago: number): LogEntry | undefined => {
  if (ago <= recent.length) return recent[recent.length - ago]
  // From the end, where each block is full.
  const before = ago - recent.length - 1
  return blocks[blocks.length - 1 - Math.floor(before / blockLength)]?.at(-1 - (before % blockLength))
}

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
  const { recent } = self
  if (age <= recent.length) return recent.slice(recent.length - age)
  const changes: Array<LogEntry> = []
  for (let ago = age; ago > 0; ago--) {
    const entry = entryAt(self, ago)
    if (entry !== undefined) changes.push(entry)
  }
  return changes
}

/** Changes in a log of few resources. At fifty changes a second a stream may lag by ten seconds before names are compared. */
const fewLogEntries = 512
/** Most names in a log, unless the last change alone has more. */
const maxLoggedNames = 8192

/** A log has as many changes as there are resources: then comparing these takes no longer. */
const maxLogEntries = (resources: number): number => Math.max(fewLogEntries, Math.min(resources, maxLoggedNames))

/**
 * A log with one more change, of a set of so many resources of its own. The last change stays, however large it is.
 *
 * @since 0.1.0
 */
export const withChange = ({ blocks, logged, recent }: ChangeLog, entry: LogEntry, resources: number): ChangeLog => {
  const next = [...recent, entry]
  const names = logged + entry.before.size
  const isFull = next.length === blockLength
  if (!isFull && names <= maxLoggedNames) return { blocks, recent: next, logged: names }
  // With room for the next block.
  const most = maxLogEntries(resources) - (isFull ? blockLength : 0)
  const { blocks: kept, logged: left } = shortened([...blocks, next], names, most)
  return isFull
    ? { blocks: kept, recent: [], logged: left }
    : { blocks: kept.slice(0, -1), recent: kept.at(-1) ?? [], logged: left }
}

/** Blocks without their oldest changes, within the bounds. */
const shortened = (blocks: ChangeLog["blocks"], names: number, most: number): Omit<ChangeLog, "recent"> => {
  let logged = names
  let count = 0
  for (const { length } of blocks) count += length
  /** The first block that is kept, and what is dropped of it. */
  let first = 0
  let drop = 0
  while (count > 1 && (count > most || logged > maxLoggedNames)) {
    const block = blocks[first] ?? []
    logged -= block[drop]?.before.size ?? 0
    count--
    if (++drop < block.length) continue
    first++
    drop = 0
  }
  const kept = blocks.slice(first)
  const [oldest] = kept
  if (drop > 0 && oldest !== undefined) kept[0] = oldest.slice(drop)
  return { blocks: kept, logged }
}
