import { Code } from "@connectrpc/connect"
import { Waiting } from "@effect-xds/testing"
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { EventEmitter } from "node:events"
import { EndpointConnection } from "../src/internal/EndpointConnection.js"
import * as Mesh from "./Mesh.js"

/** A connection of its own to a server, what it told, and calls on it. */
const connected = Effect.gen(function* () {
  const server = yield* Mesh.backend()
  const told: Array<string> = []
  const connection = new EndpointConnection(
    `127.0.0.1:${server.port}`,
    { security: undefined, versions: "Http2", connectTimeout: 30_000, maxSockets: 1 },
    {
      ready: () => told.push("ready"),
      gone: (reason) => {
        told.push(reason)
        connection.drain()
      },
      ended: () => told.push("ended")
    }
  )
  /** The session that a call is answered on. `opened` is called in the turn in which it was sent. */
  const call = (opened = (): void => undefined) =>
    Effect.promise(
      () =>
        new Promise<unknown>((resolve, reject) => {
          connection.reserve()
          const stream = connection.open({ ":method": "GET", ":path": "/none" })
          connection.release()
          const session: unknown = Reflect.get(stream, "session")
          stream.once("error", reject)
          stream.on("data", () => undefined)
          stream.once("end", () => resolve(session))
          stream.end()
          opened()
        })
    )
  yield* Waiting.eventually(() => expect(told).toEqual(["ready"]))
  return { call, connection, told }
})

describe("a connection", () => {
  it.scopedLive("that failed with streams on it gets no calls: they go to a new one, and those streams go on", () =>
    Effect.gen(function* () {
      let release = (): void => undefined
      const held = new Promise<void>((resolve) => (release = resolve))
      const server = yield* Mesh.backend({ onCheck: (service) => (service === "2" ? held : undefined) })
      const plane = yield* Mesh.ControlPlane
      yield* plane.set(Mesh.service("shop", server.port))
      const client = yield* Mesh.checker()
      const stream = Mesh.all(client.watch({ service: "2" }))
      yield* Waiting.eventually(() => expect(server.seen).toHaveLength(1))
      // ★ Metadata that does not fit into frames: Node closes the session, and does not say so.
      const big = { big: "~}{|".repeat(25_000) }
      const error = yield* Mesh.failure(() => client.check({}, { headers: big }))
      expect(error.code).toBe(Code.Unavailable)
      for (let call = 0; call < 5; call++) expect(yield* Mesh.portOf(client)).toBe(server.port)
      release()
      expect(yield* Effect.promise(() => stream)).toHaveLength(2)
    }).pipe(Effect.provide(Mesh.mesh))
  )

  it.scopedLive("that takes no new calls answers the last one that was sent to it", () =>
    Effect.gen(function* () {
      const { call, connection, told } = yield* connected
      yield* call(connection.drain)
      yield* Waiting.eventually(() => expect(told).toContain("ended"))
    })
  )

  it.scopedLive("is gone before its numbers of streams are used up, and its last calls are answered", () =>
    Effect.gen(function* () {
      const { call, told } = yield* connected
      const session = yield* call()
      // What Node has for this its types do not.
      if (!(session instanceof EventEmitter)) throw new Error("the stream has no session")
      const set: unknown = Reflect.get(session, "setNextStreamID")
      if (typeof set === "function") Reflect.apply(set, session, [2 ** 31 - 2 ** 17 - 1])
      yield* call()
      expect(told).toEqual(["ready"])
      yield* call()
      yield* Waiting.eventually(() => expect(told).toEqual(["ready", "its numbers of streams are used up", "ended"]))
    })
  )
})
