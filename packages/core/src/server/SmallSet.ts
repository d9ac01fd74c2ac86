/**
 * A set that is small most of the time: the streams that subscribe to one name. A `Set` of the platform takes several times as long to
 * make and to fill, and as much memory, for the few that most names have.
 *
 * @since 0.1.0
 */

/** Most items in an array, which is searched from its beginning. */
const mostFew = 16

/**
 * The set. It is mutable. It may be changed while `forEach` goes through it: an item that is removed meanwhile is not visited.
 *
 * @since 0.1.0
 */
export class SmallSet<A> {
  readonly #few: Array<A>
  #many: Set<A> | undefined

  /** @param first the only item */
  constructor(first: A) {
    this.#few = [first]
  }

  get size(): number {
    return this.#many?.size ?? this.#few.length
  }

  has(item: A): boolean {
    return this.#many?.has(item) ?? this.#few.includes(item)
  }

  add(item: A): void {
    if (this.#many !== undefined) this.#many.add(item)
    else if (this.#few.includes(item)) return
    else if (this.#few.length < mostFew) this.#few.push(item)
    else {
      this.#many = new Set(this.#few)
      this.#many.add(item)
      this.#few.length = 0
    }
  }

  /** Whether the item was there. */
  delete(item: A): boolean {
    if (this.#many !== undefined) return this.#many.delete(item)
    const place = this.#few.indexOf(item)
    if (place < 0) return false
    this.#few.splice(place, 1)
    return true
  }

  forEach(visit: (item: A) => void): void {
    if (this.#many !== undefined) return this.#many.forEach((item) => visit(item))
    for (const item of this.#few.slice()) if (this.has(item)) visit(item)
  }

  [Symbol.iterator](): Iterator<A> {
    return this.#many?.values() ?? this.#few.slice().values()
  }
}
