/**
 * Credit is for one response.
 *
 * @since 0.1.0
 */
import { type Invariant, eachStep, sendsOf } from "./StreamInvariant.js"

/**
 * Each credit allows one response.
 *
 * @since 0.1.0
 */
export const oneResponsePerCredit: Invariant = {
  sentence: "there is at most one response per credit, and one per step",
  check: (history) => {
    let credit = false
    return eachStep(history, (step) => {
      if (step.input._tag === "Writable") credit = true
      const sends = sendsOf(step)
      if (sends.length === 0) return undefined
      if (sends.length > 1) return `${sends.length} responses`
      if (!credit) return "a response without credit"
      credit = false
      return undefined
    })
  }
}
