/**
 * Which names a request subscribed to and unsubscribed from. It refers to what is there already, so that it costs nothing where nobody
 * wants to know; the names themselves are looked up by whoever does.
 *
 * @since 0.1.0
 */
import * as HashMap from "effect/HashMap"
import type { Request } from "../wire/Request.js"
import type { Subscription } from "./Subscription.js"

/**
 * A request that lists names, and the names of the type before and after it.
 *
 * @since 0.1.0
 */
export interface NamesChange {
  readonly typeUrl: string
  /** The names that the request lists: with `*`, repeated ones, and in state of the world with those that were listed before. */
  readonly listed: ReadonlyArray<string>
  /** Whether each listed name wants an answer, also if it was subscribed to before: in the incremental variant. */
  readonly isAnsweredAgain: boolean
  /** The names among which are those that the request unsubscribed from. */
  readonly dropped: ReadonlyArray<string>
  readonly before: HashMap.HashMap<string, unknown>
  readonly after: HashMap.HashMap<string, unknown>
}

const noNames = HashMap.empty<string, unknown>()
const noList: ReadonlyArray<string> = []

/**
 * What a request changed, if it lists names. `undefined`: it lists none, or those that were listed before.
 *
 * @since 0.1.0
 */
export const of = (
  request: Request,
  known: Subscription | undefined,
  { names: after, typeUrl }: Subscription
): NamesChange | undefined => {
  const before = known?.names ?? noNames
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
 * Whether a listed name was not subscribed to before.
 *
 * @since 0.1.0
 */
export const isSubscribed = ({ after, before }: NamesChange, name: string): boolean =>
  !HashMap.has(before, name) && HashMap.has(after, name)

/**
 * Whether a name was subscribed to before, and is not any more.
 *
 * @since 0.1.0
 */
export const isUnsubscribed = ({ after, before }: NamesChange, name: string): boolean =>
  HashMap.has(before, name) && !HashMap.has(after, name)

/**
 * Whether the client waits for an answer to a listed name.
 *
 * @since 0.1.0
 */
export const isAsked = (self: NamesChange, name: string): boolean =>
  self.isAnsweredAgain ? HashMap.has(self.after, name) : isSubscribed(self, name)
