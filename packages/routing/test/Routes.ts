import { create } from "@bufbuild/protobuf"
import type { DescMessage, MessageInitShape, MessageShape } from "@bufbuild/protobuf"
import { RouteConfigurationSchema } from "@effect-xds/proto/envoy/config/route/v3/route"
import type {
  RouteMatchSchema,
  RouteSchema,
  VirtualHostSchema
} from "@effect-xds/proto/envoy/config/route/v3/route_components"
import * as CallHeaders from "@effect-xds/routing/CallHeaders"
import type { Reason } from "@effect-xds/routing/RouteError"
import * as RouteTable from "@effect-xds/routing/RouteTable"
import type { Call } from "@effect-xds/routing/Matcher"
import * as Either from "effect/Either"

type Init<Desc extends DescMessage> = Exclude<MessageInitShape<Desc>, MessageShape<Desc>>
export type RouteInit = Init<typeof RouteSchema>
export type MatchInit = Init<typeof RouteMatchSchema>
export type VirtualHostInit = Init<typeof VirtualHostSchema>

export type ActionInit = Exclude<RouteInit["action"], undefined>

/** An action: everything to one cluster. */
export const to = (cluster: string): ActionInit => ({
  case: "route",
  value: { clusterSpecifier: { case: "cluster", value: cluster } }
})

/** An action: shares of clusters. */
export const split = (weights: Record<string, number>, totalWeight?: number): ActionInit => ({
  case: "route",
  value: {
    clusterSpecifier: {
      case: "weightedClusters",
      value: {
        clusters: Object.entries(weights).map(([name, weight]) => ({ name, weight })),
        ...(totalWeight === undefined ? {} : { totalWeight })
      }
    }
  }
})

export const all: MatchInit = { pathSpecifier: { case: "prefix", value: "" } }

export const tableOf = (virtualHosts: Array<VirtualHostInit>, options?: RouteTable.Options) =>
  RouteTable.make(create(RouteConfigurationSchema, { name: "routes", virtualHosts }), options)

/** The reasons of the mistakes; empty if there are none. */
export const reasons = (virtualHosts: Array<VirtualHostInit>, options?: RouteTable.Options): ReadonlyArray<Reason> => {
  const made = tableOf(virtualHosts, options)
  return Either.isLeft(made) ? made.left.map(({ reason }) => reason) : []
}

/** A virtual host for every host. */
export const host = (...routes: Array<RouteInit>): VirtualHostInit => ({ name: "all", domains: ["*"], routes })

/** One route to the cluster `hit`. */
export const when = (match: MatchInit): VirtualHostInit => host({ match, action: to("hit") })

export const call = (
  path: string,
  headers: ReadonlyArray<readonly [string, string]> = [],
  ...draws: ReadonlyArray<number>
): Call => ({ path, headers: CallHeaders.fromEntries(headers), draw: (n) => draws[n] ?? 0 })

/** The cluster that a call goes to, or why it goes nowhere. */
export const sent = (
  virtualHosts: Array<VirtualHostInit>,
  each: Call,
  options?: RouteTable.Options,
  authority = "host"
): string => {
  const match = RouteTable.match(Either.getOrThrow(tableOf(virtualHosts, options)), authority, each)
  if (match._tag !== "Route") return match._tag
  const { clusters } = match.route.action
  return clusters._tag === "Cluster" ? clusters.cluster : "weighted"
}

export const A28: RouteTable.Options = { rules: "A28" }
