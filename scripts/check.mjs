// `npm run check`: every `check:…` script of package.json, two at a time, one line each. Fails at the end with the list.
import { spawn } from "node:child_process"
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { delimiter, dirname, join } from "node:path"
import { performance } from "node:perf_hooks"
import { fileURLToPath } from "node:url"

const home = dirname(dirname(fileURLToPath(import.meta.url)))
const read = (file) => JSON.parse(readFileSync(join(home, file), "utf8"))
const env = { ...process.env, PATH: join(home, "node_modules", ".bin") + delimiter + process.env.PATH }

const run = (command) =>
  new Promise((resolve) => {
    const chunks = []
    const child = spawn(command, { cwd: home, env, shell: true, stdio: ["ignore", "pipe", "pipe"] })
    child.stdout.on("data", (chunk) => chunks.push(chunk))
    child.stderr.on("data", (chunk) => chunks.push(chunk))
    child.on("close", (code) => resolve({ ok: code === 0, output: Buffer.concat(chunks).toString() }))
  })

/** A package that the root tsconfig.json does not name would not be type-checked. */
const references = async () => {
  const named = new Set(read("tsconfig.json").references.map(({ path }) => path))
  const left = ["packages", "examples"]
    .filter((folder) => existsSync(join(home, folder)))
    .flatMap((folder) => readdirSync(join(home, folder)).map((name) => `${folder}/${name}`))
    .concat("benchmarks")
    .filter((folder) => existsSync(join(home, folder, "package.json")) && !named.has(folder))
  return { ok: left.length === 0, output: `not in the references of tsconfig.json: ${left.join(", ")}` }
}

const queue = [["references", references]]
for (const [name, command] of Object.entries(read("package.json").scripts)) {
  if (name.startsWith("check:")) queue.push([name.slice("check:".length), () => run(command)])
}

const failed = []
const worker = async () => {
  for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
    const [name, check] = next
    const start = performance.now()
    const { ok, output } = await check()
    if (!ok) failed.push(name)
    const line = `check: ${name.padEnd(10)} ${ok ? "ok" : "FAILED"}, ${((performance.now() - start) / 1000).toFixed(1)} s`
    // A check that has something to say though all is well begins that line with its name.
    const note = output.split("\n").find((text) => text.startsWith(`${name}: `)) ?? ""
    process.stdout.write(ok ? `${line}${note.slice(name.length)}\n` : `${line}\n${output.trimEnd()}\n\n`)
  }
}
await Promise.all([worker(), worker()])
process.stdout.write(failed.length > 0 ? `check failed: ${failed.join(", ")}\n` : "check: all ok\n")
process.exitCode = failed.length > 0 ? 1 : 0
