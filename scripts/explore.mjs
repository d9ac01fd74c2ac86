// `npm run explore`: visits every state that the reducers can reach in small worlds, deeper than `npm test` does.
//
//   --more 1       so many moves more than in the tests; default 4, which takes minutes
//   --depth 9      moves from the start, the same for all worlds
//   --only TEXT    only worlds whose name begins with it
//   --states N     states to remember for each world; default 500 000
//
// Ends with 1 and the shortest way to a fault if there is one. Needs the build (scripts/setup.mjs).
import { render } from "../packages/testing/dist/exploration/Exploration.js"
import * as Variants from "../packages/testing/dist/exploration/ExplorationVariants.js"
import * as Options from "./options.mjs"

const { numberOf, only } = Options.parse(import.meta.url, {
  more: { type: "string" },
  depth: { type: "string" },
  only: { type: "string", default: "" },
  states: { type: "string" }
})
const more = numberOf("more", 0, 4)
const depth = numberOf("depth", 1, undefined)
const maxStates = numberOf("states", 1, 500_000)

const chosen = Variants.all.filter(({ name }) => name.startsWith(only))
if (chosen.length === 0) {
  console.error(`No world's name begins with "${only}". There are:\n${Variants.all.map(({ name }) => name).join("\n")}`)
  process.exit(1)
}
let states = 0
let transitions = 0
let faults = 0
for (const variant of chosen) {
  const start = Date.now()
  const seconds = () => `${((Date.now() - start) / 1000).toFixed(1)} s`
  const explored = variant.explore({
    depth: depth ?? variant.depth + more,
    maxStates,
    onDepth: (progress) => {
      if (process.stdout.isTTY) process.stdout.write(`\r${render({ ...progress })}, ${seconds()} …\x1b[K`)
    }
  })
  if (process.stdout.isTTY) process.stdout.write("\r\x1b[K")
  const [line, ...rest] = render(explored).split("\n")
  console.log([`${line}, ${seconds()}`, ...rest].join("\n"))
  states += explored.states
  transitions += explored.transitions
  if (explored.violation !== undefined) faults++
}
console.log(`${chosen.length} worlds, ${states} states, ${transitions} transitions, ${faults} with a fault`)
process.exitCode = faults > 0 ? 1 : 0
