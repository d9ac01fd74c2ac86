/**
 * A plain implementation of held versions that a transport shares between clients.
 *
 * @since 0.1.0
 */
import type { Comparison, SharedVersions } from "@effect-xds/core/resource/HeldVersions"
import type { Resource } from "@effect-xds/core/resource/Resource"
import * as ResourceSet from "@effect-xds/core/resource/ResourceSet"
import * as Steps from "@effect-xds/core/Steps"

/**
 * Shared versions of these entries. A name may occur in several. Comparisons are cached.
 *
 * @since 0.1.0
 */
export const sharedVersions = (entries: ReadonlyArray<readonly [name: string, version: string]>): SharedVersions => {
  const known = new Map<ResourceSet.ResourceSet, Comparison>()
  const compare = function* (set: ResourceSet.ResourceSet): Steps.Steps<Comparison> {
    const held = new Set<Resource>()
    const others = new Map<string, string>()
    let count = 0
    for (const [name, version] of entries) {
      const resource = ResourceSet.get(set, name)
      if (resource?.version === version) held.add(resource)
      else others.set(name, version)
      if (++count % Steps.atOnce === 0) yield
    }
    const comparison: Comparison = {
      isHeld: (resource) => held.has(resource),
      unheld: () => Steps.filter(ResourceSet.all(set), (resource) => !held.has(resource)),
      held: () => Steps.filter(ResourceSet.all(set), (resource) => held.has(resource)),
      others
    }
    known.set(set, comparison)
    return comparison
  }
  return { size: entries.length, compare, compared: (set) => known.get(set), [Symbol.iterator]: () => entries.values() }
}
