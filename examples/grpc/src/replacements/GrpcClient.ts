/** The gRPC clients that call while the control plane moves them: which there are, their start, and what they tell. */
import * as PeerProgram from "@effect-xds/testing/PeerProgram"
import type * as PlatformError from "@effect/platform/Error"
import type * as CommandExecutor from "@effect/platform/CommandExecutor"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import * as ChildProcess from "../ChildProcess.js"

/** grpc-js comes with our packages; `node scripts/peers.mjs` fetches the others. */
export const names = ["grpc-js", "grpcio", "grpc-java", "grpc-go"] as const

export type Name = (typeof names)[number]

/** Why a client cannot be started here; `undefined` if it can. */
export const missing = (name: Name): string | undefined => {
  if (name === "grpc-js") return undefined
  const peer = PeerProgram.find(name)
  return peer._tag === "Missing" ? peer.reason : undefined
}

/** One line that a client prints: all its calls since its start. */
const Report = Schema.Struct({
  /** The backend's name → the calls that it answered. */
  answers: Schema.Record({ key: Schema.String, value: Schema.Number }),
  /** `UNAVAILABLE: no healthy upstream` → the calls that ended so. */
  failures: Schema.Record({ key: Schema.String, value: Schema.Number })
})

export type Report = typeof Report.Type

const parse = Schema.decodeOption(Schema.parseJson(Report))

/** grpc-go 1.85 fails calls so while a route changes, whatever the server sends, and in whatever order. */
const isFaultOfClient = (name: Name, failure: string) =>
  name === "grpc-go" && failure.includes("unknown cluster selected for RPC")

const sum = (counts: Readonly<Record<string, number>>) =>
  Object.values(counts).reduce((total, count) => total + count, 0)

/** What the calls of a client met with. */
export class Calls {
  private report: Report = { answers: {}, failures: {} }

  constructor(private readonly client: Name) {}

  readonly onLine = (line: string): void => {
    this.report = Option.getOrElse(parse(line), () => this.report)
  }

  /** Calls that the backend answered. */
  answeredBy(backend: string): number {
    return this.report.answers[backend] ?? 0
  }

  get answered(): number {
    return sum(this.report.answers)
  }

  /** How calls failed, and how many so; `byClient` without a fault of the server's. */
  get failures(): { readonly byServer: Readonly<Record<string, number>>; readonly byClient: number } {
    const all = Object.entries(this.report.failures)
    const byServer = Object.fromEntries(all.filter(([failure]) => !isFaultOfClient(this.client, failure)))
    return { byServer, byClient: sum(this.report.failures) - sum(byServer) }
  }

  get failed(): number {
    return sum(this.failures.byServer)
  }
}

/** A running client. */
export interface GrpcClient {
  readonly name: Name
  readonly calls: Calls
  /** Fails when it ends by itself. */
  readonly crash: ChildProcess.ChildProcess["crash"]
}

/** What a client finds its control plane by, as the node of that name. */
export const environment = (name: string, controlPlane: string, group: string): Readonly<Record<string, string>> => ({
  GRPC_XDS_BOOTSTRAP_CONFIG: JSON.stringify({
    xds_servers: [{ server_uri: controlPlane, channel_creds: [{ type: "insecure" }], server_features: ["xds_v3"] }],
    node: { id: name, cluster: group, locality: {} }
  }),
  // A proxy of this machine is not for what is on this machine.
  no_proxy: "127.0.0.1"
})

/** Starts a client that finds `xds:///greeter` at the control plane, as the node of its own name. */
export const start = (
  name: Name,
  controlPlane: string,
  group: string
): Effect.Effect<GrpcClient, PlatformError.PlatformError, Scope.Scope | CommandExecutor.CommandExecutor> =>
  Effect.gen(function* () {
    const calls = new Calls(name)
    const peer = PeerProgram.find(name)
    const options = {
      name,
      onLine: calls.onLine,
      env: environment(name, controlPlane, group)
    }
    const { crash } =
      peer._tag === "Present"
        ? yield* ChildProcess.startProgram({ ...options, program: peer.path })
        : yield* ChildProcess.start({
            ...options,
            script: new URL("../../dist/replacements/GrpcJs.js", import.meta.url)
          })
    return { name, calls, crash }
  })
