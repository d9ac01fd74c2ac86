/**
 * Why a route configuration, or another resource that routing needs, cannot be used.
 *
 * @since 0.1.0
 */
import * as ResourceErrors from "@effect-xds/discovery/ResourceError"

export {
  /**
   * Mistakes as one line of text, for a NACK.
   *
   * @since 0.1.0
   */
  format,
  /**
   * Most mistakes that are kept for one resource. All are counted.
   *
   * @since 0.1.0
   */
  maxErrors
} from "@effect-xds/discovery/ResourceError"

/**
 * What kind of mistake it is.
 *
 * @since 0.1.0
 */
export type Reason =
  | "InvalidDomain"
  | "NoDomains"
  | "MatchMissing"
  | "PathSpecifier"
  | "InvalidRegex"
  | "CaseInsensitive"
  | "HeaderSpecifier"
  | "EmptyPattern"
  | "InvalidRange"
  | "Fraction"
  | "Action"
  | "ClusterSpecifier"
  | "ClusterName"
  | "WeightSum"
  | "RetryPolicy"
  | "HashPolicy"
  | "Duration"
  | "UnknownFilter"
  // Listeners.
  | "ApiListener"
  | "RouteSource"
  | "RouteScope"
  | "HttpFilters"
  | "StatefulSession"
  // Clusters.
  | "DiscoveryType"
  | "EdsConfig"
  | "LogicalDns"
  | "Aggregate"
  | "LoadBalancingPolicy"
  | "OutlierDetection"
  | "UpstreamConfig"
  | "TransportSocket"
  // Assignments.
  | "Locality"
  | "PriorityGap"
  | "EndpointWeight"
  | "Address"
  | "Drop"

/**
 * One mistake in a message: where, of what kind, and what to do.
 *
 * @since 0.1.0
 */
export type RouteError = ResourceErrors.ResourceError<Reason>

/**
 * Collects the mistakes of one resource. Owned by the function that made it.
 *
 * @since 0.1.0
 */
export class Collector extends ResourceErrors.Collector<Reason> {}
