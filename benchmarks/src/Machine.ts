/** Where and with what it was measured. */
import * as Schema from "effect/Schema"
import { execFileSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { createRequire } from "node:module"
import { availableParallelism, cpus, loadavg, release, totalmem } from "node:os"
import { dirname, join } from "node:path"

export const Machine = Schema.Struct({
  cpu: Schema.String,
  cores: Schema.Number,
  memoryGigabytes: Schema.Number,
  kernel: Schema.String
})
export type Machine = typeof Machine.Type

/** Processes that ran or wanted to, in the last minute. */
export const load = (): number => loadavg()[0] ?? 0

export const machine = (): Machine => ({
  cpu: cpus()[0]?.model.trim() ?? "unknown",
  cores: availableParallelism(),
  memoryGigabytes: Math.round(totalmem() / 2 ** 30),
  kernel: release()
})

const decodeManifest = Schema.decodeUnknownSync(Schema.parseJson(Schema.Struct({ version: Schema.String })))

const versionOf = (name: string): string => {
  const entry = createRequire(import.meta.url).resolve(name)
  const root = entry.slice(0, entry.lastIndexOf(join("node_modules", name))) + join("node_modules", name)
  return decodeManifest(readFileSync(join(root, "package.json"), "utf8")).version
}

/** The commit of a checkout; `undefined` if there is no git, or no repository. */
const commitOf = (home: string): string | undefined => {
  const git = (...args: ReadonlyArray<string>): string =>
    execFileSync("git", args, { cwd: home, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }).trim()
  try {
    const changed = git("status", "--porcelain", "--", "packages").length > 0
    return `${git("rev-parse", "--short=10", "HEAD")}${changed ? " with changes" : ""}`
  } catch {
    return undefined
  }
}

/** Versions of what is measured, as far as this process knows them. `before`: the folder of another checkout. */
export const versions = (before: string | undefined): Record<string, string> => {
  const found: Record<string, string> = {
    node: process.version,
    v8: process.versions.v8,
    effect: versionOf("effect"),
    "@bufbuild/protobuf": versionOf("@bufbuild/protobuf"),
    "@grpc/grpc-js": versionOf("@grpc/grpc-js"),
    "@grpc/grpc-js-xds": versionOf("@grpc/grpc-js-xds")
  }
  const homes = { "effect-xds": dirname(dirname(import.meta.dirname)), "effect-xds of --before": before }
  for (const [name, home] of Object.entries(homes)) {
    const commit = home === undefined ? undefined : commitOf(home)
    if (commit !== undefined) found[name] = commit
  }
  return found
}
