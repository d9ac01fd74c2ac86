/**
 * One of the control planes, in a process of its own: `node dist/ControlPlane.js NAME STORE PORT`. Its parent asks it for
 * updates, which it writes to the store that it shares with the other.
 */
import { XdsServer } from "@effect-xds/server"
import { SqlStore, StoreUrl } from "@effect-xds/store-sql"
import { ConnectServer } from "@effect-xds/transport-connect"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as LogLevel from "effect/LogLevel"
import * as Queue from "effect/Queue"
import * as Redacted from "effect/Redacted"
import * as Stream from "effect/Stream"
import * as Mesh from "./Mesh.js"

process.once("disconnect", () => process.exit())

/** What the parent asks for. */
export type Request =
  | { readonly ask: "begin"; readonly to: Mesh.Version; readonly ports: Mesh.Ports }
  | { readonly ask: "routes"; readonly to: Mesh.Version; readonly note: string }
  | { readonly ask: "rollback"; readonly revision: number }
  | { readonly ask: "status" }

/** What it is told. */
export interface Answer {
  /** Of the store. */
  readonly revision?: number
  /** The clients that are connected. */
  readonly clients?: ReadonlyArray<string>
  /** By client, the resources that were sent since the start. */
  readonly sent?: Readonly<Record<string, number>>
  readonly error?: string
}

const isRequest = (value: unknown): value is Request => typeof value === "object" && value !== null && "ask" in value

const [, , name = "", url = "", port = "0"] = process.argv

const program = Effect.gen(function* () {
  const store = yield* SqlStore.SqlStore
  const { address, events, status } = yield* XdsServer.XdsServer
  const requests = yield* Queue.unbounded<Request>()
  const sent: Record<string, number> = {}
  yield* Effect.forkScoped(
    Stream.runForEach(events, (event) =>
      Effect.sync(() => {
        if (event._tag !== "Sent") return
        const id = event.client.node?.id ?? ""
        sent[id] = (sent[id] ?? 0) + event.resources
      })
    )
  )
  const answer = (request: Request): Effect.Effect<Answer, { readonly message: string }> => {
    switch (request.ask) {
      case "begin":
        return Effect.gen(function* () {
          const { revision } = yield* store.set("shared", Mesh.shared(request.to, request.ports), {
            note: "the beginning"
          })
          yield* store.set("edge", Mesh.edge)
          yield* store.set("mesh", Mesh.mesh)
          return { revision }
        })
      case "routes":
        return Effect.map(
          store.update("shared", { upsert: { routes: Mesh.routes(request.to) } }, { note: request.note }),
          ({ revision }) => ({ revision })
        )
      case "rollback":
        return Effect.map(store.rollback("shared", request.revision), ({ revision }) => ({ revision }))
      case "status":
        return Effect.map(Effect.all([status, store.status]), ([clients, { revision }]) => {
          return { clients: clients.map(({ node }) => node?.id ?? ""), sent, revision }
        })
    }
  }
  process.on("message", (message) => {
    if (isRequest(message)) Queue.unsafeOffer(requests, message)
  })
  process.send?.({ ready: { port: Number(address.slice(address.lastIndexOf(":") + 1)) } })
  yield* Effect.forever(
    Effect.flatMap(Queue.take(requests), (request) =>
      answer(request).pipe(
        Effect.catchAll(({ message }) => Effect.succeed<Answer>({ error: message })),
        Effect.map((answered) => process.send?.({ answer: answered }))
      )
    )
  )
})

const layer = XdsServer.layer({ group: (node) => node.cluster, controlPlane: name }).pipe(
  Layer.provide(ConnectServer.layer({ port: Number(port) })),
  Layer.provideMerge(SqlStore.layer(StoreUrl.open(Redacted.make(url)), { process: name, writeTimeout: "1 second" })),
  Layer.provide(Logger.minimumLogLevel(LogLevel.Error))
)

Effect.runFork(Effect.scoped(Effect.provide(program, layer)))
