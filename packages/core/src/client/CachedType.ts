/**
 * The cached state of one type, and the draft in which a step changes it.
 *
 * @since 0.1.0
 */
import * as HashSet from "effect/HashSet"
import * as NameTrie from "../resource/NameTrie.js"
import * as Steps from "../Steps.js"
import * as Authority from "../protocol/Authority.js"
import * as Collection from "../protocol/Collection.js"
import * as StatusCode from "../protocol/StatusCode.js"
import type { ErrorDetail } from "../wire/Request.js"
import * as Ownerships from "./Ownership.js"
import type { ResponseOrder } from "./ResponseOrder.js"
import * as ResponseOrders from "./ResponseOrder.js"
import * as Retentions from "./Retention.js"

/**
 * The event that a watcher receives.
 *
 * @since 0.1.0
 */
export type Result =
  /** The resource is new or changed. */
  | {
      readonly _tag: "Updated"
      readonly value: unknown
      readonly version: string
      /** The name in the resource itself, if it was requested by an alias. */
      readonly ownName: string
    }
  /** The resource does not exist, or no longer does. Do not use it. */
  | { readonly _tag: "DoesNotExist"; readonly error: ErrorDetail }
  /** The resource is not available. Do not use the last one either. */
  | { readonly _tag: "Error"; readonly error: ErrorDetail }
  /** Something is wrong, but the last resource stays in use. */
  | { readonly _tag: "AmbientError"; readonly error: ErrorDetail }
  /** The ambient error is over. The last resource is current. */
  | { readonly _tag: "Recovered" }

/**
 * A result for watchers.
 *
 * @since 0.1.0
 */
export interface Notice {
  readonly typeUrl: string
  readonly name: string
  readonly watchers: ReadonlyArray<number>
  readonly result: Result
}

/**
 * A resource in use.
 *
 * @since 0.1.0
 */
export interface Held {
  /** Id of the server that sent it. */
  readonly server: string
  /** The name in the resource itself, if it was requested by an alias. */
  readonly ownName: string
  /** Incremental: the resource's version. State of the world: that of the response in which it last changed. */
  readonly version: string
  readonly value: unknown
  /** Keys that only one resource may have. */
  readonly keys: ReadonlyArray<string>
  /** The encoded resource, as received. */
  readonly bytes: Uint8Array
  /** In milliseconds, on the clock of the reducer. */
  readonly updatedAt: number
  /** End of its TTL in milliseconds; Infinity if it has none. */
  readonly expiresAt: number
  /** Whether it is told again when it comes again. */
  readonly isToldAgain: boolean
}

/**
 * The status of a resource, in the terms of CSDS.
 *
 * @since 0.1.0
 */
export type Status = "Requested" | "DoesNotExist" | "Acked" | "Nacked" | "ReceivedError" | "Timeout"

/**
 * The last failure of a resource.
 *
 * @since 0.1.0
 */
export interface Failure {
  readonly error: ErrorDetail
  /** The version that was rejected; empty if there was none. */
  readonly version: string
  /** Milliseconds. */
  readonly at: number
}

/**
 * The cached state of one resource.
 *
 * @since 0.1.0
 */
export interface Entry {
  readonly status: Status
  readonly held: Held | undefined
  readonly failure: Failure | undefined
  readonly watchers: HashSet.HashSet<number>
}

/**
 * The cached state of one type.
 *
 * @since 0.1.0
 */
export interface TypeCache {
  readonly entries: NameTrie.NameTrie<Entry>
  /** Number of entries that hold a resource. */
  readonly held: number
  /** Number of entries that were rejected and hold none. */
  readonly rejected: number
  /** Number of changes of {@link entries}. */
  readonly revision: number
  /** The order of resources in a server's last large response; exact only in that revision. */
  readonly order: ResponseOrder
  /** Watchers of `*`. */
  readonly watchers: HashSet.HashSet<number>
  /** Whether a glob collection was ever watched. Its watchers are in the entry of its name, which never holds a resource. */
  readonly collections: boolean
  /** Not later than the end of the first TTL, in milliseconds. */
  readonly expiresAt: number
  /** Resources without watchers that are kept for a while, by the stream that may still send them. */
  readonly retained: Retentions.Retention
  /** The server's error of `*`, which concerns the whole type. */
  readonly failure: Failure | undefined
  readonly ownership: Ownerships.Ownership
}

/**
 * The resources by type and name. Its fields are private.
 *
 * @since 0.1.0
 */
export interface ClientCache {
  readonly types: ReadonlyMap<string, TypeCache>
}

/**
 * The cache after a step, and the notices for watchers.
 *
 * @since 0.1.0
 */
export type Step = readonly [ClientCache, ReadonlyArray<Notice>]

const never = Number.POSITIVE_INFINITY
const { NOT_FOUND } = StatusCode.codes
const noWatchers = HashSet.empty<number>()
/**
 * No notices.
 *
 * @since 0.1.0
 */
export const noNotices: ReadonlyArray<Notice> = []
/**
 * The state of a type before anything is known.
 *
 * @since 0.1.0
 */
export const emptyType: TypeCache = {
  entries: NameTrie.empty(),
  held: 0,
  rejected: 0,
  revision: 0,
  order: ResponseOrders.none,
  watchers: noWatchers,
  collections: false,
  expiresAt: never,
  retained: Retentions.none,
  failure: undefined,
  ownership: Ownerships.none
}
/**
 * A requested resource that has not come yet.
 *
 * @since 0.1.0
 */
export const requested: Entry = { status: "Requested", held: undefined, failure: undefined, watchers: noWatchers }

/**
 * The state of a type.
 *
 * @since 0.1.0
 */
export const typeOf = (self: ClientCache, typeUrl: string): TypeCache => self.types.get(typeUrl) ?? emptyType

/**
 * The cache with another state of a type.
 *
 * @since 0.1.0
 */
export const put = (self: ClientCache, typeUrl: string, next: TypeCache): ClientCache => {
  const before = typeOf(self, typeUrl)
  const isSame = next.entries === before.entries
  const changed = isSame ? next : { ...next, revision: before.revision + 1 }
  return { types: new Map(self.types).set(typeUrl, withoutOldOrder(changed)) }
}

/** ★ Drops an order that is much longer than the entries: it would keep the resources of an old response in memory. */
const withoutOldOrder = (type: TypeCache): TypeCache => {
  const { entries, order } = type
  const most = 2 * entries.size + 16
  return order.places.length > most ? { ...type, order: ResponseOrders.none } : type
}

/**
 * Whether the client holds the resource, or members of the collection, or knows that it does not exist.
 *
 * @since 0.1.0
 */
export const isCached = (entry: Entry | undefined): boolean =>
  entry !== undefined && (entry.held !== undefined || entry.status === "DoesNotExist" || entry.status === "Acked")

/**
 * The name of the watched collection that brings a resource; `undefined` if there is none.
 *
 * @since 0.1.0
 */
export const collectionOf = ({ collections, entries }: TypeCache, name: string): string | undefined => {
  const glob = collections ? Collection.of(name) : undefined
  return glob !== undefined && entries.has(glob) ? glob : undefined
}

/**
 * Whether a wildcard or a collection with a watcher brings a resource.
 *
 * @since 0.1.0
 */
export const isBrought = (type: TypeCache, name: string): boolean =>
  (HashSet.size(type.watchers) > 0 && Authority.isInWildcard(name)) || collectionOf(type, name) !== undefined

const isHeld = ({ held }: Entry): boolean => held !== undefined

/**
 * Whether any member of a collection is held.
 *
 * @since 0.1.0
 */
export const hasMembers = (entries: Iterable<readonly [string, Entry]>, glob: string): boolean => {
  for (const [name, entry] of entries) if (isHeld(entry) && Collection.of(name) === glob) return true
  return false
}

/** How many members collections have. Counted once: a response may empty a thousand of them. */
class MemberCounts {
  constructor(
    private readonly held = new Map<string, number>(),
    private readonly unusable = new Map<string, number>()
  ) {}

  copy(): MemberCounts {
    return new MemberCounts(new Map(this.held), new Map(this.unusable))
  }

  /** A resource is there, or, with -1, no more. */
  add(name: string, entry: Entry, by: 1 | -1): void {
    const counts = isHeld(entry) ? this.held : isUnusable(entry) ? this.unusable : undefined
    const glob = counts === undefined ? undefined : Collection.of(name)
    if (glob !== undefined) counts?.set(glob, (counts.get(glob) ?? 0) + by)
  }

  /** Whether a collection has a member in use. */
  isInUse(glob: string): boolean {
    return (this.held.get(glob) ?? 0) > 0
  }

  /** Whether a collection has a member that cannot be used. */
  isUnusable(glob: string): boolean {
    return (this.unusable.get(glob) ?? 0) > 0
  }
}

const countsOfMembers = (entries: Iterable<readonly [string, Entry]>): MemberCounts => {
  const counts = new MemberCounts()
  for (const [name, entry] of entries) counts.add(name, entry, 1)
  return counts
}

/**
 * Whether any resource that a wildcard covers is held.
 *
 * @since 0.1.0
 */
export const holdsAny = ({ entries, held }: TypeCache): boolean => {
  if (held > 0) for (const [name, entry] of entries) if (isHeld(entry) && Authority.isInWildcard(name)) return true
  return false
}

/**
 * Whether a resource exists, as far as the client knows, and cannot be used: it was rejected, or the server reported an error of it.
 *
 * @since 0.1.0
 */
export const isUnusable = ({ failure, held, status }: Entry): boolean =>
  held === undefined && (status === "Nacked" || (status === "ReceivedError" && failure?.error.code !== NOT_FOUND))

/**
 * Whether an entry is a collection with members: its watchers are told of those.
 *
 * @since 0.1.0
 */
export const isOfMembers = (name: string, { failure, status }: Entry): boolean =>
  (status === "Acked" || (status === "Nacked" && failure === undefined)) && Collection.isGlob(name)

/**
 * Watchers in the order of their ids.
 *
 * @since 0.1.0
 */
export const inOrder = (watchers: Iterable<number>): ReadonlyArray<number> => Array.from(watchers).sort((a, b) => a - b)

/**
 * Watchers of a resource, by name, collection or wildcard.
 *
 * @since 0.1.0
 */
export const watchersOf = (type: TypeCache, name: string, entry: Entry): ReadonlyArray<number> => {
  const glob = collectionOf(type, name)
  const others = glob === undefined ? type.watchers : type.entries.get(glob)?.watchers
  return others === undefined || HashSet.size(others) === 0 || (glob === undefined && !Authority.isInWildcard(name))
    ? inOrder(entry.watchers)
    : inOrder(HashSet.union(others, entry.watchers))
}

/**
 * The result of a failure for watchers: ambient as long as the resource is held.
 *
 * @since 0.1.0
 */
export const resultOf = (entry: Entry, error: ErrorDetail): Result => {
  if (entry.held !== undefined) return { _tag: "AmbientError", error }
  return entry.status === "DoesNotExist" || (entry.status === "ReceivedError" && error.code === NOT_FOUND)
    ? { _tag: "DoesNotExist", error }
    : { _tag: "Error", error }
}

/**
 * The result for watchers of a held resource.
 *
 * @since 0.1.0
 */
export const updatedOf = ({ ownName, value, version }: Held): Result => ({ _tag: "Updated", value, version, ownName })

/**
 * Whether the server said that the resource does not exist.
 *
 * @since 0.1.0
 */
export const isGone = (status: Status, { error }: Failure): boolean =>
  status === "DoesNotExist" || (status === "ReceivedError" && error.code === NOT_FOUND)

/**
 * The part of an entry in the counts of its type.
 *
 * @since 0.1.0
 */
export const countsOf = (entry: Entry | undefined): readonly [held: 0 | 1, rejected: 0 | 1] =>
  entry === undefined ? nothing : entry.held !== undefined ? oneHeld : entry.status === "Nacked" ? oneRejected : nothing
const nothing = [0, 0] as const
const oneHeld = [1, 0] as const
const oneRejected = [0, 1] as const

/**
 * The draft of a step: changed entries of one type, and notices for their watchers.
 *
 * @since 0.1.0
 */
export class CacheDraft {
  private readonly entries: NameTrie.NameTrieDraft<Entry>
  private expiresAt: number
  private held: number
  private rejected: number
  private ownership: Ownerships.Ownership
  /** Of the collections as they are now, and as they were before; `undefined`: not counted yet. */
  private members: MemberCounts | undefined
  private membersBefore: MemberCounts | undefined
  readonly notices: Array<Notice> = []

  constructor(
    private readonly cache: ClientCache,
    private readonly typeUrl: string,
    private readonly type: TypeCache
  ) {
    this.entries = new NameTrie.NameTrieDraft(type.entries)
    this.expiresAt = type.expiresAt
    this.held = type.held
    this.rejected = type.rejected
    this.ownership = type.ownership
  }

  get size(): number {
    return this.entries.size
  }

  get(name: string): Entry | undefined {
    return this.entries.get(name)
  }

  /**
   * Puts an entry. An entry without watchers and resource is dropped, except an error that the server reports only once and a
   * wildcard watcher may still need. ★ And a rejected member of a collection: without it the collection would seem empty.
   */
  set(name: string, entry: Entry): void {
    const isRemembered =
      isUnusable(entry) &&
      (entry.status === "Nacked" ? collectionOf(this.type, name) !== undefined : isBrought(this.type, name))
    const isDropped = entry.held === undefined && HashSet.size(entry.watchers) === 0 && !isRemembered
    const known = this.get(name)
    const before = countsOf(known)
    const after = isDropped ? nothing : countsOf(entry)
    this.ownership = Ownerships.replace(this.ownership, name, known?.held, entry.held)
    this.held += after[0] - before[0]
    this.rejected += after[1] - before[1]
    if (this.members !== undefined) {
      if (known !== undefined) this.members.add(name, known, -1)
      if (!isDropped) this.members.add(name, entry, 1)
    }
    if (isDropped) this.entries.remove(name)
    else this.entries.set(name, entry)
    if (entry.held !== undefined) this.expiresAt = Math.min(this.expiresAt, entry.held.expiresAt)
  }

  tell(name: string, entry: Entry, result: Result): void {
    const watchers = watchersOf(this.type, name, entry)
    if (watchers.length > 0) this.notices.push({ typeUrl: this.typeUrl, name, watchers, result })
  }

  /** Records a failure, removes the resource if `drop`, and notifies watchers. ★ An equal failure is reported once. */
  fail(
    name: string,
    entry: Entry,
    status: Status,
    failure: Failure,
    drop: boolean,
    isAmbient = this.hasMembers(name)
  ): void {
    // A resource that only the wildcard or a collection covers belongs to the server: it is removed at once.
    const isFree = isGone(status, failure) && HashSet.size(entry.watchers) === 0
    const next: Entry = { ...entry, status, failure, held: drop || isFree ? undefined : entry.held }
    this.set(name, next)
    const isTold =
      next.held === entry.held &&
      status === entry.status &&
      failure.version === entry.failure?.version &&
      failure.error.code === entry.failure.error.code &&
      failure.error.message === entry.failure.error.message
    if (isTold) return
    this.tell(name, next, isAmbient ? { _tag: "AmbientError", error: failure.error } : resultOf(next, failure.error))
  }

  /** Whether it is a collection with members in use. */
  private hasMembers(name: string): boolean {
    return this.type.collections && Collection.isGlob(name) && this.counts().isInUse(name)
  }

  /** Whether a collection had members in use before. */
  hadMembers(glob: string): boolean {
    return (this.membersBefore ??= countsOfMembers(this.type.entries)).isInUse(glob)
  }

  /** To count them takes as long as there are resources. */
  private counts(): MemberCounts {
    return (this.members ??= countsOfMembers(this.entries))
  }

  /** Counts the members of collections in steps, before anything is changed. */
  *countMembers(): Steps.Steps<void> {
    const before = new MemberCounts()
    yield* Steps.each(this.type.entries, ([name, entry]) => before.add(name, entry, 1))
    this.members = before.copy()
    this.membersBefore = before
  }

  /** Records that a collection has members. */
  cameTo(glob: string): void {
    const entry = this.get(glob)
    if (entry !== undefined && (entry.status !== "Acked" || entry.failure !== undefined))
      this.set(glob, { ...entry, status: "Acked", failure: undefined })
  }

  /** Records that a collection has members that cannot be used, and perhaps no others. */
  refused(glob: string): void {
    const entry = this.get(glob)
    if (entry?.status === "Requested" || (entry?.status === "Acked" && !this.counts().isInUse(glob)))
      this.setRefused(glob, entry)
  }

  private setRefused(glob: string, entry: Entry): void {
    this.set(glob, { ...entry, status: "Nacked", failure: undefined })
  }

  /** The watched collections of resources. */
  globsOf(names: Iterable<string>): ReadonlySet<string> {
    const globs = new Set<string>()
    for (const name of names) {
      const glob = collectionOf(this.type, name)
      if (glob !== undefined) globs.add(glob)
    }
    return globs
  }

  /** A collection has lost members: its watchers are told if none is left. */
  lessened(glob: string, now: number): void {
    const entry = this.get(glob)
    if (entry === undefined || this.counts().isInUse(glob)) return
    const { failure, status } = entry
    const isKnown = entry === this.type.entries.get(glob)
    // ★ It was told as ambient, as long as a member was in use.
    if (failure !== undefined && isKnown && isGone(status, failure) && this.hadMembers(glob))
      this.tell(glob, entry, resultOf(entry, failure.error))
    if (!isOfMembers(glob, entry)) return
    if (this.counts().isUnusable(glob)) return this.setRefused(glob, entry)
    const error = { code: NOT_FOUND, message: `${glob} has no resources any more` }
    this.fail(glob, entry, "DoesNotExist", { error, version: "", at: now }, false, false)
  }

  end(expiresAt = this.expiresAt): Step {
    return [
      put(this.cache, this.typeUrl, {
        ...this.type,
        entries: this.entries.end(),
        held: this.held,
        rejected: this.rejected,
        ownership: this.ownership,
        expiresAt
      }),
      this.notices
    ]
  }
}
