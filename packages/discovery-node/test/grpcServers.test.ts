/** Probes of the health services of other implementations of gRPC. */
import * as NodeProber from "@effect-xds/discovery-node/NodeProber"
import { PeerProgram } from "@effect-xds/testing"
import { describe, expect, it } from "@effect/vitest"
import * as Grpc from "@grpc/grpc-js"
import * as Effect from "effect/Effect"
import { spawn } from "node:child_process"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { checkMethod } from "./ProbeTargets.js"

const meant = (address: string) =>
  Effect.forEach(["", "up", "down", "other"], (service) =>
    Effect.gen(function* () {
      const ask = yield* NodeProber.make.open({
        address,
        hostname: "",
        cluster: "shop",
        timeout: 10_000,
        reuseConnection: true,
        probe: { _tag: "Grpc", service, host: "", headers: [] }
      })
      return [yield* ask(true), yield* ask(false)].map(({ _tag }) => _tag)
    })
  )

const expected = [
  ["Success", "Success"],
  ["Success", "Success"],
  ["Immediate", "Immediate"],
  ["Immediate", "Immediate"]
]

const check: Grpc.handleUnaryCall<Buffer, Buffer> = ({ request }, answer) => {
  const service = request.subarray(2).toString()
  if (service === "other") answer({ code: Grpc.status.NOT_FOUND, details: "no such service" })
  else answer(null, Buffer.of(8, service === "down" ? 2 : 1))
}

const grpcJs = Effect.acquireRelease(
  Effect.promise(async () => {
    const server = new Grpc.Server()
    server.addService({ check: checkMethod }, { check })
    const port = await new Promise<number>((resolve, reject) =>
      server.bindAsync("127.0.0.1:0", Grpc.ServerCredentials.createInsecure(), (error, bound) =>
        error === null ? resolve(bound) : reject(error)
      )
    )
    return { server, address: `127.0.0.1:${port}` }
  }),
  ({ server }) => Effect.sync(() => server.forceShutdown())
)

const grpcio = PeerProgram.forTest("grpcio")

const python = (peer: PeerProgram.Present) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const program = join(dirname(fileURLToPath(import.meta.url)), "health_server.py")
      const env = { ...process.env, PYTHONPATH: join(dirname(peer.path), "packages") }
      const child = spawn("python3", [program], { env, stdio: ["pipe", "pipe", "inherit"] })
      const line = await new Promise<string>((resolve, reject) => {
        child.stdout.setEncoding("utf8").once("data", resolve)
        child.once("exit", (code) => reject(new Error(`the server ended with ${code}`)))
      })
      return { child, address: `127.0.0.1:${Number(line)}` }
    }),
    ({ child }) =>
      Effect.async<void>((resume) => {
        child.once("exit", () => resume(Effect.void))
        child.stdin.end()
      })
  )

describe("health services", () => {
  it.scopedLive("of grpc-js", () =>
    Effect.gen(function* () {
      const { address } = yield* grpcJs
      expect(yield* meant(address)).toEqual(expected)
    })
  )

  it.scopedLive.skipIf(grpcio._tag === "Missing")(PeerProgram.title("of grpcio", grpcio), () =>
    Effect.gen(function* () {
      if (grpcio._tag === "Missing") return
      const { address } = yield* python(grpcio)
      expect(yield* meant(address)).toEqual(expected)
    })
  )
})
