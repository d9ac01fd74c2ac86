/**
 * Names of one hash. The maps of a stream look at each of those in turn, and the hash has no secret: a client can choose a hundred
 * thousand names that have the same, and one request with them would take minutes.
 *
 * @since 0.1.0
 */
import * as Hash from "effect/Hash"
import { atOnce, type Steps } from "../Steps.js"

/**
 * Names of one hash that are not too many. Of a hundred thousand names that nobody chose for their hash hardly any two have the same.
 *
 * @since 0.1.0
 */
export const most = 64

/**
 * So few names may all have one hash: they take a millisecond.
 *
 * @since 0.1.0
 */
export const few = 256

/**
 * Whether more than {@link most} of these have one hash. A name that is there again is the same one.
 *
 * @since 0.1.0
 */
export const areMany = function* (names: Iterable<string>): Steps<boolean> {
  const first = new Map<number, string>()
  const alike = new Map<number, Set<string>>()
  let count = 0
  for (const name of names) {
    if (++count % atOnce === 0) yield
    const hash = Hash.string(name)
    const known = first.get(hash)
    if (known === undefined) first.set(hash, name)
    else if (known !== name) {
      const others = alike.get(hash) ?? new Set([known])
      alike.set(hash, others.add(name))
      if (others.size > most) return true
    }
  }
  return false
}
