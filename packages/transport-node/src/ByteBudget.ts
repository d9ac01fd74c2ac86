/**
 * A budget for bytes that clients make a process hold beside their resources: incomplete or unread requests, clients
 * without a group yet, REST sessions between two polls. The limit is over all clients together. Over the limit, idle
 * holders are evicted first, then those that have held bytes for the longest time.
 *
 * @since 0.1.0
 */
import * as TransportMetrics from "@effect-xds/transport/TransportMetrics"

/**
 * The default limit in bytes, for each part of a server.
 *
 * @since 0.1.0
 */
export const defaultLimit = 256 * 1024 * 1024

/**
 * Something that holds bytes on behalf of a client.
 *
 * @since 0.1.0
 */
export interface Holder {
  /**
   * Frees the bytes, now or soon. They no longer count. Must not throw.
   */
  readonly evict: () => void
}

/**
 * The bytes of each holder, within one limit. {@link TransportMetrics.clientBytes} shows their sum.
 *
 * @since 0.1.0
 */
export class ByteBudget {
  /** Oldest first. */
  readonly #idle = new Map<Holder, number>()
  readonly #busy = new Map<Holder, number>()
  #held = 0
  /** Made once: tagging a metric costs more than everything else here. */
  readonly #bytes: ReturnType<typeof TransportMetrics.clientBytes>

  /**
   * @param limit bytes
   * @param kind what the bytes are, for metrics: `REST sessions`
   */
  constructor(
    private readonly limit: number,
    private readonly kind: string
  ) {
    this.#bytes = TransportMetrics.clientBytes(kind)
  }

  /** Bytes that are held now. */
  get held(): number {
    return this.#held
  }

  /** The number of holders. */
  get size(): number {
    return this.#idle.size + this.#busy.size
  }

  /** Whether that many more bytes fit without an eviction. */
  hasRoom(bytes: number): boolean {
    return this.#held + bytes <= this.limit
  }

  /** Sets the bytes of a holder. Over the limit others are evicted, and then the holder itself. */
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

  /** Marks a holder as idle or busy. It becomes the youngest of its kind. */
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
