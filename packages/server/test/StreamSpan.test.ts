import { SpanTracer } from "@effect-xds/testing"
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import * as StreamSpan from "../src/internal/StreamSpan.js"

const attributes = StreamSpan.attributesOf({ protocol: "Incremental", typeUrl: undefined, unary: false })

describe("the span of a stream", () => {
  it.effect("is not made for the default tracer, whose spans nobody reads", () =>
    Effect.gen(function* () {
      const span = yield* StreamSpan.make(() => expect.unreachable())
      expect(span(attributes)).toBeUndefined()
    })
  )

  it.effect("is made by a tracer that was given", () =>
    Effect.gen(function* () {
      const made: Array<string> = []
      const tracer = SpanTracer.make(({ kind, name, parent }) => {
        made.push(`${kind} ${name} of ${parent._tag}`)
        return { attribute: (key, value) => made.push(`${key} ${String(value)}`) }
      })
      const span = yield* Effect.withTracer(
        StreamSpan.make(() => expect.unreachable()),
        tracer
      )
      expect(span(attributes)).toBeDefined()
      expect(made).toEqual(["server xds.stream of None", "xds.protocol Incremental", "xds.service ADS"])
    })
  )
})
