/** The paths of Envoy's v2 API. */
import { create, toBinary } from "@bufbuild/protobuf"
import { ResourceType } from "@effect-xds/proto"
import { ClusterSchema } from "@effect-xds/proto/envoy/config/cluster/v3/cluster"
import { Snapshot } from "@effect-xds/server"
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { clusters, node, request, serve } from "./ControlPlane.js"

const typeUrl = ResourceType.typeUrlIn("v2", ResourceType.Cluster)

/** A cluster of v2 has its name in the same field; its type is of a package that is not loaded here. */
const cluster = (name: string) =>
  Snapshot.resource(
    { typeUrl, name, value: toBinary(ClusterSchema, create(ClusterSchema, { name })) },
    { isUnknownType: true }
  )

const poll = (port: number, path: string) =>
  Effect.promise(() =>
    request(port, { path, headers: { accept: "application/x-protobuf" }, json: { node: node(), resource_names: [] } })
  )

describe("/v2/discovery:clusters", () => {
  it.scopedLive("is answered with the clusters of v2", () =>
    Effect.gen(function* () {
      const { port, store } = yield* serve()
      yield* store.set("edge", { resources: [cluster("a")] })
      const { body, status } = yield* poll(port, "/v2/discovery:clusters")
      expect(status).toBe(200)
      expect(body.toString("latin1")).toContain("type.googleapis.com/envoy.api.v2.Cluster")
    })
  )

  it.scopedLive("★ who asks for the other version is told so, and not that there is nothing", () =>
    Effect.gen(function* () {
      const { port, store } = yield* serve()
      yield* store.set("edge", { resources: [cluster("a")] })
      const older = yield* poll(port, "/v3/discovery:clusters")
      expect([older.status, older.body.toString()]).toEqual([
        400,
        expect.stringContaining("the group holds resources of Envoy's v2 API")
      ])
      yield* store.set("edge", clusters("a"))
      const newer = yield* poll(port, "/v2/discovery:clusters")
      expect([newer.status, newer.body.toString()]).toEqual([
        400,
        expect.stringContaining("the group holds resources of Envoy's v3 API")
      ])
    })
  )
})
