import { create } from "@bufbuild/protobuf"
import { ResourceType } from "@effect-xds/proto"
import { ScopedRouteConfigurationSchema } from "@effect-xds/proto/envoy/config/route/v3/scoped_route"
import {
  HttpConnectionManagerSchema,
  ScopedRoutes_ScopeKeyBuilderSchema
} from "@effect-xds/proto/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager"
import { Waiting } from "@effect-xds/testing"
import { Effect } from "effect"
import { describe, expect } from "vitest"
import type * as Bootstrap from "../src/Bootstrap.js"
import * as Edge from "../src/Edge.js"
import * as Http from "../src/Http.js"
import * as Resources from "../src/Resources.js"
import * as ControlPlane from "./ControlPlane.js"
import { aggregated, startEnvoy, test } from "./EnvoyTest.js"
import { answered, is, more } from "./Traffic.js"

/** A scope of the requests whose scope is its name. */
const scope = (name: string, routeConfigurationName: string, onDemand = false) =>
  create(ScopedRouteConfigurationSchema, {
    name,
    routeConfigurationName,
    onDemand,
    key: { fragments: [{ type: { case: "stringKey", value: name } }] }
  })

/** The scope of a request is what `x-edge` says after `scope=`, among other things that it may say. */
const keyOf = create(ScopedRoutes_ScopeKeyBuilderSchema, {
  fragments: [
    {
      type: {
        case: "headerValueExtractor",
        value: {
          name: "x-edge",
          elementSeparator: ",",
          extractType: { case: "element", value: { separator: "=", key: "scope" } }
        }
      }
    }
  ]
})

const headersOf = (scope: string) => ({ "x-edge": `zone=north,scope=${scope}` })

/** The scopes come by SRDS, and the routes of each by RDS. */
const manager = (variant: Bootstrap.Variant) =>
  create(HttpConnectionManagerSchema, {
    statPrefix: "edge",
    httpFilters: [Resources.onDemand(), Resources.router],
    routeSpecifier: {
      case: "scopedRoutes",
      value: {
        name: "scopes",
        scopeKeyBuilder: keyOf,
        rdsConfigSource: Resources.source(variant),
        configSpecifier: { case: "scopedRds", value: { scopedRdsConfigSource: Resources.source(variant) } }
      }
    }
  })

/** A control plane and an Envoy with a backend, a cluster and a route configuration of each name, and these scopes. */
const running = (
  variant: Bootstrap.Variant,
  names: ReadonlyArray<string>,
  scopedRoutes: ReadonlyArray<ReturnType<typeof scope>>
) =>
  Effect.gen(function* () {
    const clusters: Record<string, ReadonlyArray<string>> = {}
    for (const name of names) clusters[name] = [yield* Http.upstream(name)]
    const plane = yield* ControlPlane.serve()
    yield* plane.store.set("edge", {
      ...Edge.resources(variant, { weights: {}, clusters }),
      listeners: [Resources.listener("ingress", manager(variant))],
      routes: names.map((name) => Resources.route(name, { [name]: 1 })),
      scopedRoutes
    })
    const envoy = yield* startEnvoy(variant, plane.address)
    const url = `http://127.0.0.1:${yield* envoy.listenerPort("ingress")}/`
    /** Waits until requests of a scope are answered by a backend. */
    const reaches = (scope: string, backend: string) => answered({ url, headers: headersOf(scope) }, is(backend))
    /** Waits until requests of a scope find no routes. */
    const isUnknown = (scope: string) => answered({ url, headers: headersOf(scope) }, ({ status }) => status === 404)
    const requests = (scope: string) => Http.requests({ url, headers: headersOf(scope), interval: 10 })
    return { envoy, isUnknown, plane, reaches, requests, url }
  })

describe.each(aggregated)("Envoy, SRDS, $name", (variant) => {
  test(
    "a scope is added, moved to another route configuration and removed, and requests of the others are not touched",
    Effect.gen(function* () {
      const { isUnknown, plane, reaches, requests } = yield* running(
        variant,
        ["first", "second", "third", "fourth"],
        [scope("a", "first"), scope("b", "second")]
      )
      yield* reaches("a", "first")
      yield* reaches("b", "second")
      yield* isUnknown("c")
      const a = yield* requests("a")
      const b = yield* requests("b")

      yield* plane.store.update("edge", { upsert: { scopedRoutes: [scope("c", "third")] } })
      const added = yield* reaches("c", "third")
      // First to a route configuration that no scope had yet, then to one that another scope has, too.
      yield* plane.store.update("edge", { upsert: { scopedRoutes: [scope("c", "fourth")] } })
      const moved = yield* reaches("c", "fourth")
      yield* plane.store.update("edge", { upsert: { scopedRoutes: [scope("c", "first")] } })
      yield* reaches("c", "first")
      const c = yield* requests("c")
      yield* more(c, 20)
      expect(c.answers, c.describe()).toEqual({ first: c.total })

      yield* plane.store.update("edge", { remove: { scopedRoutes: ["c"] } })
      const removed = yield* isUnknown("c")
      yield* Effect.all([more(a, 20), more(b, 20)])
      expect(a.answers, a.describe()).toEqual({ first: a.total })
      expect(b.answers, b.describe()).toEqual({ second: b.total })
      expect(plane.events.filter(({ _tag }) => _tag === "Nacked")).toEqual([])
      console.log(
        `SRDS, ${variant.name}: a scope added took effect after ${added.toFixed(0)} ms, moved ${moved.toFixed(0)}, ` +
          `removed ${removed.toFixed(0)}; ${a.total + b.total} requests of other scopes, ${a.failed + b.failed} failed`
      )
    })
  )

  test(
    "the routes of a scope that is on demand are asked for with the first request of that scope",
    Effect.gen(function* () {
      const { envoy, isUnknown, plane, reaches, url } = yield* running(
        variant,
        ["first", "lazy"],
        [scope("a", "first"), scope("z", "lazy", true)]
      )
      yield* reaches("a", "first")
      yield* isUnknown("y")
      const { typeUrl } = ResourceType.RouteConfiguration
      const asked = () =>
        plane.events.flatMap((event) => (event._tag === "Named" && event.typeUrl === typeUrl ? event.subscribed : []))
      expect(asked()).toEqual(["first"])

      const agent = yield* Http.agent
      const ask = (scope: string) => Http.get(agent, { url, headers: headersOf(scope) })
      // Not one of those that come first together fails.
      const answers = yield* Effect.all(
        Array.from({ length: 20 }, () => ask("z")),
        { concurrency: "unbounded" }
      )
      expect(answers.filter(({ body, status }) => status !== 200 || body !== "lazy")).toEqual([])
      expect(asked()).toEqual(["first", "lazy"])

      // From now on it is as any other.
      yield* plane.store.update("edge", { upsert: { routes: [Resources.route("lazy", { first: 1 })] } })
      yield* reaches("z", "first")
      yield* plane.store.update("edge", { remove: { scopedRoutes: ["z"] } })
      yield* isUnknown("z")
      expect(yield* ask("a")).toMatchObject({ status: 200, body: "first" })
      yield* Waiting.until(
        "the scope to be gone",
        Effect.map(envoy.admin("/config_dump?resource=dynamic_scoped_route_configs"), (dump) => JSON.stringify(dump)),
        (dump) => !dump.includes('"lazy"')
      )
    })
  )
})
