/**
 * Field numbers of the protobuf messages that are read or written here: one table per message, for encoders and decoders.
 *
 * @see https://www.envoyproxy.io/docs/envoy/latest/api-v3/service/discovery/v3/discovery.proto
 * @since 0.1.0
 */
import { WireType } from "@bufbuild/protobuf/wire"

/**
 * `envoy.service.discovery.v3.DiscoveryRequest`
 *
 * @since 0.1.0
 */
export const DiscoveryRequest = {
  versionInfo: 1,
  node: 2,
  resourceNames: 3,
  typeUrl: 4,
  responseNonce: 5,
  errorDetail: 6,
  resourceLocators: 7
} as const

/**
 * `envoy.service.discovery.v3.DeltaDiscoveryRequest`
 *
 * @since 0.1.0
 */
export const DeltaDiscoveryRequest = {
  node: 1,
  typeUrl: 2,
  resourceNamesSubscribe: 3,
  resourceNamesUnsubscribe: 4,
  initialResourceVersions: 5,
  responseNonce: 6,
  errorDetail: 7,
  resourceLocatorsSubscribe: 8,
  resourceLocatorsUnsubscribe: 9
} as const

/**
 * `envoy.service.discovery.v3.DiscoveryResponse`
 *
 * @since 0.1.0
 */
export const DiscoveryResponse = {
  versionInfo: 1,
  resources: 2,
  typeUrl: 4,
  nonce: 5,
  controlPlane: 6,
  resourceErrors: 7
} as const

/**
 * `envoy.service.discovery.v3.DeltaDiscoveryResponse`
 *
 * @since 0.1.0
 */
export const DeltaDiscoveryResponse = {
  systemVersionInfo: 1,
  resources: 2,
  typeUrl: 4,
  nonce: 5,
  removedResources: 6,
  controlPlane: 7,
  removedResourceNames: 8,
  resourceErrors: 9
} as const

/**
 * `envoy.service.discovery.v3.Resource`
 *
 * @since 0.1.0
 */
export const Resource = { version: 1, resource: 2, name: 3, aliases: 4, ttl: 6, resourceName: 8 } as const

/**
 * `envoy.service.discovery.v3.ResourceName`
 *
 * @since 0.1.0
 */
export const ResourceName = { name: 1, dynamicParameterConstraints: 2 } as const

/**
 * `envoy.service.discovery.v3.ResourceLocator`
 *
 * @since 0.1.0
 */
export const ResourceLocator = { name: 1, dynamicParameters: 2 } as const

/**
 * `envoy.service.discovery.v3.DynamicParameterConstraints`
 *
 * @since 0.1.0
 */
export const DynamicParameterConstraints = { constraint: 1, or: 2, and: 3, not: 4 } as const

/**
 * `envoy.service.discovery.v3.DynamicParameterConstraints.SingleConstraint`
 *
 * @since 0.1.0
 */
export const DynamicParameterSingleConstraint = { key: 1, value: 2, exists: 3 } as const

/**
 * `envoy.service.discovery.v3.DynamicParameterConstraints.ConstraintList`
 *
 * @since 0.1.0
 */
export const DynamicParameterConstraintList = { constraints: 1 } as const

/**
 * `envoy.service.discovery.v3.ResourceError`
 *
 * @since 0.1.0
 */
export const ResourceError = { resourceName: 1, errorDetail: 2 } as const

/**
 * `envoy.config.core.v3.ControlPlane`
 *
 * @since 0.1.0
 */
export const ControlPlane = { identifier: 1 } as const

/**
 * `google.protobuf.Any`
 *
 * @since 0.1.0
 */
export const Any = { typeUrl: 1, value: 2 } as const

/**
 * `google.protobuf.Duration`
 *
 * @since 0.1.0
 */
export const Duration = { seconds: 1, nanos: 2 } as const

/**
 * `google.rpc.Status`
 *
 * @since 0.1.0
 */
export const Status = { code: 1, message: 2 } as const

/**
 * An entry of a protobuf map.
 *
 * @since 0.1.0
 */
export const MapEntry = { key: 1, value: 2 } as const

/**
 * The tag of a length-delimited field. One byte: for field numbers up to 15.
 *
 * @since 0.1.0
 */
export const tagOf = (field: number): number => field * 8 + WireType.LengthDelimited
