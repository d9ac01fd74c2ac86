/**
 * What is computed once for a set of resources and shared by all streams. It belongs to the set, is gone with it, and is no part
 * of its value: it is neither compared nor printed.
 *
 * @since 0.1.0
 */
import type { Once } from "../Steps.js"
import type { Crossing } from "./Crossing.js"
import type { Responses } from "./Crossing.js"
import { type Cursor, isAlike } from "./Cursor.js"
import type { Resource } from "./Resource.js"

/** Crossings that are kept, the newest: of states of a set, from which many streams come, and of other cursors, which are one stream's. */
const mostShared = 16

const mostOwn = 4

/**
 * What is computed once for one set.
 *
 * @since 0.1.0
 */
export class Computed {
  /** All resources, in an order that depends on the content alone. */
  listing: Once<ReadonlyArray<Resource>> | undefined
  /** The different heartbeat periods, in milliseconds. */
  heartbeatPeriods: ReadonlyArray<number> | undefined
  /** Route configurations: the openers of those with VHDS. */
  openers: ReadonlyArray<string> | undefined
  #full: Responses | undefined
  /** Oldest first. */
  #crossings: Array<Crossing> = []

  /** Responses that bring all resources. */
  get full(): Responses {
    return (this.#full ??= new Map())
  }

  /** The crossing from a cursor, if it is kept. */
  known(since: Cursor): Crossing | undefined {
    // Most streams come from where the last one came from.
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
