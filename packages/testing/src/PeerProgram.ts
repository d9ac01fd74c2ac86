/**
 * The programs that tests run beside ours (Envoy, go-control-plane): their paths, or why they are missing.
 *
 * @since 0.1.0
 */
import { existsSync, readFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { Option, Schema } from "effect"

/**
 * An installed peer, with the path of its program.
 *
 * @since 0.1.0
 */
export interface Present {
  readonly _tag: "Present"
  readonly name: string
  readonly version: string
  readonly path: string
}

/**
 * A missing peer, and why.
 *
 * @since 0.1.0
 */
export interface Missing {
  readonly _tag: "Missing"
  readonly name: string
  readonly reason: string
}

/**
 * A peer as recorded by `scripts/peers.mjs`.
 *
 * @since 0.1.0
 */
export type PeerProgram = Present | Missing

const Record = Schema.parseJson(
  Schema.Record({
    key: Schema.String,
    value: Schema.Union(
      Schema.Struct({ path: Schema.String, version: Schema.String }),
      Schema.Struct({ missing: Schema.String })
    )
  })
)

const findRecord = (directory: string): string | undefined => {
  const file = join(directory, ".peers", "peers.json")
  if (existsSync(file)) return file
  const parent = dirname(directory)
  return parent === directory ? undefined : findRecord(parent)
}

const textOf = Option.liftThrowable((file: string) => readFileSync(file, "utf8"))

/**
 * Looks a peer up in `.peers/peers.json` of the working directory or of the nearest directory above. Never fails: every error
 * is the reason of a `Missing`.
 *
 * @since 0.1.0
 */
export const find = (name: string, from: string = process.cwd()): PeerProgram => {
  const missing = (reason: string): Missing => ({ _tag: "Missing", name, reason })
  const file = findRecord(from)
  if (file === undefined) return missing("no .peers/peers.json: run node scripts/peers.mjs")
  const record = Option.getOrUndefined(Option.flatMap(textOf(file), Schema.decodeUnknownOption(Record)))
  if (record === undefined) return missing(`${file} cannot be read: run node scripts/peers.mjs`)
  const entry = record[name]
  if (entry === undefined) return missing(`${file} does not name it: run node scripts/peers.mjs`)
  if ("missing" in entry) return missing(entry.missing)
  if (!existsSync(entry.path)) return missing(`${entry.path} is gone: run node scripts/peers.mjs`)
  return { _tag: "Present", name, version: entry.version, path: entry.path }
}

/**
 * The peer for a test that needs it. With `XDS_REQUIRE_PEERS=1` a missing peer is thrown as an error, so that the test file
 * fails. Otherwise check for `Missing` and skip the test, with the reason in its title.
 *
 * @example
 * import { PeerProgram } from "@effect-xds/testing"
 * import { it } from "vitest"
 *
 * const envoy = PeerProgram.forTest("envoy")
 * it.skipIf(envoy._tag === "Missing")(PeerProgram.title("accepts a cluster", envoy), () => {})
 *
 * @since 0.1.0
 */
export const forTest = (name: string): PeerProgram => {
  const peer = find(name)
  if (peer._tag === "Missing" && process.env["XDS_REQUIRE_PEERS"] === "1") {
    throw new Error(`XDS_REQUIRE_PEERS=1, but ${name} is missing: ${peer.reason}`)
  }
  return peer
}

/**
 * The title of a test that needs a peer. If the peer is missing, the title says why the test is skipped.
 *
 * @since 0.1.0
 */
export const title = (text: string, peer: PeerProgram): string =>
  peer._tag === "Present" ? text : `${text} (skipped, ${peer.name} is missing: ${peer.reason})`
