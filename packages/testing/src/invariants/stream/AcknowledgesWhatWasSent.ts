/**
 * ★ ACK and NACK name a nonce that was sent.
 *
 * @since 0.1.0
 */
import { type Invariant, eachStep } from "./StreamInvariant.js"

/**
 * An ACK or NACK that counts has a nonce that was sent for its type.
 *
 * @since 0.1.0
 */
export const acknowledgesWhatWasSent: Invariant = {
  sentence: "an ACK or NACK names a nonce that was sent on this stream for this type",
  check: (history) => {
    const sent = new Set<string>()
    return eachStep(history, (step) => {
      let problem: string | undefined
      for (const output of step.outputs) {
        if (output._tag === "Send") sent.add(`${output.typeUrl} ${output.nonce}`)
        else if (
          (output._tag === "Acked" || output._tag === "Nacked") &&
          !sent.has(`${output.typeUrl} ${output.nonce}`)
        ) {
          problem = `${output._tag} of nonce ${output.nonce}, which was not sent`
        }
      }
      return problem
    })
  }
}
