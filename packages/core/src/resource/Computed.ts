/**
 * Cache of what is computed once for a set of resources and shared by all streams. It belongs to the set and ends with it. It
 * is no part of the set's value: it is neither compared nor printed.
 *
 * @since 0.1.0
 */
import type { Once } from "../Steps.js"
import type { CollectionIndex } from "./CollectionIndex.js"
import type { Crossing } from "./Crossing.js"
import type { Responses } from "./Crossing.js"
import { type Cursor, isAlike } from "./Cursor.js"
import type { Resource } from "./Resource.js"

/**
 * Most crossings kept, of each kind; the newest stay. Shared: from a state of the set, where many streams are. Own: from any
 * other cursor, where one stream is.
 */
const mostShared = 16

const mostOwn = 4

/**
 * The cache of one set.
 *
 * @since 0.1.0
 */
export class Computed {
  /** All resources, in an order that depends on the content alone. */
  listing: Once<ReadonlyArray<Resource>> | undefined
  /** The different heartbeat periods, in milliseconds. */
  heartbeatPeriods: ReadonlyArray<number> | undefined
  /** For route configurations with VHDS: their opener names. */
  openers: ReadonlyArray<string> | undefined
  /** The members of glob collections, if any stream subscribes to one. */
  collections: Once<CollectionIndex> | undefined
  #full: Responses | undefined
  /** Oldest first. */
  #crossings: Array<Crossing> = []

  /** Responses that carry all resources. */
  get full(): Responses {
    return (this.#full ??= new Map())
  }

  /** The crossing from a cursor, if it is kept. */
  known(since: Cursor): Crossing | undefined {
    // Newest first: most streams come from the same cursor as the stream before.
    for (let index = this.#crossings.length - 1; index >= 0; index--) {
      const each = this.#crossings[index]
      if (each !== undefined && isAlike(each.since, since)) return each
    }
    return undefined
  }

  keep(crossing: Crossing): void {
    const all = this.#crossings
    if (all.includes(crossing)) return
    const isOwn = crossing.since.digest === undefined
    let others = 0
    for (const { since } of all) if ((since.digest === undefined) === isOwn) others++
    if (others >= (isOwn ? mostOwn : mostShared)) {
      all.splice(
        all.findIndex(({ since }) => (since.digest === undefined) === isOwn),
        1
      )
    }
    all.push(crossing)
  }
}
