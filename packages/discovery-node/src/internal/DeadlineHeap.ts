/** Deadlines, the first one first. A deadline that changes is moved, so there is one for each that has one. */

/** Whose deadline it is. */
export interface Timed {
  at: number
  /** Its place in the heap; -1: it is not in it. */
  place: number
}

export class DeadlineHeap<A extends Timed> {
  private readonly items: Array<A> = []

  /** How many have one. */
  get size(): number {
    return this.items.length
  }

  /** When the first one is; Infinity if there is none. */
  get next(): number {
    return this.items[0]?.at ?? Number.POSITIVE_INFINITY
  }

  /** Sets a deadline, moves it, or with Infinity takes it away. */
  set(item: A, at: number): void {
    const before = item.at
    item.at = at
    if (at === Number.POSITIVE_INFINITY) {
      this.remove(item)
      return
    }
    if (item.place < 0) {
      this.put(item, this.items.length)
      this.rise(item)
    } else if (at < before) this.rise(item)
    else this.sink(item)
  }

  /** The first one, if it has come. It stays until it is set anew. */
  due(now: number): A | undefined {
    const [first] = this.items
    return first !== undefined && first.at <= now ? first : undefined
  }

  private remove(item: A): void {
    const { place } = item
    if (place < 0) return
    item.place = -1
    const last = this.items.pop()
    if (last === undefined || last === item) return
    this.put(last, place)
    this.rise(last)
    this.sink(last)
  }

  private put(item: A, place: number): void {
    this.items[place] = item
    item.place = place
  }

  private rise(item: A): void {
    let { place } = item
    while (place > 0) {
      const above = (place - 1) >> 1
      const parent = this.items[above]
      if (parent === undefined || parent.at <= item.at) break
      this.put(parent, place)
      place = above
    }
    this.put(item, place)
  }

  private sink(item: A): void {
    let { place } = item
    for (;;) {
      const [left, right] = [this.items[2 * place + 1], this.items[2 * place + 2]]
      const child = right !== undefined && left !== undefined && right.at < left.at ? right : left
      if (child === undefined || child.at >= item.at) break
      const below = child.place
      this.put(child, place)
      place = below
    }
    this.put(item, place)
  }
}
