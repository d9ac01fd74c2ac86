/** What the program can print names options that it has, and none that only programs can set. */
import { readdirSync, readFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import ts from "typescript"
import { describe, expect, it } from "vitest"
import type { Command } from "../src/CommandLine.js"
import { program } from "../src/Program.js"

const packages = fileURLToPath(new URL("../..", import.meta.url))

/** All that the program loads. */
const loaded = ["proto", "core", "transport", "transport-connect", "transport-filesystem", "transport-rest", "server"]
  .concat("client", "admin", "cli", "store-sql")
  .map((name) => join(packages, name, "src"))

const filesIn = (directory: string): ReadonlyArray<string> =>
  readdirSync(directory, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts"))
    .map((name) => join(directory, name))

interface Source {
  readonly file: string
  /** Strings and parts of templates with several words in them. */
  readonly sentences: ReadonlyArray<string>
  /** Names of what its interfaces hold. */
  readonly members: ReadonlyArray<string>
  /** Modules of its own package. */
  readonly imports: ReadonlyArray<string>
}

const read = (file: string): Source => {
  const sentences: Array<string> = []
  const members: Array<string> = []
  const imports: Array<string> = []
  const visit = (node: ts.Node): void => {
    if (ts.isStringLiteral(node) && /^\.{1,2}\/.*\.js$/.test(node.text)) {
      imports.push(join(dirname(file), node.text.replace(/\.js$/, ".ts")))
    } else if (ts.isStringLiteralLike(node) || ts.isTemplateHead(node) || ts.isTemplateMiddleOrTemplateTail(node)) {
      if (/\s/.test(node.text)) sentences.push(node.text)
    }
    if (ts.isPropertySignature(node)) members.push(node.name.getText())
    ts.forEachChild(node, visit)
  }
  visit(ts.createSourceFile(file, readFileSync(file, "utf8"), ts.ScriptTarget.ESNext, true))
  return { file, sentences, members, imports }
}

const sources = new Map(loaded.flatMap(filesIn).map((file) => [file, read(file)]))

const all = Array.from(sources.values())

const runs = (command: Command): ReadonlyArray<Command> =>
  command.commands.length === 0 ? [command] : command.commands.flatMap(runs)

/** Modules in which commands are run. */
const modules: Readonly<Record<string, string>> = {
  serve: "Serving",
  watch: "Watching",
  get: "Getting",
  diff: "Comparing",
  validate: "Validating",
  envoy: "Bootstraps",
  grpc: "Bootstraps",
  status: "StatusReport",
  history: "StoredHistory",
  rollback: "StoredHistory"
}

/** A module and all that it imports, of this package. */
const closure = (file: string, seen = new Set<string>()): ReadonlySet<string> => {
  if (seen.has(file)) return seen
  seen.add(file)
  for (const next of sources.get(file)?.imports ?? []) closure(next, seen)
  return seen
}

const flags = (text: string): ReadonlyArray<string> => text.match(/(?<![\w-])--[a-z][a-z-]+/g) ?? []

describe("What the program prints", () => {
  it("has no option's name of a library in it", () => {
    const members = new Set(
      all.flatMap(({ members }) => members).filter((name) => /^[a-z]+(?:[A-Z][a-z]+)+$/.test(name))
    )
    expect(members).toContain("maxStreamsPerGroup")
    // It is thrown at programs that put a virtual host together by hand; the program reads them from files.
    const toPrograms = new Set([
      "a virtual host is asked for as <route configuration>/<host>; use Snapshot.virtualHost"
    ])
    const named = all.flatMap(({ file, sentences }) =>
      sentences
        .filter((sentence) => !toPrograms.has(sentence))
        .flatMap((sentence) => sentence.match(/\b[a-z]+(?:[A-Z][a-z]+)+\b/g) ?? [])
        .filter((word) => members.has(word) || /^(?:max|min)[A-Z]/.test(word))
        .map((word) => `${file.slice(packages.length)}: ${word}`)
    )
    expect(named).toEqual([])
  })

  it("names options of the command that prints it", () => {
    const commands = runs(program)
    expect(commands.map(({ name }) => name).sort()).toEqual(Object.keys(modules).sort())
    const unknown = commands.flatMap(({ name, options }) => {
      const own = new Set(Array.from(options.keys(), (option) => `--${option}`))
      const files = closure(join(packages, "cli", "src", `${modules[name] ?? ""}.ts`))
      expect(files.size).toBeGreaterThan(1)
      return Array.from(files).flatMap((file) =>
        (sources.get(file)?.sentences ?? [])
          .flatMap(flags)
          .filter((flag) => !own.has(flag))
          .map((flag) => `${name}: ${flag} in ${file.slice(packages.length)}`)
      )
    })
    expect(unknown).toEqual([])
  })

  it("names no option in a library", () => {
    const named = all
      .filter(({ file }) => !file.startsWith(join(packages, "cli")))
      .flatMap(({ file, sentences }) =>
        sentences.flatMap(flags).map((flag) => `${file.slice(packages.length)}: ${flag}`)
      )
    expect(named).toEqual([])
  })
})
