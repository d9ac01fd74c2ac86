/**
 * A rule of one stream, the history that it is checked against, and the loop of a check.
 *
 * @since 0.1.0
 */
import type { Input, Options, Output, Status } from "@effect-xds/core/server/ServerStream"

/**
 * One step of a stream, seen from outside.
 *
 * @since 0.1.0
 */
export interface Step {
  /** Milliseconds. */
  readonly now: number
  readonly input: Input
  readonly outputs: ReadonlyArray<Output>
  /** After the step. */
  readonly status: ReadonlyArray<Status>
  /** After the step. */
  readonly deadline: number
}

/**
 * All steps of one stream, from its opening.
 *
 * @since 0.1.0
 */
export interface History {
  readonly options: Pick<Options, "protocol" | "typeUrl" | "wildcardOff" | "ttl" | "phaseDeadline">
  readonly steps: ReadonlyArray<Step>
}

/**
 * A rule and its check, which returns the problems in words; empty if the rule holds.
 *
 * @since 0.1.0
 */
export interface Invariant {
  readonly sentence: string
  readonly check: (history: History) => ReadonlyArray<string>
}

/**
 * An output that sends a response.
 *
 * @since 0.1.0
 */
export type Send = Extract<Output, { readonly _tag: "Send" }>

/**
 * The responses that a step sends.
 *
 * @since 0.1.0
 */
export const sendsOf = (step: Step): ReadonlyArray<Send> => step.outputs.filter((output) => output._tag === "Send")

/**
 * Whether an input changes the content of the stream's group.
 *
 * @since 0.1.0
 */
export const isChange = (input: Input): input is Extract<Input, { readonly _tag: "Changed" | "Advance" | "Moved" }> =>
  input._tag === "Changed" || input._tag === "Advance" || input._tag === "Moved"

/**
 * A problem with its step.
 *
 * @since 0.1.0
 */
export const atStep = (step: Step, index: number, problem: string): string =>
  `step ${index} (${step.input._tag} at ${step.now}): ${problem}`

/**
 * Runs a check for each step. A returned text is a problem.
 *
 * @since 0.1.0
 */
export const eachStep = (
  history: History,
  check: (step: Step, index: number) => string | undefined
): ReadonlyArray<string> =>
  history.steps.flatMap((step, index) => {
    const problem = check(step, index)
    return problem === undefined ? [] : [atStep(step, index, problem)]
  })
