/**
 * A resource that is large and right: the endpoints of a cluster. For tests of what takes more than one turn of the event loop.
 *
 * @since 0.1.0
 */
import { create } from "@bufbuild/protobuf"
import {
  type ClusterLoadAssignment,
  ClusterLoadAssignmentSchema
} from "@effect-xds/proto/envoy/config/endpoint/v3/endpoint"

/**
 * The assignment of the cluster `web`, with so many endpoints in one locality.
 *
 * @param last the port of the last endpoint: over 65 535 it breaks a rule
 * @since 0.1.0
 */
export const make = (count: number, last = 80): ClusterLoadAssignment => {
  const lbEndpoints = Array.from({ length: count }, (_, index) => ({
    hostIdentifier: {
      case: "endpoint" as const,
      value: {
        address: {
          address: {
            case: "socketAddress" as const,
            value: {
              address: `10.0.${index >> 8}.${index & 255}`,
              portSpecifier: { case: "portValue" as const, value: index === count - 1 ? last : 80 }
            }
          }
        }
      }
    }
  }))
  const endpoints = [{ lbEndpoints, loadBalancingWeight: 1 }]
  return create(ClusterLoadAssignmentSchema, { clusterName: "web", endpoints })
}
