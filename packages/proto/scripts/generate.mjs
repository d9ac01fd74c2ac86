// Generates gen/ of this package and of proto-v2 from descriptors/envoy.binpb.gz and, for gRPC's own services, from the
// .proto files in protos/. Descriptors have no comments: those of the .proto files in the npm package @grpc/grpc-js-xds
// are put in. Offline; writes only .proto/ and the two gen/.
import { create, fromBinary, toBinary } from "@bufbuild/protobuf"
import { FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt"
import { execFileSync } from "node:child_process"
import { cpSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { createRequire } from "node:module"
import { dirname, join, posix } from "node:path"
import { fileURLToPath } from "node:url"
import { gunzipSync } from "node:zlib"
import { graft } from "./comments.mjs"

const home = dirname(dirname(fileURLToPath(import.meta.url)))
const require = createRequire(import.meta.url)
const work = join(home, ".proto")
const sources = join(work, "sources")
const own = join(home, "protos")
const all = join(work, "gen")

// Envoy's files use StringRules.ignore_empty, which the validate.proto in the npm package lacks.
const validateProto = "validate/validate.proto"
const patchAfter = "  optional bool strict = 25 [default = true];\n"
const patchLines =
  "\n  // Skips the rules when the field is empty (protoc-gen-validate 0.6).\n  optional bool ignore_empty = 26;\n"

const fail = (message) => {
  throw new Error(`packages/proto: ${message}`)
}

const protosIn = (folder) =>
  readdirSync(folder, { recursive: true })
    .filter((name) => name.endsWith(".proto"))
    .map((name) => name.replaceAll("\\", "/"))

/** The .proto files of the npm package that compile: those whose imports it has. Relative path → absolute path. */
const commentedFiles = () => {
  const deps = join(dirname(require.resolve("@grpc/grpc-js-xds/package.json")), "deps")
  const files = new Map()
  for (const root of ["envoy-api", "xds", "googleapis", "protoc-gen-validate"]) {
    for (const name of protosIn(join(deps, root))) {
      if (/^(envoy|udpa|xds|validate|google\/(api|rpc))\//.test(name)) files.set(name, join(deps, root, name))
    }
  }
  const importsOf = new Map()
  for (const [name, file] of files) {
    const imports = [...readFileSync(file, "utf8").matchAll(/^import (?:public |weak )?"([^"]+)"/gm)].map((m) => m[1])
    // The well-known types are buf's.
    importsOf.set(
      name,
      imports.filter((i) => !i.startsWith("google/protobuf/"))
    )
  }
  for (let before = -1; before !== files.size;) {
    before = files.size
    for (const name of [...files.keys()]) if (importsOf.get(name).some((i) => !files.has(i))) files.delete(name)
  }
  return files
}

const copy = (files) => {
  for (const [name, file] of files) {
    const target = join(sources, name)
    mkdirSync(dirname(target), { recursive: true })
    if (name !== validateProto) {
      cpSync(file, target)
      continue
    }
    const text = readFileSync(file, "utf8").replaceAll("\r\n", "\n")
    const rules = text.slice(text.indexOf("message StringRules {"), text.indexOf("message BytesRules {"))
    if (rules.split(patchAfter).length !== 2 || /\bignore_empty\b|= 26\b/.test(rules)) {
      fail(`the patch of ${validateProto} (StringRules.ignore_empty) no longer fits. See scripts/generate.mjs`)
    }
    writeFileSync(target, text.replace(rules, rules.replace(patchAfter, patchAfter + patchLines)))
  }
}

const buf = (...args) => {
  try {
    execFileSync(process.execPath, [require.resolve("@bufbuild/buf/bin/buf"), ...args], {
      cwd: home,
      stdio: ["ignore", "pipe", "pipe"]
    })
  } catch (error) {
    fail(`buf ${args[0]} failed:\n${error.stderr}${error.stdout}`)
  }
}

const readSet = (bytes) => fromBinary(FileDescriptorSetSchema, bytes).file

/** The files whose modules are of proto-v2: of Envoy's API before v3, and not imported by a file of v3. */
const filesOfV2 = (files) => {
  const byName = new Map(files.map((file) => [file.name, file]))
  const isOld = ({ name }) => /^envoy\/.*\/v[12][a-z0-9]*\//.test(name)
  const current = new Set()
  const add = (name) => {
    if (current.has(name)) return
    current.add(name)
    byName.get(name).dependency.forEach(add)
  }
  for (const file of files) if (!isOld(file)) add(file.name)
  return files.filter((file) => !current.has(file.name))
}

const moduleOf = ({ name }) => name.replace(/\.proto$/, "_pb.js")

/** The full names of what a file defines, in the order of the file. */
const typesIn = (file) => {
  const inMessage = (message, outer) => {
    // Maps are fields to who uses them.
    if (message.options?.mapEntry === true) return []
    const name = `${outer}${message.name}`
    return [
      name,
      ...message.nestedType.flatMap((inner) => inMessage(inner, `${name}.`)),
      ...[...message.enumType, ...message.extension].map((inner) => `${name}.${inner.name}`)
    ]
  }
  const scope = file.package === "" ? "" : `${file.package}.`
  return [
    ...file.enumType.map(({ name }) => `${scope}${name}`),
    ...file.messageType.flatMap((message) => inMessage(message, scope)),
    ...[...file.extension, ...file.service].map(({ name }) => `${scope}${name}`)
  ]
}

/** index.js: which module defines a message, enum, service or extension, without loading any of them. */
const writeIndex = (files, gen) => {
  const modules = []
  const types = []
  for (const file of files) {
    const path = moduleOf(file)
    const [, name] = /^export const (file_\w+)/m.exec(readFileSync(join(gen, path), "utf8")) ?? []
    if (name === undefined) fail(`gen/${path} exports no file descriptor`)
    for (const type of typesIn(file)) types.push([type, modules.length])
    modules.push([path, name])
  }
  const js = [
    "// Generated by scripts/generate.mjs.",
    `export const files = [\n${modules.map(([path, name]) => `  () => import("./${path}").then((m) => m.${name})`).join(",\n")}\n]`,
    `export const types = new Map([\n${types.map(([type, index]) => `  ["${type}", ${index}]`).join(",\n")}\n])`,
    ""
  ]
  writeFileSync(join(gen, "index.js"), js.join("\n"))
  writeFileSync(
    join(gen, "index.d.ts"),
    [
      "// Generated by scripts/generate.mjs.",
      'import type { DescFile } from "@bufbuild/protobuf"',
      "/** One loader for each generated file. */",
      "export declare const files: ReadonlyArray<() => Promise<DescFile>>",
      "/** Fully qualified type name → index in `files`. */",
      "export declare const types: ReadonlyMap<string, number>",
      ""
    ].join("\n")
  )
}

/** Moves modules into a folder of their own; what they import of the others comes from the package that has those. */
const split = (files, gen) => {
  const moved = new Set(files.map(moduleOf))
  for (const path of moved) {
    mkdirSync(dirname(join(gen, path)), { recursive: true })
    const folder = posix.dirname(path)
    for (const name of [path, path.replace(/\.js$/, ".d.ts")]) {
      const text = readFileSync(join(all, name), "utf8").replaceAll(/(?<= from ")\.[^"]+(?=";$)/gm, (specifier) => {
        const imported = posix.join(folder, specifier)
        return moved.has(imported) ? specifier : `@effect-xds/proto/${imported.replace(/_pb\.js$/, "")}`
      })
      writeFileSync(join(gen, name), text)
      rmSync(join(all, name))
    }
  }
}

/** The modules make their descriptors with scripts/fileDesc.mjs. */
const withFileDesc = (files, gen) => {
  for (const path of files.map(moduleOf)) {
    const text = readFileSync(join(gen, path), "utf8")
    const [line, names] = /^import \{ (.+) \} from "@bufbuild\/protobuf\/codegenv2";$/m.exec(text) ?? []
    const others = names?.split(", ").filter((name) => name !== "fileDesc") ?? []
    if (line === undefined || others.length + 1 !== names.split(", ").length) {
      fail(`gen/${path} does not import fileDesc as expected. See scripts/generate.mjs`)
    }
    const lines = [
      ...(others.length === 0 ? [] : [line.replace(names, others.join(", "))]),
      `import { fileDesc } from "${posix.relative(posix.dirname(path), "fileDesc.js").replace(/^(?!\.)/, "./")}";`
    ]
    writeFileSync(join(gen, path), text.replace(line, lines.join("\n")))
  }
  cpSync(join(home, "scripts", "fileDesc.mjs"), join(gen, "fileDesc.js"))
}

const removeEmptyFolders = (folder) => {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    if (entry.isDirectory()) removeEmptyFolders(join(folder, entry.name))
  }
  if (readdirSync(folder).length === 0) rmSync(folder, { recursive: true })
}

rmSync(work, { recursive: true, force: true })
copy(commentedFiles())
const ownNames = new Set(protosIn(own))
for (const name of ownNames) cpSync(join(own, name), join(sources, name))
buf("build", sources, "--output", join(work, "sources.binpb"))
const commented = readSet(readFileSync(join(work, "sources.binpb")))

const envoy = readSet(gunzipSync(readFileSync(join(home, "descriptors", "envoy.binpb.gz"))))
graft(envoy, commented)
// The well-known types are imported only, and what is generated takes them from @bufbuild/protobuf.
const wellKnown = "google/protobuf/"
const set = [
  ...commented.filter(({ name }) => name.startsWith(wellKnown)),
  ...envoy,
  ...commented.filter(({ name }) => ownNames.has(name))
]
const image = join(work, "api.binpb")
writeFileSync(image, toBinary(FileDescriptorSetSchema, create(FileDescriptorSetSchema, { file: set })))
buf("generate", image, "--exclude-path", wellKnown, "--template", "buf.gen.yaml", "--output", work)

const generated = set.filter(({ name }) => !name.startsWith(wellKnown)).sort((a, b) => (a.name < b.name ? -1 : 1))
const old = new Set(filesOfV2(set))
const v2 = join(work, "gen-v2")
split(
  generated.filter((file) => old.has(file)),
  v2
)
removeEmptyFolders(all)
for (const [files, gen, out] of [
  [generated.filter((file) => !old.has(file)), all, join(home, "gen")],
  [generated.filter((file) => old.has(file)), v2, join(dirname(home), "proto-v2", "gen")]
]) {
  writeIndex(files, gen)
  withFileDesc(files, gen)
  // Built beside it and renamed at the end, so that it is always whole.
  rmSync(out, { recursive: true, force: true })
  renameSync(gen, out)
}
rmSync(work, { recursive: true, force: true })
