/** The state of a stream is plain data: it can be printed as JSON, compared and restored. */
import * as ResourceGroup from "@effect-xds/core/resource/ResourceGroup"
import * as Request from "@effect-xds/core/wire/Request"
import * as ServerStream from "@effect-xds/core/server/ServerStream"
import * as StreamRecord from "@effect-xds/core/server/StreamRecord"
import * as ResourceType from "@effect-xds/proto/ResourceType"
import { Arbitraries } from "@effect-xds/testing"
import { sharedVersions } from "@effect-xds/testing/reference/SharedVersions"
import { toResource } from "@effect-xds/testing/simulation/ResourceSpec"
import { assert, describe, it } from "@effect/vitest"
import * as Either from "effect/Either"
import * as fc from "fast-check"
import * as Simulation from "./Simulation.js"

const { Cluster, ClusterLoadAssignment, Listener, RouteConfiguration, VirtualHost } = ResourceType
const seed = Number(process.env["XDS_SEED"] ?? "20260101")

describe("the record of a stream", () => {
  for (const protocol of ["StateOfTheWorld", "Incremental"] as const) {
    const isIncremental = protocol === "Incremental"
    const typeUrls = [Cluster, ClusterLoadAssignment, Listener, RouteConfiguration].map((type) => type.typeUrl)
    if (isIncremental) typeUrls.push(VirtualHost.typeUrl)
    for (const [what, options, ttl] of [
      ["phases", {}, false],
      ["TTLs", { ttl: true }, true],
      ["names one at a time", { namesPerStep: 1, namesPerResponse: 1 }, false],
      ["responses in parts", { maxResponseBytes: 1 }, false]
    ] as const) {
      const scripts = fc.sample(Arbitraries.script({ typeUrls, ttl, aliases: isIncremental }), { seed, numRuns: 2 })

      it(`${protocol}, ${what}: a restored stream goes on as the one that was recorded, byte for byte`, () => {
        for (const script of scripts) {
          const { problems } = Simulation.run({ protocol, typeUrl: undefined, ...options }, script.slice(0, 120), {
            lockstep: false,
            restored: true
          })
          assert.deepStrictEqual(
            problems.filter((problem) => problem.includes("restored")),
            []
          )
        }
      })

      it(`${protocol}, ${what}: equal histories give equal records`, () => {
        const [script = []] = scripts
        const records = (): ReadonlyArray<string> => {
          const found: Array<string> = []
          const onRecord = (record: string) => void found.push(record)
          Simulation.run({ protocol, typeUrl: undefined, ...options }, script.slice(0, 60), {
            lockstep: false,
            onRecord
          })
          return found
        }
        const [one, other] = [records(), records()]
        assert.isAtLeast(one.length, 40)
        assert.isTrue(one.every((record, index) => record === other[index]))
        assert.isAbove(new Set(one).size, one.length / 3)
      })
    }
  }

  it("has what a returning client holds, whoever else holds it", () => {
    const resources = ["a", "b", "c"].map((name) => toResource({ typeUrl: Cluster.typeUrl, name, content: 1 }))
    const group = Either.getOrThrow(ResourceGroup.replace(ResourceGroup.empty, resources))
    const [first] = resources
    const held = sharedVersions([
      ["a", first?.version ?? ""],
      ["b", "old"],
      ["gone", "old"]
    ])
    const request = Request.incremental({ typeUrl: Cluster.typeUrl, initialResourceVersions: held })
    let stream = ServerStream.make({ protocol: "Incremental", typeUrl: undefined })
    ;[stream] = ServerStream.step(stream, { _tag: "Changed", group }, 0)
    ;[stream] = ServerStream.step(stream, { _tag: "Request", request }, 0)
    for (const each of [stream, Either.getOrThrow(StreamRecord.fromJSON(StreamRecord.toJSON(stream)))]) {
      const [, [output]] = ServerStream.step(each, { _tag: "Writable" }, 0)
      assert(output?._tag === "Send")
      assert.deepStrictEqual(output.response.resources.map(({ name }) => name).toSorted(), ["b", "c"])
      assert.deepStrictEqual(output.response.removed, ["gone"])
    }
  })

  it("is not restored from what is none", () => {
    const record = StreamRecord.toJSON(ServerStream.make({ protocol: "Incremental", typeUrl: undefined }))
    assert.isTrue(Either.isRight(StreamRecord.fromJSON(record)))
    const broken: StreamRecord.StreamRecord = [{ is: "Bytes", of: ["%"] }, ...record]
    for (const other of [[], record.slice(0, -1), broken]) {
      const restored = StreamRecord.fromJSON(other)
      assert.strictEqual(Either.isLeft(restored) && restored.left._tag, "InvalidRecord")
    }
  })
})
