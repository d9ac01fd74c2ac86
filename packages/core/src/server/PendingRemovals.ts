/**
 * Pending removals: removed resources that the client still has, and when each removal is due.
 *
 * @since 0.1.0
 */
import type { Resource } from "../resource/Resource.js"
import * as Steps from "../Steps.js"
import type { PendingRemoval, Sent } from "./Subscription.js"

/**
 * The pending removals after a request for everything. The client may have forgotten these resources: one that comes back is
 * sent.
 *
 * @since 0.1.0
 */
export const forgotten = (pendingRemovals: ReadonlyMap<string, PendingRemoval>): ReadonlyMap<string, PendingRemoval> =>
  new Map(Array.from(pendingRemovals, ([name, each]) => [name, { ...each, resource: undefined }]))

/**
 * Adds removed resources to the pending removals. `sent`: the last response of the type.
 *
 * @since 0.1.0
 */
export const leaving = function* (
  pendingRemovals: ReadonlyMap<string, PendingRemoval>,
  sent: Sent | undefined,
  gone: ReadonlyMap<string, Resource | undefined>
): Steps.Steps<ReadonlyMap<string, PendingRemoval>> {
  if (gone.size === 0) return pendingRemovals
  const next = new Map(pendingRemovals)
  let count = 0
  for (const [name, resource] of gone) {
    const known = pendingRemovals.get(name)
    next.set(name, { resource, since: known?.since ?? sent?.nonce ?? "", due: known?.due ?? Number.POSITIVE_INFINITY })
    if (++count % Steps.atOnce === 0) yield
  }
  return next
}

/**
 * A map without some keys; the same map if it has none of them.
 *
 * @since 0.1.0
 */
export const without = <A>(map: ReadonlyMap<string, A>, names: Iterable<string>): ReadonlyMap<string, A> => {
  let copy: Map<string, A> | undefined
  for (const name of names) if (map.has(name)) (copy ??= new Map(map)).delete(name)
  return copy ?? map
}

/**
 * {@link without} in steps, for many names.
 *
 * @since 0.1.0
 */
export const withoutMany = function* <A>(
  map: ReadonlyMap<string, A>,
  ...lists: ReadonlyArray<Iterable<string>>
): Steps.Steps<ReadonlyMap<string, A>> {
  const dropped = new Set<string>()
  let count = 0
  for (const names of lists) {
    for (const name of names) {
      if (map.has(name)) dropped.add(name)
      if (++count % Steps.atOnce === 0) yield
    }
  }
  if (dropped.size === 0) return map
  return new Map(yield* Steps.filter(map, ([name]) => !dropped.has(name)))
}
