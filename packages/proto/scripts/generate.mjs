// Generates gen/ from the .proto files inside the npm package @grpc/grpc-js-xds, and from those of gRPC's own services in
// protos/, which no package has. Offline; writes only .proto/ and gen/.
import { execFileSync } from "node:child_process"
import { cpSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { createRequire } from "node:module"
import { dirname, join } from "node:path"
import { fileURLToPath, pathToFileURL } from "node:url"

const home = dirname(dirname(fileURLToPath(import.meta.url)))
const require = createRequire(import.meta.url)
const work = join(home, ".proto")
const sources = join(work, "sources")
const own = join(home, "protos")
const out = join(home, "gen")
// Built beside it and renamed at the end, so that gen/ is always whole.
const gen = join(work, "gen")

// Their imports (opencensus, opentelemetry, prometheus) are not in the package. trace.proto imports one of the others.
const leftOut = [
  "envoy/config/trace/v3/opencensus.proto",
  "envoy/config/trace/v3/trace.proto",
  "envoy/extensions/access_loggers/open_telemetry/v3/logs_service.proto",
  "envoy/service/metrics/v3/metrics_service.proto",
  "envoy/service/trace/v3/trace_service.proto"
]

// Envoy's files use StringRules.ignore_empty, which the validate.proto in the package lacks.
const validateProto = "validate/validate.proto"
const patchAfter = "  optional bool strict = 25 [default = true];\n"
const patchLines =
  "\n  // Skips the rules when the field is empty (protoc-gen-validate 0.6).\n  optional bool ignore_empty = 26;\n"

const fail = (message) => {
  throw new Error(`packages/proto: ${message}`)
}

/** The .proto files we want, with everything they import: relative path → absolute path. */
const select = () => {
  const deps = join(dirname(require.resolve("@grpc/grpc-js-xds/package.json")), "deps")
  const files = new Map()
  for (const root of ["envoy-api", "xds", "googleapis", "protoc-gen-validate"]) {
    for (const entry of readdirSync(join(deps, root), { recursive: true })) {
      if (entry.endsWith(".proto")) files.set(entry.replaceAll("\\", "/"), join(deps, root, entry))
    }
  }
  const importsOf = new Map()
  for (const [name, file] of files) {
    const imports = [...readFileSync(file, "utf8").matchAll(/^import (?:public |weak )?"([^"]+)"/gm)].map((m) => m[1])
    // The well-known types come from @bufbuild/protobuf.
    importsOf.set(
      name,
      imports.filter((i) => !i.startsWith("google/protobuf/"))
    )
  }
  const broken = new Set()
  for (let before = -1; before !== broken.size;) {
    before = broken.size
    for (const [name, imports] of importsOf) {
      if (imports.some((i) => !files.has(i) || broken.has(i))) broken.add(name)
    }
  }
  const roots = [...files.keys()].filter(
    (name) =>
      (/^(envoy|udpa|xds)\//.test(name) && !/\/v[12][a-z0-9]*\//.test(name)) || /^google\/rpc\/\w+\.proto$/.test(name)
  )
  const unusable = roots.filter((name) => broken.has(name)).sort()
  if (unusable.join() !== leftOut.join()) {
    fail(`the files with missing imports have changed: ${unusable.join(", ")}. Update leftOut in scripts/generate.mjs`)
  }
  const wanted = new Map()
  const add = (name) => {
    if (wanted.has(name)) return
    wanted.set(name, files.get(name))
    importsOf.get(name).forEach(add)
  }
  roots.filter((name) => !broken.has(name)).forEach(add)
  for (const entry of readdirSync(own, { recursive: true })) {
    if (entry.endsWith(".proto")) wanted.set(entry.replaceAll("\\", "/"), join(own, entry))
  }
  return wanted
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

/** gen/index.js: which module defines a message, enum or extension, without loading any of them. */
const writeIndex = async (files) => {
  const { nestedTypes } = await import("@bufbuild/protobuf/reflect")
  const modules = []
  const types = []
  for (const name of [...files.keys()].sort()) {
    const path = name.replace(/\.proto$/, "_pb.js")
    const exported = await import(pathToFileURL(join(gen, path)).href)
    const file = Object.values(exported).find((value) => value?.kind === "file")
    if (file === undefined) fail(`gen/${path} exports no file descriptor`)
    for (const type of nestedTypes(file)) {
      if (type.kind === "message" || type.kind === "enum" || type.kind === "service" || type.kind === "extension") {
        types.push([type.typeName, modules.length])
      }
    }
    modules.push([path, Object.keys(exported).find((key) => exported[key] === file)])
  }
  const js = [
    "// Generated by scripts/generate.mjs.",
    `export const files = [\n${modules.map(([path, key]) => `  () => import("./${path}").then((m) => m.${key})`).join(",\n")}\n]`,
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

rmSync(work, { recursive: true, force: true })
const files = select()
copy(files)
try {
  execFileSync(
    process.execPath,
    [require.resolve("@bufbuild/buf/bin/buf"), "generate", sources, "--template", "buf.gen.yaml", "--output", work],
    {
      cwd: home,
      stdio: ["ignore", "pipe", "pipe"]
    }
  )
} catch (error) {
  fail(`buf generate failed:\n${error.stderr}${error.stdout}`)
}
await writeIndex(files)
rmSync(out, { recursive: true, force: true })
renameSync(gen, out)
rmSync(work, { recursive: true, force: true })
