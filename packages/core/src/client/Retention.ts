/**
 * Retention: resources without watchers, kept for a while by the stream that may still send them.
 *
 * ★ State of the world: a server ignores a request that crosses a response. So if a name is unsubscribed and soon subscribed
 * again, the server may never see the gap, and will not send the resource again.
 *
 * @since 0.1.0
 */
import * as HashSet from "effect/HashSet"
import * as Authority from "../protocol/Authority.js"
import * as Collection from "../protocol/Collection.js"

/**
 * The retained names of one stream.
 *
 * @since 0.1.0
 */
export interface Retained {
  /** Names, or `*`. */
  readonly names: HashSet.HashSet<string>
  /** End of retention in milliseconds; Infinity until the request was written. */
  readonly until: number
}

/**
 * Stream → retained names.
 *
 * @since 0.1.0
 */
export type Retention = ReadonlyMap<string, Retained>

/**
 * Nothing is retained.
 *
 * @since 0.1.0
 */
export const none: Retention = new Map()

/**
 * Most retained names of a type. Bounds a client that keeps watching new names.
 *
 * @since 0.1.0
 */
export const maxRetained = 10_000

const never = Number.POSITIVE_INFINITY

/**
 * Whether a name, or `*`, is retained itself.
 *
 * @since 0.1.0
 */
export const has = (self: Retention, name: string): boolean => {
  for (const { names } of self.values()) if (HashSet.has(names, name)) return true
  return false
}

/**
 * Removes a name; with `*` or a collection, all names that it covers. Returns the same value if nothing changes.
 *
 * @since 0.1.0
 */
export const withoutName = (retained: Retention, name: string): Retention => {
  let left: Map<string, Retained> | undefined
  for (const [stream, { names, until }] of retained) {
    const isLeft = (each: string) => (name === "*" ? !Authority.isInWildcard(each) : Collection.of(each) !== name)
    const isMany = name === "*" || Collection.isGlob(name)
    const others = HashSet.remove(isMany ? HashSet.filter(names, isLeft) : names, name)
    if (HashSet.size(others) === HashSet.size(names)) continue
    left ??= new Map(retained)
    if (HashSet.size(others) > 0) left.set(stream, { names: others, until })
    else left.delete(stream)
  }
  return left ?? retained
}

/**
 * Adds a name of a stream whose server has not got the request yet.
 *
 * @since 0.1.0
 */
export const withName = (retained: Retention, stream: string, name: string): Retention => {
  const names = retained.get(stream)?.names ?? HashSet.empty<string>()
  return new Map(retained).set(stream, { names: HashSet.add(names, name), until: never })
}

/**
 * Number of retained names.
 *
 * @since 0.1.0
 */
export const count = (self: Retention): number => {
  let sum = 0
  for (const { names } of self.values()) sum += HashSet.size(names)
  return sum
}
