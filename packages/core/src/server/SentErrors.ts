/**
 * Errors in the place of resources (TP3), as a stream tells them: each once, in the next response of its type. They are told of names
 * and members of collections; a wildcard has none.
 *
 * NOT_FOUND and PERMISSION_DENIED take the resource away from a client that has it: they go out with its removal, so what refers to it
 * goes first. With any other error a client keeps what it has: the resource is not removed, also if the client requests it again, or
 * returns with it. A virtual host that the client requested by one of its hosts is kept, too, and the error told of that name.
 *
 * ★ That a host is missing is an answer of its own (VHDS), which Envoy needs. A client does not accept one name in both, so the error
 * follows in the next response.
 *
 * ★ A client remembers an error until it gets another one or the resource, also while full states lack it (LDS, CDS). So when the
 * error is over, and no resource came, such a client is told NOT_FOUND: nothing else would take away what it kept.
 *
 * @see https://github.com/cncf/xds/blob/main/proposals/TP3-xds-error-propagation.md "Protocol Behavior"
 * @since 0.1.0
 */
import * as HashMap from "effect/HashMap"
import * as Option from "effect/Option"
import * as Collection from "../protocol/Collection.js"
import * as StatusCode from "../protocol/StatusCode.js"
import * as Cursor from "../resource/Cursor.js"
import * as HeldVersions from "../resource/HeldVersions.js"
import type { Resource } from "../resource/Resource.js"
import type { ResourceGroup } from "../resource/ResourceGroup.js"
import * as ResourceGroups from "../resource/ResourceGroup.js"
import * as ResourceSet from "../resource/ResourceSet.js"
import * as Steps from "../Steps.js"
import type { NamedError, Response } from "../wire/Response.js"
import * as OnDemandNames from "./OnDemandNames.js"
import * as ResponseParts from "./ResponseParts.js"
import type { Draft, ServerStream } from "./StreamState.js"
import { put } from "./StreamState.js"
import type { Subscription } from "./Subscription.js"
import * as Subscriptions from "./Subscription.js"
import * as NameSet from "./NameSet.js"
import * as NameTables from "./NameTable.js"
import type { NameTable } from "./NameTable.js"

/**
 * Nothing was told.
 *
 * @since 0.1.0
 */
export const none: ServerStream["errors"] = new Map()

const noErrors = HashMap.empty<string, Resource>()

const noneKept = NameTables.empty<string>()

/** Most errors in one response. */
const maxErrors = 256

const isWanted = (names: NameTable<unknown>, { collections }: Subscription, name: string): boolean => {
  if (names.has(name)) return true
  const collection = collections === undefined ? undefined : Collection.of(name)
  return collection !== undefined && collections !== undefined && collections.globs.has(collection)
}

/** Whether the client has a resource of this name that is still to be removed. */
const isHeld = ({ cursor, pendingRemovals }: Subscription, name: string): boolean =>
  pendingRemovals.has(name) || (cursor !== undefined && cursor.fingerprints.has(name))

const { NOT_FOUND, PERMISSION_DENIED } = StatusCode.codes

/** Whether a client may drop what it has. */
const isAway = ({ error }: Resource): boolean => error?.code === NOT_FOUND || error?.code === PERMISSION_DENIED

/** Whether it is an error with which a client keeps what it has. */
const isKeepable = (resource: Resource | undefined): boolean => resource?.error !== undefined && !isAway(resource)

/** Whether the client was told an error that is over, and no resource came: it has to be told that there is none. */
const isOver = (
  { options }: Draft,
  { family }: Subscription,
  set: ResourceSet.ResourceSet,
  { error, name }: Resource
): boolean =>
  options.protocol === "StateOfTheWorld" &&
  family === "full-state" &&
  error?.code !== NOT_FOUND &&
  ResourceSet.get(set, name) === undefined

/** NOT_FOUND in the place of an error that is over. The same error may come again, and is told again. */
const notFound = (told: Resource): Resource => ({
  ...told,
  fingerprint: "",
  error: { code: NOT_FOUND, message: `${told.name} does not exist` }
})

interface Due {
  readonly errors: ReadonlyArray<Resource>
  readonly isAnyWaiting: boolean
}

/** The errors that the client has to be told. */
const due = (
  self: Draft,
  subscription: Subscription,
  requested: Subscription["requested"],
  set: ResourceSet.ResourceSet
): Due => {
  const names = Subscriptions.askedNames(subscription)
  const told = self.errors.get(subscription.typeUrl)?.errors ?? noErrors
  const errors: Array<Resource> = []
  let isAnyWaiting = false
  for (const resource of HashMap.values(set.varied)) {
    const { error, fingerprint, name } = resource
    if (error === undefined || !isWanted(names, subscription, name)) continue
    const isKnown = Option.exists(HashMap.get(told, name), (before) => before.fingerprint === fingerprint)
    if (isKnown && !requested.has(name)) continue
    if (errors.length === maxErrors || (isAway(resource) && isHeld(subscription, name))) isAnyWaiting = true
    else errors.push(resource)
  }
  for (const before of HashMap.values(told)) {
    if (!isOver(self, subscription, set, before) || !isWanted(names, subscription, before.name)) continue
    if (errors.length === maxErrors) isAnyWaiting = true
    else errors.push(notFound(before))
  }
  return { errors, isAnyWaiting }
}

const setOf = (group: ResourceGroup, typeUrl: string): ResourceSet.ResourceSet =>
  ResourceGroups.set(group.whole ?? group, typeUrl)

/**
 * Makes a response due for each type with errors that are not told. `false`: there are none.
 *
 * @since 0.1.0
 */
export const owe = (self: Draft, group: ResourceGroup): boolean => {
  if (group.whole === undefined && self.errors.size === 0) return false
  let isOwed = false
  for (const subscription of self.subscriptions) {
    const { typeUrl } = subscription
    const set = setOf(group, typeUrl)
    const told = self.errors.get(typeUrl)
    const names = Subscriptions.askedNames(subscription)
    if (HashMap.isEmpty(set.varied) && told === undefined) continue
    if (told?.set === set && told.names === names && !told.isAnyWaiting) continue
    const { errors, isAnyWaiting } = due(self, subscription, subscription.requested, set)
    const next = Subscriptions.draft(subscription)
    if (errors.length > 0) next.mustReply = true
    const kept = new NameTables.NameTableDraft(told?.kept ?? noneKept)
    const lost: Array<string> = []
    const left = HashMap.filter(told?.errors ?? noErrors, (before, name) => {
      const isInForce = ResourceSet.get(set, name)?.error !== undefined
      return isWanted(names, subscription, name) && (isInForce || isOver(self, subscription, set, before))
    })
    const seen = ResourceGroups.set(group, typeUrl)
    for (const [name, own] of told?.kept ?? noneKept) {
      const isAsked = Subscriptions.isWild(subscription) || isWanted(names, subscription, name)
      const isElsewhere = name !== own && ResourceSet.find(seen, name) !== undefined
      if (isAsked && !isElsewhere && isKeepable(ResourceSet.get(set, own))) continue
      // ★ It is not there, and no error that lets the client keep it: only now does the client lose it, with the answer.
      const isGone = ResourceSet.get(seen, own) === undefined
      if (isAsked && isGone && !isElsewhere) lost.push(name)
      else kept.delete(name)
      if (isAsked && isGone && name !== own) lost.push(own)
    }
    next.requested = NameSet.addAll(next.requested, lost)
    const isChanged = next.mustReply !== subscription.mustReply || next.requested !== subscription.requested
    if (isChanged) self.subscriptions = put(self.subscriptions, next)
    isOwed ||= isChanged
    const rest = { set, names, errors: left, kept: kept.end(), isAnyWaiting: isAnyWaiting || errors.length > 0 }
    self.errors = new Map(self.errors).set(typeUrl, rest)
  }
  return isOwed
}

/** The names under which a returning client quotes what it holds, and keeps it: an error says no more than that it cannot be given. */
const quoted = function* (
  before: Subscription,
  group: ResourceGroup,
  set: ResourceSet.ResourceSet
): Steps.Steps<ReadonlyArray<string>> {
  if (before.cursor !== undefined || before.initial.size === 0) return []
  const { others } = yield* HeldVersions.compare(before.initial, ResourceGroups.set(group, before.typeUrl))
  const isAsked = ({ name }: Resource): boolean =>
    Subscriptions.isWild(before) || isWanted(Subscriptions.askedNames(before), before, name)
  const found = yield* Steps.filter(
    HashMap.values(set.varied),
    (resource) => isKeepable(resource) && others.has(resource.name) && isAsked(resource)
  )
  return found.map(({ name }) => name)
}

/** The name of the resource that the client has under a name. */
const ownNameOf = ({ cursor, pendingRemovals }: Subscription, name: string): string =>
  pendingRemovals.get(name)?.resource?.name ?? (cursor === undefined ? name : Cursor.nameAt(cursor, name))

/**
 * The response with the errors that it tells, and without the removals of what the client keeps. Both are noted.
 *
 * @param before the subscription before the response, with what it answers
 * @param after the same after it
 * @param maxBytes of each part
 * @since 0.1.0
 */
export const telling = function* (
  self: Draft,
  before: Subscription,
  after: Subscription,
  response: Response,
  maxBytes: number
): Steps.Steps<Response> {
  const { typeUrl } = response
  const told = self.errors.get(typeUrl)
  if (told === undefined || self.group === undefined) return response
  const set = setOf(self.group, typeUrl)
  const { errors, isAnyWaiting } = due(self, after, before.requested, set)
  const held = new NameTables.NameTableDraft(told.kept)
  for (const name of yield* quoted(before, self.group, set)) held.set(name, name)
  const ownOf = (name: string): string => held.get(name) ?? ownNameOf(before, name)
  const isKept = (name: string): boolean =>
    isKeepable(ResourceSet.get(set, ownOf(name))) &&
    // ★ A client may request again what it holds, as after a reconnect. Only to one that does not hold it is it missing.
    (!before.requested.has(name) || held.has(name) || OnDemandNames.isHeld(before, name))
  const kept = new Set<string>()
  const missing = new Set<string>()
  for (let part: Response | undefined = response; part !== undefined; part = part.next) {
    for (const name of yield* Steps.filter(part.removed, isKept)) kept.add(name)
    for (const name of part.absent) (isKept(name) ? kept : missing).add(name)
  }
  const named: Array<NamedError> = []
  const toldNow: Array<readonly [string, Resource]> = []
  for (const resource of errors) {
    const { error, name } = resource
    if (error === undefined || missing.has(name)) continue
    named.push({ name, error })
    toldNow.push([name, resource])
  }
  const names = Subscriptions.askedNames(after)
  for (const name of kept) {
    const own = ownOf(name)
    held.set(name, own)
    const error = ResourceSet.get(set, own)?.error
    if (own !== name && error !== undefined && isWanted(names, after, name)) named.push({ name, error })
  }
  const keptNow = held.end()
  // What is not to be kept any more is requested until it is answered, see `owe`.
  const isLost = ([name, own]: readonly [string, string]): boolean =>
    !isKeepable(ResourceSet.get(set, own)) && !after.requested.has(name)
  const left = new NameTables.NameTableDraft(keptNow)
  for (const [name] of Array.from(keptNow).filter(isLost)) left.delete(name)
  self.errors = new Map(self.errors).set(typeUrl, {
    ...told,
    errors: HashMap.union(HashMap.removeMany(told.errors, missing), HashMap.fromIterable(toldNow)),
    kept: left.end(),
    isAnyWaiting: isAnyWaiting || toldNow.length < errors.length
  })
  // Streams share a response, with its body.
  if (named.length + kept.size === 0) return response
  return yield* ResponseParts.telling(response, named, kept, maxBytes)
}
