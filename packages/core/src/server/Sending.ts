/**
 * Sending of the next response: plans what is due, selects the type with the next turn, and makes its response.
 *
 * @since 0.1.0
 */
import * as ResourceType from "@effect-xds/proto/ResourceType"
import type { Cursor } from "../resource/Cursor.js"
import { isSame } from "../resource/Cursor.js"
import * as HeldVersions from "../resource/HeldVersions.js"
import type { Resource } from "../resource/Resource.js"
import type { ResourceGroup } from "../resource/ResourceGroup.js"
import * as ResourceGroups from "../resource/ResourceGroup.js"
import * as ResourceSet from "../resource/ResourceSet.js"
import * as Steps from "../Steps.js"
import type { Response } from "../wire/Response.js"
import * as Acknowledgement from "./Acknowledgement.js"
import * as OnDemandNames from "./OnDemandNames.js"
import * as Due from "./Due.js"
import { sendAssignments } from "./EdsAfterCds.js"
import type * as Flush from "./Flush.js"
import * as Heartbeat from "./Heartbeat.js"
import * as Incremental from "./Incremental.js"
import { sendMembers } from "./LedsAfterEds.js"
import * as RequestedNames from "./RequestedNames.js"
import * as ResponseParts from "./ResponseParts.js"
import * as ReturningClient from "./ReturningClient.js"
import * as Round from "./Round.js"
import { planRound, wakeAt } from "./RoundPlan.js"
import * as SentErrors from "./SentErrors.js"
import * as SentVariants from "./SentVariants.js"
import * as StateOfTheWorld from "./StateOfTheWorld.js"
import type { Draft, Options, Output, ServerStream } from "./StreamState.js"
import { find, never, put } from "./StreamState.js"
import type { Subscription } from "./Subscription.js"
import * as Subscriptions from "./Subscription.js"
import { isLate } from "./TypeOrder.js"
import type { Selection } from "./TypeTurn.js"
import { isAnyGone, select, selectWithRemovals } from "./TypeTurn.js"
import { openAgain } from "./VirtualHostOpeners.js"
import * as NameSet from "./NameSet.js"

/** Whether every subscription is up to date. */
const isUpToDate = (self: ServerStream, group: ResourceGroup): boolean =>
  self.subscriptions.every((each) => {
    const set = ResourceGroups.set(group, each.typeUrl)
    return (
      each.cursor !== undefined &&
      isSame(each.cursor, set.cursor) &&
      !each.mustReply &&
      each.requested.size === 0 &&
      each.pendingRemovals.size === 0 &&
      !(self.options.ttl && set.cursor.hasTtls) &&
      (each.wildcardEnabled || each.wildcard === "none")
    )
  })

/**
 * Fast path: whether there is nothing to send, now or later. Most steps are the ACK of a client that is up to date.
 *
 * @since 0.1.0
 */
export const isIdle = (self: Draft): boolean => {
  const { group } = self
  self.deadline = never
  // A request is answered when all its names are processed.
  if (self.partialRequest !== undefined) return true
  // Without credit or a group nothing becomes due.
  if (!self.credit || group === undefined) return true
  if (self.parts !== undefined || SentErrors.owe(self, group) || !isUpToDate(self, group)) return false
  self.round = Round.idle
  return true
}

/**
 * Finds what is due and sends the first response; see {@link Round}.
 *
 * @since 0.1.0
 */
export const flush = function* (self: Draft, group: ResourceGroup, now: number): Steps.Steps<Output | undefined> {
  const part = nextPart(self, now)
  if (part !== undefined) return part
  if (self.options.missingWait !== undefined) OnDemandNames.expire(self, now)
  while (SentErrors.owe(self, group) || !isUpToDate(self, group)) {
    const found = Due.areNear(self.options, self.subscriptions, group, self.round)
      ? Due.nothingFound
      : yield* Due.find(self.options, self.subscriptions, group, self.round)
    if (self.options.ttl) {
      const groups = [group, self.round.group, self.round.changes?.group]
      for (const { typeUrl } of self.subscriptions) yield* Heartbeat.find(typeUrl, groups)
    }
    const dues = yield* planRound(self, found, group, now)
    const selection = isAnyGone(self, dues)
      ? yield* selectWithRemovals(self, found, dues, group, now)
      : select(self, dues, group, now)
    if (selection === undefined) {
      const isOver = self.round.turned.length === 0
      self.round = Round.next(self.round)
      // What is gone may have an error in its place.
      if (!isOver || SentErrors.owe(self, group)) continue
      self.deadline = wakeAt(self, dues, now)
      return undefined
    }
    const output = yield* take(self, selection, now)
    if (output !== undefined) return output
    // There was nothing to send, but the state moved on: look again. There may be many more names.
    yield
  }
  self.round = Round.idle
  return undefined
}

/**
 * Fast path of {@link flush} for the most frequent responses. `undefined` if it does not apply; then `self` must be discarded.
 *
 * @since 0.1.0
 */
export const tell = (self: Draft, group: ResourceGroup, now: number): Output | undefined => {
  const { options, parts } = self
  if (parts !== undefined || options.ttl) return undefined
  if (options.missingWait !== undefined) OnDemandNames.expire(self, now)
  if (!Due.areNear(options, self.subscriptions, group, self.round)) return undefined
  const dues = Steps.toEnd(planRound(self, Due.nothingFound, group, now))
  // Removals may take longer.
  const selection = isAnyGone(self, dues) ? undefined : select(self, dues, group, now)
  if (selection === undefined) return undefined
  const { due, subscription } = selection
  if (due.reply) return undefined
  const variant = options.protocol === "StateOfTheWorld" ? StateOfTheWorld : Incremental
  const told = variant.flushFew(subscription, due.set, due.changes, options.maxResponseBytes)
  if (told === undefined) return undefined
  const output = send(self, selection, told[0], told[1], true, false, now)
  const rest = follow(self, subscription, due.changes.changed)
  // Short, because there are few resources.
  if (rest !== undefined) Steps.toEnd(rest)
  return output
}

/** Removals in one response, as a multiple of answered names: a removal costs less. */
const departedPerAnswered = 4

/** Whether an incremental client returned with many resources, and was not answered yet. */
const isReturningWithMany = ({ namesPerStep, protocol }: Options, { initial, cursor }: Subscription): boolean =>
  protocol === "Incremental" && cursor === undefined && initial.size > namesPerStep

/**
 * The sorted resources of a returning client; `undefined` if the comparison is known, because another client held the same.
 */
const sorted = function* (
  { namesPerStep }: Options,
  subscription: Subscription,
  set: ResourceSet.ResourceSet
): Steps.Steps<ReturningClient.Sorted | undefined> {
  const { initial } = subscription
  const known = HeldVersions.compared(initial, set)
  if (known !== undefined && known.others.size <= namesPerStep) return undefined
  return yield* ReturningClient.sort(subscription, Subscriptions.isWild(subscription), set)
}

/** Whether each response must be complete: the client deletes what a full state lacks. */
const mustBeWhole = ({ options }: ServerStream, { family }: Subscription): boolean =>
  options.protocol === "StateOfTheWorld" && family === "full-state"

const noneDeparted: ReadonlyArray<string> = []

const except = (
  names: ReadonlyArray<string>,
  openers: ReadonlyArray<string>,
  deferred: NameSet.NameSet
): ReadonlyArray<string> => {
  if (openers.length + deferred.size === 0) return names
  const isOpener = new Set(openers)
  return names.filter((name) => !isOpener.has(name) && !deferred.has(name))
}

/** Takes a turn and makes its response; `undefined` if there is nothing to send after all. */
const take = function* (self: Draft, selection: Selection, now: number): Steps.Steps<Output | undefined> {
  const { due, subscription, updates } = selection
  const { bodylessHeartbeats, maxResponseBytes, namesPerResponse, protocol, ttl } = self.options
  const returned = isReturningWithMany(self.options, subscription)
    ? yield* sorted(self.options, subscription, due.set)
    : undefined
  const returning = Subscriptions.withInitial(subscription, returned?.versions ?? subscription.initial)
  const { changes, deferred, openers, set } = due
  const { refused } = subscription
  const removals = typeof selection.removals === "object" && selection.removals.size === 0 ? "none" : selection.removals
  const isRenewal = ttl && updates && now >= due.renewAt
  const overdue = isRenewal ? yield* Heartbeat.due(subscription, set, due.returning, protocol, now) : []
  if (!due.reply && !due.update && removals === "none") return yield* renew(self, selection, overdue, now)

  const input: Flush.Flush = { set, changes, updates, removals, ttl, maxBytes: maxResponseBytes }
  const isWhole = mustBeWhole(self, subscription)
  const most = isWhole ? Number.POSITIVE_INFINITY : namesPerResponse
  const asked = RequestedNames.notYet(returning, deferred)
  const parts = asked.requested.size <= most ? undefined : yield* RequestedNames.inPart(asked, most)
  const part = parts === undefined ? asked : parts[0]
  const rest = parts === undefined ? Subscriptions.noNameSet : parts[1]
  const flushed = yield* protocol === "StateOfTheWorld"
    ? StateOfTheWorld.flush(part, input)
    : Incremental.flush(part, input, refused.length === 0 ? openers : [...openers, ...refused], returned)
  const next = flushed[0]
  const answer = flushed[1]
  const fresh = flushed[2]
  const departed = returned === undefined ? noneDeparted : except(returned.gone, openers, deferred)
  // The first response is never `undefined`, so the removals of a returning client go with it.
  const whole =
    answer === undefined || departed.length === 0
      ? answer
      : yield* ResponseParts.removing(answer, departed, departedPerAnswered * namesPerResponse, maxResponseBytes)
  // A turn that needs two responses sends the second one before types that refer to it; but not a third. Where other names wait as
  // well, the second one may be theirs.
  const isHalf = next.requested.size > 0 && rest.size === 0 && !self.round.turned.includes(subscription.typeUrl)
  if (part !== returning) {
    next.requested = RequestedNames.joined(RequestedNames.joined(rest, deferred), next.requested)
    // For the remaining names it is still open whether the client holds their resources.
    next.initial = returning.initial
    next.resendEvenIfHeld = subscription.resendEvenIfHeld
  }
  if (refused.length > 0) next.refused = Subscriptions.noList
  if (openers.length > 0) next.sentOpeners = NameSet.addAll(next.sentOpeners, openers)
  const maxBytes = isWhole ? never : maxResponseBytes
  const made = whole && (yield* SentErrors.telling(self, subscription, next, whole, maxBytes))
  // After a response in parts, the renewal is a response of its own.
  const renews = isRenewal && made !== undefined && made.next === undefined
  // TTLs that start with this response are not due at once.
  if (renews || (ttl && subscription.cursor?.hasTtls !== true)) {
    next.renewedAt = now
    next.mayBeLost = yield* Heartbeat.unrenewed(subscription, set, changes.gone, due.returning)
  }
  if (made === undefined) {
    self.subscriptions = put(self.subscriptions, next)
    return undefined
  }
  const response =
    overdue.length === 0 || !renews
      ? made
      : protocol === "StateOfTheWorld"
        ? yield* StateOfTheWorld.withHeartbeats(subscription, made, overdue, bodylessHeartbeats, now)
        : yield* Incremental.withHeartbeats(subscription, due, made, overdue, now)
  // A full-state response carries its changes even if it is an answer.
  const isUpdate = (due.update && (updates || isWhole)) || (yield* isAnyNewer(subscription, fresh))
  const output = send(self, selection, next, response, isUpdate, isHalf, now)
  const long = follow(self, subscription, fresh)
  if (long !== undefined) yield* long
  return output
}

/** Ends a turn with its response. `isHalf`: the type sends another one before its turn ends. */
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
  // What was only asked for corrects nothing that was rejected.
  if (phase !== undefined && isUpdate) {
    if (isLate(subscription)) self.round = { ...self.round, changes: { ...phase, changed: true } }
    else if (Acknowledgement.isRejected(subscription)) self.round = { ...self.round, changes: { ...phase, anew: true } }
  }
  self.round = Round.turn(self.round, next.typeUrl, isHalf ? self.round.place : place)
  return emit(self, subscription, next, response, isUpdate, now)
}

/** What a response of one type makes due in another. */
const follow = (self: Draft, before: Subscription, fresh: ReadonlyArray<Resource>): Steps.Steps<void> | undefined => {
  const isAggregated = self.options.typeUrl === undefined
  if (isAggregated && ResourceType.isOf(before.typeUrl, ResourceType.Cluster))
    return sendAssignments(self, before, fresh)
  if (isAggregated && ResourceType.isOf(before.typeUrl, ResourceType.ClusterLoadAssignment))
    return sendMembers(self, before, fresh)
  if (isAggregated && ResourceType.isOf(before.typeUrl, ResourceType.RouteConfiguration)) openAgain(self, before, fresh)
  return undefined
}

/** ★ An answer may carry changes that are newer than the client's state: removals of that update wait for its ACK, too. */
const isAnyNewer = function* ({ cursor }: Subscription, fresh: ReadonlyArray<Resource>): Steps.Steps<boolean> {
  if (cursor === undefined) return false
  let count = 0
  for (const { fingerprint, name } of fresh) {
    if (++count % Steps.atOnce === 0) yield
    if (cursor.fingerprints.get(name) !== fingerprint) return true
  }
  return false
}

/** Renews TTLs in a response of its own. */
const renew = function* (
  self: Draft,
  selection: Selection,
  overdue: ReadonlyArray<Resource>,
  now: number
): Steps.Steps<Output | undefined> {
  const { due, place, subscription } = selection
  const { bodylessHeartbeats, maxResponseBytes, protocol } = self.options
  const renewed = Subscriptions.draft(subscription)
  renewed.renewedAt = now
  renewed.mayBeLost = yield* Heartbeat.unrenewed(subscription, due.set, due.changes.gone, due.returning)
  if (overdue.length === 0) {
    self.subscriptions = put(self.subscriptions, renewed)
    return undefined
  }
  const response = yield* protocol === "StateOfTheWorld"
    ? StateOfTheWorld.heartbeat(subscription, due.set, overdue, bodylessHeartbeats, now)
    : Incremental.heartbeat(subscription, due, overdue, now)
  self.round = Round.turn(self.round, renewed.typeUrl, place)
  const parts = mustBeWhole(self, subscription) ? response : yield* ResponseParts.split(response, maxResponseBytes)
  return emit(self, subscription, renewed, parts, false, now)
}

/** Sends the next part of a split response; `undefined` if none is left. */
const nextPart = (self: Draft, now: number): Output | undefined => {
  while (self.parts !== undefined) {
    const { names, next, update, wildcard } = self.parts
    const subscription = find(self, next.typeUrl)
    const isSame = subscription?.names === names && subscription.wildcard === wildcard
    const part = subscription === undefined || isSame ? next : ResponseParts.wanted(next, subscription)
    self.parts = next.next === undefined ? undefined : { ...self.parts, next: next.next }
    if (subscription !== undefined && part !== undefined) {
      const sent = Subscriptions.draft(subscription)
      // ★ If this part removes a name that was requested meanwhile, that is its answer. The answer for a host is another one.
      if (sent.requested.size > 0 && !ResourceType.isOf(next.typeUrl, ResourceType.VirtualHost)) {
        const set = ResourceGroups.set(self.group ?? ResourceGroups.empty, next.typeUrl)
        const isGone = (name: string) => ResourceSet.find(set, name) === undefined
        sent.requested = NameSet.removeAll(sent.requested, part.removed.filter(isGone))
      }
      return emit(self, undefined, sent, part, update, now)
    }
  }
  return undefined
}

/** Sends a response or a part of one: takes the next nonce and uses the credit. */
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
  Acknowledgement.send(subscription, sent, response, update, before)
  self.subscriptions = put(self.subscriptions, subscription)
  const told = self.parameters === undefined ? response : SentVariants.send(self, response)
  if (before !== undefined && response.next !== undefined) {
    const { names, wildcard } = subscription
    self.parts = { next: response.next, update, names, wildcard }
  }
  self.credit = false
  self.deadline = never
  return { _tag: "Send", typeUrl, nonce, response: told, from: revisionBefore(before?.cursor, subscription.cursor) }
}

/** The revision that a response starts from; `undefined` if it carries no change, like the answer to a repeated `*`. */
const revisionBefore = (before: Cursor | undefined, after: Cursor | undefined): number | undefined =>
  before === undefined || before.revision < 0 || before.revision === after?.revision ? undefined : before.revision
