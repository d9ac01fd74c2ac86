/**
 * The resources in force that break rules of Envoy's API, which a store in mode `warn` serves and reports as `Stored.invalid`. The
 * store in memory has one; this is for others.
 *
 * @since 0.1.0
 */
import type * as ResourceGroup from "@effect-xds/core/resource/ResourceGroup"
import * as Internal from "./internal/InvalidInForce.js"
import type { InvalidResource } from "./StoreError.js"

/**
 * The findings of all groups: at most 1 000, further ones are only in the log and the metrics.
 *
 * @since 0.1.0
 */
export interface InvalidInForce {
  /** Records what was found in a change, which led to `own`. Findings of resources that are no longer there are dropped. */
  readonly changed: (group: string, own: ResourceGroup.ResourceGroup, found: ReadonlyArray<InvalidResource>) => void
  /** The findings of a group; `undefined`: there are none. */
  readonly of: (group: string) => ReadonlyArray<InvalidResource> | undefined
}

/**
 * Begins without findings.
 *
 * @since 0.1.0
 */
export const make = (): InvalidInForce => new Internal.InvalidInForce()
