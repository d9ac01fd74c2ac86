/**
 * A set of items that have an order, and the first of them. After a change they are known at once, so that a list of what is broken
 * costs what it lists: to sort all of ten thousand after each of 50 changes a second took half of a server's CPU.
 */
export interface Ordered {
  /** No two items of a set have the same, but for one that takes the place of another. */
  readonly order: number
}

/** As many of the first are known. */
const known = 512

/** Items that are looked at before other work may go on. */
const atOnce = 512

export class FirstInOrder<A extends Ordered> {
  readonly #items = new Set<A>()
  /** The first, in order. */
  #first: Array<A> = []
  /** Whether there are no others. */
  #isAll = true

  get size(): number {
    return this.#items.size
  }

  add(item: A): void {
    if (this.#items.has(item)) return
    this.#items.add(item)
    const first = this.#first
    const place = placeOf(first, item)
    // Others that are not known may come before it.
    if (place === first.length && !this.#isAll) return
    first.splice(place, 0, item)
    if (first.length <= known) return
    first.pop()
    this.#isAll = false
  }

  delete(item: A): void {
    if (!this.#items.delete(item)) return
    const place = placeOf(this.#first, item)
    if (this.#first[place] === item) this.#first.splice(place, 1)
  }

  /** So many of the first, in order, or all. Nothing may be added or deleted before it has come to its end. */
  *first(most: number): Generator<undefined, ReadonlyArray<A>> {
    if (most > known) return yield* this.#find(most)
    if (!this.#isAll && this.#first.length < most) {
      this.#first = yield* this.#find(known)
      this.#isAll = this.#first.length === this.#items.size
    }
    return this.#first.slice(0, most)
  }

  *#find(most: number): Generator<undefined, Array<A>> {
    const found: Array<A> = []
    let looked = 0
    for (const item of this.#items) {
      if (++looked % atOnce === 0) yield
      const place = placeOf(found, item)
      if (place === most) continue
      found.splice(place, 0, item)
      if (found.length > most) found.pop()
    }
    return found
  }
}

/** Where an item is, or would be. */
const placeOf = (items: ReadonlyArray<Ordered>, { order }: Ordered): number => {
  let low = 0
  let high = items.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((items[middle]?.order ?? Number.POSITIVE_INFINITY) < order) low = middle + 1
    else high = middle
  }
  return low
}
