/**
 * Calls a target 50 times a second, in a process of its own: `node dist/Client.js TARGET`. Tells its parent how it goes.
 *
 * `xds:///greeter` needs `GRPC_XDS_BOOTSTRAP_CONFIG`.
 */
import { Client, credentials } from "@grpc/grpc-js"
import * as xds from "@grpc/grpc-js-xds"
import * as Greeter from "./Greeter.js"

process.once("disconnect", () => process.exit())

xds.register()
const client = new Client(process.argv[2] ?? "", credentials.createInsecure())
const { path, requestSerialize, responseDeserialize } = Greeter.definition.greet

/** By version: how many answers, and when the last call began that it answered; Unix time in milliseconds. */
const answers: Record<string, number> = {}
const last: Record<string, number> = {}
let failed = 0
let failure: string | undefined

const call = (): void => {
  const began = Date.now()
  const deadline = began + 5_000
  client.makeUnaryRequest(path, requestSerialize, responseDeserialize, "world", { deadline }, (error, answer) => {
    if (error === null && answer !== undefined) {
      answers[answer] = (answers[answer] ?? 0) + 1
      last[answer] = Math.max(last[answer] ?? 0, began)
    } else {
      failed++
      failure ??= error?.message ?? "an answer without content"
    }
  })
}

// The first call waits for the configuration; only then begins the traffic.
client.waitForReady(Date.now() + 30_000, (error) => {
  if (error !== undefined) throw error
  process.send?.({ ready: {} })
  setInterval(call, 20)
  setInterval(() => process.send?.({ report: { answers, last, failed, failure } }), 20)
})
