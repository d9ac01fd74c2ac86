/**
 * A grpc-js client that makes the calls to xds:///greeter that it is asked for, a line of its standard input each time, and
 * prints who answered them: see `Asked.ts`.
 *
 *     node dist/replacements/GrpcJsCalls.js
 */
import { Client, credentials, Metadata, status } from "@grpc/grpc-js"
import * as xds from "@grpc/grpc-js-xds"
import * as Schema from "effect/Schema"
import { createInterface } from "node:readline"
import { Answered, type Header, Request } from "./Asked.js"
import { greet } from "./Service.js"

/** Calls that are made at the same time. */
const lanes = 16

xds.register()
const client = new Client("xds:///greeter", credentials.createInsecure())

const call = (headers: ReadonlyArray<Header>): Promise<string> =>
  new Promise((resolve) => {
    const metadata = new Metadata()
    for (const [name, value] of headers) metadata.add(name, value)
    const { path, requestSerialize, responseDeserialize } = greet
    const options = { deadline: Date.now() + 30_000 }
    client.makeUnaryRequest(path, requestSerialize, responseDeserialize, "", metadata, options, (error, answer) =>
      resolve(error === null ? (answer ?? "") : `failed: ${status[error.code]}: ${error.details}`)
    )
  })

const answer = async ({ calls, times }: Request): Promise<Answered> => {
  const answers = calls.map((): Record<string, number> => ({}))
  let next = 0
  const lane = async () => {
    for (let at = next++; at < calls.length * times; at = next++) {
      const index = at % calls.length
      const counts = answers[index] ?? {}
      const by = await call(calls[index] ?? [])
      counts[by] = (counts[by] ?? 0) + 1
    }
  }
  await Promise.all(Array.from({ length: lanes }, lane))
  return answers
}

for await (const line of createInterface(process.stdin)) {
  console.log(Schema.encodeSync(Answered)(await answer(Schema.decodeSync(Request)(line))))
}
process.exit()
