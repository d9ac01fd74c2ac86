/** In steps everything is as at once: messages, bytes, faults; and no step does much. */
import type { DescMessage, Message } from "@bufbuild/protobuf"
import { create, fromBinary, toBinary } from "@bufbuild/protobuf"
import { StructSchema } from "@bufbuild/protobuf/wkt"
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire"
import * as MessageBytes from "@effect-xds/proto/MessageBytes"
import * as MessageSteps from "@effect-xds/proto/MessageSteps"
import { ResourceType } from "@effect-xds/proto"
import { ClusterSchema } from "@effect-xds/proto/envoy/config/cluster/v3/cluster"
import {
  type ClusterLoadAssignment,
  ClusterLoadAssignmentSchema
} from "@effect-xds/proto/envoy/config/endpoint/v3/endpoint"
import { RetryPolicySchema } from "@effect-xds/proto/envoy/config/route/v3/route_components"
import { describe, expect, it } from "@effect/vitest"
import * as DecodeSteps from "../src/internal/DecodeSteps.js"
import * as EncodeSteps from "../src/internal/EncodeSteps.js"
import { toEnd } from "../src/internal/InSteps.js"
import * as ObjectWalk from "../src/internal/ObjectWalk.js"
import * as WireFault from "../src/internal/WireFault.js"
import { mutated, randomOf, write } from "./RandomBytes.js"

const seeds = Number(process.env["SEEDS"] ?? 20)
const from = Number(process.env["FROM"] ?? 0)

const wordsOf = (what: () => unknown): string | undefined => {
  try {
    what()
    return undefined
  } catch (cause) {
    return String(cause)
  }
}

/** With a step for every few bytes. */
const decodedInPieces = (schema: DescMessage, bytes: Uint8Array, atOnce: number): Message =>
  toEnd(DecodeSteps.decode(schema, bytes, new WeakSet(), atOnce))

/** With a step for every object. */
const encodedInPieces = (schema: DescMessage, message: Message): Uint8Array => {
  const large = new WeakSet()
  const found = toEnd(ObjectWalk.inSteps(message, large, { objects: 1, content: 1 }))
  if (typeof found === "string") throw new Error(found)
  return toEnd(EncodeSteps.encode(schema, message, large))
}

describe("arbitrary messages", () => {
  it("are read and written in pieces as the library does it at once", async () => {
    const schemas = await Promise.all(ResourceType.all.map((type) => type.load()))
    let read = 0
    let refused = 0
    for (let seed = from; seed < from + seeds; seed++) {
      const random = randomOf(seed)
      for (const schema of schemas) {
        const writer = new BinaryWriter()
        write(writer, schema, random, [0, 3, 20][random(3)] ?? 0, 0)
        const whole = writer.finish()
        for (const bytes of [whole, mutated(whole, random)]) {
          const fault = MessageBytes.fault(schema, bytes)
          expect(toEnd(MessageSteps.fault(schema, bytes))).toEqual(fault)
          expect(WireFault.find(schema, bytes)).toEqual(fault)
          const words = wordsOf(() => MessageBytes.decode(schema, bytes))
          expect(wordsOf(() => toEnd(MessageSteps.decode(schema, bytes)))).toBe(words)
          expect(wordsOf(() => toEnd(MessageSteps.check(schema, bytes)))).toBe(words)
          if (words !== undefined) {
            refused++
            continue
          }
          read++
          const message = fromBinary(schema, bytes)
          for (const atOnce of [1, 7, 40]) {
            expect(decodedInPieces(schema, bytes, atOnce), `seed ${seed}`).toStrictEqual(message)
          }
          const written = toBinary(schema, message)
          expect(Buffer.compare(encodedInPieces(schema, message), written), `seed ${seed}`).toBe(0)
          expect(Buffer.compare(toEnd(MessageSteps.encode(schema, message)).bytes, written)).toBe(0)
        }
      }
    }
    expect(read).toBeGreaterThan(2 * seeds)
    expect(refused).toBeGreaterThan(seeds)
  })
})

it("many numbers of one list stand in one string of bytes", () => {
  const policy = create(RetryPolicySchema, { retriableStatusCodes: Array.from({ length: 3_000 }, (_, code) => code) })
  const bytes = toBinary(RetryPolicySchema, policy)
  expect(encodedInPieces(RetryPolicySchema, policy)).toEqual(bytes)
  expect(decodedInPieces(RetryPolicySchema, bytes, 100)).toStrictEqual(policy)
})

/** Many endpoints, in one locality. */
const assignment = (count: number): ClusterLoadAssignment =>
  create(ClusterLoadAssignmentSchema, {
    clusterName: "web",
    endpoints: [
      {
        locality: { zone: "a" },
        lbEndpoints: Array.from({ length: count }, (_, index) => ({
          loadBalancingWeight: 1 + (index % 9),
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

/** How many steps it takes, and the most bytes of a message that are read between two of them. */
const counted = (
  work: MessageSteps.Steps<unknown>,
  done: () => number
): { readonly steps: number; readonly most: number } => {
  let steps = 0
  let most = 0
  let before = done()
  for (;;) {
    const { done: isDone } = work.next()
    most = Math.max(most, done() - before)
    before = done()
    steps++
    if (isDone === true) return { steps, most }
  }
}

describe("★ no step does much", () => {
  const large = assignment(10_000)
  const bytes = toBinary(ClusterLoadAssignmentSchema, large)

  it("of bytes that are checked: at most 9 000 are read", () => {
    let reads = 0
    const counting = new Proxy(bytes, {
      get: (target, key) => {
        if (typeof key === "string" && /^\d/.test(key)) reads++
        const value: unknown = Reflect.get(target, key)
        return value
      }
    })
    const { most, steps } = counted(MessageSteps.fault(ClusterLoadAssignmentSchema, counting), () => reads)
    expect(most).toBeLessThan(9_000)
    expect(steps).toBeGreaterThan(bytes.byteLength / 9_000)
  })

  it("of bytes that are wrong at their end, too", () => {
    const wrong = Uint8Array.from([...bytes, 0x0a, 0x7f])
    const { steps } = counted(WireFault.inSteps(ClusterLoadAssignmentSchema, wrong), () => 0)
    expect(steps).toBeGreaterThan(bytes.byteLength / 9_000)
    const inside = new BinaryWriter().tag(33, WireType.LengthDelimited).bytes(wrong).finish()
    const found = counted(WireFault.inSteps(ClusterSchema, inside), () => 0)
    expect(found.steps).toBeGreaterThan(bytes.byteLength / 9_000)
    expect(WireFault.find(ClusterSchema, inside)?.path).toBe("load_assignment.cluster_name")
  })

  it("of a message that is decoded: at most 300 endpoints are made", () => {
    const work = DecodeSteps.decode(ClusterLoadAssignmentSchema, bytes, new WeakSet())
    let steps = 0
    while (work.next().done !== true) steps++
    // Some 30 bytes each.
    expect(steps).toBeGreaterThan(10_000 / 300)
    expect(steps).toBeLessThan(200)
  })

  it("of a message object: at most 600 objects are looked at, and 16 endpoints written", () => {
    let looked = 0
    const watched = create(ClusterLoadAssignmentSchema, {
      endpoints: [{ lbEndpoints: Array.from({ length: 10_000 }, () => ({})) }]
    })
    for (const endpoint of watched.endpoints[0]?.lbEndpoints ?? []) {
      let host = endpoint.hostIdentifier
      Object.defineProperty(endpoint, "hostIdentifier", {
        enumerable: true,
        get: () => {
          looked++
          return host
        },
        set: (value: typeof host) => (host = value)
      })
    }
    const look = counted(ObjectWalk.inSteps(watched, new WeakSet()), () => looked)
    expect(look.most).toBeLessThan(600)
    expect(look.steps).toBeGreaterThan(10_000 / 600)
    const marked = new WeakSet()
    toEnd(ObjectWalk.inSteps(watched, marked))
    const encode = counted(EncodeSteps.encode(ClusterLoadAssignmentSchema, watched, marked), () => looked)
    expect(encode.most).toBeLessThan(100)
    expect(encode.steps).toBeGreaterThan(600)
  })

  it("one that is not large is encoded at once, and a large one is not", () => {
    const small = assignment(100)
    expect(MessageSteps.encodeSmall(ClusterLoadAssignmentSchema, small)).toEqual(
      toBinary(ClusterLoadAssignmentSchema, small)
    )
    expect(MessageSteps.encodeSmall(ClusterLoadAssignmentSchema, large)).toBeUndefined()
  })

  it("what is lent stays until it is given back, whatever else is encoded meanwhile", () => {
    const [one, other] = [assignment(3), assignment(5)]
    const bytesOf = (message: ClusterLoadAssignment) => toBinary(ClusterLoadAssignmentSchema, message)
    const lend = (message: ClusterLoadAssignment) =>
      MessageSteps.encodeSmall(ClusterLoadAssignmentSchema, message, true)
    const first = lend(one)
    // Lent while the other one is, and made for good.
    const second = lend(other)
    MessageBytes.encode(ClusterLoadAssignmentSchema, assignment(7))
    expect([first, second]).toEqual([bytesOf(one), bytesOf(other)])
    MessageSteps.giveBack()
    MessageSteps.giveBack()
    // A buffer that was given back is written over; one that was not is left alone.
    expect(lend(one)?.buffer).toBe(second?.buffer)
    expect(first).toEqual(bytesOf(one))
    MessageSteps.giveBack()
  })
})

describe("a Struct in pieces", () => {
  /** `lb_subset_config.default_subset`, in pieces of what it is in. */
  const inPieces = (count: number, first: number): Uint8Array => {
    const writer = new BinaryWriter()
    for (let index = 0; index < count; index++) {
      const fields: Record<string, { kind: { case: "boolValue"; value: boolean } }> = {}
      for (let key = 0; key < (index === 0 ? first : 1); key++)
        fields[`k${index} ${key}`] = { kind: { case: "boolValue", value: true } }
      writer.tag(22, WireType.LengthDelimited).fork().tag(2, WireType.LengthDelimited)
      writer.bytes(toBinary(StructSchema, create(StructSchema, { fields }))).join()
    }
    return writer.finish()
  }

  it("★ those of what it is in count, too: each costs as much as all that is there", () => {
    expect(
      Object.keys(MessageBytes.decode(ClusterSchema, inPieces(16, 1)).lbSubsetConfig?.defaultSubset ?? {})
    ).toHaveLength(16)
    expect(MessageBytes.fault(ClusterSchema, inPieces(17, 1))).toEqual({
      path: "lb_subset_config.default_subset",
      problem: "is a google.protobuf.Struct in more than 16 pieces"
    })
  })

  it("a small one behind a large one is merged in steps", () => {
    const bytes = inPieces(3, 20_000)
    const work = DecodeSteps.decode(ClusterSchema, bytes, new WeakSet())
    let steps = 0
    let next = work.next()
    for (; next.done !== true; next = work.next()) steps++
    expect(next.value).toStrictEqual(fromBinary(ClusterSchema, bytes))
    // Each time JSON is made of all of it, and but for the first time a message of the JSON before.
    expect(steps).toBeGreaterThan(5 * (20_000 / 16))
  })
})
