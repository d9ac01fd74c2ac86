/**
 * ★ A NACK keeps the accepted version.
 *
 * @since 0.1.0
 */
import { type Invariant, eachStep } from "./StreamInvariant.js"

/**
 * A NACK does not change the version that counts as accepted.
 *
 * @since 0.1.0
 */
export const nackKeepsTheVersion: Invariant = {
  sentence: "a NACK never advances the accepted version",
  check: (history) => {
    let accepted = new Map<string, string | undefined>()
    return eachStep(history, (step) => {
      const before = accepted
      accepted = new Map(step.status.map((each) => [each.typeUrl, each.acked?.nonce]))
      if (step.input._tag !== "Request" || step.input.request.errorDetail === undefined) return undefined
      const { typeUrl } = step.input.request
      return accepted.get(typeUrl) === before.get(typeUrl) ? undefined : `the NACK counted as an ACK`
    })
  }
}
