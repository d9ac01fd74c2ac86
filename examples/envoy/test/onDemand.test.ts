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

/** A control plane that makes what is missing, an Envoy, and what its answers are. */
const running = (snapshot: Snapshot.Snapshot, endpoints: Readonly<Record<string, ReadonlyArray<string>>>) =>
  Effect.gen(function* () {
    const made: Array<readonly [string, string]> = []
    const make = OnDemand.make(endpoints)
    const context = yield* Layer.build(
      XdsServer.layer({
        group: (node) => node.cluster,
        onMissing: (group, typeUrl, name) => {
          made.push([typeUrl, name])
          return make(group, typeUrl, name)
        }
      }).pipe(Layer.provideMerge(SnapshotStore.layerMemory()), Layer.provide(ConnectServer.layer()))
    )
    yield* Context.get(context, SnapshotStore.SnapshotStore).set("edge", snapshot)
    const { address } = Context.get(context, XdsServer.XdsServer)
    const envoy = yield* Envoy.start({ path, variant: Bootstrap.incremental, node, address })
    const url = `http://127.0.0.1:${yield* envoy.listenerPort("ingress")}/`
    const agent = yield* Http.agent
    const get = (headers: Readonly<Record<string, string>>) => Http.get(agent, { url, headers })
    const answered = (headers: Readonly<Record<string, string>>, status: number) => {
      let last: Http.Answer | undefined
      return Wait.until({
        what: `${status} for ${JSON.stringify(headers)}`,
        check: Effect.map(get(headers), (answer) => {
          last = answer
          return answer.status === status ? answer : undefined
        }),
        seen: Effect.sync(() => JSON.stringify([last, made]))
      })
    }
    return { made, answered }
  })

describe("Envoy, resources on demand", () => {
  test(
    "VHDS: a host that nobody knew is made with the first request for it",
    Effect.gen(function* () {
      const one = yield* Http.upstream("one")
      const { answered, made } = yield* running(
        {
          ...OnDemand.hosts,
          clusters: [Resources.cluster(Bootstrap.incremental, "one")],
          endpoints: [Resources.assignment("one", [one])]
        },
        { one: [one] }
      )
      expect(yield* answered({ host: "new.example" }, 200)).toMatchObject({ body: "one" })
      yield* answered({ host: "stranger.test" }, 404)
      const hosts = made.filter(([typeUrl]) => typeUrl === ResourceType.VirtualHost.typeUrl).map(([, name]) => name)
      expect(hosts).toEqual(["main/new.example", "main/stranger.test"])
    })
  )

  test(
    "ODCDS: a cluster that nobody knew is made with the first request for it",
    Effect.gen(function* () {
      const one = yield* Http.upstream("one")
      const { answered, made } = yield* running(OnDemand.clusters, { "on-demand": [one] })
      expect(yield* answered({ "x-cluster": "on-demand" }, 200)).toMatchObject({ body: "one" })
      yield* answered({ "x-cluster": "stranger" }, 503)
      const names = made.filter(([typeUrl]) => typeUrl === ResourceType.Cluster.typeUrl).map(([, name]) => name)
      expect(Array.from(new Set(names))).toEqual(["on-demand", "stranger"])
    })
  )
})
