/** Rules in steps find what they find at once; and no step does much. */
import { create, fromBinary, toBinary, type DescMessage } from "@bufbuild/protobuf"
import { TypeRegistry } from "@effect-xds/proto"
import { type Cluster, ClusterSchema } from "@effect-xds/proto/envoy/config/cluster/v3/cluster"
import * as MessageSteps from "@effect-xds/proto/MessageSteps"
import { BadResource, LargeAssignment } from "@effect-xds/testing"
import { Rules } from "@effect-xds/validate"
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import * as RandomMessage from "./RandomMessage.js"

const toEnd = <A>(work: MessageSteps.Steps<A>): { readonly result: A; readonly steps: number } => {
  for (let steps = 1; ; steps++) {
    const next = work.next()
    if (next.done === true) return { result: next.value, steps }
  }
}

/** Everything is large, so that there is a step for each list and map. */
const everything: MessageSteps.Large = { has: () => true }

const loaded = (name: string): Effect.Effect<DescMessage> =>
  Effect.flatMap(
    Effect.promise(() => TypeRegistry.load(name)),
    (type) => (type === undefined ? Effect.dieMessage(`no ${name}`) : Effect.succeed(type))
  )

/** With the types of what is in its `Any`s. */
const attempt = (type: DescMessage, value: Uint8Array) =>
  Effect.gen(function* () {
    for (;;) {
      const result = Rules.attempt(type, value, { now: 0 })
      if ("faults" in result) return result
      yield* Rules.loadTypes(result)
    }
  })

describe("rules in steps", () => {
  it.effect("find the faults that they find at once, in the same order", () =>
    Effect.gen(function* () {
      const random = RandomMessage.random(7)
      let broken = 0
      for (const name of ["Cluster", "Listener", "RouteConfiguration", "ClusterLoadAssignment"]) {
        const file = { Cluster: "cluster", Listener: "listener", RouteConfiguration: "route" }[name] ?? "endpoint"
        const type = yield* loaded(`envoy.config.${file}.v3.${name}`)
        for (let run = 0; run < 100; run++) {
          const bytes = toBinary(type, RandomMessage.message(random, type))
          const message = fromBinary(type, bytes)
          const atOnce = yield* attempt(type, bytes)
          const { result } = toEnd(Rules.attemptInSteps(type, message, { now: 0 }, everything))
          expect(result).toEqual(atOnce)
          expect(toEnd(Rules.attemptInSteps(type, bytes, { now: 0 })).result).toEqual(atOnce)
          const checked = Rules.check(type, message, { maxFaults: 2 })
          expect(toEnd(Rules.checkInSteps(type, { message, large: everything }, { maxFaults: 2 })).result).toEqual(
            checked
          )
          if (atOnce.faults.length > 0) broken++
        }
      }
      expect(broken).toBeGreaterThan(50)
      expect(broken).toBeLessThan(390)
    })
  )

  it.effect("find them in what nobody should send, large or deep", () =>
    Effect.gen(function* () {
      let decoded = 0
      for (const { typeUrl, value, what } of BadResource.all({ levels: 10_000, size: 100_000 })) {
        if (!TypeRegistry.has(typeUrl)) continue
        const type = yield* loaded(typeUrl)
        const atOnce = yield* attempt(type, value)
        expect(toEnd(Rules.attemptInSteps(type, value, { now: 0 })).result, what).toEqual(atOnce)
        if (atOnce.faults.some(({ rule }) => rule === "decode")) decoded++
      }
      expect(decoded).toBeGreaterThan(10)
    })
  )
})

/** A cluster with so many endpoints, the last of which breaks a rule. */
const cluster = (count: number): Cluster =>
  create(ClusterSchema, { name: "c", loadAssignment: LargeAssignment.make(count, 70_000) })

describe("★ no step does much", () => {
  const count = 10_000
  const message = cluster(count)
  const bytes = toBinary(ClusterSchema, message)
  const fault = {
    path: `load_assignment.endpoints[0].lb_endpoints[${count - 1}].endpoint.address.socket_address.port_value`,
    rule: "uint32.lte"
  }

  it("of bytes: it takes a step for every 16 endpoints, and some for the decoding", () => {
    const { result, steps } = toEnd(Rules.attemptInSteps(ClusterSchema, bytes, { now: 0 }))
    expect(result).toMatchObject({ faults: [fault], messages: 3 + 4 * count })
    expect(steps).toBeGreaterThan(count / 16 + bytes.byteLength / 10_000)
  })

  it("of a message object: it takes a step for every 16 endpoints", () => {
    const { large } = toEnd(MessageSteps.encode(ClusterSchema, message)).result
    const { result, steps } = toEnd(Rules.attemptInSteps(ClusterSchema, message, { now: 0 }, large))
    expect(result).toMatchObject({ faults: [fault] })
    expect(steps).toBeGreaterThan(count / 16)
  })

  it.effect("of a resource: others run in between", () =>
    Effect.gen(function* () {
      const typeUrl = `type.googleapis.com/${ClusterSchema.typeName}`
      let turns = 0
      const others = Effect.forever(
        Effect.zipRight(
          Effect.promise(() => new Promise(setImmediate)),
          Effect.sync(() => (turns += 1))
        )
      )
      yield* Rules.resource({ typeUrl, name: "c", value: new Uint8Array() }).pipe(Effect.ignore)
      const error = yield* Effect.flip(Effect.raceFirst(Rules.resource({ typeUrl, name: "c", value: bytes }), others))
      expect(error.faults).toMatchObject([fault])
      expect(turns).toBeGreaterThan(20)
    })
  )
})
