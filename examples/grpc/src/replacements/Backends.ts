/**
 * Backends that answer with their name, each. Prints their addresses as `a=127.0.0.1:50051 b=127.0.0.1:50052`.
 *
 *     node dist/replacements/Backends.js <name> …
 */
import { Server, ServerCredentials, type UntypedServiceImplementation } from "@grpc/grpc-js"
import { greet } from "./Service.js"

const listen = (name: string): Promise<string> =>
  new Promise((resolve, reject) => {
    const implementation: UntypedServiceImplementation = {
      greet: (_call: unknown, respond: (error: null, answer: string) => void) => respond(null, name)
    }
    const server = new Server()
    server.addService({ greet }, implementation)
    server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, port) =>
      error === null ? resolve(`${name}=127.0.0.1:${port}`) : reject(error)
    )
  })

console.log((await Promise.all(process.argv.slice(2).map(listen))).join(" "))
