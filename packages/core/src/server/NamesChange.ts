/**
 * The names that a request subscribed to and unsubscribed from. It refers to objects that exist already, so it costs nothing
 * until somebody reads it.
 *
 * @since 0.1.0
 */
import type { Request } from "../wire/Request.js"
import { askedNames, type Subscription } from "./Subscription.js"
import * as NameTable from "./NameTable.js"

/**
 * A request that lists names, and the names of the type before and after it.
 *
 * @since 0.1.0
 */
export interface NamesChange {
  readonly typeUrl: string
  /** The names in the request: with `*` and duplicates and, in state of the world, those listed before. */
  readonly listed: ReadonlyArray<string>
  /** Incremental: whether every listed name gets an answer, even if it was subscribed before. */
  readonly isAnsweredAgain: boolean
  /** A superset of the names that the request unsubscribed from. */
  readonly dropped: ReadonlyArray<string>
  readonly before: NameTable.NameTable<unknown>
  readonly after: NameTable.NameTable<unknown>
}

const noNames = NameTable.empty<unknown>()
const noList: ReadonlyArray<string> = []

/**
 * The change of names by a request; `undefined` if it lists no names, or the same as before.
 *
 * @since 0.1.0
 */
export const of = (request: Request, known: Subscription | undefined, asked: Subscription): NamesChange | undefined => {
  const { typeUrl } = asked
  const after = askedNames(asked)
  const before = known === undefined ? noNames : askedNames(known)
  if (request._tag === "Incremental") {
    const { resourceNamesSubscribe: listed, resourceNamesUnsubscribe: dropped } = request
    if (listed.length === 0 && dropped.length === 0) return undefined
    return { typeUrl, listed, isAnsweredAgain: true, dropped, before, after }
  }
  if (before === after) return undefined
  const dropped = known?.lastNames ?? noList
  return { typeUrl, listed: request.resourceNames, isAnsweredAgain: false, dropped, before, after }
}

/**
 * Whether the request newly subscribed to a listed name.
 *
 * @since 0.1.0
 */
export const isSubscribed = ({ after, before }: NamesChange, name: string): boolean =>
  !before.has(name) && after.has(name)

/**
 * Whether the request unsubscribed from a name.
 *
 * @since 0.1.0
 */
export const isUnsubscribed = ({ after, before }: NamesChange, name: string): boolean =>
  before.has(name) && !after.has(name)

/**
 * Whether the client waits for an answer for a listed name.
 *
 * @since 0.1.0
 */
export const isAsked = (self: NamesChange, name: string): boolean =>
  self.isAnsweredAgain ? self.after.has(name) : isSubscribed(self, name)
