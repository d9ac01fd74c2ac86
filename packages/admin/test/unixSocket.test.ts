/** The admin server on a Unix socket. */
import { AdminServer } from "@effect-xds/admin"
import { SnapshotStore, XdsServer } from "@effect-xds/server"
import { MemoryTransport } from "@effect-xds/testing"
import { describe, expect, it } from "@effect/vitest"
import { Effect, Exit, Layer, Logger, LogLevel, Scope } from "effect"
import { existsSync, mkdtempSync, rmSync } from "node:fs"
import * as Http from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"

const environment = XdsServer.layer({ group: ({ cluster }) => cluster }).pipe(
  Layer.provideMerge(Layer.merge(SnapshotStore.layerMemory(), MemoryTransport.layer)),
  Layer.provideMerge(Logger.minimumLogLevel(LogLevel.None))
)

const get = (socketPath: string, path: string): Promise<number> =>
  new Promise((resolve, reject) => {
    const sent = Http.get({ socketPath, path, agent: false }, (response) => {
      response.resume()
      response.on("end", () => resolve(response.statusCode ?? 0))
    })
    sent.on("error", reject)
  })

describe("AdminServer with path", () => {
  it.scopedLive("listens on the socket, and takes its file away at the end", () =>
    Effect.gen(function* () {
      const folder = yield* Effect.acquireRelease(
        Effect.sync(() => mkdtempSync(join(tmpdir(), "admin-"))),
        (folder) => Effect.sync(() => rmSync(folder, { recursive: true }))
      )
      const path = join(folder, "admin.sock")
      const scope = yield* Scope.make()
      const { address } = yield* Scope.extend(AdminServer.make({ path }), scope)
      expect(address).toBe(`unix:${path}`)
      expect(yield* Effect.promise(() => get(path, "/healthz"))).toBe(200)
      expect(yield* Effect.promise(() => get(path, "/config_dump"))).toBe(200)
      yield* Scope.close(scope, Exit.void)
      expect(existsSync(path)).toBe(false)
    }).pipe(Effect.provide(environment))
  )
})
