/**
 * The invariants of every stream at every step. Each is a file in `stream/`, with the sentence that it stands for.
 *
 * @since 0.1.0
 */
import { isSame } from "@effect-xds/core/resource/Cursor"
import * as Difference from "@effect-xds/core/resource/Difference"
import * as ResourceGroups from "@effect-xds/core/resource/ResourceGroup"
import type { ResourceGroup } from "@effect-xds/core/resource/ResourceGroup"
import type { Interest } from "@effect-xds/core/server/ServerStream"
import { acknowledgesWhatWasSent } from "./stream/AcknowledgesWhatWasSent.js"
import { deadlinesPass } from "./stream/DeadlinesPass.js"
import { heartbeatsAreHeld } from "./stream/HeartbeatsAreHeld.js"
import { nackKeepsTheVersion } from "./stream/NackKeepsTheVersion.js"
import { neverSetIsNeverAnswered } from "./stream/NeverSetIsNeverAnswered.js"
import { noDuplicateNames } from "./stream/NoDuplicateNames.js"
import { noncesAreNew } from "./stream/NoncesAreNew.js"
import { nothingStarves } from "./stream/NothingStarves.js"
import { nothingWithoutReason } from "./stream/NothingWithoutReason.js"
import { oneResponsePerCredit } from "./stream/OneResponsePerCredit.js"
import { onlyWhatWasAskedFor } from "./stream/OnlyWhatWasAskedFor.js"
import type { History, Invariant } from "./stream/StreamInvariant.js"
import { ttlsAreRenewed } from "./stream/TtlsAreRenewed.js"
import { typesInOrder } from "./stream/TypesInOrder.js"
import { type Follower, isFollowing, follow } from "./stream/Walk.js"

/**
 * Whether a change concerns none of these interests. Servers use an index for this, because they have many streams.
 *
 * @since 0.1.0
 */
export const isUnaffected = (
  interests: ReadonlyArray<Interest>,
  before: ResourceGroup,
  after: ResourceGroup
): boolean =>
  interests.every(({ everything, names, typeUrl }) => {
    const { cursor } = ResourceGroups.set(before, typeUrl)
    const set = ResourceGroups.set(after, typeUrl)
    if (isSame(cursor, set.cursor)) return true
    const difference = Difference.of(set, cursor)
    return !everything && Array.from(names.keys()).every((name) => !Difference.concerns(difference, name))
  })

/**
 * Every invariant of a stream.
 *
 * @since 0.1.0
 */
export const all: Readonly<Record<string, Invariant>> = {
  acknowledgesWhatWasSent,
  nackKeepsTheVersion,
  oneResponsePerCredit,
  neverSetIsNeverAnswered,
  noDuplicateNames,
  noncesAreNew,
  onlyWhatWasAskedFor,
  nothingWithoutReason,
  typesInOrder,
  nothingStarves,
  deadlinesPass,
  heartbeatsAreHeld,
  ttlsAreRenewed
}

/**
 * The problems of a history, in words, for all invariants except some; empty if it is correct.
 *
 * @since 0.1.0
 */
export const broken = (history: History, except: ReadonlyArray<Invariant> = []): ReadonlyArray<string> => {
  const kept = Object.entries(all).filter(([, invariant]) => !except.includes(invariant))
  // The walk is most of the work, so invariants share it.
  const followers = new Map<Invariant, Follower>()
  for (const [, invariant] of kept) {
    const follower = isFollowing(invariant) ? invariant.follow(history) : undefined
    if (follower !== undefined) followers.set(invariant, follower)
  }
  const found = follow(history, Array.from(followers.values()))
  const problems = new Map(Array.from(followers.keys(), (invariant, index) => [invariant, found[index] ?? []]))
  return kept.flatMap(([name, invariant]) => {
    const all = isFollowing(invariant) ? (problems.get(invariant) ?? []) : invariant.check(history)
    return all.map((problem) => `${name} (${invariant.sentence}): ${problem}`)
  })
}

export { isChange, type History, type Invariant, type Step } from "./stream/StreamInvariant.js"

export * from "./stream/AcknowledgesWhatWasSent.js"
export * from "./stream/NackKeepsTheVersion.js"
export * from "./stream/OneResponsePerCredit.js"
export * from "./stream/NeverSetIsNeverAnswered.js"
export * from "./stream/NoDuplicateNames.js"
export * from "./stream/NoncesAreNew.js"
export * from "./stream/OnlyWhatWasAskedFor.js"
export * from "./stream/NothingWithoutReason.js"
export * from "./stream/TypesInOrder.js"
export * from "./stream/NothingStarves.js"
export * from "./stream/DeadlinesPass.js"
export * from "./stream/HeartbeatsAreHeld.js"
export * from "./stream/TtlsAreRenewed.js"
export * from "./stream/Unfinished.js"
export * from "./stream/Disagreements.js"
