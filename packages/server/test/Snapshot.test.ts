import { clone, create, fromBinary, fromJson, toBinary } from "@bufbuild/protobuf"
import { anyPack } from "@bufbuild/protobuf/wkt"
import * as ResourceGroup from "@effect-xds/core/resource/ResourceGroup"
import { ResourceType } from "@effect-xds/proto"
import * as MessageBytes from "@effect-xds/proto/MessageBytes"
import { Cluster_DiscoveryType, ClusterSchema } from "@effect-xds/proto/envoy/config/cluster/v3/cluster"
import { ConfigSourceSchema } from "@effect-xds/proto/envoy/config/core/v3/config_source"
import { ClusterLoadAssignmentSchema } from "@effect-xds/proto/envoy/config/endpoint/v3/endpoint"
import { LbEndpointSchema } from "@effect-xds/proto/envoy/config/endpoint/v3/endpoint_components"
import { ListenerSchema } from "@effect-xds/proto/envoy/config/listener/v3/listener"
import { FilterChainSchema } from "@effect-xds/proto/envoy/config/listener/v3/listener_components"
import { RouteConfigurationSchema } from "@effect-xds/proto/envoy/config/route/v3/route"
import { VirtualHostSchema } from "@effect-xds/proto/envoy/config/route/v3/route_components"
import { ScopedRouteConfigurationSchema } from "@effect-xds/proto/envoy/config/route/v3/scoped_route"
import { RouterSchema } from "@effect-xds/proto/envoy/extensions/filters/http/router/v3/router"
import { HttpConnectionManagerSchema } from "@effect-xds/proto/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager"
import { Snapshot } from "@effect-xds/server"
import { describe, expect, it } from "@effect/vitest"
import { Effect, Either } from "effect"
import { refused } from "./StoreWrites.js"

const cluster = create(ClusterSchema, { name: "a" })
const clusterBytes = toBinary(ClusterSchema, cluster)
const virtualHost = create(VirtualHostSchema, { name: "web", domains: ["web", "web.example", "*.web.example"] })

const encodeOne = (input: Snapshot.Snapshot) =>
  Effect.map(Snapshot.encode(input), ({ resources: [resource] }) => {
    if (resource === undefined) throw new Error("nothing was encoded")
    return resource
  })

describe("Snapshot.encode", () => {
  it.effect("takes messages, Any and bytes, and they are the same resource", () =>
    Effect.gen(function* () {
      const typeUrl = ResourceType.Cluster.typeUrl
      const forms = [
        yield* encodeOne({ clusters: [cluster] }),
        yield* encodeOne({ clusters: [anyPack(ClusterSchema, cluster)] }),
        yield* encodeOne({ clusters: [{ typeUrl, name: "a", value: clusterBytes }] }),
        yield* encodeOne({
          resources: [{ typeUrl: "envoy.config.cluster.v3.Cluster", name: "a", value: clusterBytes }]
        }),
        yield* encodeOne({ resources: [Snapshot.resource(cluster, {})] })
      ]
      for (const form of forms) expect(form).toEqual(forms[0])
      expect(forms[0]).toMatchObject({ typeUrl, name: "a", value: clusterBytes })
    })
  )

  it.effect("takes options", () =>
    Effect.gen(function* () {
      const options = { version: "7", ttl: "30 seconds", aliases: ["b"] } as const
      expect(yield* encodeOne({ clusters: [Snapshot.resource(cluster, options)] })).toMatchObject({
        version: "7",
        ttl: 30_000,
        aliases: ["b"]
      })
    })
  )

  it.effect("names virtual hosts by their route configuration, with an alias for each other domain", () =>
    Effect.gen(function* () {
      const resource = yield* encodeOne({ virtualHosts: [Snapshot.virtualHost("r/1", virtualHost)] })
      expect(resource).toMatchObject({ name: "r/1/web", aliases: ["r/1/web.example", "r/1/*.web.example"] })
      // Envoy looks for a removed virtual host by the name in the message.
      expect(fromBinary(VirtualHostSchema, resource.value)).toEqual({ ...virtualHost, name: "r/1/web" })
      expect(virtualHost.name).toBe("web")
    })
  )

  it.effect("takes any type of the Envoy API under a name that is given", () =>
    Effect.gen(function* () {
      const router = create(RouterSchema)
      const named = yield* encodeOne({ resources: [Snapshot.resource(router, { name: "router" })] })
      expect(named.typeUrl).toBe("type.googleapis.com/envoy.extensions.filters.http.router.v3.Router")
      const error = yield* Effect.flip(encodeOne({ resources: [router] }))
      expect(error.message).toContain("give one with Snapshot.resource(message, { name })")
    })
  )

  it.effect("takes what the rules of protoc-gen-validate forbid: the client may have other rules", () =>
    Effect.gen(function* () {
      const message = create(ClusterSchema, { name: "a", connectTimeout: { seconds: 0n } })
      expect((yield* encodeOne({ clusters: [message] })).value).toEqual(toBinary(ClusterSchema, message))
    })
  )

  it.effect("uses a held resource again when nothing is different", () =>
    Effect.gen(function* () {
      const resource = yield* encodeOne({ clusters: [cluster] })
      const held = Either.getOrThrow(ResourceGroup.replace(ResourceGroup.empty, [resource]))
      const again = yield* Snapshot.encode({ clusters: [cluster] }, held)
      expect(again.resources[0]).toBe(resource)
      for (const options of [{ ttl: "1 minute" }, { version: "1" }, { aliases: ["b"] }] as const) {
        const entry = Snapshot.resource(cluster, options)
        const { resources: other } = yield* Snapshot.encode({ clusters: [entry] }, held)
        expect(other[0]).not.toBe(resource)
        expect(other[0]).not.toEqual(resource)
      }
    })
  )

  it.effect("keeps bytes of its own", () =>
    Effect.gen(function* () {
      const value = clusterBytes.slice()
      const resource = yield* encodeOne({
        clusters: [{ typeUrl: "envoy.config.cluster.v3.Cluster", name: "a", value }]
      })
      value.fill(0)
      expect(resource.value).toEqual(clusterBytes)
    })
  )

  it.effect("keeps bytes of its own of what is given as a Buffer, whose slices are views", () =>
    Effect.gen(function* () {
      const value = Buffer.from(clusterBytes)
      const resource = yield* encodeOne({
        clusters: [{ typeUrl: "envoy.config.cluster.v3.Cluster", name: "a", value }]
      })
      value.fill(0)
      expect(resource.value).toEqual(clusterBytes)
    })
  )

  it.effect("keeps bytes of its own of messages that encode others while they are read", () =>
    Effect.gen(function* () {
      const other = create(ClusterSchema, { name: "other" })
      const encoded = MessageBytes.encode(ClusterSchema, cluster)
      let reads = 0
      // A program's message may be anything: each time its name is read, it encodes something else.
      const nosy = Object.defineProperty(clone(ClusterSchema, cluster), "name", {
        enumerable: true,
        get: () => {
          reads++
          MessageBytes.encode(ClusterSchema, other)
          return cluster.name
        }
      })
      const named = yield* encodeOne({ clusters: [nosy] })
      expect(named.value).toEqual(encoded)
      expect(reads).toBeGreaterThan(1)
      // Two whose options are read while its bytes are there already.
      const options = {
        get ttl() {
          MessageBytes.encode(ClusterSchema, other)
          return "30 seconds" as const
        }
      }
      const { resources } = yield* Snapshot.encode({
        clusters: [Snapshot.resource(cluster, options), Snapshot.resource(other, options)]
      })
      expect(resources.map(({ value }) => value)).toEqual([encoded, MessageBytes.encode(ClusterSchema, other)])
    })
  )

  it.effect("keeps bytes of a message that it is told to keep apart from those of the next one", () =>
    Effect.gen(function* () {
      const { resources } = yield* Snapshot.encode({
        clusters: ["a", "b"].map((name) => Snapshot.resource(create(ClusterSchema, { name }), { keepBytes: true }))
      })
      expect(resources.map(({ value }) => fromBinary(ClusterSchema, value).name)).toEqual(["a", "b"])
    })
  )

  it.effect("keeps the very bytes where it is told so", () =>
    Effect.gen(function* () {
      const given = { typeUrl: "envoy.config.cluster.v3.Cluster", name: "a", value: clusterBytes.slice() }
      const resource = yield* encodeOne({ clusters: [Snapshot.resource(given, { keepBytes: true })] })
      expect(resource.value).toBe(given.value)
    })
  )

  it.effect("names an endpoint of LEDS beside it, and a filter chain of FCDS by its field 7", () =>
    Effect.gen(function* () {
      const endpoint = create(LbEndpointSchema, { hostIdentifier: { case: "endpoint", value: { hostname: "x" } } })
      const leds = yield* encodeOne({ resources: [Snapshot.resource(endpoint, { name: "a" })] })
      expect([leds.typeUrl, leds.name]).toEqual([ResourceType.LbEndpoint.typeUrl, "a"])
      const chain = create(FilterChainSchema, { name: "a", filterChainMatch: { serverNames: ["b"] } })
      const fcds = yield* encodeOne({ resources: [anyPack(FilterChainSchema, chain)] })
      expect([fcds.typeUrl, fcds.name]).toEqual([ResourceType.FilterChain.typeUrl, "a"])
    })
  )

  const bytes = (typeUrl: string, name: string, value: Uint8Array) => ({ resources: [{ typeUrl, name, value }] })
  // As a caller without types might give it.
  const misplaced: Snapshot.Snapshot = {}
  Reflect.set(misplaced, "clusters", [create(ListenerSchema, { name: "l" })])
  const single: Snapshot.Snapshot = {}
  Reflect.set(single, "clusters", cluster)
  const misspelled = { clusters: [cluster], endpoint: [] }

  const cases: ReadonlyArray<readonly [string, Snapshot.Snapshot, string, string]> = [
    [
      "an unknown type",
      bytes("type.googleapis.com/acme.Thing", "x", clusterBytes),
      "UnknownType",
      'acme.Thing: resource "x": type.googleapis.com/acme.Thing is not a type of the Envoy v3 API; check the type URL'
    ],
    [
      "a resource in the wrong slot",
      misplaced,
      "WrongType",
      'LDS: resource "l": it stands where envoy.config.cluster.v3.Cluster is wanted; move it to its own property'
    ],
    [
      "a property that snapshots do not have",
      misspelled,
      "Malformed",
      '"endpoint" is no property of a snapshot, which has clusters, endpoints, listeners, routes, scopedRoutes, ' +
        "virtualHosts, secrets, runtimes, extensionConfigs, resources"
    ],
    ["a resource in the place of a list", single, "Malformed", "clusters is no list, but a value of type object"],
    [
      "an empty name",
      { clusters: [create(ClusterSchema)] },
      "EmptyName",
      "CDS: a resource: the name is empty; give every resource a name"
    ],
    [
      "an endpoint of LEDS without a name beside it",
      { resources: [Snapshot.resource(create(LbEndpointSchema), {})] },
      "EmptyName",
      "LEDS: a resource: messages of this type hold no resource name; give one with Snapshot.resource(message, { name })"
    ],
    [
      "a virtual host without a route configuration",
      { virtualHosts: [virtualHost] },
      "EmptyName",
      "VHDS: a resource: a virtual host is asked for as <route configuration>/<host>; use Snapshot.virtualHost"
    ],
    [
      "★ a virtual host whose own name has a slash, which Envoy would pass over",
      { virtualHosts: [Snapshot.virtualHost("r", create(VirtualHostSchema, { name: "team/web", domains: ["web"] }))] },
      "Invalid",
      'VHDS: resource "r/team/web": clients take it for one of the route configuration "r/team", and look for "r/web" in another one; give it a name without a slash'
    ],
    [
      "a name that is not the one inside",
      bytes(ResourceType.Cluster.typeUrl, "b", clusterBytes),
      "NameMismatch",
      'CDS: resource "b": the name inside the message is "a"; clients go by that one'
    ],
    [
      "bytes that do not decode",
      bytes(ResourceType.Cluster.typeUrl, "a", new Uint8Array([10, 1, 97, 34, 1, 255])),
      "Undecodable",
      'CDS: resource "a": 6 bytes are not a message of type envoy.config.cluster.v3.Cluster: '
    ],
    [
      "a TTL that is no TTL",
      { clusters: [Snapshot.resource(cluster, { ttl: "1 millis" })] },
      "Invalid",
      'CDS: resource "a": a TTL of 1 ms is too short: heartbeats go out at half of it; give at least 100 ms'
    ],
    [
      "a field that cannot be encoded",
      { clusters: [create(ClusterSchema, { name: "a", perConnectionBufferLimitBytes: -1 })] },
      "Unencodable",
      'CDS: resource "a": it cannot be encoded: cannot encode field google.protobuf.UInt32Value.value to binary: invalid uint32: -1'
    ]
  ]
  for (const [what, input, reason, message] of cases) {
    it.effect(`refuses ${what}`, () =>
      Effect.gen(function* () {
        const error = yield* refused(Snapshot.encode(input))
        expect(error.message).toContain(message)
        expect(error.reason).toBe(reason)
      })
    )
  }

  it.effect("refuses bytes whose name cannot be read", () =>
    Effect.gen(function* () {
      const any = anyPack(ClusterSchema, cluster)
      any.value = new Uint8Array([10, 200])
      const error = yield* Effect.flip(encodeOne({ clusters: [any] }))
      expect(error).toMatchObject({ reason: "Undecodable", name: "" })
    })
  )
})

describe("Snapshot.check", () => {
  const inManager = "typed_config[envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager]"
  const manager = (routeSpecifier: NonNullable<Parameters<typeof create<typeof HttpConnectionManagerSchema>>[1]>) =>
    anyPack(HttpConnectionManagerSchema, create(HttpConnectionManagerSchema, routeSpecifier))
  const rds = (routeConfigName: string) =>
    manager({ routeSpecifier: { case: "rds", value: { routeConfigName, configSource: {} } } })
  const listenerWith = (name: string, ...managers: ReadonlyArray<ReturnType<typeof manager>>) =>
    create(ListenerSchema, {
      name,
      filterChains: managers.map((value) => ({ filters: [{ configType: { case: "typedConfig" as const, value } }] }))
    })
  const route = (clusterName: string) => ({
    action: { case: "route" as const, value: { clusterSpecifier: { case: "cluster" as const, value: clusterName } } }
  })
  const messages = (input: Snapshot.Snapshot) =>
    Effect.map(Snapshot.check(input), (found) => found.map(({ message }) => message))

  it.effect("follows listener → route → cluster → endpoints", () =>
    Effect.gen(function* () {
      const weighted = {
        case: "weightedClusters" as const,
        value: { clusters: [{ name: "a" }, { name: "gone" }] }
      }
      const input: Snapshot.Snapshot = {
        listeners: [
          listenerWith("ingress", rds("r1")),
          create(ListenerSchema, { name: "grpc", apiListener: { apiListener: rds("r2") } }),
          create(ListenerSchema, {
            name: "default",
            defaultFilterChain: { filters: [{ configType: { case: "typedConfig", value: rds("r3") } }] }
          })
        ],
        routes: [
          create(RouteConfigurationSchema, {
            name: "r2",
            virtualHosts: [
              {
                name: "web",
                requestMirrorPolicies: [{ cluster: "shadow" }],
                routes: [
                  route("a"),
                  route("nowhere"),
                  route("nowhere"),
                  { action: { case: "route", value: { clusterSpecifier: weighted } } },
                  { action: { case: "route", value: { clusterSpecifier: { case: "clusterHeader", value: "x" } } } }
                ]
              }
            ]
          })
        ],
        scopedRoutes: [create(ScopedRouteConfigurationSchema, { name: "s", routeConfigurationName: "r4" })],
        virtualHosts: [
          Snapshot.virtualHost("r2", create(VirtualHostSchema, { name: "v", domains: ["v"], routes: [route("b")] }))
        ],
        clusters: [
          create(ClusterSchema, {
            name: "a",
            clusterDiscoveryType: { case: "type", value: Cluster_DiscoveryType.EDS }
          }),
          create(ClusterSchema, {
            name: "svc",
            clusterDiscoveryType: { case: "type", value: Cluster_DiscoveryType.EDS },
            edsClusterConfig: { serviceName: "svc.v1" }
          }),
          create(ClusterSchema, { name: "static" })
        ],
        endpoints: [create(ClusterLoadAssignmentSchema, { clusterName: "a" })]
      }
      expect((yield* messages(input)).toSorted()).toEqual([
        'clusters "svc": eds_cluster_config.service_name names endpoints "svc.v1", which is not there',
        'envoy.config.route.v3.VirtualHost "r2/v": routes[0].route.cluster names cluster "b", which is not there',
        `listeners "default": default_filter_chain.filters[0].${inManager}.rds.route_config_name names route "r3", which is not there`,
        `listeners "ingress": filter_chains[0].filters[0].${inManager}.rds.route_config_name names route "r1", which is not there`,
        'routes "r2": virtual_hosts[0].request_mirror_policies[0].cluster names cluster "shadow", which is not there',
        'routes "r2": virtual_hosts[0].routes[1].route.cluster names cluster "nowhere", which is not there',
        'routes "r2": virtual_hosts[0].routes[3].route.weighted_clusters.clusters[1].name names cluster "gone", which is not there',
        'scoped-routes "s": route_configuration_name names route "r4", which is not there'
      ])
    })
  )

  it.effect("looks into what is inline, into bytes, and not at other sources or unknown types", () =>
    Effect.gen(function* () {
      const unknown = { typeUrl: "type.googleapis.com/acme.Filter", value: new Uint8Array([1]) }
      const broken = rds("r")
      broken.value = new Uint8Array([255])
      const other = manager({
        routeSpecifier: {
          case: "rds",
          value: {
            routeConfigName: "elsewhere",
            configSource: fromJson(ConfigSourceSchema, { pathConfigSource: { path: "/etc/r.yaml" } })
          }
        }
      })
      const inline = manager({
        routeSpecifier: {
          case: "routeConfig",
          value: { name: "inline", virtualHosts: [{ name: "web", routes: [route("gone")] }] }
        }
      })
      const listeners = [
        listenerWith("inline", inline, other),
        create(ListenerSchema, {
          name: "odd",
          filterChains: [
            {
              filters: [
                { configType: { case: "typedConfig", value: unknown } },
                { configType: { case: "typedConfig", value: broken } }
              ]
            }
          ]
        })
      ]
      expect(yield* messages({ listeners })).toEqual([
        `listeners "inline": filter_chains[0].filters[0].${inManager}.route_config.virtual_hosts[0].routes[0].route.cluster names cluster "gone", which is not there`
      ])
      const packed = listeners.map((listener) => anyPack(ListenerSchema, listener))
      expect(yield* messages({ listeners: packed, clusters: [create(ClusterSchema, { name: "gone" })] })).toEqual([])
      expect(yield* messages({ resources: [{ typeUrl: "acme.Thing", name: "x", value: new Uint8Array() }] })).toEqual(
        []
      )
      expect(yield* messages({})).toEqual([])
    })
  )
})
