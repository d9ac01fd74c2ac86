import * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import { describe, expect, it } from "@effect/vitest"
import type { RestServer } from "@effect-xds/transport-rest"
import { RestServerMetrics } from "@effect-xds/transport-rest"
import * as RestApp from "@effect-xds/transport-rest/RestApp"
import { Chunk, Context, Effect, Exit, Fiber, Layer, Metric, Scope, TestClock } from "effect"
import * as Http from "node:http"
import {
  assignment,
  client,
  cluster,
  clusters,
  contentOf,
  held,
  node,
  type Reply,
  reasonOf,
  request,
  serve,
  serveOn
} from "./ControlPlane.js"

const sessions = Effect.map(Metric.value(RestServerMetrics.sessions), (gauge) => gauge.value)

/** A server under the test's clock, and its application to call without a network. */
const serveApp = (options: RestServer.Options) =>
  Effect.gen(function* () {
    const context = yield* Layer.build(RestApp.layer(options))
    const plane = yield* serveOn(Layer.succeedContext(context))
    const { app } = Context.get(context, RestApp.RestApp)
    const call = (json: unknown, headers: Readonly<Record<string, string>> = {}, path = "/v3/discovery:clusters") =>
      Effect.suspend(() => {
        const web = new Request(`http://xds${path}`, { method: "POST", body: JSON.stringify(json), headers })
        // fetch's Request says text/plain of a string.
        web.headers.set("content-type", "application/json")
        return Effect.provideService(app, HttpServerRequest.HttpServerRequest, HttpServerRequest.fromWeb(web))
      })
    /** A client that has the state of the group. */
    const upToDate = (id: string) =>
      Effect.gen(function* () {
        const { body } = yield* call({ node: node(id) })
        const text = body._tag === "Uint8Array" ? new TextDecoder().decode(body.body) : ""
        const parsed: unknown = JSON.parse(text)
        const version: unknown = Reflect.get(Object(parsed), "versionInfo")
        return { node: node(id), version_info: String(version) }
      })
    return { ...plane, call, upToDate }
  })

const statusOf = (fiber: Fiber.RuntimeFiber<{ readonly status: number }>) =>
  Effect.map(Fiber.poll(fiber), (exit) =>
    exit._tag === "None" ? "held" : Exit.isSuccess(exit.value) && exit.value.value.status
  )

describe("A long poll", () => {
  it.scopedLive("is held until something changes", () =>
    Effect.gen(function* () {
      const { port, store } = yield* serve({ wait: 30_000 })
      yield* store.set("edge", { clusters: [cluster("a")], endpoints: [assignment("a"), assignment("b")] })
      for (const [index, options] of [
        { expected: ["a", "new"], path: "/v3/discovery:clusters" },
        { expected: ["a", "b"], path: "/v3/discovery:endpoints", names: ["a", "b"] },
        { expected: ["a", "b", "new"], path: "/v3/discovery:endpoints" }
      ].entries()) {
        const envoy = client(port, options)
        yield* envoy.poll()
        const poll = yield* Effect.fork(envoy.poll())
        yield* held(1)
        const start = performance.now()
        yield* store.update("edge", {
          upsert: {
            clusters: [cluster("new", options.path)],
            endpoints: [assignment("new"), assignment("a", 100 + index)]
          }
        })
        const reply = yield* poll
        // Not at the end of the wait.
        expect(performance.now() - start).toBeLessThan(15_000)
        expect([reply.status, contentOf(reply).names]).toEqual([200, options.expected])
        yield* store.update("edge", { remove: { clusters: ["new"], endpoints: ["new"] } })
      }
      yield* held(0)
    })
  )

  it.scopedLive("that lost its response is answered at once", () =>
    Effect.gen(function* () {
      const { port, store } = yield* serve({ wait: 30_000 })
      yield* store.set("edge", clusters("a"))
      const envoy = client(port)
      yield* envoy.poll()
      const before = envoy.version()
      const poll = yield* Effect.fork(envoy.poll())
      yield* held(1)
      yield* store.update("edge", { upsert: clusters("b") })
      yield* poll
      expect((yield* envoy.poll({ version_info: before })).status).toBe(200)
    })
  )

  it.scopedLive("is no longer known when its client is gone", () =>
    Effect.gen(function* () {
      const { port, store } = yield* serve({ wait: 30_000 })
      yield* store.set("edge", clusters("a"))
      const envoy = client(port)
      yield* envoy.poll()
      for (let round = 0; round < 3; round++) {
        const controller = new AbortController()
        const gone = Effect.promise(() =>
          request(port, {
            signal: controller.signal,
            json: { node: node(), version_info: envoy.version() }
          }).then(
            () => "answered",
            () => "gone"
          )
        )
        const poll = yield* Effect.fork(gone)
        yield* held(1)
        controller.abort()
        expect(yield* poll).toBe("gone")
        yield* held(0)
      }
      // And the next one is answered as if nothing had been.
      yield* store.update("edge", { upsert: clusters("b") })
      expect(contentOf(yield* envoy.poll()).names).toEqual(["a", "b"])
    })
  )

  it.scopedLive(
    "of two thousand clients at once: all are answered, and nothing is left",
    () =>
      Effect.gen(function* () {
        const count = 2000
        const { port, store } = yield* serve({ wait: 300_000 })
        yield* store.set("edge", clusters("a"))
        const agent = new Http.Agent({ keepAlive: true })
        yield* Effect.addFinalizer(() => Effect.sync(() => agent.destroy()))
        const clients = Array.from({ length: count }, (_, index) => client(port, { id: `n${index}` }))
        yield* Effect.forEach(clients, (each) => each.poll({}, { agent }), { concurrency: 50 })
        expect(yield* sessions).toBe(count)
        const timers = () => process.getActiveResourcesInfo().filter((name) => name === "Timeout").length
        const before = timers()
        const polls: Array<Fiber.Fiber<Reply>> = []
        // Not all connections at once: what the kernel has no room for comes again after a minute.
        for (let from = 0; from < count; from += 250) {
          const some = clients.slice(from, from + 250)
          polls.push(...(yield* Effect.forEach(some, (each) => Effect.fork(each.poll({}, { agent })))))
          yield* held(polls.length)
        }
        expect(timers() - before).toBeLessThan(20)
        const start = performance.now()
        yield* store.update("edge", { upsert: clusters("b") })
        const replies = yield* Fiber.join(Fiber.all(polls))
        console.log(`${count} held polls were answered within ${(performance.now() - start).toFixed(0)} ms`)
        expect(replies.filter(({ status }) => status === 200).length).toBe(count)
        expect(new Set(replies.map((reply) => contentOf(reply).names.join())).size).toBe(1)
        yield* held(0)
      }),
    300_000
  )

  it.scopedLive("is answered with 503 when the server shuts down, and nothing is left", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const { port, store } = yield* Scope.extend(serve({ wait: 30_000 }), scope)
      yield* store.set("edge", clusters("a"))
      const envoy = client(port)
      yield* envoy.poll()
      const poll = yield* Effect.fork(envoy.poll())
      yield* held(1)
      const start = performance.now()
      yield* Scope.close(scope, Exit.void)
      // It did not wait for the client to close its connection.
      expect(performance.now() - start).toBeLessThan(15_000)
      const reply = yield* poll
      expect(reply.headers["connection"]).toBe("close")
      expect([reply.status, reasonOf(reply)]).toEqual([503, "the control plane shuts down"])
      expect(yield* sessions).toBe(0)
      yield* held(0)
      const refused = yield* Effect.promise(() =>
        request(port, { agent: new Http.Agent() }).catch((error: unknown) => String(error))
      )
      expect(refused).toContain("ECONNREFUSED")
    })
  )
})

describe("How long a poll is held", () => {
  const cases: ReadonlyArray<{
    readonly name: string
    readonly options?: RestServer.Options
    readonly path?: string
    readonly headers?: Readonly<Record<string, string>>
    /** Milliseconds; 0: not at all. */
    readonly expected: number
  }> = [
    { name: "not at all by default", expected: 0 },
    { name: "by the option", options: { wait: 20_000 }, expected: 20_000 },
    { name: "by the query", path: "?a=b&wait=2.5", expected: 2_500 },
    { name: "by the header", headers: { prefer: 'respond-async, wait="40"' }, expected: 40_000 },
    {
      name: "by the query rather than by header and option",
      options: { wait: 1 },
      path: "?wait=9",
      headers: { prefer: "wait=1" },
      expected: 9_000
    },
    { name: "not at all if the client says so", options: { wait: 20_000 }, path: "?wait=0", expected: 0 },
    {
      name: "no longer than the longest",
      options: { maxWait: 7_000, wait: 8_000 },
      path: "?wait=9e9",
      expected: 7_000
    },
    {
      name: "no longer than an Envoy waits",
      options: { wait: 20_000 },
      headers: { "x-envoy-expected-rq-timeout-ms": "2000" },
      expected: 1_500
    },
    {
      name: "by the option if an Envoy waits for ever",
      options: { wait: 20_000 },
      headers: { "x-envoy-expected-rq-timeout-ms": "x" },
      expected: 20_000
    },
    { name: "not at all above the limit of held ones", options: { wait: 20_000, maxHeld: 0 }, expected: 0 }
  ]
  it.scoped.each(cases)("$name", ({ expected, headers, options = {}, path = "" }) =>
    Effect.gen(function* () {
      const { call, store, upToDate } = yield* serveApp(options)
      yield* store.set("edge", clusters("a"))
      const json = yield* upToDate("n1")
      const poll = yield* Effect.fork(call(json, headers, `/v3/discovery:clusters${path}`))
      if (expected > 0) {
        yield* held(1)
        yield* TestClock.adjust(expected - 20)
        expect(yield* statusOf(poll)).toBe("held")
        // The time is rounded up to 20 ms.
        yield* TestClock.adjust(40)
      }
      expect((yield* poll).status).toBe(304)
      yield* held(0)
    })
  )

  it.scopedLive("is a number of seconds", () =>
    Effect.gen(function* () {
      const { port } = yield* serve()
      for (const wait of ["soon", "-1", "NaN"]) {
        const reply = yield* Effect.promise(() => request(port, { path: `/v3/discovery:clusters?wait=${wait}` }))
        expect([reply.status, reasonOf(reply)]).toEqual([
          400,
          `the query parameter wait is a number of seconds, not ${wait}`
        ])
      }
    })
  )

  it.scoped("costs no timer", () =>
    Effect.gen(function* () {
      const { call, store, upToDate } = yield* serveApp({ wait: 20_000 })
      yield* store.set("edge", clusters("a"))
      const clients = yield* Effect.forEach(
        Array.from({ length: 300 }, (_, index) => `n${index}`),
        upToDate
      )
      const before = Chunk.size(yield* TestClock.sleeps())
      const polls = yield* Effect.forEach(clients, (json) => Effect.fork(call(json)))
      yield* held(300)
      expect(Chunk.size(yield* TestClock.sleeps())).toBeLessThanOrEqual(before + 1)
      yield* TestClock.adjust(20_020)
      const replies = yield* Fiber.join(Fiber.all(polls))
      expect(new Set(replies.map(({ status }) => status))).toEqual(new Set([304]))
      yield* held(0)
    })
  )
})

describe("A client that rejects without a word, as Envoy does", () => {
  it.scoped("is given the same again once, then when its time is up, and what is new at once", () =>
    Effect.gen(function* () {
      const { call, events, store, upToDate } = yield* serveApp({ wait: 20_000 })
      yield* store.set("edge", clusters("a"))
      const json = yield* upToDate("n1")
      yield* store.update("edge", { upsert: clusters("bad") })
      const poll = call(json)
      // The change, and the same once more, for it may have been lost.
      expect((yield* poll).status).toBe(200)
      expect((yield* poll).status).toBe(200)
      for (let round = 0; round < 2; round++) {
        const later = yield* Effect.fork(poll)
        yield* held(1)
        yield* TestClock.adjust(19_000)
        expect(yield* statusOf(later)).toBe("held")
        yield* TestClock.adjust(1_020)
        expect((yield* later).status).toBe(200)
      }
      const waiting = yield* Effect.fork(poll)
      yield* held(1)
      yield* store.update("edge", { remove: { clusters: ["bad"] }, upsert: clusters("good") })
      expect((yield* waiting).status).toBe(200)
      expect(events.filter(({ _tag }) => _tag === "Connected").length).toBe(1)
    })
  )

  it.scopedLive("does not hold up another one with the same node", () =>
    Effect.gen(function* () {
      const { port, store } = yield* serve({ wait: 30_000 })
      yield* store.set("edge", clusters("a"))
      const connection = Effect.acquireRelease(
        Effect.sync(() => new Http.Agent({ keepAlive: true, maxSockets: 1 })),
        (agent) => Effect.sync(() => agent.destroy())
      )
      const [rejecting, starting] = [yield* connection, yield* connection]
      const poll = (agent: Http.Agent) => client(port).poll({}, { agent })
      expect((yield* poll(rejecting)).status).toBe(200)
      expect((yield* poll(rejecting)).status).toBe(200)
      const third = yield* Effect.fork(poll(rejecting))
      yield* held(1)
      expect((yield* poll(starting)).status).toBe(200)
      yield* third
    })
  )
})

describe("A session", () => {
  it.scoped("ends when nobody polls it, but not while a poll is held", () =>
    Effect.gen(function* () {
      const { call, events, status, store, upToDate } = yield* serveApp({ idleTimeout: 60_000, maxWait: 600_000 })
      yield* store.set("edge", clusters("a"))
      const one = yield* upToDate("n1")
      yield* TestClock.adjust(30_000)
      const two = yield* upToDate("n2")
      const waiting = yield* Effect.fork(call(two, { prefer: "wait=300" }))
      yield* held(1)
      const three = yield* upToDate("n3")
      yield* upToDate("n4")
      const ids = Effect.map(status, (clients) => clients.map((each) => each.node?.id).sort())
      expect(yield* ids).toEqual(["n1", "n2", "n3", "n4"])
      yield* TestClock.adjust(30_020)
      expect(yield* ids).toEqual(["n2", "n3", "n4"])
      // Who polls stays.
      yield* call(three)
      yield* TestClock.adjust(59_900)
      expect(yield* ids).toEqual(["n2", "n3"])
      yield* TestClock.adjust(200)
      expect(yield* ids).toEqual(["n2"])
      const reasons = events.flatMap((event) => (event._tag === "Ended" ? [event.reason] : []))
      expect(reasons).toEqual(["no poll for 60 s", "no poll for 60 s", "no poll for 60 s"])
      expect(yield* statusOf(waiting)).toBe("held")
      yield* Fiber.interrupt(waiting)
      yield* TestClock.adjust(60_100)
      expect(yield* ids).toEqual([])
      // Who comes back is given everything.
      expect((yield* call(one)).status).toBe(200)
    })
  )

  it.scoped("that was not polled for the longest time makes room for a new one, if none is waited at", () =>
    Effect.gen(function* () {
      const { call, status, store, upToDate } = yield* serveApp({ maxSessions: 2 })
      yield* store.set("edge", clusters("a"))
      const one = yield* upToDate("n1")
      yield* upToDate("n2")
      yield* call(one)
      yield* upToDate("n3")
      const ids = Effect.map(status, (clients) => clients.map((each) => each.node?.id).sort())
      expect(yield* ids).toEqual(["n1", "n3"])
      const three = yield* upToDate("n3")
      yield* Effect.fork(call(one, { prefer: "wait=30" }))
      yield* Effect.fork(call(three, { prefer: "wait=30" }))
      yield* held(2)
      expect((yield* call({ node: node("n4") })).status).toBe(503)
      expect(yield* ids).toEqual(["n1", "n3"])
    })
  )
})
