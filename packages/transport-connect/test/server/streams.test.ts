import { eventually } from "@effect-xds/testing/Waiting"
import { describe, expect, it } from "@effect/vitest"
import { Deferred, Duration, Effect, Exit, Scope } from "effect"
import * as Http2Client from "../Http2Client.js"
import { CDS, cluster, clusters, group, largeCluster, serve } from "./ControlPlane.js"
import { XdsClient } from "./XdsClient.js"

const sockets = (): number => process.getActiveResourcesInfo().filter((name) => name === "TCPSocketWrap").length

const nothingIsLeft = (figures: Effect.Effect.Success<ReturnType<typeof serve>>["figures"], socketsBefore: number) =>
  eventually(async () => {
    const nothing = { connections: 0, calls: 0, streams: 0, deadlines: 0, violations: 0 }
    expect(await Effect.runPromise(figures)).toEqual(nothing)
    expect(sockets()).toBe(socketsBefore)
  })

/** Lets the event loop turn once. */
const turn = Effect.async<void>((resume) => void setImmediate(() => resume(Effect.void)))

describe("streams", () => {
  it.scopedLive("two thousand at once are answered, told of a change, and leave nothing behind", () =>
    Effect.gen(function* () {
      const { figures, port, status, store } = yield* serve()
      yield* store.set(group, clusters("a"))
      const before = sockets()
      yield* Effect.gen(function* () {
        const clients: Array<XdsClient> = []
        const open = (connections: number, streams: number) =>
          Effect.gen(function* () {
            for (let connection = 0; connection < connections; connection++) {
              const session = yield* Http2Client.connect(port)
              for (let stream = 0; stream < streams; stream++) {
                const protocol = stream % 2 === 0 ? "Incremental" : "StateOfTheWorld"
                const client = new XdsClient(session, protocol, { node: `${clients.length}` })
                client.subscribe(CDS)
                clients.push(client)
              }
            }
          })
        yield* open(20, 100)
        yield* open(200, 1)
        for (const client of clients) {
          const first = yield* client.receive
          expect(first.names).toEqual(["a"])
          client.ack(first)
        }
        expect(yield* figures).toMatchObject({ connections: 220, calls: 2_200, streams: 2_200 })
        yield* store.update(group, { upsert: { clusters: [cluster("a", "changed")] } })
        for (const client of clients) client.ack(yield* client.receive)
        expect(new Set((yield* status).map(({ node }) => node?.id)).size).toBe(2_200)
        // Half of them end themselves, half are cut off with their connections.
        for (const client of clients.slice(0, 1_000)) client.call.stream.end()
        for (const client of clients.slice(0, 1_000)) expect((yield* client.ended).code).toBe(0)
      }).pipe(Effect.scoped)
      yield* nothingIsLeft(figures, before)
      expect(yield* status).toEqual([])
    })
  )

  it.scopedLive("a hundred that are busy end with UNAVAILABLE when the server's scope closes", () =>
    Effect.gen(function* () {
      const before = sockets()
      const scope = yield* Scope.make()
      const { figures, port, store } = yield* Scope.extend(serve({}, { shutdownGrace: 50_000 }), scope)
      yield* store.set(group, { resources: [largeCluster("a", 50_000, 0)] })
      const clients: Array<XdsClient> = []
      const open = Effect.gen(function* () {
        for (let connection = 0; connection < 10; connection++) {
          const session = yield* Http2Client.connect(port)
          for (let stream = 0; stream < 10; stream++) clients.push(new XdsClient(session, "Incremental"))
        }
      })
      yield* open
      for (const client of clients) client.subscribe(CDS)
      for (const client of clients) yield* client.receive
      // Changes go on, and are in everybody's buffers, while the server ends.
      const ending = yield* Deferred.make<void>()
      const changes = Effect.gen(function* () {
        for (let count = 1; ; count++) {
          yield* store.update(group, { upsert: { resources: [largeCluster("a", 50_000, count)] } })
          if (count === 10) yield* Deferred.succeed(ending, undefined)
          yield* turn
        }
      })
      yield* Effect.forkScoped(changes)
      yield* Deferred.await(ending)
      const [duration] = yield* Effect.timed(Scope.close(scope, Exit.void))
      for (const client of clients)
        expect(yield* client.ended).toEqual({ code: 14, message: "server is shutting down" })
      // Nobody has to be cut off at the end of the grace.
      expect(Duration.toMillis(duration)).toBeLessThan(25_000)
      yield* nothingIsLeft(figures, before)
    })
  )
})
