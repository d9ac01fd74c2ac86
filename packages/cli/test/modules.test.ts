/** Which modules are loaded: by each command, and by each package that is not for tests. */
import { readdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { describe, expect, it } from "vitest"
import { deadline, eventually, program, start, temporaryDirectory } from "./ServeProcess.js"

const script = (text: string): string => `data:text/javascript,${encodeURIComponent(text)}`

/** Writes who imports a module first, and the module. */
const hooks = script(`
  import { appendFileSync } from "node:fs"
  export const resolve = async (specifier, context, next) => {
    const found = await next(specifier, context)
    appendFileSync(process.env.LOADED, (context.parentURL ?? "-") + " " + found.url + "\\n")
    return found
  }`)

const register = script(`import { register } from "node:module"; register(${JSON.stringify(hooks)})`)

/** Whether a module is of a library for tests. */
const isOfTests = (url: string): boolean =>
  /\/(?:fast-check|pure-rand|vitest|@vitest|chai)\/|@effect-xds\/testing|\/packages\/testing\//.test(url)

/** Whether a module is of a store in a database, or of its drivers. */
const isOfStore = (url: string): boolean =>
  /\/packages\/store-sql\/|\/@effect\/sql(?:-pg)?\/|\/node_modules\/(?:libsql|@libsql|pg|pg-[a-z]+)\//.test(url)

const short = (url: string): string => url.replace(/^.*\/(?:node_modules|packages)\//, "")

/** The modules, and for the first of a test library who brought it in. */
const read = (file: string) => {
  const importer = new Map<string, string>()
  for (const line of readFileSync(file, "utf8").split("\n")) {
    const [parent = "", url = ""] = line.split(" ")
    if (url.startsWith("file:") && !importer.has(url)) importer.set(url, parent)
  }
  const chain: Array<string> = []
  const first = Array.from(importer.keys()).find(isOfTests)
  for (let url = first; url !== undefined && chain.length < 50; url = importer.get(url)) {
    if (url.startsWith("file:")) chain.unshift(short(url))
  }
  return { modules: Array.from(importer.keys()), tests: chain.join(" > ") }
}

/** Runs a program, until it ends or its output says that it is there. */
const loadedBy = async (args: ReadonlyArray<string>, isThere?: RegExp) => {
  const file = join(temporaryDirectory(), "loaded")
  writeFileSync(file, "")
  const options = { env: { ...process.env, LOADED: file } }
  const { child, exit, stderr, stdout } = start(process.execPath, ["--import", register, ...args], options)
  if (isThere !== undefined) {
    await eventually(() => expect(stdout() + stderr()).toMatch(isThere))
    child.kill()
  }
  await exit
  return read(file)
}

const directory = (): string => {
  const path = temporaryDirectory()
  const cluster = { "@type": "type.googleapis.com/envoy.config.cluster.v3.Cluster", name: "a" }
  writeFileSync(join(path, "a.json"), JSON.stringify(cluster))
  writeFileSync(join(path, "b.yaml"), JSON.stringify({ ...cluster, name: "b" }))
  return path
}

// Nobody listens on port 1. The bounds are a twentieth above what is loaded; every command's module is read to explain it.
const commands: ReadonlyArray<readonly [number, ReadonlyArray<string>, RegExp | undefined]> = [
  [18, ["--version"], undefined],
  [19, ["--help"], undefined],
  [19, ["serve", "--help"], undefined],
  [19, ["--completions", "zsh"], undefined],
  [18, ["srve"], undefined],
  [190, ["bootstrap", "envoy"], undefined],
  [275, ["status", "127.0.0.1:1"], undefined],
  [545, ["get", "--timeout", "1", "127.0.0.1:1", "CDS"], undefined],
  [560, ["get", "--timeout", "1", "http://127.0.0.1:1", "CDS"], undefined],
  [590, ["get", "--timeout", "1", "path:DIR", "CDS"], undefined],
  [545, ["watch", "127.0.0.1:1", "CDS"], /127\.0\.0\.1:1/],
  [555, ["validate", "DIR"], undefined],
  [590, ["diff", "DIR", "DIR"], undefined],
  [845, ["serve", "DIR", "--port", "0", "--rest-port", "0", "--admin-port", "0", "--files-out", "OUT"], /^admin:$/m]
]

describe("Modules", { timeout: 3 * deadline }, () => {
  it.each(commands)("at most %i are loaded by %j, none of them of a test library", async (most, args, isThere) => {
    const path = directory()
    const given = args.map((arg) => arg.replace("DIR", path).replace("OUT", join(temporaryDirectory(), "out")))
    const { modules, tests } = await loadedBy([program, ...given], isThere)
    expect(tests).toBe("")
    // It is for `--store` only.
    expect(modules.filter(isOfStore)).toEqual([])
    expect(modules.length).toBeGreaterThan(5)
    expect(modules.length).toBeLessThanOrEqual(most)
    // What only explains itself needs nothing but itself: these modules are read in 40 ms.
    if (most < 20) expect(modules.filter((url) => !/packages\/cli\/dist/.test(url))).toEqual([])
  })

  // @effect/sql loads effect/Schema, and that a test library: with a store in a database it is there.
  it.each([
    ["sqlite", 1_060, ["serve", "--store", "sqlite:DIR/xds.db", "--port", "0", "--admin-port", "0"], /^admin:$/m],
    ["postgres", 720, ["history", "edge", "--store", "postgres://127.0.0.1:1/xds"], undefined]
  ] as const)(
    "a store in %s is loaded when it is asked for, and at most %i modules",
    async (name, most, args, isThere) => {
      const path = directory()
      const { modules } = await loadedBy([program, ...args.map((arg) => arg.replace("DIR", path))], isThere)
      const ofStore = modules.filter((url) => /\/packages\/store-sql\/dist\/[A-Z]/.test(url)).map(short)
      expect(ofStore).toContain("store-sql/dist/SqlStore.js")
      // The driver of the other one is not loaded.
      expect(ofStore.includes("store-sql/dist/Sqlite.js")).toBe(name === "sqlite")
      expect(ofStore.includes("store-sql/dist/Postgres.js")).toBe(name === "postgres")
      expect(modules.some((url) => /\/node_modules\/pg\//.test(url))).toBe(name === "postgres")
      expect(modules.length).toBeLessThanOrEqual(most)
    }
  )

  // They are for HTTP servers and clients of @effect/platform, which loads effect/Schema, and that a test library.
  const ofPlatform = ["RestApp", "AdminApp", "XdsHttpClient"]

  const packages = fileURLToPath(new URL("../..", import.meta.url))
  // For store-sql see above.
  const names = readdirSync(packages).filter((name) => name !== "testing" && name !== "cli" && name !== "store-sql")

  it("none of a test library are loaded by what packages export", async () => {
    const entries = names.flatMap((name) => {
      const dist = join(packages, name, "dist")
      const modules = readdirSync(dist).filter(
        (file) => file.endsWith(".js") && !ofPlatform.includes(file.replace(/\.js$/, ""))
      )
      expect(modules, name).not.toEqual([])
      return modules.map((file) => `file://${join(dist, file)}`)
    })
    const main = join(temporaryDirectory(), "main.mjs")
    writeFileSync(main, entries.map((entry) => `import ${JSON.stringify(entry)}\n`).join(""))
    const { modules, tests } = await loadedBy([main])
    expect(tests).toBe("")
    expect(modules).toEqual(expect.arrayContaining(entries))
    expect(modules.filter(isOfStore)).toEqual([])
  })

  it("a chain to a test library is named", async () => {
    const file = join(packages, "transport-rest", "dist", "RestApp.js")
    const { tests } = await loadedBy([file])
    expect(tests).toMatch(/^transport-rest\/dist\/RestApp\.js > .*effect\/dist\/esm\/FastCheck\.js > fast-check\//)
  })
})
