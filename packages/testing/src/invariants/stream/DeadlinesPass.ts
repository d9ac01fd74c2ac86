/**
 * A deadline that was handled does not remain due.
 *
 * @since 0.1.0
 */
import { type Invariant, eachStep } from "./StreamInvariant.js"

/**
 * A deadline that was handled is over. Otherwise the driver would spin.
 *
 * @since 0.1.0
 */
export const deadlinesPass: Invariant = {
  sentence: "after a deadline was handled the next one lies in the future",
  check: (history) =>
    eachStep(history, (step) =>
      step.input._tag === "Deadline" && step.deadline <= step.now ? `the deadline is still ${step.deadline}` : undefined
    )
}
