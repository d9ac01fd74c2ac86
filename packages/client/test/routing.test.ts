/**
 * The readers of `@effect-xds/routing` as the decoders of a client, against a real server over gRPC: of a response the
 * resources that are valid are used, and the NACK says what is wrong with the others, where, and what to do.
 */
import { create } from "@bufbuild/protobuf"
import { Bootstrap, WatchableType, XdsClient, type ResourceEvent } from "@effect-xds/client"
import {
  ClusterSchema,
  Cluster_DiscoveryType as DiscoveryType
} from "@effect-xds/proto/envoy/config/cluster/v3/cluster"
import { ClusterLoadAssignmentSchema } from "@effect-xds/proto/envoy/config/endpoint/v3/endpoint"
import { ListenerSchema } from "@effect-xds/proto/envoy/config/listener/v3/listener"
import { RouteConfigurationSchema } from "@effect-xds/proto/envoy/config/route/v3/route"
import { CallHeaders, Decoder, RouteTable, XdsConfig } from "@effect-xds/routing"
import type { Snapshot } from "@effect-xds/server"
import { SnapshotStore, XdsServer } from "@effect-xds/server"
import { GrpcListener } from "@effect-xds/testing"
import { eventually } from "@effect-xds/testing/Waiting"
import { ConnectClient, ConnectServer } from "@effect-xds/transport-connect"
import { describe, expect, it } from "@effect/vitest"
import { Context, Effect, Layer, Logger, Stream } from "effect"

const silent = Logger.replace(Logger.defaultLogger, Logger.none)
const ads = { configSourceSpecifier: { case: "ads" as const, value: {} } }

/** All to one cluster; a pattern that is no pattern of RE2 makes it bad. */
const routes = (name: string, cluster: string, regex = ".*") =>
  create(RouteConfigurationSchema, {
    name,
    virtualHosts: [
      {
        name: "all",
        domains: ["*"],
        routes: [
          {
            match: { pathSpecifier: { case: "safeRegex", value: { regex } } },
            action: { case: "route", value: { clusterSpecifier: { case: "cluster", value: cluster } } }
          }
        ]
      }
    ]
  })

const cluster = (name: string, type = DiscoveryType.EDS) =>
  create(ClusterSchema, {
    name,
    clusterDiscoveryType: { case: "type", value: type },
    edsClusterConfig: { edsConfig: ads }
  })

const assignment = (clusterName: string, priority = 0) =>
  create(ClusterLoadAssignmentSchema, {
    clusterName,
    endpoints: [{ priority, locality: { zone: "z" }, loadBalancingWeight: 1 }]
  })

/** What a watcher heard of a resource, in words. */
const hear = <A>(
  client: Context.Tag.Service<XdsClient.XdsClient>,
  decoder: Decoder.Decoder<A>,
  names: ReadonlyArray<string>,
  textOf: (value: A) => string
) =>
  Effect.gen(function* () {
    const heard: Array<string> = []
    const type = WatchableType.make(decoder)
    for (const name of names) {
      yield* Effect.forkScoped(
        Stream.runForEach(client.watch(type, name), (event: ResourceEvent.ResourceEvent<A>) =>
          Effect.sync(() => {
            const known = XdsConfig.knownAfter(event)
            const text =
              known === undefined
                ? "as it was"
                : known._tag === "Value"
                  ? textOf(known.value)
                  : event._tag === "Error"
                    ? "rejected"
                    : event._tag
            heard.push(`${name}: ${text}`)
          })
        )
      )
    }
    return heard
  })

const clusterOfCall = (table: RouteTable.RouteTable): string => {
  const match = RouteTable.match(table, "any", { path: "/s/m", headers: CallHeaders.empty, draw: () => 0 })
  return match._tag === "Route" && match.route.action.clusters._tag === "Cluster"
    ? match.route.action.clusters.cluster
    : match._tag
}

const setup = (snapshot: Snapshot.Snapshot, protocol: "StateOfTheWorld" | "Incremental") =>
  Effect.gen(function* () {
    // What gRPC rejects is mostly against the rules of the types, too.
    const store = yield* SnapshotStore.makeMemory({ validate: "off" })
    yield* store.set("edge", snapshot)
    const server = Context.get(
      yield* Layer.build(
        XdsServer.layer({ group: (node) => node.cluster }).pipe(
          Layer.provide(SnapshotStore.layerOf(store)),
          Layer.provide(ConnectServer.layer({ port: 0, shutdownGrace: 10 })),
          Layer.provide(silent)
        )
      ),
      XdsServer.XdsServer
    )
    const bootstrap = Bootstrap.make({ servers: [server.address], node: { id: "c1", cluster: "edge" } })
    const context = yield* Layer.build(
      XdsClient.layer({ bootstrap, protocol }).pipe(Layer.provide(ConnectClient.layer()), Layer.provide(silent))
    )
    const nacks = Effect.map(server.status, (clients) =>
      clients.flatMap(({ types }) => types.map(({ nacked }) => nacked?.error.message ?? "")).join("\n")
    )
    return { store, nacks, client: Context.get(context, XdsClient.XdsClient) }
  })

const nacked = (nacks: Effect.Effect<string>, text: string) =>
  eventually(Effect.map(nacks, (words) => expect(words).toContain(text)))

describe.each(["StateOfTheWorld", "Incremental"] as const)("what gRPC clients reject, %s", (protocol) => {
  it.scopedLive("RouteConfigurations: one is bad, two are used; a bad update leaves the last good one", () =>
    Effect.gen(function* () {
      const { client, nacks, store } = yield* setup(
        { routes: [routes("good-1", "a"), routes("bad", "b", "("), routes("good-2", "c")] },
        protocol
      )
      const heard = yield* hear(client, Decoder.routeConfiguration(), ["good-1", "bad", "good-2"], clusterOfCall)
      yield* eventually(() => expect(heard.toSorted()).toEqual(["bad: rejected", "good-1: a", "good-2: c"]))
      yield* nacked(
        nacks,
        'virtual_hosts[0].routes[0].match.safe_regex.regex: "(" is not a regular expression of RE2: '
      )
      yield* store.update("edge", {
        upsert: { routes: [routes("good-1", "", "a.*"), routes("good-2", "d")] }
      })
      yield* eventually(() => expect(heard.slice(3).toSorted()).toEqual(["good-1: as it was", "good-2: d"]))
      yield* nacked(nacks, "virtual_hosts[0].routes[0].route.cluster: the cluster's name is empty; name a cluster")
      yield* store.update("edge", { upsert: { routes: [routes("bad", "e"), routes("good-1", "f")] } })
      yield* eventually(() => expect(heard.slice(5).toSorted()).toEqual(["bad: e", "good-1: f"]))
    })
  )

  it.scopedLive("Listeners, Clusters and ClusterLoadAssignments: one is bad, two are used", () =>
    Effect.gen(function* () {
      const { client, nacks } = yield* setup(
        {
          listeners: [
            GrpcListener.make("l-1", { routes: "r" }),
            create(ListenerSchema, { name: "l-bad" }),
            GrpcListener.make("l-2", { routes: "s" })
          ],
          clusters: [cluster("c-1"), cluster("c-bad", DiscoveryType.STRICT_DNS), cluster("c-2")],
          endpoints: [assignment("e-1"), assignment("e-bad", 1), assignment("e-2")]
        },
        protocol
      )
      const listeners = yield* hear(client, Decoder.listener(), ["l-1", "l-bad", "l-2"], ({ routes }) =>
        routes._tag === "Rds" ? routes.name : "inline"
      )
      const clusters = yield* hear(client, Decoder.cluster(), ["c-1", "c-bad", "c-2"], ({ discovery }) =>
        discovery._tag === "Eds" ? discovery.name : discovery._tag
      )
      const assignments = yield* hear(client, Decoder.assignment, ["e-1", "e-bad", "e-2"], ({ priorities }) =>
        String(priorities.length)
      )
      yield* eventually(() => expect(listeners.toSorted()).toEqual(["l-1: r", "l-2: s", "l-bad: rejected"]))
      yield* eventually(() => expect(clusters.toSorted()).toEqual(["c-1: c-1", "c-2: c-2", "c-bad: rejected"]))
      yield* eventually(() => expect(assignments.toSorted()).toEqual(["e-1: 1", "e-2: 1", "e-bad: rejected"]))
      yield* nacked(nacks, "api_listener.api_listener: api_listener is missing; a listener of sockets is for servers")
      yield* nacked(nacks, "type: STRICT_DNS is not supported; use EDS, LOGICAL_DNS or an aggregate")
      yield* nacked(nacks, "endpoints: no locality has priority 0, and one has a higher one; leave no gap")
    })
  )
})
