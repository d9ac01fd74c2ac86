/** A server in memory for tests of resources that are made on demand. */
import { create } from "@bufbuild/protobuf"
import { ResourceType } from "@effect-xds/proto"
import { ClusterSchema } from "@effect-xds/proto/envoy/config/cluster/v3/cluster"
import { SnapshotStore, XdsServer } from "@effect-xds/server"
import { MemoryTransport } from "@effect-xds/testing"
import { Effect, Layer } from "effect"
import { collecting } from "./StoreWrites.js"

export const CDS = ResourceType.Cluster.typeUrl

export const clusters = (...names: ReadonlyArray<string>) => ({
  clusters: names.map((name) => create(ClusterSchema, { name }))
})

/** What was logged in this file of tests. */
export const { layer: capture, lines } = collecting()

export const setup = <R = never>(options: Partial<XdsServer.Options<R>>) =>
  XdsServer.layer<R>({ group: ({ cluster }) => cluster, ...options }).pipe(
    Layer.provideMerge(Layer.merge(SnapshotStore.layerMemory(), MemoryTransport.layer)),
    Layer.provide(capture)
  )

/** Lets what was begun go on to its end. */
export const settled = Effect.forEach(
  Array.from({ length: 20 }),
  () => Effect.async<void>((resume) => void setImmediate(() => resume(Effect.void))),
  { discard: true }
)
