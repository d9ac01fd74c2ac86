import * as Inflater from "@effect-xds/transport-node/Inflater"
import { eventually } from "@effect-xds/testing/Waiting"
import { expect, it } from "@effect/vitest"
import { Effect, Either } from "effect"
import { gzipSync } from "node:zlib"

const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString()
const zeros = (size: number) => gzipSync(Buffer.alloc(size))

const ways = {
  "in this turn": (bytes: Uint8Array, maxBytes: number) => Effect.sync(() => Inflater.inflateSync(bytes, maxBytes)),
  aside: (bytes: Uint8Array, maxBytes: number) =>
    Effect.async<Inflater.Inflated>((resume) =>
      Inflater.inflate(bytes, maxBytes, (result) => resume(Effect.succeed(result)))
    )
}

for (const [way, inflated] of Object.entries(ways)) {
  it.effect(`${way}: inflates up to the bound and not a byte more, and says what is no gzip`, () =>
    Effect.gen(function* () {
      expect(Either.map(yield* inflated(gzipSync("words"), 5), text)).toEqual(Either.right("words"))
      const large = Either.flip(yield* inflated(gzipSync("words"), 4))
      expect(Either.map(large, ({ message }) => message)).toEqual(
        Either.right("larger than the limit of 4 bytes when it is inflated")
      )
      const bomb = zeros(200_000_000)
      expect(bomb.length).toBeLessThan(200_000)
      expect(Either.flip(yield* inflated(bomb, 100_000))).toMatchObject({ right: { reason: "TooLarge" } })
      const none = Either.flip(yield* inflated(Buffer.from("words"), 100))
      expect(Either.map(none, ({ message }) => message)).toEqual(Either.right("not gzip: incorrect header check"))
    })
  )
}

for (const [way, inflated] of Object.entries(ways)) {
  it.effect(`${way}: a bound that Node does not take is the highest or the lowest that it takes`, () =>
    Effect.gen(function* () {
      for (const most of [Number.POSITIVE_INFINITY, 2 ** 60]) {
        expect(Either.map(yield* inflated(gzipSync("words"), most), text)).toEqual(Either.right("words"))
      }
      for (const least of [0, -1]) {
        expect(Either.flip(yield* inflated(gzipSync("words"), least))).toMatchObject({ right: { reason: "TooLarge" } })
      }
    })
  )
}

it.effect("an Inflater takes small messages at once, and of the others two at a time, in order", () =>
  Effect.gen(function* () {
    const inflater = new Inflater.Inflater(1_000_000)
    expect(Either.map(inflater.now(gzipSync("small")) ?? expect.fail("it is small"), text)).toEqual(
      Either.right("small")
    )
    expect(inflater.now(Buffer.from("words"))).toMatchObject({ left: { reason: "NotGzip" } })
    // Small on the way, large when it is inflated.
    expect(inflater.now(zeros(100_000))).toBe(undefined)
    const sizes: Array<number | string> = []
    for (const size of [900_000, 2_000_000, 100, 800_000])
      inflater.inflate(zeros(size), (result) =>
        sizes.push(Either.match(result, { onLeft: ({ reason }) => reason, onRight: ({ length }) => length }))
      )
    expect(inflater.size).toBe(4)
    yield* eventually(() => expect(inflater.size).toBe(0))
    expect(sizes.toSorted()).toEqual([100, 800_000, 900_000, "TooLarge"])
  })
)

it.effect(
  "an Inflater gives up a message that waits, and goes on with the next; one that is being inflated has its end",
  () =>
    Effect.gen(function* () {
      const inflater = new Inflater.Inflater(1_000_000)
      const sizes: Array<number> = []
      const inflate = (size: number) =>
        inflater.inflate(zeros(size), (result) => {
          sizes.push(Either.isRight(result) ? result.right.length : -1)
        })
      const giveUp = [900_000, 800_000, 700_000, 600_000, 500_000].map(inflate)
      expect(inflater.size).toBe(5)
      giveUp[2]?.()
      giveUp[3]?.()
      expect(inflater.size).toBe(3)
      giveUp[0]?.()
      expect(inflater.size).toBe(3)
      yield* eventually(() => expect(inflater.size).toBe(0))
      expect(sizes.toSorted()).toEqual([500_000, 800_000, 900_000])
    })
)
