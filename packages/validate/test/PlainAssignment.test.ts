/** What is seen from the bytes of an assignment, beside what is read of its message. */
import {
  create,
  createRegistry,
  type DescMessage,
  fromBinary,
  type MessageInitShape,
  toBinary
} from "@bufbuild/protobuf"
import { HealthStatus } from "@effect-xds/proto/envoy/config/core/v3/health_check"
import { ClusterLoadAssignmentSchema } from "@effect-xds/proto/envoy/config/endpoint/v3/endpoint"
import { describe, expect, it } from "vitest"
import { FactsCache, FactsReader, nothing } from "../src/internal/group/FactsReader.js"
import { isPlain } from "../src/internal/group/PlainAssignment.js"
import * as RandomMessage from "./RandomMessage.js"

const typeUrl = "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment"
const registry = createRegistry(ClusterLoadAssignmentSchema)

/** With a registry of its own each message is read. */
const saysNothing = (value: Uint8Array): boolean => {
  const reader = new FactsReader(new FactsCache())
  const facts = reader.read({ typeUrl, name: "a", value }, registry)
  return "has" in facts || reader.get({ typeUrl, name: "a", value }) === nothing
}

type Assignment = MessageInitShape<typeof ClusterLoadAssignmentSchema>
type Random = RandomMessage.Random

const socket = (random: Random) => ({
  address: random.pick([
    "10.0.0.1",
    "10.0.0.2",
    "10.0.0.3",
    "10.0.0.256",
    "10.0.0.03",
    "10.0.3",
    "2001:db8::1",
    "10.0.0.1",
    "example.com",
    "fe80::1%eth0",
    ""
  ]),
  portSpecifier:
    random.below(12) === 0
      ? ({ case: "namedPort", value: "http" } as const)
      : ({ case: "portValue", value: random.pick([80, 81, 82, 83, 84, 0]) } as const),
  ...(random.below(20) === 0 && { resolverName: "r" })
})

const maybe = <A extends object>(random: Random, one: number, value: A): A | Record<string, never> =>
  random.below(one) === 0 ? value : {}

const assignment = (random: Random): Assignment => ({
  clusterName: "a",
  endpoints: Array.from({ length: random.below(4) }, () => ({
    ...maybe(random, 1, { locality: { zone: random.pick(["a", "b", "c", "ä"]), region: random.pick(["", "x"]) } }),
    ...maybe(random, 2, { loadBalancingWeight: random.pick([0, 1, 300]) }),
    ...maybe(random, 2, { priority: random.below(3) }),
    ...maybe(random, 10, { metadata: { filterMetadata: { a: { b: "c" } } } }),
    lbEndpoints: Array.from({ length: random.below(3) }, () => ({
      ...maybe(random, 4, { healthStatus: random.below(5) }),
      ...maybe(random, 4, { loadBalancingWeight: random.below(300) }),
      ...maybe(random, 6, { metadata: { filterMetadata: { a: { b: "c" } } } }),
      ...(random.below(30) !== 0 && {
        hostIdentifier: {
          case: "endpoint" as const,
          value: {
            ...maybe(random, 8, { hostname: "example.com" }),
            address: { address: { case: "socketAddress" as const, value: socket(random) } },
            ...maybe(random, 30, {
              additionalAddresses: [{ address: { address: { case: "socketAddress" as const, value: socket(random) } } }]
            })
          }
        }
      })
    }))
  })),
  ...maybe(random, 30, {
    policy: { dropOverloads: [{ category: "a", dropPercentage: { numerator: 200 } }, { category: "b" }] }
  })
})

const encode = (message: Assignment): Uint8Array =>
  toBinary(ClusterLoadAssignmentSchema, create(ClusterLoadAssignmentSchema, message))

const isDecoded = (bytes: Uint8Array): boolean => {
  try {
    fromBinary(ClusterLoadAssignmentSchema, bytes)
    return true
  } catch {
    return false
  }
}

describe("PlainAssignment", () => {
  it("an assignment that is plain says nothing, and most that say nothing are plain", () => {
    const random = RandomMessage.random(1)
    const count = { plain: 0, silent: 0, telling: 0, spoiled: 0 }
    for (let run = 0; run < 6_000; run++) {
      const bytes = encode(assignment(random))
      const silent = saysNothing(bytes)
      const plain = isPlain(bytes)
      if (plain) expect(silent, Buffer.from(bytes).toString("hex")).toBe(true)
      if (silent) count.silent++
      else count.telling++
      if (plain) count.plain++
      const other = RandomMessage.spoiled(random, bytes)
      if (isPlain(other)) {
        expect(saysNothing(other), Buffer.from(other).toString("hex")).toBe(true)
        if (isDecoded(other)) count.spoiled++
      }
    }
    expect(count.telling).toBeGreaterThan(1_000)
    expect(count.spoiled).toBeGreaterThan(300)
    expect(count.plain / count.silent).toBeGreaterThan(0.5)
  })

  it("of random messages of the type", () => {
    const random = RandomMessage.random(2)
    for (let run = 0; run < 1_000; run++) {
      const type: DescMessage = ClusterLoadAssignmentSchema
      const bytes = toBinary(type, RandomMessage.message(random, type))
      if (isPlain(bytes)) expect(saysNothing(bytes), Buffer.from(bytes).toString("hex")).toBe(true)
    }
  })

  it("★ a locality that is there again in other bytes is not plain", () => {
    const one = encode({ endpoints: [{ locality: { region: "a", zone: "b" }, loadBalancingWeight: 1 }] })
    expect(isPlain(one)).toBe(true)
    const hex = Buffer.from(one).toString("hex")
    // The region behind the zone, an empty subzone, and a zone that is there twice.
    for (const same of ["120162" + "0a0161", "0a0161" + "1a00" + "120162", "0a0161" + "120161" + "120162"]) {
      const [before = "", after = ""] = hex.split("06" + "0a0161" + "120162")
      const locality = `${(same.length / 2).toString(16).padStart(2, "0")}${same}`
      const longer = same.length / 2 - 6
      // The two lengths around it grow with it.
      const grown = before.replace(
        /^12(..)/,
        (_, length: string) => `12${(parseInt(length, 16) + longer).toString(16).padStart(2, "0")}`
      )
      const both = Buffer.concat([one, Buffer.from(grown + locality + after, "hex")])
      expect(saysNothing(both), both.toString("hex")).toBe(false)
      expect(isPlain(both), both.toString("hex")).toBe(false)
    }
  })

  it("as a mesh has it, with weights, priorities, metadata and health, is plain", () => {
    const endpoint = (address: string) => ({
      hostIdentifier: {
        case: "endpoint" as const,
        value: {
          hostname: "a",
          address: {
            address: {
              case: "socketAddress" as const,
              value: { address, portSpecifier: { case: "portValue" as const, value: 8080 } }
            }
          }
        }
      },
      healthStatus: HealthStatus.HEALTHY,
      loadBalancingWeight: 3,
      metadata: { filterMetadata: { "envoy.lb": { canary: true } } }
    })
    const locality = { region: "r", zone: "z" }
    const whole = [
      { locality, lbEndpoints: [endpoint("10.0.0.1"), endpoint("2001:db8::1")], loadBalancingWeight: 1 },
      { locality, lbEndpoints: [endpoint("10.0.0.2")], loadBalancingWeight: 1, priority: 1 }
    ]
    expect(isPlain(encode({ clusterName: "a", endpoints: whole }))).toBe(true)
    expect(isPlain(encode({ clusterName: "a", endpoints: [] }))).toBe(true)
    expect(isPlain(encode({ clusterName: "a", endpoints: whole.slice(1) }))).toBe(false)
    expect(isPlain(encode({ clusterName: "a", endpoints: [...whole, ...whole] }))).toBe(false)
    expect(isPlain(encode({ clusterName: "a", endpoints: [{ lbEndpoints: [endpoint("example.com")] }] }))).toBe(false)
  })

  it("a weight beyond 32 bits is 0, so a priority is missing", () => {
    // endpoints { load_balancing_weight { value: 2^32 } } endpoints { load_balancing_weight { value: 1 } priority: 1 }
    const first = [0x12, 0x08, 0x1a, 0x06, 0x08, 0x80, 0x80, 0x80, 0x80, 0x10]
    const bytes = new Uint8Array([...first, 0x12, 0x06, 0x1a, 0x02, 0x08, 0x01, 0x28, 0x01])
    expect(saysNothing(bytes)).toBe(false)
    expect(isPlain(bytes)).toBe(false)
  })
})
