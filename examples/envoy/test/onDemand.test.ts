import { ResourceType } from "@effect-xds/proto"
import { SnapshotStore, XdsServer, type Snapshot } from "@effect-xds/server"
import { ConnectServer } from "@effect-xds/transport-connect"
import { Context, Duration, Effect, Layer } from "effect"
import { describe, expect } from "vitest"
import * as Bootstrap from "../src/Bootstrap.js"
import * as Envoy from "../src/Envoy.js"
import * as Http from "../src/Http.js"
import * as OnDemand from "../src/OnDemand.js"
import * as Resources from "../src/Resources.js"
import * as Wait from "../src/Wait.js"
import { node, path, test } from "./EnvoyTest.js"
import { soon } from "./Traffic.js"

/** A control plane that makes what is missing, not at once, and an Envoy: each request is sent once. */
const running = (snapshot: Snapshot.Snapshot, endpoints: Readonly<Record<string, ReadonlyArray<string>>>) =>
  Effect.gen(function* () {
    const made: Array<readonly [string, string]> = []
    const make = OnDemand.make(endpoints)
    const context = yield* Layer.build(
      XdsServer.layer({
        group: (node) => node.cluster,
        onMissing: (group, typeUrl, name) => {
          made.push([typeUrl, name])
          return Effect.delay(make(group, typeUrl, name), "200 millis")
        }
      }).pipe(Layer.provideMerge(SnapshotStore.layerMemory()), Layer.provide(ConnectServer.layer()))
    )
    yield* Context.get(context, SnapshotStore.SnapshotStore).set("edge", snapshot)
    const { address } = Context.get(context, XdsServer.XdsServer)
    const envoy = yield* Envoy.start({ path, variant: Bootstrap.incremental, node, address })
    const url = `http://127.0.0.1:${yield* envoy.listenerPort("ingress")}/`
    // A listener has an address before a worker takes connections for it.
    const listening = envoy.stat("listener_manager.listener_create_success")
    yield* Wait.until({
      what: "a worker with the listener",
      check: Effect.map(listening, (count) => (count > 0 ? true : undefined)),
      seen: Effect.succeed("none")
    })
    const agent = yield* Http.agent
    const get = (headers: Readonly<Record<string, string>>) => Http.get(agent, { url, headers })
    return { made, get }
  })

describe("Envoy, resources on demand", () => {
  test(
    "VHDS: a host that nobody knew is made with the first request for it",
    Effect.gen(function* () {
      const one = yield* Http.upstream("one")
      const { get, made } = yield* running(
        {
          ...OnDemand.hosts,
          clusters: [Resources.cluster(Bootstrap.incremental, "one")],
          endpoints: [Resources.assignment("one", [one])]
        },
        { one: [one] }
      )
      const timed = (host: string) =>
        Effect.map(Effect.timed(get({ host })), ([took, answer]) => ({ ...answer, took: Duration.toMillis(took) }))
      const first = yield* timed("new.example")
      expect(first).toMatchObject({ status: 200, body: "one" })
      // Envoy has no time after which it gives up: without an answer the request would hang.
      const unknown = yield* timed("stranger.test")
      expect(unknown).toMatchObject({ status: 404 })
      expect(unknown.took).toBeLessThan(soon)
      const again = yield* timed("stranger.test")
      expect(again).toMatchObject({ status: 404 })
      console.log(
        `VHDS: the hook takes 200 ms; the first request to a new host took ${first.took.toFixed(0)} ms, to an unknown one ` +
          `${unknown.took.toFixed(0)} ms, the next to that ${again.took.toFixed(0)} ms`
      )
      // Of those that come first together not one fails.
      const together = yield* Effect.all(
        Array.from({ length: 20 }, (_, at) => get({ host: at % 2 === 0 ? "crowd.example" : "crowd.test" })),
        { concurrency: "unbounded" }
      )
      expect(together.map(({ status }) => status)).toEqual(together.map((_, at) => (at % 2 === 0 ? 200 : 404)))
      const hosts = made.filter(([typeUrl]) => typeUrl === ResourceType.VirtualHost.typeUrl).map(([, name]) => name)
      expect(hosts.slice(0, 2)).toEqual(["main/new.example", "main/stranger.test"])
      expect(hosts.slice(2).toSorted()).toEqual(["main/crowd.example", "main/crowd.test"])
    })
  )

  test(
    "ODCDS: a cluster that nobody knew is made with the first request for it",
    Effect.gen(function* () {
      const one = yield* Http.upstream("one")
      const { get, made } = yield* running(OnDemand.clusters, { "on-demand": [one] })
      expect(yield* get({ "x-cluster": "on-demand" })).toMatchObject({ status: 200, body: "one" })
      expect(yield* get({ "x-cluster": "stranger" })).toMatchObject({ status: 503 })
      const names = made.filter(([typeUrl]) => typeUrl === ResourceType.Cluster.typeUrl).map(([, name]) => name)
      expect(Array.from(new Set(names))).toEqual(["on-demand", "stranger"])
    })
  )
})
