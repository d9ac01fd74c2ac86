/** The control planes that clients are driven on: ours, and go-control-plane's. */
import type { DescMessage, MessageShape } from "@bufbuild/protobuf"
import { toBinary } from "@bufbuild/protobuf"
import { ResourceType } from "@effect-xds/proto"
import { ClusterSchema } from "@effect-xds/proto/envoy/config/cluster/v3/cluster"
import { ClusterLoadAssignmentSchema } from "@effect-xds/proto/envoy/config/endpoint/v3/endpoint"
import { ListenerSchema } from "@effect-xds/proto/envoy/config/listener/v3/listener"
import { RouteConfigurationSchema } from "@effect-xds/proto/envoy/config/route/v3/route"
import { SnapshotStore, XdsServer } from "@effect-xds/server"
import * as Waiting from "@effect-xds/testing/Waiting"
import { ConnectServer } from "@effect-xds/transport-connect"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import type { Resources } from "./Mesh.js"
import * as Process from "./Process.js"

export interface ControlPlane {
  readonly address: string
  readonly publish: (resources: Resources) => Effect.Effect<void>
}

const group = "interop"

export const ours: Effect.Effect<ControlPlane, never, Scope.Scope> = Effect.gen(function* () {
  const context = yield* Layer.build(
    XdsServer.layer({ group: () => group }).pipe(
      Layer.provideMerge(Layer.merge(SnapshotStore.layerMemory(), ConnectServer.layer({ port: 0, shutdownGrace: 0 })))
    )
  ).pipe(Effect.orDie)
  const store = Context.get(context, SnapshotStore.SnapshotStore)
  return {
    address: Context.get(context, XdsServer.XdsServer).address,
    publish: (resources) => Effect.orDie(Effect.asVoid(store.set(group, resources)))
  }
})

const Said = Schema.parseJson(
  Schema.Struct({ address: Schema.optional(Schema.String), set: Schema.optional(Schema.String) })
)

const isSaid = Schema.decodeUnknownOption(Said)

/** As the program wants them: the bytes of messages by type and name. */
const encoded = <S extends DescMessage>(
  schema: S,
  messages: ReadonlyArray<MessageShape<S>>,
  nameOf: (message: MessageShape<S>) => string
) =>
  Object.fromEntries(
    messages.map((message) => [nameOf(message), Buffer.from(toBinary(schema, message)).toString("base64")])
  )

const { Cluster, ClusterLoadAssignment, Listener, RouteConfiguration } = ResourceType

export const goControlPlane = (program: string): Effect.Effect<ControlPlane, never, Scope.Scope> =>
  Effect.gen(function* () {
    let address = ""
    let newest = 0
    const child = yield* Process.start({
      name: "go-control-plane",
      program,
      args: ["0"],
      onLine: (line) => {
        const said = isSaid(line)
        if (said._tag === "None") return
        if (said.value.address !== undefined) ({ address } = said.value)
        if (said.value.set !== undefined) newest = Number(said.value.set)
      }
    })
    let version = 0
    const publish = ({ clusters, endpoints, listeners, routes }: Resources) =>
      Effect.gen(function* () {
        const mine = ++version
        child.write(
          `${JSON.stringify({
            version: String(mine),
            set: {
              [Listener.typeUrl]: encoded(ListenerSchema, listeners, ({ name }) => name),
              [RouteConfiguration.typeUrl]: encoded(RouteConfigurationSchema, routes, ({ name }) => name),
              [Cluster.typeUrl]: encoded(ClusterSchema, clusters, ({ name }) => name),
              [ClusterLoadAssignment.typeUrl]: encoded(
                ClusterLoadAssignmentSchema,
                endpoints,
                ({ clusterName }) => clusterName
              )
            }
          })}\n`
        )
        yield* Waiting.until(
          `go-control-plane to have version ${mine}`,
          () => newest,
          (set) => set >= mine,
          { seen: child.lastWords }
        )
      })
    // It opens its port with its first state.
    yield* publish({ clusters: [], endpoints: [], listeners: [], routes: [] })
    yield* Waiting.until(
      "go-control-plane's address",
      () => address,
      (it) => it !== "",
      { seen: child.lastWords }
    )
    return { address, publish }
  })
