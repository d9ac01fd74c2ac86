import { ResourceType } from "@effect-xds/proto"
import { SnapshotStore, XdsServer, type ServerEvent } from "@effect-xds/server"
import { FreePort } from "@effect-xds/testing"
import { RestServer, RestServerMetrics } from "@effect-xds/transport-rest"
import { Context, Effect, Exit, Layer, Metric, Scope, Stream } from "effect"
import { performance } from "node:perf_hooks"
import { describe, expect } from "vitest"
import * as Bootstrap from "../src/Bootstrap.js"
import * as Edge from "../src/Edge.js"
import * as Envoy from "../src/Envoy.js"
import * as Http from "../src/Http.js"
import * as Resources from "../src/Resources.js"
import * as Wait from "../src/Wait.js"
import { path, test } from "./EnvoyTest.js"

const node = { id: "ingress-1", cluster: "edge" }

/** A control plane in this process, on any free port, with all that it says. */
const serve = (options: RestServer.ListenOptions) =>
  Effect.gen(function* () {
    const context = yield* Layer.build(
      XdsServer.layer({ group: (node) => node.cluster }).pipe(
        Layer.provideMerge(SnapshotStore.layerMemory()),
        Layer.provide(RestServer.layer(options))
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

/** Milliseconds within which a change takes effect: less than any poll may take, so that none was waited out. */
const soon = 4_500

interface How {
  readonly name: string
  readonly variant: Bootstrap.Variant
  readonly options: RestServer.ListenOptions
}

const hows: ReadonlyArray<How> = [
  {
    name: "polling",
    variant: Bootstrap.rest({ refreshDelay: 100, requestTimeout: 5000 }),
    options: {}
  },
  {
    name: "long polling",
    variant: Bootstrap.rest({ refreshDelay: 100, requestTimeout: 10_000 }),
    options: { wait: 30_000 }
  }
]

/** A control plane and an Envoy that proxies to `one`; `two` is there too. */
const running = ({ options, variant }: How, scope?: Scope.Scope) =>
  Effect.gen(function* () {
    const one = yield* Http.upstream("one")
    const two = yield* Http.upstream("two")
    const plane = yield* scope === undefined ? serve(options) : Scope.extend(serve(options), scope)
    yield* plane.store.set(
      "edge",
      Edge.resources(variant, { weights: { one: 1 }, clusters: { one: [one], two: [two] } })
    )
    const envoy = yield* Envoy.start({ path, variant, node, address: plane.address })
    const port = yield* envoy.listenerPort("ingress")
    const url = `http://127.0.0.1:${port}/`
    // A listener that is listed may not accept yet.
    const agent = yield* Http.agent
    yield* Wait.until({
      what: "a first answer",
      check: Effect.map(Http.get(agent, { url }), ({ status }) => (status === 200 ? true : undefined)),
      seen: Effect.succeed("there was none")
    })
    const requests = yield* Http.requests({ url })
    /** Makes a change, and gives the milliseconds until an answer was another one. */
    const timed = (name: string, change: Effect.Effect<unknown, unknown>) =>
      Effect.gen(function* () {
        const before = requests.answers[name] ?? 0
        const start = performance.now()
        yield* change
        yield* Wait.until({
          what: `${name} to answer`,
          check: Effect.sync(() => ((requests.answers[name] ?? 0) > before ? true : undefined)),
          seen: Effect.sync(() => requests.describe())
        })
        return performance.now() - start
      })
    return { envoy, plane, requests, timed, one, two }
  })

const typesOf = (events: ReadonlyArray<ServerEvent.ServerEvent>, tag: "Sent" | "Acked") =>
  new Set(events.flatMap((event) => (event._tag === tag ? [ResourceType.shortNameOf(event.typeUrl)] : [])))

/** Waits until so many polls are held. */
const held = (count: number) =>
  Effect.suspend(() => {
    const now = Effect.map(Metric.value(RestServerMetrics.held), ({ value }) => value)
    return Wait.until({
      what: `${count} polls to be held`,
      check: Effect.map(now, (value) => (value === count ? true : undefined)),
      seen: Effect.map(now, String)
    })
  })

describe.each(hows)("Envoy, REST, $name", (how) => {
  test(
    "gets listener, route, cluster and endpoint, and changes of them while traffic goes on",
    Effect.gen(function* () {
      const { envoy, plane, requests, timed, two } = yield* running(how)
      const three = yield* Http.upstream("three")
      const took: Array<number> = []
      for (let round = 0; round < 5; round++) {
        for (const name of ["two", "one"]) {
          // LDS, CDS, RDS, and EDS for each of two clusters; without that the pause between two polls is added.
          if (how.options.wait !== undefined) yield* held(5)
          const upsert = { routes: [Resources.route("main", { [name]: 1 })] }
          took.push(yield* timed(name, plane.store.update("edge", { upsert })))
        }
      }
      const upsert = {
        endpoints: [Resources.assignment("two", [two, three])],
        routes: [Resources.route("main", { two: 1 })]
      }
      yield* timed("three", plane.store.update("edge", { upsert }))
      console.log(`${how.name}: changes of routes took ${took.map((each) => each.toFixed(0)).join(", ")} ms`)
      expect(Math.max(...took)).toBeLessThan(soon)
      expect((yield* envoy.endpoints)["two"]?.toSorted()).toEqual([two, three].sort())

      yield* plane.store.update("edge", { remove: { clusters: ["one"], endpoints: ["one"] } })
      yield* Wait.until({
        what: "the cluster to be gone",
        check: Effect.map(envoy.endpoints, (endpoints) => ("one" in endpoints ? undefined : true)),
        seen: Effect.succeed("it is still there")
      })
      expect(requests.failed, requests.describe()).toBe(0)
      expect(typesOf(plane.events, "Sent")).toEqual(new Set(["CDS", "EDS", "LDS", "RDS"]))
      expect(typesOf(plane.events, "Acked")).toEqual(new Set(["CDS", "EDS", "LDS", "RDS"]))
      expect(yield* envoy.stat("cluster_manager.cds.update_failure")).toBe(0)
      expect(yield* envoy.stat("listener_manager.lds.update_failure")).toBe(0)
    })
  )

  test(
    "goes on without the control plane, and takes its changes when it is back",
    Effect.gen(function* () {
      const lived = yield* Scope.make()
      const port = yield* FreePort.any()
      const { one, requests, timed, two } = yield* running({ ...how, options: { ...how.options, port } }, lived)
      yield* Scope.close(lived, Exit.void)
      yield* timed("one", Effect.void)
      const again = yield* serve({ ...how.options, port })
      const resources = (name: string) =>
        Edge.resources(how.variant, { weights: { [name]: 1 }, clusters: { one: [one], two: [two] } })
      yield* again.store.set("edge", resources("one"))
      yield* Wait.until({
        what: "Envoy to poll again",
        check: Effect.sync(() => (typesOf(again.events, "Acked").size === 4 ? true : undefined)),
        seen: Effect.sync(() => Array.from(typesOf(again.events, "Acked")).join())
      })
      const took = yield* timed("two", again.store.set("edge", resources("two")))
      expect(took).toBeLessThan(soon)
      expect(requests.failed, requests.describe()).toBe(0)
    })
  )
})

describe("Envoy, REST, long polling", () => {
  const [, how] = hows
  test(
    "is held at each subscription, also when it rejects a listener, which the status shows",
    Effect.gen(function* () {
      if (how === undefined) return
      const { envoy, plane, requests, timed } = yield* running(how)
      yield* held(5)
      const { variant } = how
      const good = Resources.manager(variant, "main")
      const publish = (manager: typeof good) =>
        plane.store.update(
          "edge",
          { upsert: { listeners: [Resources.listener("ingress", manager)] } },
          { validate: "off" }
        )
      yield* publish({ ...good, statPrefix: "" })
      const rejected = envoy.stat("listener_manager.lds.update_rejected")
      // With the change, and once more for it may have been lost.
      yield* Wait.until({
        what: "two rejections",
        check: Effect.map(rejected, (count) => (count >= 2 ? true : undefined)),
        seen: Effect.map(rejected, String)
      })
      yield* held(5)
      expect(yield* rejected).toBe(2)
      const status = yield* plane.status
      const [lds] = status.flatMap(({ types }) =>
        types.filter(({ typeUrl }) => typeUrl === ResourceType.Listener.typeUrl)
      )
      expect(lds?.sent?.version).not.toBe(undefined)
      expect(lds?.acked?.version).not.toBe(lds?.sent?.version)
      yield* publish({ ...good, statPrefix: "better" })
      const version = Effect.map(plane.status, (clients) =>
        clients
          .flatMap(({ types }) => types)
          .find(
            ({ acked, sent, typeUrl }) => typeUrl === ResourceType.Listener.typeUrl && acked?.version === sent?.version
          )
      )
      yield* Wait.until({
        what: "the ACK",
        check: version,
        seen: Effect.map(plane.status, (clients) => JSON.stringify(clients))
      })
      yield* timed("one", Effect.void)
      expect(requests.failed, requests.describe()).toBe(0)
    })
  )
})
