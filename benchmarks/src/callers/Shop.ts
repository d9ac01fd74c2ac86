/** A server that is called: Connect's own on `node:http2`, at every address of this machine. It says when it was called last. */
import { connectNodeAdapter } from "@connectrpc/connect-node"
import { Health, HealthCheckResponse_ServingStatus } from "@effect-xds/proto/grpc/health/v1/health"
import { once } from "node:events"
import { createServer } from "node:http2"
import * as Answers from "./Answers.js"

let last = Answers.time()
let calls = 0
const status = HealthCheckResponse_ServingStatus.SERVING
const routes = connectNodeAdapter({
  routes: (router) => {
    router.service(Health, {
      check: () => {
        last = Answers.time()
        calls++
        return { status }
      }
    })
  }
})

Answers.serve({
  start: async () => {
    const server = createServer(routes).listen(0, "0.0.0.0")
    await once(server, "listening")
    const address = server.address()
    return { port: typeof address === "object" && address !== null ? address.port : 0 }
  },
  last: () => ({ last, calls })
})
