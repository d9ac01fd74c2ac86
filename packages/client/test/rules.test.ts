/** Golden traces of a client whose resources have rules; see ClientTrace for what the lines are. */
import { create, fromBinary, toBinary } from "@bufbuild/protobuf"
import { WatchableType } from "@effect-xds/client"
import { ResourceType } from "@effect-xds/proto"
import { ClusterSchema } from "@effect-xds/proto/envoy/config/cluster/v3/cluster"
import * as Either from "effect/Either"
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import * as ClientTrace from "../../core/test/client/ClientTrace.js"
import * as Trace from "../../core/test/Trace.js"

const { decoder } = WatchableType.fromSchema(ClusterSchema)

/** A cluster and its `connect_timeout` in seconds. */
const form: ClientTrace.Form = {
  typeUrl: ResourceType.Cluster.typeUrl,
  encode: (name, content) =>
    toBinary(ClusterSchema, create(ClusterSchema, { name, connectTimeout: { seconds: BigInt(content) } })),
  decode: (bytes, name) =>
    Either.map(decoder.decode(bytes, name), () => `${fromBinary(ClusterSchema, bytes).connectTimeout?.seconds ?? 0n}s`)
}

// UPDATE_TRACES=1 writes what the client puts out into the file, to be read and judged. Never in CI.
const isUpdate = process.env["UPDATE_TRACES"] === "1" && process.env["CI"] === undefined
const file = join(import.meta.dirname, "traces/rules.trace")

describe("rules.trace", () => {
  const text = readFileSync(file, "utf8")
  const sections = Trace.sections(text)
  if (isUpdate) {
    const played = sections.map(({ lines, title }) =>
      [`## ${title}`, ...ClientTrace.tidy(ClientTrace.play(lines, form))].join("\n")
    )
    writeFileSync(file, text.slice(0, text.indexOf("## ")) + played.join("\n"))
  }
  it("has sections", () => assert.isNotEmpty(sections))
  for (const section of sections) {
    it(section.title, () => {
      const played = Trace.essence(ClientTrace.play(section.lines, form)).join("\n")
      if (!isUpdate) assert.strictEqual(played, Trace.essence(section.lines).join("\n"), `rules.trace:${section.start}`)
    })
  }
})
