import * as LengthPrefix from "@effect-xds/core/wire/LengthPrefix"
import { assert, describe, it } from "@effect/vitest"

describe("LengthPrefix", () => {
  it("is a flag and the length, the highest byte first", () => {
    const bytes = new Uint8Array(7).fill(9)
    LengthPrefix.write(bytes, 0xfedcba98, true)
    assert.deepStrictEqual(Array.from(bytes), [1, 0xfe, 0xdc, 0xba, 0x98, 9, 9])
    LengthPrefix.write(bytes, 3)
    assert.deepStrictEqual(Array.from(bytes), [0, 0, 0, 0, 3, 9, 9])
  })

  it("only: one whole message without compression, also within a larger buffer", () => {
    const message = new Uint8Array(70_000).fill(7)
    const body = LengthPrefix.prefixed(message)
    assert.deepStrictEqual(LengthPrefix.only(body), message)
    const larger = Uint8Array.of(1, 2, ...LengthPrefix.prefixed(Uint8Array.of(5, 6)), 3)
    assert.deepStrictEqual(LengthPrefix.only(larger.subarray(2, 9)), Uint8Array.of(5, 6))
    assert.deepStrictEqual(LengthPrefix.only(LengthPrefix.prefixed(new Uint8Array())), new Uint8Array())
    const compressed = Uint8Array.from(body).fill(1, 0, 1)
    const long = new Uint8Array(LengthPrefix.size)
    LengthPrefix.write(long, 0xffff_ffff)
    for (const other of [new Uint8Array(), new Uint8Array(4), compressed, body.subarray(1), larger, long]) {
      assert.isUndefined(LengthPrefix.only(other))
    }
    assert.isUndefined(LengthPrefix.only(Uint8Array.of(...body, ...body)))
  })
})
