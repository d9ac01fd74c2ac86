/**
 * ★ A group that was never set is not answered.
 *
 * @since 0.1.0
 */
import { type Invariant, eachStep, isChange, sendsOf } from "./StreamInvariant.js"

/**
 * A group that was never set is not an empty group.
 *
 * @since 0.1.0
 */
export const neverSetIsNeverAnswered: Invariant = {
  sentence: "nothing is sent for a group that was never set",
  check: (history) => {
    let isSet = false
    return eachStep(history, (step) => {
      if (isChange(step.input)) isSet = step.input.group !== undefined
      return !isSet && sendsOf(step).length > 0 ? "a response although the group was never set" : undefined
    })
  }
}
