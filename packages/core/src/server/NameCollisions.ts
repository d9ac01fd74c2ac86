/**
 * Hash collisions of names. The maps of a stream search names of equal hash one by one, and the hash has no secret: a client
 * can choose 100 000 names with one hash, and a request with them would take minutes.
 *
 * @since 0.1.0
 */
import * as Hash from "effect/Hash"
import { atOnce, type Steps } from "../Steps.js"

/**
 * Most names with one hash. Among 100 000 names that were not chosen for it, hardly two collide.
 *
 * @since 0.1.0
 */
export const most = 64

/**
 * Up to this many names are not checked: even if all collide, they take a millisecond.
 *
 * @since 0.1.0
 */
export const few = 256

/**
 * Whether more than {@link most} different names have one hash.
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
