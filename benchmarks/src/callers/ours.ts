/** `XdsTransport` of connect-xds. */
import { createClient } from "@connectrpc/connect"
import { Bootstrap, XdsClient } from "@effect-xds/client"
import { XdsChannels, XdsTransport } from "@effect-xds/connect-xds"
import { Health } from "@effect-xds/proto/grpc/health/v1/health"
import { ConnectClient } from "@effect-xds/transport-connect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as ManagedRuntime from "effect/ManagedRuntime"
import * as Scope from "effect/Scope"
import * as Caller from "./Caller.js"

Caller.serve(async ({ controlPlane }) => {
  const bootstrap = Bootstrap.make({ servers: [controlPlane], node: { id: "ours" } })
  const runtime = ManagedRuntime.make(
    XdsChannels.layer({ bootstrap }).pipe(
      Layer.provide(XdsClient.layer({ bootstrap })),
      Layer.provide(ConnectClient.layer()),
      // Standard output is for answers.
      Layer.provide(Logger.replace(Logger.defaultLogger, Logger.withConsoleError(Logger.logfmtLogger)))
    )
  )
  // The process lives as long as the transport.
  const scope = await runtime.runPromise(Scope.make())
  const transport = await runtime.runPromise(Scope.extend(XdsTransport.make({ target: "xds:///shop" }), scope))
  const client = createClient(Health, transport)
  return () => client.check({})
})
