import { ResourceType } from "@effect-xds/proto"
import { SnapshotStore, XdsServer, type Snapshot } from "@effect-xds/server"
import { ConnectServer } from "@effect-xds/transport-connect"
import { Context, Effect, Layer } from "effect"
import { describe, expect } from "vitest"
import * as Bootstrap from "../src/Bootstrap.js"
import * as Envoy from "../src/Envoy.js"
import * as Http from "../src/Http.js"
import * as OnDemand from "../src/OnDemand.js"
import * as Resources from "../src/Resources.js"
import * as Wait from "../src/Wait.js"
import { path, test } from "./EnvoyTest.js"

const node = { id: "ingress-1", cluster: "edge" }

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
      expect(yield* get({ host: "new.example" })).toMatchObject({ status: 200, body: "one" })
      expect(yield* get({ host: "stranger.test" })).toMatchObject({ status: 404 })
      const hosts = made.filter(([typeUrl]) => typeUrl === ResourceType.VirtualHost.typeUrl).map(([, name]) => name)
      expect(hosts).toEqual(["main/new.example", "main/stranger.test"])
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
