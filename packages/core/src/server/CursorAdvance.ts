/**
 * A subscription brought up to a set without a response.
 *
 * @since 0.1.0
 */
import type * as Steps from "../Steps.js"
import type * as ResourceSet from "../resource/ResourceSet.js"
import { isRejected } from "./Acknowledgement.js"
import { holdAgain, release } from "./HeldNames.js"
import { withoutMany, leaving } from "./PendingRemovals.js"
import { type Subscription, type Draft, draft } from "./Subscription.js"
import type { Changes } from "./SubscriptionChanges.js"
import * as HashMap from "effect/HashMap"
import * as Option from "effect/Option"

/**
 * Brings a subscription up to a set without sending anything, if all that happened is that resources went or came back
 * unchanged. What went lingers until deletions go out, unless deletions of the type are never told (`silent`).
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
    if (!HashMap.isEmpty(names)) names = yield* holdAgain(names, changes.returned, pendingRemovals)
    pendingRemovals = yield* withoutMany(pendingRemovals, changes.returned)
  }
  if (changes.gone.size > 0) {
    if (!silent) pendingRemovals = yield* leaving(pendingRemovals, self.sent, changes.gone)
    if (!HashMap.isEmpty(names)) names = yield* release(names, changes.gone.keys())
  }
  return advanced(self, set, { pendingRemovals, names }, silent)
}

/**
 * The same where it is known what lingers then, and what is held under the names.
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
  // ★ Where deletions are silent, what was rejected may be corrected without a response: nothing is waited for then.
  if (silent && isRejected(self) && !isDoubtful(self, names)) next.unackedUpdate = undefined
  return next
}

/** Whether something is held that the client did not accept. */
const isDoubtful = ({ beforeRejection }: Subscription, names: HashMap.HashMap<string, string>): boolean => {
  if (beforeRejection === undefined) return false
  for (const [name, fingerprint] of names) {
    if (fingerprint !== "" && !Option.contains(HashMap.get(beforeRejection.before, name), fingerprint)) return true
  }
  return false
}
