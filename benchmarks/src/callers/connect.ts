/** Connect's own transport for gRPC, to one server. */
import { createClient } from "@connectrpc/connect"
import { createGrpcTransport } from "@connectrpc/connect-node"
import { Health } from "@effect-xds/proto/grpc/health/v1/health"
import * as Caller from "./Caller.js"

Caller.serve(({ server }) => {
  const client = createClient(Health, createGrpcTransport({ baseUrl: `http://${server}` }))
  return () => client.check({})
})
