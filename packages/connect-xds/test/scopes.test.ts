/** Scoped routes (SRDS) in calls: the headers of a request choose its routes, as a real Envoy does. */
import { create } from "@bufbuild/protobuf"
import * as XdsHttpClient from "@effect-xds/connect-xds/XdsHttpClient"
import { ScopedRouteConfigurationSchema } from "@effect-xds/proto/envoy/config/route/v3/scoped_route"
import {
  ScopedRdsSchema,
  ScopedRouteConfigurationsListSchema,
  type ScopedRoutes,
  ScopedRoutesSchema
} from "@effect-xds/proto/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager"
import { SnapshotStore, XdsServer } from "@effect-xds/server"
import { GrpcListener, Waiting } from "@effect-xds/testing"
import * as PeerProgram from "@effect-xds/testing/PeerProgram"
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Http from "node:http"
import * as EnvoyScopes from "./EnvoyScopes.js"
import * as Mesh from "./Mesh.js"

const ads = { configSourceSpecifier: { case: "ads" as const, value: {} }, initialFetchTimeout: { seconds: 1n } }

type Extract = { case: "index"; value: number } | { case: "element"; value: { separator: string; key: string } }
const index = (value: number): Extract => ({ case: "index", value })
const element = (separator: string, key: string): Extract => ({ case: "element", value: { separator, key } })

const extract = (name: string, elementSeparator = "", extractType = index(0)) => ({
  type: { case: "headerValueExtractor" as const, value: { name, elementSeparator, extractType } }
})

const keyOf = (...fragments: ReadonlyArray<string>) => ({
  fragments: fragments.map((value) => ({ type: { case: "stringKey" as const, value } }))
})

const scopedRoutes = (
  name: string,
  fragments: ReadonlyArray<ReturnType<typeof extract>>,
  configSpecifier: ScopedRoutes["configSpecifier"]
) =>
  create(ScopedRoutesSchema, {
    name,
    scopeKeyBuilder: { fragments: [...fragments] },
    rdsConfigSource: ads,
    configSpecifier
  })

const fetched = (name: string, ...fragments: ReadonlyArray<ReturnType<typeof extract>>) =>
  scopedRoutes(name, fragments, { case: "scopedRds", value: create(ScopedRdsSchema, { scopedRdsConfigSource: ads }) })

const scope = (name: string, key: ReturnType<typeof keyOf>, routes: string, onDemand = false) =>
  create(ScopedRouteConfigurationSchema, { name, key, routeConfigurationName: routes, onDemand })

/** Scopes that stand in the listener, by their key: where they go. */
const given = (
  name: string,
  fragments: ReadonlyArray<ReturnType<typeof extract>>,
  ...scopes: ReadonlyArray<readonly [cluster: string, ...key: ReadonlyArray<string>]>
) =>
  scopedRoutes(name, fragments, {
    case: "scopedRouteConfigurationsList",
    value: create(ScopedRouteConfigurationsListSchema, {
      scopedRouteConfigurations: scopes.map(([cluster, ...key], at) => ({
        name: `${name}-${at}`,
        key: keyOf(...key),
        // Envoy fetches the clusters later.
        routeConfiguration: { ...Mesh.routes(`${name}-${at}`, ["*"], Mesh.to(cluster)), validateClusters: false }
      }))
    })
  })

const listener = (routes: ReturnType<typeof scopedRoutes>) =>
  GrpcListener.make(routes.name, { http: { routeSpecifier: { case: "scopedRoutes", value: routes } } })

/** A server of HTTP/1.1 that answers with its name. */
const named = (name: string) =>
  Effect.acquireRelease(
    Effect.promise(
      () =>
        new Promise<Http.Server>((resolve) => {
          const server = Http.createServer((_, response) => void response.end(name))
          server.listen(0, "127.0.0.1", () => resolve(server))
        })
    ),
    (server) =>
      Effect.promise(
        () =>
          new Promise<void>((resolve) => {
            server.close(() => resolve())
            server.closeAllConnections()
          })
      )
  ).pipe(
    Effect.map((server) => {
      const address = server.address()
      return typeof address === "object" && address !== null ? address.port : 0
    })
  )

const names = ["one", "two", "three"]

/** Clusters `one` to `three` with a server each, and a route configuration of each. */
const backends = Effect.map(
  Effect.all(names.map((name) => Effect.map(named(name), (port) => [name, port] as const))),
  (all) => ({
    clusters: all.map(([name]) => Mesh.cluster(name)),
    endpoints: all.map(([name, port]) => Mesh.endpoints(name, port)),
    routes: names.map((name) => Mesh.routes(name, ["*"], Mesh.to(name)))
  })
)

const client = (target: string) =>
  Effect.map(XdsHttpClient.make({ target: `xds:///${target}`, timeoutMs: 20_000 }), (http) => {
    /** Who answers; `404`: no scope, or none with routes. */
    const ask = (headers: Readonly<Record<string, string>>) =>
      Effect.matchEffect(http.get("/", { headers }), {
        onSuccess: ({ text }) => text,
        onFailure: ({ cause }) => Effect.succeed(String(cause))
      })
    return { ask }
  })

const byTenant = fetched("shop", extract("tenant"))
const layer = Mesh.mesh

describe("calls of scopes", () => {
  it.scopedLive("a scope is added, moved and removed, and requests of the others are not touched", () =>
    Effect.gen(function* () {
      const plane = yield* Mesh.ControlPlane
      const store = yield* SnapshotStore.SnapshotStore
      yield* plane.set({
        ...(yield* backends),
        listeners: [listener(byTenant)],
        scopedRoutes: [scope("a", keyOf("x"), "one"), scope("b", keyOf("y"), "two", true)]
      })
      const { ask } = yield* client("shop")
      const tenant = (name: string) => ask({ tenant: name })
      expect(yield* Effect.all([tenant("x"), tenant("y")], { concurrency: 2 })).toEqual(["one", "two"])
      expect(yield* tenant("z")).toContain('none of the scopes of "shop" has the key ["z"]')
      expect(yield* ask({})).toContain('the headers make no key for the scopes of "shop"')
      const others: Array<string> = []
      const load = yield* Effect.fork(
        Effect.forever(Effect.flatMap(tenant("x"), (name) => Effect.sync(() => others.push(name))))
      )
      const update = (change: Parameters<typeof store.update>[1]) => store.update("edge", change)
      const reaches = (name: string, words: string) =>
        Waiting.eventually(Effect.map(tenant(name), (text) => expect(text).toContain(words)))
      yield* update({ upsert: { scopedRoutes: [scope("c", keyOf("z"), "three")] } })
      yield* reaches("z", "three")
      yield* update({ upsert: { scopedRoutes: [scope("c", keyOf("z"), "one")] } })
      yield* reaches("z", "one")
      yield* update({ upsert: { scopedRoutes: [scope("c", keyOf("z"), "missing")] } })
      yield* reaches("z", 'RouteConfiguration "missing"')
      yield* update({ remove: { scopedRoutes: ["c"] } })
      yield* reaches("z", "none of the scopes")
      yield* Fiber.interrupt(load)
      expect(others.length).toBeGreaterThan(5)
      expect(new Set(others)).toEqual(new Set(["one"]))
      // A scope with a key that another has is rejected, and the server is told.
      yield* update({ upsert: { scopedRoutes: [scope("d", keyOf("x"), "three")] } })
      const { status } = yield* XdsServer.XdsServer
      const nacks = Effect.map(status, (streams) =>
        streams.flatMap(({ types }) => types.map(({ nacked }) => nacked?.error.message ?? "")).join("\n")
      )
      yield* Waiting.eventually(Effect.map(nacks, (text) => expect(text).toContain('resource "d": has "[')))
      expect(yield* tenant("x")).toBe("one")
    }).pipe(Effect.provide(layer))
  )

  it.scopedLive("no scopes at all: requests fail at once", () =>
    Effect.gen(function* () {
      const plane = yield* Mesh.ControlPlane
      yield* plane.set({ ...(yield* backends), listeners: [listener(byTenant)] })
      const { ask } = yield* client("shop")
      expect(yield* ask({ tenant: "x" })).toContain('none of the scopes of "shop" has the key ["x"]')
    }).pipe(Effect.provide(layer))
  )
})

const envoy = PeerProgram.forTest("envoy")

describe.skipIf(envoy._tag === "Missing")(PeerProgram.title("scopes beside a real Envoy", envoy), () => {
  const all = [
    // The value as it is.
    given("whole", [extract("H")], ["one", "a"], ["two", ""], ["three", "a,b"]),
    // An element by its place.
    given("first", [extract("h", ",")], ["one", "a"], ["two", ""], ["three", "b"]),
    given("third", [extract("h", ";", index(2))], ["one", "a"], ["two", ""], ["three", "b"]),
    given("long", [extract("h", "::", index(1))], ["one", "a"], ["two", ":a"], ["three", ""]),
    // An element by its key.
    given("key", [extract("h", ";", element("=", "k"))], ["one", "a"], ["two", ""], ["three", "=a"]),
    given("alone", [extract("h", "", element("=", "k"))], ["one", "a"], ["two", "a;k=b"], ["three", ""]),
    given("same", [extract("h", "=", element("=", "k"))], ["one", "a"], ["two", ""]),
    given("arrow", [extract("h", ",", element("->", "k"))], ["one", "a"], ["two", ""], ["three", "->a"]),
    // Two fragments, which must both be there.
    given("both", [extract("h"), extract("g", ",", index(1))], ["one", "a", "b"], ["two", "a", "a"], ["three", "a"]),
    // Fetched: two have one route configuration, two are on demand, one has none that is there.
    fetched("fetched", extract("h", ",")),
    fetched("demand", extract("h", ","))
  ]
  const values = [
    ...["", "a", "b", "a,b", "b,a", ",a", "a,", "c", "A", " a", "a;b;a", ";;", ";;b;a", ";;;"],
    ...[
      "k=a",
      "k",
      "k=",
      "k==a",
      "x=1;k=a",
      "k=b;k=a",
      "x;k",
      "=a",
      "k=a;k=b",
      "K=a",
      "k;k=a",
      "k->a",
      "x,k->a,k",
      "k->->a"
    ],
    ...["a::a", "::", "x:::a", "::a::b", "x::", "k=a;k=b=c"]
  ]
  const requests: ReadonlyArray<Readonly<Record<string, string>>> = [
    {},
    { g: "a,b" },
    ...values.map((h) => ({ h })),
    ...["a", "x,b", "a,a", ",", ",b,a"].map((g) => ({ h: "a", g }))
  ]

  /** Envoy holds what has no routes, if it may wait for some, and loads nothing on demand, if it may not. */
  const isElsewhere = (name: string, { h }: Readonly<Record<string, string>>): boolean => {
    const [first] = h?.split(",") ?? []
    return name === "demand" ? first === "" : name === "fetched" && (first === "c" || first === "A")
  }

  it.scopedLive(`${all.length} listeners × ${requests.length} requests go the same ways`, () =>
    Effect.gen(function* () {
      const plane = yield* Mesh.ControlPlane
      yield* plane.set({
        ...(yield* backends),
        listeners: all.map(listener),
        scopedRoutes: [
          scope("s-1", keyOf("a"), "one"),
          scope("s-2", keyOf("b"), "two"),
          scope("s-3", keyOf("c"), "two", true),
          scope("s-5", keyOf("a", "b"), "three"),
          scope("s-6", keyOf("A"), "three", true)
        ]
      })
      const other = yield* EnvoyScopes.start(envoy._tag === "Present" ? envoy.path : "", plane.address, all)
      // Now: Envoy would not begin to listen without its routes.
      const store = yield* SnapshotStore.SnapshotStore
      yield* store.update("edge", { upsert: { scopedRoutes: [scope("s-4", keyOf(""), "missing")] } })
      const differences: Array<string> = []
      const taken = new Map<string, number>()
      for (const { name } of all) {
        const { ask } = yield* client(name)
        for (const headers of requests) {
          if (isElsewhere(name, headers)) continue
          const said = yield* ask(headers)
          const ours = names.includes(said) ? said : "404"
          // What it fetches is there at some time, and clusters are.
          const theirs = yield* Waiting.until(
            "Envoy's clusters",
            other.ask(name, headers),
            (answer) => answer === "404" || names.includes(answer)
          )
          taken.set(theirs, (taken.get(theirs) ?? 0) + 1)
          if (ours !== theirs) differences.push(`${name} ${JSON.stringify(headers)}: ${theirs} by Envoy, ${said} by us`)
        }
      }
      expect(differences).toEqual([])
      for (const name of [...names, "404"]) expect(taken.get(name)).toBeGreaterThan(10)
    }).pipe(Effect.provide(layer))
  )
})
