/**
 * The input of a store: the resources of a group, as protobuf-es messages, `google.protobuf.Any`s or encoded bytes. A
 * snapshot is a plain object. Its resources are encoded and checked when it enters a store; messages must not be
 * changed until then.
 *
 * @since 0.1.0
 */
import type { Resources, Versions } from "./snapshot/Slots.js"

export { check, type DanglingReference } from "./snapshot/DanglingReferences.js"
export { encode, type EncodedSnapshot, type Inspected, type Inspector } from "./snapshot/Encoding.js"
export {
  apiOf,
  keys,
  malformed,
  malformedChange,
  type Names,
  type Resources,
  type Slot,
  type Versions,
  versionsByTypeUrl
} from "./snapshot/Slots.js"
export { SnapshotError } from "./snapshot/SnapshotError.js"
export {
  type Encoded,
  type Entry,
  type Item,
  resource,
  type ResourceOptions,
  type Source,
  unavailable,
  virtualHost
} from "./snapshot/Source.js"

/**
 * The resources of a group, as a plain object. Its iterables are consumed once.
 *
 * @example
 * import { create } from "@bufbuild/protobuf"
 * import { Cluster_DiscoveryType, ClusterSchema } from "@effect-xds/proto/envoy/config/cluster/v3/cluster"
 * import type { Snapshot } from "@effect-xds/server"
 *
 * const cluster = create(ClusterSchema, {
 *   name: "backend",
 *   clusterDiscoveryType: { case: "type", value: Cluster_DiscoveryType.EDS }
 * })
 *
 * export const snapshot: Snapshot.Snapshot = { clusters: [cluster], versions: { clusters: "release-7" } }
 *
 * @since 0.1.0
 */
export interface Snapshot extends Resources {
  readonly versions?: Versions | undefined
  /**
   * The group below this one: its resources are visible through this group, without a copy. If both have a resource,
   * this group's counts; when it is removed here, the other one is visible again. Until that group is set, the clients
   * of this one wait. A type with resources in this snapshot gets its version from the visible content, whatever
   * `versions` says. Default: none.
   */
  readonly over?: string | undefined
}
