/** Calls to clusters whose endpoint is a name: LOGICAL_DNS. */
import { create } from "@bufbuild/protobuf"
import { Cluster_DiscoveryType, ClusterSchema } from "@effect-xds/proto/envoy/config/cluster/v3/cluster"
import { GrpcListener } from "@effect-xds/testing"
import { expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Mesh from "./Mesh.js"

const named = (address: string, port: number) =>
  create(ClusterSchema, {
    name: "shop",
    clusterDiscoveryType: { case: "type", value: Cluster_DiscoveryType.LOGICAL_DNS },
    loadAssignment: Mesh.localities("shop", { address, ports: [port] })
  })

for (const profile of ["grpc", "envoy"] as const) {
  // ★ The address is known as the watch begins: what is told then was lost, and calls waited for ever.
  it.scopedLive.each(["127.0.0.1", "localhost"])(`calls go to %s by the rules of ${profile}`, (address) =>
    Effect.gen(function* () {
      const backend = yield* Mesh.backend()
      const { set } = yield* Mesh.ControlPlane
      yield* set({
        listeners: [GrpcListener.make("shop")],
        routes: [Mesh.routes("shop", ["shop"], Mesh.to("shop"))],
        clusters: [named(address, backend.port)]
      })
      const client = yield* Mesh.checker()
      expect(yield* Mesh.portOf(client, "", { timeoutMs: 10_000 })).toBe(backend.port)
    }).pipe(Effect.provide(Mesh.meshOf({ profile })))
  )
}
