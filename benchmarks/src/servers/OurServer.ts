/** Our server as its users run it: the built packages with their default options, but for what the harness has in the environment. */
import { fromBinary } from "@bufbuild/protobuf"
import { ClusterSchema } from "@effect-xds/proto/envoy/config/cluster/v3/cluster"
import { ClusterLoadAssignmentSchema } from "@effect-xds/proto/envoy/config/endpoint/v3/endpoint"
import type { Snapshot } from "@effect-xds/server"
import { SnapshotStore, XdsServer } from "@effect-xds/server"
import { ConnectServer } from "@effect-xds/transport-connect"
import { CompilerBudget } from "@effect-xds/transport-node"
import { Effect, Layer, Logger, ManagedRuntime } from "effect"
import type { Change } from "./Commands.js"
import { fixtures, serve } from "./Commands.js"

const group = "bench"

const runtime = ManagedRuntime.make(
  XdsServer.layer({ group: (node) => node.cluster }).pipe(
    Layer.provideMerge(SnapshotStore.layerMemory()),
    Layer.provide(ConnectServer.layer({ http1: process.env.XDS_HTTP2_ONLY === undefined })),
    Layer.merge(process.env.XDS_AS_SERVE === undefined ? Layer.empty : CompilerBudget.layer),
    // Standard output belongs to the harness.
    Layer.provide(Logger.replace(Logger.defaultLogger, Logger.withConsoleError(Logger.logfmtLogger)))
  )
)

let typeUrl = ""

serve({
  load: async (load) => {
    typeUrl = load.typeUrl
    const resources: Array<Snapshot.Encoded> = []
    for await (const { name, value } of fixtures(load.fixtures)) resources.push({ typeUrl, name, value })
    return runtime.runPromise(
      Effect.gen(function* () {
        const store = yield* SnapshotStore.SnapshotStore
        yield* store.set(group, { resources })
        return (yield* XdsServer.XdsServer).address
      })
    )
  },
  prepare: (changes, encoded): SnapshotStore.Change => {
    const messageOf = ({ value }: Change) =>
      typeUrl.endsWith(ClusterSchema.typeName)
        ? fromBinary(ClusterSchema, value)
        : fromBinary(ClusterLoadAssignmentSchema, value)
    const resources = encoded ? changes.map(({ name, value }) => ({ typeUrl, name, value })) : changes.map(messageOf)
    return { upsert: { resources } }
  },
  apply: (changes) =>
    runtime.runPromise(
      Effect.flatMap(SnapshotStore.SnapshotStore, (store) =>
        Effect.forEach(changes, (change) => store.update(group, change), { discard: true })
      )
    )
})
