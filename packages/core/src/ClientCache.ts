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
import type { ErrorDetail } from "./Request.js"
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
  /** The resources of a server's last large response in its order; exact as long as `entries` are those it left. */
  readonly order: {
    readonly server: string
    readonly places: ReadonlyArray<Placed>
    readonly entries: HashMap.HashMap<string, Entry>
  }
  /** Those that watch everything. */
  readonly watchers: HashSet.HashSet<number>
  /** Not later than the first TTL is over. */
  readonly expiresAt: number
  /** Names that nobody watches any more, and `*`, whose resources are kept for a while; see {@link unwatch}. */
  readonly lingering: HashSet.HashSet<string>
  /** When they are dropped; Infinity until the server was told. */
  readonly lingerUntil: number
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
const maxLingering = 10_000
const NOT_FOUND = 5
const PERMISSION_DENIED = 7
const UNAVAILABLE = 14

const noWatchers = HashSet.empty<number>()
const noNotices: ReadonlyArray<Notice> = []
const emptyType: TypeCache = {
  entries: HashMap.empty(),
  held: 0,
  rejected: 0,
  order: { server: "", places: [], entries: HashMap.empty() },
  watchers: noWatchers,
  expiresAt: never,
  lingering: HashSet.empty(),
  lingerUntil: never
}
const requested: Entry = { status: "Requested", held: undefined, failure: undefined, watchers: noWatchers }

/**
 * Nothing is watched.
 *
 * @since 0.1.0
 */
export const empty: ClientCache = { types: new Map() }

const typeOf = (self: ClientCache, typeUrl: string): TypeCache => self.types.get(typeUrl) ?? emptyType

const put = (self: ClientCache, typeUrl: string, next: TypeCache): ClientCache => ({
  types: new Map(self.types).set(typeUrl, next)
})

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
  const { entries, order } = typeOf(self, typeUrl)
  const places = order.server === server ? order.places : []
  // As long as nothing has changed since, what the last response left is found without the entries.
  const isCurrent = order.server === server && order.entries === entries
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
  const { entries } = after
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
  return { server, places, entries }
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
export const isLingering = (self: ClientCache, typeUrl: string, name: string): boolean => {
  const { entries, lingering } = typeOf(self, typeUrl)
  if (HashSet.size(lingering) === 0) return false
  if (HashSet.has(lingering, name)) return true
  const entry = HashMap.get(entries, name)
  return Option.isSome(entry) && HashSet.has(lingering, "*") && HashSet.size(entry.value.watchers) === 0
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

const watchersOf = (type: TypeCache, entry: Entry): ReadonlyArray<number> =>
  HashSet.size(type.watchers) === 0 ? inOrder(entry.watchers) : inOrder(HashSet.union(type.watchers, entry.watchers))

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
    const next = put(self, typeUrl, { ...type, watchers, lingering: HashSet.empty() })
    return [next, Array.from(type.entries).flatMap(([of, entry]) => tell(of, entry))]
  }
  const entry = Option.getOrElse(HashMap.get(type.entries, name), () => requested)
  const watched = { ...entry, watchers: HashSet.add(entry.watchers, watcher) }
  const entries = HashMap.set(type.entries, name, watched)
  return [put(self, typeUrl, { ...type, entries, lingering: HashSet.remove(type.lingering, name) }), tell(name, entry)]
}

/**
 * Ends a watch. With the last one a resource is forgotten, unless everything is watched: then the server decides, and
 * only one that never came is dropped. With the last one of everything, all that nobody watches by name are forgotten.
 *
 * ★ State of the world: a request that crosses a response is ignored by the server. So a name that was given up and is
 * asked for again may be one that the server never stopped to serve, and it will not send it again. Therefore what is
 * given up lingers until the server certainly knows.
 *
 * @param linger whether resources are kept
 * @since 0.1.0
 */
export const unwatch = (self: ClientCache, typeUrl: string, name: string, watcher: number, linger: boolean): Step => {
  const type = typeOf(self, typeUrl)
  if (name === "*") {
    const watchers = HashSet.remove(type.watchers, watcher)
    if (HashSet.size(watchers) > 0) return [put(self, typeUrl, { ...type, watchers }), noNotices]
    const next = linger
      ? { ...type, watchers, lingering: HashSet.add(type.lingering, "*"), lingerUntil: never }
      : { ...type, watchers, ...onlyWatched(type) }
    return [put(self, typeUrl, next), noNotices]
  }
  const changes = new Changes(self, typeUrl, type)
  const entry = changes.get(name)
  if (entry === undefined) return [self, noNotices]
  const next = { ...entry, watchers: HashSet.remove(entry.watchers, watcher) }
  if (HashSet.size(next.watchers) === 0 && (HashSet.size(type.watchers) === 0 || entry.held === undefined)) {
    const isKept = linger && HashSet.size(type.watchers) === 0 && HashSet.size(type.lingering) < maxLingering
    changes.set(name, isKept && entry.status !== "DoesNotExist" ? next : { ...next, held: undefined })
    if (isKept) {
      const [cache] = changes.end()
      const kept = typeOf(cache, typeUrl)
      const lingering = HashSet.add(kept.lingering, name)
      return [put(cache, typeUrl, { ...kept, lingering, lingerUntil: never }), noNotices]
    }
  } else if (HashSet.size(next.watchers) === 0 && entry.status === "DoesNotExist" && entry.failure !== undefined) {
    // Only those who named it kept it in use.
    changes.fail(name, next, "DoesNotExist", entry.failure, true)
  } else {
    changes.set(name, next)
  }
  return changes.end()
}

/**
 * Drops what lingers: one resource, with `*` all of a type.
 *
 * @since 0.1.0
 */
export const dropLingering = (self: ClientCache, typeUrl: string, name = "*"): ClientCache => {
  const type = typeOf(self, typeUrl)
  if (HashSet.size(type.lingering) === 0) return self
  if (name !== "*") {
    if (!isLingering(self, typeUrl, name)) return self
    const lingering = HashSet.remove(type.lingering, name)
    const [held, rejected] = countsOf(get(self, typeUrl, name))
    return put(self, typeUrl, {
      ...type,
      entries: HashMap.remove(type.entries, name),
      held: type.held - held,
      rejected: type.rejected - rejected,
      lingering
    })
  }
  return put(self, typeUrl, { ...type, ...onlyWatched(type), lingering: HashSet.empty(), lingerUntil: never })
}

const onlyWatched = (type: TypeCache): Pick<TypeCache, "entries" | "held" | "rejected"> => {
  const entries = HashMap.filter(type.entries, (entry) => HashSet.size(entry.watchers) > 0)
  let [held, rejected] = [0, 0]
  for (const entry of HashMap.values(entries)) {
    const counts = countsOf(entry)
    held += counts[0]
    rejected += counts[1]
  }
  return { entries, held, rejected }
}

/**
 * The server was told, or told again, what is asked for: what lingers is dropped if it stays quiet.
 *
 * @param until milliseconds
 * @since 0.1.0
 */
export const linger = (self: ClientCache, typeUrl: string, until: number): ClientCache => {
  const type = typeOf(self, typeUrl)
  return HashSet.size(type.lingering) === 0 ? self : put(self, typeUrl, { ...type, lingerUntil: until })
}

/** Changes entries of one type one after another, and collects what is to be told. */
/** What an entry adds to the counts of its type. */
const countsOf = (entry: Entry | undefined): readonly [held: 0 | 1, rejected: 0 | 1] =>
  entry === undefined ? nothing : entry.held !== undefined ? oneHeld : entry.status === "Nacked" ? oneRejected : nothing
const nothing = [0, 0] as const
const oneHeld = [1, 0] as const
const oneRejected = [0, 1] as const

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

  get(name: string): Entry | undefined {
    return Option.getOrUndefined(HashMap.get(this.entries, name))
  }

  /** Puts an entry; one that nobody watches and that holds nothing is dropped. */
  set(name: string, entry: Entry): void {
    const isDropped = entry.held === undefined && HashSet.size(entry.watchers) === 0
    const before = countsOf(this.get(name))
    const after = isDropped ? nothing : countsOf(entry)
    this.held += after[0] - before[0]
    this.rejected += after[1] - before[1]
    if (isDropped) HashMap.remove(this.entries, name)
    else HashMap.set(this.entries, name, entry)
    if (entry.held !== undefined) this.expiresAt = Math.min(this.expiresAt, entry.held.expiresAt)
  }

  tell(name: string, entry: Entry, result: Result): void {
    const watchers = watchersOf(this.type, entry)
    if (watchers.length > 0) this.notices.push({ typeUrl: this.typeUrl, name, watchers, result })
  }

  /** A resource went, or cannot be had: takes it away if `drop`, and tells. ★ The same is told once. */
  fail(name: string, entry: Entry, status: Status, failure: Failure, drop: boolean): void {
    // A resource that only the wildcard brought is the server's to delete: nobody asked for it by name.
    const isFree = status === "DoesNotExist" && HashSet.size(entry.watchers) === 0
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

  for (const { bytes, name, ttl, value, version: own } of validation.updated) {
    const entry = changes.get(name) ?? requested
    const expiresAt = ttl === undefined ? never : now + ttl
    const held: Held = { server, version: own, value, bytes, updatedAt: now, expiresAt }
    const next: Entry = { ...entry, status: "Acked", held, failure: undefined }
    changes.set(name, next)
    changes.tell(name, next, updatedOf(held))
  }
  for (const { isHeartbeat, isPlain, name, ttl, version: own } of validation.unchanged) {
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
      entry.failure === failure
    if (isSame) continue
    const next: Entry = { ...entry, status, failure, held: { ...entry.held, server, version: ownVersion, expiresAt } }
    changes.set(name, next)
    if (entry.failure !== undefined && failure === undefined) changes.tell(name, next, { _tag: "Recovered" })
  }
  for (const { name, reason } of validation.rejected) {
    const known = changes.get(name)
    // Of what was never there and nobody named, nothing is kept: that it was told is not known otherwise.
    if (known === undefined && policy.isRepeat) continue
    const entry = known ?? requested
    changes.fail(name, entry, "Nacked", { error: { code: 3, message: reason }, version, at: now }, drop)
  }
  for (const name of validation.removed) {
    const entry = changes.get(name)
    if (entry !== undefined) deleted(name, entry, `${name} does not exist, the server says`)
  }
  for (const { error, name } of validation.failed) {
    const entry = changes.get(name)
    if (entry === undefined) continue
    const isData = error.code === NOT_FOUND || error.code === PERMISSION_DENIED
    changes.fail(name, entry, "ReceivedError", { error, version: "", at: now }, drop && isData)
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
      // What the server cannot give it says once, not with every response.
      if (validation.seen.has(name) || entry.status === "ReceivedError") continue
      // What was rejected and never held is gone like what is held.
      if (entry.held === undefined && entry.status !== "Nacked") continue
      // ★ What this server never sent may be missing because the response is to an older request.
      const isKnown = entry.held?.server === server ? policy.isServed(name) : policy.isAnswered(name)
      if (isKnown) deleted(name, entry, `${name} is not in version ${JSON.stringify(version)}`)
    }
  }
  const [next, notices] = changes.end()
  const after = typeOf(next, typeUrl)
  return [put(next, typeUrl, { ...after, order: orderOf(type, after, validation, server) }), notices]
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
  for (const { expiresAt, lingering, lingerUntil } of self.types.values()) {
    at = Math.min(at, expiresAt, HashSet.size(lingering) === 0 ? never : lingerUntil)
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
    if (now >= typeOf(cache, typeUrl).lingerUntil) cache = dropLingering(cache, typeUrl)
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
 * Name → version of what came from a server: what a client says on a new incremental stream to it. ★ Of another server
 * it says nothing: the same version may mean something else there.
 *
 * @since 0.1.0
 */
export const versions = (
  self: ClientCache,
  typeUrl: string,
  { isServed, server }: Pick<Policy, "server" | "isServed">
): ReadonlyMap<string, string> => {
  const found = new Map<string, string>()
  for (const [name, { held, status }] of typeOf(self, typeUrl).entries) {
    // What the server took back it does not have; a copy that is in use all the same is nothing it knows of.
    if (held?.server !== server || held.version === "" || status === "DoesNotExist") continue
    if (isServed(name)) found.set(name, held.version)
  }
  return found
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
      const watchers = watchersOf(type, entry)
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
