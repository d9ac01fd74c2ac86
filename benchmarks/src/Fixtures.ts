/**
 * The resources that are served and their changes: made from a seed, so that every server and every run has the same
 * bytes. A file holds them as length-delimited `envoy.service.discovery.v3.Resource`.
 */
import { create, toBinary } from "@bufbuild/protobuf"
import { AnySchema, DurationSchema } from "@bufbuild/protobuf/wkt"
import { sizeDelimitedEncode } from "@bufbuild/protobuf/wire"
import {
  Cluster_DiscoveryType,
  Cluster_LbPolicy,
  ClusterSchema
} from "@effect-xds/proto/envoy/config/cluster/v3/cluster"
import { ClusterLoadAssignmentSchema } from "@effect-xds/proto/envoy/config/endpoint/v3/endpoint"
import { ResourceSchema } from "@effect-xds/proto/envoy/service/discovery/v3/discovery"
import { closeSync, openSync, writeSync } from "node:fs"
import { join } from "node:path"

export type Kind = "clusters" | "assignments"

export const typeUrls: Readonly<Record<Kind, string>> = {
  clusters: "type.googleapis.com/envoy.config.cluster.v3.Cluster",
  assignments: "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment"
}

/** A resource with its bytes. */
export interface Encoded {
  readonly name: string
  readonly value: Uint8Array
}

/** Numbers from 0 to 1 that are the same for the same seed (mulberry32). */
export const random = (seed: number): (() => number) => {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

const digits = (value: number, length: number): string => String(value).padStart(length, "0")

const text = (next: () => number, length: number): string =>
  Array.from({ length }, () => Math.floor(next() * 36).toString(36)).join("")

const ads = { configSourceSpecifier: { case: "ads", value: {} } } as const

/** Says in a cluster which change made it, always at the same length. */
export const mark = (sequence: number): string => `seq-${digits(sequence, 9)}`

/** A cluster of about 600 bytes, as a mesh has it. `sequence` says which change made it. */
const cluster = (index: number, sequence: number): Encoded => {
  const next = random(index + 1)
  const name = `outbound|8080||service-${digits(index, 6)}.team-${text(next, 4)}.svc.cluster.local`
  const meta = (key: string, length: number) => ({
    key,
    value: { kind: { case: "stringValue" as const, value: text(next, length) } }
  })
  // By key, as encoders that sort have them.
  const labels = [meta("commit", 42), meta("owner", 24), meta("revision", 36), meta("zone", 12)]
  const message = create(ClusterSchema, {
    name,
    altStatName: mark(sequence),
    clusterDiscoveryType: { case: "type", value: Cluster_DiscoveryType.EDS },
    edsClusterConfig: { edsConfig: ads, serviceName: name },
    connectTimeout: create(DurationSchema, { seconds: 5n }),
    lbPolicy: Cluster_LbPolicy.LEAST_REQUEST,
    circuitBreakers: {
      thresholds: [
        {
          maxConnections: 4294967295,
          maxPendingRequests: 4294967295,
          maxRequests: 4294967295,
          maxRetries: 4294967295,
          trackRemaining: true
        }
      ]
    },
    outlierDetection: {
      consecutive5xx: 5,
      interval: { seconds: 10n },
      baseEjectionTime: { seconds: 30n },
      maxEjectionPercent: 10
    },
    metadata: {
      filterMetadata: {
        mesh: { fields: Object.fromEntries(labels.map(({ key, value }) => [key, value])) }
      }
    }
  })
  return { name, value: toBinary(ClusterSchema, message) }
}

/** The place of an endpoint. */
export const hostAt = (address: string, port: number) => ({
  hostIdentifier: {
    case: "endpoint" as const,
    value: {
      address: {
        address: {
          case: "socketAddress" as const,
          value: { address, portSpecifier: { case: "portValue" as const, value: port } }
        }
      }
    }
  }
})

/** The endpoints of a cluster: three in two zones, about 180 bytes. */
const assignment = (index: number, sequence: number): Encoded => {
  const next = random(index + 1)
  const clusterName = `outbound|8080||service-${digits(index, 6)}.team-${text(next, 4)}.svc.cluster.local`
  const octet = (): number => Math.floor(next() * 256)
  const endpoint = () => ({
    ...hostAt(`10.${octet()}.${octet()}.${octet()}`, 8080),
    loadBalancingWeight: 1_000_000 + sequence
  })
  const message = create(ClusterLoadAssignmentSchema, {
    clusterName,
    endpoints: [
      { locality: { zone: "a" }, loadBalancingWeight: 2, lbEndpoints: [endpoint(), endpoint()] },
      { locality: { zone: "b" }, loadBalancingWeight: 1, lbEndpoints: [endpoint()] }
    ]
  })
  return { name: clusterName, value: toBinary(ClusterLoadAssignmentSchema, message) }
}

/** Resource `index` as change `sequence` made it; 0: as it is in the file. */
export const resource = (kind: Kind, index: number, sequence: number): Encoded =>
  kind === "clusters" ? cluster(index, sequence) : assignment(index, sequence)

/** Writes resources 0 to `count` - 1 into a file in `folder`. */
export const write = (folder: string, kind: Kind, count: number): string => {
  const path = join(folder, `${kind}-${count}.bin`)
  const file = openSync(path, "w")
  let chunks: Array<Uint8Array> = []
  for (let index = 0; index < count; index++) {
    const { name, value } = resource(kind, index, 0)
    const any = create(AnySchema, { typeUrl: typeUrls[kind], value })
    chunks.push(sizeDelimitedEncode(ResourceSchema, create(ResourceSchema, { name, resource: any })))
    if (chunks.length === 1000 || index === count - 1) {
      writeSync(file, Buffer.concat(chunks))
      chunks = []
    }
  }
  closeSync(file)
  return path
}

/** Which change made a cluster. */
export const sequenceOf = ({ value }: Encoded): number =>
  Number(/seq-(\d{9})/.exec(Buffer.from(value).toString("latin1"))?.[1] ?? Number.NaN)

/**
 * The digest of a state that the load generator keeps for each stream: the sum of the FNV-1a hashes of the name of every
 * cluster and the mark of the change that made it.
 */
export const digest = (clusters: Iterable<Encoded>): number => {
  let sum = 0
  for (const resource of clusters) {
    let hash = 0x811c9dc5
    for (const byte of Buffer.from(`${resource.name}${mark(sequenceOf(resource))}`)) {
      hash = Math.imul(hash ^ byte, 0x01000193)
    }
    sum = (sum + hash) >>> 0
  }
  return sum
}
