/** Messages of the Envoy API: what they become, and what is wrong with them. */
import { create, fromBinary, fromJson, type JsonObject, toBinary } from "@bufbuild/protobuf"
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire"
import { type Any, anyPack, AnySchema } from "@bufbuild/protobuf/wkt"
import * as Assignment from "@effect-xds/discovery/Assignment"
import * as Cluster from "@effect-xds/discovery/Cluster"
import * as DropOverload from "@effect-xds/discovery/DropOverload"
import * as Endpoint from "@effect-xds/discovery/Endpoint"
import * as Host from "@effect-xds/discovery/Host"
import * as IpAddress from "@effect-xds/discovery/IpAddress"
import * as LocalityRule from "@effect-xds/discovery/LocalityRule"
import {
  ClusterSchema,
  Cluster_CustomClusterTypeSchema,
  LoadBalancingPolicySchema
} from "@effect-xds/proto/envoy/config/cluster/v3/cluster"
import { ClusterLoadAssignmentSchema } from "@effect-xds/proto/envoy/config/endpoint/v3/endpoint"
import { ClusterConfigSchema } from "@effect-xds/proto/envoy/extensions/clusters/aggregate/v3/cluster"
import { LeastRequestSchema } from "@effect-xds/proto/envoy/extensions/load_balancing_policies/least_request/v3/least_request"
import { PickFirstSchema } from "@effect-xds/proto/envoy/extensions/load_balancing_policies/pick_first/v3/pick_first"
import { RingHashSchema } from "@effect-xds/proto/envoy/extensions/load_balancing_policies/ring_hash/v3/ring_hash"
import { RoundRobinSchema } from "@effect-xds/proto/envoy/extensions/load_balancing_policies/round_robin/v3/round_robin"
import { describe, expect, it } from "@effect/vitest"
import * as Either from "effect/Either"

const socket = (address: string, portValue = 80, more: JsonObject = {}): JsonObject => ({
  socketAddress: { address, portValue, ...more }
})
const endpoint = (address: JsonObject, more: JsonObject = {}, of: JsonObject = {}): JsonObject => ({
  endpoint: { address, ...of },
  ...more
})
const group = (...lbEndpoints: ReadonlyArray<JsonObject>): JsonObject => ({ lbEndpoints: [...lbEndpoints] })
const assignment = (endpoints: ReadonlyArray<JsonObject>, more: JsonObject = {}): JsonObject => ({
  clusterName: "c",
  endpoints: [...endpoints],
  ...more
})

const readAssignment = (json: JsonObject) => Assignment.make(fromJson(ClusterLoadAssignmentSchema, json))
const readCluster = (json: JsonObject) => Cluster.make(fromJson(ClusterSchema, { name: "c", ...json }))
const problems = <A>(
  read: Either.Either<A, ReadonlyArray<{ readonly path: string; readonly reason: string; readonly message: string }>>
): ReadonlyArray<string> =>
  Either.match(read, { onLeft: (all) => all.map(({ path, reason }) => `${path} ${reason}`), onRight: () => [] })

const A = socket("10.0.0.1")

describe("an assignment", () => {
  it("endpoints with all that they say", () => {
    const read = Either.getOrThrow(
      readAssignment({
        clusterName: "c",
        namedEndpoints: { n: { address: socket("10.0.0.9", 9), hostname: "named" } },
        endpoints: [
          {
            locality: { region: "r", zone: "z", subZone: "s" },
            loadBalancingWeight: 7,
            priority: 1,
            lbEndpoints: [
              {
                endpoint: {
                  address: A,
                  hostname: "h",
                  additionalAddresses: [{ address: socket("::1", 81) }],
                  healthCheckConfig: { portValue: 90, hostname: "check", disableActiveHealthCheck: true }
                },
                healthStatus: "DEGRADED",
                loadBalancingWeight: 3,
                metadata: { filterMetadata: { "envoy.lb": { hash_key: "k", canary: true } } }
              },
              { endpointName: "n" }
            ]
          },
          group(
            endpoint({ pipe: { path: "/run/p" } }),
            endpoint(A, {}, { healthCheckConfig: { address: socket("10.0.0.2", 91) } }),
            endpoint(A, {}, { healthCheckConfig: { portValue: 92, address: socket("10.0.0.2", 91) } })
          ),
          { loadBalancerEndpoints: { lbEndpoints: [endpoint(socket("10.0.0.3"))] } }
        ],
        policy: {
          overprovisioningFactor: 150,
          endpointStaleAfter: "10s",
          weightedPriorityHealth: true,
          dropOverloads: [{ category: "d", dropPercentage: { numerator: 5, denominator: "TEN_THOUSAND" } }]
        }
      })
    )
    expect(read).toMatchObject({
      name: "c",
      staleAfter: 10_000,
      overprovisioningFactor: 150,
      weightedPriorityHealth: true
    })
    expect(read.drops).toEqual([{ category: "d", numerator: 500 }])
    const hosts = read.endpoints.map((each) => Endpoint.hostOf(each, ""))
    expect(hosts[0]).toMatchObject({
      addresses: ["10.0.0.1:80", "[::1]:81"],
      checkAddress: "10.0.0.1:90",
      checkHostname: "check",
      hashKey: "k",
      isCanary: true,
      healthStatus: "DEGRADED",
      hostname: "h",
      isUnchecked: true,
      locality: '["r","z","s"]',
      localityWeight: 7,
      priority: 1,
      weight: 3
    })
    expect(hosts[1]).toMatchObject({
      address: "10.0.0.9:9",
      hostname: "named",
      isCanary: false,
      priority: 1,
      weight: 1
    })
    expect(hosts.slice(2).map(({ address, checkAddress }) => [address, checkAddress])).toEqual([
      ["/run/p", "/run/p"],
      ["10.0.0.1:80", "10.0.0.2:91"],
      ["10.0.0.1:80", "10.0.0.2:92"],
      ["10.0.0.3:80", "10.0.0.3:80"]
    ])
    const located = (zone: string, host: string, more: JsonObject): JsonObject => ({
      locality: { zone },
      lbEndpoints: [endpoint(socket(host))],
      ...more
    })
    const twice = [
      located("z", "10.0.0.1", { loadBalancingWeight: 1 }),
      located("y", "10.0.0.2", { loadBalancingWeight: 5 }),
      located("z", "10.0.0.3", { loadBalancingWeight: 4, priority: 1 }),
      located("z", "10.0.0.4", { loadBalancingWeight: 9 }),
      located("z", "10.0.0.5", {})
    ]
    const { endpoints } = Either.getOrThrow(readAssignment({ clusterName: "c", endpoints: twice }))
    // ★ A locality that is there twice in a priority has one weight, the last.
    expect(endpoints.map(({ host }) => host.localityWeight)).toEqual([9, 5, 4, 9, 9])
    expect(Either.getOrThrow(readAssignment({ clusterName: "c" }))).toEqual({
      name: "c",
      endpoints: [],
      staleAfter: undefined,
      drops: [],
      overprovisioningFactor: 140,
      weightedPriorityHealth: false
    })
  })

  const at = "endpoints[0].lb_endpoints[0]"
  const address = `${at}.endpoint.address`
  const one = (each: JsonObject) => assignment([group(each)])
  it.each<[string, JsonObject, string]>([
    ["no endpoint", one({}), `${at} Endpoints`],
    ["a name that named_endpoints lacks", one({ endpointName: "x" }), `${at}.endpoint_name NamedEndpoint`],
    ["a name of every object", one({ endpointName: "toString" }), `${at}.endpoint_name NamedEndpoint`],
    ["LEDS", assignment([{ ledsClusterLocalityConfig: {} }]), "endpoints[0].leds_cluster_locality_config Endpoints"],
    ["no address", one({ endpoint: {} }), `${address} Address`],
    ["an empty address", one(endpoint(socket(""))), `${address}.socket_address.address Address`],
    ["a name", one(endpoint(socket("a.example.com"))), `${address}.socket_address.address Address`],
    [
      "no port",
      one(endpoint({ socketAddress: { address: "10.0.0.1" } })),
      `${address}.socket_address.port_value Address`
    ],
    ["a port too high", one(endpoint(socket("10.0.0.1", 65_536))), `${address}.socket_address.port_value Address`],
    [
      "a port by name",
      one(endpoint({ socketAddress: { address: "10.0.0.1", namedPort: "http" } })),
      `${address}.socket_address.named_port Address`
    ],
    [
      "resolver_name",
      one(endpoint(socket("10.0.0.1", 80, { resolverName: "r" }))),
      `${address}.socket_address.resolver_name Address`
    ],
    ["a pipe without a path", one(endpoint({ pipe: { path: "" } })), `${address}.pipe Address`],
    [
      "a pipe that is checked elsewhere",
      one(endpoint({ pipe: { path: "/p" } }, {}, { healthCheckConfig: { portValue: 1 } })),
      `${at}.endpoint.health_check_config Address`
    ],
    [
      "a check at a port too high",
      one(endpoint(A, {}, { healthCheckConfig: { portValue: 65_536 } })),
      `${at}.endpoint.health_check_config.port_value Address`
    ],
    [
      "a check at a name",
      one(endpoint(A, {}, { healthCheckConfig: { address: socket("b") } })),
      `${at}.endpoint.health_check_config.address.socket_address.address Address`
    ],
    [
      "an additional address that is a name",
      one(endpoint(A, {}, { additionalAddresses: [{ address: socket("b") }] })),
      `${at}.endpoint.additional_addresses[0].address.socket_address.address Address`
    ],
    ["weight 0", one(endpoint(A, { loadBalancingWeight: 0 })), `${at}.load_balancing_weight Weight`],
    [
      "weights over 32 bits",
      assignment([group(endpoint(A, { loadBalancingWeight: 4_294_967_295 }), endpoint(A))]),
      "endpoints[0].lb_endpoints[1].load_balancing_weight WeightSum"
    ],
    [
      "weights of localities over 32 bits",
      assignment([{ loadBalancingWeight: 4_294_967_295 }, { loadBalancingWeight: 1 }]),
      "endpoints[1].load_balancing_weight WeightSum"
    ],
    ["a health that is not known", one(endpoint(A, { healthStatus: 9 })), `${at}.health_status HealthStatus`],
    ["a priority too high", assignment([{ priority: 129 }]), "endpoints[0].priority Priority"],
    [
      "a factor of 0",
      assignment([], { policy: { overprovisioningFactor: 0 } }),
      "policy.overprovisioning_factor Policy"
    ],
    ["stale at once", assignment([], { policy: { endpointStaleAfter: "0s" } }), "policy.endpoint_stale_after Duration"],
    [
      "more than all dropped",
      assignment([], { policy: { dropOverloads: [{ category: "d", dropPercentage: { numerator: 101 } }] } }),
      "policy.drop_overloads[0].drop_percentage.numerator Drop"
    ],
    [
      "a share of what",
      assignment([], { policy: { dropOverloads: [{ category: "d", dropPercentage: { denominator: 9 } }] } }),
      "policy.drop_overloads[0].drop_percentage.denominator Drop"
    ],
    [
      "a drop without a category",
      assignment([], { policy: { dropOverloads: [{ dropPercentage: { numerator: 1 } }] } }),
      "policy.drop_overloads[0].category Drop"
    ]
  ])("rejected: %s", (_, json, problem) => {
    expect(problems(readAssignment(json))).toEqual([problem])
  })

  it("13: drops of 60 and 50 % let 20 % pass: each category draws for itself", () => {
    const drops = [
      { category: "a", numerator: 600_000 },
      { category: "b", numerator: 500_000 }
    ]
    const passed = Array.from({ length: 100 }, (_, first) =>
      Array.from({ length: 100 }, (_, second) => DropOverload.choose(drops, (n) => ([first, second][n] ?? 0) / 100))
    ).flat()
    expect(passed.filter((category) => category === undefined).length).toBe(2_000)
    expect(passed.filter((category) => category === "b").length).toBe(2_000)
    expect(DropOverload.choose([{ category: "all", numerator: 1_000_000 }], () => 0.999_999_9)).toBe("all")
    expect(DropOverload.choose([{ category: "none", numerator: 0 }], () => 0)).toBeUndefined()
  })
})

const type = (any: { readonly typeUrl: string; readonly value?: Uint8Array } | undefined, more: JsonObject = {}) => {
  const message = fromJson(ClusterSchema, { name: "c", ...more })
  const value = create(Cluster_CustomClusterTypeSchema, {
    name: "any",
    ...(any === undefined ? {} : { typedConfig: { value: new Uint8Array(), ...any } })
  })
  message.clusterDiscoveryType = { case: "clusterType", value }
  return Cluster.make(message)
}
const dnsCluster = "type.googleapis.com/envoy.extensions.clusters.dns.v3.DnsCluster"
const seconds = (n: number): Uint8Array => new BinaryWriter().tag(1, WireType.Varint).int64(n).finish()
const dns = (change: (writer: BinaryWriter) => void) => {
  const writer = new BinaryWriter()
  change(writer)
  return { typeUrl: dnsCluster, value: writer.finish() }
}
const put = (writer: BinaryWriter, no: number, value: number | Uint8Array): BinaryWriter =>
  typeof value === "number"
    ? writer.tag(no, WireType.Varint).uint32(value)
    : writer.tag(no, WireType.LengthDelimited).bytes(value)

describe("a cluster", () => {
  const names = assignment([group(endpoint(socket("a.example.com")))])
  const fixed = assignment([group(endpoint(A))])

  it("everything that is not of its type", () => {
    const read = Either.getOrThrow(
      readCluster({
        type: "STATIC",
        loadAssignment: {
          ...fixed,
          policy: { overprovisioningFactor: 120, dropOverloads: [{ category: "d", dropPercentage: { numerator: 1 } }] }
        },
        ignoreHealthOnHostRemoval: true,
        closeConnectionsOnHostHealthFailure: true,
        commonLbConfig: {
          healthyPanicThreshold: { value: 33.6 },
          ignoreNewHostsUntilFirstHc: true,
          zoneAwareLbConfig: { failTrafficOnPanic: true }
        },
        outlierDetection: { consecutive5xx: 3, interval: "2s", maxEjectionTimeJitter: "1s", alwaysEjectOneHost: true },
        healthChecks: [
          { timeout: "1s", interval: "2s", unhealthyThreshold: 1, healthyThreshold: 1, tcpHealthCheck: {} }
        ]
      })
    )
    expect(read).toMatchObject({
      name: "c",
      hosts: {
        ignoreHealthOnHostRemoval: true,
        ignoreNewHostsUntilFirstHc: true,
        closeConnectionsOnHostHealthFailure: true
      },
      outlierDetection: {
        rules: "envoy",
        consecutive5xx: 3,
        interval: 2_000,
        maxEjectionTimeJitter: 1_000,
        alwaysEjectOneHost: true,
        consecutiveGatewayFailure: 5
      },
      load: {
        panicThreshold: 34,
        failTrafficOnPanic: true,
        overprovisioningFactor: 120,
        weightedPriorityHealth: false
      },
      localities: { isWeighted: false, isHashing: false, failTrafficOnPanic: true },
      drops: [{ category: "d", numerator: 10_000 }]
    })
    expect([read.hosts.checkers, read.checkers[0]?.settings.interval]).toEqual([[""], 2_000])
    expect(Either.getOrThrow(readCluster({ loadAssignment: fixed })).load.panicThreshold).toBe(50)
    expect(Either.getOrThrow(readCluster({})).type.typeUrl).toBe("STATIC")
    const weighted = { commonLbConfig: { localityWeightedLbConfig: {} } }
    for (const [json, isWeighted] of [
      [{}, false],
      [weighted, true],
      // Its policies say it themselves.
      [{ loadBalancingPolicy: {} }, true]
    ] as const) {
      expect(Either.getOrThrow(readCluster(json)).localities.isWeighted).toBe(isWeighted)
    }
    const hashing = { ...weighted, lbPolicy: "RING_HASH" }
    expect(Either.getOrThrow(readCluster(hashing)).localities).toMatchObject({ isWeighted: true, isHashing: true })
    expect(Either.getOrThrow(readCluster(weighted)).localities.isHashing).toBe(false)
  })

  it("localities count as the policy of load_balancing_policy says that is the first to be known", () => {
    const weighted = { localityConfigSpecifier: { case: "localityWeightedLbConfig", value: {} } } as const
    const failing = {
      localityConfigSpecifier: { case: "zoneAwareLbConfig", value: { failTrafficOnPanic: true } }
    } as const
    const ruleOf = (...anys: ReadonlyArray<Any>) =>
      LocalityRule.ofPolicy(
        create(LoadBalancingPolicySchema, {
          policies: anys.map((typedConfig) => ({ typedExtensionConfig: { name: "p", typedConfig } }))
        })
      )
    const roundRobin = (localityLbConfig?: typeof failing | typeof weighted) =>
      anyPack(RoundRobinSchema, create(RoundRobinSchema, localityLbConfig === undefined ? {} : { localityLbConfig }))
    const ringHash = (isWeighted: boolean) =>
      anyPack(RingHashSchema, create(RingHashSchema, isWeighted ? { localityWeightedLbConfig: {} } : {}))
    const leastRequest = anyPack(LeastRequestSchema, create(LeastRequestSchema, { localityLbConfig: weighted }))
    const other = anyPack(PickFirstSchema, create(PickFirstSchema))
    const broken = create(AnySchema, { typeUrl: roundRobin().typeUrl, value: Uint8Array.of(0xff) })
    const none = { isWeighted: false, isHashing: false, failTrafficOnPanic: false }
    expect(ruleOf(roundRobin())).toEqual(none)
    expect(ruleOf(roundRobin(weighted))).toEqual({ ...none, isWeighted: true })
    expect(ruleOf(roundRobin(failing))).toEqual({ ...none, failTrafficOnPanic: true })
    expect(ruleOf(leastRequest)).toEqual({ ...none, isWeighted: true })
    expect(ruleOf(ringHash(false))).toEqual({ ...none, isHashing: true })
    expect(ruleOf(ringHash(true))).toEqual({ ...none, isWeighted: true, isHashing: true })
    expect(ruleOf(other, ringHash(false), leastRequest)).toEqual({ ...none, isHashing: true })
    expect(ruleOf(other)).toEqual({ ...none, isWeighted: true })
    expect(ruleOf(broken)).toEqual({ ...none, isWeighted: true })
  })

  it("DNS, by fields of the cluster, and by cluster_type alike", () => {
    const byFields = fromJson(ClusterSchema, {
      name: "c",
      type: "STRICT_DNS",
      loadAssignment: names,
      dnsRefreshRate: "3s",
      dnsFailureRefreshRate: { baseInterval: "2s" },
      respectDnsTtl: true,
      dnsLookupFamily: "V4_PREFERRED",
      waitForWarmOnInit: false
    })
    const jitter = put(new BinaryWriter(), 58, seconds(4)).finish()
    const bytes = new Uint8Array([...toBinary(ClusterSchema, byFields), ...jitter])
    const strict = Either.getOrThrow(Cluster.make(fromBinary(ClusterSchema, bytes)))
    expect(strict.type.config).toMatchObject({
      type: "STRICT_DNS",
      dns: {
        family: "V4_PREFERRED",
        refreshRate: 3_000,
        failureRefreshRate: { base: 2_000, max: 20_000 },
        respectTtl: true,
        jitter: 4_000
      },
      waitForWarmOnInit: false
    })
    const config = dns((writer) => {
      put(writer, 3, seconds(3))
      put(writer, 4, put(put(new BinaryWriter(), 1, seconds(2)), 2, seconds(9)).finish())
      put(writer, 5, 1)
      put(writer, 6, seconds(4))
      put(writer, 8, 2)
      put(writer, 9, 1)
      put(writer, 10, seconds(2))
    })
    const logical = Either.getOrThrow(type(config, { loadAssignment: names }))
    expect(logical.type.config).toMatchObject({
      type: "LOGICAL_DNS",
      dns: {
        family: "V4_ONLY",
        refreshRate: 3_000,
        failureRefreshRate: { base: 2_000, max: 9_000 },
        respectTtl: true,
        minRefreshRate: 2_000,
        jitter: 4_000
      }
    })
    const plain = Either.getOrThrow(type({ typeUrl: dnsCluster }, { loadAssignment: names }))
    expect(plain.type.config).toMatchObject({ type: "STRICT_DNS", dns: { family: "AUTO", respectTtl: false } })
    expect(Either.getOrThrow(readCluster({ type: "LOGICAL_DNS", loadAssignment: names })).type.config).toMatchObject({
      type: "LOGICAL_DNS"
    })
  })

  it("EDS: ★ the name of its assignment is the cluster's unless it says another", () => {
    const eds = (config: JsonObject) => Either.getOrThrow(readCluster({ type: "EDS", edsClusterConfig: config })).type
    expect(eds({ edsConfig: { ads: {} } }).assignment).toEqual({ name: "c", source: { _tag: "Client", as: "ads" } })
    const other = eds({ edsConfig: { self: {}, initialFetchTimeout: "0s" }, serviceName: "s" })
    expect([other.assignment, other.run().step({ _tag: "Start" }, { now: 0 })[0].deadline]).toEqual([
      { name: "s", source: { _tag: "Client", as: "self" } },
      Number.POSITIVE_INFINITY
    ])
  })

  it("EDS: endpoints come from a file, or from servers of their own", () => {
    const read = (edsConfig: JsonObject) => readCluster({ type: "EDS", edsClusterConfig: { edsConfig } })
    const source = (edsConfig: JsonObject) => Either.getOrThrow(read(edsConfig)).type.assignment?.source
    expect(source({ pathConfigSource: { path: "/e" } })).toEqual({ _tag: "File", path: "/e" })
    expect(source({ path: "e.json" })).toEqual({ _tag: "File", path: "e.json" })
    const rest = { apiType: "REST", clusterNames: ["xds"], refreshDelay: "2s", requestTimeout: "1s" }
    const told = { _tag: "Api", kind: "REST", servers: ["xds"], refreshDelay: 2_000, requestTimeout: 1_000 }
    expect(source({ apiConfigSource: rest })).toEqual(told)
    const grpcServices = [{ envoyGrpc: { clusterName: "a" } }, { googleGrpc: { targetUri: "b:1", statPrefix: "b" } }]
    expect(source({ apiConfigSource: { apiType: "DELTA_GRPC", grpcServices } })).toMatchObject({
      kind: "DELTA_GRPC",
      servers: ["a", "b:1"]
    })
    const at = "eds_cluster_config.eds_config"
    const mistakes: ReadonlyArray<readonly [JsonObject, string]> = [
      [{}, `${at} EdsConfig`],
      [{ pathConfigSource: {} }, `${at}.path EdsConfig`],
      [{ apiConfigSource: { ...rest, clusterNames: [] } }, `${at}.api_config_source.cluster_names EdsConfig`],
      [{ apiConfigSource: { ...rest, clusterNames: ["a", "b"] } }, `${at}.api_config_source.cluster_names EdsConfig`],
      [
        { apiConfigSource: { apiType: "REST", clusterNames: ["a"] } },
        `${at}.api_config_source.refresh_delay EdsConfig`
      ],
      [{ apiConfigSource: { ...rest, refreshDelay: "0s" } }, `${at}.api_config_source.refresh_delay Duration`],
      [{ apiConfigSource: { apiType: "GRPC" } }, `${at}.api_config_source.grpc_services EdsConfig`],
      [{ apiConfigSource: { apiType: "AGGREGATED_GRPC" } }, `${at}.api_config_source.api_type EdsConfig`]
    ]
    for (const [edsConfig, wrong] of mistakes) expect(problems(read(edsConfig))).toEqual([wrong])
  })

  it("aggregates name their clusters, and leave picking to those, whatever lb_policy says", () => {
    const value = toBinary(ClusterConfigSchema, create(ClusterConfigSchema, { clusters: ["a", "b"] }))
    const typeUrl = `type.googleapis.com/${ClusterConfigSchema.typeName}`
    for (const lbPolicy of ["ROUND_ROBIN", "CLUSTER_PROVIDED"]) {
      expect(Either.getOrThrow(type({ typeUrl, value }, { lbPolicy })).type.clusters).toEqual(["a", "b"])
    }
    expect(problems(type({ typeUrl }))).toEqual(["cluster_type.typed_config.clusters Aggregate"])
    expect(problems(type({ typeUrl, value: new Uint8Array([255]) }))).toEqual([
      "cluster_type.typed_config.clusters Aggregate"
    ])
  })

  it("types are found by type URL; one that is not registered is a mistake, which names those that are", () => {
    const read = type({ typeUrl: "type.googleapis.com/x.Y" })
    expect(problems(read)).toEqual(["cluster_type.typed_config ClusterType"])
    expect(Either.getOrElse(Either.flip(read), () => [])[0]?.message).toContain(
      "x.Y is not registered; use one of STATIC"
    )
    expect(problems(type(undefined))).toEqual(["cluster_type.typed_config ClusterType"])
    expect(problems(type({ typeUrl: dnsCluster, value: new Uint8Array([255]) }))).toEqual(["cluster_type ClusterType"])
  })

  const at = "load_assignment.endpoints[0].lb_endpoints[0].endpoint.address"
  const original = { type: "ORIGINAL_DST", lbPolicy: "CLUSTER_PROVIDED" }
  it.each<[string, JsonObject, ReadonlyArray<string>]>([
    ["no name", { name: "" }, ["name Name"]],
    ["STATIC with a name", { loadAssignment: names }, [`${at}.socket_address.address Address`]],
    [
      "STRICT_DNS with a pipe",
      { type: "STRICT_DNS", loadAssignment: assignment([group(endpoint({ pipe: { path: "/p" } }))]) },
      [`${at}.pipe Address`]
    ],
    [
      "STRICT_DNS with resolver_name",
      { type: "STRICT_DNS", loadAssignment: assignment([group(endpoint(socket("a", 80, { resolverName: "r" })))]) },
      [`${at}.socket_address.resolver_name Address`]
    ],
    ["LOGICAL_DNS without an endpoint", { type: "LOGICAL_DNS" }, ["load_assignment.endpoints LogicalDns"]],
    [
      "LOGICAL_DNS with two localities, of which one is empty",
      { type: "LOGICAL_DNS", loadAssignment: assignment([group(endpoint(socket("a"))), group()]) },
      ["load_assignment.endpoints LogicalDns"]
    ],
    [
      "a refresh rate of 1 ms",
      { type: "STRICT_DNS", loadAssignment: names, dnsRefreshRate: "0.001s" },
      ["dns_refresh_rate Duration"]
    ],
    [
      "a failure rate without a base",
      { type: "STRICT_DNS", loadAssignment: names, dnsFailureRefreshRate: { maxInterval: "1s" } },
      ["dns_failure_refresh_rate.base_interval Dns"]
    ],
    [
      "a failure rate below its base",
      {
        type: "STRICT_DNS",
        loadAssignment: names,
        dnsFailureRefreshRate: { baseInterval: "2s", maxInterval: "1s" }
      },
      ["dns_failure_refresh_rate Dns"]
    ],
    [
      "a family that is not known",
      { type: "STRICT_DNS", loadAssignment: names, dnsLookupFamily: 9 },
      ["dns_lookup_family Dns"]
    ],
    ["ORIGINAL_DST with another policy", { type: "ORIGINAL_DST" }, ["lb_policy LoadBalancingPolicy"]],
    ["CLUSTER_PROVIDED by nobody", { lbPolicy: "CLUSTER_PROVIDED" }, ["lb_policy LoadBalancingPolicy"]],
    ["ORIGINAL_DST with hosts", { ...original, loadAssignment: fixed }, ["load_assignment OriginalDst"]],
    [
      "ORIGINAL_DST with a header that is not used",
      { ...original, originalDstLbConfig: { httpHeaderName: "x" } },
      ["original_dst_lb_config.http_header_name OriginalDst"]
    ],
    [
      "ORIGINAL_DST with a port too high",
      { ...original, originalDstLbConfig: { upstreamPortOverride: 65_536 } },
      ["original_dst_lb_config.upstream_port_override OriginalDst"]
    ],
    ["ORIGINAL_DST that is always cleaned up", { ...original, cleanupInterval: "0s" }, ["cleanup_interval Duration"]],
    ["EDS without a source", { type: "EDS" }, ["eds_cluster_config.eds_config EdsConfig"]],
    [
      "EDS with a source that is none",
      { type: "EDS", edsClusterConfig: { edsConfig: {} } },
      ["eds_cluster_config.eds_config EdsConfig"]
    ],
    [
      "EDS by the name of xdstp",
      { name: "xdstp://a/b", type: "EDS", edsClusterConfig: { edsConfig: { ads: {} } } },
      ["eds_cluster_config.service_name EdsConfig"]
    ],
    [
      "a panic threshold over 100",
      { commonLbConfig: { healthyPanicThreshold: { value: 101 } } },
      ["common_lb_config.healthy_panic_threshold.value PanicThreshold"]
    ],
    [
      "outliers",
      { outlierDetection: { maxEjectionPercent: 101, interval: "0s", maxEjectionTimeJitter: "-1s" } },
      [
        "outlier_detection.interval OutlierDetection",
        "outlier_detection.max_ejection_time_jitter OutlierDetection",
        "outlier_detection.max_ejection_percent OutlierDetection"
      ]
    ],
    [
      "outliers that come back before they have gone",
      { outlierDetection: { baseEjectionTime: "30s", maxEjectionTime: "1s" } },
      ["outlier_detection.max_ejection_time OutlierDetection"]
    ],
    [
      "health checks",
      {
        healthChecks: [{ timeout: "1s", unhealthyThreshold: 1, healthyThreshold: 1, tcpHealthCheck: {} }]
      },
      ["health_checks[0].interval HealthCheckSettings"]
    ],
    ["a type of the future", { type: 99 }, ["type ClusterType"]]
  ])("rejected: %s", (_, json, expected) => {
    expect(problems(readCluster(json))).toEqual(expected)
  })

  it("★ health checks of hosts that want TLS are rejected: they would never be well", () => {
    const check = { timeout: "1s", interval: "10s", unhealthyThreshold: 1, healthyThreshold: 1, tcpHealthCheck: {} }
    const over = (type: string, json: JsonObject) => {
      const message = fromJson(ClusterSchema, { name: "c", transportSocket: { name: "socket" }, ...json })
      const typeUrl = `type.googleapis.com/envoy.extensions.transport_sockets.${type}`
      if (message.transportSocket !== undefined) {
        message.transportSocket.configType = { case: "typedConfig", value: create(AnySchema, { typeUrl }) }
      }
      return problems(Cluster.make(message))
    }
    expect(over("tls.v3.UpstreamTlsContext", {})).toEqual([])
    expect(over("raw_buffer.v3.RawBuffer", { healthChecks: [check] })).toEqual([])
    expect(over("tls.v3.UpstreamTlsContext", { healthChecks: [check] })).toEqual(["transport_socket HealthCheckTls"])
    expect(readCluster({ healthChecks: [check], transportSocketMatches: [{ name: "m" }] })).toMatchObject({
      left: [{ path: "transport_socket_matches", reason: "HealthCheckTls" }]
    })
  })

  it("rejected: DNS by cluster_type, with paths of its own", () => {
    const at = "cluster_type.typed_config."
    const rejected = (change: (writer: BinaryWriter) => void) => problems(type(dns(change), { loadAssignment: names }))
    expect(rejected((writer) => put(writer, 10, seconds(0)))).toEqual([`${at}dns_min_refresh_rate Duration`])
    expect(rejected((writer) => put(writer, 8, 6))).toEqual([`${at}dns_lookup_family Dns`])
    const rate = put(put(new BinaryWriter(), 1, seconds(2)), 2, seconds(1)).finish()
    expect(rejected((writer) => put(writer, 4, rate))).toEqual([`${at}dns_failure_refresh_rate Dns`])
  })

  it("the words of a NACK: where, what, and what to do", () => {
    const bytes = toBinary(ClusterSchema, fromJson(ClusterSchema, { name: "c", type: "EDS" }))
    expect(Cluster.decoder().decode(bytes)).toEqual(
      Either.left("eds_cluster_config.eds_config: there is no source of endpoints; say ads, self or another")
    )
    expect(Either.isLeft(Assignment.decoder.decode(new Uint8Array([255])))).toBe(true)
  })
})

describe("a host", () => {
  it("★ is another one if any of its fields is", () => {
    const host = Host.make("10.0.0.1:80")
    expect(Host.isSame(host, { ...host })).toBe(true)
    const others: { readonly [Key in keyof Host.Host]: Host.Host[Key] } = {
      id: "b",
      address: "b",
      addresses: ["10.0.0.1:80", "b"],
      checkAddress: "b",
      hostname: "b",
      checkHostname: "b",
      weight: 2,
      priority: 1,
      locality: "b",
      localityWeight: 1,
      hashKey: "b",
      isCanary: true,
      healthStatus: "DRAINING",
      isUnchecked: true
    }
    for (const [field, value] of Object.entries(others)) {
      expect([field, Host.isSame(host, { ...host, [field]: value })]).toEqual([field, false])
    }
    expect(Object.keys(others).sort()).toEqual(Object.keys(host).sort())
  })
})

describe("an IP address", () => {
  it.each([
    ["FD00::1", "fd00::1"],
    ["fd00:0:0:0:0:0:0:1", "fd00::1"],
    ["fd00::0:1", "fd00::1"],
    ["fd00:0000::0001", "fd00::1"],
    ["0:0:0:0:0:0:0:0", "::"],
    ["::0", "::"],
    ["1::", "1::"],
    ["0:0:0:0:0:0:0:1", "::1"],
    ["1:0:0:2:0:0:0:3", "1:0:0:2::3"],
    ["1:0:0:2:3:0:0:4", "1::2:3:0:0:4"],
    ["1:2::4:5:6:7:8", "1:2:0:4:5:6:7:8"],
    ["::2:3:4:5:6:7:8", "0:2:3:4:5:6:7:8"],
    ["1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7:8"],
    ["::ffff:a00:1", "::ffff:10.0.0.1"],
    ["0:0:0:0:0:FFFF:10.0.0.1", "::ffff:10.0.0.1"],
    ["64:ff9b::10.0.0.1", "64:ff9b::a00:1"]
  ])("★ is one, whatever its spelling: %s", (spelling, text) => {
    expect(IpAddress.isValid(spelling)).toBe(true)
    expect(IpAddress.withPort(spelling, 80)).toBe(`[${text}]:80`)
  })

  it.each([
    "",
    ":",
    ":::",
    "1::2::3",
    "1:2:3:4:5:6:7",
    "1:2:3:4:5:6:7:8:9",
    "1:2:3:4::5:6:7:8",
    "g::",
    "10.0.0.1::",
    "12345::"
  ])("%j is none", (text) => {
    expect([IpAddress.isValid(text), IpAddress.withPort(text, 80)]).toEqual([false, undefined])
  })
})
