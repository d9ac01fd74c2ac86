import { describe, expect, it } from "@effect/vitest"
import { Effect, Stream } from "effect"
import * as RequestBody from "../src/internal/RequestBody.js"

describe("a body that is a stream of its pieces", () => {
  const read = (...sizes: ReadonlyArray<number>) => {
    const heard: Array<number> = []
    const body = RequestBody.ofStream(
      Stream.fromIterable(sizes.map((size) => new Uint8Array(size))),
      { maxRequestBytes: 10, bodyTimeout: 1_000 },
      (size) => heard.push(size)
    )
    return Effect.map(Effect.either(body), (result) => ({ heard, result }))
  }

  it.effect("may be as large as the limit, and no larger", () =>
    Effect.gen(function* () {
      const whole = yield* read(4, 6)
      expect(whole).toMatchObject({ heard: [4, 10], result: { right: Buffer.alloc(10) } })
      const large = yield* read(4, 7, 100)
      const message = "the body is larger than 10 bytes, the limit of this server"
      expect(large).toMatchObject({ heard: [4], result: { left: { message } } })
    })
  )
})
