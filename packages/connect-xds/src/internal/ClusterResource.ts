/**
 * Clusters and assignments as a client decodes them: for the policies, and for who looks after the members of a cluster.
 * A client has one decoder of a type, so both are read from the same bytes.
 */
import { fromBinary } from "@bufbuild/protobuf"
import * as DiscoveryAssignment from "@effect-xds/discovery/Assignment"
import * as DiscoveryCluster from "@effect-xds/discovery/Cluster"
import * as Decoders from "@effect-xds/discovery/Decoder"
import { format } from "@effect-xds/discovery/ResourceError"
import { ClusterSchema } from "@effect-xds/proto/envoy/config/cluster/v3/cluster"
import { ClusterLoadAssignmentSchema } from "@effect-xds/proto/envoy/config/endpoint/v3/endpoint"
import * as Reason from "@effect-xds/proto/Reason"
import type { Assignment } from "@effect-xds/routing/Assignment"
import * as Assignments from "@effect-xds/routing/Assignment"
import type { Cluster, Profile } from "@effect-xds/routing/Cluster"
import * as Clusters from "@effect-xds/routing/Cluster"
import * as Either from "effect/Either"
import * as UpstreamTls from "./UpstreamTls.js"

/** A cluster. */
export interface ClusterResource {
  readonly cluster: Cluster
  /** How its members are looked after; `undefined`: the policies take what the control plane lists. */
  readonly members: DiscoveryCluster.Cluster | undefined
  /** What the cluster asks for and does not get, for people; empty: nothing. */
  readonly warning: string
}

/** An assignment. */
export interface AssignmentResource {
  /** By the rules of gRPC; `undefined`: those of Envoy are kept. */
  readonly assignment: Assignment | undefined
  /** For members that are looked after. Left: it breaks a rule of Envoy. */
  readonly members: () => Either.Either<DiscoveryAssignment.Assignment, string>
  /** Whether it goes stale: then it matters when it came last. */
  readonly goesStale: boolean
}

const rawBuffer = "type.googleapis.com/envoy.extensions.transport_sockets.raw_buffer.v3.RawBuffer"

/** @param providers names of certificate providers of the bootstrap */
export const clusters = (profile: Profile, providers: ReadonlySet<string>): Decoders.Decoder<ClusterResource> => {
  const read = (bytes: Uint8Array): Either.Either<ClusterResource, string> =>
    Either.gen(function* () {
      const message = fromBinary(ClusterSchema, bytes)
      const made = yield* Either.mapLeft(Clusters.make(message, undefined, profile), format)
      const cluster = profile === "envoy" ? withoutRawBuffer(made) : made
      yield* UpstreamTls.make(cluster, providers)
      const members = () => Either.mapLeft(DiscoveryCluster.make(message), format)
      if (profile === "envoy") {
        const looked = yield* members()
        if (looked.type.pick === undefined) return { cluster, members: looked, warning: "" }
        return yield* Either.left(
          `type: ${looked.type.typeUrl} is not supported for calls; use STATIC, DNS, EDS or an aggregate`
        )
      }
      if (cluster.discovery._tag === "Aggregate" || message.healthChecks.length === 0) {
        return { cluster, members: undefined, warning: "" }
      }
      return Either.match(members(), {
        // ★ Clients of gRPC do without checks: what cannot be checked is called all the same.
        onLeft: (problem) => ({
          cluster,
          members: undefined,
          warning: `cluster ${JSON.stringify(cluster.name)} is used without its health checks: ${problem}`
        }),
        onRight: (looked) => ({ cluster, members: ofGrpc(looked), warning: "" })
      })
    })
  return {
    typeUrl: `type.googleapis.com/${ClusterSchema.typeName}`,
    decode: (bytes) => {
      try {
        return read(bytes)
      } catch (cause) {
        return Either.left(`not a ${ClusterSchema.typeName}: ${Reason.of(cause)}`)
      }
    }
  }
}

/** ★ What is not listed any more is gone (A37), and outliers are the policies' (A50): only checks are added. */
const ofGrpc = (cluster: DiscoveryCluster.Cluster): DiscoveryCluster.Cluster => ({
  ...cluster,
  hosts: { ...cluster.hosts, ignoreHealthOnHostRemoval: true },
  outlierDetection: undefined
})

/** Envoy is told in words that there is no TLS; gRPC clients know no such socket. */
const withoutRawBuffer = (cluster: Cluster): Cluster =>
  cluster.transportSocket?.config?.typeUrl === rawBuffer ? { ...cluster, transportSocket: undefined } : cluster

/** By the rules of gRPC, and whether it goes stale, which those do not look at. */
const ofGrpcRules = Decoders.make(ClusterLoadAssignmentSchema, (message) =>
  Either.map(Assignments.make(message), (assignment) => ({
    assignment,
    goesStale: message.policy?.endpointStaleAfter !== undefined
  }))
)

export const assignments = (
  profile: Profile
): Decoders.Decoder<AssignmentResource> & { readonly tellsAgain: (resource: AssignmentResource) => boolean } => {
  const { decode, typeUrl } = DiscoveryAssignment.decoder
  return {
    typeUrl,
    tellsAgain: ({ goesStale }) => goesStale,
    decode: (bytes) => {
      if (profile === "envoy") {
        return Either.map(decode(bytes), (read) => {
          const members = () => Either.right(read)
          return { assignment: undefined, members, goesStale: read.staleAfter !== undefined }
        })
      }
      return Either.map(ofGrpcRules.decode(bytes), ({ assignment, goesStale }) => {
        let read: Either.Either<DiscoveryAssignment.Assignment, string> | undefined
        return { assignment, members: () => (read ??= decode(bytes)), goesStale }
      })
    }
  }
}
