import { FreePort } from "@effect-xds/testing"
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { createServer } from "node:net"

/** Listens until the scope closes; gives the port or why not. */
const listening = (port: number) =>
  Effect.flatMap(
    Effect.acquireRelease(
      Effect.sync(() => createServer()),
      (server) => Effect.async<void>((resume) => void server.close(() => resume(Effect.void)))
    ),
    (server) =>
      Effect.async<number | string>((resume) => {
        server.once("error", ({ message }) => resume(Effect.succeed(message)))
        server.listen(port, "127.0.0.1", () => resume(Effect.succeed(port)))
      })
  )

describe("a free port", () => {
  it.effect("is none that the system gives by itself, and can be listened at again and again", () =>
    Effect.gen(function* () {
      const port = yield* FreePort.any()
      expect(port).toBeGreaterThanOrEqual(20_000)
      expect(port).toBeLessThan(32_768)
      for (let round = 0; round < 3; round++) {
        expect(yield* Effect.scoped(listening(port))).toBe(port)
      }
    })
  )

  it.effect("is nobody's", () =>
    Effect.gen(function* () {
      const ports = yield* Effect.replicateEffect(FreePort.any(), 100)
      for (const port of ports) expect(yield* Effect.scoped(listening(port))).toBe(port)
    })
  )

  it.effect("is not looked for where this machine has no such address", () =>
    Effect.gen(function* () {
      const exit = yield* Effect.exit(FreePort.any("192.0.2.1"))
      expect(String(exit)).toContain("EADDRNOTAVAIL")
    })
  )
})
