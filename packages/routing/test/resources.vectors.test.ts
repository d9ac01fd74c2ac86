import { create } from "@bufbuild/protobuf"
import type { MessageInitShape } from "@bufbuild/protobuf"
import { type Any, anyPack, AnySchema } from "@bufbuild/protobuf/wkt"
import {
  ClusterSchema,
  Cluster_DiscoveryType as DiscoveryType,
  Cluster_LbPolicy as LbPolicy
} from "@effect-xds/proto/envoy/config/cluster/v3/cluster"
import type { ConfigSourceSchema } from "@effect-xds/proto/envoy/config/core/v3/config_source"
import { HealthStatus } from "@effect-xds/proto/envoy/config/core/v3/health_check"
import { ClusterLoadAssignmentSchema } from "@effect-xds/proto/envoy/config/endpoint/v3/endpoint"
import type {
  LbEndpointSchema,
  LocalityLbEndpointsSchema
} from "@effect-xds/proto/envoy/config/endpoint/v3/endpoint_components"
import { ListenerSchema } from "@effect-xds/proto/envoy/config/listener/v3/listener"
import { ClusterConfigSchema } from "@effect-xds/proto/envoy/extensions/clusters/aggregate/v3/cluster"
import { RouterSchema } from "@effect-xds/proto/envoy/extensions/filters/http/router/v3/router"
import { HttpConnectionManagerSchema } from "@effect-xds/proto/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager"
import { LeastRequestSchema } from "@effect-xds/proto/envoy/extensions/load_balancing_policies/least_request/v3/least_request"
import { RingHashSchema } from "@effect-xds/proto/envoy/extensions/load_balancing_policies/ring_hash/v3/ring_hash"
import { RoundRobinSchema } from "@effect-xds/proto/envoy/extensions/load_balancing_policies/round_robin/v3/round_robin"
import * as Assignment from "@effect-xds/routing/Assignment"
import * as Cluster from "@effect-xds/routing/Cluster"
import * as IpAddress from "@effect-xds/discovery/IpAddress"
import * as Listener from "@effect-xds/routing/Listener"
import { TypedStructSchema } from "@effect-xds/proto/xds/type/v3/typed_struct"
import { define } from "@effect-xds/routing/Policy"
import * as PolicyRegistry from "@effect-xds/routing/PolicyRegistry"
import type { RouteError } from "@effect-xds/routing/RouteError"
import { describe, expect, it } from "@effect/vitest"
import * as Either from "effect/Either"

type LocalityInit = MessageInitShape<typeof LocalityLbEndpointsSchema>
type EndpointInit = MessageInitShape<typeof LbEndpointSchema>

const endpoint = (address: string, more: Omit<EndpointInit, "$typeName" | "$unknown"> = {}): EndpointInit => ({
  hostIdentifier: {
    case: "endpoint",
    value: {
      address: {
        address: { case: "socketAddress", value: { address, portSpecifier: { case: "portValue", value: 80 } } }
      }
    }
  },
  ...more
})
const zone = (name: string) => ({ locality: { zone: name } })
const assignment = (...endpoints: ReadonlyArray<LocalityInit>) =>
  Assignment.make(create(ClusterLoadAssignmentSchema, { clusterName: "a", endpoints: [...endpoints] }))

/** Path and reason of each mistake. */
const mistakes = (made: Either.Either<unknown, ReadonlyArray<RouteError>>): ReadonlyArray<string> =>
  Either.isLeft(made) ? made.left.map(({ path, reason }) => `${path} ${reason}`) : []

describe("assignments", () => {
  it("vector 69: ★ a locality without weight leaves a gap if it is the only one of its priority", () => {
    const made = assignment({ ...zone("x"), priority: 0 }, { ...zone("y"), priority: 1, loadBalancingWeight: 1 })
    expect(mistakes(made)).toEqual(["endpoints PriorityGap"])
  })

  it("vector 70: ★ an address twice, also where one of them is not used", () => {
    const made = assignment({
      ...zone("x"),
      loadBalancingWeight: 1,
      lbEndpoints: [endpoint("10.0.0.1"), endpoint("10.0.0.1", { healthStatus: HealthStatus.UNHEALTHY })]
    })
    expect(mistakes(made)).toEqual(["endpoints[0].lb_endpoints[1].endpoint.address Address"])
  })

  it.each<[string, LocalityInit, string]>([
    ["no locality", { loadBalancingWeight: 1 }, "endpoints[0].locality Locality"],
    [
      "a weight of 0",
      { ...zone("x"), loadBalancingWeight: 1, lbEndpoints: [endpoint("10.0.0.1", { loadBalancingWeight: 0 })] },
      "endpoints[0].lb_endpoints[0].load_balancing_weight EndpointWeight"
    ],
    [
      "a name for an address",
      { ...zone("x"), loadBalancingWeight: 1, lbEndpoints: [endpoint("backend.example")] },
      "endpoints[0].lb_endpoints[0].endpoint.address.socket_address.address Address"
    ]
  ])("%s: rejected", (_, locality, expected) => {
    expect(mistakes(assignment(locality))).toEqual([expected])
  })

  it("a locality twice in a priority; weights over 2³²−1", () => {
    const twice = assignment({ ...zone("x"), loadBalancingWeight: 1 }, { ...zone("x"), loadBalancingWeight: 1 })
    expect(mistakes(twice)).toEqual(["endpoints[1].locality Locality"])
    const heavy = assignment(
      { ...zone("x"), loadBalancingWeight: 4294967295 },
      { ...zone("y"), loadBalancingWeight: 1 }
    )
    expect(mistakes(heavy)).toEqual(["endpoints[1].load_balancing_weight WeightSum"])
  })

  it("UNKNOWN and HEALTHY are used; no endpoints are valid", () => {
    const made = Either.getOrThrow(
      assignment({
        ...zone("x"),
        loadBalancingWeight: 1,
        lbEndpoints: [
          endpoint("10.0.0.1"),
          endpoint("10.0.0.2", { healthStatus: HealthStatus.HEALTHY }),
          endpoint("10.0.0.3", { healthStatus: HealthStatus.DEGRADED }),
          endpoint("10.0.0.4", { healthStatus: HealthStatus.DRAINING }),
          endpoint("10.0.0.5", { healthStatus: HealthStatus.TIMEOUT })
        ]
      })
    )
    expect(made.priorities[0]?.[0]?.endpoints.map(({ addresses }) => addresses[0])).toEqual([
      "10.0.0.1:80",
      "10.0.0.2:80"
    ])
    expect(Either.getOrThrow(assignment()).priorities).toEqual([])
  })

  it("vector 84, weights: ★ shares are multiplied, not weights", () => {
    const locality = (
      name: string,
      weight: number,
      endpoints: ReadonlyArray<readonly [string, number]>
    ): LocalityInit => ({
      ...zone(name),
      loadBalancingWeight: weight,
      lbEndpoints: endpoints.map(([address, loadBalancingWeight]) => endpoint(address, { loadBalancingWeight }))
    })
    const made = Either.getOrThrow(
      assignment(
        locality("x", 3, [
          ["10.0.0.1", 2],
          ["10.0.0.2", 1]
        ]),
        locality("y", 2, [
          ["10.0.0.3", 3],
          ["10.0.0.4", 1]
        ])
      )
    )
    const weights = Assignment.weighed(made.priorities[0] ?? []).map(({ weight }) => weight)
    expect(weights).toEqual([858993458, 429496728, 644245094, 214748364])
  })
})

describe("clusters", () => {
  const ads = { configSourceSpecifier: { case: "ads" as const, value: {} } }
  const cluster = (init: MessageInitShape<typeof ClusterSchema>) => Cluster.make(create(ClusterSchema, init))
  const eds = {
    clusterDiscoveryType: { case: "type" as const, value: DiscoveryType.EDS },
    edsClusterConfig: { edsConfig: ads }
  }

  it("EDS: the name of its assignment; ★ of xdstp it must be said", () => {
    expect(Either.getOrThrow(cluster({ name: "c", ...eds })).discovery).toEqual({ _tag: "Eds", name: "c" })
    expect(mistakes(cluster({ name: "xdstp://a/envoy.config.cluster.v3.Cluster/c", ...eds }))).toEqual([
      "eds_cluster_config.service_name EdsConfig"
    ])
    expect(mistakes(cluster({ name: "c", clusterDiscoveryType: eds.clusterDiscoveryType }))).toEqual([
      "eds_cluster_config.eds_config EdsConfig"
    ])
  })

  it("★ locality_lb_config of a policy counts in the profile of Envoy alone (A52)", () => {
    const policyOf = (typedConfig: Any, profile: Cluster.Profile) => {
      const policies = [{ typedExtensionConfig: { name: "p", typedConfig } }]
      const message = create(ClusterSchema, { name: "c", ...eds, loadBalancingPolicy: { policies } })
      return Either.getOrThrow(Cluster.make(message, PolicyRegistry.standard, profile)).policy.policy.name
    }
    const localityConfigSpecifier = { case: "localityWeightedLbConfig", value: {} } as const
    const roundRobin = create(RoundRobinSchema, { localityLbConfig: { localityConfigSpecifier } })
    const leastRequest = create(LeastRequestSchema, { localityLbConfig: { localityConfigSpecifier } })
    const weighted = [anyPack(RoundRobinSchema, roundRobin), anyPack(LeastRequestSchema, leastRequest)]
    const both = (any: Any) => [policyOf(any, "envoy"), policyOf(any, "grpc")]
    expect(weighted.map(both)).toEqual([
      ["xds_wrr_locality_experimental", "round_robin"],
      ["xds_wrr_locality_experimental", "least_request_experimental"]
    ])
    const flat = anyPack(RoundRobinSchema, create(RoundRobinSchema))
    const ring = anyPack(RingHashSchema, create(RingHashSchema, { localityWeightedLbConfig: {} }))
    expect([both(flat), both(ring)]).toEqual([
      ["round_robin", "round_robin"],
      ["ring_hash_experimental", "ring_hash_experimental"]
    ])
  })

  it("an aggregate has its panic threshold in the profile of Envoy", () => {
    const typedConfig = anyPack(ClusterConfigSchema, create(ClusterConfigSchema, { clusters: ["a"] }))
    const discoveryOf = (value: number | undefined, profile: Cluster.Profile) => {
      const message = create(ClusterSchema, {
        name: "c",
        clusterDiscoveryType: { case: "clusterType", value: { typedConfig } },
        ...(value === undefined ? {} : { commonLbConfig: { healthyPanicThreshold: { value } } })
      })
      return Either.getOrThrow(Cluster.make(message, PolicyRegistry.standard, profile)).discovery
    }
    const aggregate = { _tag: "Aggregate", clusters: ["a"] }
    expect(discoveryOf(33.6, "envoy")).toEqual({ ...aggregate, panicThreshold: 34 })
    expect([discoveryOf(undefined, "envoy"), discoveryOf(33.6, "grpc")]).toEqual([aggregate, aggregate])
  })

  it("other types: rejected; LOGICAL_DNS needs one endpoint", () => {
    expect(mistakes(cluster({ name: "c" }))).toEqual(["type DiscoveryType"])
    expect(
      mistakes(cluster({ name: "c", clusterDiscoveryType: { case: "type", value: DiscoveryType.LOGICAL_DNS } }))
    ).toEqual(["load_assignment LogicalDns"])
    const loadAssignment = { endpoints: [{ lbEndpoints: [endpoint("backend.example")] }] }
    const made = cluster({
      name: "c",
      clusterDiscoveryType: { case: "type", value: DiscoveryType.LOGICAL_DNS },
      loadAssignment
    })
    expect(Either.getOrThrow(made).discovery).toEqual({
      _tag: "LogicalDns",
      host: "backend.example",
      port: 80
    })
  })

  it("policies: a ring that is not XX_HASH, sizes, choices, an unknown one", () => {
    const ring = (value: object) =>
      cluster({ name: "c", ...eds, lbPolicy: LbPolicy.RING_HASH, lbConfig: { case: "ringHashLbConfig", value } })
    expect(mistakes(ring({ hashFunction: 1 }))).toEqual(["lb_policy LoadBalancingPolicy"])
    expect(mistakes(ring({ minimumRingSize: 2n, maximumRingSize: 1n }))).toEqual(["lb_policy LoadBalancingPolicy"])
    expect(mistakes(ring({ maximumRingSize: 8_388_609n }))).toEqual(["lb_policy LoadBalancingPolicy"])
    expect(mistakes(ring({}))).toEqual([])
    const least = cluster({
      name: "c",
      ...eds,
      lbPolicy: LbPolicy.LEAST_REQUEST,
      lbConfig: { case: "leastRequestLbConfig", value: { choiceCount: 1 } }
    })
    expect(mistakes(least)).toEqual(["lb_policy LoadBalancingPolicy"])
    const unknown = cluster({
      name: "c",
      ...eds,
      loadBalancingPolicy: {
        policies: [
          {
            typedExtensionConfig: {
              typedConfig: { typeUrl: "type.googleapis.com/acme.Policy", value: new Uint8Array() }
            }
          }
        ]
      }
    })
    expect(Either.isLeft(unknown) && unknown.left[0]?.message).toBe(
      "no policy of the list is supported: type.googleapis.com/acme.Policy"
    )
  })

  it("outlier detection: percentages over 100, negative durations", () => {
    const outlierDetection = { maxEjectionPercent: 101, interval: { seconds: -1n } }
    expect(mistakes(cluster({ name: "c", ...eds, outlierDetection }))).toEqual([
      "outlier_detection.interval OutlierDetection",
      "outlier_detection.max_ejection_percent OutlierDetection"
    ])
  })

  it("★ transport_socket_matches, which would be passed over", () => {
    const transportSocketMatches = [{ name: "tls", match: {} }]
    const made = cluster({ name: "c", ...eds, transportSocketMatches })
    expect(mistakes(made)).toEqual(["transport_socket_matches TransportSocket"])
  })
})

describe("listeners", () => {
  const path = { configSourceSpecifier: { case: "path" as const, value: "/a.json" } }

  it("routes and endpoints come over ADS, or from the same server: another source is rejected", () => {
    const manager = (configSource: MessageInitShape<typeof ConfigSourceSchema>) =>
      create(HttpConnectionManagerSchema, {
        routeSpecifier: { case: "rds", value: { configSource, routeConfigName: "r" } },
        httpFilters: [
          { name: "router", configType: { case: "typedConfig", value: anyPack(RouterSchema, create(RouterSchema)) } }
        ]
      })
    const listener = (source: MessageInitShape<typeof ConfigSourceSchema>) => {
      const apiListener = anyPack(HttpConnectionManagerSchema, manager(source))
      return Listener.make(create(ListenerSchema, { name: "l", apiListener: { apiListener } }))
    }
    const cluster = (edsConfig: MessageInitShape<typeof ConfigSourceSchema>) => {
      const clusterDiscoveryType = { case: "type" as const, value: DiscoveryType.EDS }
      return Cluster.make(create(ClusterSchema, { name: "c", clusterDiscoveryType, edsClusterConfig: { edsConfig } }))
    }
    for (const name of ["ads", "self"] as const) {
      const source = { configSourceSpecifier: { case: name, value: {} } }
      expect([...mistakes(listener(source)), ...mistakes(cluster(source))]).toEqual([])
    }
    expect(mistakes(listener(path))).toEqual(["api_listener.api_listener.rds.config_source RouteSource"])
    expect(mistakes(cluster(path))).toEqual(["eds_cluster_config.eds_config EdsConfig"])
  })

  it("a listener of sockets: rejected", () => {
    expect(mistakes(Listener.make(create(ListenerSchema, { name: "l" })))).toEqual([
      "api_listener.api_listener ApiListener"
    ])
  })
})

describe("policies of a service config", () => {
  const parse = (list: PolicyRegistryJson) => PolicyRegistry.fromJson(PolicyRegistry.standard, list)
  type PolicyRegistryJson = Parameters<typeof PolicyRegistry.fromJson>[1]

  it("vector 51: ★ the first known one is not valid: the second is not tried", () => {
    expect(parse([{ least_request_experimental: { choiceCount: 1 } }, { round_robin: {} }])).toEqual(
      Either.left("least_request_experimental: choice_count is 1; it must be at least 2")
    )
  })

  it.each([
    [
      { ring_hash_experimental: { minRingSize: -1 } },
      "ring_hash_experimental: the size of the ring is -1; it must be a whole number"
    ],
    [
      { ring_hash_experimental: { maxRingSize: 2.5 } },
      "ring_hash_experimental: the size of the ring is 2.5; it must be a whole number"
    ],
    [
      { least_request_experimental: { choiceCount: NaN } },
      "least_request_experimental: choice_count is NaN; it must be a whole number"
    ]
  ])("a number that is not whole: %j", (policy, what) => {
    expect(parse([policy])).toEqual(Either.left(what))
  })

  it("★ a ring of size 0 has the size of the default: one without entries would let every call wait", () => {
    const sizes = (value: Record<string, number>) =>
      Either.getOrThrow(parse([{ ring_hash_experimental: value }])).config
    expect(sizes({ minRingSize: 0, maxRingSize: 0 })).toEqual(sizes({}))
  })

  it("the first that is known; none is", () => {
    const made = parse([{ acme: {} }, { round_robin: {} }])
    expect(Either.isRight(made) && made.right.policy.name).toBe("round_robin")
    expect(parse([{ acme: {} }])).toEqual(Either.left("no policy of the list is known: acme"))
  })

  it("nested deeper than 16: rejected", () => {
    let list: PolicyRegistryJson = [{ round_robin: {} }]
    for (let depth = 0; depth < 20; depth++) list = [{ xds_wrr_locality_experimental: { childPolicy: list } }]
    const made = parse(list)
    expect(Either.isLeft(made) && made.left).toContain("policies are nested deeper than 16")
  })
})

it("anybody's own policy is as good as ours: by its name, in a TypedStruct and by its type URL", () => {
  const own = define<string, null>({
    name: "acme.Policy",
    make: () => null,
    step: (self) => [self, []],
    deadline: () => Number.POSITIVE_INFINITY
  })
  const typeUrl = "type.googleapis.com/acme.Policy"
  const registry = PolicyRegistry.add(PolicyRegistry.standard, {
    name: "acme.Policy",
    typeUrl,
    fromJson: ({ word }) => (typeof word === "string" ? Either.right(own.with(word)) : Either.left("word is missing")),
    fromBytes: (bytes) => Either.right(own.with(new TextDecoder().decode(bytes)))
  })
  const struct = anyPack(TypedStructSchema, create(TypedStructSchema, { typeUrl, value: { word: "hello" } }))
  const bytes = create(AnySchema, { typeUrl, value: new TextEncoder().encode("hello") })
  for (const typedConfig of [struct, bytes]) {
    const message = create(ClusterSchema, {
      name: "c",
      clusterDiscoveryType: { case: "type", value: DiscoveryType.EDS },
      edsClusterConfig: { edsConfig: { configSourceSpecifier: { case: "ads", value: {} } } },
      loadBalancingPolicy: { policies: [{ typedExtensionConfig: { typedConfig } }] }
    })
    const made = Either.getOrThrow(Cluster.make(message, registry))
    expect(made.policy).toEqual(own.with("hello"))
    expect(made.policy.policy).toBe(own.with("").policy)
    expect(mistakes(Cluster.make(message))).toEqual(["load_balancing_policy LoadBalancingPolicy"])
  }
  expect(PolicyRegistry.fromJson(registry, [{ unknown: {} }, { "acme.Policy": {} }])).toEqual(
    Either.left("acme.Policy: word is missing")
  )
})

describe("IP addresses", () => {
  it.each([
    ["10.0.0.1", true],
    ["256.0.0.1", false],
    ["1.2.3", false],
    ["::1", true],
    ["::", true],
    ["1:2:3:4:5:6:7:8", true],
    ["1:2:3:4:5:6:7::", true],
    ["1:2:3:4:5:6:7:8:9", false],
    ["::ffff:10.0.0.1", true],
    ["1::2::3", false],
    [":::", false],
    ["12345::", false],
    ["fe80::1%eth0", false]
  ])("%s", (text, expected) => {
    expect(IpAddress.isValid(text)).toBe(expected)
  })
})
