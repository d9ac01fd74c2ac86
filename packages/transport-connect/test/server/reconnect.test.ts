import { ResourceGroup } from "@effect-xds/core"
import { eventually } from "@effect-xds/testing/Waiting"
import { describe, expect, it } from "@effect/vitest"
import { Deferred, Effect } from "effect"
import * as Http2Client from "../Http2Client.js"
import { CDS, clusters, group, serve } from "./ControlPlane.js"
import { XdsClient } from "./XdsClient.js"

/** 230 KB of names and versions: a request of many chunks. */
const names = Array.from({ length: 3_000 }, (_, index) => `cluster-${index}`.padEnd(50, "."))

const indexes = [0, 1, 2, 3, 4, 5, 6, 7]

type Server = Effect.Effect.Success<ReturnType<typeof serve>>

const set = ({ store }: Server, clusterNames: ReadonlyArray<string> = names) =>
  Effect.map(
    store.set(group, clusters(...clusterNames)),
    ({ own }) => new Map(ResourceGroup.all(own).map(({ name, version }) => [name, version]))
  )

/** Clients of one connection, of which each says that it holds everything but one cluster, each another one. */
const reconnected = ({ port }: Server, versions: ReadonlyMap<string, string>, first = 0) =>
  Effect.map(Http2Client.connect(port), (session) =>
    indexes.map((index) => {
      const client = new XdsClient(session, "Incremental", { node: `client-${index}` })
      const missing = names[first + index] ?? ""
      const held = Object.fromEntries([...versions].filter(([name]) => name !== missing))
      client.send({ typeUrl: CDS, names: ["*"], held })
      return { client, missing }
    })
  )

type Reconnected = Effect.Effect.Success<ReturnType<typeof reconnected>>

const areSentWhatTheyLack = (clients: Reconnected) =>
  Effect.forEach(clients, ({ client, missing }) =>
    Effect.gen(function* () {
      const { names, removed } = yield* client.receive
      expect({ names, removed }).toEqual({ names: [missing], removed: [] })
    })
  )

// What they say is kept once for all of them, and each has numbers: none may have another's.
describe("many clients that say what they hold", () => {
  it.scopedLive("are each sent what they lack, again and again", () =>
    Effect.gen(function* () {
      const server = yield* serve()
      const versions = yield* set(server)
      for (let round = 0; round < 3; round++) yield* areSentWhatTheyLack(yield* reconnected(server, versions, round))
    })
  )

  it.scopedLive("more than is kept for all of them: are each sent what they lack", () =>
    Effect.gen(function* () {
      const server = yield* serve({}, { knownVersionsBytes: 100_000 })
      const versions = yield* set(server)
      for (let round = 0; round < 2; round++) yield* areSentWhatTheyLack(yield* reconnected(server, versions, round))
    })
  )

  it.scopedLive("where nothing is kept for all of them: are each sent what they lack", () =>
    Effect.gen(function* () {
      const server = yield* serve({}, { knownVersionsBytes: Infinity })
      yield* areSentWhatTheyLack(yield* reconnected(server, yield* set(server)))
    })
  )

  it.scopedLive("in requests that come whole: are each sent what they lack", () =>
    Effect.gen(function* () {
      const server = yield* serve()
      const versions = yield* set(server, names.slice(0, 100))
      yield* areSentWhatTheyLack(yield* reconnected(server, versions))
    })
  )

  it.scopedLive("before the group is set: are sent what they lack when it is", () =>
    Effect.gen(function* () {
      const server = yield* serve()
      const versions = yield* set(server)
      yield* areSentWhatTheyLack(yield* reconnected(server, versions))
      yield* server.store.clear(group)
      const areWaiting = (count: number) =>
        eventually(async () =>
          expect((await Effect.runPromise(server.status)).filter(({ waiting }) => waiting)).toHaveLength(count)
        )
      const waiting = yield* reconnected(server, versions)
      yield* areWaiting(indexes.length)
      waiting.push(...(yield* reconnected(server, versions, 100)))
      yield* areWaiting(2 * indexes.length)
      yield* set(server)
      yield* areSentWhatTheyLack(waiting)
    })
  )

  it.scopedLive("before their group is known: are sent what they lack when it is", () =>
    Effect.gen(function* () {
      const decided = yield* Deferred.make<void>()
      let asked = 0
      const find = ({ cluster }: { readonly cluster: string }) =>
        Effect.suspend(() => (++asked <= indexes.length ? Effect.void : Deferred.await(decided))).pipe(
          Effect.as(cluster)
        )
      const server = yield* serve({ group: find })
      const versions = yield* set(server)
      yield* areSentWhatTheyLack(yield* reconnected(server, versions))
      const waiting = yield* reconnected(server, versions)
      yield* eventually(() => expect(asked).toBe(2 * indexes.length))
      const others = yield* reconnected(server, versions, 100)
      yield* eventually(() => expect(asked).toBe(3 * indexes.length))
      yield* Deferred.succeed(decided, undefined)
      yield* areSentWhatTheyLack([...waiting, ...others])
    })
  )
})
