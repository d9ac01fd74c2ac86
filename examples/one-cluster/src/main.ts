import { create } from "@bufbuild/protobuf"
import { ClusterSchema } from "@effect-xds/proto/envoy/config/cluster/v3/cluster"
import { SnapshotStore, XdsServer } from "@effect-xds/server"
import { ConnectServer } from "@effect-xds/transport-connect"
import { NodeRuntime } from "@effect/platform-node"
import { Effect, Layer } from "effect"

const Publish = Layer.effectDiscard(
  Effect.gen(function* () {
    const store = yield* SnapshotStore.SnapshotStore
    const backend = create(ClusterSchema, { name: "backend", connectTimeout: { seconds: 1n } })
    yield* store.set("edge", { clusters: [backend] })
  })
)

XdsServer.layer({ group: (node) => node.cluster }).pipe(
  Layer.merge(Publish),
  Layer.provide(SnapshotStore.layerMemory()),
  Layer.provide(ConnectServer.layer({ port: Number(process.env.PORT ?? 18000) })),
  Layer.launch,
  NodeRuntime.runMain
)
