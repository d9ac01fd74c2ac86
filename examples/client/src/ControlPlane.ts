/**
 * The demo's control plane. Each line on its standard input is an edge to serve; it ends when that ends.
 *
 *     node dist/ControlPlane.js <port>
 */
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as NodeStream from "@effect/platform-node/NodeStream"
import { ResourceType } from "@effect-xds/proto"
import { SnapshotStore, XdsServer } from "@effect-xds/server"
import { ConnectServer } from "@effect-xds/transport-connect"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as LogLevel from "effect/LogLevel"
import * as Stream from "effect/Stream"
import * as Edge from "./Edge.js"

const [port = "0"] = process.argv.slice(2)

const serve = Effect.gen(function* () {
  const store = yield* SnapshotStore.SnapshotStore
  const { address, events } = yield* XdsServer.XdsServer
  yield* Stream.runForEach(events, (event) =>
    event._tag === "Nacked"
      ? Console.log(
          `NACK of ${ResourceType.shortNameOf(event.typeUrl)} by ${event.client.node?.id ?? "?"}: ${event.error.message}`
        )
      : Effect.void
  ).pipe(Effect.forkScoped)
  yield* Console.log(address)
  yield* NodeStream.stdin.pipe(
    Stream.decodeText(),
    Stream.splitLines,
    Stream.mapEffect(Edge.decode),
    Stream.runForEach((edge) => store.set("edge", Edge.toSnapshot(edge)))
  )
})

const layer = XdsServer.layer({ group: (node) => node.cluster }).pipe(
  Layer.provide(ConnectServer.layer({ port: Number(port) })),
  Layer.provideMerge(SnapshotStore.layerMemory()),
  Layer.provide(Logger.replace(Logger.defaultLogger, Logger.withConsoleError(Logger.logfmtLogger))),
  Layer.provide(Logger.minimumLogLevel(LogLevel.Error))
)

serve.pipe(Effect.scoped, Effect.provide(layer), NodeRuntime.runMain({ disablePrettyLogger: true }))
