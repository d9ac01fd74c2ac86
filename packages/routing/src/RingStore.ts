/**
 * Rings that were made: equal ones are made once, whichever policies and channels of a process ask for them. Owned by who
 * makes the calls, like {@link CallCounters}; what it gives is what {@link Ring.make} gives, so reducers stay pure.
 *
 * @since 0.1.0
 */
import type { Ring } from "./Picker.js"
import type { Member } from "./Ring.js"
import * as Rings from "./Ring.js"

/**
 * Rings by what they are made of.
 *
 * @since 0.1.0
 */
export class RingStore {
  private readonly rings = new Map<string, Ring>()
  private readonly maxRings: number

  /** `maxRings`: how many are kept, of at most 48 KB each; those asked for last. Default: 100. */
  constructor({ maxRings = 100 }: { readonly maxRings?: number | undefined } = {}) {
    // With NaN none would ever be given up.
    if (!(maxRings >= 0)) throw new RangeError(`maxRings must be 0 or more, not ${maxRings}`)
    this.maxRings = maxRings
  }

  /** The ring of these endpoints, in this order, and of these sizes: see {@link Rings.make}. */
  readonly make = (members: ReadonlyArray<Member>, minSize: number, maxSize: number): Ring => {
    const key = JSON.stringify([minSize, maxSize, members.map(({ key, weight }) => [key, weight])])
    const ring = this.rings.get(key) ?? Rings.make(members, minSize, maxSize)
    this.rings.delete(key)
    this.rings.set(key, ring)
    for (const oldest of this.rings.keys()) {
      if (this.rings.size <= this.maxRings) break
      this.rings.delete(oldest)
    }
    return ring
  }
}
