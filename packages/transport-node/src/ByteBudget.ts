/**
 * Bytes that clients make a process hold before, or beside what, they are served: requests that are not complete or wait to be
 * read, clients whose group is not known yet, sessions between two polls. They are bounded over all clients together: those that
 * are idle give way first, then those that have held something for the longest time.
 *
 * @since 0.1.0
 */
import * as TransportMetrics from "@effect-xds/transport/TransportMetrics"

/**
 * Bytes that each part of a server lets clients hold, unless an option says otherwise.
 *
 * @since 0.1.0
 */
export const defaultLimit = 256 * 1024 * 1024

/**
 * Who holds bytes.
 *
 * @since 0.1.0
 */
export interface Holder {
  /**
   * Has it give up what it holds, now or soon. It counts no longer. Must not throw.
   */
  readonly evict: () => void
}

/**
 * What each holder holds, of all together so many bytes at most. Told by {@link TransportMetrics.clientBytes}.
 *
 * @since 0.1.0
 */
export class ByteBudget {
  /** Oldest first. */
  readonly #idle = new Map<Holder, number>()
  readonly #busy = new Map<Holder, number>()
  #held = 0
  /** Made once: a metric with its tag costs more than all the rest here. */
  readonly #bytes: ReturnType<typeof TransportMetrics.clientBytes>

  /**
   * @param limit bytes
   * @param kind of what, for the metrics: `REST sessions`
   */
  constructor(
    private readonly limit: number,
    private readonly kind: string
  ) {
    this.#bytes = TransportMetrics.clientBytes(kind)
  }

  /** Bytes that are held. */
  get held(): number {
    return this.#held
  }

  /** How many hold any. */
  get size(): number {
    return this.#idle.size + this.#busy.size
  }

  /** Whether there is room for so many more, without anybody giving way. */
  hasRoom(bytes: number): boolean {
    return this.#held + bytes <= this.limit
  }

  /** Says what somebody holds now. Whoever grows past the limit has others go, and itself if there is nobody else. */
  set(holder: Holder, bytes: number): void {
    if (bytes === 0) return this.delete(holder)
    const holders = this.#idle.has(holder) ? this.#idle : this.#busy
    const change = bytes - (holders.get(holder) ?? 0)
    if (change === 0) return
    holders.set(holder, bytes)
    this.#count(change)
    while (this.#held > this.limit) {
      const [oldest] = this.#idle.size > 0 ? this.#idle.keys() : this.#busy.keys()
      if (oldest === undefined) return
      this.delete(oldest)
      TransportMetrics.evictions(this.kind).unsafeUpdate(1, [])
      oldest.evict()
    }
  }

  /** Nothing is under way for it from now on, or something is: it is the youngest of its kind then. */
  setIdle(holder: Holder, isIdle: boolean): void {
    const bytes = this.#idle.get(holder) ?? this.#busy.get(holder)
    if (bytes === undefined) return
    this.#idle.delete(holder)
    this.#busy.delete(holder)
    if (isIdle) this.#idle.set(holder, bytes)
    else this.#busy.set(holder, bytes)
  }

  delete(holder: Holder): void {
    const bytes = this.#idle.get(holder) ?? this.#busy.get(holder)
    if (bytes === undefined) return
    this.#idle.delete(holder)
    this.#busy.delete(holder)
    this.#count(-bytes)
  }

  #count(change: number): void {
    this.#held += change
    this.#bytes.unsafeModify(change, [])
  }
}
