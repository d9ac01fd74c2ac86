/**
 * `node benchmarks/dist/start.js [--runs N]`: how long the program `effect-xds serve` takes from its start until it listens: as it is
 * in the package, as few files, and as it was built.
 */
import { execFileSync, spawn } from "node:child_process"
import { once } from "node:events"
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { parseArgs } from "node:util"
import { load, machine } from "./Machine.js"

const { values } = parseArgs({ options: { runs: { type: "string", default: "11" } } })
const runs = Math.max(1, Number(values.runs))

/** Milliseconds. */
const target = 400

const cli = fileURLToPath(new URL("../../packages/cli/", import.meta.url))
const folder = mkdtempSync(join(tmpdir(), "effect-xds-start-"))
process.on("exit", () => rmSync(folder, { recursive: true, force: true }))

const resources = join(folder, "resources")
mkdirSync(resources)
writeFileSync(
  join(resources, "clusters.yaml"),
  '- "@type": type.googleapis.com/envoy.config.cluster.v3.Cluster\n  name: web\n  type: STATIC\n'
)
copyFileSync(join(cli, "package.json"), join(folder, "package.json"))
symlinkSync(join(cli, "node_modules"), join(folder, "node_modules"))
execFileSync(process.execPath, [join(cli, "scripts", "bundle.mjs"), join(folder, "dist")])

/** Milliseconds until it says that it serves. */
const start = async (program: string): Promise<number> => {
  const began = performance.now()
  const child = spawn(
    process.execPath,
    [program, "serve", resources, "--port", "0", "--admin-port", "0", "--log-level", "warning"],
    {
      stdio: ["ignore", "pipe", "inherit"]
    }
  )
  const ended = once(child, "close")
  let said = ""
  for await (const chunk of child.stdout) {
    said += String(chunk)
    if (!said.includes("gRPC ")) continue
    const took = performance.now() - began
    child.kill("SIGKILL")
    await ended
    return took
  }
  throw new Error(`${program} ended before it served`)
}

const programs = [
  ["packed", join(folder, "dist", "Process.js")],
  ["built", join(cli, "dist", "main.js")]
] as const

const { cores, cpu } = machine()
console.log(`Node ${process.version}, ${cores} cores of ${cpu}, load ${load().toFixed(1)}`)
const measured = new Map<string, Array<number>>(programs.map(([name]) => [name, []]))
// By turns, so that a busy moment is everybody's.
for (let run = 0; run < runs; run++) {
  for (const [name, program] of programs) measured.get(name)?.push(await start(program))
}
for (const [name, times] of measured) {
  const sorted = times.sort((one, other) => one - other)
  const [least = 0, median = 0, most = 0] = [sorted[0], sorted[Math.floor(sorted.length / 2)], sorted.at(-1)]
  const said = name === "packed" ? `; target ${target} ms ${median <= target ? "met" : "MISSED"}` : ""
  console.log(
    `start to listening, ${name}: median ${median.toFixed(0)} ms of ${runs} (${least.toFixed(0)}–${most.toFixed(0)})${said}`
  )
}
