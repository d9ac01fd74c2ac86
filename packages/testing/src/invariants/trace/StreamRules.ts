/**
 * The rules of one stream, checked for each stream of a trace.
 *
 * @since 0.1.0
 */
import * as Invariants from "../Invariants.js"
import type { Invariant } from "../Invariants.js"
import * as StreamHistory from "../StreamHistory.js"
import type { Trace } from "../Trace.js"
import type { TraceInvariant } from "./TraceInvariant.js"

/** Cache: the histories of a trace are the same for every rule. */
const histories = new WeakMap<Trace, ReadonlyArray<StreamHistory.StreamHistory>>()

const historiesOf = (trace: Trace): ReadonlyArray<StreamHistory.StreamHistory> => {
  const known = histories.get(trace)
  if (known !== undefined) return known
  const made = StreamHistory.ofTrace(trace)
  histories.set(trace, made)
  return made
}

/**
 * An invariant of streams as one of traces, checked for each stream. Assumes servers with default deadlines and wildcards. A
 * trace has no credit, and not the server's view of its clients.
 *
 * @since 0.1.0
 */
export const ofStreams = ({ check, sentence }: Invariant): TraceInvariant => ({
  sentence,
  check: (trace) =>
    historiesOf(trace).flatMap(({ history, stream }) =>
      check(history).map((problem) => `stream ${stream.id}: ${problem}`)
    )
})

/**
 * Nonces distinguish the responses of a stream.
 *
 * @since 0.1.0
 */
export const noncesAreNew: TraceInvariant = ofStreams(Invariants.noncesAreNew)

/**
 * Clients reject responses with duplicate names.
 *
 * @since 0.1.0
 */
export const noDuplicateNames: TraceInvariant = ofStreams(Invariants.noDuplicateNames)

/**
 * A group that was never set is not an empty group.
 *
 * @since 0.1.0
 */
export const neverSetIsNeverAnswered: TraceInvariant = ofStreams(Invariants.neverSetIsNeverAnswered)

/**
 * A client gets nothing that it did not request.
 *
 * @since 0.1.0
 */
export const onlyWhatWasAskedFor: TraceInvariant = ofStreams(Invariants.onlyWhatWasAskedFor)

/**
 * A response has a cause: a request or a change. A NACK is no cause.
 *
 * @since 0.1.0
 */
export const nothingWithoutReason: TraceInvariant = ofStreams(Invariants.nothingWithoutReason)

/**
 * Make before break, on aggregated streams.
 *
 * @since 0.1.0
 */
export const typesInOrder: TraceInvariant = ofStreams({
  sentence: Invariants.typesInOrder.sentence,
  check: (history) => Invariants.typesInOrder.check(untilCleared(history))
})

/**
 * A history up to the time when its group was cleared. After that nothing of the former group is known.
 *
 * @since 0.1.0
 */
export const untilCleared = ({ options, steps }: Invariants.History): Invariants.History => {
  const isSet = ({ input }: Invariants.Step) => Invariants.isChange(input) && input.group !== undefined
  const isCleared = ({ input }: Invariants.Step) => Invariants.isChange(input) && input.group === undefined
  const first = steps.findIndex(isSet)
  const end = steps.findIndex((step, index) => first >= 0 && index > first && isCleared(step))
  return end < 0 ? { options, steps } : { options, steps: steps.slice(0, end) }
}

/**
 * Fairness, on aggregated streams.
 *
 * @since 0.1.0
 */
export const nothingStarves: TraceInvariant = ofStreams({
  sentence: Invariants.nothingStarves.sentence,
  check: (history) => Invariants.nothingStarves.check(untilCleared(history))
})

/**
 * A client rejects the heartbeat of a resource that it does not hold.
 *
 * @since 0.1.0
 */
export const heartbeatsAreHeld: TraceInvariant = ofStreams({
  sentence: Invariants.heartbeatsAreHeld.sentence,
  check: (history) => Invariants.heartbeatsAreHeld.check(untilCleared(history))
})
