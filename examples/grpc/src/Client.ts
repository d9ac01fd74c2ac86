/**
 * Calls the backend all the time, by a name that only the control plane knows. SIGTERM: finishes its calls, reports and
 * ends.
 *
 *     GRPC_XDS_BOOTSTRAP_CONFIG='{"xds_servers": […], "node": {…}}' node dist/Client.js
 */
import { Client, credentials } from "@grpc/grpc-js"
import * as xds from "@grpc/grpc-js-xds"
import * as Greeter from "./Greeter.js"
import * as Report from "./Report.js"

xds.register()
const client = new Client("xds:///greeter", credentials.createInsecure())
const { path, requestSerialize, responseDeserialize } = Greeter.definition.greet

const answers: Record<string, number> = {}
let started = 0
let finished = 0
let failed = 0
let failure: string | undefined
let stopping = false

const report = (): void => console.log(Report.format({ started, answers, failed, ...(failure && { failure }) }))

const finish = (): void => {
  finished++
  if (!stopping || finished < started) return
  report()
  client.close()
  process.exit()
}

const call = (): void => {
  started++
  const deadline = Date.now() + 5000
  client.makeUnaryRequest(path, requestSerialize, responseDeserialize, "world", { deadline }, (error, answer) => {
    if (error === null && answer !== undefined) answers[answer] = (answers[answer] ?? 0) + 1
    else {
      failed++
      failure ??= error?.message ?? "an answer without content"
    }
    finish()
  })
}

const calls = setInterval(call, 4)
const reports = setInterval(report, 50)

process.on("SIGTERM", () => {
  clearInterval(calls)
  clearInterval(reports)
  stopping = true
  // One last call, so that there is one to finish with.
  call()
})
