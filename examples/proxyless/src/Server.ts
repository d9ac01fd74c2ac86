/** A server of `grpc.health.v1.Health`, in a process of its own. Its answers say which port they come from. */
import { connectNodeAdapter } from "@connectrpc/connect-node"
import { Health, HealthCheckResponse_ServingStatus } from "@effect-xds/proto/grpc/health/v1/health"
import { createServer } from "node:http2"

process.once("disconnect", () => process.exit())

const handler = connectNodeAdapter({
  routes: (router) =>
    router.service(Health, {
      check: (_, { responseHeader }) => {
        responseHeader.set("port", String(port))
        return { status: HealthCheckResponse_ServingStatus.SERVING }
      }
    })
})

let port = Number(process.argv[2] ?? "0")
const server = createServer(handler).listen(port, "127.0.0.1", () => {
  const address = server.address()
  if (typeof address === "object" && address !== null) port = address.port
  process.send?.({ port })
})
