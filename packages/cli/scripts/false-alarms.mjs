// Whether the rules of `@effect-xds/validate` have something against configurations of others that are known to work:
//
//   node packages/cli/scripts/false-alarms.mjs DIRECTORY [--envoy FILE]
//
// Every YAML or JSON file below the directory with `static_resources` in it is an Envoy's bootstrap; its listeners, clusters and
// secrets are checked as one group. With the program of an Envoy only what it takes counts: what it refuses (a file that is not
// there, an extension that it does not have) is told apart. Ends with 1 if an error is told of what Envoy takes. A good start:
// `git clone https://github.com/envoyproxy/examples`.
import { fromJson, toBinary } from "@bufbuild/protobuf"
import { ResourceType, TypeRegistry } from "@effect-xds/proto"
import { GroupRules, Rules } from "@effect-xds/validate"
import { Effect, Either } from "effect"
import { spawnSync } from "node:child_process"
import { readdirSync, readFileSync } from "node:fs"
import { join, relative } from "node:path"
import { parseArgs } from "node:util"
import { parseAllDocuments } from "yaml"

const { positionals, values } = parseArgs({ allowPositionals: true, options: { envoy: { type: "string" } } })
const [directory] = positionals
if (directory === undefined) {
  console.error("node packages/cli/scripts/false-alarms.mjs DIRECTORY [--envoy FILE]")
  process.exit(2)
}

const kinds = { listeners: ResourceType.Listener, clusters: ResourceType.Cluster, secrets: ResourceType.Secret }

const encode = async (type, value) => {
  const schema = await type.load()
  const message = fromJson(schema, value, { registry: await TypeRegistry.forJson(value) })
  return { typeUrl: type.typeUrl, name: ResourceType.nameOf(type, message) ?? "", value: toBinary(schema, message) }
}

const bootstrapsIn = (text) => {
  try {
    return parseAllDocuments(text, { merge: true })
      .map((document) => document.toJS({ maxAliasCount: -1 }))
      .filter((each) => typeof each?.static_resources === "object" && each.static_resources !== null)
  } catch {
    return []
  }
}

const taken = (file) =>
  values.envoy === undefined ||
  spawnSync(values.envoy, ["--mode", "validate", "-c", file, "-l", "off"], {
    timeout: 30_000,
    env: { ...process.env, ENVOY_UID: "0" }
  }).status === 0

let files = 0
let resources = 0
let alarms = 0
const notRead = []
const refused = []
for (const name of readdirSync(directory, { recursive: true, encoding: "utf8" }).sort()) {
  if (!/\.(?:ya?ml|json)$/.test(name)) continue
  const file = join(directory, name)
  for (const { static_resources: found } of bootstrapsIn(readFileSync(file, "utf8"))) {
    const group = []
    try {
      for (const [kind, type] of Object.entries(kinds)) {
        for (const each of found[kind] ?? []) group.push(await encode(type, each))
      }
    } catch (cause) {
      notRead.push(`${relative(directory, file)}: ${cause.message}`)
      continue
    }
    files++
    resources += group.length
    const { faults } = await Effect.runPromise(GroupRules.check(group, { maxFaults: 1000 }))
    const lines = faults.map((fault) => `${fault.severity} ${fault.rule}: ${GroupRules.toText(fault)}`)
    for (const resource of group) {
      const verdict = await Effect.runPromise(Effect.either(Rules.resource(resource)))
      if (Either.isLeft(verdict)) lines.push(`error field: ${verdict.left.message}`)
    }
    if (lines.length === 0) continue
    if (!taken(file)) {
      refused.push(...lines.map((line) => `${relative(directory, file)}: ${line}`))
      continue
    }
    for (const line of lines) {
      if (line.startsWith("error")) alarms++
      console.log(`${relative(directory, file)}: ${line}`)
    }
  }
}
for (const line of notRead) console.log(`not read: ${line}`)
for (const line of refused) console.log(`refused by Envoy, too: ${line}`)
console.log(`${files} bootstraps with ${resources} resources: ${alarms} errors told of what works`)
process.exitCode = alarms > 0 ? 1 : 0
