/**
 * Bytes that peers make a process hold, bounded over all of them: those who have held some for the longest time give way.
 *
 * @since 0.1.0
 */

/**
 * What each holder holds, of all together so many bytes at most.
 *
 * @since 0.1.0
 */
export class ByteBudget<A> {
  /** Who has held something for the longest time comes first. */
  readonly #holders = new Map<A, number>()
  #held = 0

  /**
   * @param limit bytes
   * @param evict has the holder give up what it holds, which it says with {@link set} or {@link delete}, now or soon. It must
   *   not throw.
   * @param onChange is told how many bytes more, or fewer, are held
   */
  constructor(
    private readonly limit: number,
    private readonly evict: (holder: A) => void,
    private readonly onChange: (bytes: number) => void = () => undefined
  ) {}

  /** Bytes that are held. */
  get held(): number {
    return this.#held
  }

  /** How many hold any. */
  get size(): number {
    return this.#holders.size
  }

  /** Says what somebody holds now. Whoever grows past the limit has the oldest go, and itself if there is nobody else. */
  set(holder: A, bytes: number): void {
    if (bytes === 0) return this.delete(holder)
    const change = bytes - (this.#holders.get(holder) ?? 0)
    if (change === 0) return
    this.#holders.set(holder, bytes)
    this.#held += change
    this.onChange(change)
    while (this.#held > this.limit) {
      const [oldest] = this.#holders.keys()
      if (oldest === undefined) return
      // It counts no longer, whatever it still does.
      this.delete(oldest)
      this.evict(oldest)
    }
  }

  delete(holder: A): void {
    const bytes = this.#holders.get(holder)
    if (bytes === undefined) return
    this.#holders.delete(holder)
    this.#held -= bytes
    this.onChange(-bytes)
  }
}
