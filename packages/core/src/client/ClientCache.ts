/**
 * The resources a client holds and who watches them: the one place that knows what is in use, where it came from and
 * what is wrong with it.
 *
 * An error does not take a resource away unless the server is marked so: what is in use stays in use, and its watchers
 * are told of an ambient error.
 *
 * @see https://github.com/grpc/proposal/blob/master/A88-xds-data-error-handling.md
 * @see https://github.com/grpc/proposal/blob/master/A40-csds-support.md
 * @since 0.1.0
 */
import * as HashMap from "effect/HashMap"
import * as HashSet from "effect/HashSet"
import * as Option from "effect/Option"
import * as Authority from "../protocol/Authority.js"
import * as StatusCode from "../protocol/StatusCode.js"
import type { ErrorDetail } from "../wire/Request.js"
import type { InUse, Placed, Validation, View } from "./Validation.js"
import * as Validations from "./Validation.js"

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

interface TypeCache {
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
  /** What is kept for a while though nobody watches it any more, by the stream that may still bring it; see {@link unwatch}. */
  readonly retained: ReadonlyMap<string, Retained>
  /** What a server said is wrong with everything, not with one resource: an error of `*`. */
  readonly failure: Failure | undefined
}

interface Retained {
  /** Names, and `*`. */
  readonly names: HashSet.HashSet<string>
  /** When they are dropped; Infinity until the server was told. */
  readonly until: number
}

/**
 * The resources by type and name. Its fields are nobody else's business.
 *
 * @since 0.1.0
 */
export interface ClientCache {
  readonly types: ReadonlyMap<string, TypeCache>
}

/** A step's outcome: the cache after it, and whom to tell what. */
type Step = readonly [ClientCache, ReadonlyArray<Notice>]

const never = Number.POSITIVE_INFINITY
/** Names of a type that linger at most: those of a client that asks for ever new ones are not all kept. */
const maxRetained = 10_000
const { INVALID_ARGUMENT, NOT_FOUND, PERMISSION_DENIED, UNAVAILABLE } = StatusCode.codes

/**
 * The version of what a client holds under a wildcard and cannot vouch for, because it came from another server or there
 * is an error of it. No server gives this one: so it sends the resource, or says that it is gone.
 */
const unknownVersion = "effect-xds: unknown version"

const noWatchers = HashSet.empty<number>()
const noneRetained: ReadonlyMap<string, Retained> = new Map()
const noNotices: ReadonlyArray<Notice> = []
const emptyType: TypeCache = {
  entries: HashMap.empty(),
  held: 0,
  rejected: 0,
  revision: 0,
  order: { server: "", places: [], revision: 0 },
  watchers: noWatchers,
  expiresAt: never,
  retained: noneRetained,
  failure: undefined
}
const requested: Entry = { status: "Requested", held: undefined, failure: undefined, watchers: noWatchers }

/**
 * Nothing is watched.
 *
 * @since 0.1.0
 */
export const empty: ClientCache = { types: new Map() }

const typeOf = (self: ClientCache, typeUrl: string): TypeCache => self.types.get(typeUrl) ?? emptyType

const put = (self: ClientCache, typeUrl: string, next: TypeCache): ClientCache => {
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
 * What is known of a resource; `undefined` if nobody watches it.
 *
 * @since 0.1.0
 */
export const get = (self: ClientCache, typeUrl: string, name: string): Entry | undefined =>
  Option.getOrUndefined(HashMap.get(typeOf(self, typeUrl).entries, name))

/**
 * What is in use, as the validation of a response from a server looks at it.
 *
 * @since 0.1.0
 */
export const inUse = (self: ClientCache, typeUrl: string, server: string): Pick<View, "named" | "placed"> => {
  const { entries, order, revision } = typeOf(self, typeUrl)
  const places = order.server === server ? order.places : []
  // As long as nothing has changed since, what the last response left is found without the entries.
  const isCurrent = order.server === server && order.revision === revision
  let byName: Map<string, Placed> | undefined
  const look = (name: string): Placed | undefined => {
    const use = useOf(HashMap.get(entries, name), server)
    return use === undefined ? undefined : Validations.place(name, use)
  }
  return {
    named: (name) => {
      if (!isCurrent) return look(name)
      byName ??= new Map(places.map((place) => [place.name, place]))
      return byName.get(name) ?? look(name)
    },
    placed: (index) => {
      const place = places[index]
      return place === undefined || isCurrent ? place : look(place.name)
    }
  }
}

const useOf = (entry: Option.Option<Entry>, server: string): InUse | undefined => {
  if (entry._tag === "None" || entry.value.held === undefined) return undefined
  const { failure, held } = entry.value
  const isPlain = failure === undefined && held.expiresAt === never && held.server === server
  return { version: held.version, bytes: held.bytes, isPlain }
}

/** The order that a response leaves. A small one says nothing of the others. */
const orderOf = (before: TypeCache, after: TypeCache, validation: Validation, server: string): TypeCache["order"] => {
  const { entries, revision } = after
  if (validation.order.length * 2 < before.order.places.length) return before.order
  const places: Array<Placed> = []
  for (const each of validation.order) {
    if (typeof each !== "string") {
      places.push(each)
      continue
    }
    const use = useOf(HashMap.get(entries, each), server)
    if (use !== undefined) places.push(Validations.place(each, use))
  }
  return { server, places, revision }
}

/**
 * How many resources of a type are known, with or without content.
 *
 * @since 0.1.0
 */
export const size = (self: ClientCache, typeUrl: string): number => HashMap.size(typeOf(self, typeUrl).entries)

/**
 * Whether somebody watches every resource of a type.
 *
 * @since 0.1.0
 */
export const isWildcard = (self: ClientCache, typeUrl: string): boolean =>
  HashSet.size(typeOf(self, typeUrl).watchers) > 0

/**
 * Every resource of a type.
 *
 * @since 0.1.0
 */
export const entries = (self: ClientCache, typeUrl: string): Iterable<readonly [name: string, entry: Entry]> =>
  typeOf(self, typeUrl).entries

/**
 * The types of which something is or was watched.
 *
 * @since 0.1.0
 */
export const typeUrls = (self: ClientCache): Iterable<string> => self.types.keys()

/**
 * Whether nobody watches a resource any more, or with `*` everything, and what comes of it is kept all the same.
 *
 * @since 0.1.0
 */
export const isRetained = (self: ClientCache, typeUrl: string, name: string): boolean => {
  const type = typeOf(self, typeUrl)
  if (type.retained.size === 0) return false
  if (retains(type, name)) return true
  const entry = HashMap.get(type.entries, name)
  return (
    Option.isSome(entry) && HashSet.size(entry.value.watchers) === 0 && retains(type, "*") && Authority.isCovered(name)
  )
}

/** Whether a name, or `*`, was given up by itself. */
const retains = (type: TypeCache, name: string): boolean => {
  for (const { names } of type.retained.values()) if (HashSet.has(names, name)) return true
  return false
}

/**
 * Whether a resource of a type is in use.
 *
 * @since 0.1.0
 */
export const isHolding = (self: ClientCache, typeUrl: string): boolean => typeOf(self, typeUrl).held > 0

/**
 * Whether the client knows what to do about a resource: it has it, or it knows that it does not exist.
 *
 * @since 0.1.0
 */
export const isCached = (entry: Entry | undefined): boolean =>
  entry !== undefined && (entry.held !== undefined || entry.status === "DoesNotExist")

const inOrder = (watchers: Iterable<number>): ReadonlyArray<number> => Array.from(watchers).sort((a, b) => a - b)

const watchersOf = (type: TypeCache, name: string, entry: Entry): ReadonlyArray<number> =>
  HashSet.size(type.watchers) === 0 || !Authority.isCovered(name)
    ? inOrder(entry.watchers)
    : inOrder(HashSet.union(type.watchers, entry.watchers))

/** What a failure means to those who watch: nothing is taken away as long as a resource is held. */
const resultOf = (entry: Entry, error: ErrorDetail): Result => {
  if (entry.held !== undefined) return { _tag: "AmbientError", error }
  return entry.status === "DoesNotExist" || (entry.status === "ReceivedError" && error.code === NOT_FOUND)
    ? { _tag: "DoesNotExist", error }
    : { _tag: "Error", error }
}

const updatedOf = (held: Held): Result => ({ _tag: "Updated", value: held.value, version: held.version })

/** ★ What somebody who comes late is told at once: the resource, then what is wrong. */
const presentOf = (entry: Entry): ReadonlyArray<Result> => [
  ...(entry.held === undefined ? [] : [updatedOf(entry.held)]),
  ...(entry.failure === undefined ? [] : [resultOf(entry, entry.failure.error)])
]

/**
 * Watches a resource, or with `*` every resource of the type. Whoever comes late is told at once what is known.
 *
 * @since 0.1.0
 */
export const watch = (self: ClientCache, typeUrl: string, name: string, watcher: number): Step => {
  const type = typeOf(self, typeUrl)
  const tell = (of: string, entry: Entry): ReadonlyArray<Notice> =>
    presentOf(entry).map((result) => ({ typeUrl, name: of, watchers: [watcher], result }))
  if (name === "*") {
    const watchers = HashSet.add(type.watchers, watcher)
    const next = put(self, typeUrl, { ...type, watchers, retained: withoutName(type.retained, name) })
    const { failure } = type
    const whole: ReadonlyArray<Notice> =
      failure === undefined
        ? noNotices
        : [{ typeUrl, name, watchers: [watcher], result: resultOfAll(type.held, failure.error) }]
    const each = Array.from(type.entries).flatMap(([of, entry]) => (Authority.isCovered(of) ? tell(of, entry) : []))
    return [next, [...each, ...whole]]
  }
  const entry = Option.getOrElse(HashMap.get(type.entries, name), () => requested)
  const watched = { ...entry, watchers: HashSet.add(entry.watchers, watcher) }
  const entries = HashMap.set(type.entries, name, watched)
  const retained = withoutName(type.retained, name)
  return [put(self, typeUrl, { ...type, entries, retained }), tell(name, entry)]
}

/** What lingers but for one name, or with `*` what a wildcard covers; the same if none of it did. */
const withoutName = (retained: TypeCache["retained"], name: string): TypeCache["retained"] => {
  let left: Map<string, Retained> | undefined
  for (const [stream, { names, until }] of retained) {
    const others =
      name === "*" ? HashSet.filter(names, (each) => !Authority.isCovered(each)) : HashSet.remove(names, name)
    if (HashSet.size(others) === HashSet.size(names)) continue
    left ??= new Map(retained)
    if (HashSet.size(others) > 0) left.set(stream, { names: others, until })
    else left.delete(stream)
  }
  return left ?? retained
}

/** What also lingers of a stream from now on: it has not been told yet. */
const withName = (retained: TypeCache["retained"], stream: string, name: string): TypeCache["retained"] => {
  const names = retained.get(stream)?.names ?? HashSet.empty<string>()
  return new Map(retained).set(stream, { names: HashSet.add(names, name), until: never })
}

const countRetained = ({ retained }: TypeCache): number => {
  let count = 0
  for (const { names } of retained.values()) count += HashSet.size(names)
  return count
}

/**
 * Ends a watch. With the last one a resource is forgotten, unless everything is watched: then the server decides, and
 * only one that never came is dropped. With the last one of everything, all that nobody watches by name are forgotten.
 *
 * ★ State of the world: a request that crosses a response is ignored by the server. So a name that was given up and is
 * asked for again may be one that the server never stopped to serve, and it will not send it again. Therefore what is
 * given up lingers until the server certainly knows.
 *
 * @param stream the one whose server may still bring resources, which are kept for it; `undefined`: none are kept
 * @since 0.1.0
 */
export const unwatch = (
  self: ClientCache,
  typeUrl: string,
  name: string,
  watcher: number,
  stream: string | undefined
): Step => {
  const type = typeOf(self, typeUrl)
  if (name === "*") {
    const watchers = HashSet.remove(type.watchers, watcher)
    if (HashSet.size(watchers) > 0) return [put(self, typeUrl, { ...type, watchers }), noNotices]
    const next = { ...type, watchers, failure: undefined }
    const after = stream === undefined ? onlyKept(next) : { ...next, retained: withName(type.retained, stream, "*") }
    return [put(self, typeUrl, after), noNotices]
  }
  const changes = new Changes(self, typeUrl, type)
  const entry = changes.get(name)
  if (entry === undefined) return [self, noNotices]
  const next = { ...entry, watchers: HashSet.remove(entry.watchers, watcher) }
  const isLast = HashSet.size(next.watchers) === 0
  const isEverythingWatched = HashSet.size(type.watchers) > 0 && Authority.isCovered(name)
  if (isLast && (!isEverythingWatched || entry.held === undefined)) {
    const isKept = stream !== undefined && !isEverythingWatched && countRetained(type) < maxRetained
    changes.set(name, isKept && entry.status !== "DoesNotExist" ? next : { ...next, held: undefined })
    if (isKept) {
      const [cache] = changes.end()
      const kept = typeOf(cache, typeUrl)
      return [put(cache, typeUrl, { ...kept, retained: withName(kept.retained, stream, name) }), noNotices]
    }
  } else if (isLast && entry.failure !== undefined && isGone(entry.status, entry.failure)) {
    // Only those who named it kept it in use.
    changes.fail(name, next, entry.status, entry.failure, true)
  } else {
    changes.set(name, next)
  }
  return changes.end()
}

/**
 * Drops one resource that lingers: its server will send it again.
 *
 * @since 0.1.0
 */
export const dropRetained = (self: ClientCache, typeUrl: string, name: string): ClientCache => {
  if (!isRetained(self, typeUrl, name)) return self
  const type = typeOf(self, typeUrl)
  const [held, rejected] = countsOf(get(self, typeUrl, name))
  return put(self, typeUrl, {
    ...type,
    entries: HashMap.remove(type.entries, name),
    held: type.held - held,
    rejected: type.rejected - rejected,
    retained: withoutName(type.retained, name)
  })
}

/**
 * Drops what lingers of a stream: its server certainly knows, or is told all anew on the next one. ★ What lingers of
 * another stays.
 *
 * @since 0.1.0
 */
export const dropRetainedOf = (self: ClientCache, typeUrl: string, stream: string): ClientCache => {
  const type = typeOf(self, typeUrl)
  if (!type.retained.has(stream)) return self
  const retained = new Map(type.retained)
  retained.delete(stream)
  return put(self, typeUrl, onlyKept({ ...type, retained }))
}

/** A type without what nobody watches and what does not linger either. */
const onlyKept = (type: TypeCache): TypeCache => {
  const isAny = HashSet.size(type.watchers) > 0 || retains(type, "*")
  const entries = HashMap.filter(
    type.entries,
    (entry, name) => HashSet.size(entry.watchers) > 0 || (isAny && Authority.isCovered(name)) || retains(type, name)
  )
  if (HashMap.size(entries) === HashMap.size(type.entries)) return type
  let [held, rejected] = [0, 0]
  for (const entry of HashMap.values(entries)) {
    const counts = countsOf(entry)
    held += counts[0]
    rejected += counts[1]
  }
  return { ...type, entries, held, rejected }
}

/**
 * The server of a stream was told, or told again, what is asked for: what lingers of it is dropped if it stays quiet.
 *
 * @param until milliseconds
 * @since 0.1.0
 */
export const retain = (self: ClientCache, typeUrl: string, stream: string, until: number): ClientCache => {
  const type = typeOf(self, typeUrl)
  const retained = type.retained.get(stream)
  if (retained === undefined) return self
  return put(self, typeUrl, { ...type, retained: new Map(type.retained).set(stream, { ...retained, until }) })
}

/** Whether the server says that there is no such resource. */
const isGone = (status: Status, { error }: Failure): boolean =>
  status === "DoesNotExist" || (status === "ReceivedError" && error.code === NOT_FOUND)

/** What an entry adds to the counts of its type. */
const countsOf = (entry: Entry | undefined): readonly [held: 0 | 1, rejected: 0 | 1] =>
  entry === undefined ? nothing : entry.held !== undefined ? oneHeld : entry.status === "Nacked" ? oneRejected : nothing
const nothing = [0, 0] as const
const oneHeld = [1, 0] as const
const oneRejected = [0, 1] as const

/** Changes entries of one type one after another, and collects what is to be told. */
class Changes {
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

/**
 * How resources of a response are taken.
 *
 * @since 0.1.0
 */
export interface Policy {
  readonly server: string
  /** Whether data errors take a held resource away (`fail_on_data_errors`). */
  readonly failOnDataErrors: boolean
  /** Whether the stream asks for a resource. */
  readonly isServed: (name: string) => boolean
  /** Whether the response is to a request that asked for a resource. */
  readonly isAnswered: (name: string) => boolean
  /** Waited for, and not among everything that there is. */
  readonly missing: ReadonlyArray<string>
  /** Whether the same response was rejected before. */
  readonly isRepeat: boolean
  /** When the stream began, in milliseconds: what a server said on an earlier one it says again. */
  readonly since: number
  /** Resources of a type at most. */
  readonly maxResources: number
}

/**
 * Takes a validated response.
 *
 * @since 0.1.0
 */
export const apply = (
  self: ClientCache,
  typeUrl: string,
  version: string,
  validation: Validation,
  policy: Policy,
  now: number
): Step => {
  const { server } = policy
  const type = typeOf(self, typeUrl)
  const changes = new Changes(self, typeUrl, type)
  const drop = policy.failOnDataErrors
  const deleted = (name: string, entry: Entry, message: string) => {
    // ★ Told once.
    if (entry.status === "DoesNotExist") return
    changes.fail(name, entry, "DoesNotExist", { error: { code: NOT_FOUND, message }, version: "", at: now }, drop)
  }

  for (const { bytes, name, ownName, ttl, value, version: own } of validation.updated) {
    const entry = changes.get(name) ?? requested
    const expiresAt = ttl === undefined ? never : now + ttl
    const held: Held = { server, ownName, version: own, value, bytes, updatedAt: now, expiresAt }
    const next: Entry = { ...entry, status: "Acked", held, failure: undefined }
    changes.set(name, next)
    changes.tell(name, next, updatedOf(held))
  }
  for (const { isHeartbeat, isPlain, name, ownName, ttl, version: own } of validation.unchanged) {
    if (isPlain) continue
    const entry = changes.get(name)
    if (entry?.held === undefined) continue
    const expiresAt = ttl === undefined ? never : now + ttl
    // A heartbeat says nothing of the content: an error that was told stays.
    const failure = isHeartbeat ? entry.failure : undefined
    const status = isHeartbeat ? entry.status : "Acked"
    // In state of the world only the response has a version: resources that did not change keep theirs.
    const ownVersion = own ?? entry.held.version
    const isSame =
      entry.held.expiresAt === expiresAt &&
      entry.held.version === ownVersion &&
      entry.held.server === server &&
      entry.held.ownName === ownName &&
      entry.failure === failure
    if (isSame) continue
    const held: Held = { ...entry.held, server, ownName, version: ownVersion, expiresAt }
    const next: Entry = { ...entry, status, failure, held }
    changes.set(name, next)
    if (entry.failure !== undefined && failure === undefined) changes.tell(name, next, { _tag: "Recovered" })
  }
  for (const { name, reason } of validation.rejected) {
    const known = changes.get(name)
    // Of what was never there and nobody named, nothing is kept: that it was told is not known otherwise.
    if (known === undefined && policy.isRepeat) continue
    const entry = known ?? requested
    changes.fail(name, entry, "Nacked", { error: { code: INVALID_ARGUMENT, message: reason }, version, at: now }, drop)
  }
  for (const name of validation.removed) {
    const entry = changes.get(name)
    if (entry !== undefined) deleted(name, entry, `${name} does not exist, the server says`)
  }
  for (const { error, name } of validation.failed) {
    const known = changes.get(name)
    // Of what was never there and nobody named, that it does not exist is no news.
    if (name === "*" || (known === undefined && error.code === NOT_FOUND)) continue
    if (known === undefined && changes.size >= policy.maxResources) continue
    const isDropping = drop && isDataError(error)
    changes.fail(name, known ?? requested, "ReceivedError", { error, version: "", at: now }, isDropping)
  }
  // ★ An error of everything: what is held stays in use, unless the error says that there is nothing, or nothing for us.
  const whole = validation.failed.find(({ name }) => name === "*")
  const dropped = new Set<string>()
  if (whole !== undefined && (whole.error.code === NOT_FOUND || (drop && isDataError(whole.error)))) {
    const { error } = whole
    for (const [name, entry] of type.entries) {
      const isFree = entry.held?.server === server && HashSet.size(entry.watchers) === 0 && Authority.isCovered(name)
      if (!isFree || validation.seen.has(name)) continue
      dropped.add(name)
      changes.set(name, { ...entry, status: "Requested", held: undefined })
      changes.tell(name, entry, { _tag: error.code === NOT_FOUND ? "DoesNotExist" : "Error", error })
    }
  }
  for (const name of policy.missing) {
    const entry = changes.get(name)
    if (entry?.held === undefined && entry?.status === "Requested") {
      deleted(name, entry, `${name} is not in version ${JSON.stringify(version)}`)
    }
  }
  // Most often all that is held is there.
  if (validation.isComplete && (validation.known < type.held || type.rejected > 0)) {
    for (const [name, entry] of type.entries) {
      // What the server cannot give it says once on a stream, not with every response.
      if (validation.seen.has(name) || dropped.has(name)) continue
      if (entry.status === "ReceivedError" && (entry.failure?.at ?? 0) >= policy.since) continue
      // What was rejected and never held is gone like what is held.
      if (entry.held === undefined && entry.status !== "Nacked") continue
      // ★ What this server never sent may be missing because the response is to an older request.
      const isKnown = entry.held?.server === server ? policy.isServed(name) : policy.isAnswered(name)
      if (isKnown) deleted(name, entry, `${name} is not in version ${JSON.stringify(version)}`)
    }
  }
  const [next, notices] = changes.end()
  const after = typeOf(next, typeUrl)
  const [failure, told] = failureOfAll(type, after.held, whole?.error, validation, typeUrl, now)
  return [
    put(next, typeUrl, { ...after, failure, order: orderOf(type, after, validation, server) }),
    told === undefined ? notices : [...notices, told]
  ]
}

const isDataError = ({ code }: ErrorDetail): boolean => code === NOT_FOUND || code === PERMISSION_DENIED

/** What an error of everything means to those who watch everything. */
const resultOfAll = (held: number, error: ErrorDetail): Result =>
  error.code === NOT_FOUND ? { _tag: "DoesNotExist", error } : { _tag: held > 0 ? "AmbientError" : "Error", error }

/** The error of everything after a response, and what is told of it: ★ the same once, until resources come again. */
const failureOfAll = (
  before: TypeCache,
  held: number,
  error: ErrorDetail | undefined,
  validation: Validation,
  typeUrl: string,
  now: number
): readonly [Failure | undefined, Notice | undefined] => {
  const { failure } = before
  const notice = (result: Result): Notice | undefined => {
    const watchers = inOrder(before.watchers)
    return watchers.length === 0 ? undefined : { typeUrl, name: "*", watchers, result }
  }
  if (error !== undefined) {
    const isTold = failure?.error.code === error.code && failure.error.message === error.message
    return [isTold ? failure : { error, version: "", at: now }, isTold ? undefined : notice(resultOfAll(held, error))]
  }
  const isGiven = validation.failed.length === 0 || validation.updated.length > 0 || validation.unchanged.length > 0
  if (failure === undefined || !isGiven) return [failure, undefined]
  return [
    undefined,
    resultOfAll(held, failure.error)._tag === "AmbientError" ? notice({ _tag: "Recovered" }) : undefined
  ]
}

/**
 * Resources that were asked for did not come in time.
 *
 * @param isTransient whether that is a sign of a slow server, not of a missing resource
 * @since 0.1.0
 */
export const timeOut = (
  self: ClientCache,
  typeUrl: string,
  names: ReadonlyArray<string>,
  server: { readonly name: string; readonly resourceTimeout: number },
  isTransient: boolean,
  now: number
): Step => {
  const changes = new Changes(self, typeUrl, typeOf(self, typeUrl))
  const message = `${server.name} did not send it within ${server.resourceTimeout} ms`
  const error = { code: isTransient ? UNAVAILABLE : NOT_FOUND, message }
  for (const name of names) {
    const entry = changes.get(name)
    if (entry === undefined || isCached(entry)) continue
    changes.fail(name, entry, isTransient ? "Timeout" : "DoesNotExist", { error, version: "", at: now }, false)
  }
  return changes.end()
}

/**
 * When the first TTL may be over or what lingers is dropped, in milliseconds; Infinity if never.
 *
 * @since 0.1.0
 */
export const deadline = (self: ClientCache): number => {
  let at = never
  for (const { expiresAt, retained } of self.types.values()) {
    at = Math.min(at, expiresAt)
    for (const { until } of retained.values()) at = Math.min(at, until)
  }
  return at
}

/**
 * Takes away the resources whose TTL is over, and what lingered long enough.
 *
 * @since 0.1.0
 */
export const expire = (self: ClientCache, now: number): Step => {
  let cache = self
  let notices = noNotices
  for (const typeUrl of self.types.keys()) {
    for (const [stream, { until }] of typeOf(cache, typeUrl).retained) {
      if (now >= until) cache = dropRetainedOf(cache, typeUrl, stream)
    }
    const type = typeOf(cache, typeUrl)
    if (now < type.expiresAt) continue
    const changes = new Changes(cache, typeUrl, type)
    let expiresAt = never
    for (const [name, entry] of type.entries) {
      if (entry.held === undefined || entry.held.expiresAt === never) continue
      if (entry.held.expiresAt > now) {
        expiresAt = Math.min(expiresAt, entry.held.expiresAt)
        continue
      }
      const error = { code: NOT_FOUND, message: `the TTL of ${name} is over and it was not renewed` }
      changes.fail(name, entry, "DoesNotExist", { error, version: "", at: now }, true)
    }
    const [next, told] = changes.end(expiresAt)
    cache = next
    notices = [...notices, ...told]
  }
  return [cache, notices]
}

/**
 * Name → version of what came from a server: what a client says on a new incremental stream to it.
 *
 * ★ Of another server it says no version: the same may mean something else there. Nor of what the server could not give:
 * it would not be sent again, and the error would never be over. What was asked for by name is then left out, and is
 * answered. What only the wildcard brought is named all the same: ★ only so does the server say that it is gone.
 *
 * @since 0.1.0
 */
export const versions = (
  self: ClientCache,
  typeUrl: string,
  { isServed, server }: Pick<Policy, "server" | "isServed">
): ReadonlyMap<string, string> => {
  const found = new Map<string, string>()
  const type = typeOf(self, typeUrl)
  for (const [name, { held, status, watchers }] of type.entries) {
    // What the server took back it does not have; a copy that is in use all the same is nothing it knows of.
    if (held === undefined || status === "DoesNotExist" || !isServed(name)) continue
    const isFree = HashSet.size(watchers) === 0
    const isWell = status !== "ReceivedError" && (type.failure === undefined || !isFree)
    if (held.server === server && held.version !== "" && isWell) found.set(held.ownName, held.version)
    else if (isFree && Authority.isCovered(name)) found.set(name, unknownVersion)
  }
  return found
}

/**
 * Whether resources are held that only a wildcard brought, and that came from another server than this one.
 *
 * @since 0.1.0
 */
export const isHoldingOfOthers = (self: ClientCache, typeUrl: string, server: string): boolean => {
  for (const [name, { held, watchers }] of typeOf(self, typeUrl).entries) {
    if (held !== undefined && held.server !== server && HashSet.size(watchers) === 0 && Authority.isCovered(name))
      return true
  }
  return false
}

/**
 * A server cannot be reached: tells everybody who watches resources for which it is asked.
 *
 * @since 0.1.0
 */
export const fail = (
  self: ClientCache,
  isServed: (typeUrl: string, name: string) => boolean,
  error: ErrorDetail
): ReadonlyArray<Notice> =>
  tellAll(self, isServed, (entry) =>
    entry.held === undefined ? { _tag: "Error", error } : { _tag: "AmbientError", error }
  )

/**
 * A server can be reached again: the ambient errors that {@link fail} told are over, those of the resources are not.
 *
 * @since 0.1.0
 */
export const restore = (
  self: ClientCache,
  isServed: (typeUrl: string, name: string) => boolean
): ReadonlyArray<Notice> =>
  tellAll(self, isServed, (entry) => {
    if (entry.failure !== undefined) return resultOf(entry, entry.failure.error)
    return entry.held === undefined ? undefined : { _tag: "Recovered" }
  })

const tellAll = (
  self: ClientCache,
  isServed: (typeUrl: string, name: string) => boolean,
  resultOfEntry: (entry: Entry) => Result | undefined
): ReadonlyArray<Notice> => {
  const notices: Array<Notice> = []
  for (const [typeUrl, type] of self.types) {
    for (const [name, entry] of type.entries) {
      if (!isServed(typeUrl, name)) continue
      const result = resultOfEntry(entry)
      const watchers = watchersOf(type, name, entry)
      if (result !== undefined && watchers.length > 0) notices.push({ typeUrl, name, watchers, result })
    }
    // Those who watch everything have heard nothing yet if there is nothing.
    if (HashSet.size(type.watchers) > 0 && HashMap.isEmpty(type.entries) && isServed(typeUrl, "*")) {
      const result = resultOfEntry(requested)
      if (result !== undefined) notices.push({ typeUrl, name: "*", watchers: inOrder(type.watchers), result })
    }
  }
  return notices
}
