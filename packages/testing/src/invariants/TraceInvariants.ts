/**
 * The invariants of every trace of servers and clients. Each is a file in `trace/`, with the sentence that it stands for.
 *
 * @since 0.1.0
 */
import { acknowledgesWhatWasSent } from "./trace/AcknowledgesWhatWasSent.js"
import { assignmentsFollowClusters } from "./trace/AssignmentsFollowClusters.js"
import { doesNotExistAfterFullTimer } from "./trace/DoesNotExistAfterTimer.js"
import { endsDelivered } from "./trace/EndsDelivered.js"
import { nackCausesNoResend } from "./trace/NackCausesNoResend.js"
import { nackKeepsTheVersion } from "./trace/NackKeepsTheVersion.js"
import { nothingTwice } from "./trace/NothingTwice.js"
import { phasesWait } from "./trace/PhasesWait.js"
import { replacementsFirst } from "./trace/ReplacementsFirst.js"
import { sameForAll } from "./trace/SameForAll.js"
import {
  noncesAreNew,
  noDuplicateNames,
  neverSetIsNeverAnswered,
  onlyWhatWasAskedFor,
  nothingWithoutReason,
  typesInOrder,
  nothingStarves,
  heartbeatsAreHeld
} from "./trace/StreamRules.js"
import type { TraceInvariant } from "./trace/TraceInvariant.js"
import { versionsNeverGoBack } from "./trace/VersionsNeverGoBack.js"

/**
 * Every invariant of a trace.
 *
 * @since 0.1.0
 */
export const all: Readonly<Record<string, TraceInvariant>> = {
  acknowledgesWhatWasSent,
  nackKeepsTheVersion,
  nackCausesNoResend,
  endsDelivered,
  sameForAll,
  replacementsFirst,
  doesNotExistAfterFullTimer,
  versionsNeverGoBack,
  nothingTwice,
  assignmentsFollowClusters,
  noncesAreNew,
  noDuplicateNames,
  neverSetIsNeverAnswered,
  onlyWhatWasAskedFor,
  nothingWithoutReason,
  typesInOrder,
  nothingStarves,
  heartbeatsAreHeld,
  phasesWait
}

export { type TraceInvariant } from "./trace/TraceInvariant.js"

export * from "./trace/AcknowledgesWhatWasSent.js"
export * from "./trace/NackKeepsTheVersion.js"
export * from "./trace/NackCausesNoResend.js"
export * from "./trace/EndsDelivered.js"
export * from "./trace/SameForAll.js"
export * from "./trace/ReplacementsFirst.js"
export * from "./trace/VersionsNeverGoBack.js"
export * from "./trace/NothingTwice.js"
export * from "./trace/AssignmentsFollowClusters.js"
export * from "./trace/PhasesWait.js"
export * from "./trace/DoesNotExistAfterTimer.js"

export {
  ofStreams,
  noncesAreNew,
  noDuplicateNames,
  neverSetIsNeverAnswered,
  onlyWhatWasAskedFor,
  nothingWithoutReason,
  typesInOrder,
  nothingStarves,
  heartbeatsAreHeld
} from "./trace/StreamRules.js"
