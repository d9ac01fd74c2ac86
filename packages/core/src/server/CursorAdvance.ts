/**
 * Brings a subscription up to a set without a response.
 *
 * @since 0.1.0
 */
import type * as ResourceSet from "../resource/ResourceSet.js"
import type * as Steps from "../Steps.js"
import { isRejected } from "./Acknowledgement.js"
import { holdAgain, release } from "./HeldNames.js"
import { withoutMany, leaving } from "./PendingRemovals.js"
import { type Subscription, type Draft, draft } from "./Subscription.js"
import type { Changes } from "./SubscriptionChanges.js"
import type { NameTable } from "./NameTable.js"

/**
 * Brings a subscription up to a set without a response, if resources were only removed, or came back unchanged. Removals become
 * pending, unless removals of the type are never sent (`silent`).
 *
 * @since 0.1.0
 */
export const advance = function* (
  self: Subscription,
  set: ResourceSet.ResourceSet,
  changes: Changes,
  silent: boolean
): Steps.Steps<Draft> {
  let { pendingRemovals, names } = self
  if (changes.returned.length > 0) {
    if (names.size > 0) names = yield* holdAgain(names, changes.returned, pendingRemovals)
    pendingRemovals = yield* withoutMany(pendingRemovals, changes.returned)
  }
  if (changes.gone.size > 0) {
    if (!silent) pendingRemovals = yield* leaving(pendingRemovals, self.sent, changes.gone)
    if (names.size > 0) names = yield* release(names, changes.gone.keys())
  }
  return advanced(self, set, { pendingRemovals, names }, silent)
}

/**
 * {@link advance} with the pending removals and held names after it.
 *
 * @since 0.1.0
 */
export const advanced = (
  self: Subscription,
  set: ResourceSet.ResourceSet,
  { pendingRemovals, names }: Pick<Subscription, "pendingRemovals" | "names">,
  silent: boolean
): Draft => {
  const next = draft(self)
  next.cursor = set.cursor
  next.pendingRemovals = pendingRemovals
  next.names = names
  // ★ With silent removals, a NACKed response may be corrected without a new one. Then nothing waits for its ACK.
  if (silent && isRejected(self) && !holdsRejected(self, names)) next.unackedUpdate = undefined
  return next
}

/** Whether the client holds content that it did not accept. */
const holdsRejected = ({ beforeRejection }: Subscription, names: NameTable<string>): boolean => {
  if (beforeRejection === undefined) return false
  for (const [name, fingerprint] of names) {
    if (fingerprint !== "" && beforeRejection.before.get(name) !== fingerprint) return true
  }
  return false
}
