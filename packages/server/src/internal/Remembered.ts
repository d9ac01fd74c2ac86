/** A bounded set of recent texts. When it is full, the ones that were not used recently are dropped. */
export class Remembered {
  #young = new Set<string>()
  #old = new Set<string>()

  constructor(private readonly most: number) {}

  has(text: string): boolean {
    if (this.#young.has(text)) return true
    if (!this.#old.has(text)) return false
    this.add(text)
    return true
  }

  add(text: string): void {
    // Two halves of at most half the limit each.
    if (this.#young.size >= this.most / 2) {
      this.#old = this.#young
      this.#young = new Set()
    }
    if (this.most >= 2) this.#young.add(text)
  }

  /** The size of both halves, for tests: a text in both counts twice. */
  get size(): number {
    return this.#young.size + this.#old.size
  }
}
