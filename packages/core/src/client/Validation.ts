/**
 * Validation of a response, resource by resource: new, unchanged, or invalid and why.
 *
 * ★ A resource with the bytes that the client holds is not decoded: a state-of-the-world response of 10 000 clusters, one of
 * them changed, costs 10 000 comparisons and one decoding. ★ An invalid resource does not affect the others.
 *
 * @see https://github.com/grpc/proposal/blob/master/A46-xds-nack-semantics-improvement.md
 * @since 0.1.0
 */
import * as Either from "effect/Either"
import * as Authority from "../protocol/Authority.js"
import * as StatusCode from "../protocol/StatusCode.js"
import * as Steps from "../Steps.js"
import type { ClientResponse, ResourceError } from "../wire/ClientResponse.js"
import type { Received, ReceivedResource, Unread } from "../wire/ReceivedResource.js"
import * as ReceivedResources from "../wire/ReceivedResource.js"
import type { ErrorDetail } from "../wire/Request.js"
import { utf8 } from "../wire/Wire.js"
import * as Decoding from "./Decoding.js"
import type { Ownership } from "./Ownership.js"
import * as Ownerships from "./Ownership.js"
import type { ResourceDecoder } from "./ResourceDecoder.js"
import * as ResourceDecoders from "./ResourceDecoder.js"
import type { Placed } from "./ResponseOrder.js"

/**
 * The subscription and the held resources of the type.
 *
 * @since 0.1.0
 */
export interface View {
  /** Whether a name is subscribed by name. */
  readonly isNamed: (name: string) => boolean
  /** Whether a subscribed collection brings a name. */
  readonly isMember: (name: string) => boolean
  /** Whether the wildcard is subscribed. */
  readonly wildcard: boolean
  /** The resource in use under a name. */
  readonly named: (name: string) => Placed | undefined
  /** The resource in use at this index of an earlier response: servers seldom change the order. */
  readonly placed: (index: number) => Placed | undefined
  /** The resource in use that a received one is, unchanged, if it is found at once; first that which was expected is looked at. */
  readonly unchanged: (
    resource: Unread,
    expected: Placed | undefined,
    comparison: ReceivedResources.Comparison
  ) => Placed | undefined
  /** Whether a resource that came without a body, with this version of its own, renews the one in use. */
  readonly isRenewed: (name: string, own: string | undefined) => boolean
  /** How many more resources the client accepts. */
  readonly room: number
  readonly ownership: Ownership
}

/**
 * A new or changed resource.
 *
 * @since 0.1.0
 */
export interface Update extends Decoding.Valid {
  readonly name: string
  /** The name in the resource itself, if it was requested by an alias. */
  readonly ownName: string
}

/**
 * A resource with the bytes that the client holds, or its heartbeat.
 *
 * @since 0.1.0
 */
export interface Unchanged {
  readonly name: string
  /** The name in the resource itself, if it was requested by an alias. */
  readonly ownName: string
  /** Its own version, if it came with one. */
  readonly version: string | undefined
  readonly ttl: number | undefined
  /** Whether it came without a body. */
  readonly isHeartbeat: boolean
  /** Whether the cache stays the same. */
  readonly isPlain: boolean
}

/**
 * An invalid resource.
 *
 * @since 0.1.0
 */
export interface Rejection {
  readonly name: string
  readonly reason: string
}

/**
 * The result of validation. Resources that were not requested are left out, except in `seen`.
 *
 * @since 0.1.0
 */
export interface Validation {
  /** Every name in the response. */
  readonly seen: ReadonlySet<string>
  /** Number of resources in use among them. */
  readonly known: number
  /** State of the world: the requested resources in their order; those in use before as {@link Placed}. */
  readonly order: ReadonlyArray<Placed | string>
  readonly updated: ReadonlyArray<Update>
  readonly unchanged: ReadonlyArray<Unchanged>
  readonly rejected: ReadonlyArray<Rejection>
  /** Names that the server says do not exist. */
  readonly removed: ReadonlyArray<string>
  readonly failed: ReadonlyArray<ResourceError>
  /** Whether the response is complete: a resource that it lacks is deleted. */
  readonly isComplete: boolean
  /** The problems for a NACK; empty for an ACK. */
  readonly problems: ReadonlyArray<string>
}

const { INVALID_ARGUMENT, NOT_FOUND } = StatusCode.codes

/** Most bytes of the reason for one resource, so that a long one does not hide the others. */
const maxReason = 1_024

/** A response that is being validated, one resource at a time. The functions below call its methods in their order. */
class Validating {
  /** How many resources went through the decoder. */
  decoded = 0
  readonly #seen = new Set<string>()
  #updated: Array<Update> = []
  readonly #unchanged: Array<Unchanged> = []
  readonly #rejected: Array<Rejection> = []
  readonly #removed: Array<string> = []
  readonly #failed: Array<ResourceError> = []
  readonly #problems: Array<string> = []
  readonly #order: Array<Placed | string> = []
  readonly #comparison = new ReceivedResources.Comparison()
  /** ★ Two endpoints (LEDS) may be equal. */
  readonly #isNamed: boolean
  /** Whether each resource that comes concerns what is held under its own name, and nothing else. */
  readonly #isEachItself: boolean
  #isEveryNameKnown = true
  #isWhole = true
  #bodies = 0
  #known = 0
  #position = 0
  #room: number
  #aliases: ReadonlySet<string> | undefined

  constructor(
    private readonly response: ClientResponse,
    private readonly decoder: ResourceDecoder,
    private readonly view: View,
    /** ★ Removed names. A name both in `resources` and in `removed_resources` is an error. */
    readonly gone: Set<string>
  ) {
    this.#isNamed = decoder.nameOf !== ResourceDecoders.unnamed
    this.#isEachItself = gone.size === 0 && Ownerships.isNone(view.ownership)
    this.#room = view.room
  }

  /** The next resource. */
  take(each: Received, index: number): void {
    const { decoder, gone, response, view } = this
    const seen = this.#seen
    const hasBody = each.message !== undefined || each.value !== undefined
    if (hasBody) this.#bodies++
    const isOtherType = hasBody && each.typeUrl !== response.typeUrl
    const expected = view.placed(this.#position)
    const canGuess =
      each.message !== undefined && (ReceivedResources.isWrapped(each) ? this.#isEachItself : this.#isNamed)
    if (canGuess && !isOtherType) {
      // Fast path: equal bytes identify a resource in use, which was asked for, so its name need not be read.
      const same = view.unchanged(each, expected, this.#comparison)
      if (same !== undefined && !seen.has(same.name)) {
        if (same.name === expected?.name) this.#position++
        seen.add(same.name)
        this.#order.push(same)
        this.#unchanged.push(same.again)
        this.#known++
        return
      }
    }
    const resource = ReceivedResources.read(each)
    const { ttl, value } = resource
    const otherType = () => `is a ${resource.typeUrl || "message without a type"}, not a ${response.typeUrl}`
    const isNamedInside = resource.name === "" && value !== undefined && !isOtherType
    const inside = isNamedInside ? Decoding.nameOf(decoder, value) : undefined
    const given = inside === undefined ? resource.name : Either.isRight(inside) ? inside.right : ""
    const name = Authority.normalize(given)
    if (name === "") {
      this.#isEveryNameKnown = false
      const unnamed =
        inside !== undefined && Either.isLeft(inside) ? inside.left : Decoding.reasonWithoutName(decoder, resource)
      this.decoded++
      this.#problems.push(
        `resource ${index}: ${truncate(resource.malformed ?? (isOtherType ? otherType() : unnamed), maxReason)}`
      )
      return
    }
    if (seen.has(name)) {
      this.#problems.push(`resource ${JSON.stringify(name)}: is there twice`)
      return
    }
    seen.add(name)
    const names = this.#wantedNames(name, resource)
    const isGone = gone.delete(name)
    const fault =
      resource.malformed ??
      (isOtherType ? otherType() : undefined) ??
      (isGone ? "is in resources and in removed_resources" : undefined) ??
      (ttl !== undefined && !(ttl > 0) ? `has a TTL of ${ttl} ms` : undefined)
    if (fault !== undefined) return this.#reject(names, name, fault)
    if (name === expected?.name) this.#position++
    const own = resource.version === "" ? undefined : resource.version
    const version = own ?? (response.protocol === "StateOfTheWorld" ? response.version : "")
    let decoded: Either.Either<Decoding.Valid, string> | undefined
    for (const each of names) {
      seen.add(each)
      const held = each === expected?.name ? expected : view.named(each)
      if (held !== undefined) this.#known++
      let next: Placed | string = each
      if (value === undefined) {
        // VHDS reports a missing host in this way, with any version or none. A heartbeat has a TTL.
        if (ttl === undefined && resource.aliases.includes(each)) this.#removed.push(each)
        // Any other resource without a body is a late heartbeat.
        else if (held !== undefined && view.isRenewed(each, own)) {
          this.#unchanged.push({ name: each, ownName: name, version: own, ttl, isHeartbeat: true, isPlain: false })
        }
      } else if (held !== undefined && this.#comparison.isEqual(held.bytes, value)) {
        const isOwn = each === name
        const isPlain = isOwn && held.isPlain && ttl === undefined && (own === undefined || own === held.version)
        if (isPlain) {
          next = held
          this.#unchanged.push(held.again)
        } else
          this.#unchanged.push({ name: each, ownName: name, version: own, ttl, isHeartbeat: false, isPlain: false })
      } else if (held === undefined && !view.isNamed(each) && --this.#room < 0) {
        this.#problems.push(`resource ${JSON.stringify(name)}: is one more than the client takes`)
      } else {
        if (decoded === undefined) this.decoded++
        decoded ??= Decoding.decode(decoder, resource, name, version, ttl)
        if (Either.isRight(decoded)) this.#updated.push({ name: each, ownName: name, ...decoded.right })
        else if (each === names[0]) this.#reject(names, name, decoded.left)
      }
      this.#order.push(next)
    }
  }

  /** The errors of the response. ★ A server may both remove a resource, which every client understands, and report its error. */
  errors(): ReadonlyArray<ResourceError> {
    const errors = this.response.errors.map(({ error, name }) => ({ error, name: Authority.normalize(name) }))
    for (const { name } of errors) this.gone.delete(name)
    return errors
  }

  /** A name that is gone. */
  remove(name: string): void {
    const { view } = this
    // ★ A resource is removed by its own name, also for those who asked for it by another, unless they now have another.
    const aliases = Ownerships.aliasesOf(view.ownership, name).filter((alias) => !this.#seen.has(alias))
    for (const each of isAsked(name, view) ? [name, ...aliases] : aliases) {
      this.#seen.add(each)
      this.#removed.push(each)
    }
  }

  /** Whether resources may have a key of another one. */
  get hasKeys(): boolean {
    return this.decoder.keysOf !== undefined && this.#updated.length > 0
  }

  get updated(): ReadonlyArray<Update> {
    return this.#updated
  }

  conflicts(): Ownerships.Conflicts {
    return new Ownerships.Conflicts(this.view.ownership, this.#removed)
  }

  /** Rejects new resources with a key of another. */
  rejectConflicts({ rejected }: Ownerships.Conflicts): void {
    if (rejected.size === 0) return
    for (const [name, reason] of rejected) this.#problems.push(`resource ${JSON.stringify(name)}: ${reason}`)
    const all = this.#updated
    this.#updated = []
    for (const update of all) {
      const reason = rejected.get(update.ownName)
      if (reason === undefined) this.#updated.push(update)
      else this.#rejected.push({ name: update.name, reason })
    }
  }

  fail({ error, name }: ResourceError): void {
    // ★ Resources that a wildcard covers were requested, too. An error of `*` concerns the whole type.
    if (!isAsked(name, this.view)) return
    if (this.#seen.has(name)) {
      this.#problems.push(`resource ${JSON.stringify(name)}: is in resources and in resource_errors, or there twice`)
      return
    }
    this.#seen.add(name)
    this.#failed.push({ name, error })
    // The server may have failed to send what the response lacks. But NOT_FOUND for `*` means that there is nothing.
    if (name === "*" && error.code !== NOT_FOUND) this.#isWhole = false
  }

  end(): Validation {
    const { decoder, response } = this
    const isComplete =
      response.protocol === "StateOfTheWorld" &&
      decoder.isFullState &&
      this.#isEveryNameKnown &&
      this.#isWhole &&
      // Heartbeats are no update: a response with heartbeats only deletes nothing.
      (this.#bodies > 0 || response.resources.length === 0)
    return {
      seen: this.#seen,
      known: this.#known,
      order: this.#order,
      updated: this.#updated,
      unchanged: this.#unchanged,
      rejected: this.#rejected,
      removed: this.#removed,
      failed: this.#failed,
      isComplete,
      problems: this.#problems
    }
  }

  #reject(names: ReadonlyArray<string>, name: string, words: string): void {
    const reason = truncate(words, maxReason)
    this.#problems.push(`resource ${JSON.stringify(name)}: ${reason}`)
    for (const each of names) this.#rejected.push({ name: each, reason })
  }

  /**
   * The names under which a resource was requested: its own and, in incremental, its aliases, and those under which it is held
   * and that the response neither takes away nor gives to another resource.
   */
  #wantedNames(name: string, resource: ReceivedResource): ReadonlyArray<string> {
    const { gone, view } = this
    const isOwn = isAsked(name, view)
    const before = resource.value === undefined ? noNames : Ownerships.aliasesOf(view.ownership, name)
    if (resource.aliases.length === 0 && before.length === 0) return isOwn ? [name] : noNames
    const given = resource.aliases.filter((alias) => alias !== name && view.isNamed(alias))
    const aliases = new Set([...given, ...before.filter((alias) => !gone.has(alias) && !this.#isClaimed(alias))])
    return isOwn ? [name, ...aliases] : Array.from(aliases)
  }

  #isClaimed(alias: string): boolean {
    return (this.#aliases ??= new Set(this.response.resources.flatMap(ReceivedResources.aliasesOf))).has(alias)
  }
}

/**
 * Validates a response of a subscribed type.
 *
 * @since 0.1.0
 */
export const make = (response: ClientResponse, decoder: ResourceDecoder, view: View): Validation => {
  const { removed, resources } = response
  const validating = new Validating(response, decoder, view, new Set(removed.map(Authority.normalize)))
  let index = 0
  for (const each of resources) validating.take(each, index++)
  const errors = validating.errors()
  for (const name of validating.gone) validating.remove(name)
  if (validating.hasKeys) {
    const conflicts = validating.conflicts()
    for (const each of validating.updated) conflicts.add(each)
    for (const each of conflicts.changed) conflicts.judge(each)
    validating.rejectConflicts(conflicts)
  }
  for (const each of errors) validating.fail(each)
  return validating.end()
}

/**
 * {@link make} in steps: one for each resource that is decoded, and one for several others.
 *
 * @since 0.1.0
 */
export const inSteps = function* (
  response: ClientResponse,
  decoder: ResourceDecoder,
  view: View
): Steps.Steps<Validation> {
  const { removed, resources } = response
  const gone = new Set<string>()
  yield* Steps.each(removed, (name) => gone.add(Authority.normalize(name)))
  const validating = new Validating(response, decoder, view, gone)
  let index = 0
  for (const each of resources) {
    const before = validating.decoded
    validating.take(each, index++)
    if (validating.decoded !== before || index % Steps.atOnce === 0) yield
  }
  const errors = validating.errors()
  yield* Steps.each(validating.gone, (name) => validating.remove(name))
  if (validating.hasKeys) {
    const conflicts = validating.conflicts()
    yield* Steps.each(validating.updated, (each) => conflicts.add(each))
    yield* Steps.each(conflicts.changed, (each) => conflicts.judge(each))
    validating.rejectConflicts(conflicts)
  }
  yield* Steps.each(errors, (each) => validating.fail(each))
  return validating.end()
}

const noNames: ReadonlyArray<string> = []

/** Whether a resource was requested: by name, collection or wildcard. ★ A wildcard covers no names of an authority. */
const isAsked = (name: string, view: View): boolean =>
  (view.wildcard && Authority.isInWildcard(name)) || view.isNamed(name) || view.isMember(name)

/**
 * The error of a NACK with every problem, as far as `maxBytes` allow.
 *
 * @param maxBytes most bytes of the message, as UTF-8
 * @since 0.1.0
 */
export const errorOf = (problems: ReadonlyArray<string>, maxBytes: number): ErrorDetail | undefined => {
  if (problems.length === 0) return undefined
  const message = firstOf(problems, maxBytes).join("; ")
  if (utf8(message).byteLength <= maxBytes) return { code: INVALID_ARGUMENT, message }
  const rest = `… (${problems.length} in all)`
  const room = Math.max(0, maxBytes - utf8(rest).byteLength)
  return { code: INVALID_ARGUMENT, message: truncate(message, room) + rest }
}

/** The first problems, which are more than so many bytes; all of them if they are not. There may be ten thousand. */
const firstOf = (problems: ReadonlyArray<string>, maxBytes: number): ReadonlyArray<string> => {
  let count = 0
  // Of the joined text.
  for (let length = -2; count < problems.length && length <= maxBytes; count++)
    length += (problems[count]?.length ?? 0) + 2
  return count === problems.length ? problems : problems.slice(0, count)
}

/**
 * The longest prefix of a text that has at most `maxBytes` bytes as UTF-8. Characters are not split.
 *
 * @since 0.1.0
 */
export const truncate = (text: string, maxBytes: number): string => {
  const bytes = utf8(text)
  if (bytes.byteLength <= maxBytes) return text
  let end = maxBytes
  // Continuation bytes begin with 10.
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end--
  return decoder.decode(bytes.subarray(0, end))
}

const decoder = new TextDecoder()
