/** The interop test server, as a program. */
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import { hostname } from "node:os"
import * as Flags from "./Flags.js"
import * as Program from "./Program.js"
import * as TestService from "./TestService.js"

const flags = {
  port: Flags.whole(8080, "where it listens; 0 is any port", { most: 65_535 }),
  host_name_override: Flags.text("", "NAME", "who it says that it is, instead of the name of the machine"),
  server_id: Flags.text("effect_xds_server", "ID", "the server_id of its answers")
}

Program.run({
  about: `The server of gRPC's interop tests: EmptyCall and UnaryCall of grpc.testing.TestService, and grpc.health.v1.Health.
Its answers name it, in the header "hostname" and in the message. Calls say what they want in the header "rpc-behavior":
sleep-N (seconds), keep-open, error-code-N, success-on-retry-attempt-N; "hostname=NAME sleep-1" is for that server alone.

  node examples/interop/dist/Server.js [flags]`,
  flags,
  program: (given) =>
    Effect.gen(function* () {
      const name = given(flags.host_name_override) || hostname()
      const port = yield* TestService.serve({
        port: given(flags.port),
        hostname: name,
        serverId: given(flags.server_id)
      })
      yield* Console.log(`${name} listens on port ${port}`)
      return yield* Effect.never
    })
})
