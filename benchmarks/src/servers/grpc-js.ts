/** The same loop on `@grpc/grpc-js`, the usual gRPC server for Node. */
import * as Grpc from "@grpc/grpc-js"
import { serve } from "./Commands.js"
import * as WriteLoop from "./WriteLoop.js"

const method = (name: string): Grpc.MethodDefinition<Buffer, Buffer> => ({
  path: `/envoy.service.discovery.v3.AggregatedDiscoveryService/${name}`,
  requestStream: true,
  responseStream: true,
  requestSerialize: (bytes) => bytes,
  requestDeserialize: (bytes) => bytes,
  responseSerialize: (bytes) => bytes,
  responseDeserialize: (bytes) => bytes
})

serve(
  WriteLoop.make(
    (accept) =>
      new Promise((resolve, reject) => {
        const handler: Grpc.handleBidiStreamingCall<Buffer, Buffer> = (call) => {
          call.on("error", () => undefined)
          const onRequest = accept((body, nonce) => void call.write(Buffer.concat([nonce, body])))
          call.on("data", () => onRequest(false))
        }
        const server = new Grpc.Server({ "grpc.max_concurrent_streams": 1000 })
        server.addService(
          { state: method("StreamAggregatedResources"), delta: method("DeltaAggregatedResources") },
          { state: handler, delta: handler }
        )
        server.bindAsync("127.0.0.1:0", Grpc.ServerCredentials.createInsecure(), (error, port) => {
          if (error === null) resolve(`127.0.0.1:${port}`)
          else reject(error)
        })
      })
  )
)
