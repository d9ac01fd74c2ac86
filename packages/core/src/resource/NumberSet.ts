/**
 * A set of numbers of a `VersionDictionary`: what a client holds. A list as long as there are few, and a bit for each number
 * of the dictionary as soon as that takes less.
 *
 * @since 0.1.0
 */

/** From so many numbers on they may be bits. */
const leastBits = 256

/** With room for so many words, and more. */
const grown = (words: Uint32Array, least: number): Uint32Array<ArrayBuffer> => {
  const larger = new Uint32Array(Math.max(least, 2 * words.length))
  larger.set(words)
  return larger
}

/** @since 0.1.0 */
export class NumberSet {
  private words = new Uint32Array(16)
  private count = 0
  private areBits = false

  /** How many there are; in a list, one that was added twice is there twice. */
  get size(): number {
    return this.count
  }

  /** `size`: of the dictionary. */
  add(numbers: Uint32Array, size: number): void {
    if (!this.areBits) {
      const count = this.count + numbers.length
      if (count < leastBits || 32 * count < size) {
        if (count > this.words.length) this.words = grown(this.words, count)
        this.words.set(numbers, this.count)
        this.count = count
        return
      }
      const list = this.words.subarray(0, this.count)
      this.areBits = true
      this.count = 0
      this.words = new Uint32Array(Math.ceil(size / 32))
      this.set(list)
    }
    this.set(numbers)
  }

  private set(numbers: Uint32Array): void {
    let { count, words } = this
    for (const number of numbers) {
      const at = number >>> 5
      if (at >= words.length) words = grown(words, at + 1)
      const before = words[at] ?? 0
      const after = before | (1 << (number & 31))
      words[at] = after
      if (after >>> 0 !== before) count++
    }
    this.words = words
    this.count = count
  }

  forEach(visit: (number: number) => void): void {
    if (!this.areBits) return this.words.subarray(0, this.count).forEach((number) => visit(number))
    this.words.forEach((word, at) => {
      for (let left = word; left !== 0; left &= left - 1) visit(32 * at + 31 - Math.clz32(left & -left))
    })
  }

  /** All of them. */
  toArray(): Uint32Array {
    const numbers = new Uint32Array(this.count)
    let at = 0
    this.forEach((number) => {
      numbers[at++] = number
    })
    return numbers
  }

  /** Whether it is the same set; of equal lists in another order it is not seen. */
  equals(that: NumberSet): boolean {
    if (this.count !== that.count || this.areBits !== that.areBits) return false
    const length = this.areBits ? Math.max(this.words.length, that.words.length) : this.count
    for (let at = 0; at < length; at++) if ((this.words[at] ?? 0) !== (that.words[at] ?? 0)) return false
    return true
  }
}
