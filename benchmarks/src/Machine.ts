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

/** Versions of what is measured, as far as this process knows them. */
export const versions = (): Record<string, string> => {
  const found: Record<string, string> = {
    node: process.version,
    v8: process.versions.v8,
    effect: versionOf("effect"),
    "@bufbuild/protobuf": versionOf("@bufbuild/protobuf"),
    "@grpc/grpc-js": versionOf("@grpc/grpc-js"),
    "@grpc/grpc-js-xds": versionOf("@grpc/grpc-js-xds")
  }
  try {
    const home = dirname(dirname(import.meta.dirname))
    const git = (...args: ReadonlyArray<string>): string =>
      execFileSync("git", args, { cwd: home, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }).trim()
    const changed = git("status", "--porcelain", "--", "packages").length > 0
    found["effect-xds"] = `${git("rev-parse", "--short=10", "HEAD")}${changed ? " with changes" : ""}`
  } catch {
    // No git, or no repository: there is nothing to tell.
  }
  return found
}
