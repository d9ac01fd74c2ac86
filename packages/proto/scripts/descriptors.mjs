// `npm run descriptors`: refreshes descriptors/envoy.binpb.gz, what Envoy's API is made of (names, numbers, types, options;
// no comments), from the Go modules pinned in scripts/descriptors/go.mod, and prints what changed. Needs Go, and nothing
// else of the repository does. `--check` only compares, and fails when something differs.
import { fromBinary } from "@bufbuild/protobuf"
import { FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt"
import { execFileSync } from "node:child_process"
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { gunzipSync, gzipSync } from "node:zlib"

const scripts = dirname(fileURLToPath(import.meta.url))
const program = join(scripts, "descriptors")
const target = join(dirname(scripts), "descriptors", "envoy.binpb.gz")

/** Every package of the first two is linked into the program; of the third those with the types of errors. */
const modules = ["github.com/envoyproxy/go-control-plane/envoy", "github.com/cncf/xds/go"]
const single = [
  "google.golang.org/genproto/googleapis/rpc/code",
  "google.golang.org/genproto/googleapis/rpc/errdetails"
]

const stop = (reason) => {
  process.stderr.write(`descriptors: ${reason}\n`)
  process.exit(1)
}

const go = (...args) => {
  try {
    return execFileSync("go", args, {
      cwd: program,
      env: { ...process.env, GOFLAGS: "-buildvcs=false -mod=mod", GOWORK: "off" },
      maxBuffer: 64 * 1024 * 1024,
      stdio: ["ignore", "pipe", "pipe"]
    })
  } catch (error) {
    return stop(
      error.code === "ENOENT" ? "Go is needed (the program `go`)" : `go ${args.join(" ")}: ${error.stderr ?? error}`
    )
  }
}

/** The packages of a module: its folders with Go files. */
const packagesOf = (module) => {
  go("mod", "download", module)
  const folder = go("list", "-m", "-f", "{{.Dir}}", module).toString().trim()
  const files = readdirSync(folder, { recursive: true }).map((name) => name.replaceAll("\\", "/"))
  const folders = files.filter((name) => /(?<!_test)\.go$/.test(name)).map((name) => dirname(name))
  return [...new Set(folders)].sort().map((name) => (name === "." ? module : `${module}/${name}`))
}

/** The descriptors, as the Go program writes them: the same bytes for the same versions. */
const make = () => {
  const imports = join(program, "imports.go")
  const packages = [...modules.flatMap(packagesOf), ...single]
  writeFileSync(imports, `package main\n\nimport (\n${packages.map((name) => `\t_ "${name}"\n`).join("")})\n`)
  try {
    go("mod", "tidy")
    return go("run", ".")
  } finally {
    rmSync(imports)
  }
}

/** Every message, field, oneof, enum, value, service and method of a set: its name → what it is. */
const contents = (bytes) => {
  const found = new Map()
  const addEnum = (scope, { name, value }) => {
    found.set(`enum ${scope}.${name}`, "")
    for (const { name: key, number } of value) found.set(`value ${scope}.${name}.${key}`, `= ${number}`)
  }
  const addMessage = (scope, message) => {
    if (message.options?.mapEntry === true) return
    const name = `${scope}.${message.name}`
    found.set(`message ${name}`, "")
    for (const field of message.field) {
      const options = field.options?.deprecated === true ? " deprecated" : ""
      found.set(
        `field ${name}.${field.name}`,
        `= ${field.number}, ${field.label === 3 ? "repeated " : ""}${field.typeName || `type ${field.type}`}${options}`
      )
    }
    for (const inner of message.nestedType) addMessage(name, inner)
    for (const inner of message.enumType) addEnum(name, inner)
  }
  for (const file of fromBinary(FileDescriptorSetSchema, bytes).file) {
    found.set(`file ${file.name}`, "")
    for (const message of file.messageType) addMessage(file.package, message)
    for (const type of file.enumType) addEnum(file.package, type)
    for (const service of file.service) {
      found.set(`service ${file.package}.${service.name}`, "")
      for (const { inputType, name, outputType } of service.method) {
        found.set(`method ${file.package}.${service.name}.${name}`, `${inputType} → ${outputType}`)
      }
    }
  }
  return found
}

const printChanges = (before, after) => {
  const removed = [...before.keys()].filter((name) => !after.has(name))
  const added = [...after.keys()].filter((name) => !before.has(name))
  const changed = [...after].filter(([name, what]) => before.has(name) && before.get(name) !== what)
  // What is in something that is new or gone is not listed for itself.
  const isInListed = (listed) => (name) => {
    const [, path = ""] = name.split(" ")
    const outer = path.slice(0, path.lastIndexOf("."))
    return !["message", "enum", "service"].some((kind) => listed.has(`${kind} ${outer}`))
  }
  for (const name of removed.filter(isInListed(new Set(removed)))) process.stdout.write(`- ${name}\n`)
  for (const name of added.filter(isInListed(new Set(added)))) process.stdout.write(`+ ${name}\n`)
  for (const [name, what] of changed) process.stdout.write(`~ ${name}: ${before.get(name)} → ${what}\n`)
  const count = (names, kind) => names.filter((name) => name.startsWith(`${kind} `)).length
  const summary = ["file", "message", "field", "enum", "service"].map(
    (kind) => `${kind}s: ${count([...after.keys()], kind)} (+${count(added, kind)} -${count(removed, kind)})`
  )
  process.stdout.write(`${summary.join(", ")}\n`)
}

const made = make()
const before = existsSync(target) ? gunzipSync(readFileSync(target)) : Buffer.alloc(0)
printChanges(contents(before), contents(made))
const version = go("list", "-m", "-f", "{{.Version}}", modules[0]).toString().trim()
if (before.equals(made)) {
  process.stdout.write(`${version}: nothing has changed\n`)
} else if (process.argv.includes("--check")) {
  stop(`descriptors/envoy.binpb.gz is not what ${version} has: run it without --check`)
} else {
  // The header has no name and no time; the system that it names is always the same.
  const file = gzipSync(made, { level: 9 })
  file[9] = 0xff
  writeFileSync(target, file)
  process.stdout.write(
    `${version}: descriptors/envoy.binpb.gz is written (${file.byteLength} bytes). ` +
      "Its version is also in NOTICE and src/EnvoyApi.ts; then run scripts/sensitive.mjs\n"
  )
}
