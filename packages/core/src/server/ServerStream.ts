/**
 * One stream of a server: the reducer that decides what is sent, in which order and when.
 *
 * A stream sends only on credit: a `Writable` input allows one response. Responses are not queued: each is computed from the
 * group's present state when there is credit, so fifty changes behind a slow client are one response.
 *
 * On an aggregated stream the order of types is part of the protocol: clusters before the endpoints on which they are warmed,
 * both before listeners and routes, removals after everything that replaces what is removed.
 *
 * @see https://www.envoyproxy.io/docs/envoy/latest/api-docs/xds_protocol
 * @since 0.1.0
 */
import * as ResourceType from "@effect-xds/proto/ResourceType"
import * as DynamicParameters from "../protocol/DynamicParameters.js"
import * as ClientView from "../resource/ClientView.js"
import { isSame } from "../resource/Cursor.js"
import type { ResourceGroup } from "../resource/ResourceGroup.js"
import * as ResourceGroups from "../resource/ResourceGroup.js"
import * as Steps from "../Steps.js"
import type { Request } from "../wire/Request.js"
import * as ApiVersion from "./ApiVersion.js"
import * as OnDemandNames from "./OnDemandNames.js"
import * as Collections from "./Collections.js"
import * as Round from "./Round.js"
import { flush, isIdle, tell } from "./Sending.js"
import * as SentErrors from "./SentErrors.js"
import * as SentVariants from "./SentVariants.js"
import { goOn, hear, isHeard, isRepeated, onRequest, violate } from "./StreamRequest.js"
import type { Draft, Options, PhaseOptions, ServerStream, Step } from "./StreamState.js"
import { draft, never, none, put } from "./StreamState.js"
import type { Rejected, Sent, Subscription, Wildcard } from "./Subscription.js"
import * as Subscriptions from "./Subscription.js"
import * as NameTable from "./NameTable.js"

export type {
  IgnoredReason,
  Options,
  Output,
  PhaseOptions,
  ServerStream,
  Step,
  ViolationReason
} from "./StreamState.js"

/**
 * An event for a stream.
 *
 * @since 0.1.0
 */
export type Input =
  | { readonly _tag: "Request"; readonly request: Request }
  /** The new content of the client's group; `undefined` if it is not set. */
  | { readonly _tag: "Changed"; readonly group: ResourceGroup | undefined }
  /**
   * The new content of the client's group, if nothing that the stream subscribes to changed, see {@link interests}. Costs the
   * same however much changed; has no outputs.
   */
  | { readonly _tag: "Advance"; readonly group: ResourceGroup }
  /**
   * The client moved to another group, with its content and phase options. The stream sends the difference, as after a change.
   * An update of the former group that is under way ends first.
   */
  | { readonly _tag: "Moved"; readonly group: ResourceGroup | undefined; readonly phases: PhaseOptions }
  /** The on-demand work for names of a `Missing` output is done: their answers no longer wait. */
  | { readonly _tag: "MissingDone"; readonly typeUrl: string; readonly names: ReadonlyArray<string> }
  /** Credit for one response. */
  | { readonly _tag: "Writable" }
  /** The next portion of a long request, for drivers that use {@link stepping}; see {@link isWorking}. */
  | { readonly _tag: "Continue" }
  /** The {@link deadline} has been reached. */
  | { readonly _tag: "Deadline" }

const vhdsOnly: ReadonlySet<string> = new Set(
  ResourceType.ofAllApis.filter((type) => !type.wildcardByDefault).map((type) => type.typeUrl)
)

/**
 * Options with the defaults of those that are not given. Streams that are {@link make made} with them share them.
 *
 * @since 0.1.0
 */
export const withDefaults = (options: Pick<Options, "protocol" | "typeUrl"> & Partial<Options>): Options => ({
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
  missingWait: undefined,
  ...options
})

/** Whether every option is given. Field by field: a copy for each stream takes several times as long. */
const isWhole = (options: Partial<Options>): options is Options =>
  options.ttl !== undefined &&
  options.bodylessHeartbeats !== undefined &&
  options.wildcardOff !== undefined &&
  options.makeBeforeBreak !== undefined &&
  options.phaseDeadline !== undefined &&
  options.maxNames !== undefined &&
  options.maxNameLength !== undefined &&
  options.maxTypes !== undefined &&
  options.namesPerStep !== undefined &&
  options.namesPerResponse !== undefined &&
  options.maxResponseBytes !== undefined &&
  "missingWait" in options

/**
 * A new stream: no group, no subscription, no credit.
 *
 * @since 0.1.0
 */
export const make = (options: Pick<Options, "protocol" | "typeUrl"> & Partial<Options>): ServerStream => ({
  options: isWhole(options) ? options : withDefaults(options),
  group: undefined,
  parameters: undefined,
  variants: SentVariants.none,
  errors: SentErrors.none,
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

/** Most characters of what is remembered of a client's dynamic parameters. */
const maxParameters = 65_536

/**
 * The group that the stream was given last, of which it serves what its client sees.
 *
 * @since 0.1.0
 */
export const groupOf = ({ group }: ServerStream): ResourceGroup | undefined => group?.whole ?? group

/**
 * Time of the next `Deadline` input in milliseconds, on the clock of `now`; Infinity if none is due.
 *
 * @since 0.1.0
 */
export const deadline = (self: ServerStream): number => self.deadline

/**
 * Whether a request with many names is partly processed: with {@link stepping} it takes several steps, so that other streams
 * have their turn. The stream then needs `Continue` inputs before the next request. After {@link step} it never is.
 *
 * @since 0.1.0
 */
export const isWorking = (self: ServerStream): boolean => self.partialRequest !== undefined

/** A step that answers more names than this is not short. */
const manyAnswers = 256

/**
 * Whether the next step with credit may be long, because many names are requested or parts of a response are left. Other
 * streams should have a turn before.
 *
 * @since 0.1.0
 */
export const isAnsweringInParts = (self: ServerStream): boolean =>
  self.parts !== undefined || self.subscriptions.some(({ requested }) => requested.size > manyAnswers)

/**
 * Most names of a type in {@link status}. Of further names it has only the number.
 *
 * @since 0.1.0
 */
export const maxNamed = 100

/** Most characters of a name in the status. Clients may choose names of any length. */
const longestNamed = 256

const firstOf = (names: NameTable.NameTable<unknown>): ReadonlyArray<string> => {
  const first: Array<string> = []
  for (const name of names.keys()) {
    if (first.length === maxNamed) break
    first.push(name.slice(0, longestNamed))
  }
  return first
}

/**
 * The status of one type on one stream.
 *
 * @since 0.1.0
 */
export interface Status {
  readonly typeUrl: string
  readonly wildcard: Wildcard
  /** Number of subscribed names. */
  readonly names: number
  /** Up to {@link maxNamed} of them, in no particular order. */
  readonly named: ReadonlyArray<string>
  readonly sent: Sent | undefined
  readonly acked: Sent | undefined
  readonly nacked: Rejected | undefined
  /** Whether a request cannot be answered because the group is not set. */
  readonly waiting: boolean
}

/**
 * The status of each type: subscription, last response, ACK and NACK.
 *
 * @since 0.1.0
 */
export const status = (self: ServerStream): ReadonlyArray<Status> =>
  self.subscriptions.map((subscription) => ({
    typeUrl: subscription.typeUrl,
    wildcard: subscription.wildcard,
    names: Subscriptions.askedNames(subscription).size,
    named: firstOf(Subscriptions.askedNames(subscription)),
    sent: subscription.sent,
    acked: subscription.acked,
    nacked: subscription.nacked,
    waiting: self.group === undefined && Subscriptions.isUnanswered(subscription)
  }))

/**
 * Whether a request cannot be answered because the client's group is not set: it never was, or it was cleared.
 *
 * @since 0.1.0
 */
export const isWaiting = (self: ServerStream): boolean =>
  self.group === undefined && self.subscriptions.some(Subscriptions.isUnanswered)

/**
 * The interest of a stream in one type.
 *
 * @since 0.1.0
 */
export interface Interest {
  readonly typeUrl: string
  /** Whether every change of the type concerns the stream. */
  readonly everything: boolean
  /** Otherwise only changes of these names and of members of these collections do. The same map as long as they are the same. */
  readonly names: NameTable.NameTable<unknown>
}

/**
 * The changes that concern a stream; of types that are not listed none does. A driver of many streams may omit `Changed` where
 * a change does not concern a stream, if it gives `Changed` or `Advance` before the stream's next other input.
 * @since 0.1.0
 */
export const interests = (self: ServerStream): ReadonlyArray<Interest> => {
  const found: Array<Interest> = []
  for (const subscription of self.subscriptions) {
    const { wildcardEnabled, typeUrl, wildcard } = subscription
    found.push({ typeUrl, everything: wildcard !== "none", names: Subscriptions.askedNames(subscription) })
    // Without a VHDS wildcard the stream sends openers for route configurations.
    if (ResourceType.isOf(typeUrl, ResourceType.VirtualHost) && wildcard !== "none" && !wildcardEnabled) {
      const routes = ResourceType.besides(typeUrl, ResourceType.RouteConfiguration)
      const at = found.findIndex((interest) => interest.typeUrl === routes)
      if (at < 0) found.push({ typeUrl: routes, everything: true, names: NameTable.empty() })
      else found[at] = { typeUrl: routes, everything: true, names: found[at]?.names ?? NameTable.empty() }
    }
  }
  return found
}

/**
 * Applies one input, a request with all its names. Total: every input of a client leads to a state and outputs.
 *
 * @param now milliseconds, never less than in the step before
 * @since 0.1.0
 */
export const step = (self: ServerStream, input: Input, now: number): Step =>
  whole(short(self, input, now) ?? Steps.toEnd(stepping(self, input, now)), now)

/** A step with all of a long request. */
const whole = (taken: Step, now: number): Step => {
  const [self, outputs] = taken
  if (self.partialRequest === undefined) return taken
  const [next, more] = Steps.toEnd(goOn(self, self.partialRequest, Number.POSITIVE_INFINITY, now))
  return whole([next, [...outputs, ...more]], now)
}

/**
 * {@link step} for drivers of many streams: a response of many resources takes several turns. Until it ends, the stream stays
 * as it was, and other inputs must wait. Of a request with many names it takes a portion, see {@link isWorking}.
 *
 * @since 0.1.0
 */
export const stepping = function* (self: ServerStream, given: Input, now: number): Steps.Steps<Step> {
  if (self.ended) return [self, none]
  const input = seen(self, given) ?? (yield* seeing(self, given))
  if (input._tag === "Continue" && self.partialRequest !== undefined)
    return yield* goOn(self, self.partialRequest, self.options.namesPerStep, now)
  if (input._tag === "Request") {
    if (self.partialRequest === undefined) return yield* onLocated(self, input.request, now)
    // A driver that does not wait gets all of it in this step.
    const [taken, outputs] = yield* goOn(self, self.partialRequest, Number.POSITIVE_INFINITY, now)
    if (taken.ended) return [taken, outputs]
    const [next, more] = yield* taken.partialRequest === undefined
      ? onLocated(taken, input.request, now)
      : stepping(taken, input, now)
    return [next, [...outputs, ...more]]
  }
  if (input._tag === "Advance" && self.group !== undefined) return untouched(self, self.group, input.group, now)
  const conflict = "group" in input ? ApiVersion.conflict(self, input.group) : undefined
  if (conflict !== undefined) return violate(self, "WrongApi", conflict)
  const next = draft(self)
  let missing = none
  if (input._tag === "Changed" || input._tag === "Advance") {
    if (self.group === input.group) return [self, none]
    next.group = input.group
    next.subscriptions = yield* Collections.follow(self.subscriptions, self.group, input.group)
    if (input.group === undefined) {
      next.round = Round.idle
      // ★ The client keeps what it has. What the group lacks when it is set again is deleted last, as after a move.
      next.subscriptions = yield* leave(self.subscriptions, self.group ?? ResourceGroups.empty)
    } else if (self.group === undefined) missing = yield* OnDemandNames.ofGroup(next, false, now)
  } else if (input._tag === "Moved") {
    next.group = input.group
    next.options = { ...self.options, ...input.phases }
    const left = yield* leave(self.subscriptions, self.group ?? ResourceGroups.empty)
    next.subscriptions = yield* Collections.follow(left, undefined, input.group)
    next.round = input.group === undefined ? Round.idle : Round.departed(self.round)
    missing = yield* OnDemandNames.ofGroup(next, true, now)
  } else if (input._tag === "MissingDone") {
    const subscriptions = OnDemandNames.without(self.subscriptions, input.typeUrl, input.names)
    if (subscriptions === self.subscriptions) return [self, none]
    next.subscriptions = subscriptions
  } else if (input._tag === "Writable") {
    if (self.credit) return [self, none]
    next.credit = true
  }
  const output = isIdle(next) || next.group === undefined ? undefined : yield* flush(next, next.group, now)
  // Requests that were not answered before the group was cleared wait from now on.
  if (next.group === undefined) {
    const unanswered = self.group === undefined ? [] : next.subscriptions.filter(Subscriptions.isUnanswered)
    return [next, [...missing, ...unanswered.map(({ typeUrl }) => ({ _tag: "Waiting", typeUrl }) as const)]]
  }
  return [next, output === undefined ? missing : [...missing, output]]
}

/** An input with the group as this client sees it. `undefined`: it takes longer, use {@link seeing}. */
const seen = (self: ServerStream, input: Input): Input | undefined => {
  if (!("group" in input) || input.group === undefined) return input
  const group = ClientView.near(input.group, self.parameters, self.group)
  return group === undefined ? undefined : group === input.group ? input : { ...input, group }
}

const seeing = function* (self: ServerStream, input: Input): Steps.Steps<Input> {
  if (!("group" in input) || input.group === undefined) return input
  return { ...input, group: yield* ClientView.viewing(input.group, self.parameters, self.group) }
}

/** Handles a request. What its locators say of the client chooses the variants from now on. */
const onLocated = function* (self: ServerStream, request: Request, now: number): Steps.Steps<Step> {
  if (request.parameters === undefined) return yield* onRequest(self, request, now)
  const parameters = DynamicParameters.joined(self.parameters, request.parameters)
  if (parameters === self.parameters) return yield* onRequest(self, request, now)
  if (DynamicParameters.keyOf(parameters).length > maxParameters) {
    const message = `the dynamic parameters have more than ${maxParameters} characters`
    return violate(self, "TooManyParameters", message)
  }
  // ★ A stale request is ignored whole: what it says of the client, too.
  const heard = hear(self, request, now)
  if (!isHeard(heard)) return heard
  const next = draft(self)
  next.parameters = parameters
  const view = self.group && (yield* ClientView.viewing(self.group.whole ?? self.group, parameters, undefined))
  if (self.group !== undefined && view !== self.group) {
    // As after a move to another group: it gets the difference.
    next.group = view
    next.subscriptions = yield* Collections.follow(yield* leave(self.subscriptions, self.group), undefined, view)
    next.round = Round.departed(self.round)
  }
  return yield* onRequest(next, request, now)
}

/** The subscriptions of a client that left a group. */
const leave = function* (
  subscriptions: ReadonlyArray<Subscription>,
  group: ResourceGroup
): Steps.Steps<ReadonlyArray<Subscription>> {
  const left: Array<Subscription> = []
  for (const each of subscriptions) {
    left.push(yield* Subscriptions.elsewhere(each, ResourceGroups.set(group, each.typeUrl)))
  }
  return left
}

/**
 * {@link step} if it is short, as most are: an ACK of a client that is up to date, credit for it, a change of few resources.
 * `undefined`: use {@link stepping}.
 *
 * @since 0.1.0
 */
export const short = (self: ServerStream, given: Input, now: number): Step | undefined => {
  if (self.ended || self.partialRequest !== undefined) return undefined
  const input = seen(self, given)
  if (input === undefined) return undefined
  if (input._tag === "Advance" && self.group !== undefined) return untouched(self, self.group, input.group, now)
  const next = draft(self)
  let outputs = none
  switch (input._tag) {
    case "Request": {
      const { parameters } = input.request
      if (parameters !== undefined && DynamicParameters.joined(self.parameters, parameters) !== self.parameters)
        return undefined
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
      if (self.group === undefined && self.options.missingWait !== undefined) return undefined
      if (ApiVersion.conflict(self, input.group) !== undefined) return undefined
      if (Collections.isAny(self.subscriptions)) return undefined
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

/** The step after a change that does not concern the stream. */
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

/**
 * Brings subscriptions up to date that a change does not concern: for a thousand clients that subscribe by name, most. Nothing
 * else is examined. A subscription that was behind, or waits for an answer, stays where it is until there is credit.
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
