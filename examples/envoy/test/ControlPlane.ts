/** A control plane in this process, on any free port, with all that it says. */
import { SnapshotStore, XdsServer, type ServerEvent } from "@effect-xds/server"
import { ConnectServer } from "@effect-xds/transport-connect"
import { Context, Effect, Layer, Stream } from "effect"

/** Serves until the scope closes. */
export const serve = (options: Partial<XdsServer.Options> = {}) =>
  Effect.gen(function* () {
    const context = yield* Layer.build(
      XdsServer.layer({ group: (node) => node.cluster, ...options }).pipe(
        Layer.provideMerge(SnapshotStore.layerMemory()),
        Layer.provide(ConnectServer.layer())
      )
    )
    const server = Context.get(context, XdsServer.XdsServer)
    const store = Context.get(context, SnapshotStore.SnapshotStore)
    const events: Array<ServerEvent.ServerEvent> = []
    yield* server.events.pipe(
      Stream.runForEach((event) => Effect.sync(() => events.push(event))),
      Effect.forkScoped
    )
    // The subscription begins when its fiber runs.
    yield* Effect.yieldNow()
    return { ...server, store, events }
  })
