// `npm run check:packages`: the packages as those who install them get them. All are packed, installed from the tarballs
// into an empty folder, imported by plain Node, type-checked from a small consumer, and given to publint and attw. The examples
// of README.md, docs/ and the packages' pages are compiled there and run. A second folder has the newest effect, as one gets it
// who does not name the version: that must be loud.
// Skipped while nothing that goes into the tarballs has changed. Needs the build (scripts/setup.mjs).
import { spawn } from "node:child_process"
import { createHash } from "node:crypto"
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { builtinModules } from "node:module"
import { tmpdir } from "node:os"
import { dirname, join, posix } from "node:path"
import { fileURLToPath } from "node:url"
import { pack } from "./pack.mjs"
import * as Snippets from "./snippets.mjs"

const home = dirname(dirname(fileURLToPath(import.meta.url)))
const scope = "@effect-xds/"
const readText = (...path) => readFileSync(join(...path), "utf8")
const readJson = (...path) => JSON.parse(readText(...path))
const manifest = readJson(home, "package.json")
const folders = readdirSync(join(home, "packages"))
  .filter((name) => existsSync(join(home, "packages", name, "package.json")))
  .sort()

/** The files of a folder at any depth, as sorted paths with `/`; a folder that is not there has none. */
const filesOf = (folder) =>
  statSync(folder, { throwIfNoEntry: false })?.isDirectory() === true
    ? readdirSync(folder, { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
        .map((path) => path.replaceAll("\\", "/"))
        .sort()
    : []

/** Our pages with examples that are of no package alone. */
const pages = ["README.md", ...filesOf(join(home, "docs")).map((name) => `docs/${name}`), "examples"].flatMap((path) =>
  path === "examples"
    ? filesOf(join(home, path))
        .filter((name) => /^[^/]+\/README\.md$/.test(name))
        .map((name) => `examples/${name}`)
    : path.endsWith(".md")
      ? [path]
      : []
)

/** What the tarballs and the verdict on them are made from. Build information is not packed and changes without reason. */
const inputHash = () => {
  const sum = createHash("sha256").update(process.version)
  const add = (path) => sum.update(`\0${path}\0`).update(readFileSync(join(home, path)))
  for (const path of [
    "scripts/packages.mjs",
    "scripts/pack.mjs",
    "scripts/snippets.mjs",
    "pnpm-lock.yaml",
    "pnpm-workspace.yaml",
    "package.json",
    "LICENSE"
  ]) {
    add(path)
  }
  for (const page of pages) add(page)
  for (const name of folders) {
    const folder = `packages/${name}`
    for (const entry of readdirSync(join(home, folder), { withFileTypes: true })) {
      if (entry.isFile()) add(`${folder}/${entry.name}`)
    }
    for (const entry of readJson(home, folder, "package.json").files ?? []) {
      for (const path of filesOf(join(home, folder, entry))) {
        if (!path.endsWith(".tsbuildinfo")) add(`${folder}/${entry}/${path}`)
      }
    }
  }
  return sum.digest("hex")
}

/** Runs a program, without what the calling npm or shell gives to Node; kills it at the deadline. */
const run = (command, args, { cwd, minutes = 5 }) =>
  new Promise((resolve) => {
    const env = { ...process.env, CI: "true", NO_COLOR: "1", npm_config_update_notifier: "false" }
    delete env.NODE_OPTIONS
    // Set by `npm run`: it is the folder of this repository, not the one to install into.
    delete env.npm_config_local_prefix
    // Of `npm run -s`: what npm says is looked at.
    delete env.npm_config_loglevel
    const out = []
    const all = []
    const shell = process.platform === "win32" && command !== process.execPath
    const child = spawn(command, args, { cwd, env, shell, stdio: ["ignore", "pipe", "pipe"] })
    child.stdout.on("data", (chunk) => (out.push(chunk), all.push(chunk)))
    child.stderr.on("data", (chunk) => all.push(chunk))
    const limit = setTimeout(() => child.kill("SIGKILL"), minutes * 60_000)
    const end = (ok, note = "") => {
      clearTimeout(limit)
      resolve({ ok, stdout: Buffer.concat(out).toString(), output: Buffer.concat(all).toString() + note })
    }
    child.on("error", (error) => end(false, String(error)))
    child.on("close", (code, signal) =>
      end(code === 0, signal === "SIGKILL" ? `\nstopped after ${minutes} minutes` : "")
    )
  })

const node = (args, options) => run(process.execPath, args, options)

const problems = []
const report = (name, text) => problems.push(`${scope}${name}: ${text.trim()}`)

/** The same thing said of many files is said of the first ones. */
const reportAll = (name, texts, most = 5) => {
  for (const text of texts.slice(0, most)) report(name, text)
  if (texts.length > most) report(name, `and ${texts.length - most} more of these`)
}

/** The tail of an output, for a message. */
const tail = (output, lines = 15) =>
  output
    .split("\n")
    .filter((line) => line.trim() !== "" && !line.startsWith("npm warn"))
    .slice(-lines)
    .join("\n  ")

/** Generated from what is under the Apache License, which asks for a copy of itself and for notices. */
const isGenerated = (name) => name === "proto" || name === "proto-v2"
const alwaysThere = (name) => [
  "package.json",
  "README.md",
  "LICENSE",
  ...(isGenerated(name) ? ["APACHE-2.0.txt", "NOTICE"] : [])
]
const built = [".js", ".js.map", ".d.ts", ".d.ts.map"]

/** The files: what must be there, and nothing else. */
const checkFiles = (name, { files, folder, json }) => {
  const has = new Set(files)
  for (const file of alwaysThere(name)) {
    if (!has.has(file)) report(name, `${file} is not in the tarball`)
  }
  const sources = files.filter((file) => /^src\/.*\.ts$/.test(file))
  const wanted = new Set([
    ...sources,
    ...sources.flatMap((file) => built.map((ending) => file.replace(/^src\/(.*)\.ts$/, `dist/$1${ending}`)))
  ])
  // Generated code: exactly what the generator left.
  if (isGenerated(name)) {
    const generated = filesOf(join(home, "packages", name, "gen")).filter((file) => file !== ".stamp")
    if (generated.length < 100) report(name, `gen/ has ${generated.length} files: run node scripts/setup.mjs`)
    for (const file of generated) wanted.add(`gen/${file}`)
  }
  if (sources.length === 0) report(name, "src/ is not in the tarball")
  const absent = [...wanted].filter((file) => !has.has(file))
  reportAll(
    name,
    absent.map((file) => `${file} is not in the tarball`)
  )
  for (const file of files) {
    if (/(^|\/)(test|__tests__)\/|\.(test|spec)\./.test(file)) report(name, `${file} is a test`)
    // What the program is started from: see cli's scripts/bundle.mjs.
    else if (name === "cli" && file.startsWith("dist/bundle/")) continue
    else if (!wanted.has(file) && !alwaysThere(name).includes(file)) {
      report(name, `${file} has no place in the tarball${file.startsWith("dist/") ? ": it has no source in src/" : ""}`)
    }
  }
  for (const file of files.filter((path) => path.endsWith(".map"))) {
    for (const source of readJson(folder, file).sources) {
      if (!existsSync(join(folder, dirname(file), source)))
        report(name, `${file} points at ${source}, which is not there`)
    }
  }
  for (const field of ["description", "keywords", "license", "engines"]) {
    if (json[field] === undefined) report(name, `package.json has no "${field}"`)
  }
  for (const kind of ["dependencies", "peerDependencies", "optionalDependencies", "devDependencies"]) {
    for (const [dependency, range] of Object.entries(json[kind] ?? {})) {
      if (/^(workspace|catalog|link|file):/.test(range)) report(name, `${kind}: ${dependency} is still ${range}`)
      if (dependency.startsWith(scope) && range !== `^${json.version}`) {
        report(name, `${kind}: ${dependency} is ${range}, expected ^${json.version}`)
      }
    }
  }
}

/** `a/b/c` → `a`, `@a/b/c` → `@a/b`. */
const packageOf = (specifier) => specifier.split("/", specifier.startsWith("@") ? 2 : 1).join("/")

/** Of attw's report the entry points for which it found something. */
const faults = (output) => {
  const parts = output.split(/^\*+$/m).filter((part) => /^(node16 \(from ESM\)|bundler): (?!OK)/m.test(part))
  const lines = parts
    .join("")
    .split("\n")
    .filter((line) => /^("|Import |Types |node16 \(from ESM\)|bundler)/.test(line))
  return lines.length > 0 ? lines.join("\n  ") : tail(output)
}

/** What is imported is declared: in a common node_modules a forgotten dependency is found all the same. */
const checkImports = (name, { files, folder, json, ts }) => {
  const declared = new Set([
    ...Object.keys(json.dependencies ?? {}),
    ...Object.keys(json.peerDependencies ?? {}),
    json.name
  ])
  const has = new Set(files)
  const broken = []
  const missing = new Map()
  for (const file of files.filter((path) => /^(dist|gen)\/.*(\.js|\.d\.ts)$/.test(path))) {
    for (const { fileName: specifier } of ts.preProcessFile(readText(folder, file)).importedFiles) {
      if (specifier.startsWith(".")) {
        const path = posix.join(dirname(file), specifier)
        const target = file.endsWith(".d.ts") ? path.replace(/\.js$/, ".d.ts") : path
        if (!has.has(target)) broken.push(`${file} imports ${specifier}, but ${target} is not in the tarball`)
      }
      if (/^(\.|#|node:)/.test(specifier) || builtinModules.includes(specifier)) continue
      const target = packageOf(specifier)
      if (!declared.has(target) && !missing.has(target)) missing.set(target, file)
    }
  }
  reportAll(name, broken)
  for (const [target, file] of missing) report(name, `${file} imports ${target}, which is not in its dependencies`)
}

/** The specifiers a package exports, and some that it must not. */
const exportsOf = ({ files, folder, json }) => {
  const open = new Set()
  // Modules for those who have an optional peer are not for everybody, and cannot be imported here.
  const peers = Object.entries(json.peerDependenciesMeta ?? {}).flatMap(([peer, { optional }]) =>
    optional ? [peer] : []
  )
  const needsPeer = (file) => peers.some((peer) => readText(folder, file).includes(` from "${peer}"`))
  // `"./internal/*": null`
  const shut = Object.entries(json.exports).flatMap(([key, target]) =>
    target === null ? [`dist/${key.slice(2).replace("*", "")}`] : []
  )
  const closed = files
    .filter((file) => file.endsWith(".js") && shut.some((folder) => file.startsWith(folder)))
    .map((file) => file.slice(5, -3))
  for (const [key, target] of Object.entries(json.exports)) {
    if (target === null || key === "./package.json") continue
    const [before, after] = target.default.slice(2).split("*")
    if (after === undefined) {
      open.add(json.name + key.slice(1))
      continue
    }
    for (const file of files) {
      if (!file.startsWith(before) || !file.endsWith(after) || needsPeer(file)) continue
      const star = file.slice(before.length, file.length - after.length)
      if (!closed.includes(star)) open.add(json.name + key.slice(1).replace("*", star))
    }
  }
  return { open: [...open], closed: closed.map((path) => `${json.name}/${path}`) }
}

const importer = `
const { open, closed } = JSON.parse(process.argv[2])
const lines = []
for (const name of open) {
  try {
    if (Object.keys(await import(name)).length === 0 && process.argv[3].split(",").includes(name)) lines.push(name + " exports nothing")
  } catch (error) {
    lines.push("import of " + name + ": " + error.message.split("\\n")[0])
  }
}
for (const name of closed) {
  const code = await import(name).then(() => "nothing", (error) => error.code)
  if (code !== "ERR_PACKAGE_PATH_NOT_EXPORTED") lines.push(name + " can be imported (" + code + ")")
}
console.log(lines.join("\\n"))
`

/** The install lines of a page: what they name, and whether they install our tarballs. */
const installOf = (page) => {
  const words = [...page.matchAll(/^npm install .*$/gm)].flatMap(([line]) => line.split(" "))
  return {
    names: words.map((word) => word.replace(/(?<=.)@.*$/, "")),
    words,
    ours: words.some((word) => word.endsWith("/*.tgz"))
  }
}

/** What must have its version named: npm's newest is another major version than ours. */
const versioned = /^(effect|@effect\/[^@]+|@bufbuild\/protobuf)$/

/** The examples of a package's README, which must import only what the README says to install. */
const checkInstall = (name, { json }, page, examples) => {
  // A program is no library.
  if (json.bin !== undefined) return
  const install = installOf(page)
  if (examples.length === 0) report(name, "README.md has no TypeScript example")
  if (!install.ours) report(name, "README.md has no line `npm install … ../effect-xds/packed/*.tgz`")
  for (const word of install.words.filter((each) => versioned.test(each))) {
    report(name, `README.md: the install line names ${word} without a version, such as ${word}@3`)
  }
  for (const target of new Set(examples.flatMap(({ code }) => Snippets.importsOf(code)))) {
    if (!target.startsWith(scope) && !install.names.includes(target)) {
      report(name, `README.md: an example imports ${target}, which its install line does not name`)
    }
  }
}

/** The programs of a package, as npm links them. */
const checkPrograms = async (name, { json }, consumer) => {
  for (const program of Object.keys(json.bin ?? {})) {
    const path = join(consumer, "node_modules", ".bin", program)
    const { ok, output, stdout } = await run(path, ["--version"], { cwd: consumer, minutes: 1 })
    if (!ok || stdout.split(" ", 1)[0].trim() !== json.version) report(name, `${program} --version: ${tail(output)}`)
    // As few files it starts in half of the time; with a store it is read as it was built.
    if (!existsSync(join(consumer, "node_modules", json.name, "dist", "bundle", "Process.js")))
      report(name, "dist/bundle is not in its tarball")
    const stored = await run(path, ["history", "default", "--store", "sqlite:none.db"], { cwd: consumer, minutes: 1 })
    if (!/none\.db/.test(stored.output) || stored.output.includes("ERR_"))
      report(name, `${program} history: ${tail(stored.output)}`)
  }
}

const tsconfig = {
  compilerOptions: {
    target: "ES2022",
    module: "nodenext",
    moduleResolution: "nodenext",
    moduleDetection: "force",
    strict: true,
    exactOptionalPropertyTypes: true,
    skipLibCheck: false,
    outDir: "built",
    types: ["node"]
  },
  include: ["*.ts"]
}

const kilobytes = (bytes) => (bytes < 999_500 ? `${Math.round(bytes / 1000)} kB` : `${(bytes / 1e6).toFixed(1)} MB`)

/** What a program that uses our packages has, and must have once. */
const named = ["effect", "@bufbuild/protobuf", "@effect/platform", "@effect/platform-node"]

/** Versions of what others publish: those that we are built with. */
const versions = (names) =>
  Object.fromEntries(names.map((name) => [name, readJson(versionsAt(name), "package.json").version]))

const versionsAt = (name) =>
  ["", ...folders.map((folder) => `packages/${folder}`), "benchmarks", "examples/grpc", "examples/envoy"]
    .map((folder) => join(home, folder, "node_modules", name))
    .find((folder) => existsSync(join(folder, "package.json"))) ?? join(home, "node_modules", name)

/**
 * The newest effect beside our packages, which want effect 3: the install must say so, or fail, and a program must not end as
 * if all were well.
 */
const checkNewest = async (work, tarballOf) => {
  const folder = join(work, "newest")
  mkdirSync(folder)
  writeFileSync(join(folder, "package.json"), JSON.stringify({ private: true, type: "module" }))
  const newest = await run("npm", ["view", "effect", "version"], { cwd: folder, minutes: 1 })
  const version = newest.stdout.trim().split("\n").at(-1) ?? ""
  if (!newest.ok || version.startsWith("3.")) return version === "" ? "the newest effect was not looked up" : ""
  const files = ["core", "proto"].map((name) => tarballOf.get(scope + name))
  const args = ["install", `effect@${version}`, ...files, "--ignore-scripts", "--no-audit", "--no-fund"]
  const { ok, output } = await run("npm", args, { cwd: folder, minutes: 3 })
  if (!/ERESOLVE/.test(output) || !/peer effect@"\^3/.test(output)) {
    report("core", `npm install beside effect ${version} does not say that effect 3 is wanted:\n  ${tail(output)}`)
  }
  if (!ok) return `npm refuses effect ${version}`
  writeFileSync(join(folder, "program.mjs"), `import { ServerStream } from "${scope}core"\nServerStream.make\n`)
  const program = await node(["program.mjs"], { cwd: folder, minutes: 1 })
  if (program.ok) report("core", `a program beside effect ${version} ends as if all were well`)
  return `npm warns of effect ${version}, and a program with it does not start`
}

const check = async (work) => {
  const tarballs = join(work, "tarballs")
  const consumer = join(work, "consumer")
  mkdirSync(tarballs)
  mkdirSync(consumer)

  const packed = await pack(tarballs).catch((cause) => problems.push(`npm run pack failed: ${tail(cause.message)}`))
  if (typeof packed === "number") return
  const tarballOf = new Map([...packed.libraries, [`${scope}cli`, packed.program]])
  const missing = folders.filter((name) => !tarballOf.has(scope + name))
  if (missing.length > 0) return problems.push(`npm run pack made no tarball of ${missing.join(", ")}`)

  writeFileSync(
    join(consumer, "package.json"),
    JSON.stringify({
      private: true,
      type: "module",
      dependencies: {
        ...versions(named),
        ...Object.fromEntries([...tarballOf].map(([name, file]) => [name, `file:${file}`]))
      },
      devDependencies: {
        ...versions(["vitest", "@effect/vitest", "selfsigned"]),
        // What the types of @effect/platform-node import and its package does not bring.
        "@types/ws": "8",
        "@types/node": readJson(home, "node_modules/@types/node/package.json").version
      }
    })
  )
  const install = ["install", "--prefer-offline", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
  const installed = await run("npm", [...install, "--fetch-timeout=30000", "--fetch-retry-maxtimeout=10000"], {
    cwd: consumer
  })
  if (!installed.ok) return problems.push(`npm install of the tarballs failed: ${tail(installed.output)}`)
  for (const [path, { resolved = "" }] of Object.entries(readJson(consumer, "package-lock.json").packages)) {
    // Inside the program's tarball are copies of our libraries.
    if (/node_modules\/@effect-xds\/cli\/node_modules\/@effect-xds/.test(path)) continue
    for (const name of named) {
      if (path.endsWith(`/node_modules/${name}`) && path !== `node_modules/${name}`)
        problems.push(`a second ${name} at ${path}`)
    }
    if (path.includes(`node_modules/${scope}`) && !resolved.startsWith("file:")) {
      problems.push(`${path.slice(13)}: npm installed it from ${resolved}, not from the tarball`)
    }
  }

  // Loaded only when they are needed: a run that finds nothing changed is to be quick.
  const { default: ts } = await import("typescript")
  const { publint } = await import("publint")
  const { formatMessage } = await import("publint/utils")
  const attw = fileURLToPath(import.meta.resolve("@arethetypeswrong/cli/package.json")).replace(
    "package.json",
    "dist/index.js"
  )
  const packages = new Map()
  for (const name of folders) {
    const folder = join(consumer, "node_modules", scope + name)
    const files = filesOf(folder).filter((file) => !file.startsWith("node_modules/"))
    packages.set(name, { files, folder, json: readJson(folder, "package.json"), ts })
  }

  writeFileSync(join(consumer, "import.mjs"), importer)
  writeFileSync(join(consumer, "tsconfig.json"), JSON.stringify(tsconfig))
  const counts = { modules: 0 }
  const examples = pages.flatMap((path) => Snippets.write(consumer, path.replace(/\W+/g, "-"), readText(home, path)))
  for (const [name, contents] of packages) {
    checkFiles(name, contents)
    checkImports(name, contents)
    await checkPrograms(name, contents, consumer)
    const { closed, open } = exportsOf(contents)
    counts.modules += open.length
    // The entry point has values; a subpath may hold types alone.
    const imported = await node(["import.mjs", JSON.stringify({ open, closed }), scope + name], {
      cwd: consumer,
      minutes: 1
    })
    if (!imported.ok) report(name, `import in Node: ${tail(imported.output)}`)
    const lines = imported.stdout.split("\n").filter((text) => text !== "")
    reportAll(
      name,
      lines.map((line) => line.replaceAll(join(consumer, "node_modules", "/"), ""))
    )

    const all = open.map((specifier, index) => `export * as m${index} from "${specifier}"\n`)
    writeFileSync(join(consumer, `${name}.exports.ts`), all.join(""))
    const page = existsSync(join(contents.folder, "README.md")) ? readText(contents.folder, "README.md") : ""
    const written = Snippets.write(consumer, name, page)
    checkInstall(name, contents, page, written)
    examples.push(...written)

    const tarball = tarballOf.get(scope + name)
    const linted = await publint({ pkgDir: contents.folder, pack: false, level: "warning" })
    for (const message of linted.messages)
      report(name, `publint: ${formatMessage(message, linted.pkg, { color: false })}`)
    // attw needs 50 ms for a module: of the generated ones, which are all alike, the first will do.
    const own = open.filter((specifier) => !/\/(envoy|google|grpc|udpa|validate|xds)\//.test(specifier))
    const entries = [...own, ...open.filter((specifier) => !own.includes(specifier)).slice(0, 1)]
    if (entries.length === 0) continue
    const typed = await node(
      [
        attw,
        tarball,
        ...["--profile", "esm-only", "--no-definitely-typed", "--no-emoji", "--format", "ascii"],
        ...["--entrypoints", ...entries.map((specifier) => `.${specifier.slice(scope.length + name.length)}`)]
      ],
      { cwd: work }
    )
    if (!typed.ok) report(name, `attw: ${faults(typed.output)}`)
  }

  const compiled = await node([join(home, "node_modules/typescript/bin/tsc"), "--pretty", "false"], { cwd: consumer })
  if (!compiled.ok) {
    const errors = compiled.output.split("\n").filter((line) => /error TS/.test(line))
    if (errors.length === 0) problems.push(`tsc: ${tail(compiled.output)}`)
    for (const error of errors.slice(0, 30)) {
      const own = /^node_modules\/@effect-xds\/([^/]+)|^([^/]+)\.(?:exports|example\d+(?:\.test)?)\.ts/.exec(error)
      if (own === null) problems.push(`types: ${error}`)
      else report(own[1] ?? own[2], `types: ${error.replaceAll(join(consumer, "node_modules", "/"), "")}`)
    }
    if (errors.length > 30) problems.push(`types: ${errors.length - 30} more errors`)
  }

  if (compiled.ok) {
    for (const [{ line, page }, problem] of await Snippets.problems(consumer, examples)) {
      problems.push(`${page}: the example at line ${line}: ${problem}`)
    }
  }
  const newest = await checkNewest(work, tarballOf)

  const sizes = [...packages].map(([name, { files, folder }]) => {
    const unpacked = files.reduce((sum, file) => sum + statSync(join(folder, file)).size, 0)
    return `${name} ${kilobytes(statSync(tarballOf.get(scope + name)).size)} (${kilobytes(unpacked)} unpacked)`
  })
  return `${packages.size} packages, ${counts.modules} modules work as installed, ${examples.length} examples compile and run; ${newest}; packed: ${sizes.join(", ")}`
}

const stamp = join(home, "node_modules", ".cache", "effect-xds-packages.json")
const hash = inputHash()
const before = existsSync(stamp) ? readJson(stamp) : undefined
if (before?.hash === hash) {
  process.stdout.write(`packages: unchanged, ${before.summary}\n`)
} else {
  const work = mkdtempSync(join(tmpdir(), "effect-xds-packages-"))
  process.on("exit", () => rmSync(work, { recursive: true, force: true }))
  for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => process.exit(1))
  const summary = await check(work)
  if (problems.length > 0) {
    for (const problem of problems) process.stdout.write(`packages: ${problem}\n`)
    process.stdout.write(`packages: FAILED, ${problems.length} ${problems.length === 1 ? "problem" : "problems"}\n`)
    process.exitCode = 1
  } else {
    mkdirSync(dirname(stamp), { recursive: true })
    // What was changed meanwhile was perhaps not packed.
    if (inputHash() === hash) writeFileSync(stamp, JSON.stringify({ hash, summary }))
    process.stdout.write(`packages: ${summary}\n`)
  }
}
