/** Both versions of the backend, in a process of its own: `node dist/Backend.js`. Says their ports. */
import { Server, ServerCredentials, type UntypedServiceImplementation } from "@grpc/grpc-js"
import * as Greeter from "./Greeter.js"

process.once("disconnect", () => process.exit())

const listen = (version: string): Promise<number> =>
  new Promise((resolve, reject) => {
    const implementation: UntypedServiceImplementation = {
      greet: (_call: unknown, respond: (error: null, answer: string) => void) => respond(null, version)
    }
    const server = new Server()
    server.addService(Greeter.definition, implementation)
    server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, port) =>
      error === null ? resolve(port) : reject(error)
    )
  })

process.send?.({ ready: { v1: await listen("v1"), v2: await listen("v2") } })
