// `npm run test:nodes`: the tests of store-sql on every Node that it is for, each with the drivers of SQLite that it can have;
// some minutes.
//
//   --node V       only versions that begin so; may be given more than once. Default: 20.19, 22.13, 22, 24 and 26
//   --all          the tests of all packages and examples, not of store-sql alone: some ten minutes for each Node
//   --build        builds better-sqlite3 for a Node that its binaries are not for: with a compiler, and some minutes
//   --file F       only test files whose path holds F, of any package; may be given more than once
//
// Node and better-sqlite3 come from npm into .peers/. What cannot be had is one line, and is skipped; with XDS_REQUIRE_PEERS=1
// it is an error. Ends with 1 if a test fails. Needs the build (scripts/setup.mjs) and the peers (scripts/peers.mjs).
import { spawn } from "node:child_process"
import { existsSync, lstatSync, mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync } from "node:fs"
import { delimiter, dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { Missing, run, unpack } from "./npm-package.mjs"
import * as Options from "./options.mjs"

const home = dirname(dirname(fileURLToPath(import.meta.url)))
const peers = join(home, ".peers")
const values = Options.parse(import.meta.url, {
  node: { type: "string", multiple: true, default: [] },
  all: { type: "boolean", default: false },
  build: { type: "boolean", default: false },
  file: { type: "string", multiple: true, default: [] }
})

/** The oldest that the packages are for, the first with `node:sqlite`, and the newest of three lines; with npm's digests. */
const nodes = {
  "20.19.0": {
    x64: "HzVYgEgabV/n3nP2F9mcxS0Nxgg99jynX9CMovakLmSYTuTdQRbbtw0yadY8+qKcqXfiDAtb2hmtR7nDPzclGA==",
    arm64: "kT7jX7frbsrMrXMsBaFt3Th1SWs5VjxTzd0U8vxcmdCFkaqeu5hFK0+QoYfIo5drmr3DmwJfLtO2gnD/7hNE/Q=="
  },
  "22.13.1": {
    x64: "lNYJVOFccMJbP4/pZHUMi4nBVdeP3MzaPuVSNhMbsdpZ1VCmWm8bti4s9hMPMCr7NMXvv2Pg0QCiWrttXLg4uQ==",
    arm64: "HmhDj+W9hpVsDffCv0W1hglW7oS0L9UN+mDbzrbew9UJVtFQTErR0PeyQ/JwJmexXDbiLJv5FFzTb3Qa6rwqtg=="
  },
  "22.23.3": {
    x64: "qHnz5tFsHoj/WM+uRENVjWONi5hVvmwrgq8A4V76KpuVNAc4+jwK8x4gwbobE9BtHNg/AKR2583eYorLF/c7ng==",
    arm64: "l3DAHZreylo+p9QXDtsOrjG2JXJqVzYXnAGmIQNOUNARcMppTO2cmewVQP+36tjJnSE+dzpMNtgW+c3oiDvXtA=="
  },
  "24.21.0": {
    x64: "3nULszZ5X0fciYpG0t6TrdApJzAn8+FlINP6OiMX7V8HrvpATPN936U1LlReOJriLRa4e8yEqQBYCnLyPNAs7Q==",
    arm64: "FpJRPEz2OvvTLfjIOlNGFY9JLPMKgl5m+d4oGYBLg24kJ1mmvN1Zl/HPJgF4HDaJ51ISev1l1cRZ/DM+keXW5g=="
  },
  "26.12.1": {
    x64: "jk5LMAmgHlPlPMWpsUrSOqNaEZG+11UNd35hWQ+p5/XGaelWuTqJ69IcAy/5xtPPN4d5ZRBNOGB6gLMCh2kL9A==",
    arm64: "8Oxs6Y7rDcKufVIM/zYRSwytj46WOrZk7yFCLTKDcs17bBjAeD9HMAqo97hMfMyxozIud0S4vZCs5WB/3iavNQ=="
  }
}

/** Puts something into a folder of .peers, unless it is there; what is there is whole. */
const fetched = async (name, install) => {
  const place = join(peers, name)
  if (existsSync(place)) return place
  mkdirSync(peers, { recursive: true })
  const dir = mkdtempSync(join(peers, "work-"))
  try {
    const folder = join(dir, name)
    await install(folder)
    renameSync(folder, place)
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
  return place
}

/** The folder of a version of Node: npm's package has its headers, too. */
const nodeAt = (version) =>
  fetched(`nodejs-${version}`, async (folder) => {
    const { arch, platform } = process
    const digest = platform === "linux" ? nodes[version][arch] : undefined
    if (digest === undefined) throw new Missing(`there is no build for ${platform} ${arch} in packages of npm`)
    await unpack(`node-linux-${arch}@${version}`, digest, folder)
  })

/** With binaries for a newer Node: 20 and 22.13 end with a segmentation fault. */
const withBinaries = () =>
  fetched("better-sqlite3-13.2.0", (folder) =>
    unpack(
      "better-sqlite3@13.2.0",
      "Z8Q/9x/uNyKxA1v4FNodyItRVRw1TeKBrmj32JhxhR0ceNcBY+wMobt/Bv7M7TzwPAXjnZRtNaEsATnUZSKWZQ==",
      join(folder, "node_modules", "better-sqlite3")
    )
  )

/** Built with the node-gyp that comes with npm, for one version of Node. */
const built = (node, version) =>
  fetched(`better-sqlite3-12.6.2-nodejs-${version}`, async (folder) => {
    if (!values.build) throw new Missing("its binaries are for a newer Node; --build builds it")
    const modules = join(folder, "node_modules")
    for (const [name, digest] of [
      [
        "better-sqlite3@12.6.2",
        "8VYKM3MjCa9WcaSAI3hzwhmyHVlH8tiGFwf0RlTsZPWJ1I5MkzjiudCo4KC4DxOaL/53A5B1sI/IbldNFDbsKA=="
      ],
      ["bindings@1.5.0", "p2q/t/mhvuOj/UeLlV6566GD/guowlr0hHxClI0W9m7MWYkL1F0hLo+0Aexs9HSPCtR1SXQ0TD3MMKrXZajbiQ=="],
      [
        "file-uri-to-path@1.0.0",
        "0Zt+s3L7Vf1biwWZ29aARiVYLx7iMGnEUl9x33fbB/j3jR81u/O2LbqK+Bm1CDSNDKVtJ/YjwY7TUd5SkeLQLw=="
      ]
    ])
      await unpack(name, digest, join(modules, name.split("@")[0]))
    const { output: root } = await run("npm", ["root", "-g"], 30)
    const gyp = join(root, "npm", "node_modules", "node-gyp", "bin", "node-gyp.js")
    const done = await run(join(node, "bin", "node"), [gyp, "rebuild", "--release", `--nodedir=${node}`], 900, {
      cwd: join(modules, "better-sqlite3")
    })
    if (!done.ok) throw new Missing(`it does not build: ${done.output.split("\n").at(-1)}`)
  })

const betterSqlite3At = (node, version) => {
  const [major, minor] = version.split(".").map(Number)
  return major > 22 || (major === 22 && minor > 13) ? withBinaries() : built(node, version)
}

const missing = []
/** What there is, or `undefined` after a line that says why there is none. */
const orSkip = async (what, skipped, get) => {
  try {
    return await get()
  } catch (error) {
    if (!(error instanceof Missing)) throw error
    missing.push(what)
    console.log(`${what} is missing: ${error.message}; ${skipped}`)
    return undefined
  }
}

/** Where an application has it. */
const link = join(home, "packages", "store-sql", "node_modules", "better-sqlite3")
const unlink = () => {
  if (lstatSync(link, { throwIfNoEntry: false })?.isSymbolicLink()) rmSync(link)
}
process.on("exit", unlink)
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => process.exit(1))

const test = (node, drivers) =>
  new Promise((resolve) => {
    const vitest = join(home, "node_modules", "vitest", "vitest.mjs")
    const bin = join(node, "bin")
    const paths = values.all || values.file.length > 0 ? values.file : ["packages/store-sql/"]
    const child = spawn(join(bin, "node"), [vitest, "run", ...paths], {
      cwd: home,
      stdio: "inherit",
      env: {
        ...process.env,
        // Programs that tests start run on the same Node.
        PATH: `${bin}${delimiter}${process.env.PATH}`,
        XDS_SQLITE_DRIVERS: drivers.join(),
        // A warning that node:sqlite is an experiment says nothing of the tests.
        NODE_OPTIONS: "--disable-warning=ExperimentalWarning"
      }
    })
    child.on("close", resolve)
  })

const wanted = (version) =>
  values.node.length === 0 || values.node.some((each) => version === each || version.startsWith(`${each}.`))
const chosen = Object.keys(nodes).filter(wanted)
if (chosen.length === 0) {
  console.log(`--node ${values.node.join(", ")}: there are ${Object.keys(nodes).join(", ")}`)
  process.exit(1)
}
const results = []
for (const version of chosen) {
  const node = await orSkip(`Node ${version}`, "its tests are skipped", () => nodeAt(version))
  if (node === undefined) continue
  const better = await orSkip(`better-sqlite3 for Node ${version}`, "Node's tests run without it", () =>
    betterSqlite3At(node, version)
  )
  unlink()
  if (better !== undefined) symlinkSync(join(better, "node_modules", "better-sqlite3"), link)
  const drivers = [
    ...(version.startsWith("20.") ? [] : ["node:sqlite"]),
    "libsql",
    ...(better === undefined ? [] : ["better-sqlite3"])
  ]
  console.log(`Node ${version}, with ${drivers.join(", ")}`)
  const code = await test(node, drivers)
  results.push({ version, drivers, ok: code === 0 })
}
for (const { drivers, ok, version } of results)
  console.log(`Node ${version} with ${drivers.join(", ")}: ${ok ? "passed" : "FAILED"}`)
const isStrict = process.env.XDS_REQUIRE_PEERS === "1" && missing.length > 0
if (isStrict) console.log(`XDS_REQUIRE_PEERS=1, and these are missing: ${missing.join(", ")}`)
process.exitCode = isStrict || results.some(({ ok }) => !ok) ? 1 : 0
