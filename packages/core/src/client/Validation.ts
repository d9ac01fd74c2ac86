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
import type { ClientResponse, ResourceError } from "../wire/ClientResponse.js"
import type { ReceivedResource, Unread } from "../wire/ReceivedResource.js"
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

/**
 * Validates a response of a subscribed type.
 *
 * @since 0.1.0
 */
export const make = (response: ClientResponse, decoder: ResourceDecoder, view: View): Validation => {
  const seen = new Set<string>()
  const updated: Array<Update> = []
  const unchanged: Array<Unchanged> = []
  const rejected: Array<Rejection> = []
  const removed: Array<string> = []
  const failed: Array<ResourceError> = []
  const problems: Array<string> = []
  let isEveryNameKnown: boolean = true
  let bodies = 0
  let known = 0
  let position = 0
  const order: Array<Placed | string> = []
  let room = view.room
  const comparison = new ReceivedResources.Comparison()
  // ★ Two endpoints (LEDS) may be equal.
  const isNamed = decoder.nameOf !== ResourceDecoders.unnamed

  // ★ A name both in `resources` and in `removed_resources` is an error.
  const gone = new Set(response.removed.map(Authority.normalize))
  /** Whether each resource that comes concerns what is held under its own name, and nothing else. */
  const isEachItself = gone.size === 0 && Ownerships.isNone(view.ownership)
  let aliases: ReadonlySet<string> | undefined
  const claimed = (alias: string): boolean =>
    (aliases ??= new Set(response.resources.flatMap(ReceivedResources.aliasesOf))).has(alias)
  const reject = (names: ReadonlyArray<string>, name: string, words: string) => {
    const reason = truncate(words, maxReason)
    problems.push(`resource ${JSON.stringify(name)}: ${reason}`)
    for (const each of names) rejected.push({ name: each, reason })
  }

  for (let index = 0; index < response.resources.length; index++) {
    const each = response.resources[index]
    if (each === undefined) continue
    const hasBody = each.message !== undefined || each.value !== undefined
    if (hasBody) bodies++
    const isOtherType = hasBody && each.typeUrl !== response.typeUrl
    const expected = view.placed(position)
    const canGuess = each.message !== undefined && (ReceivedResources.isWrapped(each) ? isEachItself : isNamed)
    if (canGuess && !isOtherType) {
      // Fast path: equal bytes identify a resource in use, which was asked for, so its name need not be read.
      const same = view.unchanged(each, expected, comparison)
      if (same !== undefined && !seen.has(same.name)) {
        if (same.name === expected?.name) position++
        seen.add(same.name)
        order.push(same)
        unchanged.push(same.again)
        known++
        continue
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
      isEveryNameKnown = false
      const unnamed =
        inside !== undefined && Either.isLeft(inside) ? inside.left : Decoding.reasonWithoutName(decoder, resource)
      problems.push(
        `resource ${index}: ${truncate(resource.malformed ?? (isOtherType ? otherType() : unnamed), maxReason)}`
      )
      continue
    }
    if (seen.has(name)) {
      problems.push(`resource ${JSON.stringify(name)}: is there twice`)
      continue
    }
    seen.add(name)
    const names = wantedNames(name, resource, view, gone, claimed)
    const isGone = gone.delete(name)
    const fault =
      resource.malformed ??
      (isOtherType ? otherType() : undefined) ??
      (isGone ? "is in resources and in removed_resources" : undefined) ??
      (ttl !== undefined && !(ttl > 0) ? `has a TTL of ${ttl} ms` : undefined)
    if (fault !== undefined) {
      reject(names, name, fault)
      continue
    }
    if (name === expected?.name) position++
    const own = resource.version === "" ? undefined : resource.version
    const version = own ?? (response.protocol === "StateOfTheWorld" ? response.version : "")
    let decoded: Either.Either<Decoding.Valid, string> | undefined
    for (const each of names) {
      seen.add(each)
      const held = each === expected?.name ? expected : view.named(each)
      if (held !== undefined) known++
      let next: Placed | string = each
      if (value === undefined) {
        // VHDS reports a missing host in this way, with any version or none. A heartbeat has a TTL.
        if (ttl === undefined && resource.aliases.includes(each)) removed.push(each)
        // Any other resource without a body is a late heartbeat.
        else if (held !== undefined && view.isRenewed(each, own)) {
          unchanged.push({ name: each, ownName: name, version: own, ttl, isHeartbeat: true, isPlain: false })
        }
      } else if (held !== undefined && comparison.isEqual(held.bytes, value)) {
        const isOwn = each === name
        const isPlain = isOwn && held.isPlain && ttl === undefined && (own === undefined || own === held.version)
        if (isPlain) {
          next = held
          unchanged.push(held.again)
        } else unchanged.push({ name: each, ownName: name, version: own, ttl, isHeartbeat: false, isPlain: false })
      } else if (held === undefined && !view.isNamed(each) && --room < 0) {
        problems.push(`resource ${JSON.stringify(name)}: is one more than the client takes`)
      } else {
        decoded ??= Decoding.decode(decoder, resource, name, version, ttl)
        if (Either.isRight(decoded)) updated.push({ name: each, ownName: name, ...decoded.right })
        else if (each === names[0]) reject(names, name, decoded.left)
      }
      order.push(next)
    }
  }

  // ★ A server may both remove a resource, which every client understands, and report its error.
  const errors = response.errors.map(({ error, name }) => ({ error, name: Authority.normalize(name) }))
  for (const { name } of errors) gone.delete(name)
  for (const name of gone) {
    // ★ A resource is removed by its own name, also for those who asked for it by another, unless they now have another.
    const aliases = Ownerships.aliasesOf(view.ownership, name).filter((alias) => !seen.has(alias))
    const isOwn = isAsked(name, view)
    for (const each of isOwn ? [name, ...aliases] : aliases) {
      seen.add(each)
      removed.push(each)
    }
  }
  if (decoder.keysOf !== undefined) rejectConflicts(updated, rejected, removed, problems, view.ownership)
  let isWhole = true
  for (const { error, name } of errors) {
    // ★ Resources that a wildcard covers were requested, too. An error of `*` concerns the whole type.
    if (!isAsked(name, view)) continue
    if (seen.has(name)) {
      problems.push(`resource ${JSON.stringify(name)}: is in resources and in resource_errors, or there twice`)
      continue
    }
    seen.add(name)
    failed.push({ name, error })
    // The server may have failed to send what the response lacks. But NOT_FOUND for `*` means that there is nothing.
    if (name === "*" && error.code !== NOT_FOUND) isWhole = false
  }
  const isComplete =
    response.protocol === "StateOfTheWorld" &&
    decoder.isFullState &&
    isEveryNameKnown &&
    isWhole &&
    // Heartbeats are no update: a response with heartbeats only deletes nothing.
    (bodies > 0 || response.resources.length === 0)
  return { seen, known, order, updated, unchanged, rejected, removed, failed, isComplete, problems }
}

const noNames: ReadonlyArray<string> = []

/** Whether a resource was requested: by name, collection or wildcard. ★ A wildcard covers no names of an authority. */
const isAsked = (name: string, view: View): boolean =>
  (view.wildcard && Authority.isInWildcard(name)) || view.isNamed(name) || view.isMember(name)

/**
 * The names under which a resource was requested: its own and, in incremental, its aliases, and those under which it is held
 * and that the response neither takes away nor gives to another resource.
 */
const wantedNames = (
  name: string,
  resource: ReceivedResource,
  view: View,
  gone: ReadonlySet<string>,
  claimed: (alias: string) => boolean
): ReadonlyArray<string> => {
  const isOwn = isAsked(name, view)
  const before = resource.value === undefined ? noNames : Ownerships.aliasesOf(view.ownership, name)
  if (resource.aliases.length === 0 && before.length === 0) return isOwn ? [name] : noNames
  const given = resource.aliases.filter((alias) => alias !== name && view.isNamed(alias))
  const aliases = new Set([...given, ...before.filter((alias) => !gone.has(alias) && !claimed(alias))])
  return isOwn ? [name, ...aliases] : Array.from(aliases)
}

/** Rejects new resources with a key of another. */
const rejectConflicts = (
  updated: Array<Update>,
  rejected: Array<Rejection>,
  removed: ReadonlyArray<string>,
  problems: Array<string>,
  ownership: Ownership
): void => {
  if (updated.length === 0) return
  const conflicts = Ownerships.conflicts(ownership, updated, removed)
  if (conflicts.size === 0) return
  for (const [name, reason] of conflicts) problems.push(`resource ${JSON.stringify(name)}: ${reason}`)
  const all = updated.splice(0)
  for (const update of all) {
    const reason = conflicts.get(update.ownName)
    if (reason === undefined) updated.push(update)
    else rejected.push({ name: update.name, reason })
  }
}

/**
 * The error of a NACK with every problem, as far as `maxBytes` allow.
 *
 * @param maxBytes most bytes of the message, as UTF-8
 * @since 0.1.0
 */
export const errorOf = (problems: ReadonlyArray<string>, maxBytes: number): ErrorDetail | undefined => {
  if (problems.length === 0) return undefined
  const message = problems.join("; ")
  if (utf8(message).byteLength <= maxBytes) return { code: INVALID_ARGUMENT, message }
  const rest = `… (${problems.length} in all)`
  const room = Math.max(0, maxBytes - utf8(rest).byteLength)
  return { code: INVALID_ARGUMENT, message: truncate(message, room) + rest }
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
