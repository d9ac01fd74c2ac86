/**
 * Errors in the place of resources (TP3), as a stream tells them: each once, in the next response of its type. They are told of names
 * and members of collections; a wildcard has none.
 *
 * NOT_FOUND and PERMISSION_DENIED take the resource away from a client that has it: they go out with its removal, so what refers to it
 * goes first. With any other error a client keeps what it has: the resource is not removed.
 *
 * @see https://github.com/cncf/xds/blob/main/proposals/TP3-xds-error-propagation.md "Protocol Behavior"
 * @since 0.1.0
 */
import * as HashMap from "effect/HashMap"
import * as Option from "effect/Option"
import * as Collection from "../protocol/Collection.js"
import * as StatusCode from "../protocol/StatusCode.js"
import type { Resource } from "../resource/Resource.js"
import type { ResourceGroup } from "../resource/ResourceGroup.js"
import * as ResourceGroups from "../resource/ResourceGroup.js"
import * as ResourceSet from "../resource/ResourceSet.js"
import type { Response } from "../wire/Response.js"
import * as Responses from "../wire/Response.js"
import type { Draft, ServerStream } from "./StreamState.js"
import { put } from "./StreamState.js"
import type { Subscription } from "./Subscription.js"
import * as Subscriptions from "./Subscription.js"
import * as NameSet from "./NameSet.js"
import type { NameTable } from "./NameTable.js"

/**
 * Nothing was told.
 *
 * @since 0.1.0
 */
export const none: ServerStream["errors"] = new Map()

const noErrors = HashMap.empty<string, Resource>()

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
    const before = told?.kept ?? NameSet.empty
    const over: Array<string> = []
    const lost: Array<string> = []
    const left = HashMap.filter(told?.errors ?? noErrors, (_, name) => {
      return isWanted(names, subscription, name) && ResourceSet.get(set, name)?.error !== undefined
    })
    for (const name of before) {
      const error = ResourceSet.get(set, name)
      const isAsked = Subscriptions.isWild(subscription) || isWanted(names, subscription, name)
      if (isAsked && error?.error !== undefined && !isAway(error)) continue
      // ★ It is not there, and no error that lets the client keep it: only now does the client lose it.
      const isGone = ResourceSet.get(ResourceGroups.set(group, typeUrl), name) === undefined
      if (isAsked && isGone) lost.push(name)
      over.push(name)
    }
    next.requested = NameSet.addAll(next.requested, lost)
    const kept = NameSet.removeAll(before, over)
    const isChanged = next.mustReply !== subscription.mustReply || next.requested !== subscription.requested
    if (isChanged) self.subscriptions = put(self.subscriptions, next)
    isOwed ||= isChanged
    const rest = { set, names, errors: left, kept, isAnyWaiting: isAnyWaiting || errors.length > 0 }
    self.errors = new Map(self.errors).set(typeUrl, rest)
  }
  return isOwed
}

/**
 * The response with the errors that it tells. They are noted.
 *
 * @param before the subscription before the response, with what it answers
 * @param after the same after it
 * @since 0.1.0
 */
export const send = (self: Draft, before: Subscription, after: Subscription, response: Response): Response => {
  const { removed, typeUrl } = response
  const told = self.errors.get(typeUrl)
  if (told === undefined || self.group === undefined) return response
  const set = setOf(self.group, typeUrl)
  const { errors, isAnyWaiting } = due(self, after, before.requested, set)
  const isKept = (name: string): boolean => {
    const error = ResourceSet.get(set, name)
    return error?.error !== undefined && !isAway(error) && !before.requested.has(name)
  }
  if (errors.length === 0 && !removed.some(isKept)) return response
  const all = HashMap.union(told.errors, HashMap.fromIterable(errors.map((each) => [each.name, each] as const)))
  const kept = NameSet.addAll(told.kept, removed.filter(isKept))
  self.errors = new Map(self.errors).set(typeUrl, { ...told, errors: all, kept, isAnyWaiting })
  return Responses.make({
    ...response,
    errors: errors.flatMap(({ error, name }) => (error === undefined ? [] : [{ name, error }])),
    removed: removed.filter((name) => !isKept(name))
  })
}
