/**
 * Every response has a nonce of its own.
 *
 * @since 0.1.0
 */
import { type Invariant, eachStep, sendsOf } from "./StreamInvariant.js"

/**
 * Nonces distinguish the responses of a stream.
 *
 * @since 0.1.0
 */
export const noncesAreNew: Invariant = {
  sentence: "every response of a stream has a nonce of its own",
  check: (history) => {
    const seen = new Set<string>([""])
    return eachStep(history, (step) => {
      for (const { nonce } of sendsOf(step)) {
        if (seen.has(nonce)) return `nonce ${JSON.stringify(nonce)} is used again or empty`
        seen.add(nonce)
      }
      return undefined
    })
  }
}
