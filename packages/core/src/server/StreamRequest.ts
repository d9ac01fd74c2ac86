/**
 * Handling of a request: its ACK or NACK, its names, and violations of the protocol or of a limit.
 *
 * @since 0.1.0
 */
import * as ResourceType from "@effect-xds/proto/ResourceType"
import * as ResourceGroups from "../resource/ResourceGroup.js"
import * as ResourceSet from "../resource/ResourceSet.js"
import * as Steps from "../Steps.js"
import type { IncrementalRequest, Request } from "../wire/Request.js"
import * as Acknowledgement from "./Acknowledgement.js"
import * as ApiVersion from "./ApiVersion.js"
import * as OnDemandNames from "./OnDemandNames.js"
import * as Collections from "./Collections.js"
import * as IncrementalNames from "./IncrementalNames.js"
import * as NameCollisions from "./NameCollisions.js"
import * as NamesChange from "./NamesChange.js"
import * as PendingRemovals from "./PendingRemovals.js"
import * as RequestedNames from "./RequestedNames.js"
import * as Round from "./Round.js"
import { flush, isIdle } from "./Sending.js"
import * as SentVariants from "./SentVariants.js"
import * as StateOfTheWorldNames from "./StateOfTheWorldNames.js"
import type { Options, Output, PartialRequest, ServerStream, Step, ViolationReason } from "./StreamState.js"
import { draft, find, never, none, put } from "./StreamState.js"
import type { Subscription } from "./Subscription.js"
import * as Subscriptions from "./Subscription.js"
import * as NameSet from "./NameSet.js"

/** A valid request that is not stale, after its ACK or NACK was processed. */
interface Heard {
  readonly typeUrl: string
  /** The subscription before; `undefined` for the first request of the type. */
  readonly known: Subscription | undefined
  /** The subscription after the ACK or NACK in the request. */
  readonly replied: Subscription
  readonly round: Round.Round
  readonly outputs: ReadonlyArray<Output>
}

/**
 * Whether a request is valid and not stale.
 *
 * @since 0.1.0
 */
export const isHeard = (outcome: Heard | Step): outcome is Heard => "replied" in outcome

/**
 * Whether a request leaves the subscription as it is.
 *
 * @since 0.1.0
 */
export const isRepeated = (subscription: Subscription, request: Request): boolean =>
  request._tag === "Incremental"
    ? IncrementalNames.isAnswer(request)
    : StateOfTheWorldNames.isRepeated(subscription, request)

/**
 * Processes the ACK or NACK in a request. Its names are processed later.
 *
 * @since 0.1.0
 */
export const hear = (self: ServerStream, request: Request, now: number): Heard | Step => {
  const { options } = self
  if (request._tag !== options.protocol) {
    return violate(self, "WrongProtocol", `a request of ${request._tag} on a stream of ${options.protocol}`)
  }
  const typeUrl = request.typeUrl === "" ? (options.typeUrl ?? "") : request.typeUrl
  if (typeUrl === "")
    return violate(self, "TypeUrlMissing", "type_url is empty; on an aggregated stream it says what is asked for")
  if (options.typeUrl !== undefined && !ApiVersion.isServed(options.typeUrl, typeUrl)) {
    return violate(self, "WrongType", `type_url ${typeUrl} was asked for on a service of ${options.typeUrl}`)
  }

  const known = find(self, typeUrl)
  const first = known === undefined
  if (first && self.subscriptions.length >= options.maxTypes) {
    return violate(
      self,
      "TooManyTypes",
      `more than ${options.maxTypes} types on one stream; the next would be ${typeUrl}`
    )
  }
  const conflict = first ? ApiVersion.conflictOf(self.group, typeUrl) : undefined
  if (conflict !== undefined) return violate(self, "WrongApi", conflict)
  const before = known ?? heardOf(request, typeUrl, !options.wildcardOff.has(typeUrl))
  const outputs: Array<Output> = []
  const nonce = request.responseNonce

  const ignored = (): Output => {
    const reason = nonce === "" ? "NoNonce" : "StaleNonce"
    return { _tag: "Ignored", typeUrl, nonce, reason, error: request.errorDetail }
  }

  if (request._tag === "StateOfTheWorld" && StateOfTheWorldNames.isStale(before, request)) {
    const noted = Acknowledgement.noteRejection(before, nonce, request.errorDetail, now)
    if (noted === before) return [self, [ignored()]]
    const next = draft(self)
    next.subscriptions = put(self.subscriptions, noted)
    return [next, [ignored()]]
  }
  const answer = Acknowledgement.reply(before, nonce, request.errorDetail, now)
  const reply = answer[1]
  const replied =
    reply._tag === "Unrelated" ? Acknowledgement.noteRejection(before, nonce, request.errorDetail, now) : answer[0]
  if (reply._tag === "Acked") {
    outputs.push({ _tag: "Acked", typeUrl, nonce, version: reply.sent.version })
  } else if (reply._tag === "Nacked" && request.errorDetail !== undefined) {
    outputs.push({ _tag: "Nacked", typeUrl, nonce, version: reply.sent.version, error: request.errorDetail })
  } else if (
    Acknowledgement.isNewRejection(before, nonce, request.errorDetail) ||
    (request._tag === "Incremental" && nonce !== "" && before.sent?.nonce !== nonce)
  ) {
    outputs.push(ignored())
  }

  const round = reply._tag === "Acked" ? Round.acked(self.round, typeUrl, nonce) : self.round
  return { typeUrl, known, replied, round, outputs: outputs.length === 0 ? none : outputs }
}

/**
 * Handles a request, or the first portion of one with many names.
 *
 * @since 0.1.0
 */
export const onRequest = function* (self: ServerStream, given: Request, now: number): Steps.Steps<Step> {
  const { options } = self
  let request = Collections.canonical(given)
  const heard = hear(self, request, now)
  if (!isHeard(heard)) return heard
  const { known, outputs, round, typeUrl } = heard
  let { replied } = heard
  const first = known === undefined
  const lists =
    request._tag === "StateOfTheWorld"
      ? [request.resourceNames]
      : [request.resourceNamesSubscribe, request.resourceNamesUnsubscribe]
  for (const names of lists) {
    // One more, because `*` does not count.
    if (names.length > options.maxNames + 1)
      return violate(self, "TooManyNames", tooManyNames(names.length, typeUrl, options))
    const long = names.find((name) => name.length > options.maxNameLength)
    if (long !== undefined) {
      const message = `a name of ${typeUrl} has ${long.length} characters; at most ${options.maxNameLength} are allowed`
      return violate(self, "NameTooLong", message)
    }
    if (names.length <= NameCollisions.few || areOfStrangers(request, typeUrl)) continue
    if (yield* NameCollisions.areMany(names)) return collide(self, typeUrl)
  }
  if (areOfStrangers(request, typeUrl) && request.resourceNamesSubscribe.length > NameCollisions.few) {
    const surplus = yield* surplusOf(self, typeUrl, request.resourceNamesSubscribe)
    if (surplus.size > 0) {
      const isTaken = (name: string) => !surplus.has(name)
      request = { ...request, resourceNamesSubscribe: yield* Steps.filter(request.resourceNamesSubscribe, isTaken) }
      replied = refusing(replied, surplus, options)
    }
  }
  const asked =
    request._tag === "StateOfTheWorld"
      ? yield* StateOfTheWorldNames.subscribe(replied, request, first, options.namesPerStep)
      : yield* IncrementalNames.subscribe(replied, request, first, options.namesPerStep)
  const next = draft(self)
  next.round = round
  if (!("_tag" in asked)) return yield* onSubscription(next, request, known, asked, outputs, now)
  next.partialRequest = { names: asked, known }
  next.deadline = never
  return [next, outputs]
}

const tooManyNames = (names: number, typeUrl: string, { maxNames }: Options): string =>
  `${names} names of ${typeUrl}; at most ${maxNames} are allowed`

const collide = (self: ServerStream, typeUrl: string): Step =>
  violate(
    self,
    "NamesCollide",
    `more than ${NameCollisions.most} names of ${typeUrl} have one hash: they were made for that`
  )

/** Whether whoever sends requests to the client chooses the names in its request: the hosts of VHDS. */
const areOfStrangers = (request: Request, typeUrl: string): request is IncrementalRequest =>
  request._tag === "Incremental" && ResourceType.isOf(typeUrl, ResourceType.VirtualHost)

const surplusOf = (
  { group }: ServerStream,
  typeUrl: string,
  names: Iterable<string>
): Steps.Steps<ReadonlySet<string>> => {
  const set = ResourceGroups.set(group ?? ResourceGroups.empty, typeUrl)
  return NameCollisions.surplus(names, undefined, (name) => ResourceSet.isOwned(set, name))
}

/** The subscription that answers these names as missing: not more of them than one response answers. */
const refusing = (self: Subscription, surplus: ReadonlySet<string>, { namesPerResponse }: Options): Subscription => {
  const next = Subscriptions.draft(self)
  next.refused = Array.from(new Set([...self.refused, ...surplus])).slice(0, namesPerResponse)
  next.mustReply = true
  return next
}

/** The subscription without names, which are answered as missing. */
const withoutSurplus = (self: Subscription, surplus: ReadonlySet<string>, options: Options): Subscription => {
  const next = Subscriptions.draft(refusing(self, surplus, options))
  RequestedNames.removeNames(next, Array.from(surplus))
  next.pendingRemovals = PendingRemovals.without(next.pendingRemovals, surplus)
  return next
}

/** All names are checked for collisions again when one in this many is new. */
const namesPerNew = 32

/**
 * Processes about `count` more names of a long request. After the last one, a step of its own answers it.
 *
 * @since 0.1.0
 */
export const goOn = function* (
  self: ServerStream,
  { known, names }: PartialRequest,
  count: number,
  now: number
): Steps.Steps<Step> {
  const next = draft(self)
  if (names._tag === "StateOfTheWorld") {
    if (names.at < StateOfTheWorldNames.sizeOf(names)) {
      next.partialRequest = { names: yield* StateOfTheWorldNames.advance(names, count), known }
      return [next, none]
    }
    next.partialRequest = undefined
    const finished = Collections.renewed(yield* StateOfTheWorldNames.finish(names))
    return yield* onSubscription(next, names.request, known, finished, [], now)
  }
  if (names.at < IncrementalNames.sizeOf(names)) {
    next.partialRequest = { names: yield* IncrementalNames.advance(names, count), known }
    return [next, none]
  }
  next.partialRequest = undefined
  return yield* onSubscription(next, names.request, known, Collections.renewed(names.next), [], now)
}

/** Handles the rest of a request when all its names are processed. */
const onSubscription = function* (
  self: ServerStream,
  request: Request,
  known: Subscription | undefined,
  given: Subscription,
  heard: ReadonlyArray<Output>,
  now: number
): Steps.Steps<Step> {
  const { options } = self
  const { typeUrl } = given
  const outputs = Array.from(heard)
  const first = known === undefined
  let asked = given
  let listed = Subscriptions.askedNames(asked)
  let names = listed.size
  if (names > options.maxNames) return violate(self, "TooManyNames", tooManyNames(names, typeUrl, options))
  // In state of the world all names come from this request, and are checked.
  const isMore = names - asked.namesChecked > Math.max(NameCollisions.few, names / namesPerNew)
  const isCounted = isMore && options.protocol === "Incremental"
  if (isCounted && areOfStrangers(request, typeUrl)) {
    const surplus = yield* surplusOf(self, typeUrl, listed.keys())
    if (surplus.size > 0) {
      asked = withoutSurplus(asked, surplus, options)
      listed = Subscriptions.askedNames(asked)
      names = listed.size
    }
  } else if (isCounted && (yield* NameCollisions.areMany(listed.keys()))) return collide(self, typeUrl)
  if (first || asked.wildcard !== known.wildcard || listed !== Subscriptions.askedNames(known)) {
    outputs.push({ _tag: "Subscribed", typeUrl, wildcard: asked.wildcard !== "none", names })
  }
  const change = NamesChange.of(request, known, asked)
  if (change !== undefined) outputs.push({ _tag: "Named", change })
  if (self.group === undefined && Subscriptions.isUnanswered(asked) && (first || !Subscriptions.isUnanswered(known))) {
    outputs.push({ _tag: "Waiting", typeUrl })
  }

  const next = draft(self)
  let after = yield* Collections.expand(asked, self.group)
  if (change !== undefined) yield* SentVariants.forget(next, after, change)
  if (options.missingWait !== undefined && change !== undefined) {
    const waiting = yield* Steps.filter(change.listed, (name) => NamesChange.isAsked(change, name))
    const missing = yield* OnDemandNames.missing(self, typeUrl, waiting)
    if (missing.length > 0) {
      outputs.push({ _tag: "Missing", typeUrl, names: missing })
      const until = now + options.missingWait
      after = yield* OnDemandNames.waitQuoted(OnDemandNames.wait(after, missing, until), self, until)
    }
  }
  if (isCounted) {
    const counted = Subscriptions.draft(after)
    counted.namesChecked = names
    after = counted
  }
  if (first && ResourceType.isOf(typeUrl, ResourceType.ClusterLoadAssignment) && asked.initial.size > 0) {
    // The client warms these clusters. For an assignment that it holds, this subscription is its only request.
    const repeating = Subscriptions.draft(after)
    if (self.warming === "all") repeating.resendAll = true
    else if (self.warming !== "none") {
      repeating.resendEvenIfHeld = yield* NameSet.addAllInSteps(repeating.resendEvenIfHeld, self.warming)
    }
    after = repeating
    next.warming = "none"
  }
  if (after !== known) next.subscriptions = put(self.subscriptions, after)
  const output = isIdle(next) || next.group === undefined ? undefined : yield* flush(next, next.group, now)
  if (output !== undefined) outputs.push(output)
  return [next, outputs]
}

/**
 * The end of a stream whose client broke the protocol or a limit.
 *
 * @since 0.1.0
 */
export const violate = (self: ServerStream, reason: ViolationReason, message: string): Step => {
  const next = draft(self)
  next.ended = true
  next.partialRequest = undefined
  next.deadline = never
  return [next, [{ _tag: "Violation", reason, message }]]
}

/** A new subscription. If the request quotes versions, what the client holds from an earlier stream is unknown here. */
const heardOf = (request: Request, typeUrl: string, wildcardEnabled: boolean): Subscription => {
  const made = Subscriptions.make(typeUrl, wildcardEnabled)
  const quotes =
    request._tag === "StateOfTheWorld" ? request.versionInfo !== "" : request.initialResourceVersions.size > 0
  return quotes ? { ...made, before: undefined } : made
}
