import { Code } from "@connectrpc/connect"
import { Waiting } from "@effect-xds/testing"
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Mesh from "./Mesh.js"

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
})
