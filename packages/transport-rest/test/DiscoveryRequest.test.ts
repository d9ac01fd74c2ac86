import { fromBinary, fromJson, toJsonString } from "@bufbuild/protobuf"
import type { JsonValue } from "@bufbuild/protobuf"
import { NodeSchema } from "@effect-xds/proto/envoy/config/core/v3/base"
import * as Effect from "effect/Effect"
import { describe, expect, it } from "vitest"
import * as DiscoveryRequest from "../src/internal/DiscoveryRequest.js"

const encoder = new TextEncoder()

describe("A poll in JSON", () => {
  const limits = { ignoreUnknownFields: false, maxJsonValues: 20_000, maxNames: 100_000, rememberedBytes: 0 }

  /** What is read of a body, and in how many turns where each is over at once. */
  const read = async (json: JsonValue) => {
    let turns = 1
    const later = (work: () => void): void => {
      turns++
      setImmediate(work)
    }
    const decode = DiscoveryRequest.decoder(limits, { isOver: () => true, later })
    const { node, nodeKey, request } = await Effect.runPromise(decode("json", encoder.encode(JSON.stringify(json))))
    return { request, nodeKey, node: await Effect.runPromise(node), turns }
  }

  it("of nineteen thousand names is read in turns", async () => {
    const names = Array.from({ length: 19_000 }, (_, at) => `cluster-${at}`)
    const { request, turns } = await read({ node: { id: "n" }, resource_names: names, version_info: "7" })
    expect(request.resourceNames).toEqual([...names].sort())
    expect(request.versionInfo).toBe("7")
    // To parse them, to encode them, to read them and to bring them into order.
    expect(turns).toBeGreaterThan(19 + 19_000 / 256 + 19_000 / 2_048 + 19_000 / 1_024)
  })

  it("with nineteen thousand values in its node is read in turns", async () => {
    const metadata = Object.fromEntries(Array.from({ length: 19_000 }, (_, at) => [`k${at}`, "v"]))
    const node = { id: "n", metadata }
    const { nodeKey, turns, ...asked } = await read({ node, type_url: "t" })
    expect(asked.request.typeUrl).toBe("t")
    expect(toJsonString(NodeSchema, fromBinary(NodeSchema, asked.node ?? new Uint8Array()))).toBe(
      toJsonString(NodeSchema, fromJson(NodeSchema, node))
    )
    expect(turns).toBeGreaterThan(13 + 19_000 / 256 + 5)
    // Blanks and the order of other members are no matter, the node's own content is.
    const other = await read({ type_url: "u", node: { id: "n", metadata: { ...metadata } } })
    expect(other.nodeKey).toBe(nodeKey)
    const different = await read({ node: { id: "n", metadata: { ...metadata, k18999: "w" } } })
    expect(different.nodeKey).not.toBe(nodeKey)
  })

  it("of four megabytes is hashed and read in turns", async () => {
    const error_detail = { code: 3, message: "x".repeat(4_000_000) }
    const { request, turns } = await read({ error_detail })
    expect(request.errorDetail).toEqual(error_detail)
    expect(turns).toBeGreaterThan(4_000_000 / 262_144 + 4_000_000 / 65_536)
  })
})
