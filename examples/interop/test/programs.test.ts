/** The programs of this example, as somebody runs them in a shell. */
import { createClient } from "@connectrpc/connect"
import { createGrpcTransport } from "@connectrpc/connect-node"
import { ClientResourceStatus } from "@effect-xds/proto/envoy/admin/v3/config_dump_shared"
import { ClientStatusDiscoveryService } from "@effect-xds/proto/envoy/service/status/v3/csds"
import * as Waiting from "@effect-xds/testing/Waiting"
import { expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { flags } from "../src/ClientFlags.js"
import * as Flags from "../src/Flags.js"
import { LoadBalancerStatsService, MetadataType } from "../src/Testing.js"
import * as Clients from "./Clients.js"
import * as ControlPlanes from "./ControlPlanes.js"
import * as Distribution from "./Distribution.js"
import * as Mesh from "./Mesh.js"
import * as Process from "./Process.js"

const run = (
  name: "Client" | "Server",
  args: ReadonlyArray<string>,
  env: Readonly<Record<string, string>> = { GRPC_XDS_BOOTSTRAP: "", GRPC_XDS_BOOTSTRAP_CONFIG: "" }
) =>
  Process.start({
    name,
    program: process.execPath,
    args: [Clients.script(name), ...args],
    env,
    readsInput: false
  })

/** What a program that ends by itself says. */
const ended = (...[name, args, env]: Parameters<typeof run>) =>
  Effect.gen(function* () {
    const child = yield* run(name, args, env)
    const code = yield* Waiting.until(`the end of ${name}`, child.exitCode, (exitCode) => exitCode !== null, {
      limit: "2 minutes",
      seen: child.lastWords
    })
    return { code, said: child.lastWords() }
  }).pipe(Effect.scoped)

const port = (child: Process.Process) =>
  Waiting.found(
    "a port",
    () =>
      child
        .printed()
        .map((line) => / port (\d+)$/.exec(line)?.[1])
        .find((found) => found !== undefined),
    { limit: "2 minutes", seen: child.lastWords }
  ).pipe(Effect.map(Number))

it.effect("mistakes in flags are told in words, and what to do", () =>
  Effect.gen(function* () {
    const mistakes = {
      "--server=localhost:80": "--server=localhost:80 cannot be used: give a target of xDS, as xds:///shop",
      "--qps=0": "--qps=0 cannot be used: give a whole number from 1 to 100000",
      "--rpc=Call": "--rpc=Call cannot be used: give UnaryCall, EmptyCall or both, with a comma between them",
      "--metadata=a:b": "--metadata=a:b cannot be used: give METHOD:KEY:VALUE, with commas between several",
      "--expect_status=5": "--expect_status=5 cannot be used: give the name of a status, as OK or UNAVAILABLE",
      "--print_response=yes": "--print_response=yes cannot be used: give true or false",
      "--colour=red": "Unknown option '--colour'"
    }
    for (const [flag, words] of Object.entries(mistakes)) {
      const { message } = yield* Effect.flip(Flags.parse(flags, [flag]))
      expect(message).toBe(`${words} (--help lists all flags)`)
    }
    const given = yield* Flags.parse(flags, [
      "--rpc=EmptyCall",
      "--metadata=UnaryCall:a:b:c,EmptyCall:d:",
      "--qps",
      "7"
    ])
    expect(given?.(flags.rpc)).toEqual(["EmptyCall"])
    expect(given?.(flags.metadata)).toEqual([
      { method: "UnaryCall", key: "a", value: "b:c" },
      { method: "EmptyCall", key: "d", value: "" }
    ])
    expect(given?.(flags.qps)).toBe(7)
    expect(given?.(flags.stats_port)).toBe(8081)
    expect(yield* Flags.parse(flags, ["--help"])).toBe(undefined)
    expect(Flags.help(flags)).toContain("--stats_port=N")
  })
)

it.live("a program that cannot begin says why, in one line", () =>
  Effect.gen(function* () {
    const { code, said } = yield* ended("Client", ["--server=xds:///shop"])
    expect({ code, said }).toEqual({
      code: 1,
      said:
        "Client has ended with 1, and said last: xDS bootstrap from the environment: " +
        "neither GRPC_XDS_BOOTSTRAP (a path) nor GRPC_XDS_BOOTSTRAP_CONFIG (JSON) is set"
    })
  })
)

it.live("a client and servers that are started by hand find each other", () =>
  Effect.gen(function* () {
    const plane = yield* ControlPlanes.ours
    const server = (name: string) => Effect.flatMap(run("Server", ["--port=0", `--host_name_override=${name}`]), port)
    const [a, b] = yield* Effect.all([server("a"), server("b")], { concurrency: "unbounded" })
    const mesh: Mesh.Mesh = { routes: [{ to: { pair: 1 } }], clusters: { pair: { priorities: [["a", "b"]] } } }
    yield* plane.publish(Mesh.resources(mesh, (name) => (name === "a" ? a : b)))
    const bootstrap = Clients.bootstrapOf(plane.address, "by-hand")
    const common = [`--server=xds:///${Mesh.service}`, "--stats_port=0", "--qps=50", "--num_channels=2"]
    const client = yield* run(
      "Client",
      [...common, "--rpc=EmptyCall,UnaryCall", "--print_response=true", "--response_payload_size=10"],
      bootstrap
    )
    const transport = createGrpcTransport({ baseUrl: `http://127.0.0.1:${yield* port(client)}` })
    const statistics = createClient(LoadBalancerStatsService, transport)
    const stats = yield* Waiting.until(
      "answers of both servers, and to both methods",
      () => statistics.getClientStats({ numRpcs: 40, timeoutSec: 60 }),
      // Hosts and methods take turns: all calls of a method may go to one host.
      ({ numFailures, rpcsByMethod, rpcsByPeer }) =>
        numFailures === 0 && Object.keys(rpcsByPeer).length === 2 && Object.keys(rpcsByMethod).length === 2
    )
    expect(Object.keys(stats.rpcsByMethod).sort()).toEqual(["EmptyCall", "UnaryCall"])
    expect(Distribution.total(stats.rpcsByPeer)).toBe(40)
    expect(stats.metadatasByPeer).toEqual({})
    const asked = { numRpcs: 10, timeoutSec: 60, metadataKeys: ["HostName", "nothing"] }
    const { metadatasByPeer } = yield* Effect.promise(() => statistics.getClientStats(asked))
    const found = Object.entries(metadatasByPeer).flatMap(([peer, { rpcMetadata }]) =>
      rpcMetadata.map(({ metadata }) => ({
        peer,
        metadata: metadata.map(({ key, type, value }) => ({ key, type, value }))
      }))
    )
    expect(found).toHaveLength(10)
    for (const { metadata, peer } of found) {
      expect(metadata).toEqual([{ key: "hostname", type: MetadataType.Initial, value: peer }])
    }

    const status = createClient(ClientStatusDiscoveryService, transport)
    const { config } = yield* Effect.promise(() => status.fetchClientStatus({}))
    expect(config.map(({ node }) => node?.id)).toEqual(["by-hand"])
    const { ACKED } = ClientResourceStatus
    expect(new Set(config[0]?.genericXdsConfigs.map(({ clientStatus }) => clientStatus))).toEqual(new Set([ACKED]))
    yield* Waiting.eventually(() => expect(client.printed().join("\n")).toMatch(/UnaryCall: OK, answered by [ab]/))

    // Calls that fail as they are to succeed, and the other way round.
    const failing = ["--metadata=UnaryCall:rpc-behavior:error-code-5", "--fail_on_failed_rpc=true"]
    const other = yield* run("Client", [...common, ...failing, "--expect_status=NOT_FOUND"], bootstrap)
    const others = createClient(
      LoadBalancerStatsService,
      createGrpcTransport({ baseUrl: `http://127.0.0.1:${yield* port(other)}` })
    )
    yield* Waiting.until(
      "calls that end as they are expected to",
      () => others.getClientAccumulatedStats({}),
      ({ numRpcsSucceededByMethod }) => (numRpcsSucceededByMethod["UNARY_CALL"] ?? 0) > 5
    )
    expect(other.exitCode()).toBe(null)

    const { code, said } = yield* ended(
      "Client",
      [...common, "--metadata=UnaryCall:rpc-behavior:hostname=b error-code-7", "--fail_on_failed_rpc=true"],
      bootstrap
    )
    expect({ code, said }).toMatchObject({ code: 1 })
    expect(said).toContain("--fail_on_failed_rpc is set: PERMISSION_DENIED: as rpc-behavior asks")
  }).pipe(Effect.scoped)
)
