/** The control plane, in a process of its own. It serves the meshes that its parent sends, one after another. */
import { SnapshotStore, XdsServer } from "@effect-xds/server"
import { ConnectServer } from "@effect-xds/transport-connect"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as LogLevel from "effect/LogLevel"
import * as Queue from "effect/Queue"
import type { Mesh } from "./Mesh.js"
import * as Meshes from "./Mesh.js"

process.once("disconnect", () => process.exit())

const isMesh = (value: unknown): value is Mesh =>
  typeof value === "object" &&
  value !== null &&
  Object.values(value).every((each: unknown) => typeof each === "object" && each !== null && "ports" in each)

const program = Effect.gen(function* () {
  const store = yield* SnapshotStore.SnapshotStore
  const { address } = yield* XdsServer.XdsServer
  const meshes = yield* Queue.unbounded<Mesh>()
  process.on("message", (message) => {
    if (isMesh(message)) Queue.unsafeOffer(meshes, message)
  })
  process.send?.({ port: Number(address.slice(address.lastIndexOf(":") + 1)) })
  yield* Effect.forever(Effect.flatMap(Queue.take(meshes), (mesh) => store.set("shop", Meshes.resources(mesh))))
})

const layer = XdsServer.layer({ group: () => "shop" }).pipe(
  Layer.provide(ConnectServer.layer({ port: Number(process.argv[2] ?? "0") })),
  Layer.provideMerge(SnapshotStore.layerMemory()),
  Layer.provide(Logger.minimumLogLevel(LogLevel.Error))
)

Effect.runFork(Effect.provide(program, layer))
