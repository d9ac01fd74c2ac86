/**
 * What a client knows of the resources of one type, as data; and the draft in which a step changes it.
 *
 * @since 0.1.0
 */
import * as HashMap from "effect/HashMap"
import * as HashSet from "effect/HashSet"
import * as Option from "effect/Option"
import * as Authority from "../protocol/Authority.js"
import * as StatusCode from "../protocol/StatusCode.js"
import type { ErrorDetail } from "../wire/Request.js"
import * as Retentions from "./Retention.js"
import type { Placed } from "./Validation.js"

/**
 * What a watcher is told.
 *
 * @since 0.1.0
 */
export type Result =
  /** The resource, new or changed. */
  | { readonly _tag: "Updated"; readonly value: unknown; readonly version: string }
  /** There is no such resource, or not any more: it is not to be used. */
  | { readonly _tag: "DoesNotExist"; readonly error: ErrorDetail }
  /** The resource cannot be had; what was used before is not to be used any more. */
  | { readonly _tag: "Error"; readonly error: ErrorDetail }
  /** Something is wrong, but the resource that was told last stays in use. */
  | { readonly _tag: "AmbientError"; readonly error: ErrorDetail }
  /** The ambient error is over, and the resource is still the one that was told last. */
  | { readonly _tag: "Recovered" }

/**
 * To be told to watchers.
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
 * A resource that is in use.
 *
 * @since 0.1.0
 */
export interface Held {
  /** The server it came from. */
  readonly server: string
  /** The resource's own name, where it was asked for by an alias. */
  readonly ownName: string
  /** Its own version in incremental, that of the response in which it changed last in state of the world. */
  readonly version: string
  readonly value: unknown
  /** As it came. */
  readonly bytes: Uint8Array
  /** Milliseconds, as given to the reducer. */
  readonly updatedAt: number
  /** When its TTL is over; Infinity if it has none. */
  readonly expiresAt: number
}

/**
 * What became of a resource, in the words of CSDS.
 *
 * @since 0.1.0
 */
export type Status = "Requested" | "DoesNotExist" | "Acked" | "Nacked" | "ReceivedError" | "Timeout"

/**
 * What went wrong with a resource last.
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
 * All that is known of one resource.
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
 * What is known of one type.
 *
 * @since 0.1.0
 */
export interface TypeCache {
  readonly entries: HashMap.HashMap<string, Entry>
  /** How many of them hold a resource. */
  readonly held: number
  /** How many were rejected and hold none. */
  readonly rejected: number
  /** How often {@link entries} changed. */
  readonly revision: number
  /** The resources of a server's last large response in its order; exact in the revision that it left. */
  readonly order: { readonly server: string; readonly places: ReadonlyArray<Placed>; readonly revision: number }
  /** Those that watch everything. */
  readonly watchers: HashSet.HashSet<number>
  /** Not later than the first TTL is over. */
  readonly expiresAt: number
  /** What is kept for a while though nobody watches it any more, by the stream that may still bring it. */
  readonly retained: Retentions.Retention
  /** What a server said is wrong with everything, not with one resource: an error of `*`. */
  readonly failure: Failure | undefined
}

/**
 * The resources by type and name. Its fields are nobody else's business.
 *
 * @since 0.1.0
 */
export interface ClientCache {
  readonly types: ReadonlyMap<string, TypeCache>
}

/**
 * A step's outcome: the cache after it, and whom to tell what.
 *
 * @since 0.1.0
 */
export type Step = readonly [ClientCache, ReadonlyArray<Notice>]

const never = Number.POSITIVE_INFINITY
const { NOT_FOUND } = StatusCode.codes
const noWatchers = HashSet.empty<number>()
/**
 * Nothing is to be told.
 *
 * @since 0.1.0
 */
export const noNotices: ReadonlyArray<Notice> = []
/**
 * A type of which nothing is known.
 *
 * @since 0.1.0
 */
export const emptyType: TypeCache = {
  entries: HashMap.empty(),
  held: 0,
  rejected: 0,
  revision: 0,
  order: { server: "", places: [], revision: 0 },
  watchers: noWatchers,
  expiresAt: never,
  retained: Retentions.none,
  failure: undefined
}
/**
 * A resource that was asked for and did not come.
 *
 * @since 0.1.0
 */
export const requested: Entry = { status: "Requested", held: undefined, failure: undefined, watchers: noWatchers }

/**
 * What is known of a type.
 *
 * @since 0.1.0
 */
export const typeOf = (self: ClientCache, typeUrl: string): TypeCache => self.types.get(typeUrl) ?? emptyType

/**
 * With another state of a type.
 *
 * @since 0.1.0
 */
export const put = (self: ClientCache, typeUrl: string, next: TypeCache): ClientCache => {
  const before = typeOf(self, typeUrl)
  const isSame = next.entries === before.entries
  const changed = isSame ? next : { ...next, revision: before.revision + 1 }
  return { types: new Map(self.types).set(typeUrl, withoutOldOrder(changed)) }
}

/** ★ The order of a response that was much larger than what is left would keep all its resources in memory. */
const withoutOldOrder = (type: TypeCache): TypeCache => {
  const { entries, order } = type
  const most = 2 * HashMap.size(entries) + 16
  return order.places.length > most ? { ...type, order: emptyType.order } : type
}

/**
 * Whether the client knows what to do about a resource: it has it, or it knows that it does not exist.
 *
 * @since 0.1.0
 */
export const isCached = (entry: Entry | undefined): boolean =>
  entry !== undefined && (entry.held !== undefined || entry.status === "DoesNotExist")

/**
 * Watchers in the order of their numbers.
 *
 * @since 0.1.0
 */
export const inOrder = (watchers: Iterable<number>): ReadonlyArray<number> => Array.from(watchers).sort((a, b) => a - b)

/**
 * Those who watch a resource, by name or by wildcard.
 *
 * @since 0.1.0
 */
export const watchersOf = (type: TypeCache, name: string, entry: Entry): ReadonlyArray<number> =>
  HashSet.size(type.watchers) === 0 || !Authority.isCovered(name)
    ? inOrder(entry.watchers)
    : inOrder(HashSet.union(type.watchers, entry.watchers))

/**
 * What a failure means to those who watch: nothing is taken away as long as a resource is held.
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
 * What the watchers of a held resource are told.
 *
 * @since 0.1.0
 */
export const updatedOf = (held: Held): Result => ({ _tag: "Updated", value: held.value, version: held.version })

/**
 * Whether the server says that there is no such resource.
 *
 * @since 0.1.0
 */
export const isGone = (status: Status, { error }: Failure): boolean =>
  status === "DoesNotExist" || (status === "ReceivedError" && error.code === NOT_FOUND)

/**
 * What an entry adds to the counts of its type.
 *
 * @since 0.1.0
 */
export const countsOf = (entry: Entry | undefined): readonly [held: 0 | 1, rejected: 0 | 1] =>
  entry === undefined ? nothing : entry.held !== undefined ? oneHeld : entry.status === "Nacked" ? oneRejected : nothing
const nothing = [0, 0] as const
const oneHeld = [1, 0] as const
const oneRejected = [0, 1] as const

/**
 * Entries of one type that are changed one after another within a step, and what is to be told of it.
 *
 * @since 0.1.0
 */
export class CacheDraft {
  private readonly entries: HashMap.HashMap<string, Entry>
  private expiresAt: number
  private held: number
  private rejected: number
  readonly notices: Array<Notice> = []

  constructor(
    private readonly cache: ClientCache,
    private readonly typeUrl: string,
    private readonly type: TypeCache
  ) {
    this.entries = HashMap.beginMutation(type.entries)
    this.expiresAt = type.expiresAt
    this.held = type.held
    this.rejected = type.rejected
  }

  get size(): number {
    return HashMap.size(this.entries)
  }

  get(name: string): Entry | undefined {
    return Option.getOrUndefined(HashMap.get(this.entries, name))
  }

  /**
   * Puts an entry; one that nobody watches and that holds nothing is dropped. But what a server says that it cannot give
   * is remembered as long as everything is watched: it says so once.
   */
  set(name: string, entry: Entry): void {
    const isRemembered =
      entry.status === "ReceivedError" &&
      entry.failure?.error.code !== NOT_FOUND &&
      HashSet.size(this.type.watchers) > 0 &&
      Authority.isCovered(name)
    const isDropped = entry.held === undefined && HashSet.size(entry.watchers) === 0 && !isRemembered
    const before = countsOf(this.get(name))
    const after = isDropped ? nothing : countsOf(entry)
    this.held += after[0] - before[0]
    this.rejected += after[1] - before[1]
    if (isDropped) HashMap.remove(this.entries, name)
    else HashMap.set(this.entries, name, entry)
    if (entry.held !== undefined) this.expiresAt = Math.min(this.expiresAt, entry.held.expiresAt)
  }

  tell(name: string, entry: Entry, result: Result): void {
    const watchers = watchersOf(this.type, name, entry)
    if (watchers.length > 0) this.notices.push({ typeUrl: this.typeUrl, name, watchers, result })
  }

  /** A resource went, or cannot be had: takes it away if `drop`, and tells. ★ The same is told once. */
  fail(name: string, entry: Entry, status: Status, failure: Failure, drop: boolean): void {
    // A resource that only the wildcard brought is the server's to delete: nobody asked for it by name.
    const isFree = isGone(status, failure) && HashSet.size(entry.watchers) === 0
    const next: Entry = { ...entry, status, failure, held: drop || isFree ? undefined : entry.held }
    this.set(name, next)
    const isTold =
      next.held === entry.held &&
      status === entry.status &&
      failure.version === entry.failure?.version &&
      failure.error.code === entry.failure.error.code &&
      failure.error.message === entry.failure.error.message
    if (!isTold) this.tell(name, next, resultOf(next, failure.error))
  }

  end(expiresAt = this.expiresAt): Step {
    HashMap.endMutation(this.entries)
    return [
      put(this.cache, this.typeUrl, {
        ...this.type,
        entries: this.entries,
        held: this.held,
        rejected: this.rejected,
        expiresAt
      }),
      this.notices
    ]
  }
}
