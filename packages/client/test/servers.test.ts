/**
 * The client against real servers over gRPC, in all four variants.
 */
import { create } from "@bufbuild/protobuf"
import { Bootstrap, WatchableType, XdsClient, type ResourceEvent } from "@effect-xds/client"
import { ResourceType } from "@effect-xds/proto"
import { ClusterSchema } from "@effect-xds/proto/envoy/config/cluster/v3/cluster"
import { ListenerSchema } from "@effect-xds/proto/envoy/config/listener/v3/listener"
import { Snapshot, SnapshotStore, XdsServer } from "@effect-xds/server"
import { FreePort } from "@effect-xds/testing"
import { eventually } from "@effect-xds/testing/Waiting"
import { ConnectClient, ConnectServer } from "@effect-xds/transport-connect"
import { describe, expect, it } from "@effect/vitest"
import { Context, Effect, Either, Exit, Layer, Logger, Scope, Stream } from "effect"

const silent = Logger.replace(Logger.defaultLogger, Logger.none)

const cluster = (name: string, altStatName = "") => create(ClusterSchema, { name, altStatName })
const listener = (name: string, statPrefix = "") => create(ListenerSchema, { name, statPrefix })

/** Serves what is in the store until the scope closes. */
const serve = (port: number, store: SnapshotStore.Store) =>
  Effect.gen(function* () {
    const context = yield* Layer.build(
      XdsServer.layer({ group: (node) => node.cluster }).pipe(
        Layer.provide(SnapshotStore.layerOf(store)),
        Layer.provide(ConnectServer.layer({ port, shutdownGrace: 10 })),
        Layer.provide(silent)
      )
    )
    const server = Context.get(context, XdsServer.XdsServer)
    return { ...server, port: Number(server.address.split(":").at(-1)) }
  })

/** Writes down all that is heard of a type. */
const hear = <A, E>(events: Stream.Stream<ResourceEvent.ResourceEvent<A>, E>, textOf: (value: A) => string) =>
  Effect.gen(function* () {
    const heard: Array<string> = []
    yield* Effect.forkScoped(
      Stream.runForEach(events, (event) =>
        Effect.sync(() =>
          heard.push(event._tag === "Updated" ? `${event.name}=${textOf(event.value)}` : `${event.name} ${event._tag}`)
        )
      )
    )
    return heard
  })

const variants = (["StateOfTheWorld", "Incremental"] as const).flatMap((protocol) =>
  [true, false].map((aggregated) => ({
    protocol,
    aggregated,
    name: `${protocol === "Incremental" ? "incremental" : "state of the world"}, ${aggregated ? "ADS" : "a stream for each type"}`
  }))
)

describe.each(variants)("XdsClient and XdsServer over gRPC, $name", ({ aggregated, protocol }) => {
  it.scopedLive("subscribe, update, delete, reject, lose the server, miss a name", () =>
    Effect.gen(function* () {
      const store = yield* SnapshotStore.makeMemory()
      yield* store.set("edge", { clusters: [cluster("a", "1"), cluster("b", "1")], listeners: [listener("l", "1")] })
      const first = yield* Scope.make()
      const port = yield* FreePort.any()
      const { status } = yield* Scope.extend(serve(port, store), first)
      const bootstrap = Bootstrap.make({ servers: [`127.0.0.1:${port}`], node: { id: "c1", cluster: "edge" } })
      const context = yield* Layer.build(
        XdsClient.layer({
          bootstrap,
          protocol,
          aggregated,
          resourceTimeout: "2500 millis",
          backoff: { initial: 50, floor: 10 }
        }).pipe(Layer.provide(ConnectClient.layer()), Layer.provide(silent))
      )
      const client = Context.get(context, XdsClient.XdsClient)
      const clusters = WatchableType.fromSchema(ClusterSchema, {
        validate: ({ altStatName }) => (altStatName === "bad" ? "no bad names here" : undefined)
      })
      const all = yield* hear(client.watchAll(clusters), (value) => value.altStatName)
      const one = yield* hear(client.watch(ListenerSchema, "l"), (value) => value.statPrefix)

      // Subscribe.
      yield* eventually(() => expect(all.toSorted()).toEqual(["a=1", "b=1"]))
      yield* eventually(() => expect(one).toEqual(["l=1"]))

      // Update, and what is not changed is not told.
      yield* store.update("edge", { upsert: { clusters: [cluster("b", "2")] } })
      yield* eventually(() => expect(all.slice(2)).toEqual(["b=2"]))

      // Reject.
      yield* store.update("edge", { upsert: { clusters: [cluster("b", "bad")] } })
      yield* eventually(() => expect(all.slice(3)).toEqual(["b AmbientError"]))
      let nack: string | undefined
      yield* eventually(
        Effect.map(status, (clients) => {
          const types = clients.flatMap((each) => each.types)
          nack = types.find(({ typeUrl }) => typeUrl === ResourceType.Cluster.typeUrl)?.nacked?.error.message
          expect(nack).toContain("no bad names here")
        })
      )
      yield* store.update("edge", { upsert: { clusters: [cluster("b", "3")] } })
      yield* eventually(() => expect(all.slice(4)).toEqual(["b=3"]))

      // Delete.
      yield* store.update("edge", { remove: { clusters: ["a"] } })
      yield* eventually(() => expect(all.slice(5)).toEqual(["a DoesNotExist"]))

      // The server goes and comes back; in between the timers of resources pass, and nothing is told.
      yield* Scope.close(first, Exit.void)
      yield* store.update("edge", { upsert: { clusters: [cluster("b", "4"), cluster("c", "4")] } })
      yield* eventually(() => expect(all.slice(6)).toEqual(["b AmbientError"]))
      // On a stream of its own it may be tried again at another time.
      yield* eventually(() => expect(one).toEqual(["l=1", "l AmbientError"]))
      yield* serve(port, store)
      yield* eventually(() => expect(all.slice(7).toSorted()).toEqual(["b=4", "c=4"]))
      yield* eventually(() => expect(one).toEqual(["l=1", "l AmbientError", "l Recovered"]))

      // A name that is not there: in incremental the server says so, else the timer does.
      const missing = yield* hear(client.watch(ListenerSchema, "none"), (value) => value.statPrefix)
      yield* eventually(() => expect(missing).toEqual(["none DoesNotExist"]))
      yield* store.update("edge", { upsert: { listeners: [listener("none", "late")] } })
      yield* eventually(() => expect(missing).toEqual(["none DoesNotExist", "none=late"]))
    })
  )
})

describe("XdsClient over gRPC", () => {
  it.scopedLive("thousands of watches that begin together are few requests", () =>
    Effect.gen(function* () {
      const store = yield* SnapshotStore.makeMemory()
      const many = Array.from({ length: 3_000 }, (_, index) => listener(`listener-${index}`, "here"))
      yield* store.set("edge", { listeners: many })
      const { events, port } = yield* serve(0, store)
      let requests = 0
      yield* Effect.forkScoped(
        Stream.runForEach(events, (event) =>
          Effect.sync(() => {
            if (event._tag === "Subscribed") requests++
          })
        )
      )
      const bootstrap = Bootstrap.make({ servers: [`127.0.0.1:${port}`], node: { id: "c1", cluster: "edge" } })
      const context = yield* Layer.build(
        XdsClient.layer({ bootstrap }).pipe(Layer.provide(ConnectClient.layer()), Layer.provide(silent))
      )
      const client = Context.get(context, XdsClient.XdsClient)
      const all = yield* Effect.forEach(many, ({ name }) => client.get(ListenerSchema, name), {
        concurrency: "unbounded"
      })
      expect(all.length).toBe(3_000)
      // How many depends on what the machine does meanwhile; XdsClient.test.ts counts them exactly.
      expect(requests).toBeLessThan(300)
    })
  )

  it.scopedLive("ten thousand clusters, one of which changes", () =>
    Effect.gen(function* () {
      const store = yield* SnapshotStore.makeMemory()
      const many = Array.from({ length: 10_000 }, (_, index) => cluster(`cluster-${index}`, "x".repeat(500)))
      yield* store.set("edge", { clusters: many })
      const { port } = yield* serve(0, store)
      const bootstrap = Bootstrap.make({ servers: [`127.0.0.1:${port}`], node: { id: "c1", cluster: "edge" } })
      const context = yield* Layer.build(
        XdsClient.layer({ bootstrap }).pipe(Layer.provide(ConnectClient.layer()), Layer.provide(silent))
      )
      const client = Context.get(context, XdsClient.XdsClient)
      const all = yield* hear(client.watchAll(ClusterSchema), (value) => value.altStatName.slice(0, 3))
      yield* eventually(() => expect(all).toHaveLength(10_000))
      yield* store.update("edge", { upsert: { clusters: [cluster("cluster-77", "new")] } })
      yield* eventually(() => expect(all.slice(10_000)).toEqual(["cluster-77=new"]))
    })
  )
})

/** A type that no table knows: the name stands before a colon, and behind it what the program makes of it. */
const greetings = WatchableType.make({
  typeUrl: "type.googleapis.com/acme.Greeting",
  nameOf: (bytes) => new TextDecoder().decode(bytes).split(":", 1)[0],
  decode: (bytes) => {
    const text = new TextDecoder().decode(bytes)
    return text.endsWith("!") ? Either.right(text.slice(text.indexOf(":") + 1)) : Either.left("nobody greets so")
  }
})

const greeting = (name: string, text: string) =>
  Snapshot.resource(
    { typeUrl: greetings.typeUrl, name, value: new TextEncoder().encode(`${name}:${text}`) },
    { isUnknownType: true }
  )

describe.each(["StateOfTheWorld", "Incremental"] as const)(
  "★ a type that no table knows, over gRPC, %s",
  (protocol) => {
    it.scopedLive(
      "is served as bytes, and watched with a decoder: by name and by wildcard, updated, rejected and deleted",
      () =>
        Effect.gen(function* () {
          const store = yield* SnapshotStore.makeMemory()
          yield* store.set("edge", { resources: [greeting("a", "hello!"), greeting("b", "good day!")] })
          const { port } = yield* serve(0, store)
          const bootstrap = Bootstrap.make({ servers: [`127.0.0.1:${port}`], node: { id: "c1", cluster: "edge" } })
          const client = Context.get(
            yield* Layer.build(
              XdsClient.layer({ bootstrap, protocol }).pipe(Layer.provide(ConnectClient.layer()), Layer.provide(silent))
            ),
            XdsClient.XdsClient
          )
          const textOf = (text: string) => text
          const one = yield* hear(client.watch(greetings, "a"), textOf)
          yield* eventually(() => expect(one).toEqual(["a=hello!"]))
          const all = yield* hear(client.watchAll(greetings), textOf)
          yield* eventually(() => expect(all.toSorted()).toEqual(["a=hello!", "b=good day!"]))
          yield* store.update("edge", { upsert: { resources: [greeting("a", "ahoy!")] } })
          yield* eventually(() => expect(one).toEqual(["a=hello!", "a=ahoy!"]))
          yield* store.update("edge", { upsert: { resources: [greeting("a", "meh")] } })
          yield* eventually(() => expect(one.slice(2)).toEqual(["a AmbientError"]))
          yield* store.update("edge", { remove: { resources: [{ typeUrl: greetings.typeUrl, name: "b" }] } })
          // State of the world: absence means nothing in a type that is not full state.
          if (protocol === "Incremental") yield* eventually(() => expect(all).toContain("b DoesNotExist"))
        })
    )
  }
)
