/**
 * What a discovery response says.
 *
 * @see https://www.envoyproxy.io/docs/envoy/latest/api-v3/service/discovery/v3/discovery.proto
 * @since 0.1.0
 */
import type { Protocol } from "../protocol/Protocol.js"
import type { Resource, ResourceError } from "../resource/Resource.js"

/**
 * A `DiscoveryResponse` or `DeltaDiscoveryResponse` without its nonce.
 *
 * @since 0.1.0
 */
export interface Response {
  readonly protocol: Protocol
  readonly typeUrl: string
  /** `version_info` in state of the world; in incremental `system_version_info`, which is for debugging only. */
  readonly version: string
  readonly resources: ReadonlyArray<Resource>
  /** `removed_resources`. Incremental only. */
  readonly removed: ReadonlyArray<string>
  /** Variants that are removed, by name and encoded constraints: `removed_resource_names` (TP2). Incremental only. */
  readonly removedVariants: ReadonlyArray<RemovedVariant>
  /** Why resources cannot be given: `resource_errors` (TP3). */
  readonly errors: ReadonlyArray<NamedError>
  /** Resources sent without a body: they renew a TTL and are no update. */
  readonly heartbeats: ReadonlyArray<Resource>
  /** VHDS: names of missing hosts, each answered by a resource without a body. */
  readonly absent: ReadonlyArray<string>
  /** Resource name → the aliases by which the client requested it. Incremental only. */
  readonly aliases: ReadonlyMap<string, ReadonlyArray<string>>
  /**
   * Whether resources carry their TTLs. In state of the world such resources are wrapped in `Resource`, and those of a type that holds
   * no name (LEDS).
   */
  readonly ttl: boolean
  /** The next part of a response that is too large for one message; see `ResponseParts.split`. */
  readonly next: Response | undefined
}

/**
 * A variant of a resource that a client has, and is removed.
 *
 * @since 0.1.0
 */
export interface RemovedVariant {
  readonly name: string
  readonly constraints: Uint8Array
}

/**
 * Why the resource of a name cannot be given.
 *
 * @since 0.1.0
 */
export interface NamedError {
  readonly name: string
  readonly error: ResourceError
}
