/**
 * What is kept for a while after its last watcher went, by the stream that may still bring it.
 *
 * ★ State of the world: a request that crosses a response is ignored by the server. So a name that was given up and is asked
 * for again may be one that the server never stopped to serve, and it will not send it again.
 *
 * @since 0.1.0
 */
import * as HashSet from "effect/HashSet"
import * as Authority from "../protocol/Authority.js"

/**
 * What is retained of one stream.
 *
 * @since 0.1.0
 */
export interface Retained {
  /** Names, and `*`. */
  readonly names: HashSet.HashSet<string>
  /** When they are dropped; Infinity until the server was told. */
  readonly until: number
}

/**
 * What is retained, by stream.
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
 * Names of a type that are retained at most: those of a client that asks for ever new ones are not all kept.
 *
 * @since 0.1.0
 */
export const maxRetained = 10_000

const never = Number.POSITIVE_INFINITY

/**
 * Whether a name, or `*`, was given up by itself.
 *
 * @since 0.1.0
 */
export const has = (self: Retention, name: string): boolean => {
  for (const { names } of self.values()) if (HashSet.has(names, name)) return true
  return false
}

/**
 * Without a name, or with `*` without what a wildcard covers; the same if it has none of them.
 *
 * @since 0.1.0
 */
export const withoutName = (retained: Retention, name: string): Retention => {
  let left: Map<string, Retained> | undefined
  for (const [stream, { names, until }] of retained) {
    const others =
      name === "*" ? HashSet.filter(names, (each) => !Authority.isCovered(each)) : HashSet.remove(names, name)
    if (HashSet.size(others) === HashSet.size(names)) continue
    left ??= new Map(retained)
    if (HashSet.size(others) > 0) left.set(stream, { names: others, until })
    else left.delete(stream)
  }
  return left ?? retained
}

/**
 * With one more name of a stream, whose server has not been told yet.
 *
 * @since 0.1.0
 */
export const withName = (retained: Retention, stream: string, name: string): Retention => {
  const names = retained.get(stream)?.names ?? HashSet.empty<string>()
  return new Map(retained).set(stream, { names: HashSet.add(names, name), until: never })
}

/**
 * How many names are retained.
 *
 * @since 0.1.0
 */
export const count = (self: Retention): number => {
  let sum = 0
  for (const { names } of self.values()) sum += HashSet.size(names)
  return sum
}
