/** The numbers of an interner that one client's held versions have. */

/** From this many numbers a bitmap may be used. */
const leastBits = 256

const larger = (words: Uint32Array, least: number): Uint32Array<ArrayBuffer> => {
  const grown = new Uint32Array(Math.max(least, 2 * words.length))
  grown.set(words)
  return grown
}

/** The numbers of one client: a list, or a bitmap as soon as that takes less memory. */
export class Numbers {
  #words = new Uint32Array(16)
  #areBits = false
  #count = 0

  /** In a list, a number added twice counts twice. */
  get count(): number {
    return this.#count
  }

  /** `size`: of the interner. */
  add(numbers: Int32Array, size: number): void {
    if (this.#areBits) return this.#set(numbers)
    const count = this.#count + numbers.length
    if (count < leastBits || 32 * count < size) {
      if (count > this.#words.length) this.#words = larger(this.#words, count)
      this.#words.set(numbers, this.#count)
      this.#count = count
      return
    }
    const list = this.#words.subarray(0, this.#count)
    this.#areBits = true
    this.#count = 0
    this.#words = new Uint32Array(Math.ceil(size / 32))
    this.#set(list)
    this.#set(numbers)
  }

  #set(numbers: ArrayLike<number>): void {
    let words = this.#words
    let count = this.#count
    for (let index = 0; index < numbers.length; index++) {
      const number = numbers[index] ?? 0
      const at = number >>> 5
      if (at >= words.length) words = larger(words, at + 1)
      const before = words[at] ?? 0
      const after = (before | (1 << (number & 31))) >>> 0
      words[at] = after
      if (after !== before) count++
    }
    this.#words = words
    this.#count = count
  }

  *[Symbol.iterator](): IterableIterator<number> {
    if (!this.#areBits) yield* this.#words.subarray(0, this.#count)
    else
      for (const [at, word] of this.#words.entries())
        for (let left = word; left !== 0; left &= left - 1) yield 32 * at + 31 - Math.clz32(left & -left)
  }

  /** Whether two are equal. Equal lists in different order count as different. */
  equals(that: Numbers): boolean {
    if (this.#count !== that.#count || this.#areBits !== that.#areBits) return false
    const length = this.#areBits ? Math.max(this.#words.length, that.#words.length) : this.#count
    for (let at = 0; at < length; at++) if ((this.#words[at] ?? 0) !== (that.#words[at] ?? 0)) return false
    return true
  }
}
