/**
 * Which variants of resources a client has (TP2). A variant is removed by name and constraints, also when another takes its place: a cache
 * in between may have both.
 *
 * @see https://github.com/cncf/xds/blob/main/proposals/TP2-dynamically-generated-cacheable-xds-resources.md "Transport Protocol Changes"
 * @since 0.1.0
 */
import * as HashMap from "effect/HashMap"
import * as Option from "effect/Option"
import * as Collection from "../protocol/Collection.js"
import * as Cursor from "../resource/Cursor.js"
import * as ResourceGroups from "../resource/ResourceGroup.js"
import * as Steps from "../Steps.js"
import { equals } from "../wire/ReceivedResource.js"
import type { RemovedVariant, Response } from "../wire/Response.js"
import * as Responses from "../wire/Response.js"
import { AskedAliases } from "./AskedAliases.js"
import type { NamesChange } from "./NamesChange.js"
import type { Draft } from "./StreamState.js"
import type { Subscription } from "./Subscription.js"
import * as Subscriptions from "./Subscription.js"

/**
 * No variants.
 *
 * @since 0.1.0
 */
export const none = HashMap.empty<string, Uint8Array>()

const keyOf = (typeUrl: string, name: string): string => `${typeUrl} ${name}`

/**
 * Forgets what a request unsubscribed from: the client drops it, and is sent no removal. Otherwise it would be remembered for the life of
 * the stream. Under a wildcard the client keeps what it has.
 *
 * @param after the subscription after the request
 * @since 0.1.0
 */
export const forget = function* (self: Draft, after: Subscription, { dropped }: NamesChange): Steps.Steps<void> {
  if (dropped.length === 0 || HashMap.isEmpty(self.variants) || Subscriptions.isWild(after)) return
  const { cursor, typeUrl } = after
  const set = ResourceGroups.set(self.group ?? ResourceGroups.empty, typeUrl)
  const asked = new AskedAliases(after, set)
  const isGone = (name: string): boolean => !Subscriptions.hasName(after, name) && !asked.isServed(name)
  const prefix = keyOf(typeUrl, "")
  const names = new Set<string>()
  let count = 0
  if (dropped.some((name) => name === "*" || Collection.isGlob(name))) {
    for (const key of HashMap.keys(self.variants)) {
      if (++count % Steps.atOnce === 0) yield
      if (key.startsWith(prefix)) names.add(key.slice(prefix.length))
    }
  } else {
    for (const name of dropped) {
      if (++count % Steps.atOnce === 0) yield
      names.add(name)
      // The resource may have another name than the one that it was requested by.
      if (cursor !== undefined) names.add(Cursor.nameAt(cursor, name))
    }
  }
  const next = HashMap.beginMutation(self.variants)
  for (const name of yield* Steps.filter(names, isGone)) HashMap.remove(next, keyOf(typeUrl, name))
  self.variants = HashMap.endMutation(next)
}

/**
 * The response to send, with the variants that it removes. They are noted.
 *
 * @since 0.1.0
 */
export const send = (self: Draft, response: Response): Response => {
  const { protocol, removed, resources, typeUrl } = response
  // In state of the world nothing is removed by name.
  if (protocol === "StateOfTheWorld") return response
  const removedVariants: Array<RemovedVariant> = []
  const plain: Array<string> = []
  const before = self.variants
  const next = HashMap.beginMutation(before)
  for (const { constraints, name } of resources) {
    const known = Option.getOrUndefined(HashMap.get(before, keyOf(typeUrl, name)))
    if (constraints !== undefined) HashMap.set(next, keyOf(typeUrl, name), constraints)
    else if (known !== undefined) HashMap.remove(next, keyOf(typeUrl, name))
    if (known !== undefined && (constraints === undefined || !equals(known, constraints)))
      removedVariants.push({ name, constraints: known })
  }
  for (const name of removed) {
    const known = Option.getOrUndefined(HashMap.get(before, keyOf(typeUrl, name)))
    if (known === undefined) plain.push(name)
    else {
      removedVariants.push({ name, constraints: known })
      HashMap.remove(next, keyOf(typeUrl, name))
    }
  }
  self.variants = HashMap.endMutation(next)
  if (removedVariants.length === 0) return response
  return Responses.make({ ...response, removed: plain, removedVariants })
}
