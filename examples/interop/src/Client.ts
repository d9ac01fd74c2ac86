/** The interop test client, as a program: it finds its servers by xDS, as gRPC's do, and tells what became of its calls. */
import type { ConnectRouter } from "@connectrpc/connect"
import { Bootstrap, XdsClient } from "@effect-xds/client"
import { XdsChannels, XdsTransport } from "@effect-xds/connect-xds"
import type { ClientConfig } from "@effect-xds/proto/envoy/service/status/v3/csds"
import { ClientStatusDiscoveryService } from "@effect-xds/proto/envoy/service/status/v3/csds"
import { ConnectClient } from "@effect-xds/transport-connect"
import * as Console from "effect/Console"
import * as Data from "effect/Data"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { Configuration, Outcome } from "./Calls.js"
import * as Calls from "./Calls.js"
import { flags, nameOf } from "./ClientFlags.js"
import * as Flags from "./Flags.js"
import { listen } from "./Listening.js"
import * as Program from "./Program.js"
import { Statistics } from "./Statistics.js"
import type { ClientConfigureRequest, Method } from "./Testing.js"
import { LoadBalancerStatsService, RpcType, XdsUpdateClientConfigureService } from "./Testing.js"

/** A call failed, and that was to end the program. */
class CallFailed extends Data.TaggedError("CallFailed")<{ readonly method: Method; readonly outcome: Outcome }> {
  override get message(): string {
    const { method, outcome } = this
    return `${method} failed after others had succeeded, and --fail_on_failed_rpc is set: ${nameOf(outcome.status)}: ${outcome.reason}`
  }
}

const toMethod = (type: number): Method => (type === RpcType.EmptyCall ? "EmptyCall" : "UnaryCall")

Program.run({
  about: `The client of gRPC's interop tests for xDS. It calls grpc.testing.TestService without an end, and serves on --stats_port
what became of the calls (grpc.testing.LoadBalancerStatsService), what the next ones are to be like
(grpc.testing.XdsUpdateClientConfigureService), and the state of each resource (CSDS). GRPC_XDS_BOOTSTRAP says where its
control plane is, a file, or GRPC_XDS_BOOTSTRAP_CONFIG, its content.

  node examples/interop/dist/Client.js --server=xds:///NAME [flags]`,
  flags,
  program: (given) =>
    Effect.gen(function* () {
      if (given(flags.server) === "") {
        return yield* new Flags.BadFlag({ reason: "--server is missing: give what is called, as --server=xds:///shop" })
      }
      const statistics = new Statistics()
      const timeoutMillis = given(flags.rpc_timeout_sec) * 1_000
      let configuration: Configuration = { methods: given(flags.rpc), metadata: given(flags.metadata), timeoutMillis }
      const configure = (asked: ClientConfigureRequest): void => {
        configuration = {
          // As often as it is asked for, it is called once.
          methods: Array.from(new Set(asked.types.map(toMethod))),
          metadata: asked.metadata.map(({ key, type, value }) => ({ method: toMethod(type), key, value })),
          timeoutMillis: asked.timeoutSec === 0 ? timeoutMillis : asked.timeoutSec * 1_000
        }
      }
      const routesOf = (status: () => Promise<ClientConfig>) => (router: ConnectRouter) => {
        // CSDS: the state of each resource.
        router.service(ClientStatusDiscoveryService, {
          fetchClientStatus: async () => ({ config: [await status()] }),
          async *streamClientStatus(requests) {
            const each = requests[Symbol.asyncIterator]()
            while ((await each.next()).done !== true) yield { config: [await status()] }
          }
        })
        router.service(LoadBalancerStatsService, {
          getClientStats: ({ metadataKeys, numRpcs, timeoutSec }, { signal }) =>
            statistics.next(numRpcs, timeoutSec * 1_000, signal, metadataKeys),
          getClientAccumulatedStats: () => statistics.accumulated()
        })
        router.service(XdsUpdateClientConfigureService, {
          configure: (asked) => {
            configure(asked)
            return {}
          }
        })
      }
      const bootstrap = yield* Bootstrap.fromEnvironment
      const failed = yield* Deferred.make<never, CallFailed>()
      let hasSucceeded = false
      // Of calls that fail one after the other the first is told.
      const failing = new Set<Method>()
      const onEnd = (method: Method, outcome: Outcome): void => {
        if (given(flags.print_response)) {
          const end = outcome.reason === "" ? `, answered by ${outcome.hostname}` : `: ${outcome.reason}`
          process.stdout.write(`${method}: ${nameOf(outcome.status)}${end}\n`)
        }
        if (outcome.isSuccess) {
          hasSucceeded = true
          failing.delete(method)
          return
        }
        if (!given(flags.print_response) && !failing.has(method)) {
          process.stderr.write(`${method} fails: ${nameOf(outcome.status)}: ${outcome.reason}\n`)
        }
        failing.add(method)
        if (given(flags.fail_on_failed_rpc) && hasSucceeded) {
          Deferred.unsafeDone(failed, new CallFailed({ method, outcome }))
        }
      }
      const calls = Effect.gen(function* () {
        const { dump } = yield* XdsClient.XdsClient
        const routes = routesOf(() => Effect.runPromise(dump))
        const port = yield* listen({ port: given(flags.stats_port), routes })
        const channels = yield* Effect.replicateEffect(
          XdsTransport.make({ target: given(flags.server) }),
          given(flags.num_channels)
        )
        yield* Console.log(`calls ${given(flags.server)}; statistics on port ${port}`)
        yield* Calls.make({
          channels,
          qps: given(flags.qps),
          configuration: () => configuration,
          statistics,
          expectedStatus: given(flags.expect_status),
          requestSize: given(flags.request_payload_size),
          responseSize: given(flags.response_payload_size),
          onEnd
        })
        return yield* Deferred.await(failed)
      })
      const layer = XdsChannels.layer({ bootstrap }).pipe(
        Layer.provideMerge(XdsClient.layer({ bootstrap })),
        Layer.provide(ConnectClient.layer())
      )
      return yield* Effect.provide(calls, layer)
    })
})
