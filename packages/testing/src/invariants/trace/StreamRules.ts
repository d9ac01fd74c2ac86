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

/** The histories of a trace are the same for every rule. */
const histories = new WeakMap<Trace, ReadonlyArray<StreamHistory.StreamHistory>>()

const historiesOf = (trace: Trace): ReadonlyArray<StreamHistory.StreamHistory> => {
  const known = histories.get(trace)
  if (known !== undefined) return known
  const made = StreamHistory.ofTrace(trace)
  histories.set(trace, made)
  return made
}

/**
 * What must hold of every stream of a server, for each stream of a trace. Servers are taken to have the default options
 * for deadlines and wildcards; credit and what a server thinks of its clients are not in a trace.
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
 * Nonces tell the responses of a stream apart.
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
 * A group that was never set is no empty group.
 *
 * @since 0.1.0
 */
export const neverSetIsNeverAnswered: TraceInvariant = ofStreams(Invariants.neverSetIsNeverAnswered)

/**
 * Nobody is sent what was not asked for.
 *
 * @since 0.1.0
 */
export const onlyWhatWasAskedFor: TraceInvariant = ofStreams(Invariants.onlyWhatWasAskedFor)

/**
 * A response is sent because the client asked or because something changed; a NACK is no reason.
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
 * A history up to the moment when its group was cleared: of what was before nothing is known then, and nothing kept.
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
 * A client rejects the heartbeat of what it does not hold.
 *
 * @since 0.1.0
 */
export const heartbeatsAreHeld: TraceInvariant = ofStreams({
  sentence: Invariants.heartbeatsAreHeld.sentence,
  check: (history) => Invariants.heartbeatsAreHeld.check(untilCleared(history))
})
