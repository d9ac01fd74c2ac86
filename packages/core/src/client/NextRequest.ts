/**
 * The next request of a type, if one is due. Requests are not queued: a request is made when it can be sent.
 *
 * @see https://www.envoyproxy.io/docs/envoy/latest/api-docs/xds_protocol
 * @since 0.1.0
 */
import * as HashSet from "effect/HashSet"
import type { Protocol, Request } from "../wire/Request.js"
import type { ClientSubscription } from "./ClientSubscription.js"
import { isSilent as isImplicitWildcard, isWanted, maxAmbiguous } from "./ClientSubscription.js"

const never = Number.POSITIVE_INFINITY
const noList: ReadonlyArray<string> = []
const noNames = HashSet.empty<string>()

/**
 * The kind of the next request: the `first` of the stream, a `change` of the subscription, an `answer` (ACK or NACK), or
 * nothing.
 *
 * @since 0.1.0
 */
export const due = (self: ClientSubscription, protocol: Protocol): "first" | "change" | "answer" | "nothing" => {
  // ★ A first request without names would be a wildcard.
  if (!self.hasRequested) return isWanted(self) ? "first" : "nothing"
  const answer = self.answers[0]
  const isAnswered = answer?.applied !== false
  // In state of the world a request also answers the last response, so it waits until that is processed.
  if (self.changed && (isAnswered || protocol === "Incremental")) return "change"
  return answer?.applied === true && self.heldBackUntil === never ? "answer" : "nothing"
}

/**
 * A request, and the names in it that no request of this stream had before.
 *
 * @since 0.1.0
 */
export interface Sent {
  /** `undefined`: no request is needed, because the wildcard covers these names. */
  readonly request: Request | undefined
  readonly fresh: ReadonlyArray<string>
}

/**
 * Makes the request that is due. Returns it with the state after it.
 *
 * @param isLocated whether names go in locators (TP2): a wildcard is named then, since what the client says of itself stands beside names
 * @param held incremental, for the first request of a stream: name → version of the resources from this server
 * @since 0.1.0
 */
export const send = (
  self: ClientSubscription,
  protocol: Protocol,
  node: Uint8Array | undefined,
  held: () => ReadonlyMap<string, string>,
  isLocated = false
): readonly [ClientSubscription, Sent] =>
  protocol === "StateOfTheWorld"
    ? sendStateOfTheWorld(self, node, isLocated)
    : sendIncremental(self, node, held, isLocated)

const sendStateOfTheWorld = (
  self: ClientSubscription,
  node: Uint8Array | undefined,
  isLocated: boolean
): readonly [ClientSubscription, Sent] => {
  const isLegacy = !isLocated && isImplicitWildcard(self)
  const listed = isLegacy ? noList : (self.listed ?? Array.from(self.names))
  // A legacy wildcard cannot be ended by an empty list: first `*` is named, then the next request drops it.
  const isEnding = !self.wildcard && listed.length === 0 && !self.explicit
  const star = isEnding || (self.wildcard && !isLegacy)
  const resourceNames = star ? ["*", ...listed] : listed
  const answer = self.answers[0]
  const fresh = Array.from(self.fresh)
  // ★ Some servers answer a first request with their version with nothing.
  const isLacking = self.quoting === "No" || self.quoting === "NotYet"
  const isAskingAgain = !self.hasRequested && HashSet.size(self.refreshing) > 0
  if (isLegacy && self.hasRequested && answer === undefined && !fresh.some((name) => HashSet.has(self.dropped, name))) {
    const next = { ...self, changed: false, fresh: noNames, dropped: noNames }
    return [next, { request: undefined, fresh }]
  }
  return [
    {
      ...self,
      hasRequested: true,
      explicit: self.explicit || resourceNames.length > 0,
      ambiguous: self.hasRequested ? self.ambiguous : resourceNames.length > 0 ? 0 : maxAmbiguous,
      changed: isEnding,
      fresh: noNames,
      dropped: noNames,
      answers: [],
      heldBackUntil: never,
      listed: isLegacy ? self.listed : listed
    },
    {
      request: {
        _tag: "StateOfTheWorld",
        typeUrl: self.typeUrl,
        versionInfo: isLacking || isAskingAgain ? "" : self.version,
        resourceNames,
        responseNonce: self.nonce,
        // ★ Only the error of the last response: an error is never sent twice.
        errorDetail: answer?.error,
        node
      },
      fresh
    }
  ]
}

const noVersions: ReadonlyMap<string, string> = new Map()

const sendIncremental = (
  self: ClientSubscription,
  node: Uint8Array | undefined,
  held: () => ReadonlyMap<string, string>,
  isLocated: boolean
): readonly [ClientSubscription, Sent] => {
  const { hasRequested, wildcard } = self
  const fresh = Array.from(self.fresh).filter((name) => (name === "*" ? wildcard : HashSet.has(self.names, name)))
  const gone = hasRequested
    ? Array.from(self.dropped).filter((name) => (name === "*" ? !wildcard : !HashSet.has(self.names, name)))
    : noList
  const isSilent = !isLocated && !self.named && wildcard && !hasRequested
  // Servers end a legacy wildcard in different ways. So `*` is subscribed explicitly before any other change.
  const isLegacy = hasRequested && !self.explicit
  const star = isLegacy && (fresh.length > 0 || gone.length > 0)
  const isEnding = star && !wildcard
  let subscribe: ReadonlyArray<string>
  if (!hasRequested) subscribe = isSilent ? noList : [...(wildcard ? ["*"] : noList), ...self.names]
  else subscribe = star ? ["*", ...fresh.filter((name) => name !== "*")] : fresh
  const unsubscribe = isEnding ? gone.filter((name) => name !== "*") : gone

  const answer = self.answers[0]?.applied === true ? self.answers[0] : undefined
  const next: ClientSubscription = {
    ...self,
    hasRequested: true,
    explicit: self.explicit || subscribe.length > 0,
    changed: isEnding,
    fresh: noNames,
    dropped: isEnding ? HashSet.make("*") : noNames,
    answers: answer === undefined ? self.answers : self.answers.slice(1),
    heldBackUntil: answer === undefined ? self.heldBackUntil : never
  }
  if (hasRequested && answer === undefined && subscribe.length === 0 && unsubscribe.length === 0) {
    return [next, { request: undefined, fresh }]
  }
  return [
    next,
    {
      request: {
        _tag: "Incremental",
        typeUrl: self.typeUrl,
        resourceNamesSubscribe: subscribe,
        resourceNamesUnsubscribe: unsubscribe,
        initialResourceVersions: hasRequested ? noVersions : held(),
        responseNonce: answer?.nonce ?? "",
        errorDetail: answer?.error,
        node
      },
      fresh
    }
  ]
}
