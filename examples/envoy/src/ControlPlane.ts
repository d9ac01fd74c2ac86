/**
 * The control plane: watches what the edge is to do and tells the Envoys.
 *
 *     node dist/ControlPlane.js <edge file> <GRPC | DELTA_GRPC> <port>
 */
import * as FileSystem from "@effect/platform/FileSystem"
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { ResourceType } from "@effect-xds/proto"
import { SnapshotStore, XdsServer } from "@effect-xds/server"
import { ConnectServer } from "@effect-xds/transport-connect"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Schedule from "effect/Schedule"
import * as Stream from "effect/Stream"
import * as Bootstrap from "./Bootstrap.js"
import * as Edge from "./Edge.js"

const [file = "edge.json", apiType = "DELTA_GRPC", port = "18000"] = process.argv.slice(2)

// The server speaks every variant to whoever asks; the resources say which one Envoy is to use for what they name.
const variant = apiType === "GRPC" ? Bootstrap.stateOfTheWorld : Bootstrap.incremental

// Every state of the file as a whole: the store finds out what is different, and Envoys are sent only that, clusters
// before the routes that need them, and removals last.
const Publish = Layer.scopedDiscard(
  Effect.gen(function* () {
    const store = yield* SnapshotStore.SnapshotStore
    const files = yield* FileSystem.FileSystem
    yield* Stream.repeatEffectWithSchedule(files.readFileString(file), Schedule.spaced("50 millis")).pipe(
      Stream.changes,
      Stream.mapEffect((text) =>
        Edge.parse(text).pipe(
          Effect.flatMap((edge) => store.set("edge", Edge.toSnapshot(variant, edge))),
          Effect.catchAll((error) => Effect.logError(`this edge is not used: ${error.message}`))
        )
      ),
      Stream.runDrain,
      Effect.tapErrorCause((cause) => Effect.logError("the edge is no longer read", cause)),
      Effect.forkScoped
    )
  })
)

// What is said between it and the Envoys, on the standard output.
const Print = Layer.scopedDiscard(
  Effect.gen(function* () {
    const { address, events } = yield* XdsServer.XdsServer
    yield* events.pipe(
      Stream.runForEach((event) => {
        const type = "typeUrl" in event ? ResourceType.shortNameOf(event.typeUrl) : ""
        switch (event._tag) {
          case "Connected":
            return Console.log(`connected ${event.client.node?.id ?? ""}`)
          case "Subscribed":
            return Console.log(`subscribed ${type}`)
          case "Sent":
            return Console.log(`sent ${type} ${event.resources} ${event.removed}`)
          case "Nacked":
            return Console.log(`NACK ${type} ${event.error.message}`)
          default:
            return Effect.void
        }
      }),
      Effect.forkScoped
    )
    yield* Console.log(`serving ${address}`)
  })
)

Print.pipe(
  Layer.provide(XdsServer.layer({ group: (node) => node.cluster })),
  Layer.merge(Publish),
  Layer.provide(SnapshotStore.layerMemory()),
  Layer.provide(ConnectServer.layer({ port: Number(port) })),
  Layer.provide(NodeFileSystem.layer),
  Layer.provide(Logger.replace(Logger.defaultLogger, Logger.withConsoleError(Logger.logfmtLogger))),
  Layer.launch,
  NodeRuntime.runMain({ disablePrettyLogger: true })
)
