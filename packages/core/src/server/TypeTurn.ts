/**
 * Selection of the type with the next turn in a round, and of the removals in its response.
 *
 * @since 0.1.0
 */
import type { ResourceGroup } from "../resource/ResourceGroup.js"
import * as ResourceGroups from "../resource/ResourceGroup.js"
import type * as Steps from "../Steps.js"
import * as Acknowledgement from "./Acknowledgement.js"
import * as Due from "./Due.js"
import type * as Flush from "./Flush.js"
import * as Round from "./Round.js"
import { gateOf } from "./RoundPlan.js"
import type { ServerStream } from "./StreamState.js"
import { never } from "./StreamState.js"
import type { Subscription } from "./Subscription.js"
import * as Subscriptions from "./Subscription.js"
import * as SubscriptionChanges from "./SubscriptionChanges.js"
import { isFirstPhase, isLate } from "./TypeOrder.js"

/**
 * The type with the next turn, and what it may send.
 *
 * @since 0.1.0
 */
export interface Selection {
  readonly subscription: Subscription
  readonly due: Due.Due
  /** The place of the round after this turn. */
  readonly place: number
  /** Whether its changes may go out. */
  readonly updates: boolean
  readonly removals: Flush.Removals
}

/** Whether changes of listeners and routes may go out in this round. */
const isRoundOpen = ({ round, subscriptions }: ServerStream, dues: ReadonlyArray<Due.Due>, now: number): boolean => {
  // A type that had its turn and has changes again goes first in the next round. Types that refer to it wait until then.
  const isBehind = subscriptions.some(
    (each, index) => isLate(each) && each.order <= round.place && dues[index]?.update === true
  )
  return !isBehind && (round.changes === undefined || now >= Round.opensAt(round.changes))
}

/** Whether a type may send its changes. A heartbeat repeats the client's version, so changes held back go out with it. */
const mayUpdate = (subscription: Subscription, { renewAt }: Due.Due, isOpen: boolean, now: number): boolean =>
  isFirstPhase(subscription) || isOpen || now >= renewAt || Acknowledgement.isRejected(subscription)

/** Index of the first type after the round's place that has something to send; -1 if there is none. */
const nextAt = ({ round, subscriptions }: ServerStream, dues: ReadonlyArray<Due.Due>, isOpen: boolean, now: number) =>
  subscriptions.findIndex((subscription, index) => {
    const due = dues[index]
    if (due === undefined || subscription.order <= round.place) return false
    return due.reply || now >= due.renewAt || (due.update && mayUpdate(subscription, due, isOpen, now))
  })

/** The removals that a type may send along; `undefined`: those that are due. */
const removalsAt = (
  self: ServerStream,
  dues: ReadonlyArray<Due.Due>,
  index: number,
  subscription: Subscription,
  due: Due.Due,
  updates: boolean,
  group: ResourceGroup,
  now: number
): Flush.Removals | undefined => {
  const { options, round, subscriptions } = self
  if (options.typeUrl !== undefined) return due.reply || (due.update && updates) ? "all" : "none"
  if (!updates) return "none"
  if (!due.update || round.removals !== undefined) return undefined
  if (options.makeBeforeBreak && isLate(subscription) && !Subscriptions.isWild(subscription)) return undefined
  if (due.set !== ResourceGroups.set(group, subscription.typeUrl)) return undefined
  // Removals of a type may go out with its changes if no other type has anything that must come before.
  const isAlone = subscriptions.every(
    (other, at) =>
      at === index ||
      (gateOf(self, other, now) === undefined &&
        dues[at]?.update !== true &&
        (at < index || dues[at]?.removal !== true))
  )
  return isAlone ? "all" : undefined
}

/**
 * Whether removals are pending or new.
 *
 * @since 0.1.0
 */
export const isAnyGone = ({ subscriptions }: ServerStream, dues: ReadonlyArray<Due.Due>): boolean =>
  subscriptions.some(({ pendingRemovals }) => pendingRemovals.size > 0) ||
  dues.some(({ changes }) => changes.gone.size > 0)

/**
 * The next turn without removals: the first type after the round's place that has something to send.
 *
 * @since 0.1.0
 */
export const select = (
  self: ServerStream,
  dues: ReadonlyArray<Due.Due>,
  group: ResourceGroup,
  now: number
): Selection | undefined => {
  const isOpen = isRoundOpen(self, dues, now)
  const index = nextAt(self, dues, isOpen, now)
  const subscription = self.subscriptions[index]
  const due = dues[index]
  if (subscription === undefined || due === undefined) return undefined
  const updates = mayUpdate(subscription, due, isOpen, now)
  const removals = removalsAt(self, dues, index, subscription, due, updates, group, now)
  return { subscription, due, place: subscription.order, updates, removals: removals ?? "none" }
}

/**
 * The next turn with removals: as in {@link select}; then removals have their turns.
 *
 * @since 0.1.0
 */
export const selectWithRemovals = function* (
  self: ServerStream,
  found: Due.Found,
  dues: ReadonlyArray<Due.Due>,
  group: ResourceGroup,
  now: number
): Steps.Steps<Selection | undefined> {
  const { options, round, subscriptions } = self
  const { protocol } = options
  // ★ The client has a resource that it names until its removal, so what that refers to waits as long; but not again each time.
  const named = subscriptions.reduce(
    (soonest, each) => (isLate(each) ? Math.min(soonest, Due.nextRemovalAt(each, now)) : soonest),
    never
  )
  const held = named - options.phaseDeadline
  const removables: Array<ReadonlySet<string>> = []
  for (const [index, each] of subscriptions.entries()) {
    const changes = dues[index]?.changes ?? SubscriptionChanges.noChanges
    removables.push(yield* Due.removable(protocol, each, changes, group, now, isLate(each) ? never : held))
  }
  const last = subscriptions.findLastIndex((_, index) => (removables[index]?.size ?? 0) > 0)
  const selection = select(self, dues, group, now)
  if (selection !== undefined) {
    const index = subscriptions.indexOf(selection.subscription)
    const removals = removalsAt(self, dues, index, selection.subscription, selection.due, selection.updates, group, now)
    if (removals !== undefined) return selection
    // Due removals take their turns in reverse order; others belong to a correction.
    const due =
      last <= index
        ? removables[index]
        : yield* Due.removable(
            protocol,
            selection.subscription,
            selection.due.changes,
            group,
            Number.NEGATIVE_INFINITY,
            never
          )
    return { ...selection, removals: due ?? "none" }
  }
  const subscription = subscriptions[last]
  const due = dues[last]
  const removals = removables[last]
  if (subscription === undefined || due === undefined || removals === undefined) return undefined
  // A type that had its turn, or has changes or answers for the next round, sends its removals then.
  if (due.update || due.reply) return undefined
  if (round.turned.includes(subscription.typeUrl) || Due.isChanged(found, protocol, subscription, group))
    return undefined
  return { subscription, due, place: never, updates: true, removals }
}
