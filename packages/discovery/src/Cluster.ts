/**
 * A Cluster, validated: how its hosts are found, what decides about them, and how calls are shared among them.
 *
 * @see https://www.envoyproxy.io/docs/envoy/latest/api-v3/config/cluster/v3/cluster.proto
 * @since 0.1.0
 */
import type { Cluster as ClusterMessage } from "@effect-xds/proto/envoy/config/cluster/v3/cluster"
import { ClusterSchema, Cluster_DiscoveryType as Type } from "@effect-xds/proto/envoy/config/cluster/v3/cluster"
import type { OutlierDetection } from "@effect-xds/proto/envoy/config/cluster/v3/outlier_detection"
import * as Either from "effect/Either"
import * as Assignments from "./Assignment.js"
import * as Checkers from "./Checker.js"
import type { ClusterError } from "./ClusterError.js"
import { Collector } from "./ClusterError.js"
import type { Configured, Registry } from "./ClusterType.js"
import * as Types from "./ClusterTypes.js"
import * as Decoders from "./Decoder.js"
import type { Settings as HostSettings } from "./HostSet.js"
import * as LocalityRules from "./LocalityRule.js"
import * as OutlierSettings from "./OutlierSettings.js"
import * as PriorityLoads from "./PriorityLoad.js"

/**
 * A cluster.
 *
 * @since 0.1.0
 */
export interface Cluster {
  readonly name: string
  readonly type: Configured
  readonly hosts: HostSettings
  /** Active health checks. */
  readonly checkers: ReadonlyArray<Checkers.Checker>
  /** `undefined`: nobody is ejected. */
  readonly outlierDetection: OutlierSettings.OutlierSettings | undefined
  /** Unless an assignment says otherwise. */
  readonly load: PriorityLoads.Settings
  /** Whether calls are shared among localities by their weights. */
  readonly localities: LocalityRules.LocalityRule
  /** Of `load_assignment`; what EDS brings has its own. */
  readonly drops: Assignments.Assignment["drops"]
}

/**
 * Reads a cluster. Left: all its mistakes. A type that is not registered is one.
 *
 * @param types types that clusters may have; default: all that are here
 * @since 0.1.0
 */
export const make = (
  message: ClusterMessage,
  types: Registry = Types.standard
): Either.Either<Cluster, ReadonlyArray<ClusterError>> => {
  const errors = new Collector()
  if (message.name === "") errors.add("name", "Name", "the name is empty; say one")
  const type = typeOf(message, types, errors)
  const { commonLbConfig, loadAssignment, outlierDetection } = message
  const outliers = outlierDetection === undefined ? undefined : outliersOf(outlierDetection, errors)
  const checkers = checkersOf(message, errors)
  const panicThreshold = panicThresholdOf(message, errors)
  // ★ What is wrong with its endpoints the type has said.
  const assignment =
    loadAssignment === undefined
      ? undefined
      : Assignments.read({ ...loadAssignment, endpoints: [] }, "name", "load_assignment.", new Collector())
  if (type === undefined || errors.count > 0) return Either.left(errors.errors)
  const localities = LocalityRules.of(message)
  return Either.right({
    name: message.name,
    type,
    hosts: {
      checkers: checkers.map(({ name }) => name),
      ignoreHealthOnHostRemoval: message.ignoreHealthOnHostRemoval,
      ignoreNewHostsUntilFirstHc: commonLbConfig?.ignoreNewHostsUntilFirstHc ?? false,
      closeConnectionsOnHostHealthFailure: message.closeConnectionsOnHostHealthFailure
    },
    checkers,
    outlierDetection: outliers,
    load: {
      panicThreshold,
      overprovisioningFactor: assignment?.overprovisioningFactor ?? PriorityLoads.defaults.overprovisioningFactor,
      weightedPriorityHealth: assignment?.weightedPriorityHealth ?? false,
      failTrafficOnPanic: localities.failTrafficOnPanic
    },
    localities,
    drops: assignment?.drops ?? []
  })
}

/**
 * Clusters.
 *
 * @param types types that clusters may have; default: all that are here
 * @since 0.1.0
 */
export const decoder = (types?: Registry): Decoders.Decoder<Cluster> =>
  Decoders.make(ClusterSchema, (message) => make(message, types))

const typeOf = (message: ClusterMessage, types: Registry, errors: Collector): Configured | undefined => {
  const { clusterDiscoveryType: given } = message
  const any = given.case === "clusterType" ? given.value.typedConfig : undefined
  // A type that is not set is STATIC, the first of the enum. ★ cluster_type is found by its type URL, not by its name.
  const value = given.case === "type" ? given.value : Type.STATIC
  const typeUrl = given.case === "clusterType" ? any?.typeUrl : nameOf(value)
  const path = given.case === "clusterType" ? "cluster_type.typed_config" : "type"
  const type = typeUrl === undefined ? undefined : types.get(typeUrl)
  if (type === undefined) {
    const text =
      typeUrl === undefined
        ? "typed_config is missing; it says the type"
        : `${typeUrl} is not registered; use one of ${Array.from(types.keys()).join(", ")}, or register it`
    errors.add(path, "ClusterType", text)
    return undefined
  }
  const isLeft = Types.leavesPicking(message)
  if (type.picks !== isLeft && !(isLeft && type.isAggregate)) {
    const text = type.picks
      ? `${type.typeUrl} picks hosts itself; set lb_policy to CLUSTER_PROVIDED`
      : `${type.typeUrl} does not pick hosts itself; use another lb_policy than CLUSTER_PROVIDED`
    errors.add(
      message.loadBalancingPolicy === undefined ? "lb_policy" : "load_balancing_policy",
      "LoadBalancingPolicy",
      text
    )
  }
  const decoded = type.decode({ cluster: message, config: any?.value ?? new Uint8Array() })
  if (Either.isRight(decoded)) return decoded.right
  for (const { message: text, path: at, reason } of decoded.left) errors.add(at, reason, text)
  return undefined
}

const rawBuffer = "type.googleapis.com/envoy.extensions.transport_sockets.raw_buffer.v3.RawBuffer"

const checkersOf = (message: ClusterMessage, errors: Collector): ReadonlyArray<Checkers.Checker> => {
  const { healthChecks, transportSocket, transportSocketMatches } = message
  // ★ A probe without TLS at a host that wants it fails, and that host would never be well.
  const noTls = "health checks have no TLS; leave out them or this"
  if (healthChecks.length > 0) {
    const { configType } = transportSocket ?? {}
    const isRaw = configType?.case === "typedConfig" && configType.value.typeUrl === rawBuffer
    if (transportSocket !== undefined && !isRaw) errors.add("transport_socket", "HealthCheckTls", noTls)
    if (transportSocketMatches.length > 0) errors.add("transport_socket_matches", "HealthCheckTls", noTls)
  }
  const checkers = Checkers.make(healthChecks)
  if (Either.isRight(checkers)) return checkers.right
  for (const { message, path, reason } of checkers.left) errors.add(path, reason, message)
  return []
}

/** ★ A number that a newer proto has is no key of the enum. */
const nameOf = (value: Type): string => {
  const names: Readonly<Record<number, string | undefined>> = Type
  return names[value] ?? String(value)
}

const panicThresholdOf = ({ commonLbConfig }: ClusterMessage, errors: Collector): number => {
  const { value } = commonLbConfig?.healthyPanicThreshold ?? { value: PriorityLoads.defaults.panicThreshold }
  if (value >= 0 && value <= 100) return Math.round(value)
  const path = "common_lb_config.healthy_panic_threshold.value"
  errors.add(path, "PanicThreshold", `is ${value}; 0 to 100 is possible`)
  return 0
}

const outliersOf = (message: OutlierDetection, errors: Collector): OutlierSettings.OutlierSettings | undefined => {
  const settings = OutlierSettings.fromMessage("envoy", message)
  if (Either.isRight(settings)) return settings.right
  for (const { field, message: text } of settings.left)
    errors.add(`outlier_detection.${field}`, "OutlierDetection", text)
  return undefined
}
