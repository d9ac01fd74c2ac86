/**
 * A grpc-js client that makes calls to xds:///greeter with the headers it is given, a few times each, prints who answered
 * and ends.
 *
 *     node dist/replacements/GrpcJsCalls.js '[{"user":"a"}, …]' <times>
 */
import { Client, credentials, Metadata } from "@grpc/grpc-js"
import * as xds from "@grpc/grpc-js-xds"
import * as Schema from "effect/Schema"
import { greet } from "./Service.js"

const Headers = Schema.parseJson(Schema.Array(Schema.Record({ key: Schema.String, value: Schema.String })))
const [headers = "[]", times = "1"] = process.argv.slice(2)

xds.register()
const client = new Client("xds:///greeter", credentials.createInsecure())

const call = (entries: Readonly<Record<string, string>>): Promise<string> =>
  new Promise((resolve) => {
    const metadata = new Metadata()
    for (const [name, value] of Object.entries(entries)) metadata.set(name, value)
    const { path, requestSerialize, responseDeserialize } = greet
    const options = { deadline: Date.now() + 60_000 }
    client.makeUnaryRequest(path, requestSerialize, responseDeserialize, "", metadata, options, (error, answer) =>
      resolve(error === null ? (answer ?? "") : error.message)
    )
  })

const answers: Array<Array<string>> = []
for (const entries of Schema.decodeSync(Headers)(headers)) {
  const own: Array<string> = []
  for (let n = 0; n < Number(times); n++) own.push(await call(entries))
  answers.push(own)
}
console.log(JSON.stringify(answers))
// The process is ended by who started it: to end by itself is a crash.
setInterval(() => undefined, 60_000)
