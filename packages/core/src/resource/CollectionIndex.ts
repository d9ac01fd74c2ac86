/**
 * The members of the glob collections of a set. Made when a stream subscribes to one, and then kept up from set to set.
 *
 * @since 0.1.0
 */
import * as HashMap from "effect/HashMap"
import * as HashSet from "effect/HashSet"
import * as Option from "effect/Option"
import * as Collection from "../protocol/Collection.js"
import * as Steps from "../Steps.js"
import type { Before } from "./Before.js"
import type { NameTrie } from "./NameTrie.js"

/**
 * Glob collection, in canonical form → names of its members. Empty collections are not in it.
 *
 * @since 0.1.0
 */
export type CollectionIndex = HashMap.HashMap<string, HashSet.HashSet<string>>

/**
 * A set of resources, and its cache.
 *
 * @since 0.1.0
 */
export interface Indexed {
  readonly resources: NameTrie<unknown>
  readonly computed: { collections: Steps.Once<CollectionIndex> | undefined }
}

const noMembers = HashSet.empty<string>()

/**
 * The index of a set, in steps. Made once per set.
 *
 * @since 0.1.0
 */
export const of = (set: Indexed): Steps.Steps<CollectionIndex> =>
  (set.computed.collections ??= new Steps.Once(() => index(set))).steps()

const index = function* (set: Indexed): Steps.Steps<CollectionIndex> {
  const members = new Map<string, Array<string>>()
  let count = 0
  for (const name of set.resources.keys()) {
    if (++count % Steps.atOnce === 0) yield
    const glob = Collection.of(name)
    if (glob === undefined) continue
    const known = members.get(glob)
    if (known === undefined) members.set(glob, [name])
    else known.push(name)
  }
  const made = HashMap.beginMutation(HashMap.empty<string, HashSet.HashSet<string>>())
  for (const [glob, names] of members) {
    const named = HashSet.beginMutation(HashSet.empty<string>())
    for (const name of names) {
      HashSet.add(named, name)
      if (++count % Steps.atOnce === 0) yield
    }
    HashMap.set(made, glob, HashSet.endMutation(named))
  }
  return HashMap.endMutation(made)
}

/**
 * The members of a collection, in steps.
 *
 * @param glob in canonical form
 * @since 0.1.0
 */
export const membersOf = function* (set: Indexed, glob: string): Steps.Steps<HashSet.HashSet<string>> {
  return Option.getOrElse(HashMap.get(yield* of(set), glob), () => noMembers)
}

/**
 * Whether a collection has a member.
 *
 * @param glob in canonical form
 * @since 0.1.0
 */
export const isAny = (set: Indexed, glob: string): boolean => HashMap.has(Steps.toEnd(of(set)), glob)

/**
 * Gives a set the index of the set before it, if that was made and the change is small.
 *
 * @param changed the names that may be new or removed
 * @since 0.1.0
 */
export const follow = (before: Indexed, after: Indexed, changed: Before): void => {
  const known = before.computed.collections?.value
  if (known === undefined || changed.size > Steps.atOnce) return
  let next = known
  for (const name of changed.keys()) {
    const glob = Collection.of(name)
    if (glob === undefined) continue
    const members = Option.getOrElse(HashMap.get(next, glob), () => noMembers)
    const is = after.resources.has(name)
    if (is === HashSet.has(members, name)) continue
    const left = is ? HashSet.add(members, name) : HashSet.remove(members, name)
    next = HashSet.size(left) === 0 ? HashMap.remove(next, glob) : HashMap.set(next, glob, left)
  }
  const made = new Steps.Once(() => Steps.of(next))
  Steps.toEnd(made.steps())
  after.computed.collections = made
}
