// `npm run stress`: the tests, several times, beside a load that keeps every core busy: none may fail for want of time.
//
//   --runs N       how many times; default 5
//   --busy N       how many busy processes, at a lower priority than the tests (nice 10); default: one for each core
//   --file F       only test files whose path holds F, as packages/core/; may be given more than once. Default: all
//
// Prints each run's time and what failed in it. Ends with 1 if anything failed. Needs the build (scripts/setup.mjs).
import { spawn } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { availableParallelism, constants, setPriority, tmpdir } from "node:os"
import { dirname, join, relative } from "node:path"
import { fileURLToPath } from "node:url"
import * as Options from "./options.mjs"

const home = dirname(dirname(fileURLToPath(import.meta.url)))
const values = Options.parse(import.meta.url, {
  runs: { type: "string" },
  busy: { type: "string" },
  file: { type: "string", multiple: true, default: [] }
})
const runs = values.numberOf("runs", 1, 5)
const busy = values.numberOf("busy", 0, availableParallelism())

// Ends by itself when this process is gone, however that ended.
const loop = "const parent = process.ppid; while (process.ppid === parent) for (let i = 0; i < 1e7; i++);"
const load = Array.from({ length: busy }, () => spawn(process.execPath, ["-e", loop], { stdio: "ignore" }))
for (const { pid } of load) if (pid !== undefined) setPriority(pid, constants.priority.PRIORITY_BELOW_NORMAL)
process.on("exit", () => load.forEach((child) => child.kill("SIGKILL")))
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => process.exit(1))

const directory = mkdtempSync(join(tmpdir(), "effect-xds-stress-"))
process.on("exit", () => rmSync(directory, { recursive: true, force: true }))

/** Runs the tests once; what failed, each in a few lines. */
const run = (file) =>
  new Promise((resolve) => {
    const args = ["run", "--reporter=json", `--outputFile=${file}`, ...values.file]
    const child = spawn(process.execPath, [join(home, "node_modules", "vitest", "vitest.mjs"), ...args], {
      cwd: home,
      stdio: ["ignore", "ignore", "pipe"]
    })
    let errors = ""
    child.stderr.on("data", (chunk) => (errors = (errors + chunk).slice(-4000)))
    child.on("close", (code) => {
      let report
      try {
        report = JSON.parse(readFileSync(file, "utf8"))
      } catch {
        return resolve({ passed: 0, failed: [`vitest ended with ${code} and no report\n${errors}`] })
      }
      const failed = report.testResults.flatMap(({ assertionResults, message, name, status }) => {
        const path = relative(home, name)
        const tests = assertionResults
          .filter(({ status }) => status === "failed")
          .map(({ failureMessages, fullName }) => `${path}: ${fullName}\n${failureMessages.join("\n")}`)
        // A file that cannot be loaded, or a hook that fails, has no test that failed.
        return tests.length === 0 && status === "failed" ? [`${path}\n${message}`] : tests
      })
      if (failed.length === 0 && code !== 0) failed.push(`an error outside of the tests\n${errors}`)
      resolve({ passed: report.numPassedTests, failed })
    })
  })

const indent = (text) => text.split("\n").slice(0, 8).join("\n    ")

let failures = 0
for (let number = 1; number <= runs; number++) {
  const start = Date.now()
  const { failed, passed } = await run(join(directory, `run-${number}.json`))
  failures += failed.length
  console.log(
    `run ${number} of ${runs}: ${passed} passed, ${failed.length} failed, ${Math.round((Date.now() - start) / 1000)} s`
  )
  for (const failure of failed) console.log(`  ${indent(failure)}`)
}
console.log(failures === 0 ? `nothing failed in ${runs} runs beside ${busy} busy processes` : `${failures} failed`)
process.exit(failures === 0 ? 0 : 1)
