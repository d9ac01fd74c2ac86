/**
 * The resources of a server's last large response, in their order: most of the next one are the same, at the same places. They are
 * found by their place or by their name, both without reading a text.
 *
 * @since 0.1.0
 */
import * as Received from "../wire/ReceivedResource.js"
import type { Unchanged } from "./Validation.js"

/**
 * A resource in use.
 *
 * @since 0.1.0
 */
export interface InUse {
  readonly version: string
  /** To be compared with what comes. */
  readonly bytes: DataView
  /** Whether the cache stays the same if the resource comes again with equal bytes, without a version or TTL of its own. */
  readonly isPlain: boolean
}

/**
 * A resource at its place in an earlier response.
 *
 * @since 0.1.0
 */
export interface Placed extends InUse {
  readonly name: string
  /** See `ReceivedResource.hashOf`. */
  readonly hash: number
  /** The result if it comes again unchanged. Made once, because most resources do. */
  readonly again: Unchanged
}

/**
 * Makes a {@link Placed}.
 *
 * @since 0.1.0
 */
export const place = (name: string, { bytes, isPlain, version }: InUse): Placed => ({
  name,
  hash: Received.hashOf(name),
  version,
  bytes,
  isPlain,
  again: { name, ownName: name, version: undefined, ttl: undefined, isHeartbeat: false, isPlain: true }
})

/** Most places that are looked at for one name: more than a few have the same hash only if someone chose the names so. */
const mostTried = 16

/**
 * The resources of the last large response.
 *
 * @since 0.1.0
 */
export interface ResponseOrder {
  readonly server: string
  readonly places: ReadonlyArray<Placed>
  /** Of the cache of the type; the order is exact only in that. */
  readonly revision: number
}

/**
 * No response came.
 *
 * @since 0.1.0
 */
export const none: ResponseOrder = { server: "", places: [], revision: 0 }

/**
 * Whether a response with so many resources says something about the others, too.
 *
 * @since 0.1.0
 */
export const isLarge = (size: number, { length }: ReadonlyArray<Placed>): boolean => size * 2 >= length

/**
 * An index of the resources by the hashes of their names, for one response: only one in another order needs it.
 *
 * @since 0.1.0
 */
export class PlaceIndex {
  /** By hash: the place, counted from 1; 0: none. */
  readonly #table: Int32Array

  constructor(private readonly places: ReadonlyArray<Placed>) {
    let size = 4
    while (size < 2 * places.length) size *= 2
    this.#table = new Int32Array(size)
    for (let index = 0; index < places.length; index++) {
      const hash = places[index]?.hash ?? 0
      for (let tried = 0; tried < mostTried; tried++) {
        const slot = (hash + tried) & (size - 1)
        if (this.#table[slot] !== 0) continue
        this.#table[slot] = index + 1
        break
      }
    }
  }

  /** The resource with a name; `undefined`: it is not found in time. */
  named(name: string): Placed | undefined {
    const hash = Received.hashOf(name)
    for (let tried = 0; tried < mostTried; tried++) {
      const placed = this.#at(hash + tried)
      if (placed === undefined || placed.name === name) return placed
    }
    return undefined
  }

  /**
   * The resource that a received one is, unchanged; `undefined`: it is not found in time.
   *
   * @param hash that of its name
   */
  unchanged(hash: number, resource: Received.Unread, comparison: Received.Comparison): Placed | undefined {
    for (let tried = 0; tried < mostTried; tried++) {
      const placed = this.#at(hash + tried)
      if (placed === undefined) return undefined
      if (placed.hash === hash && isUnchanged(placed, resource, comparison)) return placed
    }
    return undefined
  }

  #at(slot: number): Placed | undefined {
    const table = this.#table
    return this.places[(table[slot & (table.length - 1)] ?? 0) - 1]
  }
}

/**
 * Whether a received resource changes nothing: the body is that in use, and so are its name and version, if it has them beside.
 *
 * @since 0.1.0
 */
export const isUnchanged = (
  { bytes, isPlain, name, version }: Placed,
  resource: Received.Unread,
  comparison: Received.Comparison
): boolean =>
  isPlain &&
  (!Received.isWrapped(resource) || (Received.isNamed(resource, name) && Received.isVersion(resource, version))) &&
  Received.isBody(resource, bytes, comparison)
