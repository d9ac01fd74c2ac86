/** What nobody should send: rules come to an end, in as many steps as it is large, and say what is wrong and where. */
import { TypeRegistry } from "@effect-xds/proto"
import { BadMessage, BadResource } from "@effect-xds/testing"
import { GroupRules, Rules } from "@effect-xds/validate"
import { describe, expect, it } from "@effect/vitest"
import { Effect, Either } from "effect"

const scale = { levels: 10_000, size: 65_536 }

describe("rules of resources", () => {
  for (const { isValid, name, path, typeUrl, value, what } of BadResource.all(scale)) {
    it.effect(what, () =>
      Effect.gen(function* () {
        const checked = yield* Effect.either(Rules.resource({ typeUrl, name, value }))
        const group = yield* GroupRules.check([{ typeUrl, name, value }])
        // A message has two bytes at least, and so has an `Any`, which is looked into at a hundred levels at the most.
        expect(group.messages).toBeLessThanOrEqual(value.byteLength / 2 + 101)
        if (isValid || path === "") return
        const { faults, message } = Either.getOrThrow(Either.flip(checked))
        expect(faults).toHaveLength(1)
        expect(message).toContain(`${JSON.stringify(name)}: `)
        expect(faults[0]?.rule).toBe("decode")
        // Of the message itself the path is empty.
        expect(faults[0]?.path.slice(0, path?.length)).toBe(path === "the message" ? "" : path)
        expect(group.faults).toEqual([])
      })
    )
  }

  it.effect("are checked in as many steps as a resource is large", () =>
    Effect.gen(function* () {
      for (const size of [20_000, 40_000, 80_000]) {
        for (const { name, typeUrl, value, what } of BadResource.all({ ...scale, size })) {
          const type = yield* Effect.promise(() => TypeRegistry.load(typeUrl))
          if (type === undefined) continue
          yield* Effect.either(Rules.resource({ typeUrl, name, value }))
          const result = Rules.attempt(type, value, { now: 0 })
          if (!("faults" in result)) throw new Error("types are missing")
          expect(result.messages, what).toBeLessThanOrEqual(value.byteLength / 2 + 201)
        }
      }
    })
  )
})

describe("rules of message objects", () => {
  for (const { message, what } of BadMessage.all(scale)) {
    it.effect(`${what}: it ends, and throws nothing`, () =>
      Effect.gen(function* () {
        const type = yield* Effect.promise(() => TypeRegistry.load(message.$typeName))
        if (type === undefined) throw new Error(`no ${message.$typeName}`)
        const result = Rules.attempt(type, message, { now: 0 })
        if (!("faults" in result)) throw new Error("types are missing")
        expect(result.messages).toBeLessThanOrEqual(4_194_305)
        const first = result.faults[0]
        if (what === "a message in itself") expect(first?.rule).toBe("depth")
        if (what === "shared endpoints, 10 000 times 10 000") {
          expect(first).toMatchObject({ rule: "size" })
          expect(first?.path).toMatch(/^load_assignment\.endpoints\[\d+\]\.lb_endpoints\[\d+\]/)
        }
        if (what === "a property that throws")
          expect(first?.problem).toBe("cannot be read: Error: a getter that throws")
      })
    )
  }
})
