/**
 * A response looked at resource by resource: what is new, what the client has already, what is bad and why.
 *
 * ★ A resource whose bytes are those the client holds is not decoded: a state-of-the-world response of 10 000 clusters
 * of which one changed costs 10 000 comparisons of bytes and one decoding. ★ A bad resource spoils none of the others.
 *
 * @see https://github.com/grpc/proposal/blob/master/A46-xds-nack-semantics-improvement.md
 * @since 0.1.0
 */
import * as Reason from "@effect-xds/proto/Reason"
import * as Either from "effect/Either"
import * as Authority from "../protocol/Authority.js"
import * as StatusCode from "../protocol/StatusCode.js"
import type { ClientResponse, ResourceError } from "../wire/ClientResponse.js"
import type { ReceivedResource } from "../wire/ReceivedResource.js"
import * as ReceivedResources from "../wire/ReceivedResource.js"
import type { ErrorDetail } from "../wire/Request.js"
import { utf8 } from "../wire/Wire.js"
import type { ResourceDecoder } from "./ResourceDecoder.js"

/**
 * A resource that is in use.
 *
 * @since 0.1.0
 */
export interface InUse {
  readonly version: string
  readonly bytes: Uint8Array
  /** Whether nothing was to be noted if the resource came again as it is, without a version or TTL of its own. */
  readonly isPlain: boolean
}

/**
 * A resource in its place among those of an earlier response.
 *
 * @since 0.1.0
 */
export interface Placed {
  readonly name: string
  readonly use: InUse
  /** What is said of it when it comes again as it is: made once, since of ten thousand most do. */
  readonly again: Unchanged
}

/**
 * A resource that is in use.
 *
 * @since 0.1.0
 */
export const place = (name: string, use: InUse): Placed => ({
  name,
  use,
  again: { name, ownName: name, version: undefined, ttl: undefined, isHeartbeat: false, isPlain: true }
})

/**
 * What the client asks for and holds of the type.
 *
 * @since 0.1.0
 */
export interface View {
  /** Whether a name was asked for by name. */
  readonly isNamed: (name: string) => boolean
  /** Whether everything was asked for. */
  readonly wildcard: boolean
  /** What is in use under a name. */
  readonly named: (name: string) => Placed | undefined
  /** What is in use and had this place in an earlier response: servers seldom change the order. */
  readonly placed: (index: number) => Placed | undefined
  /** How many more resources the client takes. */
  readonly room: number
}

/**
 * A resource that is new or different. The bytes are a copy.
 *
 * @since 0.1.0
 */
export interface Update {
  readonly name: string
  /** The resource's own name, where the client asked for it by an alias. */
  readonly ownName: string
  readonly version: string
  readonly value: unknown
  readonly bytes: Uint8Array
  readonly ttl: number | undefined
}

/**
 * A resource that the client has, byte for byte, or its heartbeat.
 *
 * @since 0.1.0
 */
export interface Unchanged {
  readonly name: string
  /** The resource's own name, where the client asked for it by an alias. */
  readonly ownName: string
  /** Its own version, if it was given one. */
  readonly version: string | undefined
  readonly ttl: number | undefined
  /** It came without a body. */
  readonly isHeartbeat: boolean
  /** Nothing is to be noted. */
  readonly isPlain: boolean
}

/**
 * A resource that cannot be used.
 *
 * @since 0.1.0
 */
export interface Rejection {
  readonly name: string
  readonly reason: string
}

/**
 * What a response comes to. Names the client did not ask for are not in it.
 *
 * @since 0.1.0
 */
export interface Validation {
  /** Every name in the response. */
  readonly seen: ReadonlySet<string>
  /** How many of them are in use. */
  readonly known: number
  /** State of the world: the wanted ones in their order, those that were there before with their place. */
  readonly order: ReadonlyArray<Placed | string>
  readonly updated: ReadonlyArray<Update>
  readonly unchanged: ReadonlyArray<Unchanged>
  readonly rejected: ReadonlyArray<Rejection>
  /** The server says that they do not exist. */
  readonly removed: ReadonlyArray<string>
  readonly failed: ReadonlyArray<ResourceError>
  /** Whether what the response lacks was deleted. */
  readonly isComplete: boolean
  /** What a NACK says; empty if all is well. */
  readonly problems: ReadonlyArray<string>
}

const { INVALID_ARGUMENT, NOT_FOUND } = StatusCode.codes

/** Bytes of one resource's reason, so that a long one does not hide the other resources. */
const maxReason = 1_024

/**
 * Validates a response of a type that the client asked for.
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

  // ★ What is said to be there and to be gone is neither.
  const gone = new Set(response.removed.map(Authority.normalize))
  const reject = (names: ReadonlyArray<string>, name: string, words: string) => {
    const reason = truncate(words, maxReason)
    problems.push(`resource ${JSON.stringify(name)}: ${reason}`)
    for (const each of names) rejected.push({ name: each, reason })
  }

  for (let index = 0; index < response.resources.length; index++) {
    const resource = response.resources[index]
    if (resource === undefined) continue
    const { ttl, value } = resource
    if (value !== undefined) bodies++
    const isOtherType = value !== undefined && resource.typeUrl !== response.typeUrl
    const expected = view.placed(position)
    if (value !== undefined && !isOtherType && resource.name === "") {
      // The bytes say which resource it is, if they are those of one that is in use: its name need not be read.
      const isExpected = expected !== undefined && isSame(expected.use, value)
      const same = isExpected ? expected : guess(value, view)
      if (same !== undefined && !seen.has(same.name)) {
        if (same.name === expected?.name) position++
        seen.add(same.name)
        order.push(same)
        unchanged.push(same.again)
        known++
        continue
      }
    }
    const otherType = () => `is a ${resource.typeUrl || "message without a type"}, not a ${response.typeUrl}`
    const isNamedInside = resource.name === "" && value !== undefined && !isOtherType
    const inside = isNamedInside ? nameOf(decoder, value) : undefined
    const given = inside === undefined ? resource.name : Either.isRight(inside) ? inside.right : ""
    const name = Authority.normalize(given)
    if (name === "") {
      isEveryNameKnown = false
      const unnamed = inside !== undefined && Either.isLeft(inside) ? inside.left : "has no name"
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
    const names = wantedNames(name, resource, view)
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
    let decoded: Either.Either<Omit<Update, "name" | "ownName">, string> | undefined
    for (const each of names) {
      seen.add(each)
      const placed = each === expected?.name ? expected : view.named(each)
      const held = placed?.use
      if (held !== undefined) known++
      let next: Placed | string = each
      if (value === undefined) {
        if (held?.version === version) {
          unchanged.push({ name: each, ownName: name, version: own, ttl, isHeartbeat: true, isPlain: false })
        }
        // VHDS says so that a host does not exist. Any other resource without a body is a heartbeat that came too late.
        else if (resource.aliases.includes(name)) removed.push(each)
      } else if (held !== undefined && ReceivedResources.equals(held.bytes, value)) {
        const isOwn = each === name
        const isPlain = isOwn && held.isPlain && ttl === undefined && (own === undefined || own === held.version)
        if (isPlain && placed !== undefined) {
          next = placed
          unchanged.push(placed.again)
        } else unchanged.push({ name: each, ownName: name, version: own, ttl, isHeartbeat: false, isPlain: false })
      } else if (held === undefined && !view.isNamed(each) && --room < 0) {
        problems.push(`resource ${JSON.stringify(name)}: is one more than the client takes`)
      } else {
        decoded ??= decode(decoder, value, name, version, ttl)
        if (Either.isRight(decoded)) updated.push({ name: each, ownName: name, ...decoded.right })
        else if (each === names[0]) reject(names, name, decoded.left)
      }
      order.push(next)
    }
  }

  // ★ A server may say both that a resource is gone, which every client understands, and why.
  const errors = response.errors.map(({ error, name }) => ({ error, name: Authority.normalize(name) }))
  for (const { name } of errors) gone.delete(name)
  for (const name of gone) {
    if (!view.wildcard && !view.isNamed(name)) continue
    seen.add(name)
    removed.push(name)
  }
  let isWhole = true
  for (const { error, name } of errors) {
    // ★ What a wildcard is to bring was asked for, too; an error of `*` is one of everything.
    const isAsked = name === "*" ? view.wildcard : view.isNamed(name) || (view.wildcard && Authority.isCovered(name))
    if (!isAsked) continue
    if (seen.has(name)) {
      problems.push(`resource ${JSON.stringify(name)}: is in resources and in resource_errors, or there twice`)
      continue
    }
    seen.add(name)
    failed.push({ name, error })
    // What the response lacks may be what the server could not give. But `*` that is not found says that there is nothing.
    if (name === "*" && error.code !== NOT_FOUND) isWhole = false
  }
  const isComplete =
    response.protocol === "StateOfTheWorld" &&
    decoder.isFullState &&
    isEveryNameKnown &&
    isWhole &&
    // Heartbeats are no update: a response of nothing else deletes nothing.
    (bodies > 0 || response.resources.length === 0)
  return { seen, known, order, updated, unchanged, rejected, removed, failed, isComplete, problems }
}

const isSame = (use: InUse, value: Uint8Array): boolean => use.isPlain && ReceivedResources.equals(use.bytes, value)

/** The name that stands first is most often the one; whether it is, the bytes must say. */
const guess = (value: Uint8Array, view: View): Placed | undefined => {
  const name = leadingText(value)
  const placed = name === "" ? undefined : view.named(name)
  return placed !== undefined && isSame(placed.use, value) ? placed : undefined
}

/** The text in a message's field 1, if that stands first and is short; empty if not. */
const leadingText = (bytes: Uint8Array): string => {
  const end = 2 + (bytes[1] ?? 0)
  return bytes[0] === 0x0a && end < 0x82 && end <= bytes.byteLength ? decoder.decode(bytes.subarray(2, end)) : ""
}

const noNames: ReadonlyArray<string> = []

/** The names by which the client asked for a resource: its own, and in incremental its aliases. */
const wantedNames = (name: string, resource: ReceivedResource, view: View): ReadonlyArray<string> => {
  const isOwn = view.wildcard || view.isNamed(name)
  if (resource.aliases.length === 0) return isOwn ? [name] : noNames
  const aliases = resource.aliases.filter((alias) => alias !== name && view.isNamed(alias))
  return isOwn ? [name, ...aliases] : aliases
}

/**
 * The name that a decoder finds; left: what is wrong with the decoder. It is the application's: it may throw, or give what
 * its type does not allow.
 */
const nameOf = (decoder: ResourceDecoder, value: Uint8Array): Either.Either<string, string> => {
  try {
    const name: unknown = decoder.nameOf(value)
    if (name === undefined || typeof name === "string") return Either.right(name ?? "")
    return Either.left(`the decoder of ${decoder.typeUrl} gave a name that is no text: ${typeof name}`)
  } catch (cause) {
    return Either.left(`the decoder of ${decoder.typeUrl} failed to find the name: ${Reason.of(cause)}`)
  }
}

/** The same of what it makes of a resource. */
const decode = (
  decoder: ResourceDecoder,
  value: Uint8Array,
  name: string,
  version: string,
  ttl: number | undefined
): Either.Either<Omit<Update, "name" | "ownName">, string> => {
  // A view would keep the whole response in memory.
  const bytes = new Uint8Array(value)
  try {
    const decoded: unknown = decoder.decode(bytes, name)
    if (!Either.isEither(decoded)) {
      return Either.left(`the decoder of ${decoder.typeUrl} gave no Either: ${typeof decoded}`)
    }
    if (Either.isRight(decoded)) return Either.right({ version, value: decoded.right, bytes, ttl })
    return Either.left(typeof decoded.left === "string" ? decoded.left : Reason.of(decoded.left))
  } catch (cause) {
    return Either.left(Reason.of(cause))
  }
}

/**
 * The error of a NACK: every problem, as far as there is room.
 *
 * @param maxBytes of UTF-8
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
 * The beginning of a text that has at most so many bytes of UTF-8; no character is cut apart.
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
