/**
 * Resources that are made when an Envoy first needs them: virtual hosts (VHDS) and clusters (on-demand CDS). Both are asked for by
 * name, over incremental streams.
 */
import { create } from "@bufbuild/protobuf"
import { ResourceType } from "@effect-xds/proto"
import { RouteConfigurationSchema } from "@effect-xds/proto/envoy/config/route/v3/route"
import { VirtualHostSchema } from "@effect-xds/proto/envoy/config/route/v3/route_components"
import { Snapshot, SnapshotStore } from "@effect-xds/server"
import * as Effect from "effect/Effect"
import * as Bootstrap from "./Bootstrap.js"
import * as Resources from "./Resources.js"

const variant = Bootstrap.incremental

const odcds = { source: Resources.source(variant), timeout: { seconds: 5n } }

/** A listener whose virtual hosts are fetched by VHDS, each with the first request for it. */
export const hosts: Snapshot.Snapshot = {
  listeners: [Resources.listener("ingress", Resources.manager(variant, "main", [Resources.onDemand()]))],
  routes: [create(RouteConfigurationSchema, { name: "main", vhds: { configSource: Resources.source(variant) } })]
}

/** A listener whose requests name their cluster in the header `x-cluster`; it is fetched with the first request for it. */
export const clusters: Snapshot.Snapshot = {
  listeners: [Resources.listener("ingress", Resources.manager(variant, "main", [Resources.onDemand({ odcds })]))],
  routes: [
    create(RouteConfigurationSchema, {
      name: "main",
      virtualHosts: [
        create(VirtualHostSchema, {
          name: "all",
          domains: ["*"],
          routes: [
            {
              match: { pathSpecifier: { case: "prefix", value: "/" } },
              action: { case: "route", value: { clusterSpecifier: { case: "clusterHeader", value: "x-cluster" } } }
            }
          ]
        })
      ]
    })
  ]
}

/**
 * The hook: makes hosts of `*.example`, and the clusters whose endpoints are known. Anything else stays unknown, so that strangers
 * cannot fill the store.
 */
export const make =
  (endpoints: Readonly<Record<string, ReadonlyArray<string>>>) => (group: string, typeUrl: string, name: string) =>
    Effect.gen(function* () {
      const store = yield* SnapshotStore.SnapshotStore
      if (typeUrl === ResourceType.VirtualHost.typeUrl) {
        const [routes = "", host = ""] = name.split("/")
        if (!host.endsWith(".example")) return
        const virtualHost = Resources.virtualHost(host, [host], { [Object.keys(endpoints)[0] ?? ""]: 1 })
        yield* store.update(group, { upsert: { virtualHosts: [Snapshot.virtualHost(routes, virtualHost)] } })
      }
      const addresses = endpoints[name]
      if (typeUrl !== ResourceType.Cluster.typeUrl || addresses === undefined) return
      yield* store.update(group, {
        upsert: { clusters: [Resources.cluster(variant, name)], endpoints: [Resources.assignment(name, addresses)] }
      })
    })
