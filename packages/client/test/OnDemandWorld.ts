/** A server that makes virtual hosts on demand, and a client of it, over gRPC. */
import { Bootstrap, XdsClient } from "@effect-xds/client"
import { ResourceType } from "@effect-xds/proto"
import { type Snapshot, SnapshotStore, XdsServer } from "@effect-xds/server"
import { ConnectClient, ConnectServer } from "@effect-xds/transport-connect"
import { Context, Effect, Layer, Logger } from "effect"

const silent = Logger.replace(Logger.defaultLogger, Logger.none)

type Make = (host: string, store: SnapshotStore.Store) => Effect.Effect<unknown, unknown>

/** A server with what `make` makes, and a client of it. */
export const setup = (snapshot: Snapshot.Snapshot, make?: Make, options: Partial<XdsClient.Options> = {}) =>
  Effect.gen(function* () {
    const store = yield* SnapshotStore.makeMemory({ validate: "off" })
    yield* store.set("edge", snapshot)
    const asked: Array<string> = []
    const onMissing = (_group: string, typeUrl: string, name: string) => {
      if (typeUrl !== ResourceType.VirtualHost.typeUrl) return Effect.void
      asked.push(name)
      return make?.(name.slice(name.lastIndexOf("/") + 1), store) ?? Effect.void
    }
    const server = Context.get(
      yield* Layer.build(
        XdsServer.layer({ group: (node) => node.cluster, onMissing }).pipe(
          Layer.provide(SnapshotStore.layerOf(store)),
          Layer.provide(ConnectServer.layer({ port: 0, shutdownGrace: 10 })),
          Layer.provide(silent)
        )
      ),
      XdsServer.XdsServer
    )
    const bootstrap = Bootstrap.make({ servers: [server.address], node: { id: "c1", cluster: "edge" } })
    const context = yield* Layer.build(
      XdsClient.layer({ bootstrap, protocol: "Incremental", ...options }).pipe(
        Layer.provide(ConnectClient.layer()),
        Layer.provide(silent)
      )
    )
    /** The number of hosts that are subscribed to. */
    const subscribed = Effect.map(
      server.status,
      (streams) =>
        streams.flatMap(({ types }) => types).find(({ typeUrl }) => typeUrl === ResourceType.VirtualHost.typeUrl)
          ?.names ?? 0
    )
    const nacks = Effect.map(server.status, (streams) =>
      streams.flatMap(({ types }) => types.map(({ nacked }) => nacked?.error.message ?? "")).join("\n")
    )
    return { asked, client: Context.get(context, XdsClient.XdsClient), nacks, store, subscribed }
  })
