/**
 * The client against go-control-plane's server with a snapshot cache, a Go program, in all four variants.
 */
import { create } from "@bufbuild/protobuf"
import { Bootstrap, WatchableType, XdsClient, type ResourceEvent } from "@effect-xds/client"
import { ResourceType } from "@effect-xds/proto"
import { ClientResourceStatus } from "@effect-xds/proto/envoy/admin/v3/config_dump_shared"
import { type Cluster, ClusterSchema } from "@effect-xds/proto/envoy/config/cluster/v3/cluster"
import { type Listener, ListenerSchema } from "@effect-xds/proto/envoy/config/listener/v3/listener"
import { FreePort, PeerProgram } from "@effect-xds/testing"
import { eventually } from "@effect-xds/testing/Waiting"
import { ConnectClient } from "@effect-xds/transport-connect"
import { it } from "@effect/vitest"
import { Clock, Context, Effect, Exit, Layer, Logger, Scope, Stream } from "effect"
import { describe, expect } from "vitest"
import * as GoControlPlane from "./GoControlPlane.js"

const peer = PeerProgram.forTest("go-control-plane")
const cds = ResourceType.Cluster.typeUrl
const lds = ResourceType.Listener.typeUrl

const test = (name: string, run: () => Effect.Effect<void, unknown, Scope.Scope>) =>
  it.scopedLive.skipIf(peer._tag === "Missing")(PeerProgram.title(name, peer), run, 120_000)

const serve = (options: { readonly port?: number; readonly version: string; readonly resources: Resources }) =>
  GoControlPlane.start({ path: peer._tag === "Present" ? peer.path : "", ...options })

type Resources = GoControlPlane.Resources

const cluster = (name: string, altStatName: string) => create(ClusterSchema, { name, altStatName })
const listener = (name: string, statPrefix: string) => create(ListenerSchema, { name, statPrefix })

const clusters = WatchableType.fromSchema(ClusterSchema, {
  validate: ({ altStatName }) => (altStatName === "bad" ? "no bad names here" : undefined)
})
const listeners = WatchableType.fromSchema(ListenerSchema)

const textOf = (value: Cluster | Listener): string => ("altStatName" in value ? value.altStatName : value.statPrefix)

/** Writes down what is heard. */
const hear = <A extends Cluster | Listener, E>(events: Stream.Stream<ResourceEvent.ResourceEvent<A>, E>) =>
  Effect.gen(function* () {
    const heard: Array<string> = []
    yield* Effect.forkScoped(
      Stream.runForEach(events, (event) =>
        Effect.sync(() => {
          heard.push(event._tag === "Updated" ? `${event.name}=${textOf(event.value)}` : `${event.name} ${event._tag}`)
        })
      )
    )
    return heard
  })

/** What is to be used, without what is only wrong for a while. */
const states = (heard: ReadonlyArray<string>): ReadonlyArray<string> =>
  heard.filter((each) => !each.endsWith(" AmbientError") && !each.endsWith(" Recovered"))

const variants = (["StateOfTheWorld", "Incremental"] as const).flatMap((protocol) =>
  [true, false].map((aggregated) => ({
    protocol,
    aggregated,
    name: `${protocol === "Incremental" ? "incremental" : "state of the world"}, ${aggregated ? "ADS" : "a stream for each type"}`
  }))
)

describe.each(variants)("XdsClient and go-control-plane, $name", ({ aggregated, protocol }) => {
  const isIncremental = protocol === "Incremental"

  const connect = (port: number) =>
    Effect.map(
      Layer.build(
        XdsClient.layer({
          bootstrap: Bootstrap.make({ servers: [`127.0.0.1:${port}`], node: { id: "c1", cluster: "edge" } }),
          protocol,
          aggregated,
          resourceTimeout: "2500 millis",
          backoff: { initial: 50, floor: 10 }
        }).pipe(Layer.provide(ConnectClient.layer()), Layer.provide(Logger.replace(Logger.defaultLogger, Logger.none)))
      ),
      Context.get(XdsClient.XdsClient)
    )

  test("subscribe, update, reject, delete", () =>
    Effect.gen(function* () {
      const l = listener("l", "1")
      const server = yield* serve({
        version: "1",
        resources: { clusters: [cluster("a", "1"), cluster("b", "1")], listeners: [l, listener("other", "1")] }
      })
      const client = yield* connect(server.port)
      const all = yield* hear(client.watchAll(clusters))
      const one = yield* hear(client.watch(listeners, "l"))
      yield* eventually(() => expect(all.toSorted()).toEqual(["a=1", "b=1"]))
      yield* eventually(() => expect(one).toEqual(["l=1"]))

      // A new version is one of all types: state of the world sends all of them again, and what is equal is not told.
      yield* server.set("2", { clusters: [cluster("a", "1"), cluster("b", "2")], listeners: [l] })
      yield* eventually(() => expect(all.slice(2)).toEqual(["b=2"]))

      const rejectedAt = yield* Clock.currentTimeMillis
      // What is good is taken, what is bad is not, and the server hears why.
      yield* server.set("3", { clusters: [cluster("a", "2"), cluster("b", "bad")], listeners: [l] })
      yield* eventually(() => expect(new Set(all.slice(3))).toEqual(new Set(["a=2", "b AmbientError"])))
      yield* eventually(() => {
        const rejected = server.responses.find(({ type, version }) => type === cds && version === "3")
        const nack = server.requests.find(({ nonce, type }) => type === cds && nonce === rejected?.nonce)
        expect(nack?.error).toContain("no bad names here")
        expect(nack?.error).toContain('"b"')
        // The last one that was taken.
        expect(nack?.version).toBe(isIncremental ? "" : "2")
      })
      // ★ go-control-plane does not read the error. It sees another version than its own and sends the same response
      // again, at once and for ever; in incremental it does not. The client answers ever later, and tells nothing anew.
      const rejected = () => server.responses.filter(({ type, version }) => type === cds && version === "3")
      yield* eventually(() => expect(rejected().length).toBeGreaterThanOrEqual(isIncremental ? 1 : 6))
      // The second comes at once, then 50, 80, 128 and 205 ms pass.
      if (!isIncremental) expect((yield* Clock.currentTimeMillis) - rejectedAt).toBeGreaterThan(450)
      expect(all.slice(3).toSorted()).toEqual(["a=2", "b AmbientError"])
      const { genericXdsConfigs } = yield* client.dump
      const b = genericXdsConfigs.find(({ name }) => name === "b")
      expect(b?.clientStatus).toBe(ClientResourceStatus.NACKED)
      expect(b?.errorState?.details).toContain("no bad names here")
      const late = yield* hear(client.watchAll(clusters))
      yield* eventually(() => expect(new Set(late)).toEqual(new Set(["a=2", "b=2", "b AmbientError"])))

      yield* server.set("4", { clusters: [cluster("a", "2"), cluster("b", "3")], listeners: [l] })
      yield* eventually(() => expect(states(all).slice(4)).toEqual(["b=3"]))

      yield* server.set("5", { clusters: [cluster("b", "3")], listeners: [l] })
      yield* eventually(() => expect(states(all).slice(5)).toEqual(["a DoesNotExist"]))
      // A resource that was asked for by name stays in use (no fail_on_data_errors), and those who watch it are told.
      yield* server.set("6", { clusters: [cluster("b", "3")] })
      yield* eventually(() => expect(one).toEqual(["l=1", "l AmbientError"]))
      yield* server.set("7", { clusters: [cluster("b", "3")], listeners: [listener("l", "2")] })
      yield* eventually(() => expect(one.slice(2)).toEqual(["l=2"]))
      expect(states(all)).toHaveLength(6)
    }))

  test("the server is killed and started again", () =>
    Effect.gen(function* () {
      const resources = { clusters: [cluster("a", "1"), cluster("b", "1")], listeners: [listener("l", "1")] }
      const port = yield* FreePort.any()
      const first = yield* serve({ port, version: "1", resources })
      const client = yield* connect(port)
      const all = yield* hear(client.watchAll(clusters))
      const one = yield* hear(client.watch(listeners, "l"))
      yield* eventually(() => expect([all.length, one.length]).toEqual([2, 1]))

      yield* first.kill
      yield* eventually(() => expect(one).toContain("l AmbientError"))
      // Longer than the time after which a resource is missing, and without a server none is.
      const unavailable = yield* Effect.flip(client.get(listeners, "new", { timeout: "600 millis" }))
      expect(unavailable._tag).toBe("ResourceUnavailable")

      // The same again.
      const second = yield* serve({ port, version: "1", resources })
      yield* eventually(() => expect(all.slice(-2).toSorted()).toEqual(["a Recovered", "b Recovered"]))
      yield* eventually(() => expect(second.requests.map(({ type }) => type)).toContain(lds))
      const requestOf = (server: GoControlPlane.GoControlPlane, type: string) =>
        server.requests.find((request) => request.type === type)
      if (isIncremental) {
        // Nothing is sent again, and for names go-control-plane has no answer at all then.
        expect(Object.keys(requestOf(second, cds)?.held ?? {}).toSorted()).toEqual(["a", "b"])
        expect(Object.keys(requestOf(second, lds)?.held ?? {})).toEqual(["l"])
        yield* eventually(() => expect(second.responses).toMatchObject([{ type: cds, names: [], removed: [] }]))
      } else {
        // All of it is sent again: the version in a first request does not say what the client has.
        expect(requestOf(second, cds)?.version).toBe("1")
        yield* eventually(() => expect(second.responses.map(({ type }) => type).toSorted()).toEqual([cds, lds]))
      }
      yield* second.set("2", { ...resources, listeners: [listener("l", "2")] })
      yield* eventually(() => expect(states(one)).toEqual(["l=1", "l=2"]))

      // Other resources.
      yield* second.kill
      yield* eventually(() => expect(all.slice(-2).toSorted()).toEqual(["a AmbientError", "b AmbientError"]))
      yield* serve({
        port,
        version: "3",
        resources: { clusters: [cluster("b", "3"), cluster("c", "3")], listeners: [listener("l", "3")] }
      })
      yield* eventually(() => expect(states(one)).toEqual(["l=1", "l=2", "l=3"]))
      yield* eventually(() => expect(states(all).slice(2).toSorted()).toEqual(["a DoesNotExist", "b=3", "c=3"]))
    }))

  test("a name that is missing comes later", () =>
    Effect.gen(function* () {
      const server = yield* serve({ version: "1", resources: { listeners: [listener("l", "1")] } })
      const client = yield* connect(server.port)
      const one = yield* hear(client.watch(listeners, "l"))
      yield* eventually(() => expect(one).toEqual(["l=1"]))
      const missing = yield* hear(client.watch(listeners, "none"))
      yield* eventually(() => expect(missing).toEqual(["none DoesNotExist"]))
      // ★ go-control-plane has no answer for a missing name, in incremental neither: it was the timer.
      expect(server.requests.map(({ names }) => names.includes("none"))).toContain(true)
      expect(server.responses).toMatchObject([{ names: ["l"], removed: [] }])

      yield* server.set("2", { listeners: [listener("l", "1"), listener("none", "late")] })
      yield* eventually(() => expect(missing).toEqual(["none DoesNotExist", "none=late"]))
      expect(one).toEqual(["l=1"])
    }))

  test("a name is given up and watched again", () =>
    Effect.gen(function* () {
      const server = yield* serve({ version: "1", resources: { clusters: [cluster("a", "1"), cluster("b", "1")] } })
      const client = yield* connect(server.port)
      const watch = yield* Scope.make()
      const before = yield* Scope.extend(hear(client.watch(clusters, "a")), watch)
      yield* eventually(() => expect(before).toEqual(["a=1"]))
      yield* Scope.close(watch, Exit.void)
      yield* eventually(() => {
        const last = server.requests.at(-1)
        expect(isIncremental ? last?.removed : last?.names).toEqual(isIncremental ? ["a"] : [])
      })

      yield* server.set("2", { clusters: [cluster("a", "2"), cluster("b", "2")] })
      // ★ State of the world: to a client that wants nothing any more go-control-plane sends everything.
      const sent = isIncremental ? [["a"]] : [["a"], ["a", "b"]]
      yield* eventually(() => expect(server.responses.map(({ names }) => names.toSorted())).toEqual(sent))

      const after = yield* hear(client.watch(clusters, "a"))
      yield* eventually(() => expect(after.at(-1)).toBe("a=2"))
      yield* server.set("3", { clusters: [cluster("a", "3"), cluster("b", "3")] })
      yield* eventually(() => expect(after.at(-1)).toBe("a=3"))
      expect(before).toEqual(["a=1"])
      expect((yield* client.dump).genericXdsConfigs.map(({ name }) => name)).toEqual(["a"])
    }))

  test("everything and a name", () =>
    Effect.gen(function* () {
      const server = yield* serve({ version: "1", resources: { clusters: [cluster("a", "1"), cluster("b", "1")] } })
      const client = yield* connect(server.port)
      const all = yield* hear(client.watchAll(clusters))
      yield* eventually(() => expect(all.toSorted()).toEqual(["a=1", "b=1"]))
      const watch = yield* Scope.make()
      const one = yield* Scope.extend(hear(client.watch(clusters, "a")), watch)
      // ★ In state of the world go-control-plane's snapshot cache takes `*` for a name: to a client that asks for
      // everything and for a name it would send that one alone, which means that there are no others.
      if (isIncremental) {
        yield* eventually(() => expect(server.requests.map(({ names }) => names)).toContainEqual(["*", "a"]))
      }
      yield* server.set("2", { clusters: [cluster("a", "2"), cluster("b", "2")] })
      yield* eventually(() => expect(all.slice(2).toSorted()).toEqual(["a=2", "b=2"]))
      yield* eventually(() => expect(one).toEqual(["a=1", "a=2"]))

      yield* Scope.close(watch, Exit.void)
      yield* server.set("3", { clusters: [cluster("a", "3")] })
      yield* eventually(() => expect(all.slice(4).toSorted()).toEqual(["a=3", "b DoesNotExist"]))
      if (!isIncremental) expect(server.requests.flatMap(({ names }) => names)).toEqual([])
    }))
})
