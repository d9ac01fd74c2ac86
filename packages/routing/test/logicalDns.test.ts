import { create } from "@bufbuild/protobuf"
import {
  ClusterSchema,
  Cluster_DiscoveryType as DiscoveryType
} from "@effect-xds/proto/envoy/config/cluster/v3/cluster"
import * as Cluster from "@effect-xds/routing/Cluster"
import * as Listener from "@effect-xds/routing/Listener"
import * as XdsConfig from "@effect-xds/routing/XdsConfig"
import { GrpcListener } from "@effect-xds/testing"
import { expect, it } from "@effect/vitest"
import * as Either from "effect/Either"
import { all, tableOf, when } from "./Routes.js"

const valueOf = <A>(made: Either.Either<A, unknown>) => ({ _tag: "Value" as const, value: Either.getOrThrow(made) })

/** The host name that the one endpoint of a LOGICAL_DNS cluster has. */
const hostnameOf = (address: string): string | undefined => {
  const cluster = create(ClusterSchema, {
    name: "hit",
    clusterDiscoveryType: { case: "type", value: DiscoveryType.LOGICAL_DNS },
    loadAssignment: {
      endpoints: [
        {
          lbEndpoints: [
            {
              hostIdentifier: {
                case: "endpoint",
                value: {
                  hostname: "other.example",
                  address: {
                    address: {
                      case: "socketAddress",
                      value: { address, portSpecifier: { case: "portValue", value: 80 } }
                    }
                  }
                }
              }
            }
          ]
        }
      ]
    }
  })
  const inputs: ReadonlyArray<XdsConfig.Input> = [
    { _tag: "Start" },
    { _tag: "Listener", name: "shop", known: valueOf(Listener.make(GrpcListener.make("shop"))) },
    { _tag: "RouteConfiguration", name: "shop", known: valueOf(tableOf([when(all)])) },
    { _tag: "Cluster", name: "hit", known: valueOf(Cluster.make(cluster)) },
    { _tag: "Dns", name: `${address}:80`, known: { _tag: "Value", value: ["10.0.0.1:80"] } }
  ]
  let state = XdsConfig.make("shop", "shop")
  for (const input of inputs) [state] = XdsConfig.step(state, input)
  const leaf = state.told?._tag === "Config" ? state.told.config.clusters.get("hit") : undefined
  return leaf?._tag === "Leaf" ? leaf.assignment?.priorities[0]?.[0]?.endpoints[0]?.hostname : undefined
}

it.each([
  ["backend.example", "backend.example:80"],
  ["::1", "[::1]:80"]
])("★ the host name of LOGICAL_DNS is the name that is resolved, with its port (A81): %s", (address, expected) => {
  expect(hostnameOf(address)).toBe(expected)
})
