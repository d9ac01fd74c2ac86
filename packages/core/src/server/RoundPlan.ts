/**
 * Plan of a round: updates the round and its phases by the table in `Round`, and finds what each type has to send.
 *
 * @since 0.1.0
 */
import type { ResourceGroup } from "../resource/ResourceGroup.js"
import type * as Steps from "../Steps.js"
import * as Due from "./Due.js"
import * as Round from "./Round.js"
import type { Draft, ServerStream } from "./StreamState.js"
import { never } from "./StreamState.js"
import type { Subscription } from "./Subscription.js"
import * as Subscriptions from "./Subscription.js"
import { isFirstPhase, isLate } from "./TypeOrder.js"

/**
 * The gate of an outstanding update, for one deadline from its sending; `undefined` if nothing waits for it.
 *
 * @since 0.1.0
 */
export const gateOf = (
  self: ServerStream,
  { unackedUpdate, typeUrl }: Subscription,
  now: number
): Round.Gate | undefined => {
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

/** The newest state of the group, unless a type up to the round's place has changes in it. */
const stateOf = (self: ServerStream, found: Due.Found, newest: ResourceGroup): ResourceGroup => {
  const { group, place } = self.round
  if (group === undefined || group === newest) return newest
  const isAgain = self.subscriptions.some(
    (each) => each.order <= place && Due.isChanged(found, self.options.protocol, each, newest)
  )
  return isAgain ? group : newest
}

/** Records what a subscription has to send, and its new state. */
const note = (self: Draft, dues: Array<Due.Due>, index: number, each: Subscription, planned: Due.Planned): void => {
  if (planned[0] !== each) self.subscriptions = self.subscriptions.with(index, planned[0])
  dues.push(planned[1])
}

/** Whether a subscription waits for another response than before. */
const isCorrected = (before: ReadonlyArray<Subscription>, after: ReadonlyArray<Subscription>): boolean =>
  before.some(({ unackedUpdate }, index) => unackedUpdate !== after[index]?.unackedUpdate)

/** Whether changes of listeners and routes must still go out to reach a state. */
const isPending = (self: ServerStream, found: Due.Found, group: ResourceGroup): boolean =>
  self.subscriptions.some((each) => isLate(each) && Due.isChanged(found, self.options.protocol, each, group))

/** The phase of removals, after all changes up to those of a phase went out. */
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
 * Updates the round and its phases, and finds what each subscription has to send, in the order of subscriptions.
 *
 * @since 0.1.0
 */
export const planRound = function* (
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
  // ★ Hot path of every change for every client: no closures, and no iterators of pairs.
  for (let index = 0; index < before.length; index++) {
    const each = before[index]
    if (each === undefined || !isFirstPhase(each)) continue
    const planned = Due.plan(found, options, each, group, newest)
    note(self, dues, index, each, "next" in planned ? yield* planned : planned)
  }
  let { changes, removals } = self.round
  if (changes !== undefined && isCorrected(before, self.subscriptions)) changes = { ...changes, anew: true }
  /** The phase whose changes all went out, if there is one now. */
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
    const planned = Due.plan(found, options, each, of, newest)
    note(self, dues, index, each, "next" in planned ? yield* planned : planned)
  }

  if (completed !== undefined) removals = yield* removing(self, completed, removals, newest, now)
  if (removals !== undefined) removals = yield* release(self, removals, newest, now)
  self.round = { group, place: self.round.place, turned: self.round.turned, changes, removals }
  return dues
}

/** Whether any subscription with pending removals meets a condition that takes steps. */
const isSome = function* (
  subscriptions: ReadonlyArray<Subscription>,
  is: (subscription: Subscription) => Steps.Steps<boolean>
): Steps.Steps<boolean> {
  for (const each of subscriptions) if (each.pendingRemovals.size > 0 && (yield* is(each))) return true
  return false
}

/** Opens the phase of removals if it waits for nothing: sets the due times and returns `undefined`. Else returns the phase. */
const release = function* (
  self: Draft,
  phase: Round.Phase,
  newest: ResourceGroup,
  now: number
): Steps.Steps<Round.Phase | undefined> {
  if (now < Round.opensAt(phase)) return phase
  const { makeBeforeBreak, phaseDeadline, protocol } = self.options
  // ★ Until the new version of a returning resource went out, the client has the old one, with all that it refers to.
  const isReturning = (each: Subscription) => Due.isReturning(protocol, each, phase.group, newest)
  if (makeBeforeBreak && now < phase.limit && (yield* isSome(self.subscriptions.filter(isLate), isReturning))) {
    return Round.postpone(phase, now + phaseDeadline)
  }
  for (const [index, each] of self.subscriptions.entries()) {
    // ★ A client that names a resource still needs it.
    const isNeeded = makeBeforeBreak && phase.changed && !Subscriptions.isWild(each)
    const timed = yield* Due.timed(protocol, each, phase.group, isNeeded ? now + phaseDeadline : now)
    if (timed !== each) self.subscriptions = self.subscriptions.with(index, timed)
  }
  return undefined
}

/**
 * The next time at which something is due, in milliseconds; Infinity if never.
 *
 * @since 0.1.0
 */
export const wakeAt = (self: ServerStream, dues: ReadonlyArray<Due.Due>, now: number): number => {
  const { changes, removals } = self.round
  const times = [
    ...[changes, removals].flatMap((phase) => (phase === undefined ? [] : Round.opensAt(phase))),
    ...self.subscriptions.map((each) => Due.nextRemovalAt(each, now)),
    ...dues.map((due) => Math.min(due.renewAt, due.answerAt))
  ]
  return times.reduce((soonest, time) => Math.min(soonest, time), never)
}
