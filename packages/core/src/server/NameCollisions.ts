/**
 * Hash collisions of names. The maps of a stream search names of equal hash one by one, and the hash has no secret: a client
 * can choose 100 000 names with one hash, and a request with them would take minutes.
 *
 * ★ The names of virtual hosts are not the client's choice, but that of whoever sends it requests (VHDS). So they do not end the
 * stream, which has all the rest, too: what is too much of them is answered as missing, and not remembered. The names that the group
 * has are always served.
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
  return (yield* surplus(names, 1)).size > 0
}

/**
 * The names that are too many: different ones with the hash of {@link most} names before them.
 *
 * @param enough how many are searched for
 * @param isServed whether a name does not count
 * @since 0.1.0
 */
export const surplus = function* (
  names: Iterable<string>,
  enough = Number.POSITIVE_INFINITY,
  isServed?: (name: string) => boolean
): Steps<ReadonlySet<string>> {
  const found = new Set<string>()
  const first = new Map<number, string>()
  const alike = new Map<number, Set<string>>()
  let count = 0
  for (const name of names) {
    if (++count % atOnce === 0) yield
    const hash = Hash.string(name)
    const known = first.get(hash)
    if (known === undefined) first.set(hash, name)
    else if (known !== name && isServed?.(name) !== true) {
      const others = alike.get(hash) ?? new Set([known])
      if (others.size < most) alike.set(hash, others.add(name))
      else if (!others.has(name)) found.add(name)
      if (found.size >= enough) return found
    }
  }
  return found
}
