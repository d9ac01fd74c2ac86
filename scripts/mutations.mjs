// `npm run mutations`: proof that the tests see what goes wrong. Puts one fault after another into a copy of the sources
// (scripts/mutations-list.mjs), runs tests until the first fails, and tells which one it was: for the reducers those of the
// core, for another package its own.
//
//   --only 3        one fault by its number, or several: 3,7-9
//   --by PATH       only with these tests, such as packages/testing/test/Exploration
//   --markdown FILE writes what was seen into the table of a file; rows of faults that were not run stay
//   --check         runs nothing: whether every fault can still be put in
//
// Ends with 1 if a fault survives. The working tree is not touched.
import { spawn } from "node:child_process"
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync
} from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join, relative, sep } from "node:path"
import { fileURLToPath } from "node:url"
import typescript from "typescript"
import { mutations } from "./mutations-list.mjs"
import * as Options from "./options.mjs"

const home = dirname(dirname(fileURLToPath(import.meta.url)))
/** Where the reducers are; the file of any other fault is given from the top of the repository. */
const reducers = "packages/core/src"
const pathOf = (file) => (file.startsWith("packages/") ? file : `${reducers}/${file}`)
/** Generated, large, and of no package's sources: used where it is. The other packages are copied. */
const linked = ["proto"]
const copied = readdirSync(join(home, "packages")).filter(
  (name) => !linked.includes(name) && existsSync(join(home, "packages", name, "package.json"))
)
/** Milliseconds. A fault can make a test run without end. That is seen, too. The traces take some seconds. */
const timeout = 600_000
const tracesTimeout = 120_000
/** Milliseconds for all the tests that any fault meets, at once, without a fault. */
const wholeTimeout = 1_800_000

const values = Options.parse(import.meta.url, {
  only: { type: "string" },
  by: { type: "string" },
  markdown: { type: "string" },
  check: { type: "boolean", default: false }
})

const traces = ["packages/core/test/traces.test.ts", "packages/core/test/client/traces.test.ts"]
const tests = "packages/core/test"
/** Random scripts and heaps: a minute or more each. */
const isLong = (path) => /(?:properties|growth)\.test\.ts$/.test(path)
const ofCore = readdirSync(join(home, tests), { recursive: true })
  .filter((path) => path.endsWith(".test.ts"))
  .map((path) => `${tests}/${path.split(sep).join("/")}`)
  .filter((path) => !traces.includes(path))

/**
 * The tests that a fault meets, in helpings. For the reducers three: the golden traces take a second and kill most; what
 * survives them meets the short ones, and then all the rest. For another package those of the package, or those that the
 * fault names.
 */
const helpingsOf = ({ by, file }) => {
  if (values.by !== undefined) return [[values.by]]
  if (by !== undefined) return [[by]]
  const [, name] = pathOf(file).split("/")
  if (name !== "core") return [[`packages/${name}/test`]]
  return [
    traces,
    ofCore.filter((path) => !isLong(path)),
    [...ofCore.filter(isLong), "packages/testing/test/Exploration"]
  ]
}

/** The numbers in a text such as `3,7-9`. */
const numbersIn = (text) =>
  text.split(",").flatMap((part) => {
    const [from, to = from] = part.split("-").map(Number)
    if (!Number.isInteger(from) || !Number.isInteger(to)) throw new Error(`--only ${text}: numbers such as 3,7-9`)
    return Array.from({ length: to - from + 1 }, (_, index) => from + index)
  })

/** The text of a file with the fault; an error if its line is not there exactly once. */
const mutate = (folder, { becomes, fault, file, line }) => {
  const text = readFileSync(join(folder, pathOf(file)), "utf8")
  const count = text.split(line).length - 1
  if (count !== 1) throw new Error(`"${fault}": its line is ${count} times in ${pathOf(file)}, not once: ${line}`)
  return text.replace(line, () => becomes)
}

const numbered = mutations.map((mutation, index) => ({ ...mutation, number: index + 1 }))
const only = values.only === undefined ? undefined : new Set(numbersIn(values.only))
const chosen = numbered.filter(({ number }) => only === undefined || only.has(number))
for (const mutation of chosen) mutate(home, mutation)
if (values.check) {
  console.log(`${mutations.length} faults can be put in.`)
  process.exit()
}

const folder = mkdtempSync(join(tmpdir(), "effect-xds-mutations-"))
let child
const clean = () => {
  if (child !== undefined) process.kill(-child.pid, "SIGKILL")
  rmSync(folder, { recursive: true, force: true })
}
process.once("exit", clean)
for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => process.exit(130))

for (const file of ["package.json", "vitest.config.ts", "vitest.workspace.ts", "tsconfig.base.json"]) {
  cpSync(join(home, file), join(folder, file))
}
for (const path of ["node_modules", "scripts", "examples/serve", ...linked.map((name) => `packages/${name}`)]) {
  mkdirSync(dirname(join(folder, path)), { recursive: true })
  symlinkSync(join(home, path), join(folder, path))
}
for (const name of copied) {
  cpSync(join(home, "packages", name), join(folder, "packages", name), {
    recursive: true,
    // Links between packages lead into the copy, because they are relative.
    // What is built comes along: tests that start a process of their own run it.
    verbatimSymlinks: true
  })
}

/** Programs that tests run beside ours: only for the faults that need one, since many tests with them take long. */
const peers = join(home, ".peers")
const withPeers = (are) => {
  const link = join(folder, ".peers")
  rmSync(link, { force: true })
  if (are && existsSync(peers)) symlinkSync(peers, link)
}

/** Writes a file of the copy, and what is built of it. */
const write = (path, text) => {
  writeFileSync(path, text)
  const built = path.replace(`${sep}src${sep}`, `${sep}dist${sep}`).replace(/\.ts$/, ".js")
  if (!existsSync(built)) return
  const compilerOptions = { target: "ESNext", module: "ESNext", verbatimModuleSyntax: true }
  writeFileSync(built, typescript.transpileModule(text, { compilerOptions }).outputText)
}

const report = join(folder, "report.json")

/** Runs tests until the first fails: its name and file, or `undefined` if all pass. */
const firstFailure = (paths, timeout) =>
  new Promise((resolve, reject) => {
    rmSync(report, { force: true })
    const vitest = join(folder, "node_modules/vitest/vitest.mjs")
    const args = [vitest, "run", "--bail", "1", "--reporter", "json", "--outputFile", report, ...paths]
    const output = []
    // More scripts and moves than in `npm test`: some faults are seen by few of them.
    const env = { ...process.env, CI: "1", XDS_THOROUGH: "1" }
    child = spawn(process.execPath, args, { cwd: folder, detached: true, env })
    child.stdout.on("data", (data) => output.push(data))
    child.stderr.on("data", (data) => output.push(data))
    const timer = setTimeout(() => process.kill(-child.pid, "SIGKILL"), timeout)
    child.once("close", (code, signal) => {
      clearTimeout(timer)
      child = undefined
      if (signal !== null) return resolve({ test: `the tests do not end (${timeout / 1000} s)` })
      if (!existsSync(report)) return reject(new Error(`no report of the tests: ${Buffer.concat(output).toString()}`))
      const { numTotalTests, testResults } = JSON.parse(readFileSync(report, "utf8"))
      if (code === 0 && numTotalTests > 0) return resolve(undefined)
      for (const { assertionResults, message, name, status } of testResults) {
        const file = relative(folder, name).split(sep).join("/").replace("packages/", "").replace("/test/", "/")
        const failed = assertionResults.find((each) => each.status === "failed")
        if (failed !== undefined)
          return resolve({ test: `${file}: ${failed.fullName.trim()}`, path: relative(folder, name) })
        // A file that does not even compile shows nothing of its tests.
        if (status === "failed" && message) return reject(new Error(`${file}: ${message.split("\n")[0]}`))
      }
      reject(new Error(`the tests fail, but none of them: ${Buffer.concat(output).toString()}`))
    })
  })

/** Files of tests that were seen to pass without a fault. */
const sound = new Set()
/** A test that fails without a fault, too, has not seen it. */
const assertSound = async ({ path, test }) => {
  if (path === undefined || sound.has(path)) return
  const failure = await firstFailure([path], timeout)
  if (failure !== undefined) throw new Error(`a test fails without any fault: ${failure.test} (after ${test})`)
  sound.add(path)
}

const rows = []
const begin = Date.now()
let isCut = false
try {
  if (only === undefined) {
    withPeers(mutations.some((mutation) => mutation.peers === true))
    const all = new Set(mutations.flatMap((mutation) => helpingsOf(mutation).flat()))
    const failure = await firstFailure(Array.from(all), wholeTimeout)
    if (failure !== undefined) throw new Error(`a test fails without any fault: ${failure.test}`)
  }
  for (const mutation of chosen) {
    const path = join(folder, pathOf(mutation.file))
    const before = readFileSync(path, "utf8")
    write(path, mutate(folder, mutation))
    withPeers(mutation.peers === true)
    const start = Date.now()
    let killer
    for (const paths of helpingsOf(mutation)) {
      killer ??= await firstFailure(paths, paths === traces ? tracesTimeout : timeout)
    }
    write(path, before)
    const seconds = ((Date.now() - start) / 1000).toFixed(1)
    if (killer !== undefined) await assertSound(killer)
    rows.push({ ...mutation, killer: killer?.test, seconds })
    console.log(`${String(mutation.number).padStart(3)}  ${seconds.padStart(5)} s  ${mutation.fault}`)
    console.log(`     ${killer === undefined ? "SURVIVED" : `killed by ${killer.test}`}`)
  }
} catch (error) {
  // What was seen before is written all the same.
  console.error(error.message)
  isCut = true
}
const survived = rows.filter(({ killer }) => killer === undefined)
const minutes = ((Date.now() - begin) / 60_000).toFixed(1)
const total = `${rows.length} faults, ${rows.length - survived.length} killed, ${survived.length} survived; ${minutes} minutes.`
console.log(total)
if (values.markdown !== undefined) {
  // A test may be named by an input of 60 000 characters.
  const cell = (text) => (text.length <= 400 ? text : `${text.slice(0, 400)}…`).replaceAll("|", "\\|")
  const rowOf = ({ fault, file }, killer) => `${cell(fault)} | ${file} | ${cell(killer ?? "**survived**")} |`
  const ran = new Map(rows.map((row) => [row.fault, rowOf(row, row.killer)]))
  // What was not run now keeps what its last run showed, also if the line has moved to another file since.
  const page = existsSync(values.markdown) ? readFileSync(values.markdown, "utf8") : ""
  const killers = new Map(
    page.split("\n").flatMap((line) => {
      const [, fault, killer] = /^\| \d+ \| (.*) \| [^|]+ \| (.*) \|$/.exec(line) ?? []
      return fault === undefined ? [] : [[fault, killer]]
    })
  )
  const lines = numbered.map((mutation) => {
    const last = killers.get(cell(mutation.fault)) ?? "not recorded yet"
    const row = ran.get(mutation.fault) ?? `${cell(mutation.fault)} | ${mutation.file} | ${last} |`
    return `| ${mutation.number} | ${row}`
  })
  const count = (ending) => lines.filter((line) => line.endsWith(ending)).length
  const text = `# Faults that the tests see

Each row is one line of the sources made wrong (\`scripts/mutations-list.mjs\`), and the test that failed first when the
fault was last put in. \`npm run mutations -- --markdown docs/mutations.md\` puts all in, one after another, and writes
this page; with \`--only\` it renews the rows of those numbers. ★ is explained in [protocol.md](protocol.md).

${lines.length} faults; ${count("| **survived** |")} survived, ${count("| not recorded yet |")} not recorded yet.

| | Fault | File, of \`packages/core/src\` if no other package is named | The first test that fails |
| --- | --- | --- | --- |
${lines.join("\n")}
`
  writeFileSync(values.markdown, text)
}
process.exitCode = isCut || survived.length > 0 ? 1 : 0
