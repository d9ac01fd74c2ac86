/**
 * The ClusterLoadAssignment that a Cluster of type EDS needs.
 *
 * ★ When CDS changes such a cluster, the client warms the new one and waits for its assignment, even if that is unchanged. So a
 * server sends it again after the cluster. To find its name, the server reads three fields of the Cluster.
 *
 * @see https://www.envoyproxy.io/docs/envoy/latest/api-docs/xds_protocol "Resource warming"
 * @since 0.1.0
 */
import { WireType } from "@bufbuild/protobuf/wire"
import { FieldScan } from "@effect-xds/proto/FieldScan"
import { fields } from "../wire/Wire.js"

/** envoy.config.cluster.v3.Cluster */
const TYPE = 2
const EDS_CLUSTER_CONFIG = 3
const CLUSTER_TYPE = 38
/** Cluster.DiscoveryType.EDS */
const EDS = 3
/** Cluster.EdsClusterConfig */
const SERVICE_NAME = 2

/**
 * The name of the assignment that a Cluster of type EDS is warmed with: its `service_name`, else the cluster's name.
 * `undefined` for clusters of another type and for bytes that are not a Cluster.
 *
 * @since 0.1.0
 */
export const assignmentName = (clusterName: string, cluster: Uint8Array): string | undefined => {
  const scan = new FieldScan(cluster)
  let isEds = false
  let serviceName: string | undefined = ""
  while (scan.next()) {
    if (scan.number === TYPE && scan.wireType === varint) {
      isEds = scan.value === EDS
    } else if (scan.number === CLUSTER_TYPE) {
      // The other member of the same oneof: the last one on the wire wins.
      isEds = false
    } else if (scan.number === EDS_CLUSTER_CONFIG && scan.wireType === delimited) {
      const config = new FieldScan(cluster, scan.begin, scan.end)
      while (config.next()) {
        if (config.number === SERVICE_NAME && config.wireType === delimited) serviceName = config.text(clusterName)
      }
      if (!config.isSure) return byReader(clusterName, cluster)
    }
  }
  if (!scan.isSure || serviceName === undefined) return byReader(clusterName, cluster)
  return isEds ? assignmentOf(clusterName, serviceName) : undefined
}

const varint: number = WireType.Varint
const delimited: number = WireType.LengthDelimited

/** Usually both names are equal: then only one string is kept. */
const assignmentOf = (clusterName: string, serviceName: string): string =>
  serviceName === "" || serviceName === clusterName ? clusterName : serviceName

/** The slow path, for bytes that the scan is not sure of. */
const byReader = (clusterName: string, cluster: Uint8Array): string | undefined => {
  const seen = { isEds: false, serviceName: "" }
  try {
    fields(cluster, (reader, field, type) => {
      if (field === TYPE && type === WireType.Varint) {
        seen.isEds = reader.int32() === EDS
        return true
      }
      if (field === CLUSTER_TYPE) {
        // The other member of the same oneof: the last one on the wire wins.
        seen.isEds = false
        return false
      }
      if (field === EDS_CLUSTER_CONFIG && type === WireType.LengthDelimited) {
        fields(reader.bytes(), (inner, innerField, innerType) => {
          if (innerField !== SERVICE_NAME || innerType !== WireType.LengthDelimited) return false
          seen.serviceName = inner.string()
          return true
        })
        return true
      }
      return false
    })
  } catch {
    return undefined
  }
  return seen.isEds ? assignmentOf(clusterName, seen.serviceName) : undefined
}
