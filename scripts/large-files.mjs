// `npm run large-files`: 130 000 clusters of some 400 bytes in one file, in every format, each read by a process of its own
// through the library, by `effect-xds validate` and by `effect-xds serve`; minutes.
//
//   --count N        clusters. Default 130 000
//   --cpu SECONDS    the most that one may take. Default 10: on a machine that does nothing else
//   --memory MB      the most that one may hold. Default 1000
//
// Ends with 1 if one takes more, or reads something else than what was written. Needs the build (scripts/setup.mjs).
import { spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath, pathToFileURL } from "node:url"
import * as Options from "./options.mjs"

const { numberOf } = Options.parse(import.meta.url, {
  count: { type: "string" },
  cpu: { type: "string" },
  memory: { type: "string" }
})
const count = numberOf("count", 1, 130_000)
const maxCpu = numberOf("cpu", 1, 10)
const maxMemory = numberOf("memory", 1, 1_000)

const fromHere = (path) => fileURLToPath(new URL(path, import.meta.url))
const library = pathToFileURL(fromHere("../packages/transport-filesystem/dist/ResourceFile.js")).href
const effect = pathToFileURL(fromHere("../packages/transport-filesystem/node_modules/effect/dist/esm/Effect.js")).href
const program = fromHere("../packages/cli/dist/main.js")

const type = "type.googleapis.com/envoy.config.cluster.v3.Cluster"
const names = Array.from({ length: count }, (_, index) => `cluster-${String(index).padStart(6, "0")}`)

const json = (name) =>
  JSON.stringify({
    "@type": type,
    name,
    type: "EDS",
    connect_timeout: "1s",
    eds_cluster_config: { eds_config: { ads: {}, resource_api_version: "V3" }, service_name: name },
    lb_policy: "LEAST_REQUEST",
    circuit_breakers: { thresholds: [{ max_connections: 1024 }] },
    health_checks: [
      {
        timeout: "1s",
        interval: "5s",
        unhealthy_threshold: 3,
        healthy_threshold: 2,
        http_health_check: { path: "/ok" }
      }
    ]
  })

const yaml = (name) => `- "@type": ${type}
  name: ${name}
  type: EDS
  connect_timeout: 1s
  eds_cluster_config:
    eds_config: { ads: {}, resource_api_version: V3 }
    service_name: ${name}
  lb_policy: LEAST_REQUEST
  circuit_breakers:
    thresholds:
      - max_connections: 1024
  health_checks:
    - timeout: 1s
      interval: 5s
      unhealthy_threshold: 3
      healthy_threshold: 2
      http_health_check: { path: /ok }
`

const text = (name) => `resources { [${type}] {
  name: "${name}" type: EDS connect_timeout { seconds: 1 }
  eds_cluster_config { eds_config { ads {} resource_api_version: V3 } service_name: "${name}" }
  lb_policy: LEAST_REQUEST circuit_breakers { thresholds { max_connections { value: 1024 } } }
  health_checks { timeout { seconds: 1 } interval { seconds: 5 } unhealthy_threshold { value: 3 }
    healthy_threshold { value: 2 } http_health_check { path: "/ok" } }
} }
`

/** A field of bytes, or of a string, in binary. */
const field = (number, bytes) => {
  const length = []
  for (let rest = bytes.length; ; rest >>>= 7) {
    length.push(rest > 127 ? (rest & 127) | 128 : rest)
    if (rest <= 127) break
  }
  return Buffer.concat([Buffer.from([(number << 3) | 2, ...length]), bytes])
}

const binary = async () => {
  const [{ runPromise }, { parseResources }] = await Promise.all([import(effect), import(library)])
  const [{ value }] = await runPromise(parseResources({ file: "one.json", bytes: Buffer.from(json(names[0])) }))
  const url = field(1, Buffer.from(type))
  // All names have one length.
  const resource = (name) => {
    const bytes = Buffer.from(Buffer.from(value).toString("latin1").replaceAll(names[0], name), "latin1")
    return field(2, Buffer.concat([url, field(2, bytes)]))
  }
  return Buffer.concat([...names.map(resource), field(4, Buffer.from(type))])
}

const files = {
  "clusters.json": () => `[${names.map(json).join(",\n")}]`,
  "clusters.yaml": () => names.map(yaml).join(""),
  "clusters.txtpb": () => names.map(text).join(""),
  "clusters.pb": binary
}

/** Tells at the end what the process took. */
const told = `process.on("exit", () => {
  const { maxRSS, systemCPUTime, userCPUTime } = process.resourceUsage()
  process.stderr.write("\\n" + JSON.stringify({ cpu: (userCPUTime + systemCPUTime) / 1e6, memory: maxRSS / 1024 }))
})`

const directory = mkdtempSync(join(tmpdir(), "xds-large-"))
// What is no `.json` and the like, such as these programs, is not served.
try {
  writeFileSync(join(directory, "told.mjs"), told)
  const read = `
    import * as Effect from ${JSON.stringify(effect)}
    import { readResources } from ${JSON.stringify(library)}
    const found = await Effect.runPromise(readResources(process.argv[2]))
    console.log(found.length + " resources, the last one " + found.at(-1).name)`
  writeFileSync(join(directory, "read.mjs"), read)
  /** Ends it when it has printed what it is ready with. */
  const run = async (what, wanted, args, ready) => {
    const child = spawn(process.execPath, ["--import", pathToFileURL(join(directory, "told.mjs")).href, ...args])
    let stdout = ""
    let stderr = ""
    child.stdout.setEncoding("utf8").on("data", (chunk) => {
      stdout += chunk
      if (ready?.test(stdout) === true) child.kill("SIGTERM")
    })
    child.stderr.setEncoding("utf8").on("data", (chunk) => (stderr += chunk))
    await once(child, "close")
    const { cpu = Number.NaN, memory = Number.NaN } = JSON.parse(/^\{"cpu".*$/m.exec(stderr)?.[0] ?? "{}")
    const isRight = stdout.includes(wanted)
    const isGood = isRight && cpu <= maxCpu && memory <= maxMemory
    if (!isGood) process.exitCode = 1
    console.log(`${what}: ${cpu.toFixed(1)} s of CPU, ${memory.toFixed(0)} MB${isGood ? "" : " ← too much, or wrong"}`)
    if (!isRight) console.log(stdout.slice(0, 2_000), stderr.slice(0, 2_000))
  }
  for (const [name, content] of Object.entries(files)) {
    const file = join(directory, name)
    const bytes = await content()
    writeFileSync(file, bytes)
    const size = `${count} clusters in ${name}, ${Math.round(bytes.length / count)} bytes each`
    await run(`${size}, the library`, `${count} resources, the last one ${names.at(-1)}`, [
      join(directory, "read.mjs"),
      file
    ])
    await run(`${size}, validate`, `${count} resources in 1 file`, [program, "validate", "--no-references", file])
    const serve = [program, "serve", directory, "--port", "0", "--admin-port", "0"]
    await run(`${size}, serve`, `${count} resources in 1 group`, serve, /^admin:$/m)
    rmSync(file)
  }
} finally {
  rmSync(directory, { recursive: true, force: true })
}
