/**
 * Splitting of large responses: by default, gRPC clients accept messages of at most 4 MB.
 *
 * The parts go out one after another with nothing in between, each with its own nonce. They remain one update: the ACK of the
 * last part counts for all. A full-state response is never split, because the client deletes what it lacks.
 *
 * @since 0.1.0
 */
import * as ResourceType from "@effect-xds/proto/ResourceType"
import type { Resource } from "../resource/Resource.js"
import * as Steps from "../Steps.js"
import type { NamedError, Response } from "../wire/Response.js"
import { entriesIn } from "../wire/ResponseForm.js"
import { sizeOfText } from "../wire/Wire.js"
import type { Subscription } from "./Subscription.js"
import * as Subscriptions from "./Subscription.js"

/** Upper bound of the tags, lengths and TTL of a resource, in bytes. */
const framing = 64

/** Most UTF-8 bytes of a UTF-16 unit. */
const bytesPerUnit = 3

/** Resources measured per step. It takes at most some tenths of a millisecond. */
const many = 16 * Steps.atOnce

const noNames: ReadonlyArray<string> = []
const noResources: ReadonlyArray<Resource> = []

/** Types whose resources clients compare with one another: addresses, scope keys, domains. */
const compared: ReadonlySet<string> = new Set(
  ResourceType.ofAllApis
    .filter(({ shortName }) => shortName === "LDS" || shortName === "SRDS" || shortName === "VHDS")
    .map(({ typeUrl }) => typeUrl)
)

interface Part {
  resources: ReadonlyArray<Resource>
  readonly heartbeats: Array<Resource>
  readonly absent: Array<string>
  readonly errors: Array<NamedError>
  readonly removed: Array<string>
}

/** Upper bound of the bytes of a resource with `units` UTF-16 units of further text. */
const atMostOf = ({ name, value, version }: Resource, units: number): number =>
  framing + bytesPerUnit * (units + name.length + version.length) + value.byteLength

/**
 * Whether a response with few resources, nothing else and no aliases certainly fits into `maxBytes`.
 *
 * @since 0.1.0
 */
export const isSmall = ({ resources, typeUrl, version }: Response, maxBytes: number): boolean =>
  resources.reduce(
    (bytes, resource) => bytes + atMostOf(resource, typeUrl.length),
    framing + bytesPerUnit * (typeUrl.length + version.length)
  ) <= maxBytes

/** Whether a response certainly fits into `maxBytes`, by bounds of its bytes. Measuring its texts takes as long as all the rest. */
const isSure = function* (response: Response, maxBytes: number): Steps.Steps<boolean> {
  const { absent, aliases, errors, heartbeats, removed, resources, typeUrl, version } = response
  if (aliases.size > 0 && resources.length + heartbeats.length > 0) return false
  let units = typeUrl.length + version.length
  let bytes = framing * (1 + heartbeats.length + 2 * absent.length + removed.length + errors.length)
  if (maxBytes < bytes) return false
  let count = 0
  const entryIn = entriesIn(response)
  for (const resource of resources) {
    bytes += entryIn(resource)?.size ?? atMostOf(resource, typeUrl.length)
    // A hundred thousand resources are not looked at to the end.
    if (bytes > maxBytes) return false
    if (++count % many === 0) yield
  }
  for (const each of heartbeats) units += typeUrl.length + each.name.length + each.version.length
  for (const name of absent) units += 2 * name.length
  for (const name of removed) units += name.length
  for (const { error, name } of errors) units += name.length + error.message.length
  return bytes + bytesPerUnit * units <= maxBytes
}

/**
 * Splits a response into parts of at most `maxBytes`, linked by `next`. A response that fits stays as it is; a resource that
 * does not fit is a part of its own. The cuts depend on the response alone, so that it is split once for all streams that share
 * it.
 *
 * Removals come last: the rest may replace what they remove. For listeners, scopes and virtual hosts they come first: a new
 * resource may have the address, key or domain of a removed one, and clients reject two with the same.
 *
 * @since 0.1.0
 */
export const split = function* (response: Response, maxBytes: number): Steps.Steps<Response> {
  if (maxBytes === Number.POSITIVE_INFINITY) return response
  if (yield* isSure(response, maxBytes)) return response
  const { absent, aliases, errors, heartbeats, removed, resources } = response
  const typeUrl = sizeOfText(response.typeUrl)
  const head = framing + typeUrl + sizeOfText(response.version)
  let count = 0
  const isEnough = (): boolean => {
    if (++count < many) return false
    count = 0
    return true
  }
  const ofName = (name: string) => framing + sizeOfText(name)
  const entryIn = entriesIn(response)
  const ofResource = (resource: Resource) => {
    const entry = entryIn(resource)
    if (entry !== undefined) return entry.size
    const { name, value, version } = resource
    let size = framing + typeUrl + sizeOfText(name) + sizeOfText(version) + value.byteLength
    if (aliases.size === 0) return size
    const others = aliases.get(name) ?? noNames
    for (const alias of others) size += ofName(alias)
    count += others.length
    return size
  }

  const parts: Array<Part> = []
  let last: Part | undefined
  let size = head
  /** A part with room for `bytes`. */
  const partFor = (bytes: number): Part => {
    size += bytes
    if (last !== undefined && size <= maxBytes) return last
    last = { resources: noResources, heartbeats: [], absent: [], errors: [], removed: [] }
    parts.push(last)
    size = head + bytes
    return last
  }
  const remove = function* (): Steps.Steps<void> {
    for (const each of removed) {
      partFor(ofName(each)).removed.push(each)
      if (isEnough()) yield
    }
  }
  if (compared.has(response.typeUrl)) yield* remove()
  let part: Part | undefined
  let [at, from] = [0, 0]
  for (const each of resources) {
    const next = partFor(ofResource(each))
    if (next !== part) {
      if (part !== undefined) part.resources = resources.slice(from, at)
      part = next
      from = at
    }
    at++
    if (isEnough()) yield
  }
  if (part !== undefined) part.resources = resources.slice(from)
  for (const each of heartbeats) {
    partFor(ofResource(each) - each.value.byteLength).heartbeats.push(each)
    if (isEnough()) yield
  }
  for (const each of absent) partFor(2 * ofName(each)).absent.push(each)
  for (const each of errors) partFor(ofName(each.name) + sizeOfText(each.error.message)).errors.push(each)
  if (!compared.has(response.typeUrl)) yield* remove()
  if (parts.length <= 1) return response
  return (
    parts.reduceRight<Response | undefined>((next, part) => ({ ...response, ...part, next }), undefined) ?? response
  )
}

const isEmpty = ({ absent, errors, heartbeats, removed, resources }: Response): boolean =>
  resources.length + heartbeats.length + absent.length + errors.length + removed.length === 0

const followed = (response: Response, next: Response): Response => ({
  ...response,
  next: response.next === undefined ? next : followed(response.next, next)
})

/**
 * Adds removals to a response, in parts of at most `most` names and `maxBytes` bytes: before or after the rest, as in
 * {@link split}.
 *
 * @since 0.1.0
 */
export const removing = function* (
  response: Response,
  names: ReadonlyArray<string>,
  most: number,
  maxBytes: number
): Steps.Steps<Response> {
  const bare = { ...response, resources: [], heartbeats: [], absent: [], removed: [], next: undefined }
  const removals: Array<Response> = []
  for (let at = 0; at < names.length; at += most) {
    const part = { ...bare, removed: names.slice(at, at + most) }
    removals.push(yield* split(part, maxBytes))
  }
  const rest = isEmpty(response) && response.next === undefined && removals.length > 0 ? [] : [response]
  const all = compared.has(response.typeUrl) ? [...removals, ...rest] : [...rest, ...removals]
  return all.reduceRight((next, each) => followed(each, next))
}

/**
 * A response that tells errors, and does not take away the names that the client keeps: in all its parts, which may be more than before, so
 * that each has at most `maxBytes` bytes.
 *
 * @since 0.1.0
 */
export const telling = function* (
  response: Response,
  errors: ReadonlyArray<NamedError>,
  kept: ReadonlySet<string>,
  maxBytes: number
): Steps.Steps<Response> {
  const parts: Array<Response> = []
  for (let part: Response | undefined = response; part !== undefined; part = part.next) {
    const removed = yield* Steps.filter(part.removed, (name) => !kept.has(name))
    const absent = yield* Steps.filter(part.absent, (name) => !kept.has(name))
    parts.push({ ...part, removed, absent, next: undefined })
  }
  const left = parts.filter((part) => !isEmpty(part))
  const [first = { ...response, removed: noNames, absent: noNames, next: undefined }, ...rest] = left
  const told = yield* split({ ...first, errors }, maxBytes)
  return [told, ...rest].reduceRight((next, each) => followed(each, next))
}

/**
 * The part without resources that were unsubscribed since the part before; unchanged if none were; `undefined` if nothing is
 * left.
 *
 * @since 0.1.0
 */
export const wanted = (part: Response, subscription: Subscription): Response | undefined => {
  if (Subscriptions.isWild(subscription)) return part
  const isAsked = ({ name }: Resource) =>
    Subscriptions.hasName(subscription, name) ||
    (part.aliases.get(name) ?? noNames).some((alias) => Subscriptions.hasName(subscription, alias))
  const resources = part.resources.filter(isAsked)
  const heartbeats = part.heartbeats.filter(isAsked)
  if (resources.length === part.resources.length && heartbeats.length === part.heartbeats.length) return part
  const left = { ...part, resources, heartbeats }
  return isEmpty(left) ? undefined : left
}
