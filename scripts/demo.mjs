// The demos, one after the other, with the options they are given: `npm run demo -- --keep`.
import { spawn } from "node:child_process"
import { existsSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"

const home = dirname(dirname(fileURLToPath(import.meta.url)))
const options = process.argv.slice(2)
let child
let signalled = false

// A terminal sends Ctrl-C to the demo too, and it ends by itself; other signals are passed on. Either way we wait for it.
process.on("SIGINT", () => (signalled = true))
process.on("SIGTERM", () => {
  signalled = true
  child?.kill("SIGTERM")
})

/** Runs a script and waits for its end; one that fails is the end of all. */
const run = async (script, ...args) => {
  if (signalled || !existsSync(script)) return
  const code = await new Promise((resolve, reject) => {
    child = spawn(process.execPath, [script, ...args], { cwd: home, stdio: "inherit" })
    child.on("error", reject)
    child.on("exit", (code) => resolve(code ?? 1))
  })
  if (code !== 0) process.exit(code)
}

const demo = (name) => run(join(home, "examples", name, "dist", "main.js"), ...options)

await demo("grpc")
// With --keep the first one ends by Ctrl-C only, and that ends everything.
if (!options.includes("--keep")) {
  process.stdout.write("\n")
  await run(join(home, "scripts", "peers.mjs"))
  await demo("envoy")
  process.stdout.write("\n")
  await demo("proxyless")
  process.stdout.write("\n")
  await demo("replicas")
}
