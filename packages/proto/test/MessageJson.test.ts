/** In parts the text is to the letter what it is at once; and no part takes long. */
import type { DescMessage, Message, Registry } from "@bufbuild/protobuf"
import { create, createRegistry, fromBinary, toBinary, toJson } from "@bufbuild/protobuf"
import { AnySchema, anyPack } from "@bufbuild/protobuf/wkt"
import { BinaryWriter } from "@bufbuild/protobuf/wire"
import * as MessageBytes from "@effect-xds/proto/MessageBytes"
import * as MessageJson from "@effect-xds/proto/MessageJson"
import * as MessageRedaction from "@effect-xds/proto/MessageRedaction"
import { ResourceType, TypeRegistry } from "@effect-xds/proto"
import { ClusterSchema } from "@effect-xds/proto/envoy/config/cluster/v3/cluster"
import { MetadataSchema } from "@effect-xds/proto/envoy/config/core/v3/base"
import { ClusterLoadAssignmentSchema } from "@effect-xds/proto/envoy/config/endpoint/v3/endpoint"
import { ListenerSchema } from "@effect-xds/proto/envoy/config/listener/v3/listener"
import { RetryPolicySchema } from "@effect-xds/proto/envoy/config/route/v3/route_components"
import { HttpConnectionManagerSchema } from "@effect-xds/proto/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager"
import {
  DeltaDiscoveryResponseSchema,
  DiscoveryResponseSchema
} from "@effect-xds/proto/envoy/service/discovery/v3/discovery"
import { describe, expect, it } from "@effect/vitest"
import * as JsonSteps from "../src/internal/JsonSteps.js"
import { randomOf, write } from "./RandomBytes.js"

const seeds = Number(process.env["SEEDS"] ?? 20)
const from = Number(process.env["FROM"] ?? 0)

/** The text, or why there is none. */
const outcomeOf = (make: () => string): string => {
  try {
    return make()
  } catch (cause) {
    return String(cause)
  }
}

const joined = (parts: JsonSteps.Parts): string => {
  let text = ""
  for (const part of parts) text += part ?? ""
  return text
}

const whole = (schema: DescMessage, message: Message, registry: Registry): string =>
  JSON.stringify(toJson(schema, message, { registry }))

/** In as many parts as there can be, and in those that there are. */
const expectSame = (schema: DescMessage, message: Message, registry: Registry, what: string): string => {
  const expected = outcomeOf(() => whole(schema, message, registry))
  for (const objects of [1, 5]) {
    const step = { objects, content: objects === 1 ? 1 : 100 }
    const parts = () => joined(JsonSteps.write(schema, message, registry, "", step))
    expect(outcomeOf(parts), what).toBe(expected)
  }
  expect(
    outcomeOf(() => joined(MessageJson.text(schema, message, registry))),
    what
  ).toBe(expected)
  return expected
}

describe("arbitrary messages", () => {
  it("are written in parts as the library writes them at once", async () => {
    const schemas = await Promise.all(ResourceType.all.map((type) => type.load()))
    let written = 0
    let refused = 0
    for (let seed = from; seed < from + seeds; seed++) {
      const random = randomOf(seed)
      for (const schema of schemas) {
        const writer = new BinaryWriter()
        write(writer, schema, random, [0, 0, 20][random(3)] ?? 0, 0)
        const bytes = writer.finish()
        if (MessageBytes.fault(schema, bytes) !== undefined) continue
        const message = fromBinary(schema, bytes)
        const registry = await TypeRegistry.forMessage(schema, message)
        const what = `${schema.typeName}, seed ${seed}`
        if (expectSame(schema, message, registry, what).startsWith("{")) written++
        else refused++
        const any = anyPack(schema, message)
        expectSame(AnySchema, any, registry, what)
        const response = create(DiscoveryResponseSchema, { versionInfo: "1", resources: [any, any] })
        const own = await TypeRegistry.forMessage(DiscoveryResponseSchema, response)
        expectSame(DiscoveryResponseSchema, response, own, what)
      }
    }
    expect(written).toBeGreaterThan(2 * seeds)
    expect(refused).toBeGreaterThan(0)
  })
})

const metadata = (json: Record<string, never>) => create(MetadataSchema, { filterMetadata: json })

describe("what stands in no arbitrary message", () => {
  const registry = createRegistry(ClusterSchema, MetadataSchema)

  it.each<readonly [string, unknown]>([
    ["nothing", {}],
    [
      "names like numbers, and __proto__",
      { b: 1, 10: [1, {}, []], 2: { a: null }, ["__proto__"]: { c: "é\ud83d\ude00" } }
    ],
    ["a number that is none", { a: { b: [1, Number.NaN] } }],
    ["a number without end", { a: Number.POSITIVE_INFINITY }],
    ["-0 and others", { a: [-0, 1e21, 1.5, true, false, ""] }],
    ["levels", { a: { b: { c: { d: [[[["e"]]], { f: [{}] }] } } } }]
  ])("metadata with %s", (_, json) => {
    const message = create(MetadataSchema, { filterMetadata: { x: {}, y: {} } })
    Object.assign(message.filterMetadata, { y: json, 7: {} })
    expectSame(MetadataSchema, message, registry, "metadata")
  })

  it("many numbers", () => {
    const retriableStatusCodes = Array.from({ length: 3_000 }, (_, code) => code)
    const message = create(RetryPolicySchema, {
      retryOn: "5xx",
      retriableStatusCodes,
      hostSelectionRetryMaxAttempts: 5n
    })
    expectSame(RetryPolicySchema, message, registry, "numbers")
  })

  it("an Any of a type that is not known, of none, with bytes that are no message, in an Any, and of a type of the library", async () => {
    const long = new Uint8Array(40_000)
    const listener = create(ListenerSchema, { name: "x".repeat(40_000) })
    for (const any of [
      create(AnySchema, { typeUrl: "type.googleapis.com/nobody.knows.It", value: long }),
      create(AnySchema, { typeUrl: "type.googleapis.com/", value: long }),
      create(AnySchema, { value: long }),
      create(AnySchema, { typeUrl: "type.googleapis.com/envoy.config.listener.v3.Listener", value: long }),
      create(AnySchema, {
        typeUrl: "a/b/envoy.config.listener.v3.Listener",
        value: toBinary(ListenerSchema, listener)
      }),
      anyPack(AnySchema, anyPack(ListenerSchema, listener)),
      create(AnySchema, { typeUrl: "x/google.protobuf.Struct", value: new Uint8Array() })
    ]) {
      expectSame(AnySchema, any, await TypeRegistry.forMessage(AnySchema, any), any.typeUrl)
    }
  })
})

/** Many endpoints, in one locality. */
const assignment = (count: number) =>
  create(ClusterLoadAssignmentSchema, {
    clusterName: "web",
    endpoints: [
      {
        locality: { zone: "a" },
        lbEndpoints: Array.from({ length: count }, (_, index) => ({
          loadBalancingWeight: 1 + (index % 9),
          metadata: metadata({}),
          hostIdentifier: {
            case: "endpoint" as const,
            value: {
              address: {
                address: {
                  case: "socketAddress" as const,
                  value: {
                    address: `10.0.${index >> 8}.${index & 255}`,
                    portSpecifier: { case: "portValue" as const, value: 80 }
                  }
                }
              }
            }
          }
        }))
      }
    ]
  })

/** A listener with all of the routes in an `Any`. */
const listener = (count: number) =>
  create(ListenerSchema, {
    name: "in",
    filterChains: [
      {
        filters: [
          {
            name: "hcm",
            configType: {
              case: "typedConfig",
              value: anyPack(
                HttpConnectionManagerSchema,
                create(HttpConnectionManagerSchema, {
                  statPrefix: "in",
                  routeSpecifier: {
                    case: "routeConfig",
                    value: {
                      virtualHosts: Array.from({ length: count }, (_, index) => ({
                        name: `host-${index}`,
                        domains: [`${index}.example.com`]
                      }))
                    }
                  }
                })
              )
            }
          }
        ]
      }
    ]
  })

describe("★ a large message", () => {
  const longest = 16_384

  it.each([
    ["of endpoints", ClusterLoadAssignmentSchema, assignment(10_000)],
    ["of routes in an Any", ListenerSchema, listener(10_000)]
  ])("%s is written in short parts", async (_, schema, message) => {
    const registry = await TypeRegistry.forMessage(schema, message)
    let text = ""
    let most = 0
    for (const part of MessageJson.text(schema, message, registry)) {
      most = Math.max(most, part?.length ?? 0)
      text += part ?? ""
    }
    expect(text).toBe(whole(schema, message, registry))
    expect(text.length).toBeGreaterThan(20 * longest)
    expect(most).toBeLessThan(longest)
    const first = joined(MessageJson.text(schema, message, registry, `"@type":"a"`))
    expect(first).toBe(`{"@type":"a",${text.slice(1)}`)
  })

  it.each([
    ["of endpoints", ClusterLoadAssignmentSchema, assignment(2_000)],
    ["of routes in an Any", ListenerSchema, listener(2_000)]
  ])("%s: others have their turn while it is looked through, redacted and written", async (_, schema, message) => {
    let pauses = 0
    const pause = () => {
      pauses++
      return undefined
    }
    await TypeRegistry.forMessage(schema, message, undefined, pause)
    expect(pauses).toBeGreaterThan(1_000)
    const bytes = toBinary(schema, message)
    const redacted = fromBinary(schema, bytes)
    pauses = 0
    await MessageRedaction.redact(schema, redacted, pause)
    expect(pauses).toBeGreaterThan(1_000)
    expect(redacted).toEqual(message)
    for (const [envelope, response] of [
      [DiscoveryResponseSchema, create(DiscoveryResponseSchema, { nonce: "1", resources: [anyPack(schema, message)] })],
      [
        DeltaDiscoveryResponseSchema,
        create(DeltaDiscoveryResponseSchema, { resources: [{ name: "a", resource: anyPack(schema, message) }, {}] })
      ]
    ] as const) {
      pauses = 0
      const parts = await MessageJson.encode(envelope, 2, toBinary(envelope, response), { pause })
      expect(pauses).toBeGreaterThan(1_000)
      const text = Buffer.concat(parts).toString()
      expect(JSON.parse(text)).toEqual(
        toJson(envelope, response, { registry: await TypeRegistry.forMessage(envelope, response) })
      )
    }
  })
})
