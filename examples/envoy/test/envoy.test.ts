import { create } from "@bufbuild/protobuf"
import { ResourceType } from "@effect-xds/proto"
import { type Cluster, Cluster_LbPolicy } from "@effect-xds/proto/envoy/config/cluster/v3/cluster"
import { RouteConfigurationSchema } from "@effect-xds/proto/envoy/config/route/v3/route"
import { HttpConnectionManagerSchema } from "@effect-xds/proto/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager"
import { Snapshot } from "@effect-xds/server"
import { Duration, Effect, Exit, Scope } from "effect"
import { performance } from "node:perf_hooks"
import { describe, expect } from "vitest"
import * as Bootstrap from "../src/Bootstrap.js"
import * as ControlPlaneProcess from "../src/ControlPlaneProcess.js"
import * as Edge from "../src/Edge.js"
import * as Envoy from "../src/Envoy.js"
import * as Http from "../src/Http.js"
import * as Resources from "../src/Resources.js"
import * as Wait from "../src/Wait.js"
import * as ControlPlane from "./ControlPlane.js"
import { aggregated, path, startEnvoy, test } from "./EnvoyTest.js"
import { answered, is, more, onlyFrom, soon } from "./Traffic.js"

const edge = (
  variant: Bootstrap.Variant,
  weights: Readonly<Record<string, number>>,
  clusters: Readonly<Record<string, ReadonlyArray<string>>>
) => Edge.resources(variant, { weights, clusters })

/** A control plane and an Envoy that proxies to `one`; `two` is there too. */
const running = (variant: Bootstrap.Variant, options?: Parameters<typeof ControlPlane.serve>[0]) =>
  Effect.gen(function* () {
    const one = yield* Http.upstream("one")
    const two = yield* Http.upstream("two")
    const plane = yield* ControlPlane.serve(options)
    const input = edge(variant, { one: 1 }, { one: [one], two: [two] })
    yield* plane.store.set("edge", input)
    const envoy = yield* startEnvoy(variant, plane.address)
    const port = yield* envoy.listenerPort("ingress")
    const url = `http://127.0.0.1:${port}/`
    yield* answered({ url }, is("one"))
    const milliseconds = performance.now() - envoy.startedAt
    return { plane, envoy, url, one, two, input, milliseconds }
  })

describe.each(Bootstrap.variants)("Envoy, $name", (variant) => {
  test(
    "gets listener, route, cluster and endpoint, and changes of them",
    Effect.gen(function* () {
      const { envoy, milliseconds, plane, two, url } = yield* running(variant)
      console.log(`${variant.name}: the first request succeeded ${milliseconds.toFixed(0)} ms after Envoy's start`)
      expect(milliseconds).toBeLessThan(soon)
      const requests = yield* Http.requests({ url })
      yield* onlyFrom(requests, ["one"])

      yield* plane.store.update("edge", { upsert: { routes: [Resources.route("main", { two: 1 })] } })
      yield* onlyFrom(requests, ["two"])

      const three = yield* Http.upstream("three")
      yield* plane.store.update("edge", {
        upsert: { endpoints: [Resources.assignment("two", [two, three])] }
      })
      yield* Wait.until({
        what: "three to answer",
        check: Effect.sync(() => requests.answers["three"]),
        seen: Effect.sync(() => requests.describe())
      })
      yield* plane.store.update("edge", {
        upsert: { endpoints: [Resources.assignment("two", [three])] }
      })
      yield* onlyFrom(requests, ["three"])
      expect(requests.failed, requests.describe()).toBe(0)
      expect((yield* envoy.endpoints)["two"]).toEqual([three])
      expect(plane.events.filter((event) => event._tag === "Nacked")).toEqual([])
    })
  )
})

describe.each(aggregated)("Envoy, $name", (variant) => {
  test(
    "rejects a listener: its words are in the status, and traffic goes on",
    Effect.gen(function* () {
      const { envoy, plane, url } = yield* running(variant)
      const requests = yield* Http.requests({ url })
      const nameless = create(HttpConnectionManagerSchema, { ...Resources.manager(variant, "main"), statPrefix: "" })
      const upsert = { listeners: [Resources.listener("ingress", nameless)] }
      const refused = yield* Effect.flip(plane.store.update("edge", { upsert }))
      expect(refused.message).toContain("stat_prefix must have at least 1 character")
      yield* plane.store.update("edge", { upsert }, { validate: "off" })
      const nacked = yield* ControlPlane.heard(plane.events, "Nacked", ResourceType.Listener)
      expect(nacked.error.message).toContain("StatPrefix")
      const [client] = yield* plane.status
      const status = client?.types.find(({ typeUrl }) => typeUrl === ResourceType.Listener.typeUrl)
      expect(status?.nacked?.error.message).toBe(nacked.error.message)
      expect(status?.acked?.version).not.toBe(nacked.version)
      yield* more(requests, 100)
      expect(requests.failed, requests.describe()).toBe(0)
      // And what is accepted afterwards takes effect.
      const from = plane.events.length
      yield* plane.store.update("edge", {
        upsert: {
          listeners: [Resources.listener("ingress", Resources.manager(variant, "main"))],
          routes: [Resources.route("main", { two: 1 })]
        }
      })
      yield* onlyFrom(requests, ["two"])
      yield* ControlPlane.heard(plane.events, "Acked", ResourceType.Listener, from)
      expect(yield* envoy.stat("listener_manager.lds.update_rejected")).toBe(1)
    })
  )

  test(
    "takes a changed EDS cluster at once and loses no request",
    Effect.gen(function* () {
      const { envoy, plane, url } = yield* running(variant)
      const requests = yield* Http.requests({ url })
      yield* more(requests, 50)
      const change = (name: string, cluster: Cluster, shows: string) =>
        Effect.gen(function* () {
          const start = performance.now()
          yield* plane.store.update("edge", { upsert: { clusters: [cluster] } })
          yield* Wait.until({
            what: `the cluster with ${name} to be active`,
            check: Effect.map(envoy.admin("/config_dump?resource=dynamic_active_clusters"), (dump) =>
              JSON.stringify(dump).includes(shows) ? true : undefined
            ),
            seen: Effect.zipWith(
              Effect.map(envoy.configured("dynamic_warming_clusters"), (names) => `warming: ${names.join(", ")}`),
              ControlPlane.show(plane.events),
              (warming, events) => `${warming}; ${events}`
            ),
            limit: "30 seconds"
          })
          const took = performance.now() - start
          console.log(`${variant.name}: ${name} active after ${took.toFixed(0)} ms`)
          expect(took).toBeLessThan(soon)
        })
      yield* change("a connect timeout of 7 s", Resources.cluster(variant, "one", 7), '"connect_timeout":"7s"')
      const least = { ...Resources.cluster(variant, "one", 7), lbPolicy: Cluster_LbPolicy.LEAST_REQUEST }
      yield* change("another policy", least, '"lb_policy":"LEAST_REQUEST"')
      yield* more(requests, 100)
      expect(requests.failed, requests.describe()).toBe(0)
      expect(yield* envoy.configured("dynamic_warming_clusters")).toEqual([])
      // Not from what it had cached: from what the server sent again.
      expect(yield* envoy.stat("cluster.one.assignment_use_cached")).toBe(0)
    })
  )

  /** Moves all traffic to a new cluster and takes the old one away, in one update, again and again. */
  const moves = (options: Parameters<typeof ControlPlane.serve>[0], isEnough: (requests: Http.Requests) => boolean) =>
    Effect.gen(function* () {
      const { one, plane, url } = yield* running(variant, options)
      const loops = yield* Effect.all(Array.from({ length: 4 }, () => Http.requests({ url, interval: 2 })))
      const sum = new Http.Requests()
      const count = () => {
        sum.total = loops.reduce((total, each) => total + each.total, 0)
        sum.failed = loops.reduce((failed, each) => failed + each.failed, 0)
        sum.failure = loops.find((each) => each.failure !== undefined)?.failure
        return sum
      }
      let moved = 0
      while (!isEnough(count()) && moved < 100) {
        moved++
        const name = `generation-${moved}`
        yield* plane.store.set("edge", edge(variant, { [name]: 1 }, { [name]: [one] }))
        const target = count().total + 60
        yield* Wait.until({
          what: "60 more requests",
          check: Effect.sync(() => (count().total >= target ? true : undefined)),
          seen: Effect.sync(() => count().describe())
        })
      }
      console.log(`${variant.name}: ${moved} moves; ${count().total} requests, ${count().failed} failed`)
      return count()
    })

  test(
    "loses none of 2 000 requests while traffic moves from cluster to cluster, make before break",
    Effect.gen(function* () {
      const requests = yield* moves({}, ({ total }) => total >= 2_000)
      expect(requests.total).toBeGreaterThanOrEqual(2_000)
      expect(requests.failed, requests.describe()).toBe(0)
    })
  )

  test(
    "loses requests in the same moves where make before break is switched off",
    Effect.gen(function* () {
      const requests = yield* moves({ makeBeforeBreak: false }, ({ failed }) => failed > 0)
      expect(requests.failed).toBeGreaterThan(0)
    })
  )

  test(
    "moves to a new cluster while the old one goes in the same update, and loses no request",
    Effect.gen(function* () {
      const { envoy, input, plane, two, url } = yield* running(variant)
      const requests = yield* Http.requests({ url })
      yield* more(requests, 50)
      const from = plane.events.length
      yield* plane.store.set("edge", {
        ...input,
        routes: [Resources.route("main", { new: 1 })],
        clusters: [Resources.cluster(variant, "new")],
        endpoints: [Resources.assignment("new", [two])]
      })
      yield* onlyFrom(requests, ["two"])
      yield* Wait.until({
        what: "the old clusters to go",
        check: Effect.map(envoy.configured("dynamic_active_clusters"), (names) =>
          names.join() === "new" ? true : undefined
        ),
        seen: Effect.map(envoy.configured("dynamic_active_clusters"), (names) => names.join())
      })
      expect(requests.failed, requests.describe()).toBe(0)
      // What the server sent, and in between what Envoy ACKed: endpoints after their cluster and before its ACK, routes
      // after that, and the old clusters go last.
      const seen = plane.events.slice(from).flatMap((event) => {
        if (event._tag !== "Sent" && event._tag !== "Acked") return []
        return [`${event._tag} ${ResourceType.shortNameOf(event.typeUrl)}`]
      })
      const firstOf = (what: string) => seen.indexOf(what)
      const order = ["Sent CDS", "Sent EDS", "Acked CDS", "Sent RDS", "Acked RDS"].map(firstOf)
      expect(order, seen.join(", ")).toEqual(order.toSorted((a, b) => a - b))
      expect(order, seen.join(", ")).not.toContain(-1)
      expect(seen.lastIndexOf("Sent CDS"), seen.join(", ")).toBeGreaterThan(firstOf("Acked RDS"))
    })
  )

  test(
    "sends a first response that is rejected once only",
    Effect.gen(function* () {
      const one = yield* Http.upstream("one")
      const plane = yield* ControlPlane.serve()
      const input = edge(variant, { one: 1 }, { one: [one] })
      const bad = Resources.cluster(variant, "bad")
      bad.lbPolicy = Cluster_LbPolicy.CLUSTER_PROVIDED
      yield* plane.store.set("edge", { ...input, clusters: [bad] })
      const envoy = yield* startEnvoy(variant, plane.address)
      yield* ControlPlane.heard(plane.events, "Nacked", ResourceType.Cluster)
      yield* ControlPlane.heard(plane.events, "Acked", ResourceType.Listener)
      // Time for a second one: another exchange, from the store to Envoy and back.
      const from = plane.events.length
      yield* plane.store.update("edge", { upsert: { routes: [Resources.route("main", { one: 2 })] } })
      yield* ControlPlane.heard(plane.events, "Acked", ResourceType.RouteConfiguration, from)
      const sent = plane.events.filter(
        (event) => event._tag === "Sent" && event.typeUrl === ResourceType.Cluster.typeUrl
      )
      expect(sent).toHaveLength(1)
      expect(yield* envoy.stat("cluster_manager.cds.update_rejected")).toBe(1)
      // Corrected, it is sent and accepted.
      yield* plane.store.set("edge", input)
      const port = yield* envoy.listenerPort("ingress")
      yield* answered({ url: `http://127.0.0.1:${port}/` }, is("one"))
    })
  )
})

describe("Envoy, incremental", () => {
  test(
    "does not wait for a cluster's endpoints that are not there",
    Effect.gen(function* () {
      const variant = Bootstrap.incremental
      const plane = yield* ControlPlane.serve()
      yield* plane.store.set("edge", { ...edge(variant, { one: 1 }, { one: [] }), endpoints: [] })
      const envoy = yield* startEnvoy(variant, plane.address)
      const port = yield* envoy.listenerPort("ingress")
      yield* answered(
        { url: `http://127.0.0.1:${port}/` },
        ({ body, status }) => status === 503 && body.includes("no healthy upstream")
      )
      const took = performance.now() - envoy.startedAt
      console.log(`a cluster without endpoints: the listener serves ${took.toFixed(0)} ms after Envoy's start`)
      expect(took).toBeLessThan(soon)
      // They come later.
      const one = yield* Http.upstream("one")
      yield* plane.store.update("edge", { upsert: { endpoints: [Resources.assignment("one", [one])] } })
      yield* answered({ url: `http://127.0.0.1:${port}/` }, is("one"))
    })
  )
})

describe.each(aggregated)("Envoy, $name", (variant) => {
  test(
    "survives a control plane that is killed, and is sent what it lacks afterwards",
    Effect.gen(function* () {
      const one = yield* Http.upstream("one")
      const two = yield* Http.upstream("two")
      const plane = yield* ControlPlaneProcess.make(variant)
      const clusters = { one: [one], two: [two] }
      yield* plane.publish({ weights: { one: 1 }, clusters })
      const address = yield* plane.start
      const envoy = yield* startEnvoy(variant, address)
      const url = `http://127.0.0.1:${yield* envoy.listenerPort("ingress")}/`
      yield* answered({ url }, is("one"))
      const requests = yield* Http.requests({ url })

      yield* plane.kill
      yield* more(requests, 100)
      yield* plane.start
      for (const type of ["CDS", "EDS", "LDS", "RDS"]) {
        yield* plane.line(`that ${type} is subscribed`, new RegExp(`^subscribed ${type}$`))
      }
      yield* more(requests, 100)
      const resent = plane.lines().filter((line) => /^sent \S+ ([1-9]|0 [1-9])/.test(line))
      // State of the world has no way to say what a client holds but the version of a type.
      if (variant.apiType === "DELTA_GRPC") expect(resent).toEqual([])

      yield* plane.publish({ weights: { two: 1 }, clusters })
      yield* onlyFrom(requests, ["two"])
      expect(requests.failed, requests.describe()).toBe(0)
      if (variant.apiType === "DELTA_GRPC") {
        expect(plane.lines().filter((line) => /^sent \S+ ([1-9]|0 [1-9])/.test(line))).toEqual(["sent RDS 1 0"])
      }
    })
  )
})

describe.each(aggregated)("Envoy, $name", (variant) => {
  test(
    "is missed when it is killed in the middle of an update, and has the last state when it is back",
    Effect.gen(function* () {
      const { one, plane, url } = yield* running(variant)
      const start = Envoy.start({ path, variant, node: { id: "ingress-2", cluster: "edge" }, address: plane.address })
      const streams = Effect.map(plane.status, (status) => status.map((client) => client.node?.id).sort())
      const killed = yield* Scope.make()
      const second = yield* Scope.extend(start, killed)
      yield* second.listenerPort("ingress")
      expect(yield* streams).toEqual(["ingress-1", "ingress-2"])

      // A cluster whose endpoints are yet to come: Envoy does not ACK it, and what uses it is not sent.
      const three = yield* Http.upstream("three")
      const from = plane.events.length
      yield* plane.store.update("edge", {
        upsert: {
          clusters: [Resources.cluster(variant, "three")],
          routes: [Resources.route("main", { three: 1 })]
        }
      })
      const isSecond = ({ client }: { readonly client: { readonly node: { readonly id: string } | undefined } }) =>
        client.node?.id === "ingress-2"
      yield* Wait.until({
        what: "the update to be under way",
        check: Effect.sync(() => plane.events.slice(from).find((event) => event._tag === "Sent" && isSecond(event))),
        seen: ControlPlane.show(plane.events)
      })
      yield* Scope.close(killed, Exit.void)
      yield* Wait.until({
        what: "the server to miss it",
        check: Effect.sync(() => plane.events.slice(from).find((event) => event._tag === "Ended" && isSecond(event))),
        seen: ControlPlane.show(plane.events),
        limit: "10 seconds"
      })
      expect(yield* streams).toEqual(["ingress-1"])

      yield* plane.store.update("edge", {
        upsert: { endpoints: [Resources.assignment("three", [three])] }
      })
      yield* answered({ url }, is("three"))
      const again = yield* start
      const port = yield* again.listenerPort("ingress")
      yield* answered({ url: `http://127.0.0.1:${port}/` }, is("three"))
      expect((yield* again.endpoints)["one"]).toEqual([one])
      expect((yield* again.endpoints)["three"]).toEqual([three])
      expect(yield* streams).toEqual(["ingress-1", "ingress-2"])
    })
  )
})

describe("Envoy, VHDS", () => {
  test(
    "fetches a host with its first request and is told at once of those that are not there",
    Effect.gen(function* () {
      const variant = Bootstrap.incremental
      const one = yield* Http.upstream("one")
      const plane = yield* ControlPlane.serve()
      const host = (name: string) => Snapshot.virtualHost("main", Resources.virtualHost(name, [name], { one: 1 }))
      yield* plane.store.set("edge", {
        ...edge(variant, { one: 1 }, { one: [one] }),
        listeners: [Resources.listener("ingress", Resources.manager(variant, "main", [Resources.onDemand()]))],
        routes: [create(RouteConfigurationSchema, { name: "main", vhds: { configSource: Resources.source(variant) } })],
        virtualHosts: [host("known.example"), host("other.example")]
      })
      const envoy = yield* startEnvoy(variant, plane.address)
      const port = yield* envoy.listenerPort("ingress")
      const opened = performance.now() - envoy.startedAt
      console.log(`VHDS: the listener opens ${opened.toFixed(0)} ms after Envoy's start`)
      expect(opened).toBeLessThan(soon)
      const url = `http://127.0.0.1:${port}/`
      const agent = yield* Http.agent
      const ask = (name: string) =>
        Effect.map(Effect.timed(Http.get(agent, { url, headers: { host: name } })), ([duration, answer]) => ({
          ...answer,
          took: Duration.toMillis(duration)
        }))

      // The listener is there before it accepts.
      yield* answered({ url, headers: { host: "unknown.example" } }, ({ status }) => status === 404)
      expect(yield* ask("known.example")).toMatchObject({ status: 200, body: "one" })
      const sent = plane.events.filter(
        (event) => event._tag === "Sent" && event.typeUrl === ResourceType.VirtualHost.typeUrl
      )
      expect(sent.length).toBeGreaterThan(0)
      expect(JSON.stringify(yield* envoy.admin("/config_dump?resource=dynamic_route_configs"))).not.toContain(
        "other.example"
      )

      const missing = yield* ask("missing.example")
      console.log(`VHDS: an unknown host is answered ${missing.status} after ${missing.took.toFixed(0)} ms`)
      expect(missing.status).toBe(404)
      expect(missing.took).toBeLessThan(soon)

      // Asked for and not there, then made, then removed.
      yield* plane.store.update("edge", { upsert: { virtualHosts: [host("missing.example")] } })
      yield* answered({ url, headers: { host: "missing.example" } }, is("one"))
      yield* plane.store.update("edge", { remove: { virtualHosts: ["main/missing.example"] } })
      yield* answered({ url, headers: { host: "missing.example" } }, ({ status }) => status === 404)
      expect(yield* ask("known.example")).toMatchObject({ status: 200, body: "one" })
    })
  )
})
