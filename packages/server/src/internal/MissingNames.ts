/**
 * The names for which the `onMissing` hook runs or will run: without duplicates, bounded, and shared among groups.
 *
 * ★ One group cannot block others. Groups take turns, and each has a limit of concurrent calls. If there is no room for
 * a name, the group with the most bytes gives up its newest waiting name, provided that it would still hold at least as
 * much as the other group.
 */

import type { NodeIdentity } from "../ConnectedClient.js"

/** A name without a resource. */
export interface MissingName {
  /** Unique for group, type URL and name. */
  readonly key: string
  readonly group: string
  readonly typeUrl: string
  readonly name: string
  /** Whose request named it first; `undefined`: its resource was removed. */
  readonly node: NodeIdentity | undefined
  readonly bytes: number
}

/** The names of one group. */
interface Share {
  readonly waiting: Array<MissingName>
  calls: number
  bytes: number
}

interface Options {
  readonly maxNames: number
  readonly maxBytes: number
  readonly maxCallsPerGroup: number
  /** The number of names and bytes changed by this much. Must not throw. */
  readonly onHeld: (names: number, bytes: number) => void
}

/** Bytes of a name beside its characters. */
const bytesPerName = 256

const none: ReadonlyArray<MissingName> = []

export class MissingNames {
  readonly #keys = new Set<string>()
  /** Groups in the order of their last turn, the longest ago first. */
  readonly #shares = new Map<string, Share>()
  #bytes = 0

  constructor(private readonly options: Options) {}

  /** The number of names. */
  get size(): number {
    return this.#keys.size
  }

  /** The bytes of all names. */
  get bytes(): number {
    return this.#bytes
  }

  /** Adds a name unless it is there. Returns the names that have no room: this one, or waiting ones. */
  add(group: string, typeUrl: string, name: string, node?: NodeIdentity): ReadonlyArray<MissingName> {
    const key = JSON.stringify([group, typeUrl, name])
    if (this.#keys.has(key)) return none
    const bytes = 2 * (group.length + typeUrl.length + name.length + key.length) + bytesPerName
    // Its texts are short, and the stream's own.
    const added: MissingName = { key, group, typeUrl, name, node, bytes }
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

  /** Removes and returns all waiting names of a group. */
  take(group: string): ReadonlyArray<MissingName> {
    const share = this.#shares.get(group)
    const taken = share?.waiting.splice(0) ?? none
    if (share !== undefined) for (const each of taken) this.#hold(each, share, -1)
    return taken
  }

  /** Removes a name whose call is over. */
  end(name: MissingName): void {
    const share = this.#shares.get(name.group)
    if (share === undefined || !this.#keys.has(name.key)) return
    share.calls--
    this.#hold(name, share, -1)
  }

  /** Removes all names. */
  clear(): void {
    this.options.onHeld(-this.#keys.size, -this.#bytes)
    this.#keys.clear()
    this.#shares.clear()
    this.#bytes = 0
  }

  /**
   * Removes the newest waiting name of the group with the most bytes, if that group would still hold at least as much
   * as `other` with the added bytes.
   */
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
