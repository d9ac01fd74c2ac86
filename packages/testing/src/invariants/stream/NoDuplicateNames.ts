/**
 * ★ A name occurs once in a response.
 *
 * @since 0.1.0
 */
import { type Invariant, eachStep, sendsOf } from "./StreamInvariant.js"

/**
 * Clients reject responses with duplicate names. Envoy rejects the whole response.
 *
 * @since 0.1.0
 */
export const noDuplicateNames: Invariant = {
  sentence:
    "one name is once in a response: never in resources and removed_resources, never twice in either, by name or alias, openers included",
  check: (history) =>
    eachStep(history, (step) => {
      for (const { response } of sendsOf(step)) {
        const resources = [...response.resources, ...response.heartbeats]
        const names = [
          ...resources.flatMap(({ name }) => [name, ...(response.aliases.get(name) ?? [])]),
          // A resource without a body repeats its name as its alias.
          ...response.absent,
          ...response.removed
        ]
        if (new Set(names).size !== names.length) return `duplicate among ${names.join(", ")}`
      }
      return undefined
    })
}
