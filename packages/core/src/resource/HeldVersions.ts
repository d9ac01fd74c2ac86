/**
 * What an incremental client that comes back says it holds (`initial_resource_versions`), as far as core needs to know it.
 *
 * A plain `Map` of names and versions is enough. A transport that reads the same from a thousand clients may keep it once for all
 * of them: then it gives {@link SharedVersions}, which know by themselves how they compare with a set of resources.
 *
 * @see https://www.envoyproxy.io/docs/envoy/latest/api-docs/xds_protocol "Reconnect"
 * @since 0.1.0
 */
import type { Resource } from "./Resource.js"
import * as ResourceSet from "./ResourceSet.js"
import * as Steps from "../Steps.js"

/**
 * Names and versions of what one client holds.
 *
 * @since 0.1.0
 */
export type HeldVersions = ReadonlyMap<string, string> | SharedVersions

/**
 * Names and versions that are kept once for many clients. Nothing that another client said may change what they are.
 *
 * @since 0.1.0
 */
export interface SharedVersions extends Iterable<readonly [name: string, version: string]> {
  /** Number of entries; one name may be in several. */
  readonly size: number
  /** Compares them with a set. */
  readonly compare: (set: ResourceSet.ResourceSet) => Steps.Steps<Comparison>
  /** What {@link compare} ends with, if that is known already. */
  readonly compared: (set: ResourceSet.ResourceSet) => Comparison | undefined
}

/**
 * What a client holds, beside what a set has.
 *
 * @since 0.1.0
 */
export interface Comparison {
  /** Whether the client holds a resource of the set, as it is. */
  readonly isHeld: (resource: Resource) => boolean
  /** Resources of the set that it does not hold as they are, in the order of the set. */
  readonly unheld: () => Steps.Steps<ReadonlyArray<Resource>>
  /** Resources of the set that it holds as they are. */
  readonly held: () => Steps.Steps<ReadonlyArray<Resource>>
  /** Name → version of all else that it holds: what is gone, or has another version. What it holds as it is may be here, too. */
  readonly others: ReadonlyMap<string, string>
}

/**
 * The comparison of a client that holds nothing, or was answered already.
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
 * The comparison with a set, if it takes no time because another client holds the same.
 *
 * @since 0.1.0
 */
export const compared = (held: HeldVersions, set: ResourceSet.ResourceSet): Comparison | undefined =>
  isShared(held) ? held.compared(set) : undefined

/**
 * What a client holds that is kept in part for many clients and in part for this one.
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
 * What a client holds, without some names that no resource has: in steps, because there may be many.
 *
 * @param entries number of entries with those names
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
