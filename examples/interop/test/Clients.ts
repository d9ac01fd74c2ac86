/** The interop test clients that are judged: ours, grpc-go's and grpc-java's. */
import type { Client } from "@connectrpc/connect"
import { createClient } from "@connectrpc/connect"
import { createGrpcTransport } from "@connectrpc/connect-node"
import { FreePort } from "@effect-xds/testing"
import * as PeerProgram from "@effect-xds/testing/PeerProgram"
import * as Waiting from "@effect-xds/testing/Waiting"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { fileURLToPath } from "node:url"
import type { Configuration } from "../src/Calls.js"
import type { LoadBalancerAccumulatedStatsResponse, LoadBalancerStatsResponse } from "../src/Testing.js"
import { LoadBalancerStatsService, RpcType, XdsUpdateClientConfigureService } from "../src/Testing.js"
import { service } from "./Mesh.js"
import * as Process from "./Process.js"

/** Calls of each method in a second. */
export const qps = 40

export const script = (name: "Client" | "Server"): string =>
  fileURLToPath(new URL(`../dist/${name}.js`, import.meta.url))

interface Program {
  readonly name: "ours" | "grpc-go" | "grpc-java"
  readonly program: string
  readonly args: ReadonlyArray<string>
}

// With XDS_REQUIRE_PEERS=1 a missing one is an error.
const peers = [
  { name: "grpc-go" as const, peer: PeerProgram.forTest("interop-go") },
  { name: "grpc-java" as const, peer: PeerProgram.forTest("interop-java") }
]

const programs: ReadonlyArray<Program> = [
  { name: "ours", program: process.execPath, args: [script("Client")] },
  ...peers.flatMap(({ name, peer }) => (peer._tag === "Present" ? [{ name, program: peer.path, args: [] }] : []))
]

/** The title of a test that runs without those that are missing. */
export const title = (text: string): string =>
  [
    text,
    ...peers.flatMap(({ name, peer }) =>
      peer._tag === "Missing" ? [`without ${name}, which is missing: ${peer.reason}`] : []
    )
  ].join("; ")

export interface InteropClient {
  readonly name: Program["name"]
  readonly configure: (configuration: Configuration) => Effect.Effect<void>
  /** Who answers the next so many calls. */
  readonly next: (count: number) => Effect.Effect<LoadBalancerStatsResponse>
  /** What it printed last. */
  readonly lastWords: () => string
  readonly accumulated: Effect.Effect<LoadBalancerAccumulatedStatsResponse>
}

export const bootstrapOf = (controlPlane: string, id: string): Readonly<Record<string, string>> => ({
  GRPC_XDS_BOOTSTRAP_CONFIG: JSON.stringify({
    xds_servers: [{ server_uri: controlPlane, channel_creds: [{ type: "insecure" }], server_features: ["xds_v3"] }],
    node: { id, cluster: "interop", locality: {} }
  }),
  // A proxy of this machine is not for what is on this machine.
  no_proxy: "127.0.0.1"
})

/** Seconds that a client may take for a window of calls; then it says what it has. */
const windowSeconds = 30

const start = (
  { args, name, program }: Program,
  controlPlane: string
): Effect.Effect<InteropClient, never, Scope.Scope> =>
  Effect.gen(function* () {
    // The programs do not say which port they got.
    const port = yield* FreePort.any()
    const child = yield* Process.start({
      name,
      program,
      args: [...args, `--server=xds:///${service}`, `--stats_port=${port}`, `--qps=${qps}`],
      env: bootstrapOf(controlPlane, name),
      readsInput: false
    })
    const transport = createGrpcTransport({ baseUrl: `http://127.0.0.1:${port}` })
    const statistics: Client<typeof LoadBalancerStatsService> = createClient(LoadBalancerStatsService, transport)
    const configuring = createClient(XdsUpdateClientConfigureService, transport)
    const ask = <A>(what: () => Promise<A>): Effect.Effect<A> =>
      Effect.tryPromise({ try: what, catch: (cause) => new Error(`${String(cause)}; ${child.lastWords()}`) }).pipe(
        Effect.orDie
      )
    yield* Waiting.eventually(() => statistics.getClientAccumulatedStats({}), {
      limit: "2 minutes",
      seen: child.lastWords
    })
    return {
      name,
      lastWords: child.lastWords,
      next: (count) => ask(() => statistics.getClientStats({ numRpcs: count, timeoutSec: windowSeconds })),
      accumulated: ask(() => statistics.getClientAccumulatedStats({})),
      configure: ({ metadata, methods, timeoutMillis }) =>
        Effect.asVoid(
          ask(() =>
            configuring.configure({
              types: methods.map((method) => RpcType[method]),
              metadata: metadata.map(({ key, method, value }) => ({ type: RpcType[method], key, value })),
              timeoutSec: timeoutMillis / 1_000
            })
          )
        )
    }
  })

export const startAll = (controlPlane: string) =>
  Effect.forEach(programs, (program) => start(program, controlPlane), { concurrency: "unbounded" })
