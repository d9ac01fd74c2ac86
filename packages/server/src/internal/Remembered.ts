/** Texts that were seen, the last ones of them: when there are too many, those that were not asked for in a while are forgotten. */
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
    // Half of them each: both together are at most as many as there may be.
    if (this.#young.size >= this.most / 2) {
      this.#old = this.#young
      this.#young = new Set()
    }
    if (this.most >= 2) this.#young.add(text)
  }

  /** Of both halves, for tests: one that is in both counts twice. */
  get size(): number {
    return this.#young.size + this.#old.size
  }
}
