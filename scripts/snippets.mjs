// The TypeScript examples of our pages, as those who copy them get them: taken out, compiled beside the installed packages, and
// run. scripts/packages.mjs calls this.
//
// An example is a block that begins with ```ts. A program runs for a moment: it must end well or still be running. A module
// that exports `program`, an Effect, is run in the same way. Where the page goes on with a block of `text`, that is what the
// program prints. An example for vitest is run by vitest. A part of a program has the rest before it, in a comment of the page:
//
//   <!-- around
//   import { … } from "…"
//   export const example = Effect.gen(function* () {
//     {{example}}
//   })
//   -->
import { spawn } from "node:child_process"
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"

/** Milliseconds that a program which does not end is watched. */
const watched = 2_500
/** Milliseconds for one that must print something, or runs under vitest. */
const limit = 60_000

/**
 * The examples of a page.
 *
 * @returns {Array<{ line: number, code: string, around: boolean, prints: string | undefined }>} `line` of the page, from 1
 */
export const examplesOf = (page) => {
  const found = []
  for (const match of page.matchAll(
    /(<!-- around\n([\s\S]*?)\n-->\n+)?^```ts\n([\s\S]*?)^```\n((?:(?!^```|^#)[^\n]*\n){0,4}?^```text\n([\s\S]*?)^```)?/gm
  )) {
    const [, comment, around, code, , prints] = match
    const line = page.slice(0, match.index + (comment?.length ?? 0)).split("\n").length
    found.push({ line, around: around !== undefined, code: around?.replace("{{example}}", () => code) ?? code, prints })
  }
  return found
}

/** The packages that an example imports. */
export const importsOf = (code) =>
  [...code.matchAll(/ from "([^"]+)"/g)]
    .map(([, specifier]) => specifier)
    .filter((specifier) => !specifier.startsWith("node:"))
    .map((specifier) => specifier.split("/", specifier.startsWith("@") ? 2 : 1).join("/"))

const isTest = (code) => /from "(@effect-xds\/testing\/vitest|vitest|@effect\/vitest)"/.test(code)

/** Starts what an example exports, if it exports a program, and says how it ended. */
const runner = `
import { Cause, Effect, Exit } from "effect"
const { program } = await import(process.argv[2])
if (Effect.isEffect(program)) {
  Effect.runFork(Effect.scoped(program)).addObserver((exit) => {
    if (Exit.isSuccess(exit)) return
    console.error(Cause.pretty(exit.cause))
    process.exit(1)
  })
}
`

/** Runs Node; kills it at the deadline. */
const run = (args, cwd, milliseconds) =>
  new Promise((resolve) => {
    // Ports of their own, where an example leaves them open, and no colours.
    const env = { ...process.env, PORT: "0", NO_COLOR: "1", CI: "true" }
    // The peers are in the repository, not in a user's folder: an example that looks for one finds none, and says so.
    delete env.XDS_REQUIRE_PEERS
    delete env.NODE_OPTIONS
    const child = spawn(process.execPath, args, { cwd, env, stdio: ["ignore", "pipe", "pipe"] })
    const [out, all] = [[], []]
    child.stdout.on("data", (chunk) => (out.push(chunk), all.push(chunk)))
    child.stderr.on("data", (chunk) => all.push(chunk))
    let isOver = false
    const timer = setTimeout(() => {
      isOver = true
      child.kill("SIGKILL")
    }, milliseconds)
    child.on("close", (code) => {
      clearTimeout(timer)
      resolve({ code, isOver, out: Buffer.concat(out).toString(), all: Buffer.concat(all).toString() })
    })
  })

const trimmed = (text) =>
  text
    .split("\n")
    .map((line) => line.trimEnd())
    .filter((line) => line !== "")

/** Whether all lines are in a text, in their order. */
const areIn = (lines, text) => {
  const all = trimmed(text)
  let at = 0
  return lines.every((line) => {
    const next = all.indexOf(line, at)
    at = next + 1
    return next >= 0
  })
}

/** What is wrong with an example that was run; `undefined`: nothing. */
const problemOf = async ({ file, prints, test }, folder) => {
  if (test) {
    const vitest = join(folder, "node_modules/vitest/vitest.mjs")
    const { all, code } = await run([vitest, "run", "--root", folder, file], folder, limit)
    return code === 0 ? undefined : `it fails under vitest:\n  ${trimmed(all).slice(-12).join("\n  ")}`
  }
  const { all, code, isOver, out } = await run(["run.mjs", `./${file}`], folder, prints === undefined ? watched : limit)
  if (/EADDRINUSE/.test(all)) return undefined
  const lines = prints === undefined ? [] : trimmed(prints)
  if (code === 0 || isOver) {
    return areIn(lines, out)
      ? undefined
      : `it does not print what the page says, but:\n  ${trimmed(out).slice(0, 12).join("\n  ")}`
  }
  return `it ends with ${code}:\n  ${trimmed(all).slice(0, 12).join("\n  ")}`
}

/** Writes the examples of a page into a folder with the packages: `<name>.example<n>.ts`, which tsc is to compile to `built/`. */
export const write = (folder, name, page) =>
  examplesOf(page).map((example, index) => {
    const test = isTest(example.code)
    const stem = `${name}.example${index + 1}${test ? ".test" : ""}`
    writeFileSync(join(folder, `${stem}.ts`), example.code)
    return { ...example, page: name, file: test ? `${stem}.ts` : `built/${stem}.js`, test }
  })

/** Runs examples that were written and compiled, one after the other since some have a port in common: what is wrong, in words. */
export const problems = async (folder, examples) => {
  writeFileSync(join(folder, "run.mjs"), runner)
  const found = []
  for (const example of examples) {
    // A part of a program needs what is around it, which may only be declared.
    if (example.around) continue
    const problem = await problemOf(example, folder)
    if (problem !== undefined) found.push([example, problem])
  }
  return found
}

/** The text of a page of the repository. */
export const read = (path) => readFileSync(path, "utf8")
