/**
 * The plan of a round: brings the round and its phases to where they are, by the table in `Round`, and finds what each type has to send.
 *
 * @since 0.1.0
 */
import * as Due from "./Due.js"
import type { ResourceGroup } from "../resource/ResourceGroup.js"
import * as Round from "./Round.js"
import type * as Steps from "../Steps.js"
import type { Subscription } from "./Subscription.js"
import * as Subscriptions from "./Subscription.js"
import type { Draft, ServerStream } from "./StreamState.js"
import { never } from "./StreamState.js"
import { isFirstPhase, isLate } from "./TypeOrder.js"

/**
 * A response that is not ACKed, as something to wait for: for a deadline from its sending.
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

/**
 * When time brings something about.
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
