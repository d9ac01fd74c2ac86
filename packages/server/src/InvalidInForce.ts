/**
 * The resources in force that break rules of Envoy's API, which a store in mode `warn` serves and reports as `Stored.invalid`. The
 * store in memory has one; a store over something else makes its own.
 *
 * @since 0.1.0
 */
import type { Resource } from "@effect-xds/core/resource/Resource"
import * as ResourceGroup from "@effect-xds/core/resource/ResourceGroup"
import type { InvalidResource } from "./StoreError.js"

/** The most resources kept, over all groups; further ones are only in the log and the metrics. */
const maxResources = 1_000

/**
 * The findings of all groups: at most 1 000, further ones are only in the log and the metrics.
 *
 * @since 0.1.0
 */
export class InvalidInForce {
  readonly #groups = new Map<string, ReadonlyMap<Resource, InvalidResource>>()
  #size = 0

  /** Records what was found in a change, which led to `own`. Findings of resources that are no longer there are dropped. */
  changed(group: string, own: ResourceGroup.ResourceGroup, found: ReadonlyArray<InvalidResource>): void {
    const before = this.#groups.get(group)
    if (before === undefined && found.length === 0) return
    const next = new Map<Resource, InvalidResource>()
    for (const [resource, invalid] of before ?? []) {
      if (ResourceGroup.get(own, resource) === resource) next.set(resource, invalid)
    }
    this.#size -= before?.size ?? 0
    for (const invalid of found) {
      const resource = ResourceGroup.get(own, invalid)
      if (resource !== undefined && this.#size + next.size < maxResources) next.set(resource, invalid)
    }
    this.#size += next.size
    if (next.size === 0) this.#groups.delete(group)
    else this.#groups.set(group, next)
  }

  /** The findings of a group; `undefined`: there are none. */
  of(group: string): ReadonlyArray<InvalidResource> | undefined {
    const found = this.#groups.get(group)
    return found && Array.from(found.values())
  }
}
