// `npm run soak`: random simulations until so many protocol messages were exchanged; minutes.
//
//   --messages N   default 1 000 000
//   --seed N       the first seed; the progress line says where to go on. Default: 1 000 000 on, which tests do not run
//
// Ends with 1 and a report if something is wrong. Needs the build (scripts/setup.mjs).
import * as Soak from "../packages/testing/dist/simulation/Soak.js"
import * as Options from "./options.mjs"

const { numberOf } = Options.parse(import.meta.url, { messages: { type: "string" }, seed: { type: "string" } })
const messages = numberOf("messages", 1, 1_000_000)
const seed = numberOf("seed", 0, 1_000_000)

const began = Date.now()
const line = (progress) => {
  const seconds = (Date.now() - began) / 1000
  const hours = (progress.simulated / 3_600_000).toFixed(1)
  const rate = Math.round(progress.messages / seconds)
  return (
    `${progress.messages} of ${messages} messages, ${progress.runs} runs, ${hours} simulated hours, ` +
    `${seconds.toFixed(0)} s, ${rate} messages/s; go on with --seed ${progress.seed}`
  )
}
let last = 0
let latest = ""
const report = await Soak.run({
  messages,
  seed,
  onProgress: (progress) => {
    latest = line(progress)
    if (Date.now() - last < (process.stdout.isTTY ? 200 : 10_000)) return
    last = Date.now()
    process.stdout.write(process.stdout.isTTY ? `\r${latest}` : `${latest}\n`)
  }
})
console.log(process.stdout.isTTY ? `\r${latest}` : latest)
if (report === undefined) console.log("nothing is wrong")
else {
  console.log(report)
  process.exitCode = 1
}
