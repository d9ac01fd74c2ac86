/** A server on a Unix socket. */
import { describe, expect, it } from "@effect/vitest"
import { Effect, Exit, Scope } from "effect"
import { existsSync, mkdtempSync, rmSync } from "node:fs"
import * as Http from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { clusters, node, serve } from "./ControlPlane.js"

const post = (socketPath: string): Promise<number> =>
  new Promise((resolve, reject) => {
    const headers = { "content-type": "application/json" }
    const sent = Http.request(
      { socketPath, path: "/v3/discovery:clusters", method: "POST", headers, agent: false },
      (response) => {
        response.resume()
        response.on("end", () => resolve(response.statusCode ?? 0))
      }
    )
    sent.on("error", reject)
    sent.end(JSON.stringify({ node: node() }))
  })

describe("RestServer with path", () => {
  it.scopedLive("listens on the socket, and takes its file away at the end", () =>
    Effect.gen(function* () {
      const folder = yield* Effect.acquireRelease(
        Effect.sync(() => mkdtempSync(join(tmpdir(), "rest-"))),
        (folder) => Effect.sync(() => rmSync(folder, { recursive: true }))
      )
      const path = join(folder, "xds.sock")
      const scope = yield* Scope.make()
      const { address, store } = yield* Scope.extend(serve({ path }), scope)
      expect(address).toBe(`unix:${path}`)
      yield* store.set("edge", clusters("a"))
      expect(yield* Effect.promise(() => post(path))).toBe(200)
      yield* Scope.close(scope, Exit.void)
      expect(existsSync(path)).toBe(false)
    })
  )
})
