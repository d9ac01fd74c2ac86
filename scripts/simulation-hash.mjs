// Whether a simulation is the same on other versions of Node: runs the test of its hash on each that can be had.
// Usage: node scripts/simulation-hash.mjs [20 22 24]
import { spawnSync } from "node:child_process"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"

const home = dirname(dirname(fileURLToPath(import.meta.url)))
const vitest = join(home, "node_modules", "vitest", "vitest.mjs")
const versions = process.argv.length > 2 ? process.argv.slice(2) : ["20", "22", "24"]

const npx = (version, ...args) =>
  spawnSync("npx", ["--yes", `--package=node@${version}`, "--", "node", ...args], { cwd: home, encoding: "utf8" })

let failed = false
for (const version of versions) {
  const found = npx(version, "--version")
  const name = `Node ${version}`
  if (found.status !== 0 || !found.stdout.trim().startsWith(`v${version}`)) {
    console.log(`${name}: skipped, it cannot be had from the package registry`)
    continue
  }
  const run = npx(version, vitest, "run", "packages/testing/test/hash.test.ts")
  if (run.status === 0) console.log(`${name} (${found.stdout.trim()}): the same hash`)
  else {
    failed = true
    console.log(`${name} (${found.stdout.trim()}): FAILED\n${run.stdout}${run.stderr}`)
  }
}
process.exitCode = failed ? 1 : 0
