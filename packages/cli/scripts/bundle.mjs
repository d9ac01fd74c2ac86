// `node scripts/bundle.mjs FOLDER`: the built program as few files with everything in them, Process.js and what it loads later, and
// the licences of what is in them. Started so, it is there in half of the time.
import { build } from "esbuild"
import { readdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"

const home = fileURLToPath(new URL("..", import.meta.url))
const folder = process.argv[2]
if (folder === undefined) {
  process.stdout.write("bundle: name the folder that the files go into\n")
  process.exit(2)
}

const { metafile } = await build({
  absWorkingDir: home,
  entryPoints: [join(home, "dist", "Process.js")],
  outdir: folder,
  bundle: true,
  splitting: true,
  format: "esm",
  platform: "node",
  target: "node20",
  // As Node resolves packages.
  conditions: ["node"],
  // Its drivers are binaries: with a store the program is read as it was built.
  external: ["@effect-xds/store-sql/*"],
  mainFields: ["main"],
  // What is CommonJS in it asks for modules of Node.
  banner: {
    js: 'import { createRequire as requireOf } from "node:module"; const require = requireOf(import.meta.url);'
  },
  plugins: [
    {
      name: "exports of CommonJS",
      setup: ({ onResolve }) => {
        // What is imported while it runs would have no names but `default`: Node finds them.
        onResolve({ filter: /^yaml$/ }, ({ kind, path }) =>
          kind === "dynamic-import" ? { path, external: true } : undefined
        )
      }
    }
  ],
  metafile: true,
  logLevel: "error"
})

/** The files that are in it, by the folders of the packages of others that they are from. */
const packages = new Map()
for (const input of Object.keys(metafile.inputs)) {
  const found = /^(.*\/node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(input)
  if (found === null || found[1].includes("/node_modules/@effect-xds/")) continue
  const [, path] = found
  packages.set(path, [...(packages.get(path) ?? []), input])
}

/** Where a package has no file with its licence, its sources begin with what they are under. */
const heads = (files) => {
  const found = new Set()
  for (const file of files) {
    const head = /^(?:\/\/.*\n)+/.exec(readFileSync(join(home, file), "utf8"))
    if (head !== null) found.add(head[0].replace(/^\/\/ ?/gm, "").trim())
  }
  return [...found].join("\n\n")
}

const read = (...path) => readFileSync(join(...path), "utf8").trim()
const texts = new Map()
for (const [path, files] of packages) {
  const { license, name, version } = JSON.parse(read(home, path, "package.json"))
  const file = readdirSync(join(home, path)).find((entry) => /^licen[cs]e/i.test(entry))
  texts.set(`${name} ${version} (${license})`, file === undefined ? heads(files) : read(home, path, file))
}
texts.set("Apache-2.0", read(home, "..", "..", "node_modules", "typescript", "LICENSE.txt"))
const licences = [...texts].map(([name, text]) => `${name}\n\n${text}\n`).sort()
writeFileSync(join(folder, "LICENSES.txt"), licences.join(`\n${"-".repeat(80)}\n\n`))
