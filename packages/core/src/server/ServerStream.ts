/**
 * One stream of a server: the reducer that decides what is sent, in which order and when.
 *
 * A stream sends only on credit: a `Writable` input is good for one response. What waits is not queued; it is computed from the
 * group's present state when there is credit, so fifty changes behind a slow client are one response.
 *
 * On an aggregated stream the order of types is part of the protocol: clusters before the endpoints they are warmed
 * with, both before listeners and routes, deletions after everything that replaces what is deleted.
 *
 * @see https://www.envoyproxy.io/docs/envoy/latest/api-docs/xds_protocol
 * @since 0.1.0
 */
import * as ResourceType from "@effect-xds/proto/ResourceType"
import * as HashMap from "effect/HashMap"
import * as HashSet from "effect/HashSet"
import * as Option from "effect/Option"
import type { Cursor } from "../resource/Cursor.js"
import { isSame } from "../resource/Cursor.js"
import * as Due from "./Due.js"
import * as Heartbeat from "./Heartbeat.js"
import * as Incremental from "./Incremental.js"
import * as InitialVersions from "../resource/InitialVersions.js"
import * as NameCollisions from "./NameCollisions.js"
import type { ErrorDetail, Protocol, Request } from "../wire/Request.js"
import type { Resource } from "../resource/Resource.js"
import type { ResourceGroup } from "../resource/ResourceGroup.js"
import * as ResourceGroups from "../resource/ResourceGroup.js"
import type { Response } from "../wire/Response.js"
import * as ResourceSet from "../resource/ResourceSet.js"
import * as ResponseParts from "./ResponseParts.js"
import * as Round from "./Round.js"
import * as StateOfTheWorld from "./StateOfTheWorld.js"
import * as Steps from "../Steps.js"
import type { Rejected, Sent, Subscription, Wildcard } from "./Subscription.js"
import * as Subscriptions from "./Subscription.js"
import * as VirtualHostDiscovery from "../resource/VirtualHostDiscovery.js"

/**
 * What does not change while a stream lasts.
 *
 * @since 0.1.0
 */
export interface Options {
  readonly protocol: Protocol
  /** The type of a separate service; `undefined`: the aggregated one. */
  readonly typeUrl: string | undefined
  /** Whether this client is given TTLs; see `Heartbeat.isGiven`. Default: false. */
  readonly ttl: boolean
  /** State of the world: heartbeats without bodies, as the specification has them and Envoy cannot use. Default: false. */
  readonly bodylessHeartbeats: boolean
  /** Type URLs whose wildcard is switched off. Default: VHDS. */
  readonly wildcardOff: ReadonlySet<string>
  /** Whether a phase of an update waits for the ACKs of the one before. Aggregated streams only. Default: true. */
  readonly makeBeforeBreak: boolean
  /** Milliseconds after which a phase goes out without those ACKs. Default: 5 000. */
  readonly phaseDeadline: number
  /** Names a client may subscribe to, for each type. Default: 100 000. */
  readonly maxNames: number
  /** Characters of a name. Default: 65 536: the name of a virtual host holds what an HTTP client says is its host. */
  readonly maxNameLength: number
  /** Types a client may subscribe to. Default: 64. */
  readonly maxTypes: number
  /**
   * Names of a request that are taken in one step; what is left is taken in `Continue`. Of long names fewer, see
   * `Subscription.effort`. Default: 512.
   */
  readonly namesPerStep: number
  /**
   * Names that one response answers, where it need not answer all: what is left comes in the responses after it. Of long
   * names fewer. Default: 1 000.
   */
  readonly namesPerResponse: number
  /**
   * Bytes of a response, where it need not be whole: incremental, and types by name in state of the world. A larger one goes
   * out in parts, see `ResponseParts`. Default: 4 000 000, a little less than what clients of gRPC take.
   */
  readonly maxResponseBytes: number
}

/**
 * The state of a stream. Made by {@link make}, changed by {@link step}; its fields are nobody else's business.
 *
 * @since 0.1.0
 */
export interface ServerStream {
  readonly options: Options
  readonly group: ResourceGroup | undefined
  /** In the order of types. */
  readonly subscriptions: ReadonlyArray<Subscription>
  readonly credit: boolean
  readonly ended: boolean
  /** Nonces given so far. */
  readonly nonces: number
  /**
   * Assignments of clusters that this stream brought to a reconnecting client before it subscribed to EDS: they must be
   * sent then, even if the client says that it holds them. `all`: too many to remember.
   */
  readonly warming: HashSet.HashSet<string> | "all" | "none"
  readonly round: Round.Round
  /** The parts that are left of the last response. They go out before anything else. */
  readonly parts: Parts | undefined
  /** A request with many names, as far as it was taken. Nothing is sent until all of it was. */
  readonly partialRequest: PartialRequest | undefined
  readonly deadline: number
}

/** What is left of a response that goes out in parts. */
interface Parts {
  readonly next: Response
  readonly update: boolean
  /** What was asked for then, to see whether it is still. */
  readonly names: HashMap.HashMap<string, string>
  readonly wildcard: Wildcard
}

/** A request that is taken in several steps. */
interface PartialRequest {
  readonly names: StateOfTheWorld.Taking | Incremental.Taking
  /** Before the request; `undefined`: it is the first of its type. */
  readonly known: Subscription | undefined
}

/**
 * What happens to a stream.
 *
 * @since 0.1.0
 */
export type Input =
  | { readonly _tag: "Request"; readonly request: Request }
  /** What the client's group holds now; `undefined`: it is not set. */
  | { readonly _tag: "Changed"; readonly group: ResourceGroup | undefined }
  /**
   * What the client's group holds now, if since the group that was given last nothing changed of what the stream asks for,
   * see {@link interests}. Costs the same however much changed; nothing comes of it.
   */
  | { readonly _tag: "Advance"; readonly group: ResourceGroup }
  /** Credit for one response. */
  | { readonly _tag: "Writable" }
  /** More of the work that {@link isWorking} tells of. */
  | { readonly _tag: "Continue" }
  /** The time of {@link deadline} has come. */
  | { readonly _tag: "Deadline" }

/**
 * What a stream wants done, or known.
 *
 * @since 0.1.0
 */
export type Output =
  /** To be sent. Uses up the credit; there is at most one in a step. */
  | {
      readonly _tag: "Send"
      readonly typeUrl: string
      readonly nonce: string
      readonly response: Response
      /** The revision of the type's set that the response leads away from; `undefined`: it tells of no change. */
      readonly from: number | undefined
    }
  /** The client changed what it asks for. */
  | { readonly _tag: "Subscribed"; readonly typeUrl: string; readonly wildcard: boolean; readonly names: number }
  | { readonly _tag: "Acked"; readonly typeUrl: string; readonly nonce: string; readonly version: string }
  | {
      readonly _tag: "Nacked"
      readonly typeUrl: string
      readonly nonce: string
      readonly version: string
      readonly error: ErrorDetail
    }
  /**
   * An ACK or NACK that answers nothing, and in state of the world the whole request if its nonce is an older one. With the
   * words of a NACK, so that somebody reads them.
   */
  | {
      readonly _tag: "Ignored"
      readonly typeUrl: string
      /** Empty if there was none. */
      readonly nonce: string
      readonly reason: IgnoredReason
      readonly error: ErrorDetail | undefined
    }
  /** Something of a type was asked for and cannot be answered: the group is not set. Told once until it is answered. */
  | { readonly _tag: "Waiting"; readonly typeUrl: string }
  /** The client broke the protocol or a limit: the stream is over and is to be ended with these words. */
  | { readonly _tag: "Violation"; readonly reason: ViolationReason; readonly message: string }

/**
 * Why an ACK or NACK answers nothing. `StaleNonce`: it is not that of the last response, or that was answered before.
 * `NoNonce`: a NACK that does not say of what.
 *
 * @since 0.1.0
 */
export type IgnoredReason = "StaleNonce" | "NoNonce"

/**
 * How a client broke the protocol or a limit.
 *
 * @since 0.1.0
 */
export type ViolationReason =
  "TypeUrlMissing" | "WrongType" | "WrongProtocol" | "TooManyNames" | "NameTooLong" | "NamesCollide" | "TooManyTypes"

const never = Number.POSITIVE_INFINITY

const vhdsOnly: ReadonlySet<string> = new Set(
  ResourceType.all.filter((type) => !type.wildcardByDefault).map((type) => type.typeUrl)
)

/**
 * A stream that was just opened: no group, no subscription, no credit.
 *
 * @since 0.1.0
 */
export const make = (options: Pick<Options, "protocol" | "typeUrl"> & Partial<Options>): ServerStream => ({
  options: {
    ttl: false,
    bodylessHeartbeats: false,
    wildcardOff: vhdsOnly,
    makeBeforeBreak: true,
    phaseDeadline: 5_000,
    maxNames: 100_000,
    maxNameLength: 65_536,
    maxTypes: 64,
    namesPerStep: 512,
    namesPerResponse: 1_000,
    maxResponseBytes: 4_000_000,
    ...options
  },
  group: undefined,
  subscriptions: [],
  credit: false,
  ended: false,
  nonces: 0,
  warming: "none",
  round: Round.idle,
  parts: undefined,
  partialRequest: undefined,
  deadline: never
})

type Draft = { -readonly [Key in keyof ServerStream]: ServerStream[Key] }

/** A copy to change within one step; why it is written out, see `Subscription.draft`. */
const draft = (self: ServerStream): Draft => ({
  options: self.options,
  group: self.group,
  subscriptions: self.subscriptions,
  credit: self.credit,
  ended: self.ended,
  nonces: self.nonces,
  warming: self.warming,
  round: self.round,
  parts: self.parts,
  partialRequest: self.partialRequest,
  deadline: self.deadline
})

/**
 * When the stream wants a `Deadline` input, in the time that `now` is given in (milliseconds); Infinity if never.
 *
 * @since 0.1.0
 */
export const deadline = (self: ServerStream): number => self.deadline

/**
 * Whether the last input is not dealt with as a whole: a request with many names is taken in several steps, so that others have
 * their turn in between. The stream wants a `Continue` then, before the next request.
 *
 * @since 0.1.0
 */
export const isWorking = (self: ServerStream): boolean => self.partialRequest !== undefined

/** From so many names on that wait for an answer a step that brings it is not short. */
const manyAnswers = 256

/**
 * Whether many names wait for an answer, or parts of a response to be sent, so that the next step with credit is one that others
 * should have a turn before.
 *
 * @since 0.1.0
 */
export const isAnsweringInParts = (self: ServerStream): boolean =>
  self.parts !== undefined || self.subscriptions.some(({ requested }) => HashSet.size(requested) > manyAnswers)

/**
 * One type on one stream, for people.
 *
 * @since 0.1.0
 */
export interface Status {
  readonly typeUrl: string
  readonly wildcard: Wildcard
  readonly names: number
  readonly sent: Sent | undefined
  readonly acked: Sent | undefined
  readonly nacked: Rejected | undefined
  /** Something was asked for and cannot be answered: the group is not set. */
  readonly waiting: boolean
}

/**
 * What the client asked for, what it was sent and what it said to it.
 *
 * @since 0.1.0
 */
export const status = (self: ServerStream): ReadonlyArray<Status> =>
  self.subscriptions.map((subscription) => ({
    typeUrl: subscription.typeUrl,
    wildcard: subscription.wildcard,
    names: HashMap.size(subscription.names),
    sent: subscription.sent,
    acked: subscription.acked,
    nacked: subscription.nacked,
    waiting: self.group === undefined && Subscriptions.isUnanswered(subscription)
  }))

/**
 * Whether the client asked for something that cannot be answered, because its group is not set: it never was, or it was cleared.
 *
 * @since 0.1.0
 */
export const isWaiting = (self: ServerStream): boolean =>
  self.group === undefined && self.subscriptions.some(Subscriptions.isUnanswered)

/**
 * What a stream asks for of one type.
 *
 * @since 0.1.0
 */
export interface Interest {
  readonly typeUrl: string
  /** Any change of the type concerns it. */
  readonly everything: boolean
  /** Otherwise only changes of these; the same map as long as they are the same. */
  readonly names: HashMap.HashMap<string, unknown>
}

/**
 * Which changes concern a stream: of a type that is not here none does. For drivers of many streams, which need not give
 * `Changed` to those whom it does not concern, as long as they give `Changed` or `Advance` before the next other input.
 *
 * @since 0.1.0
 */
export const interests = (self: ServerStream): ReadonlyArray<Interest> => {
  const found: Array<Interest> = []
  for (const { wildcardEnabled, names, typeUrl, wildcard } of self.subscriptions) {
    found.push({ typeUrl, everything: wildcard !== "none", names })
    // Without a wildcard of virtual hosts, listeners are opened for route configurations.
    if (typeUrl === ResourceType.VirtualHost.typeUrl && wildcard !== "none" && !wildcardEnabled) {
      const routes = ResourceType.RouteConfiguration.typeUrl
      const at = found.findIndex((interest) => interest.typeUrl === routes)
      if (at < 0) found.push({ typeUrl: routes, everything: true, names: HashMap.empty() })
      else found[at] = { typeUrl: routes, everything: true, names: found[at]?.names ?? HashMap.empty() }
    }
  }
  return found
}

const none: ReadonlyArray<Output> = []

/**
 * The state of a stream after an input, and what comes of that.
 *
 * @since 0.1.0
 */
export type Step = readonly [ServerStream, ReadonlyArray<Output>]

/**
 * Takes one input. Total: whatever a client sends, the outcome is a state and outputs.
 *
 * @param now milliseconds, never less than in the step before
 * @since 0.1.0
 */
export const step = (self: ServerStream, input: Input, now: number): Step =>
  short(self, input, now) ?? Steps.toEnd(stepping(self, input, now))

/**
 * {@link step} for drivers of many streams: a response of many resources is made in several turns, so that others have theirs in
 * between. Until it ends the stream is as it was, and what else happens to it has to wait.
 *
 * @since 0.1.0
 */
export const stepping = function* (self: ServerStream, input: Input, now: number): Steps.Steps<Step> {
  if (self.ended) return [self, none]
  if (input._tag === "Continue" && self.partialRequest !== undefined)
    return yield* goOn(self, self.partialRequest, self.options.namesPerStep, now)
  if (input._tag === "Request") {
    if (self.partialRequest === undefined) return yield* onRequest(self, input.request, now)
    // Who does not wait has it all in this step.
    const [taken, outputs] = yield* goOn(self, self.partialRequest, Number.POSITIVE_INFINITY, now)
    if (taken.ended) return [taken, outputs]
    const [next, more] = yield* taken.partialRequest === undefined
      ? onRequest(taken, input.request, now)
      : stepping(taken, input, now)
    return [next, [...outputs, ...more]]
  }
  if (input._tag === "Advance" && self.group !== undefined) return untouched(self, self.group, input.group, now)
  const next = draft(self)
  if (input._tag === "Changed" || input._tag === "Advance") {
    if (self.group === input.group) return [self, none]
    next.group = input.group
    if (input.group === undefined) next.round = Round.idle
  } else if (input._tag === "Writable") {
    if (self.credit) return [self, none]
    next.credit = true
  }
  const output = isIdle(next) || next.group === undefined ? undefined : yield* flush(next, next.group, now)
  // What was asked for before the group was cleared, and found no credit, waits from now on.
  if (next.group === undefined) {
    const unanswered = self.group === undefined ? [] : next.subscriptions.filter(Subscriptions.isUnanswered)
    return [next, unanswered.map(({ typeUrl }) => ({ _tag: "Waiting", typeUrl }))]
  }
  return [next, output === undefined ? none : [output]]
}

/**
 * {@link step} if it takes no time, as most do: an answer of a client that is up to date, credit for it, a change of few
 * resources. `undefined`: it takes {@link stepping}.
 *
 * @since 0.1.0
 */
export const short = (self: ServerStream, input: Input, now: number): Step | undefined => {
  if (self.ended || self.partialRequest !== undefined) return undefined
  if (input._tag === "Advance" && self.group !== undefined) return untouched(self, self.group, input.group, now)
  const next = draft(self)
  let outputs = none
  switch (input._tag) {
    case "Request": {
      const heard = hear(self, input.request, now)
      if (!isHeard(heard)) return heard
      const { known, replied } = heard
      if (known === undefined || !isRepeated(replied, input.request)) return undefined
      next.round = heard.round
      if (replied !== known) next.subscriptions = put(self.subscriptions, replied)
      outputs = heard.outputs
      break
    }
    case "Changed":
      if (input.group === undefined || self.group === input.group) return undefined
      next.group = input.group
      break
    case "Writable":
      if (self.credit) return [self, none]
      next.credit = true
      break
    default:
      return undefined
  }
  const { group } = next
  if (isIdle(next) || group === undefined) return [next, outputs]
  const told = outputs === none ? tell(next, group, now) : undefined
  return told === undefined ? undefined : [next, [told]]
}

/** After a change that does not concern the stream. */
const untouched = (self: ServerStream, before: ResourceGroup, group: ResourceGroup, now: number): Step => {
  const next = draft(self)
  next.group = group
  const round = Round.moved(self.round, before, group)
  if (round !== undefined) {
    next.round = round
    passOver(next, before, group, now)
  }
  return [next, none]
}

/** A request that is neither a violation nor stale. */
interface Heard {
  readonly typeUrl: string
  /** Before the request; `undefined`: it is the first of its type. */
  readonly known: Subscription | undefined
  /** With the ACK or NACK that is in the request. */
  readonly replied: Subscription
  readonly round: Round.Round
  readonly outputs: ReadonlyArray<Output>
}

const isHeard = (outcome: Heard | Step): outcome is Heard => "replied" in outcome

/** Whether a request asks for nothing but what was asked for. */
const isRepeated = (subscription: Subscription, request: Request): boolean =>
  request._tag === "Incremental" ? Incremental.isAnswer(request) : StateOfTheWorld.isRepeated(subscription, request)

/** Takes the answer to a response that is in a request. What it asks for is yet to be looked at. */
const hear = (self: ServerStream, request: Request, now: number): Heard | Step => {
  const { options } = self
  if (request._tag !== options.protocol) {
    return violate(self, "WrongProtocol", `a request of ${request._tag} on a stream of ${options.protocol}`)
  }
  const typeUrl = request.typeUrl === "" ? (options.typeUrl ?? "") : request.typeUrl
  if (typeUrl === "")
    return violate(self, "TypeUrlMissing", "type_url is empty; on an aggregated stream it says what is asked for")
  if (options.typeUrl !== undefined && typeUrl !== options.typeUrl) {
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
  const before = known ?? heardOf(request, typeUrl, !options.wildcardOff.has(typeUrl))
  const outputs: Array<Output> = []
  const nonce = request.responseNonce

  const ignored = (): Output => {
    const reason = nonce === "" ? "NoNonce" : "StaleNonce"
    return { _tag: "Ignored", typeUrl, nonce, reason, error: request.errorDetail }
  }

  if (request._tag === "StateOfTheWorld" && StateOfTheWorld.isStale(before, request)) {
    const noted = Subscriptions.noteRejection(before, nonce, request.errorDetail, now)
    if (noted === before) return [self, [ignored()]]
    const next = draft(self)
    next.subscriptions = put(self.subscriptions, noted)
    return [next, [ignored()]]
  }
  const [answered, reply] = Subscriptions.reply(before, nonce, request.errorDetail, now)
  const replied =
    reply._tag === "Unrelated" ? Subscriptions.noteRejection(before, nonce, request.errorDetail, now) : answered
  if (reply._tag === "Acked") {
    outputs.push({ _tag: "Acked", typeUrl, nonce, version: reply.sent.version })
  } else if (reply._tag === "Nacked" && request.errorDetail !== undefined) {
    outputs.push({ _tag: "Nacked", typeUrl, nonce, version: reply.sent.version, error: request.errorDetail })
  } else if (
    Subscriptions.isNewRejection(before, nonce, request.errorDetail) ||
    (request._tag === "Incremental" && nonce !== "" && before.sent?.nonce !== nonce)
  ) {
    outputs.push(ignored())
  }

  const round = reply._tag === "Acked" ? Round.acked(self.round, typeUrl, nonce) : self.round
  return { typeUrl, known, replied, round, outputs: outputs.length === 0 ? none : outputs }
}

const onRequest = function* (self: ServerStream, request: Request, now: number): Steps.Steps<Step> {
  const { options } = self
  const heard = hear(self, request, now)
  if (!isHeard(heard)) return heard
  const { known, outputs, replied, round, typeUrl } = heard
  const first = known === undefined
  const lists =
    request._tag === "StateOfTheWorld"
      ? [request.resourceNames]
      : [request.resourceNamesSubscribe, request.resourceNamesUnsubscribe]
  for (const names of lists) {
    // One more: `*` is none.
    if (names.length > options.maxNames + 1)
      return violate(self, "TooManyNames", tooManyNames(names.length, typeUrl, options))
    const long = names.find((name) => name.length > options.maxNameLength)
    if (long !== undefined) {
      const message = `a name of ${typeUrl} has ${long.length} characters; at most ${options.maxNameLength} are allowed`
      return violate(self, "NameTooLong", message)
    }
    if (names.length > NameCollisions.few && (yield* NameCollisions.areMany(names))) return collide(self, typeUrl)
  }
  const asked =
    request._tag === "StateOfTheWorld"
      ? yield* StateOfTheWorld.subscribe(replied, request, first, options.namesPerStep)
      : yield* Incremental.subscribe(replied, request, first, options.namesPerStep)
  const next = draft(self)
  next.round = round
  if (!("_tag" in asked)) return yield* onSubscription(next, known, asked, outputs, now)
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

/** Of how many names there have to be one more, for all of them to be looked at for their hashes again. */
const namesPerNew = 32

/** Takes so many names more of a request that is not taken as a whole. What follows from them is a step of its own. */
const goOn = function* (
  self: ServerStream,
  { known, names }: PartialRequest,
  count: number,
  now: number
): Steps.Steps<Step> {
  const next = draft(self)
  if (names._tag === "StateOfTheWorld") {
    if (names.at < StateOfTheWorld.sizeOf(names)) {
      next.partialRequest = { names: yield* StateOfTheWorld.advance(names, count), known }
      return [next, none]
    }
    next.partialRequest = undefined
    return yield* onSubscription(next, known, yield* StateOfTheWorld.finish(names), [], now)
  }
  if (names.at < Incremental.sizeOf(names)) {
    next.partialRequest = { names: yield* Incremental.advance(names, count), known }
    return [next, none]
  }
  next.partialRequest = undefined
  return yield* onSubscription(next, known, names.next, [], now)
}

/** What follows when all names of a request were taken. */
const onSubscription = function* (
  self: ServerStream,
  known: Subscription | undefined,
  asked: Subscription,
  heard: ReadonlyArray<Output>,
  now: number
): Steps.Steps<Step> {
  const { options } = self
  const { typeUrl } = asked
  const outputs = Array.from(heard)
  const first = known === undefined
  const names = HashMap.size(asked.names)
  if (names > options.maxNames) return violate(self, "TooManyNames", tooManyNames(names, typeUrl, options))
  // In state of the world all names are those of the request.
  const isMore = names - asked.namesChecked > Math.max(NameCollisions.few, names / namesPerNew)
  const isCounted = isMore && options.protocol === "Incremental"
  if (isCounted && (yield* NameCollisions.areMany(HashMap.keys(asked.names)))) return collide(self, typeUrl)
  if (first || asked.wildcard !== known.wildcard || asked.names !== known.names) {
    outputs.push({ _tag: "Subscribed", typeUrl, wildcard: asked.wildcard !== "none", names })
  }
  if (self.group === undefined && Subscriptions.isUnanswered(asked) && (first || !Subscriptions.isUnanswered(known))) {
    outputs.push({ _tag: "Waiting", typeUrl })
  }

  const next = draft(self)
  let after = asked
  if (isCounted) {
    const counted = Subscriptions.draft(asked)
    counted.namesChecked = names
    after = counted
  }
  if (first && typeUrl === ResourceType.ClusterLoadAssignment.typeUrl && asked.initial.size > 0) {
    // The client warms these clusters, and asks for an assignment it holds only by naming it here.
    const insistent = Subscriptions.draft(after)
    if (self.warming === "all") insistent.resendAll = true
    else if (self.warming !== "none") {
      insistent.resendEvenIfHeld = yield* Subscriptions.withNames(insistent.resendEvenIfHeld, self.warming)
    }
    after = insistent
    next.warming = "none"
  }
  if (after !== known) next.subscriptions = put(self.subscriptions, after)
  const output = isIdle(next) || next.group === undefined ? undefined : yield* flush(next, next.group, now)
  if (output !== undefined) outputs.push(output)
  return [next, outputs]
}

const violate = (self: ServerStream, reason: ViolationReason, message: string): Step => {
  const next = draft(self)
  next.ended = true
  next.partialRequest = undefined
  next.deadline = never
  return [next, [{ _tag: "Violation", reason, message }]]
}

/** A type that was just heard of. What a client holds from an earlier stream is not known here. */
const heardOf = (request: Request, typeUrl: string, wildcardEnabled: boolean): Subscription => {
  const made = Subscriptions.make(typeUrl, wildcardEnabled)
  const quotes =
    request._tag === "StateOfTheWorld" ? request.versionInfo !== "" : request.initialResourceVersions.size > 0
  return quotes ? { ...made, before: undefined } : made
}

/** Puts a subscription in its place, or in that of the one of the same type. */
const put = (subscriptions: ReadonlyArray<Subscription>, next: Subscription): ReadonlyArray<Subscription> => {
  const index = subscriptions.findIndex((subscription) => subscription.typeUrl === next.typeUrl)
  if (index >= 0) return subscriptions.with(index, next)
  const at = subscriptions.findIndex((subscription) => subscription.order > next.order)
  return at < 0 ? [...subscriptions, next] : subscriptions.toSpliced(at, 0, next)
}

/** Clusters, their endpoints, and what those need: everything that listeners and routes refer to. */
const isFirstPhase = (subscription: Subscription): boolean =>
  subscription.order <= ResourceType.ClusterLoadAssignment.order

/**
 * Brings subscriptions up to date that a change does not concern: of a thousand clients that ask by name, most. Nothing
 * else happens to them, so nothing is looked at. One that was behind before, or waits for an answer, stays where it is:
 * it is looked at when there is credit.
 */
const passOver = (self: Draft, before: ResourceGroup, group: ResourceGroup, now: number): void => {
  for (let index = 0; index < self.subscriptions.length; index++) {
    const each = self.subscriptions[index]
    if (each?.cursor === undefined || !isSame(each.cursor, ResourceGroups.set(before, each.typeUrl).cursor)) continue
    const { cursor } = ResourceGroups.set(group, each.typeUrl)
    if (isSame(each.cursor, cursor) || !Subscriptions.isIdle(each)) continue
    const next = Subscriptions.draft(each)
    next.cursor = cursor
    if (!each.cursor.hasTtls) next.renewedAt = now
    self.subscriptions = self.subscriptions.with(index, next)
  }
}

/** Whether every subscription is up to date. */
const isQuiet = (self: ServerStream, group: ResourceGroup): boolean => {
  for (const each of self.subscriptions) {
    const set = ResourceGroups.set(group, each.typeUrl)
    if (
      each.cursor === undefined ||
      !isSame(each.cursor, set.cursor) ||
      each.mustReply ||
      HashSet.size(each.requested) > 0 ||
      each.pendingRemovals.size > 0
    )
      return false
    if (self.options.ttl && set.cursor.hasTtls) return false
    if (!each.wildcardEnabled && each.wildcard !== "none") return false
  }
  return true
}

/** A response that is not ACKed, as something to wait for: for a deadline from its sending. */
const gateOf = (self: ServerStream, { unackedUpdate, typeUrl }: Subscription, now: number): Round.Gate | undefined => {
  const { makeBeforeBreak, phaseDeadline, typeUrl: separate } = self.options
  if (unackedUpdate === undefined || !makeBeforeBreak || separate !== undefined) return undefined
  const until = unackedUpdate.at + phaseDeadline
  return now < until ? { typeUrl, nonce: unackedUpdate.nonce, until } : undefined
}

const gatesOf = (
  self: ServerStream,
  now: number,
  isWaitedFor: (subscription: Subscription) => boolean
): ReadonlyArray<Round.Gate> =>
  self.subscriptions.flatMap((each) => (isWaitedFor(each) ? (gateOf(self, each, now) ?? []) : []))

const isLate = (subscription: Subscription): boolean => !isFirstPhase(subscription)

/** Takes on the newest state of the group, unless a type up to the round's place would have to go again. */
const stateOf = (self: ServerStream, found: Due.Found, newest: ResourceGroup): ResourceGroup => {
  const { group, place } = self.round
  if (group === undefined || group === newest) return newest
  const isAgain = self.subscriptions.some(
    (each) => each.order <= place && Due.isChanged(found, self.options.protocol, each, newest)
  )
  return isAgain ? group : newest
}

/** Notes what a subscription has to send, and how it is now. */
const note = (
  self: Draft,
  dues: Array<Due.Due>,
  index: number,
  each: Subscription,
  [settled, due]: Due.Planned
): void => {
  if (settled !== each) self.subscriptions = self.subscriptions.with(index, settled)
  dues.push(due)
}

/** Whether one of them waits for another response than before. */
const isCorrected = (before: ReadonlyArray<Subscription>, after: ReadonlyArray<Subscription>): boolean =>
  before.some(({ unackedUpdate }, index) => unackedUpdate !== after[index]?.unackedUpdate)

/** Whether changes of listeners and routes are yet to go out to come to a state. */
const isPending = (self: ServerStream, found: Due.Found, group: ResourceGroup): boolean =>
  self.subscriptions.some((each) => isLate(each) && Due.isChanged(found, self.options.protocol, each, group))

/** The phase of deletions when all changes up to those of a phase went out. */
const removing = function* (
  self: Draft,
  completed: Round.Phase,
  before: Round.Phase | undefined,
  newest: ResourceGroup,
  now: number
): Steps.Steps<Round.Phase | undefined> {
  const { group } = completed
  const gates = gatesOf(self, now, () => true)
  const changed = completed.changed || gatesOf(self, now, isLate).length > 0
  const isUntimed = (each: Subscription) => Due.isUntimed(self.options.protocol, each, group)
  const isAnyLingering = self.subscriptions.some(({ pendingRemovals }) => pendingRemovals.size > 0)
  const isHeld = isAnyLingering && (yield* isSome(self.subscriptions, isUntimed))
  const held = isHeld ? Round.hold(before, group, gates, changed) : before
  if (held === undefined) return undefined
  const left = yield* release(self, held, newest, now)
  if (left !== undefined || !(yield* isSome(self.subscriptions, isUntimed))) return left
  return Round.hold(undefined, group, gates, changed)
}

/**
 * Brings the round and its phases to where they are now, and finds what each subscription has to send: in the order of
 * subscriptions.
 */
const planRound = function* (
  self: Draft,
  found: Due.Found,
  newest: ResourceGroup,
  now: number
): Steps.Steps<ReadonlyArray<Due.Due>> {
  const { options } = self
  const { protocol } = options
  const group = stateOf(self, found, newest)
  const dues: Array<Due.Due> = []
  const before = self.subscriptions
  // ★ Every change of a client comes by here: no closures, and no iterators of pairs.
  for (let index = 0; index < before.length; index++) {
    const each = before[index]
    if (each === undefined || !isFirstPhase(each)) continue
    const settled = Due.plan(found, options, each, group, newest)
    note(self, dues, index, each, "next" in settled ? yield* settled : settled)
  }
  let { changes, removals } = self.round
  if (changes !== undefined && isCorrected(before, self.subscriptions)) changes = { ...changes, anew: true }
  /** The state whose changes all went out, if there is one now. */
  let completed: Round.Phase | undefined
  if (changes !== undefined && !isPending(self, found, changes.group)) {
    completed = changes
    changes = undefined
  }
  if (!dues.some((due) => due.update)) {
    const { place } = self.round
    const isAgain = self.subscriptions.some(
      (each) => isLate(each) && each.order <= place && Due.isChanged(found, protocol, each, group)
    )
    if (changes === undefined || !isAgain) changes = Round.hold(changes, group, gatesOf(self, now, isFirstPhase), false)
    if (!isPending(self, found, changes.group)) {
      completed = completed === undefined ? changes : { ...changes, changed: changes.changed || completed.changed }
      changes = undefined
    }
  }
  const of = changes?.group ?? group
  const late = self.subscriptions
  for (let index = 0; index < late.length; index++) {
    const each = late[index]
    if (each === undefined || !isLate(each)) continue
    const settled = Due.plan(found, options, each, of, newest)
    note(self, dues, index, each, "next" in settled ? yield* settled : settled)
  }

  if (completed !== undefined) removals = yield* removing(self, completed, removals, newest, now)
  if (removals !== undefined) removals = yield* release(self, removals, newest, now)
  self.round = { group, place: self.round.place, turned: self.round.turned, changes, removals }
  return dues
}

/** Whether one of them is such, which takes steps to see; it ends at the first one. */
const isSome = function* (
  subscriptions: ReadonlyArray<Subscription>,
  is: (subscription: Subscription) => Steps.Steps<boolean>
): Steps.Steps<boolean> {
  for (const each of subscriptions) if (each.pendingRemovals.size > 0 && (yield* is(each))) return true
  return false
}

/** Opens the phase of deletions, if nothing is waited for: each deletion has its time then. Otherwise: how it goes on. */
const release = function* (
  self: Draft,
  phase: Round.Phase,
  newest: ResourceGroup,
  now: number
): Steps.Steps<Round.Phase | undefined> {
  if (now < Round.opensAt(phase)) return phase
  const { makeBeforeBreak, phaseDeadline, protocol } = self.options
  // ★ What is there again the client has as it was, with all that it referred to, until the new one went out.
  const isReturning = (each: Subscription) => Due.isReturning(protocol, each, phase.group, newest)
  if (makeBeforeBreak && now < phase.limit && (yield* isSome(self.subscriptions.filter(isLate), isReturning))) {
    return Round.postpone(phase, now + phaseDeadline)
  }
  for (const [index, each] of self.subscriptions.entries()) {
    // ★ Whoever names a resource says by that that it still needs it.
    const isNeeded = makeBeforeBreak && phase.changed && !Subscriptions.isWild(each)
    const timed = yield* Due.timed(protocol, each, phase.group, isNeeded ? now + phaseDeadline : now)
    if (timed !== each) self.subscriptions = self.subscriptions.with(index, timed)
  }
  return undefined
}

/** Whether there is nothing to send, now or in time: seen at a glance, because most steps are the ACK of a client that is up to date. */
const isIdle = (self: Draft): boolean => {
  const { group } = self
  self.deadline = never
  // What a request asks for is answered when all of it is known.
  if (self.partialRequest !== undefined) return true
  // Without credit or a group there is nothing that time could bring about.
  if (!self.credit || group === undefined) return true
  if (self.parts !== undefined || !isQuiet(self, group)) return false
  self.round = Round.idle
  return true
}

/** Finds what is due and sends the first of it; see {@link Round}. */
const flush = function* (self: Draft, group: ResourceGroup, now: number): Steps.Steps<Output | undefined> {
  const part = nextPart(self, now)
  if (part !== undefined) return part
  while (!isQuiet(self, group)) {
    const found = Due.areNear(self.options, self.subscriptions, group, self.round)
      ? Due.nothingFound
      : yield* Due.find(self.options, self.subscriptions, group, self.round)
    const dues = yield* planRound(self, found, group, now)
    const turn = isAnyGone(self, dues)
      ? yield* selectWithRemovals(self, found, dues, group, now)
      : select(self, dues, group, now)
    if (turn === undefined) {
      const isOver = self.round.turned.length === 0
      self.round = Round.next(self.round)
      if (!isOver) continue
      self.deadline = wakeAt(self, dues, now)
      return undefined
    }
    const output = yield* take(self, turn, now)
    if (output !== undefined) return output
    // Where there was nothing to say after all, the state moved on: what is next? There may be many more names.
    yield
  }
  self.round = Round.idle
  return undefined
}

/** {@link flush} of what is most often sent; `undefined`: it may be more. Then what is changed here is of no use. */
const tell = (self: Draft, group: ResourceGroup, now: number): Output | undefined => {
  const { options, parts } = self
  if (parts !== undefined || options.ttl) return undefined
  if (!Due.areNear(options, self.subscriptions, group, self.round)) return undefined
  const dues = Steps.toEnd(planRound(self, Due.nothingFound, group, now))
  // What was deleted may take more than a glance.
  const turn = isAnyGone(self, dues) ? undefined : select(self, dues, group, now)
  if (turn === undefined) return undefined
  const { due, subscription } = turn
  if (due.reply) return undefined
  const variant = options.protocol === "StateOfTheWorld" ? StateOfTheWorld : Incremental
  const told = variant.tell(subscription, due.set, due.changes, options.maxResponseBytes)
  if (told === undefined) return undefined
  const [next, response] = told
  const output = send(self, turn, next, response, true, false, now)
  const rest = follow(self, subscription, due.changes.changed)
  // There are few.
  if (rest !== undefined) Steps.toEnd(rest)
  return output
}

/** What a type may send in its turn. */
interface Selection {
  readonly subscription: Subscription
  readonly due: Due.Due
  /** The place of the round after it. */
  readonly place: number
  /** Whether its changes may go out. */
  readonly updates: boolean
  readonly removals: Subscriptions.Removals
}

/** Whether changes of listeners and routes may go out in this round. */
const isRoundOpen = ({ round, subscriptions }: ServerStream, dues: ReadonlyArray<Due.Due>, now: number): boolean => {
  // One that had its turn already, and has to go again first, ends the turns of what refers to it.
  const isBehind = subscriptions.some(
    (each, index) => isLate(each) && each.order <= round.place && dues[index]?.update === true
  )
  return !isBehind && (round.changes === undefined || now >= Round.opensAt(round.changes))
}

/** Whether a type may send its changes. A heartbeat tells the version the client has, so what is held back goes out with it. */
const mayUpdate = (subscription: Subscription, { renewAt }: Due.Due, isOpen: boolean, now: number): boolean =>
  isFirstPhase(subscription) || isOpen || now >= renewAt || Subscriptions.isRejected(subscription)

/** Where the first type behind the round's place is that has something to send; -1: there is none. */
const nextAt = ({ round, subscriptions }: ServerStream, dues: ReadonlyArray<Due.Due>, isOpen: boolean, now: number) =>
  subscriptions.findIndex((subscription, index) => {
    const due = dues[index]
    if (due === undefined || subscription.order <= round.place) return false
    return due.reply || now >= due.renewAt || (due.update && mayUpdate(subscription, due, isOpen, now))
  })

/** Which deletions a type may send along; `undefined`: those whose time has come. */
const removalsAt = (
  self: ServerStream,
  dues: ReadonlyArray<Due.Due>,
  index: number,
  subscription: Subscription,
  due: Due.Due,
  updates: boolean,
  group: ResourceGroup,
  now: number
): Subscriptions.Removals | undefined => {
  const { options, round, subscriptions } = self
  if (options.typeUrl !== undefined) return due.reply || (due.update && updates) ? "all" : "none"
  if (!updates) return "none"
  if (!due.update || round.removals !== undefined) return undefined
  if (options.makeBeforeBreak && isLate(subscription) && !Subscriptions.isWild(subscription)) return undefined
  if (due.set !== ResourceGroups.set(group, subscription.typeUrl)) return undefined
  // Deletions of one type may go out with its changes if no other type has anything that must come before.
  const isAlone = subscriptions.every(
    (other, at) =>
      at === index ||
      (gateOf(self, other, now) === undefined &&
        dues[at]?.update !== true &&
        (at < index || dues[at]?.removal !== true))
  )
  return isAlone ? "all" : undefined
}

/** Whether anything was deleted of which a client is yet to be told. */
const isAnyGone = ({ subscriptions }: ServerStream, dues: ReadonlyArray<Due.Due>): boolean =>
  subscriptions.some(({ pendingRemovals }) => pendingRemovals.size > 0) ||
  dues.some(({ changes }) => changes.gone.size > 0)

/** Whose turn it is where nothing was deleted: that of the first type behind the round's place that has something to send. */
const select = (
  self: ServerStream,
  dues: ReadonlyArray<Due.Due>,
  group: ResourceGroup,
  now: number
): Selection | undefined => {
  const isOpen = isRoundOpen(self, dues, now)
  const index = nextAt(self, dues, isOpen, now)
  const [subscription, due] = [self.subscriptions[index], dues[index]]
  if (subscription === undefined || due === undefined) return undefined
  const updates = mayUpdate(subscription, due, isOpen, now)
  const removals = removalsAt(self, dues, index, subscription, due, updates, group, now)
  return { subscription, due, place: subscription.order, updates, removals: removals ?? "none" }
}

/** Whose turn it is where something was deleted: the same, then that of deletions. */
const selectWithRemovals = function* (
  self: ServerStream,
  found: Due.Found,
  dues: ReadonlyArray<Due.Due>,
  group: ResourceGroup,
  now: number
): Steps.Steps<Selection | undefined> {
  const { options, round, subscriptions } = self
  const { protocol } = options
  // ★ What a client names it still has, until that is deleted: so what this refers to waits as long, but not for ever anew.
  const named = subscriptions.reduce(
    (soonest, each) => (isLate(each) ? Math.min(soonest, Due.nextRemovalAt(each, now)) : soonest),
    never
  )
  const held = named - options.phaseDeadline
  const removables: Array<ReadonlySet<string>> = []
  for (const [index, each] of subscriptions.entries()) {
    const changes = dues[index]?.changes ?? Subscriptions.noChanges
    removables.push(yield* Due.removable(protocol, each, changes, group, now, isLate(each) ? never : held))
  }
  const last = subscriptions.findLastIndex((_, index) => (removables[index]?.size ?? 0) > 0)
  const turn = select(self, dues, group, now)
  if (turn !== undefined) {
    const index = subscriptions.indexOf(turn.subscription)
    const removals = removalsAt(self, dues, index, turn.subscription, turn.due, turn.updates, group, now)
    if (removals !== undefined) return turn
    // Those that are due take their turns backwards; the others belong to a correction.
    const due =
      last <= index
        ? removables[index]
        : yield* Due.removable(protocol, turn.subscription, turn.due.changes, group, Number.NEGATIVE_INFINITY, never)
    return { ...turn, removals: due ?? "none" }
  }
  const [subscription, due, removals] = [subscriptions[last], dues[last], removables[last]]
  if (subscription === undefined || due === undefined || removals === undefined || due.update) return undefined
  // What has its turn, or changes to send in the next round, takes them along then.
  if (round.turned.includes(subscription.typeUrl) || Due.isChanged(found, protocol, subscription, group))
    return undefined
  return { subscription, due, place: never, updates: true, removals }
}

/** How many times more names than one response answers one takes away: those cost less. */
const departedPerAnswered = 4

/** Whether an incremental client has many resources from an earlier stream, and was not answered yet. */
const isReturningWithMany = ({ namesPerStep, protocol }: Options, { initial, cursor }: Subscription): boolean =>
  protocol === "Incremental" && cursor === undefined && initial.size > namesPerStep

/**
 * What a client holds that comes back with many resources, without those that are gone; `undefined`: another client held the same.
 */
const sorted = function* (
  { namesPerStep }: Options,
  subscription: Subscription,
  set: ResourceSet.ResourceSet
): Steps.Steps<InitialVersions.Sorted | undefined> {
  const { initial } = subscription
  if (InitialVersions.wasCompared(initial, set, namesPerStep)) return undefined
  return yield* InitialVersions.sort(subscription, Subscriptions.isWild(subscription), set)
}

/** When time brings something about. */
const wakeAt = (self: ServerStream, dues: ReadonlyArray<Due.Due>, now: number): number => {
  const { changes, removals } = self.round
  const times = [
    ...[changes, removals].flatMap((phase) => (phase === undefined ? [] : Round.opensAt(phase))),
    ...self.subscriptions.map((each) => Due.nextRemovalAt(each, now)),
    ...dues.map((due) => due.renewAt)
  ]
  return times.reduce((soonest, time) => Math.min(soonest, time), never)
}

/** A full state has all that there is in each response: what it lacks, the client deletes. */
const mustBeWhole = ({ options }: ServerStream, { family }: Subscription): boolean =>
  options.protocol === "StateOfTheWorld" && family === "full-state"

const noneDeparted: ReadonlyArray<string> = []

const except = (names: ReadonlyArray<string>, others: ReadonlyArray<string>): ReadonlyArray<string> => {
  if (others.length === 0) return names
  const isOther = new Set(others)
  return names.filter((name) => !isOther.has(name))
}

/** Takes a turn: makes the response; `undefined` if there was nothing to say after all. */
const take = function* (self: Draft, turn: Selection, now: number): Steps.Steps<Output | undefined> {
  const { due, subscription, updates } = turn
  const { bodylessHeartbeats, maxResponseBytes, namesPerResponse, protocol, ttl } = self.options
  const returned = isReturningWithMany(self.options, subscription)
    ? yield* sorted(self.options, subscription, due.set)
    : undefined
  const returning = Subscriptions.withInitial(subscription, returned?.versions ?? subscription.initial)
  const { changes, deferred, openers, set } = due
  const removals = typeof turn.removals === "object" && turn.removals.size === 0 ? "none" : turn.removals
  const isRenewal = ttl && updates && now >= due.renewAt
  const overdue = isRenewal ? Heartbeat.due(subscription, set, protocol, now) : []
  if (!due.reply && !due.update && removals === "none") return yield* renew(self, turn, overdue, now)

  const input: Subscriptions.Flush = { set, changes, updates, removals, ttl, maxBytes: maxResponseBytes }
  const isWhole = mustBeWhole(self, subscription)
  const most = isWhole ? Number.POSITIVE_INFINITY : namesPerResponse
  const asked = Subscriptions.notYet(returning, deferred)
  const [part, rest] =
    HashSet.size(asked.requested) <= most ? [asked, Subscriptions.noNameSet] : yield* Subscriptions.inPart(asked, most)
  const [next, answer, fresh] = yield* protocol === "StateOfTheWorld"
    ? StateOfTheWorld.flush(part, input)
    : Incremental.flush(part, input, openers, returned)
  const departed = returned === undefined ? noneDeparted : except(returned.gone, openers)
  // The first answer is owed, whatever it says.
  const made =
    answer === undefined || departed.length === 0
      ? answer
      : yield* ResponseParts.removing(answer, departed, departedPerAnswered * namesPerResponse, maxResponseBytes)
  // What must not be in one response has its second one before what refers to it; but not a third.
  const isHalf = HashSet.size(next.requested) > 0 && !self.round.turned.includes(subscription.typeUrl)
  if (part !== returning) {
    next.requested = Subscriptions.joined(Subscriptions.joined(rest, deferred), next.requested)
    // Of the names that are left it is still to be seen whether the client holds what they mean.
    next.initial = returning.initial
    next.resendEvenIfHeld = subscription.resendEvenIfHeld
  }
  for (const name of openers) next.openedRoutes = HashSet.add(next.openedRoutes, name)
  // TTLs that come with this response are not due at once.
  if (ttl && subscription.cursor?.hasTtls !== true) next.renewedAt = now
  if (made === undefined) {
    self.subscriptions = put(self.subscriptions, next)
    return undefined
  }
  // Of a response in parts they come after it, by themselves.
  const renews = isRenewal && made.next === undefined
  if (renews) next.renewedAt = now
  const response =
    overdue.length === 0 || !renews
      ? made
      : protocol === "StateOfTheWorld"
        ? StateOfTheWorld.withHeartbeats(subscription, made, overdue, bodylessHeartbeats, now)
        : yield* Incremental.withHeartbeats(subscription, set, made, overdue, now)
  // A full state has its changes even if they are an answer.
  const isUpdate = (due.update && (updates || isWhole)) || (yield* isAnyNewer(subscription, fresh))
  const output = send(self, turn, next, response, isUpdate, isHalf, now)
  const long = follow(self, subscription, fresh)
  if (long !== undefined) yield* long
  return output
}

/** Ends a turn with its response. `isHalf`: the type has another one before its turn is over. */
const send = (
  self: Draft,
  { place, subscription }: Selection,
  next: Subscriptions.Draft,
  response: Response,
  isUpdate: boolean,
  isHalf: boolean,
  now: number
): Output => {
  const phase = self.round.changes
  if (phase !== undefined && isUpdate && isLate(subscription)) {
    self.round = { ...self.round, changes: { ...phase, changed: true } }
  } else if (phase !== undefined && isFirstPhase(subscription) && Subscriptions.isRejected(subscription)) {
    self.round = { ...self.round, changes: { ...phase, anew: true } }
  }
  self.round = Round.turn(self.round, next.typeUrl, isHalf ? self.round.place : place)
  return emit(self, subscription, next, response, isUpdate, now)
}

/** What a response of one type makes due in another. */
const follow = (self: Draft, before: Subscription, fresh: ReadonlyArray<Resource>): Steps.Steps<void> | undefined => {
  const isAggregated = self.options.typeUrl === undefined
  if (isAggregated && before.typeUrl === ResourceType.Cluster.typeUrl) return sendAssignments(self, before, fresh)
  if (isAggregated && before.typeUrl === ResourceType.RouteConfiguration.typeUrl) openAgain(self, fresh)
  return undefined
}

/** ★ An answer may bring what came to be since the state that the client has: deletions of that update wait for its ACK, too. */
const isAnyNewer = function* ({ cursor }: Subscription, fresh: ReadonlyArray<Resource>): Steps.Steps<boolean> {
  if (cursor === undefined) return false
  let count = 0
  for (const { fingerprint, name } of fresh) {
    if (++count % Steps.atOnce === 0) yield
    if (!Option.contains(HashMap.get(cursor.fingerprints, name), fingerprint)) return true
  }
  return false
}

/** Renews TTLs by themselves. */
const renew = function* (
  self: Draft,
  turn: Selection,
  overdue: ReadonlyArray<Resource>,
  now: number
): Steps.Steps<Output | undefined> {
  const { due, place, subscription } = turn
  const { bodylessHeartbeats, maxResponseBytes, protocol } = self.options
  const renewed = Subscriptions.draft(subscription)
  renewed.renewedAt = now
  if (overdue.length === 0) {
    self.subscriptions = put(self.subscriptions, renewed)
    return undefined
  }
  const response = yield* protocol === "StateOfTheWorld"
    ? StateOfTheWorld.heartbeat(subscription, due.set, overdue, bodylessHeartbeats, now)
    : Incremental.heartbeat(subscription, due.set, overdue, now)
  self.round = Round.turn(self.round, renewed.typeUrl, place)
  const parts = mustBeWhole(self, subscription) ? response : yield* ResponseParts.split(response, maxResponseBytes)
  return emit(self, subscription, renewed, parts, false, now)
}

/** Sends the next part of a response, of which the last one did not have all. */
const nextPart = (self: Draft, now: number): Output | undefined => {
  while (self.parts !== undefined) {
    const { names, next, update, wildcard } = self.parts
    const subscription = find(self, next.typeUrl)
    const isSame = subscription?.names === names && subscription.wildcard === wildcard
    const part = subscription === undefined || isSame ? next : ResponseParts.wanted(next, subscription)
    self.parts = next.next === undefined ? undefined : { ...self.parts, next: next.next }
    if (subscription !== undefined && part !== undefined) {
      const sent = Subscriptions.draft(subscription)
      // ★ What was asked for meanwhile, and is told to be gone, is answered by that. Of a host that is another answer.
      if (HashSet.size(sent.requested) > 0 && next.typeUrl !== ResourceType.VirtualHost.typeUrl) {
        const set = ResourceGroups.set(self.group ?? ResourceGroups.empty, next.typeUrl)
        const isGone = (name: string) => ResourceSet.find(set, name) === undefined
        for (const name of part.removed) if (isGone(name)) sent.requested = HashSet.remove(sent.requested, name)
      }
      return emit(self, undefined, sent, part, update, now)
    }
  }
  return undefined
}

/** Sends a response, or a part of one: the next nonce, and the credit is used up. */
const emit = (
  self: Draft,
  before: Subscription | undefined,
  subscription: Subscriptions.Draft,
  response: Response,
  update: boolean,
  now: number
): Output => {
  self.nonces++
  const nonce = String(self.nonces)
  const { typeUrl } = subscription
  const sent = { ...Subscriptions.noSent, nonce, version: response.version, at: now }
  Subscriptions.send(subscription, sent, response, update, before)
  self.subscriptions = put(self.subscriptions, subscription)
  if (before !== undefined && response.next !== undefined) {
    const { names, wildcard } = subscription
    self.parts = { next: response.next, update, names, wildcard }
  }
  self.credit = false
  self.deadline = never
  return { _tag: "Send", typeUrl, nonce, response, from: revisionBefore(before?.cursor, subscription.cursor) }
}

/** A `*` that is asked for again has no revision: its answer is no change. */
const revisionBefore = (before: Cursor | undefined, after: Cursor | undefined): number | undefined =>
  before === undefined || before.revision < 0 || before.revision === after?.revision ? undefined : before.revision

/** Most assignments that are remembered for a client that has not subscribed to EDS yet. */
const maxWarming = 10_000

/**
 * ★ The ClusterLoadAssignment of a new or changed cluster is sent again after it, although unchanged: the client warms
 * the cluster on it, and an incremental client does not even ask.
 */
const sendAssignments = (
  self: Draft,
  clusters: Subscription,
  fresh: ReadonlyArray<Resource>
): Steps.Steps<void> | undefined => {
  const endpoints = find(self, ResourceType.ClusterLoadAssignment.typeUrl)
  if (endpoints === undefined) {
    // ★ A client that reconnects may still name what it holds when it subscribes to EDS later.
    if (self.options.protocol !== "Incremental") return undefined
    if (clusters.cursor === undefined && clusters.initial.size === 0) self.warming = "all"
    return self.warming === "all" ? undefined : warm(self, self.warming, assignmentsOf(fresh))
  }
  // The first answer brings everything but what the client says it holds.
  if (endpoints.cursor === undefined && endpoints.initial.size === 0) return undefined
  return sendNamed(self, endpoints, assignmentsOf(fresh))
}

/** Notes whose assignments are to be sent when the client subscribes to EDS. */
const warm = function* (
  self: Draft,
  warming: HashSet.HashSet<string> | "none",
  names: ReadonlyArray<string>
): Steps.Steps<void> {
  if (names.length === 0) return
  const more = yield* Subscriptions.withNames(warming === "none" ? HashSet.empty<string>() : warming, names)
  self.warming = HashSet.size(more) > maxWarming ? "all" : more
}

/** Sends those of these assignments that the client asks for. */
const sendNamed = function* (self: Draft, endpoints: Subscription, of: ReadonlyArray<string>): Steps.Steps<void> {
  const wild = Subscriptions.isWild(endpoints)
  const isAsked = (name: string) => wild || Subscriptions.hasName(endpoints, name)
  const names = yield* Steps.filter(of, isAsked)
  if (names.length === 0) return
  const next = Subscriptions.draft(endpoints)
  next.requested = yield* Subscriptions.withNames(next.requested, names)
  if (next.initial.size > 0) next.resendEvenIfHeld = yield* Subscriptions.withNames(next.resendEvenIfHeld, names)
  self.subscriptions = put(self.subscriptions, next)
}

/** The names of the assignments that clusters are warmed with. */
const assignmentsOf = (clusters: ReadonlyArray<Resource>): ReadonlyArray<string> =>
  clusters.flatMap(({ assignment }) => (assignment === undefined ? [] : [assignment]))

/** A route configuration that is sent again may belong to a new listener, which waits for its opener. */
const openAgain = (self: Draft, fresh: ReadonlyArray<Resource>): void => {
  const hosts = find(self, ResourceType.VirtualHost.typeUrl)
  if (hosts === undefined || HashSet.size(hosts.openedRoutes) === 0) return
  let { openedRoutes } = hosts
  for (const { name } of fresh) openedRoutes = HashSet.remove(openedRoutes, VirtualHostDiscovery.openerOf(name))
  if (HashSet.size(openedRoutes) === HashSet.size(hosts.openedRoutes)) return
  const next = Subscriptions.draft(hosts)
  next.openedRoutes = openedRoutes
  next.openedRoutesCursor = undefined
  self.subscriptions = put(self.subscriptions, next)
}

const find = (self: ServerStream, typeUrl: string): Subscription | undefined =>
  self.subscriptions.find((subscription) => subscription.typeUrl === typeUrl)
