// `npm run pack`: tarballs of the packages, for a program that uses them before a registry has them.
//
//   --to FOLDER   where they go; default: packed/
//
// Makes `effect-xds-<package>.tgz` for each library, and `cli/effect-xds-cli.tgz`: the command-line program with our libraries
// inside, so that npx can run it from this one file. What others publish is installed from the registry, as always.
import { spawn } from "node:child_process"
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { basename, dirname, join, relative, resolve } from "node:path"
import { fileURLToPath } from "node:url"
import * as Options from "./options.mjs"

const home = dirname(dirname(fileURLToPath(import.meta.url)))
const scope = "@effect-xds/"
const readJson = (...path) => JSON.parse(readFileSync(join(...path), "utf8"))

/** Runs a program; its standard output. Rejects with all that it wrote if it fails, or does not end in time. */
const run = (command, args, cwd) =>
  new Promise((done, fail) => {
    const env = { ...process.env, NO_COLOR: "1", npm_config_update_notifier: "false" }
    // Set by `npm run`: it is the folder of this repository.
    delete env.npm_config_local_prefix
    const child = spawn(command, args, {
      cwd,
      env,
      shell: process.platform === "win32",
      stdio: ["ignore", "pipe", "pipe"]
    })
    const [out, all] = [[], []]
    child.stdout.on("data", (chunk) => (out.push(chunk), all.push(chunk)))
    child.stderr.on("data", (chunk) => all.push(chunk))
    const limit = setTimeout(() => child.kill("SIGKILL"), 5 * 60_000)
    child.on("error", (error) => fail(error))
    child.on("close", (code) => {
      clearTimeout(limit)
      if (code === 0) done(Buffer.concat(out).toString())
      else fail(new Error(`${command} ${args.join(" ")} failed:\n${Buffer.concat(all).toString()}`))
    })
  })

/** The name of a tarball without the version, so that an install line stays true. */
const fileOf = (name) => `${name.replace("@", "").replace("/", "-")}.tgz`

/**
 * The program with our libraries in its node_modules: npm takes them from there, and everything else from the registry. And as few
 * files with all of it, which start faster: see its main.ts.
 */
const packProgram = async (libraries, to) => {
  const work = mkdtempSync(join(tmpdir(), "effect-xds-pack-"))
  try {
    const unpack = (file, folder) => {
      mkdirSync(folder, { recursive: true })
      return run("tar", ["-xzf", file, "-C", folder, "--strip-components", "1"], work)
    }
    const program = join(work, "program")
    await unpack(libraries.get(`${scope}cli`), program)
    const manifest = readJson(program, "package.json")
    const bundled = new Set()
    const dependencies = new Map()
    /** Our packages go inside; what they need of others becomes a dependency of the program. */
    const gather = async (json) => {
      for (const [name, range] of Object.entries({ ...json.dependencies, ...json.peerDependencies })) {
        if (json.peerDependenciesMeta?.[name]?.optional === true) continue
        if (!name.startsWith(scope)) dependencies.set(name, range)
        else if (!bundled.has(name)) {
          bundled.add(name)
          const folder = join(program, "node_modules", name)
          await unpack(libraries.get(name), folder)
          rmSync(join(folder, "src"), { recursive: true, force: true })
          await gather(readJson(folder, "package.json"))
        }
      }
    }
    await gather(manifest)
    await run(
      process.execPath,
      [join(home, "packages", "cli", "scripts", "bundle.mjs"), join(program, "dist", "bundle")],
      home
    )
    const own = [...bundled].map((name) => [
      name,
      readJson(program, "node_modules", name, "package.json").version.replace(/^/, "^")
    ])
    manifest.dependencies = Object.fromEntries([...dependencies, ...own].sort(([a], [b]) => (a < b ? -1 : 1)))
    manifest.bundleDependencies = [...bundled].sort()
    writeFileSync(join(program, "package.json"), JSON.stringify(manifest, undefined, 2))
    const [{ filename }] = JSON.parse(await run("npm", ["pack", "--json", "--ignore-scripts"], program))
    mkdirSync(to, { recursive: true })
    const file = join(to, fileOf(`${scope}cli`))
    cpSync(join(program, basename(filename)), file)
    return file
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
}

/**
 * Packs all: name → tarball. `to` is emptied first.
 *
 * @returns {Promise<{ libraries: Map<string, string>, program: string }>} the program's tarball has our libraries inside
 */
export const pack = async (to) => {
  rmSync(to, { recursive: true, force: true })
  mkdirSync(to, { recursive: true })
  const { packageManager } = readJson(home, "package.json")
  const args = ["--yes", packageManager, "--recursive", "--filter", "./packages/*", "pack", "--json"]
  const said = await run("npx", [...args, "--pack-destination", to], home)
  const libraries = new Map()
  for (const { filename, name } of JSON.parse(said)) {
    const file = join(to, fileOf(name))
    renameSync(filename, file)
    libraries.set(name, file)
  }
  const program = await packProgram(libraries, join(to, "cli"))
  // The program by itself would ask a registry for our libraries.
  rmSync(libraries.get(`${scope}cli`))
  libraries.delete(`${scope}cli`)
  return { libraries, program }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const values = Options.parse(import.meta.url, { to: { type: "string", default: join(home, "packed") } })
  const to = resolve(values.to)
  if (existsSync(to) && to !== join(home, "packed")) {
    process.stdout.write(`pack: ${to} is there already; name a folder that is not, since it would be emptied\n`)
    process.exit(2)
  }
  const { libraries, program } = await pack(to)
  const shown = relative(process.cwd(), to) || "."
  process.stdout.write(
    `pack: ${libraries.size} libraries in ${shown}, the program in ${relative(process.cwd(), program)}\n\n` +
      `In the folder of your program (effect 3: npm's latest is effect 4):\n\n` +
      `  npm install effect@3 @bufbuild/protobuf@2 @effect/platform@0.97 ${to}/*.tgz\n\n` +
      `The program, without installing anything:\n\n  npx ${program} serve ./config\n`
  )
}
