import { fromBinary, toBinary } from "@bufbuild/protobuf"
import { BinaryWriter } from "@bufbuild/protobuf/wire"
import * as MessageBytes from "@effect-xds/proto/MessageBytes"
import { ResourceType } from "@effect-xds/proto"
import { describe, expect, it } from "@effect/vitest"
import { mutated, randomOf, write } from "./RandomBytes.js"
import * as MessageWalk from "../src/internal/MessageWalk.js"

const throws = (what: () => unknown): string | undefined => {
  try {
    what()
    return undefined
  } catch (cause) {
    return String(cause)
  }
}

/** More of them by hand. */
const seeds = Number(process.env["SEEDS"] ?? 60)
const from = Number(process.env["FROM"] ?? 0)

/** What the library takes, and Envoy understands otherwise or not at all. */
const stricter =
  /has the wire type|has a length of|ends in the middle of|of more than 64 bits|is a google.protobuf.Struct in more/

describe("MessageBytes", () => {
  it("refuses what the library refuses, with its path, and what only the library takes", async () => {
    const schemas = await Promise.all(ResourceType.all.map((type) => type.load()))
    const seen = { read: 0, refused: 0, sure: 0, stricter: 0 }
    for (let seed = from; seed < from + seeds; seed++) {
      const random = randomOf(seed)
      for (const schema of schemas) {
        const writer = new BinaryWriter()
        write(writer, schema, random, [0, 3, 20][random(3)] ?? 0, 0)
        const whole = writer.finish()
        for (const bytes of [whole, mutated(whole, random), mutated(mutated(whole, random), random)]) {
          const library = throws(() => fromBinary(schema, bytes))
          const words = throws(() => MessageBytes.check(schema, bytes))
          expect(throws(() => MessageBytes.decode(schema, bytes))).toBe(words)
          if (library !== undefined) {
            seen.refused++
            // With words of its own: it knows everything that the library knows.
            expect(words, `seed ${seed}: ${library}`).toBeDefined()
            expect(words, `seed ${seed}`).not.toBe(library)
            expect(words).toMatch(/^Error: (?:the message|field \d+|[a-z]\w*)\S* /)
          } else if (words === undefined) {
            seen.read++
            // What the library writes is known for sure.
            expect(
              MessageWalk.isMessage(schema, toBinary(schema, fromBinary(schema, bytes), { writeUnknownFields: false }))
            ).toBe(true)
          } else {
            seen.stricter++
            expect(words, `seed ${seed}`).toMatch(stricter)
          }
          if (MessageWalk.isMessage(schema, bytes)) {
            seen.sure++
            expect(words).toBeUndefined()
          }
        }
      }
    }
    expect(seen.read).toBeGreaterThan(2 * seeds)
    expect(seen.refused).toBeGreaterThan(2 * seeds)
    expect(seen.sure).toBeGreaterThan(seeds)
    expect(seen.stricter).toBeGreaterThan(0)
  })
})
