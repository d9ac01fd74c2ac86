/**
 * The resources that a returning incremental client holds (`initial_resource_versions`).
 *
 * A plain `Map` of names and versions is enough. A transport that reads the same from a thousand clients may keep it once for
 * all of them as {@link SharedVersions}, which compare themselves with a set of resources.
 *
 * @see https://www.envoyproxy.io/docs/envoy/latest/api-docs/xds_protocol "Reconnect"
 * @since 0.1.0
 */
import * as Steps from "../Steps.js"
import type { Resource } from "./Resource.js"
import * as ResourceSet from "./ResourceSet.js"

/**
 * Names and versions of the resources that one client holds.
 *
 * @since 0.1.0
 */
export type HeldVersions = ReadonlyMap<string, string> | SharedVersions

/**
 * Names and versions kept once for many clients. No client's input may change another client's.
 *
 * @since 0.1.0
 */
export interface SharedVersions extends Iterable<readonly [name: string, version: string]> {
  /** Number of entries; a name may occur in several. */
  readonly size: number
  /** Compares these versions with a set. */
  readonly compare: (set: ResourceSet.ResourceSet) => Steps.Steps<Comparison>
  /** The result of {@link compare}, if it is known already. */
  readonly compared: (set: ResourceSet.ResourceSet) => Comparison | undefined
}

/**
 * What a client holds, compared with a set.
 *
 * @since 0.1.0
 */
export interface Comparison {
  /** Whether the client holds this resource of the set at its current version. */
  readonly isHeld: (resource: Resource) => boolean
  /** Resources of the set that the client does not hold at their current version, in the order of the set. */
  readonly unheld: () => Steps.Steps<ReadonlyArray<Resource>>
  /** Resources of the set that the client holds at their current version. */
  readonly held: () => Steps.Steps<ReadonlyArray<Resource>>
  /** Name → version of all else that the client holds: removed or at another version. May include current ones, too. */
  readonly others: ReadonlyMap<string, string>
}

/**
 * The comparison for a client that holds nothing, or was answered already.
 *
 * @since 0.1.0
 */
export const none: Comparison = {
  isHeld: () => false,
  unheld: () => Steps.of([]),
  held: () => Steps.of([]),
  others: new Map()
}

const isShared = (held: HeldVersions): held is SharedVersions => "compare" in held

/**
 * Compares what a client holds with a set.
 *
 * @since 0.1.0
 */
export const compare = (held: HeldVersions, set: ResourceSet.ResourceSet): Steps.Steps<Comparison> =>
  isShared(held)
    ? held.compare(set)
    : Steps.of(comparison(set, ({ name, version }) => held.get(name) === version, held))

const comparison = (
  set: ResourceSet.ResourceSet,
  isHeld: (resource: Resource) => boolean,
  others: ReadonlyMap<string, string>
): Comparison => ({
  isHeld,
  unheld: () => Steps.filter(ResourceSet.all(set), (resource) => !isHeld(resource)),
  held: () => Steps.filter(ResourceSet.all(set), isHeld),
  others
})

/**
 * The result of {@link compare}, if it takes no time because another client holds the same.
 *
 * @since 0.1.0
 */
export const compared = (held: HeldVersions, set: ResourceSet.ResourceSet): Comparison | undefined =>
  isShared(held) ? held.compared(set) : undefined

/**
 * The versions of a client, of which one part is shared with other clients.
 *
 * @since 0.1.0
 */
export const joined = (shared: SharedVersions | undefined, own: ReadonlyMap<string, string>): HeldVersions => {
  if (shared === undefined || shared.size === 0) return own
  if (own.size === 0) return shared
  const join = (set: ResourceSet.ResourceSet, one: Comparison): Comparison =>
    comparison(
      set,
      (resource) => own.get(resource.name) === resource.version || one.isHeld(resource),
      new Map([...one.others, ...own])
    )
  return {
    size: shared.size + own.size,
    compare: function* (set) {
      return join(set, yield* shared.compare(set))
    },
    compared: (set) => {
      const one = shared.compared(set)
      return one && join(set, one)
    },
    *[Symbol.iterator]() {
      yield* shared
      yield* own
    }
  }
}

/**
 * The versions of a client without some names that belong to no resource. In steps, because there may be many.
 *
 * @param entries number of entries that have one of those names
 * @since 0.1.0
 */
export const without = function* (
  held: HeldVersions,
  names: ReadonlySet<string>,
  entries: number
): Steps.Steps<HeldVersions> {
  if (entries === 0) return held
  const isLeft = ([name]: readonly [string, string]): boolean => !names.has(name)
  if (!isShared(held)) return new Map(yield* Steps.filter(held, isLeft))
  return {
    size: Math.max(0, held.size - entries),
    compare: function* (set) {
      const all = yield* held.compare(set)
      return { ...all, others: new Map(yield* Steps.filter(all.others, isLeft)) }
    },
    compared: () => undefined,
    *[Symbol.iterator]() {
      for (const entry of held) if (isLeft(entry)) yield entry
    }
  }
}
