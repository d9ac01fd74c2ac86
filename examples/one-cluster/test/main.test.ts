import { create, fromBinary, toBinary } from "@bufbuild/protobuf"
import { anyUnpack } from "@bufbuild/protobuf/wkt"
import { ResourceType } from "@effect-xds/proto"
import { ClusterSchema } from "@effect-xds/proto/envoy/config/cluster/v3/cluster"
import {
  type DiscoveryRequest,
  DiscoveryRequestSchema,
  type DiscoveryResponse,
  DiscoveryResponseSchema
} from "@effect-xds/proto/envoy/service/discovery/v3/discovery"
import { assert, describe, it } from "@effect/vitest"
import { Client, credentials } from "@grpc/grpc-js"
import { Effect } from "effect"
import { spawn } from "node:child_process"
import { readFile } from "node:fs/promises"
import { fileURLToPath } from "node:url"

const path = (relative: string) => fileURLToPath(new URL(relative, import.meta.url))

/** Starts the example on a free port; succeeds with the address it prints. */
const start = Effect.gen(function* () {
  const child = yield* Effect.acquireRelease(
    Effect.sync(() =>
      spawn(process.execPath, [path("../dist/main.js")], { env: { ...process.env, PORT: "0", NO_COLOR: "1" } })
    ),
    (child) => Effect.sync(() => child.kill("SIGKILL"))
  )
  return yield* Effect.async<string, Error>((resume) => {
    let output = ""
    const read = (chunk: Buffer) => {
      output += chunk.toString()
      const address = /served on (\S+:\d+)/.exec(output)?.[1]
      if (address !== undefined) resume(Effect.succeed(address))
    }
    child.stdout.on("data", read)
    child.stderr.on("data", read)
    child.on("exit", (code) => resume(Effect.fail(new Error(`ended with ${code}: ${output}`))))
  }).pipe(Effect.timeout("60 seconds"))
})

const firstResponse = (address: string) =>
  Effect.acquireUseRelease(
    Effect.sync(() => new Client(address, credentials.createInsecure())),
    (client) =>
      Effect.async<DiscoveryResponse, Error>((resume) => {
        const call = client.makeBidiStreamRequest<DiscoveryRequest, DiscoveryResponse>(
          `/${ResourceType.aggregated.service}/${ResourceType.aggregated.stream}`,
          (request) => Buffer.from(toBinary(DiscoveryRequestSchema, request)),
          (bytes) => fromBinary(DiscoveryResponseSchema, bytes)
        )
        call.on("data", (response: DiscoveryResponse) => {
          resume(Effect.succeed(response))
          call.cancel()
        })
        call.on("error", (error) => resume(Effect.fail(error)))
        call.write(
          create(DiscoveryRequestSchema, { typeUrl: ResourceType.Cluster.typeUrl, node: { id: "n1", cluster: "edge" } })
        )
      }).pipe(Effect.timeout("30 seconds")),
    (client) => Effect.sync(() => client.close())
  )

describe("the smallest control plane", () => {
  it.scopedLive("serves its cluster to a gRPC client", () =>
    Effect.gen(function* () {
      const response = yield* firstResponse(yield* start)
      const clusters = response.resources.map((any) => anyUnpack(any, ClusterSchema)?.name)
      assert.deepStrictEqual(clusters, ["backend"])
    })
  )

  it("is the first example of the README, to the letter", async () => {
    const [source, readme] = await Promise.all([
      readFile(path("../src/main.ts"), "utf8"),
      readFile(path("../../../README.md"), "utf8")
    ])
    const first = /```ts\n([\s\S]*?)```/.exec(readme)?.[1]
    assert.strictEqual(first, source)
  })
})
