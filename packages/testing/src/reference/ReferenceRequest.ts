/**
 * What a request changes in the reference model.
 *
 * @since 0.1.0
 */
import { collectionOf, isNamed, isCollection } from "./ReferenceNames.js"
import {
  type ReferenceModel,
  type Subscription,
  fresh,
  makeUncertain,
  unreported,
  isQuoted,
  noBody
} from "./ReferenceSubscription.js"
import type { IncrementalRequest, StateOfTheWorldRequest } from "@effect-xds/core/wire/Request"
import { byTypeUrl, VirtualHost } from "@effect-xds/proto/ResourceType"

/**
 * A collection that must be answered is answered by the names of its members, as far as they are listed: also when it is given up.
 *
 * @since 0.1.0
 */
export const withListed = (self: ReferenceModel): ReferenceModel => {
  const subscriptions = new Map(self.subscriptions)
  for (const { name, typeUrl } of self.resources ?? []) {
    const subscription = subscriptions.get(typeUrl)
    if (subscription?.names.has(name) !== true || !subscription.toAnswer.has(collectionOf(name))) continue
    subscriptions.set(typeUrl, { ...subscription, toAnswer: new Set([...subscription.toAnswer, name]) })
  }
  return { ...self, subscriptions }
}

/**
 * State of the world: a request replaces the list of names, unless its nonce is stale.
 *
 * @since 0.1.0
 */
export const replaced = (
  before: Subscription | undefined,
  request: StateOfTheWorldRequest,
  isWildcardOff: boolean
): Subscription => {
  const self = before ?? fresh
  const { resourceNames, responseNonce } = request
  if (self.lastNonce !== "" && responseNonce !== "" && responseNonce !== self.lastNonce) return self
  const neverNamed = self.wildcard === "legacy" && resourceNames.length === 0
  const wildcard = neverNamed ? "legacy" : resourceNames.includes("*") ? "explicit" : "none"
  const names = new Set(resourceNames.filter((name) => name !== "*"))
  const toAnswer = new Set(self.toAnswer)
  for (const name of names) if (!self.names.has(name)) toAnswer.add(name)
  // Under a wildcard it may be due for another reason: its cluster was sent.
  const isWildcardOn = wildcard !== "none" && !isWildcardOff
  for (const name of toAnswer) if (name !== "*" && !isNamed(names, name) && !isWildcardOn) toAnswer.delete(name)
  const sent = new Map(self.sent)
  if (wildcard === "none" || isWildcardOff) for (const name of sent.keys()) if (!isNamed(names, name)) sent.delete(name)
  const isWidened = wildcard !== "none" && self.wildcard === "none"
  if (isWidened) toAnswer.add("*")
  // The request crossed the first response. The client may still hold a resource that it dropped in between, so it gets the
  // state.
  const isFullState = byTypeUrl(request.typeUrl)?.family === "full-state"
  const isCrossing = isFullState && self.lastNonce !== "" && responseNonce === ""
  const isOther =
    wildcard !== self.wildcard ||
    names.size !== self.names.size ||
    Array.from(names).some((name) => !self.names.has(name))
  return {
    ...self,
    names,
    wildcard,
    toAnswer,
    sent,
    unanswered: self.unanswered || isWidened || (isCrossing && isOther)
  }
}

/**
 * Incremental: a request adds and removes names, whatever its nonce is.
 *
 * @since 0.1.0
 */
export const edited = (
  before: Subscription | undefined,
  request: IncrementalRequest,
  isWildcardOff: boolean
): Subscription => {
  const self = before ?? fresh
  const names = new Set(self.names)
  const toAnswer = new Set(self.toAnswer)
  const sent = new Map(self.sent)
  let { unanswered, wildcard } = self

  const subscribe = new Set(request.resourceNamesSubscribe)
  if (wildcard === "legacy" && subscribe.size > 0) wildcard = before !== undefined ? "explicit" : "none"
  else if (subscribe.has("*")) {
    for (const name of sent.keys()) makeUncertain(sent, name)
    toAnswer.add("*")
    unanswered = true
  }
  if (subscribe.has("*")) wildcard = "explicit"
  for (const name of subscribe) {
    if (name === "*") continue
    names.add(name)
    toAnswer.add(name)
    for (const each of sent.keys()) if (each === name || collectionOf(each) === name) makeUncertain(sent, each)
  }
  for (const name of request.resourceNamesUnsubscribe) {
    if (name === "*" && wildcard === "explicit") {
      wildcard = "none"
      for (const each of toAnswer) if (!isNamed(names, each)) toAnswer.delete(each)
    } else if (isCollection(name) && names.delete(name)) {
      // Its members that were not listed are given up with it, or answered, like names.
      toAnswer.delete(name)
      for (const each of [...toAnswer, ...sent.keys()]) {
        if (collectionOf(each) !== name || names.has(each)) continue
        if (wildcard === "none") toAnswer.delete(each)
        else if (sent.has(each)) toAnswer.add(each)
        makeUncertain(sent, each)
      }
    } else if (names.delete(name)) {
      // Under a wildcard the client cannot know whether to keep the resource, so it gets an answer.
      // So it does under a collection.
      if (wildcard === "none" && !isNamed(names, name)) toAnswer.delete(name)
      else toAnswer.add(name)
      if (sent.get(name) === unreported) sent.delete(name)
      makeUncertain(sent, name)
      for (const [other, each] of sent) {
        if (each.asked.includes(name)) sent.set(other, { ...each, asked: each.asked.filter((asked) => asked !== name) })
      }
    }
  }
  // Names were requested again or unsubscribed before the first response: the client may have had quoted resources by those.
  const isOther = subscribe.size > (subscribe.has("*") ? 1 : 0) || names.size < self.names.size
  const isGiven = request.resourceNamesUnsubscribe.some((name) => self.names.has(name))
  if (before !== undefined && (wildcard === "none" || isWildcardOff) && (isOther || isGiven)) {
    for (const name of sent.keys()) if (!isNamed(names, name)) makeUncertain(sent, name)
  }
  // Unsubscribed resources are forgotten on both sides.
  if (wildcard === "none" || isWildcardOff) {
    const given = new Set(request.resourceNamesUnsubscribe)
    const isEnded = self.wildcard !== "none" && wildcard === "none"
    for (const [name, { identity }] of sent) {
      const all = [name, collectionOf(name), ...(self.sent.get(name)?.asked ?? [])]
      const isUnsubscribed = isEnded || all.some((each) => given.has(each))
      if (isUnsubscribed && !all.some((each) => names.has(each)) && !isQuoted(identity)) sent.delete(name)
    }
  }
  if (before === undefined) {
    // The client quotes what it holds from an earlier stream: only the rest is sent.
    for (const [name, version] of request.initialResourceVersions) {
      // A quote without a version is a host without a body, not a virtual host.
      const isEmpty = request.typeUrl === VirtualHost.typeUrl && version === ""
      sent.set(name, { identity: isEmpty ? noBody : `version ${version}`, aliases: [], asked: [] })
    }
  }
  return { ...self, names, wildcard, toAnswer, sent, unanswered }
}
