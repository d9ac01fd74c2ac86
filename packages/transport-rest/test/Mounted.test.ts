import type * as HttpApp from "@effect/platform/HttpApp"
import * as HttpRouter from "@effect/platform/HttpRouter"
import * as HttpServer from "@effect/platform/HttpServer"
import type * as HttpServerError from "@effect/platform/HttpServerError"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { describe, expect, it } from "@effect/vitest"
import { ServerTransport } from "@effect-xds/transport"
import { RestServer } from "@effect-xds/transport-rest"
import * as RestApp from "@effect-xds/transport-rest/RestApp"
import { Context, Effect, Exit, Layer, Scope } from "effect"
import * as Http from "node:http"
import { client, clusters, contentOf, held, node, request, serveOn } from "./ControlPlane.js"

const mounted = Effect.gen(function* () {
  const context = yield* Layer.build(RestApp.layer())
  return { rest: Context.get(context, RestApp.RestApp), transport: Layer.succeedContext(context) }
})

/** An HTTP server of one's own; gives its port. */
const listen = (app: HttpApp.Default<HttpServerError.RouteNotFound>) =>
  Effect.gen(function* () {
    const server = yield* NodeHttpServer.make(() => Http.createServer(), { host: "127.0.0.1", port: 0 })
    yield* Effect.provideService(HttpServer.serveEffect(app), HttpServer.HttpServer, server)
    return server.address._tag === "TcpAddress" ? server.address.port : 0
  })

describe("Mounted in another application", () => {
  it.scopedLive("its routes are served beside those of the application", () =>
    Effect.gen(function* () {
      const { rest, transport } = yield* mounted
      const { only, store } = yield* serveOn(transport)
      const own = HttpRouter.get(HttpRouter.empty, "/healthz", HttpServerResponse.text("fine"))
      const port = yield* listen(HttpRouter.concat(own, rest.router))
      yield* store.set("edge", clusters("a"))
      const envoy = client(port)
      expect(contentOf(yield* envoy.poll()).names).toEqual(["a"])
      expect((yield* envoy.poll()).status).toBe(304)
      expect((yield* only).peer.address).toMatch(/^127\.0\.0\.1:\d+$/)
      const get = (path: string) => Effect.promise(() => request(port, { method: "GET", path, body: "" }))
      expect((yield* get("/healthz")).body.toString()).toBe("fine")
      expect((yield* get("/v3/discovery:clusters")).status).toBe(405)
      expect((yield* get("/v3/discovery:other")).status).toBe(404)
    })
  )

  it.scopedLive("a poll whose client is gone is forgotten", () =>
    Effect.gen(function* () {
      const { rest, transport } = yield* mounted
      const { store } = yield* serveOn(transport)
      const port = yield* listen(rest.app)
      yield* store.set("edge", clusters("a"))
      const envoy = client(port)
      yield* envoy.poll()
      const controller = new AbortController()
      const poll = request(port, {
        path: "/v3/discovery:clusters?wait=30",
        json: { node: node(), version_info: envoy.version() },
        signal: controller.signal
      }).catch(() => "gone")
      yield* held(1)
      controller.abort()
      expect(yield* Effect.promise(() => poll)).toBe("gone")
      yield* held(0)
    })
  )

  it.scopedLive("it answers with 503 while nothing is served, and serves one server at a time", () =>
    Effect.gen(function* () {
      const { rest, transport } = yield* mounted
      const port = yield* listen(rest.app)
      expect((yield* client(port).poll()).json).toEqual({
        code: "UNAVAILABLE",
        message: "the control plane does not serve"
      })
      for (let round = 0; round < 2; round++) {
        const scope = yield* Scope.make()
        const { address, store } = yield* Scope.extend(serveOn(transport), scope)
        expect(address).toBe("the HTTP server it is mounted in")
        yield* store.set("edge", clusters("a"))
        expect((yield* client(port).poll()).status).toBe(200)
        const second = yield* Effect.exit(serveOn(transport))
        expect(Exit.isFailure(second) && String(second.cause)).toContain("another server serves on it")
        yield* Scope.close(scope, Exit.void)
        expect((yield* client(port).poll()).status).toBe(503)
      }
    })
  )
})

describe("The layer", () => {
  it.scopedLive("is the port", () =>
    Effect.gen(function* () {
      const context = yield* Layer.build(RestServer.layer({ port: 0 }))
      expect(Context.get(context, ServerTransport.ServerTransport).serve).toBeTypeOf("function")
    })
  )
})
