/**
 * A grpc-js client that calls xds:///greeter without a pause and prints what its calls met with. It ends with its
 * standard input.
 *
 *     node dist/replacements/GrpcJs.js [the pause between two calls, in milliseconds]
 */
import { Client, credentials, status } from "@grpc/grpc-js"
import * as xds from "@grpc/grpc-js-xds"
import { greet } from "./Service.js"

const pauseMillis = Number(process.argv[2] ?? 1)

xds.register()
const client = new Client("xds:///greeter", credentials.createInsecure())

const answers: Record<string, number> = {}
const failures: Record<string, number> = {}
const count = (counts: Record<string, number>, name: string) => (counts[name] = (counts[name] ?? 0) + 1)

const call = (): void => {
  const options = { deadline: Date.now() + 20_000 }
  client.makeUnaryRequest(
    greet.path,
    greet.requestSerialize,
    greet.responseDeserialize,
    "",
    options,
    (error, answer) => {
      if (error === null) count(answers, answer ?? "")
      else count(failures, `${status[error.code]}: ${error.details}`)
      setTimeout(call, pauseMillis)
    }
  )
}

call()
setInterval(() => console.log(JSON.stringify({ answers, failures })), 20)
