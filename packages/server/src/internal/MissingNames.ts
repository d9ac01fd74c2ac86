/**
 * The names that the hook for missing resources is called for, or waits to be: each once, bounded, and shared among groups.
 *
 * ★ One group cannot keep others out. Calls are given to the groups in turn, and no group has more than its part of them. Where there
 * is no room for a name, the group that holds the most gives up the one that came last, if it holds more than the other would.
 */

/** A name that was asked for. */
export interface MissingName {
  /** That of no other. */
  readonly key: string
  readonly group: string
  readonly typeUrl: string
  readonly name: string
  readonly bytes: number
}

/** What one group holds. */
interface Share {
  readonly waiting: Array<MissingName>
  calls: number
  bytes: number
}

interface Options {
  readonly maxNames: number
  readonly maxBytes: number
  readonly maxCallsPerGroup: number
  /** So many names and bytes more are held, or less. Must not throw. */
  readonly onHeld: (names: number, bytes: number) => void
}

/** What a name takes beside its characters. */
const bytesPerName = 256

const none: ReadonlyArray<MissingName> = []

export class MissingNames {
  readonly #keys = new Set<string>()
  /** Those whose turn was longest ago come first. */
  readonly #shares = new Map<string, Share>()
  #bytes = 0

  constructor(private readonly options: Options) {}

  /** Names that are held. */
  get size(): number {
    return this.#keys.size
  }

  /** What they take. */
  get bytes(): number {
    return this.#bytes
  }

  /** Adds a name that is not held yet. Gives back those for which there is no room: this one, or others that wait. */
  add(group: string, typeUrl: string, name: string): ReadonlyArray<MissingName> {
    const key = JSON.stringify([group, typeUrl, name])
    if (this.#keys.has(key)) return none
    const bytes = 2 * (group.length + typeUrl.length + name.length + key.length) + bytesPerName
    const added: MissingName = { key, group, typeUrl, name, bytes }
    const refused: Array<MissingName> = []
    const share = this.#shares.get(group) ?? { waiting: [], calls: 0, bytes: 0 }
    while (this.#keys.size >= this.options.maxNames || this.#bytes + bytes > this.options.maxBytes) {
      const last = this.#last(share, bytes)
      if (last === undefined) return [...refused, added]
      refused.push(last)
    }
    this.#shares.set(group, share)
    share.waiting.push(added)
    this.#hold(added, share, 1)
    return refused
  }

  /** The next name to call the hook for. */
  next(): MissingName | undefined {
    for (const [group, share] of this.#shares) {
      if (share.calls >= this.options.maxCallsPerGroup) continue
      const next = share.waiting.shift()
      if (next === undefined) continue
      share.calls++
      this.#shares.delete(group)
      this.#shares.set(group, share)
      return next
    }
    return undefined
  }

  /** Takes away all names of a group that wait. */
  take(group: string): ReadonlyArray<MissingName> {
    const share = this.#shares.get(group)
    const taken = share?.waiting.splice(0) ?? none
    if (share !== undefined) for (const each of taken) this.#hold(each, share, -1)
    return taken
  }

  /** The call for a name is over. */
  end(name: MissingName): void {
    const share = this.#shares.get(name.group)
    if (share === undefined || !this.#keys.has(name.key)) return
    share.calls--
    this.#hold(name, share, -1)
  }

  /** Holds nothing any more. */
  clear(): void {
    this.options.onHeld(-this.#keys.size, -this.#bytes)
    this.#keys.clear()
    this.#shares.clear()
    this.#bytes = 0
  }

  /** Takes the name that came last from the group that holds the most, if that would hold more than another with so many bytes more. */
  #last(other: Share, bytes: number): MissingName | undefined {
    let most: Share | undefined
    for (const share of this.#shares.values()) {
      if (share.waiting.length > 0 && share.bytes > (most?.bytes ?? 0)) most = share
    }
    const last = most?.waiting.at(-1)
    if (most === undefined || last === undefined || most.bytes - last.bytes < other.bytes + bytes) return undefined
    most.waiting.pop()
    this.#hold(last, most, -1)
    return last
  }

  #hold({ bytes, group, key }: MissingName, share: Share, change: 1 | -1): void {
    if (change === 1) this.#keys.add(key)
    else this.#keys.delete(key)
    share.bytes += change * bytes
    this.#bytes += change * bytes
    if (share.bytes === 0) this.#shares.delete(group)
    this.options.onHeld(change, change * bytes)
  }
}
