/**
 * What a simulation ends with: its trace and verdict, or the reason why it did not end.
 *
 * @since 0.1.0
 */
import * as Traces from "../invariants/Trace.js"
import type { Trace } from "../invariants/Trace.js"
import * as Data from "effect/Data"

/**
 * The result of a run.
 *
 * @since 0.1.0
 */
export interface Run {
  readonly seed: number
  readonly trace: Trace
  /** Hash of the trace; see `Trace.hash`. */
  readonly hash: string
  /** The problems; empty if there are none. */
  readonly verdict: ReadonlyArray<Problem>
  /** Number of messages sent and received. */
  readonly messages: number
  /** Milliseconds of simulated time. */
  readonly duration: number
}

/**
 * A problem of a run.
 *
 * @since 0.1.0
 */
export interface Problem {
  /** The name of the invariant; `body`, `publisher` or `nothingLeft`. */
  readonly rule: string
  /** The sentence of the rule. */
  readonly sentence: string
  /** What breaks the rule. */
  readonly problem: string
}

/**
 * Error: a simulation that did not end. Its plan is invalid, or it never becomes quiet.
 *
 * @since 0.1.0
 */
export class SimulationError extends Data.TaggedError("SimulationError")<{
  /**
   * - `UnknownHost`: a step, fault or client names a client or server that does not exist; or a name occurs twice
   * - `EndlessFault`: a fault does not end within the limits
   * - `NeverQuiet`: messages continued after everything was over
   * - `TooLong`, `TooManySteps`, `Stuck`: see `SimulatedTime.SimulationAborted`
   * - `TooManyEvents`: the trace is full
   */
  readonly reason:
    "UnknownHost" | "EndlessFault" | "NeverQuiet" | "TooLong" | "TooManySteps" | "Stuck" | "TooManyEvents"
  readonly seed: number
  /** The problem, and what to do. */
  readonly detail: string
  /** The last events before the end. */
  readonly lastEvents: Trace
}> {
  override get message(): string {
    const events = this.lastEvents.length === 0 ? "" : `\nthe last events:\n${Traces.render(this.lastEvents)}`
    return `simulation with seed ${this.seed}: ${this.detail}${events}`
  }
}

/** @since 0.1.0 */
export const tail = (trace: Trace): Trace => trace.slice(-20)

/**
 * A verdict as text, one line per problem.
 *
 * @since 0.1.0
 */
export const formatVerdict = (verdict: ReadonlyArray<Problem>): string =>
  verdict.length === 0
    ? "all is well"
    : verdict.map(({ problem, rule, sentence }) => `${rule} (${sentence}): ${problem}`).join("\n")
