import type { CallOptions, Interceptor } from "@connectrpc/connect"
import { Code, ConnectError, createClient } from "@connectrpc/connect"
import { XdsChannels, XdsTransport } from "@effect-xds/connect-xds"
import * as XdsHttpClient from "@effect-xds/connect-xds/XdsHttpClient"
import { ServerReflection } from "@effect-xds/proto/grpc/reflection/v1/reflection"
import { GrpcListener, Waiting } from "@effect-xds/testing"
import * as HttpBody from "@effect/platform/HttpBody"
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type { RouteInit } from "./Mesh.js"
import * as Mesh from "./Mesh.js"

const { checker, failure, portOf } = Mesh

const exact = (path: string): RouteInit["match"] => ({ pathSpecifier: { case: "path", value: path } })

type InterceptorNext = Parameters<Interceptor>[0]

/** Of neither can a text be made. */
const wordless: ReadonlyArray<unknown> = [
  Object.create(null),
  {
    toString: () => {
      throw new Error("it has no words")
    }
  }
]

async function* requests() {
  yield await Promise.resolve({})
}

describe("a Connect transport", () => {
  for (const protocol of ["grpc", "grpc-web", "connect"] as const) {
    it.scopedLive(`speaks ${protocol}, unary and streaming, in turn among the endpoints`, () =>
      Effect.gen(function* () {
        const servers = yield* Effect.all([Mesh.backend(), Mesh.backend(), Mesh.backend()])
        const ports = servers.map(({ port }) => port)
        const plane = yield* Mesh.ControlPlane
        yield* plane.set(Mesh.service("shop", ...ports))
        const client = yield* checker("xds:///shop", { protocol })
        yield* Mesh.answeredBy(client, ...ports)
        expect(Array.from((yield* Mesh.counts(client, 9)).values())).toEqual([3, 3, 3])
        expect(yield* Effect.promise(() => Mesh.all(client.watch({ service: "5" })))).toHaveLength(5)
        expect(servers.map(({ connections }) => connections())).toEqual([1, 1, 1])
      }).pipe(Effect.provide(Mesh.mesh))
    )
  }

  it.scopedLive("takes routes by method, header and weight, of the virtual host of the target", () =>
    Effect.gen(function* () {
      const [a, b, c] = yield* Effect.all([Mesh.backend(), Mesh.backend(), Mesh.backend()])
      const plane = yield* Mesh.ControlPlane
      const beta = {
        pathSpecifier: { case: "path" as const, value: "/grpc.health.v1.Health/Check" },
        headers: [{ name: "beta", headerMatchSpecifier: { case: "presentMatch" as const, value: true } }]
      }
      yield* plane.set({
        listeners: [GrpcListener.make("shop")],
        routes: [
          Mesh.routes("shop", ["shop"], Mesh.to("b", beta), Mesh.to("a", exact("/grpc.health.v1.Health/Watch")), {
            match: { pathSpecifier: { case: "prefix", value: "" } },
            action: {
              case: "route",
              value: {
                clusterSpecifier: {
                  case: "weightedClusters",
                  value: {
                    clusters: [
                      { name: "a", weight: 1 },
                      { name: "c", weight: 3 }
                    ]
                  }
                }
              }
            }
          })
        ],
        clusters: [Mesh.cluster("a"), Mesh.cluster("b"), Mesh.cluster("c")],
        endpoints: [Mesh.endpoints("a", a.port), Mesh.endpoints("b", b.port), Mesh.endpoints("c", c.port)]
      })
      const client = yield* checker()
      expect(yield* portOf(client, "", { headers: { beta: "yes" } })).toBe(b.port)
      expect(yield* Effect.promise(() => Mesh.all(client.watch({ service: "1" })))).toHaveLength(1)
      expect(a.seen).toHaveLength(1)
      const found = yield* Mesh.counts(client, 120)
      expect(found.has(b.port)).toBe(false)
      // 90 expected, σ = 4.7.
      expect(Math.abs((found.get(c.port) ?? 0) - 90)).toBeLessThan(25)
    }).pipe(Effect.provide(Mesh.mesh))
  )

  it.scopedLive(":authority is the target, and headers and timeouts get there", () =>
    Effect.gen(function* () {
      const server = yield* Mesh.backend()
      const plane = yield* Mesh.ControlPlane
      yield* plane.set(Mesh.service("shop", server.port))
      const client = yield* checker("xds:///shop", {
        interceptors: [(next) => (request) => (request.header.set("from", "test"), next(request))]
      })
      yield* Effect.promise(() => client.check({}, { timeoutMs: 5_000, headers: { trace: "7" } }))
      const [seen] = server.seen
      expect(seen?.headers.get("from")).toBe("test")
      expect(seen?.headers.get("trace")).toBe("7")
      expect(seen?.timeout).toBeGreaterThan(3_000)
      expect(seen?.timeout).toBeLessThanOrEqual(5_000)
      yield* Effect.promise(() => client.check({}))
      expect(server.seen[1]?.timeout).toBeUndefined()
    }).pipe(Effect.provide(Mesh.mesh))
  )

  for (const [protocol, header] of [
    ["grpc", "grpc-timeout"],
    ["connect", "connect-timeout-ms"]
  ] as const) {
    it.scopedLive(`${protocol}: a timeout of 0 is none, as in Connect`, () =>
      Effect.gen(function* () {
        const server = yield* Mesh.backend()
        const plane = yield* Mesh.ControlPlane
        yield* plane.set(Mesh.service("shop", server.port))
        const client = yield* checker("xds:///shop", { protocol, defaultTimeoutMs: 60_000 })
        const sent = (options: CallOptions) =>
          Effect.promise(async () => {
            await client.check({}, options)
            await Mesh.all(client.watch({ service: "1" }, options))
            return server.seen.slice(-2).map(({ headers }) => headers.get(header))
          })
        for (const timeout of yield* sent({})) expect(timeout).toMatch(/^[456]\d{4}m?$/)
        expect(yield* sent({ timeoutMs: 0 })).toEqual([null, null])
        expect(yield* sent({ timeoutMs: -1 })).toEqual([null, null])
      }).pipe(Effect.provide(Mesh.mesh))
    )
  }

  for (const connectTimeout of ["30 days", Number.POSITIVE_INFINITY] as const) {
    it.scopedLive(`a connection to an endpoint may take ${connectTimeout}`, () =>
      Effect.gen(function* () {
        const server = yield* Mesh.backend()
        const plane = yield* Mesh.ControlPlane
        yield* plane.set(Mesh.service("shop", server.port))
        expect(yield* portOf(yield* checker())).toBe(server.port)
      }).pipe(Effect.provide(Mesh.meshOf({ connectTimeout })))
    )
  }

  it.scopedLive("a route's max_stream_duration ends calls, also those that wait", () =>
    Effect.gen(function* () {
      const server = yield* Mesh.backend({
        onCheck: (_, signal) => new Promise((resolve) => signal.addEventListener("abort", () => resolve()))
      })
      const plane = yield* Mesh.ControlPlane
      const limited = (cluster: string, path: string): RouteInit => ({
        match: exact(path),
        action: {
          case: "route",
          value: {
            clusterSpecifier: { case: "cluster", value: cluster },
            maxStreamDuration: { maxStreamDuration: { nanos: 400_000_000 } }
          }
        }
      })
      const silent = yield* Mesh.silent
      yield* plane.set({
        listeners: [GrpcListener.make("shop")],
        routes: [
          Mesh.routes(
            "shop",
            ["shop"],
            limited("there", "/grpc.health.v1.Health/Check"),
            limited("silent", "/grpc.health.v1.Health/Watch")
          )
        ],
        clusters: [Mesh.cluster("there"), Mesh.cluster("silent")],
        endpoints: [Mesh.endpoints("there", server.port), Mesh.endpoints("silent", silent.port)]
      })
      const client = yield* checker()
      // Who is connected to is connected.
      yield* failure(() => client.check({}))
      const late = yield* failure(() => client.check({}))
      expect(late.code).toBe(Code.DeadlineExceeded)
      expect(late.rawMessage).toBe(`the deadline of 400 ms came, no answer from 127.0.0.1:${server.port}`)
      expect(server.seen.at(-1)?.timeout).toBeLessThanOrEqual(400)
      const waited = yield* failure(() => client.watch({})[Symbol.asyncIterator]().next())
      expect(waited.code).toBe(Code.DeadlineExceeded)
      expect(waited.rawMessage).toMatch(
        new RegExp(
          `^the deadline of 400 ms came, waited for an endpoint of cluster "silent": connecting to 127.0.0.1:${silent.port} for \\d.\\d s$`
        )
      )
    }).pipe(Effect.provide(Mesh.mesh))
  )

  it.scopedLive(
    "UNAVAILABLE with words where there is no listener, no virtual host, no route, no cluster, no endpoint",
    () =>
      Effect.gen(function* () {
        const plane = yield* Mesh.ControlPlane
        yield* plane.set({
          listeners: [
            GrpcListener.make("shop"),
            GrpcListener.make("other", { routes: "shop" }),
            GrpcListener.make("bad", { routes: "none" })
          ],
          routes: [
            Mesh.routes(
              "shop",
              ["shop"],
              Mesh.to("empty", exact("/grpc.health.v1.Health/Check")),
              Mesh.to("gone", exact("/grpc.health.v1.Health/Watch"))
            )
          ],
          clusters: [Mesh.cluster("empty")],
          endpoints: [Mesh.localities("empty")]
        })
        const wordsOf = (
          target: string,
          call: (client: Effect.Effect.Success<ReturnType<typeof checker>>) => Promise<unknown>
        ) =>
          Effect.gen(function* () {
            const client = yield* checker(target)
            const error = yield* failure(() => call(client))
            expect(error.code).toBe(Code.Unavailable)
            return error.rawMessage
          })
        const check = (client: Effect.Effect.Success<ReturnType<typeof checker>>) => client.check({})
        expect(yield* wordsOf("xds:///none", check)).toContain('Listener "none"')
        expect(yield* wordsOf("xds:///other", check)).toBe(
          'no virtual host of RouteConfiguration "shop" is for "other"'
        )
        expect(yield* wordsOf("xds:///bad", check)).toContain('RouteConfiguration "none"')
        expect(yield* wordsOf("xds:///shop", check)).toBe('cluster "empty" has no endpoints')
        expect(yield* wordsOf("xds:///shop", (client) => client.watch({})[Symbol.asyncIterator]().next())).toContain(
          'Cluster "gone"'
        )
        const reflection = createClient(ServerReflection, yield* XdsTransport.make({ target: "xds:///shop" }))
        const noRoute = yield* failure(() => reflection.serverReflectionInfo(requests())[Symbol.asyncIterator]().next())
        expect(noRoute.rawMessage).toBe(
          'no route of virtual host "shop" matches /grpc.reflection.v1.ServerReflection/ServerReflectionInfo'
        )
      }).pipe(Effect.provide(Mesh.mesh))
  )

  it.scopedLive("says how it stands with the control plane that a call waits for", () =>
    Effect.gen(function* () {
      const { port, server, sockets } = yield* Mesh.silent
      const layer = Mesh.channelsOf(`127.0.0.1:${port}`).pipe(Layer.provide(Mesh.quiet))
      yield* Effect.gen(function* () {
        const client = yield* checker("xds:///shop")
        const silent = yield* failure(() => client.check({}, { timeoutMs: 300 }))
        expect(silent.rawMessage).toMatch(new RegExp(`, waited for LDS "shop" from 127.0.0.1:${port} for 0.\\d s$`))
        server.close()
        for (const socket of sockets) socket.destroy()
        const options = { timeoutMs: 1_500, contextValues: XdsTransport.waiting() }
        const refused = yield* failure(() => client.check({}, options))
        expect(refused.rawMessage).toMatch(
          new RegExp(`; 127.0.0.1:${port}: connecting for \\d.\\d s, last error: .*ECONNREFUSED 127.0.0.1:${port}$`)
        )
      }).pipe(Effect.provide(layer))
    })
  )

  it.scopedLive("says what was waited for", () =>
    Effect.gen(function* () {
      const client = yield* checker("xds:///nowhere")
      const error = yield* failure(() => client.check({}, { timeoutMs: 100 }))
      expect(error.code).toBe(Code.DeadlineExceeded)
      expect(error.message).toMatch(/waited for LDS "nowhere" from 127\.0\.0\.1:\d+.* for 0\.\d s$/)
    }).pipe(Effect.provide(Mesh.mesh))
  )

  it.scopedLive("a target that is none is an error", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(checker("dns:///shop"))
      expect(error.message).toBe('target "dns:///shop": write it as xds:///service')
    }).pipe(Effect.provide(Mesh.mesh))
  )

  it.scopedLive("updates fail no call: streams finish, connections drain, new calls go to the new place", () =>
    Effect.gen(function* () {
      let release = (): void => undefined
      const held = new Promise<void>((resolve) => (release = resolve))
      const old = yield* Mesh.backend({ onCheck: (service) => (service === "3" ? held : undefined) })
      const young = yield* Mesh.backend()
      const plane = yield* Mesh.ControlPlane
      yield* plane.set(Mesh.service("shop", old.port))
      const client = yield* checker()
      yield* Mesh.answeredBy(client, old.port)
      const streaming = client.watch({ service: "3" })[Symbol.asyncIterator]()
      const first = streaming.next()
      const unary = client.check({ service: "3" })
      yield* Waiting.eventually(() => expect(old.seen.filter(({ service }) => service === "3")).toHaveLength(2))
      yield* plane.set(Mesh.service("shop", young.port))
      yield* Mesh.answeredBy(client, young.port)
      expect(old.connections()).toBe(1)
      release()
      yield* Effect.promise(async () => {
        await unary
        expect((await first).done).toBe(false)
        expect((await streaming.next()).done).toBe(false)
        expect((await streaming.next()).done).toBe(false)
        expect((await streaming.next()).done).toBe(true)
      })
      yield* Waiting.eventually(() => expect(old.connections()).toBe(0))
    }).pipe(Effect.provide(Mesh.mesh))
  )

  it.scopedLive("GOAWAY fails no call, and a connection that was cut is UNAVAILABLE", () =>
    Effect.gen(function* () {
      const server = yield* Mesh.backend({
        onCheck: (service) => (service === "hold" ? new Promise(() => undefined) : undefined)
      })
      const plane = yield* Mesh.ControlPlane
      yield* plane.set(Mesh.service("shop", server.port))
      const client = yield* checker()
      for (let round = 0; round < 20; round++) {
        const calls = Array.from({ length: 5 }, () => client.check({}))
        if (round % 2 === 0) server.goAway()
        yield* Effect.promise(() => Promise.all(calls))
      }
      yield* Mesh.lostWhileHeld(client, server)
      const refused = yield* failure(() => client.check({}))
      expect(refused.code).toBe(Code.Unavailable)
      expect(refused.rawMessage).toMatch("ECONNREFUSED")
    }).pipe(Effect.provide(Mesh.mesh))
  )

  it.scopedLive("a call that waits for ready waits, and a signal ends it", () =>
    Effect.gen(function* () {
      const plane = yield* Mesh.ControlPlane
      yield* plane.set(Mesh.service("shop"))
      const client = yield* checker()
      const contextValues = XdsTransport.waiting()
      const controller = new AbortController()
      const given = failure(() => client.check({}, { contextValues, signal: controller.signal }))
      const fiber = yield* Effect.fork(given)
      const answered = client.check({}, { contextValues, timeoutMs: 20_000 })
      yield* Effect.yieldNow()
      controller.abort()
      expect((yield* fiber).code).toBe(Code.Canceled)
      const server = yield* Mesh.backend()
      yield* plane.set(Mesh.service("shop", server.port))
      yield* Effect.promise(() => answered)
    }).pipe(Effect.provide(Mesh.mesh))
  )

  for (const protocol of ["grpc", "connect"] as const) {
    it.scopedLive(`${protocol}: a deadline is the whole call's, whatever time its interceptors take`, () =>
      Effect.gen(function* () {
        const server = yield* Mesh.backend({
          onCheck: (service) => (service === "" ? new Promise(() => undefined) : undefined)
        })
        const plane = yield* Mesh.ControlPlane
        yield* plane.set(Mesh.service("shop", server.port))
        const busy: Interceptor = (next) => (request) => {
          const until = performance.now() + 20
          while (performance.now() < until);
          return next(request)
        }
        const waiting: Interceptor = (next) => async (request) => {
          await new Promise((resolve) => request.signal.addEventListener("abort", resolve))
          return next(request)
        }
        const again: Interceptor = (next) => async (request) => {
          for (let tries = 1; tries < 3; tries++) {
            try {
              return await next(request)
            } catch {
              continue
            }
          }
          return next(request)
        }
        const through = (interceptor: Interceptor) => checker("xds:///shop", { protocol, interceptors: [interceptor] })
        const told = yield* through(busy)
        yield* portOf(told, "1", { timeoutMs: 60_000 })
        yield* Effect.promise(() => Mesh.all(told.watch({ service: "1" }, { timeoutMs: 60_000 })))
        for (const { timeout } of server.seen) expect(timeout).toBeLessThanOrEqual(60_000 - 20)
        const ends = (client: typeof told, isStream: boolean, timeoutMs: number) =>
          Effect.timeout(
            failure(() => (isStream ? Mesh.all(client.watch({}, { timeoutMs })) : client.check({}, { timeoutMs }))),
            "20 seconds"
          )
        const [slow, trying] = [yield* through(waiting), yield* through(again)]
        yield* portOf(trying, "1")
        for (const isStream of [false, true]) {
          const error = yield* ends(slow, isStream, 100)
          expect(error.code).toBe(Code.DeadlineExceeded)
          expect(error.rawMessage).toBe("the deadline of 100 ms came while an interceptor had the call")
          server.seen.length = 0
          const last = yield* ends(trying, isStream, 500)
          expect(last.code).toBe(Code.DeadlineExceeded)
          expect(last.rawMessage).toMatch("the deadline of 500 ms came, no answer from")
          expect(server.seen).toHaveLength(1)
        }
      }).pipe(Effect.provide(Mesh.mesh))
    )
  }

  it.scopedLive("whatever a caller aborts with ends its call, also what has no words", () =>
    Effect.gen(function* () {
      const server = yield* Mesh.backend({ onCheck: () => new Promise(() => undefined) })
      const plane = yield* Mesh.ControlPlane
      yield* plane.set(Mesh.service("shop", server.port))
      const interceptors = [(next: InterceptorNext) => next]
      for (const options of [{}, { interceptors }, { protocol: "connect" as const }]) {
        const client = yield* checker("xds:///shop", options)
        for (const reason of wordless) {
          for (const stream of [false, true]) {
            for (const timeoutMs of [0, 60_000]) {
              const controller = new AbortController()
              const asked = { signal: controller.signal, timeoutMs }
              const before = server.seen.length
              const call = yield* Effect.fork(
                failure(() => (stream ? Mesh.all(client.watch({}, asked)) : client.check({}, asked)))
              )
              yield* Waiting.eventually(() => expect(server.seen).toHaveLength(before + 1))
              controller.abort(reason)
              yield* Effect.timeout(Fiber.join(call), "20 seconds")
            }
          }
        }
      }
    }).pipe(Effect.provide(Mesh.mesh))
  )

  it.scopedLive("whatever a body fails with ends its request, also what has no words", () =>
    Effect.gen(function* () {
      const server = yield* Mesh.backend()
      const plane = yield* Mesh.ControlPlane
      yield* plane.set(Mesh.service("shop", server.port))
      const http = yield* XdsHttpClient.make({ target: "xds:///shop" })
      for (const reason of wordless) {
        const bytes = Stream.concat(Stream.make(new Uint8Array(10)), Stream.fail(reason))
        // Of a method of Connect the server reads all before it answers.
        const body = HttpBody.stream(bytes, "application/json")
        yield* Effect.timeout(Effect.flip(http.post("/grpc.health.v1.Health/Check", { body })), "20 seconds")
      }
    }).pipe(Effect.provide(Mesh.mesh))
  )

  it.scopedLive("nothing is left when a channel is closed, and its calls end", () =>
    Effect.gen(function* () {
      const server = yield* Mesh.backend({ onCheck: () => new Promise(() => undefined) })
      const plane = yield* Mesh.ControlPlane
      yield* plane.set(Mesh.service("shop", server.port))
      const channels = yield* XdsChannels.XdsChannels
      const scope = yield* Scope.make()
      const channel = yield* Scope.extend(channels.open("xds:///shop"), scope)
      const client = yield* Scope.extend(checker(), scope)
      const call = yield* Effect.fork(failure(() => client.check({})))
      yield* Waiting.eventually(() => expect(server.seen).toHaveLength(1))
      yield* Scope.close(scope, Exit.void)
      expect((yield* call).code).toBe(Code.Unavailable)
      expect(channel.driver.connections).toBe(0)
      yield* Waiting.eventually(() => expect(server.connections()).toBe(0))
    }).pipe(Effect.provide(Mesh.mesh))
  )

  it.scopedLive("a call of a channel that is closed ends at once, whatever its kind", () =>
    Effect.gen(function* () {
      const server = yield* Mesh.backend()
      const plane = yield* Mesh.ControlPlane
      yield* plane.set(Mesh.service("shop", server.port))
      const scope = yield* Scope.make()
      const client = yield* Scope.extend(checker(), scope)
      const http = yield* Scope.extend(XdsHttpClient.make({ target: "xds:///shop" }), scope)
      yield* portOf(client)
      yield* Scope.close(scope, Exit.void)
      for (const call of [() => client.check({}), () => Mesh.all(client.watch({ service: "1" }))]) {
        const error = yield* Effect.timeout(failure(call), "20 seconds")
        expect([error.code, error.rawMessage]).toEqual([Code.Unavailable, "the channel was closed"])
      }
      const error = yield* Effect.timeout(Effect.flip(http.get("/items")), "20 seconds")
      expect(String(error.cause)).toContain("the channel was closed")
    }).pipe(Effect.provide(Mesh.mesh))
  )

  it.scopedLive("a call that is cut by the end of its channel is not tried again, and waits for nothing", () =>
    Effect.gen(function* () {
      const server = yield* Mesh.backend({ onCheck: () => new Promise(() => undefined) })
      const plane = yield* Mesh.ControlPlane
      const hours = { retryOn: "unavailable", retryBackOff: { baseInterval: { seconds: 1_000_000n } } }
      const route: RouteInit = {
        match: { pathSpecifier: { case: "prefix", value: "" } },
        action: {
          case: "route",
          value: { clusterSpecifier: { case: "cluster", value: "shop" }, retryPolicy: { numRetries: 3, ...hours } }
        }
      }
      yield* plane.set({ ...Mesh.service("shop", server.port), routes: [Mesh.routes("shop", ["shop"], route)] })
      const scope = yield* Scope.make()
      const client = yield* Scope.extend(checker(), scope)
      const call = yield* Effect.fork(failure(() => client.check({})))
      yield* Waiting.eventually(() => expect(server.seen).toHaveLength(1))
      yield* Scope.close(scope, Exit.void)
      const error = yield* Effect.timeout(Fiber.join(call), "20 seconds")
      expect([error.code, error.rawMessage]).toEqual([Code.Unavailable, "the channel was closed"])
    }).pipe(Effect.provide(Mesh.mesh))
  )

  it.scopedLive("a call that waits to be sent again ends when the channel is closed, or it is given up", () =>
    Effect.gen(function* () {
      const server = yield* Mesh.backend({
        onCheck: (service) => {
          if (service === "") return
          throw new ConnectError("not now", Code.Unavailable, { "grpc-retry-pushback-ms": "600000" })
        }
      })
      const plane = yield* Mesh.ControlPlane
      yield* plane.set({
        ...Mesh.service("shop", server.port),
        routes: [Mesh.routes("shop", ["shop"], Mesh.retried("shop"))]
      })
      const scope = yield* Scope.make()
      const client = yield* Scope.extend(checker(), scope)
      const controller = new AbortController()
      const given = yield* Effect.fork(failure(() => client.check({ service: "a" }, { signal: controller.signal })))
      const call = yield* Effect.fork(failure(() => client.check({ service: "b" })))
      yield* Waiting.eventually(() => expect(server.seen).toHaveLength(2))
      // The answers of a connection come one after another: with this one the others are there.
      yield* portOf(client)
      controller.abort()
      expect((yield* Effect.timeout(Fiber.join(given), "20 seconds")).code).toBe(Code.Canceled)
      yield* Scope.close(scope, Exit.void)
      const closed = yield* Effect.timeout(Fiber.join(call), "20 seconds")
      expect(closed.rawMessage).toBe("the channel was closed")
      expect(server.seen).toHaveLength(3)
    }).pipe(Effect.provide(Mesh.mesh))
  )
})
