import { create } from "@bufbuild/protobuf"
import { anyPack } from "@bufbuild/protobuf/wkt"
import { eventually } from "@effect-xds/testing/Waiting"
import { describe, expect, it } from "@effect/vitest"
import { ResourceType } from "@effect-xds/proto"
import { ListenerSchema } from "@effect-xds/proto/envoy/config/listener/v3/listener"
import { RouterSchema } from "@effect-xds/proto/envoy/extensions/filters/http/router/v3/router"
import {
  HttpConnectionManagerSchema,
  RdsSchema
} from "@effect-xds/proto/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager"
import { XdsServer } from "@effect-xds/server"
import { Effect } from "effect"
import {
  assignment,
  CDS,
  client,
  cluster,
  clusters,
  contentOf,
  node,
  reasonOf,
  request,
  serve
} from "./ControlPlane.js"

const endpoints = "/v3/discovery:endpoints"
const rejected = { error_detail: { code: 13, message: "no such thing" } }

const ads = { case: "ads" as const, value: {} }

const listener = (name: string) => {
  const manager = create(HttpConnectionManagerSchema, {
    statPrefix: "edge",
    routeSpecifier: {
      case: "rds",
      value: create(RdsSchema, { routeConfigName: "r", configSource: { configSourceSpecifier: ads } })
    },
    httpFilters: [
      { name: "router", configType: { case: "typedConfig", value: anyPack(RouterSchema, create(RouterSchema)) } }
    ]
  })
  const typedConfig = { case: "typedConfig", value: anyPack(HttpConnectionManagerSchema, manager) } as const
  return create(ListenerSchema, { name, filterChains: [{ filters: [{ name: "http", configType: typedConfig }] }] })
}

describe("A poll", () => {
  it.scopedLive("is answered on the path of each type", () =>
    Effect.gen(function* () {
      const { port, store } = yield* serve()
      yield* store.set("edge", clusters("a"))
      const served = ResourceType.all.filter(({ restPath }) => restPath !== undefined)
      expect(served.map(({ restPath }) => restPath).sort()).toEqual(
        [
          "clusters",
          "endpoints",
          "extension_configs",
          "listeners",
          "routes",
          "runtime",
          "scoped-routes",
          "secrets"
        ].map((name) => `/v3/discovery:${name}`)
      )
      for (const { restPath = "", typeUrl } of served) {
        const reply = yield* client(port, { path: restPath }).poll()
        expect(reply.status).toBe(200)
        expect(reply.headers["content-type"]).toBe("application/json")
        expect(reply.json).toMatchObject({ typeUrl })
        expect(contentOf(reply).version).toMatch(/^[0-9a-f]{16}$/)
        expect(contentOf(reply).names).toEqual(typeUrl === CDS ? ["a"] : [])
      }
    })
  )

  it.scopedLive("★ by two thousand names is answered in one response, however large", () =>
    Effect.gen(function* () {
      const { port, store } = yield* serve({ maxJsonValues: 100_000 }, { maxResponseBytes: 10_000 })
      const names = Array.from({ length: 2_000 }, (_, at) => `cluster-${at}`)
      yield* store.set("edge", { endpoints: names.map((name) => assignment(name)) })
      const polling = client(port, { path: endpoints, names: [...names, "nobody"] })
      expect(contentOf(yield* polling.poll()).names).toEqual(names.toSorted())
      expect((yield* polling.poll()).status).toBe(304)
      yield* store.set("edge", { endpoints: names.map((name) => assignment(name, 1)) })
      expect(contentOf(yield* polling.poll()).names).toEqual(names.toSorted())
    })
  )

  it.scopedLive("is answered in canonical JSON, with the types of Any at any depth", () =>
    Effect.gen(function* () {
      const { port, store } = yield* serve({}, { controlPlane: "cp-1" })
      yield* store.set("edge", { listeners: [listener("l")], endpoints: [assignment("c", 140)] })
      const { json } = yield* client(port, { path: "/v3/discovery:listeners" }).poll()
      const manager = {
        "@type": `type.googleapis.com/${HttpConnectionManagerSchema.typeName}`,
        statPrefix: "edge",
        rds: { routeConfigName: "r", configSource: { ads: {} } },
        httpFilters: [{ name: "router", typedConfig: { "@type": `type.googleapis.com/${RouterSchema.typeName}` } }]
      }
      expect(json).toMatchObject({
        controlPlane: { identifier: "cp-1" },
        resources: [
          {
            "@type": "type.googleapis.com/envoy.config.listener.v3.Listener",
            name: "l",
            filterChains: [{ filters: [{ name: "http", typedConfig: manager }] }]
          }
        ]
      })
      expect((yield* client(port, { path: endpoints, names: ["c"] }).poll()).json).toMatchObject({
        resources: [{ clusterName: "c", policy: { overprovisioningFactor: 140 } }]
      })
    })
  )

  it.scopedLive("that quotes the version it was given is answered with 304, until something changes", () =>
    Effect.gen(function* () {
      const { port, store } = yield* serve()
      yield* store.set("edge", clusters("a", "b"))
      const envoy = client(port)
      expect(contentOf(yield* envoy.poll()).names).toEqual(["a", "b"])
      for (let poll = 0; poll < 3; poll++) {
        const reply = yield* envoy.poll()
        expect([reply.status, reply.body.length]).toEqual([304, 0])
      }
      yield* store.update("edge", { upsert: clusters("c"), remove: { clusters: ["a"] } })
      // Full state: all that there is, also what did not change.
      expect(contentOf(yield* envoy.poll()).names).toEqual(["b", "c"])
      expect((yield* envoy.poll()).status).toBe(304)
      yield* store.set("edge", clusters())
      expect(contentOf(yield* envoy.poll()).names).toEqual([])
      expect((yield* envoy.poll()).status).toBe(304)
    })
  )

  it.scopedLive("is given the newest state, however much changed since the last one", () =>
    Effect.gen(function* () {
      const { port, store } = yield* serve()
      yield* store.set("edge", { clusters: [cluster("a")], endpoints: [assignment("a")] })
      const cds = client(port)
      const eds = client(port, { path: endpoints, names: ["a"] })
      for (const poll of [cds.poll, eds.poll]) {
        yield* poll()
        yield* poll()
      }
      for (let change = 1; change <= 20; change++) {
        yield* store.update("edge", {
          upsert: { clusters: [cluster("a", `${change}`)], endpoints: [assignment("a", change)] }
        })
      }
      expect((yield* cds.poll()).json).toMatchObject({ resources: [{ altStatName: "20" }] })
      expect((yield* eds.poll()).json).toMatchObject({ resources: [{ policy: { overprovisioningFactor: 20 } }] })
      expect((yield* cds.poll()).status).toBe(304)
      expect((yield* eds.poll()).status).toBe(304)
    })
  )

  it.scopedLive("without a version, or with one that is not known, is given everything", () =>
    Effect.gen(function* () {
      const { port, store } = yield* serve()
      yield* store.set("edge", clusters("a", "b"))
      const envoy = client(port)
      for (const version of ["from-another-server", "", "unknown", ""]) {
        expect(contentOf(yield* envoy.poll({ version_info: version })).names).toEqual(["a", "b"])
      }
      expect((yield* envoy.poll()).status).toBe(304)
    })
  )

  it.scopedLive("that lost its response is given it again", () =>
    Effect.gen(function* () {
      const { port, store } = yield* serve()
      yield* store.set("edge", clusters("a"))
      const envoy = client(port)
      yield* envoy.poll()
      const before = envoy.version()
      yield* store.update("edge", { upsert: clusters("b") })
      for (let poll = 0; poll < 3; poll++) {
        expect(contentOf(yield* envoy.poll({ version_info: before })).names).toEqual(["a", "b"])
      }
      expect((yield* envoy.poll()).status).toBe(304)
    })
  )

  it.scopedLive("is given a change under a version that stayed equal", () =>
    Effect.gen(function* () {
      const { port, store } = yield* serve()
      const labelled = (name: string) => ({ clusters: [cluster(name)], versions: { clusters: "one" } })
      yield* store.set("edge", labelled("a"))
      const envoy = client(port)
      expect(contentOf(yield* envoy.poll())).toMatchObject({ version: "one", names: ["a"] })
      expect((yield* envoy.poll()).status).toBe(304)
      yield* store.set("edge", labelled("b"))
      expect(contentOf(yield* envoy.poll())).toMatchObject({ version: "one", names: ["b"] })
      expect((yield* envoy.poll()).status).toBe(304)
    })
  )
})

describe("A poll by name", () => {
  const serveEndpoints = Effect.gen(function* () {
    const plane = yield* serve()
    yield* plane.store.set("edge", { endpoints: [assignment("a"), assignment("b"), assignment("c")] })
    return plane
  })
  const change = (name: string, content: number) => ({
    upsert: { endpoints: [assignment(name, content)] }
  })

  it.scopedLive("is given all that it names whenever one changes, and 304 when another one does", () =>
    Effect.gen(function* () {
      const { port, store } = yield* serveEndpoints
      const envoy = client(port, { path: endpoints, names: ["b", "a", "a"] })
      expect(contentOf(yield* envoy.poll()).names).toEqual(["a", "b"])
      // Lists of names come in any order.
      expect((yield* envoy.poll({ resource_names: ["a", "b"] })).status).toBe(304)
      yield* store.update("edge", change("a", 1))
      expect(contentOf(yield* envoy.poll()).names).toEqual(["a", "b"])
      expect((yield* envoy.poll()).status).toBe(304)
      yield* store.update("edge", change("c", 1))
      expect((yield* envoy.poll()).status).toBe(304)
      // While nobody asked, one after the other.
      yield* store.update("edge", change("a", 2))
      yield* store.update("edge", change("b", 2))
      const both = yield* envoy.poll()
      expect(both.json).toMatchObject({
        resources: [{ policy: { overprovisioningFactor: 2 } }, { policy: { overprovisioningFactor: 2 } }]
      })
      expect((yield* envoy.poll()).status).toBe(304)
    })
  )

  it.scopedLive("that lost its response is given what there is now", () =>
    Effect.gen(function* () {
      const { port, store } = yield* serveEndpoints
      const envoy = client(port, { path: endpoints, names: ["a", "b"] })
      yield* envoy.poll()
      const before = envoy.version()
      yield* store.update("edge", change("a", 1))
      expect(contentOf(yield* envoy.poll()).names).toEqual(["a", "b"])
      expect(contentOf(yield* envoy.poll({ version_info: before })).names).toEqual(["a", "b"])
      // What is deleted is not told, but not given again either.
      yield* store.update("edge", { remove: { endpoints: ["b"] } })
      expect((yield* envoy.poll()).status).toBe(304)
      expect(contentOf(yield* envoy.poll({ version_info: before })).names).toEqual(["a"])
    })
  )

  it.scopedLive("is answered for other names although the version is the same", () =>
    Effect.gen(function* () {
      const { port, status } = yield* serveEndpoints
      const envoy = client(port, { path: endpoints })
      const poll = (...names: ReadonlyArray<string>) => envoy.poll({ resource_names: names })
      expect(contentOf(yield* poll("a")).names).toEqual(["a"])
      expect((yield* poll("a")).status).toBe(304)
      expect(contentOf(yield* poll("a", "b")).names).toEqual(["a", "b"])
      expect(contentOf(yield* poll("b")).names).toEqual(["b"])
      expect(contentOf(yield* poll()).names).toEqual(["a", "b", "c"])
      // An Envoy polls for each cluster by itself.
      expect((yield* poll("a")).status).toBe(304)
      expect((yield* poll("b")).status).toBe(304)
      expect((yield* poll()).status).toBe(304)
      expect((yield* poll("*")).status).toBe(200)
      expect((yield* status).length).toBe(5)
    })
  )

  it.scopedLive("for what does not exist is answered with nothing, and with it when it does", () =>
    Effect.gen(function* () {
      const { port, store } = yield* serveEndpoints
      const envoy = client(port, { path: endpoints, names: ["a", "new"] })
      expect(contentOf(yield* envoy.poll()).names).toEqual(["a"])
      expect((yield* envoy.poll()).status).toBe(304)
      yield* store.update("edge", change("new", 1))
      expect(contentOf(yield* envoy.poll()).names).toEqual(["a", "new"])
      expect((yield* envoy.poll()).status).toBe(304)
    })
  )

  it.scopedLive("without names is given every resource whenever one changes", () =>
    Effect.gen(function* () {
      const { port, store } = yield* serveEndpoints
      const envoy = client(port, { path: endpoints })
      expect(contentOf(yield* envoy.poll()).names).toEqual(["a", "b", "c"])
      for (let round = 1; round < 4; round++) {
        expect((yield* envoy.poll()).status).toBe(304)
        yield* store.update("edge", change("b", round))
        expect(contentOf(yield* envoy.poll()).names).toEqual(["a", "b", "c"])
      }
    })
  )
})

describe("The status", () => {
  it.scopedLive("shows what a REST client asked for, was sent and accepted", () =>
    Effect.gen(function* () {
      const { only, port, store } = yield* serve()
      yield* store.set("edge", clusters("a"))
      const envoy = client(port)
      yield* envoy.poll()
      const first = envoy.version()
      const sent = yield* only
      expect(sent.node).toMatchObject({ id: "n1", cluster: "edge" })
      expect(sent.method).toEqual({ protocol: "StateOfTheWorld", typeUrl: CDS, unary: false })
      expect(sent.peer.address).toMatch(/^127\.0\.0\.1:\d+$/)
      expect([sent.type.sent?.version, sent.type.acked]).toEqual([first, undefined])
      yield* envoy.poll()
      expect((yield* only).type.acked?.version).toBe(first)
      yield* store.update("edge", { upsert: clusters("b") })
      yield* envoy.poll()
      const later = yield* only
      expect([later.type.sent?.version, later.type.acked?.version]).toEqual([envoy.version(), first])
      expect(later.id).toBe(sent.id)
    })
  )

  it.scopedLive("shows a NACK, which is not answered until something changes", () =>
    Effect.gen(function* () {
      const { events, only, port, store } = yield* serve()
      yield* store.set("edge", clusters("a"))
      const envoy = client(port)
      yield* envoy.poll()
      const good = envoy.version()
      yield* envoy.poll()
      yield* store.update("edge", { upsert: clusters("bad") })
      const bad = contentOf(yield* envoy.poll())
      // It goes on with what it had; says why once, and again.
      for (const extra of [rejected, {}, rejected, {}]) {
        expect((yield* envoy.poll({ version_info: good, ...extra })).status).toBe(304)
      }
      const { type } = yield* only
      expect(type.nacked).toMatchObject({ version: bad.version, error: rejected.error_detail })
      expect(type.acked?.version).toBe(good)
      expect(events.filter((event) => event._tag === "Nacked").length).toBe(1)
      yield* store.update("edge", { remove: { clusters: ["bad"] }, upsert: clusters("fixed") })
      expect(contentOf(yield* envoy.poll({ version_info: good })).names).toEqual(["a", "fixed"])
      expect((yield* envoy.poll()).status).toBe(304)
      expect((yield* only).type.acked?.version).toBe(envoy.version())
    })
  )

  it.scopedLive("shows a NACK of the first response, and that is not given again with it", () =>
    Effect.gen(function* () {
      const { only, port, store } = yield* serve()
      yield* store.set("edge", clusters("a"))
      const envoy = client(port)
      const { nonce } = contentOf(yield* envoy.poll())
      for (const extra of [{}, { response_nonce: nonce }]) {
        expect((yield* envoy.poll({ version_info: "", ...rejected, ...extra })).status).toBe(304)
      }
      expect((yield* only).type.nacked?.error.message).toBe("no such thing")
      // A NACK of something else: this client has not seen what was given last.
      expect((yield* envoy.poll({ version_info: "", ...rejected, response_nonce: "other" })).status).toBe(200)
    })
  )
})

describe("Clients", () => {
  it.scopedLive("with the same node are each given everything", () =>
    Effect.gen(function* () {
      const { port, status, store } = yield* serve()
      yield* store.set("edge", clusters("a"))
      const one = client(port)
      const two = client(port)
      yield* one.poll()
      expect(contentOf(yield* two.poll()).names).toEqual(["a"])
      for (let round = 0; round < 3; round++) {
        yield* store.update("edge", { upsert: clusters(`round-${round}`) })
        expect((yield* one.poll()).status).toBe(200)
        expect((yield* two.poll()).status).toBe(200)
        expect((yield* one.poll()).status).toBe(304)
        expect((yield* two.poll()).status).toBe(304)
        expect(one.version()).toBe(two.version())
      }
      expect((yield* status).length).toBe(1)
    })
  )

  it.scopedLive("are of a group by the node of each poll", () =>
    Effect.gen(function* () {
      const { port, store } = yield* serve()
      yield* store.set("edge", clusters("a"))
      yield* store.set("inner", clusters("b"))
      const envoy = client(port)
      expect(contentOf(yield* envoy.poll()).names).toEqual(["a"])
      expect(contentOf(yield* envoy.poll({ node: { id: "n1", cluster: "inner" } })).names).toEqual(["b"])
    })
  )

  it.scopedLive("of a group that was never set are told so, and are answered when it is", () =>
    Effect.gen(function* () {
      const { port, status, store } = yield* serve({ answerTimeout: 50 })
      const envoy = client(port)
      for (let poll = 0; poll < 2; poll++) {
        const reply = yield* envoy.poll({ version_info: "from-before" })
        expect(reply.status).toBe(503)
        expect(reasonOf(reply)).toContain("is not set")
      }
      expect((yield* status).map(({ waiting }) => waiting)).toEqual([true])
      yield* store.set("edge", clusters("a"))
      expect(contentOf(yield* envoy.poll()).names).toEqual(["a"])
    })
  )

  it.scopedLive("wait a while for a group that is set then", () =>
    Effect.gen(function* () {
      const { events, port, store } = yield* serve()
      const poll = yield* Effect.fork(client(port).poll())
      yield* eventually(() => expect(events.map(({ _tag }) => _tag)).toContain("Waiting"))
      yield* store.set("edge", clusters("a"))
      expect(contentOf(yield* poll).names).toEqual(["a"])
    })
  )

  it.scopedLive("have their groups each by its own headers, and are told why they have none", () =>
    Effect.gen(function* () {
      const seen: Array<string> = []
      const { port, store } = yield* serve(
        {},
        {
          group: ({ cluster }, { headers }) => {
            const token = headers["authorization"] ?? "none"
            seen.push(token)
            if (token === "good") return Effect.succeed(cluster)
            return Effect.fail(
              token === "none"
                ? new XdsServer.Refusal({ code: "UNAUTHENTICATED", reason: "who is it?" })
                : new XdsServer.Refusal({ reason: "not you" })
            )
          }
        }
      )
      yield* store.set("edge", clusters("a"))
      const poll = (token?: string) =>
        Effect.promise(() =>
          request(port, { json: { node: node() }, headers: token === undefined ? {} : { authorization: token } })
        )
      expect((yield* poll("good")).status).toBe(200)
      expect((yield* poll("good")).status).toBe(200)
      const denied = yield* poll("bad")
      expect([denied.status, reasonOf(denied)]).toEqual([403, "not you"])
      const unknown = yield* poll()
      expect([unknown.status, unknown.json]).toEqual([401, { code: "UNAUTHENTICATED", message: "who is it?" }])
      expect((yield* poll("bad")).status).toBe(403)
      expect(seen).toEqual(["good", "bad", "none", "bad"])
    })
  )

  it.scopedLive("without a node are told that they need one", () =>
    Effect.gen(function* () {
      const { port, status, store } = yield* serve()
      yield* store.set("edge", clusters("a"))
      for (const json of [{}, { node: null }]) {
        const reply = yield* Effect.promise(() => request(port, { json }))
        expect(reply.status).toBe(400)
        expect(reasonOf(reply)).toContain("must carry the node")
      }
      expect(yield* status).toEqual([])
    })
  )
})
