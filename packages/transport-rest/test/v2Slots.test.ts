/** A group of v2, given by the properties of a snapshot. */
import { create } from "@bufbuild/protobuf"
import { DurationSchema } from "@bufbuild/protobuf/wkt"
import { TypeRegistry } from "@effect-xds/proto"
import { ClusterSchema as V3ClusterSchema } from "@effect-xds/proto/envoy/config/cluster/v3/cluster"
import { GeneratedTypes } from "@effect-xds/proto-v2"
import { ClusterSchema } from "@effect-xds/proto-v2/envoy/api/v2/cluster"
import { ClusterLoadAssignmentSchema } from "@effect-xds/proto-v2/envoy/api/v2/endpoint"
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { node, request, serve } from "./ControlPlane.js"

TypeRegistry.add(GeneratedTypes.types)

const second = create(DurationSchema, { seconds: 1n })
const cluster = (name: string, connectTimeout = second) => create(ClusterSchema, { name, connectTimeout })

const poll = (port: number, path: string, names: ReadonlyArray<string>) =>
  Effect.map(
    Effect.promise(() => request(port, { path, json: { node: node(), resource_names: names } })),
    ({ body }): unknown => JSON.parse(body.toString())
  )

describe("a group of v2", () => {
  it.scopedLive("is given by the same properties as one of v3; labels and names of removed ones are of v2, too", () =>
    Effect.gen(function* () {
      const { port, store } = yield* serve()
      yield* store.set("edge", {
        clusters: [cluster("a"), cluster("b")],
        endpoints: [create(ClusterLoadAssignmentSchema, { clusterName: "a" })],
        versions: { clusters: "release 7" }
      })
      expect(yield* poll(port, "/v2/discovery:clusters", [])).toMatchObject({
        versionInfo: "release 7",
        resources: [{ name: "a" }, { name: "b" }]
      })
      expect(yield* poll(port, "/v2/discovery:endpoints", ["a"])).toMatchObject({ resources: [{ clusterName: "a" }] })
      yield* store.update("edge", { remove: { clusters: ["b"] }, versions: { clusters: "release 8" } })
      expect(yield* poll(port, "/v2/discovery:clusters", [])).toMatchObject({
        versionInfo: "release 8",
        resources: [{ "@type": "type.googleapis.com/envoy.api.v2.Cluster", name: "a" }]
      })
    })
  )

  it.scopedLive("has the rules of its fields, and nothing of v3", () =>
    Effect.gen(function* () {
      const { store } = yield* serve()
      const never = create(DurationSchema, { seconds: -5n })
      const refused = yield* Effect.flip(store.set("edge", { clusters: [cluster("a", never)] }))
      expect(refused.message).toContain('"a": connect_timeout must be greater than 0s, is -5s')
      const mixed = { clusters: [cluster("a"), create(V3ClusterSchema, { name: "b" })] }
      expect((yield* Effect.flip(store.set("edge", mixed))).message).toContain("a group has resources of one of them")
    })
  )
})
