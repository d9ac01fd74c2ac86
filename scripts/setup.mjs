// Makes a fresh clone ready: packages, generated code, build. Plain Node, asks nothing, skips what is done.
//
//   --peers        what tests run beside ours, too: scripts/peers.mjs, at the same time, since that mostly waits for the network
import { spawn } from "node:child_process"
import { createHash } from "node:crypto"
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { dirname, join, relative } from "node:path"
import { performance } from "node:perf_hooks"
import { fileURLToPath } from "node:url"

const home = dirname(dirname(fileURLToPath(import.meta.url)))
const logFile = join(home, "setup.log")
const limitMinutes = 10

const read = (...path) => readFileSync(join(home, ...path), "utf8")
const manifest = JSON.parse(read("package.json"))

/** The folders of the workspace's packages. */
const packages = ["packages", "examples"]
  .filter((folder) => existsSync(join(home, folder)))
  .flatMap((folder) => readdirSync(join(home, folder)).map((name) => join(folder, name)))
  .concat("benchmarks")
  .filter((folder) => existsSync(join(home, folder, "package.json")))
  .sort()

const hash = (parts) => {
  const sum = createHash("sha256")
  for (const part of parts) sum.update(part).update("\0")
  return sum.digest("hex")
}

const isStamped = (file, value) => existsSync(join(home, file)) && read(file) === value

const seconds = (since) => `${((performance.now() - since) / 1000).toFixed(1)} s`

const stop = (step, reason) => {
  process.stdout.write(`\nsetup failed at "${step}": ${reason}\n`)
  process.exit(1)
}

/** Runs a program with its output kept for setup.log; gives up after `limitMinutes`, says every 15 s that it still runs. */
const run = (command, args, options = {}) =>
  new Promise((resolve) => {
    const chunks = []
    const child = spawn(command, args, { cwd: home, stdio: ["ignore", "pipe", "pipe"], ...options })
    child.stdout.on("data", (chunk) => chunks.push(chunk))
    child.stderr.on("data", (chunk) => chunks.push(chunk))
    const tick = setInterval(() => process.stdout.write("still running … "), 15_000)
    const limit = setTimeout(() => child.kill("SIGKILL"), limitMinutes * 60_000)
    const end = (ok, note) => {
      clearInterval(tick)
      clearTimeout(limit)
      resolve({ ok, output: Buffer.concat(chunks).toString() + note })
    }
    child.on("error", (error) => end(false, String(error)))
    child.on("close", (code, signal) =>
      end(code === 0, signal === "SIGKILL" ? `\nstopped after ${limitMinutes} minutes` : "")
    )
  })

const node = (...args) => run(process.execPath, args)

/** One line per step: its name, what was done, the seconds. */
const step = async (name, isDone, work, stamp) => {
  const start = performance.now()
  process.stdout.write(`setup: ${name} … `)
  if (isDone()) {
    process.stdout.write(`there\n`)
    return
  }
  const { ok, output } = await work()
  if (!ok) {
    writeFileSync(logFile, output)
    const lines = output.split("\n").filter((line) => line.trim() !== "")
    const telling =
      lines.find((line) => /\berr(or)?\b|ERR_/i.test(line) && !line.includes("WARN")) ?? lines.at(-1) ?? "no output"
    stop(name, `${telling.trim()} (all output: ${relative(process.cwd(), logFile) || logFile})`)
  }
  stamp()
  process.stdout.write(`done, ${seconds(start)}\n`)
}

/** Begins to fetch the peers. What that says is printed from when it is waited for. */
const fetchPeers = () => {
  const child = spawn(process.execPath, [join(home, "scripts", "peers.mjs")], { stdio: ["ignore", "pipe", "inherit"] })
  const stop = () => child.kill()
  process.on("exit", stop)
  const code = new Promise((resolve) => child.on("close", (code) => resolve(code ?? 1)))
  let said = []
  child.stdout.on("data", (chunk) => (said === undefined ? process.stdout.write(chunk) : said.push(chunk)))
  return async () => {
    process.stdout.write(Buffer.concat(said))
    said = undefined
    process.exitCode = await code
    process.off("exit", stop)
  }
}

const [major = 0, minor = 0] = process.versions.node.split(".").map(Number)
if (major < 20 || (major === 20 && minor < 19)) {
  stop("Node", `Node ${process.versions.node} is too old: 20.19 or newer is needed`)
}

const peers = process.argv.includes("--peers") ? fetchPeers() : undefined

// Packages. The stamp lies in node_modules, so it goes when they go.
const installStamp = join("node_modules", ".effect-xds-installed")
const installValue = hash(
  [
    "pnpm-lock.yaml",
    "pnpm-workspace.yaml",
    "package.json",
    ...packages.map((folder) => join(folder, "package.json"))
  ].map((file) => file + read(file))
)
await step(
  "packages",
  () =>
    isStamped(installStamp, installValue) && packages.every((folder) => existsSync(join(home, folder, "node_modules"))),
  () =>
    run(
      "npx",
      ["--yes", manifest.packageManager, "install", "--frozen-lockfile", "--prefer-offline", "--reporter=append-only"],
      {
        shell: process.platform === "win32",
        // A registry that cannot be reached is said soon: by default npm waits for over a minute.
        env: {
          ...process.env,
          CI: "true",
          NO_COLOR: "1",
          npm_config_update_notifier: "false",
          npm_config_fetch_timeout: "30000",
          npm_config_fetch_retry_maxtimeout: "10000"
        }
      }
    ),
  () => writeFileSync(join(home, installStamp), installValue)
)

// Generated code. What it is made from: descriptors, .proto files and their comments, the generator, and how it is called.
const proto = join("packages", "proto")
const versionOf = (name) => JSON.parse(read(proto, "node_modules", name, "package.json")).version
const genStamps = [proto, join("packages", "proto-v2")].map((folder) => join(folder, "gen", ".stamp"))
const ownProtos = readdirSync(join(home, proto, "protos"), { recursive: true }).filter((name) =>
  name.endsWith(".proto")
)
const genValue = hash([
  ...["@bufbuild/buf", "@bufbuild/protobuf", "@bufbuild/protoc-gen-es", "@grpc/grpc-js-xds"].map(versionOf),
  read(proto, "buf.gen.yaml"),
  read(proto, "scripts", "generate.mjs"),
  read(proto, "scripts", "comments.mjs"),
  read(proto, "scripts", "fileDesc.mjs"),
  readFileSync(join(home, proto, "descriptors", "envoy.binpb.gz")),
  ...ownProtos.sort().map((name) => read(proto, "protos", name))
])
await step(
  "protobuf types",
  () => genStamps.every((stamp) => isStamped(stamp, genValue)),
  () => node(join(proto, "scripts", "generate.mjs")),
  () => genStamps.forEach((stamp) => writeFileSync(join(home, stamp), genValue))
)

// What was built of a source that has moved or gone: the compiler leaves it, and programs could still import it.
for (const folder of packages) {
  const [from, to] = ["src", "dist"].map((name) => join(home, folder, name))
  if (!existsSync(from) || !existsSync(to)) continue
  for (const name of readdirSync(to, { recursive: true })) {
    const stem = /^(.*?)(?:\.d)?\.(?:js|ts)(?:\.map)?$/.exec(name)?.[1]
    if (stem !== undefined && !existsSync(join(from, `${stem}.ts`))) rmSync(join(to, name))
  }
}

// Build. The compiler knows itself what is up to date. Tests are not compiled here: `npm run check` does that.
await step(
  "build",
  () => false,
  () =>
    node(
      join("node_modules", "typescript", "bin", "tsc"),
      "-b",
      ...packages.map((folder) => join(folder, "tsconfig.src.json")).filter((file) => existsSync(join(home, file)))
    ),
  () => undefined
)

await peers?.()
