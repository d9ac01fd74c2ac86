/**
 * One version of the backend, on two ports. Prints their addresses.
 *
 *     node dist/Backend.js <version>
 */
import { Server, ServerCredentials, type UntypedServiceImplementation } from "@grpc/grpc-js"
import * as Greeter from "./Greeter.js"

const [version = "v1"] = process.argv.slice(2)

const listen = (): Promise<string> =>
  new Promise((resolve, reject) => {
    let answer = ""
    const implementation: UntypedServiceImplementation = {
      greet: (_call: unknown, respond: (error: null, answer: string) => void) => respond(null, answer)
    }
    const server = new Server()
    server.addService(Greeter.definition, implementation)
    server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, port) => {
      if (error !== null) return reject(error)
      answer = `${version} 127.0.0.1:${port}`
      resolve(`127.0.0.1:${port}`)
    })
  })

const addresses = await Promise.all([listen(), listen()])
console.log(addresses.join(" "))
