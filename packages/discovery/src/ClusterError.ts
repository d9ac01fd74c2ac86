/**
 * Why a cluster or an assignment cannot be used.
 *
 * @since 0.1.0
 */
import type { Reason as CheckerReason } from "./Checker.js"
import * as ResourceErrors from "./ResourceError.js"

/**
 * What kind of mistake it is.
 *
 * @since 0.1.0
 */
export type Reason =
  // Clusters.
  | "Name"
  | "DiscoveryType"
  | "ClusterType"
  | "Dns"
  | "LogicalDns"
  | "OriginalDst"
  | "EdsConfig"
  | "Aggregate"
  | "LoadBalancingPolicy"
  | "PanicThreshold"
  | "OutlierDetection"
  | CheckerReason
  // Assignments.
  | "Endpoints"
  | "NamedEndpoint"
  | "Address"
  | "HealthStatus"
  | "Priority"
  | "Weight"
  | "WeightSum"
  | "Drop"
  | "Policy"
  // Both.
  | "Duration"

/**
 * One mistake in a message: where, of what kind, and what to do.
 *
 * @since 0.1.0
 */
export type ClusterError = ResourceErrors.ResourceError<Reason>

/**
 * Collects the mistakes of one resource. Owned by the function that made it.
 *
 * @since 0.1.0
 */
export class Collector extends ResourceErrors.Collector<Reason> {}
