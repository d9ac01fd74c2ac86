import { describe, expect, it } from "@effect/vitest"
import { Effect, Exit, Tracer } from "effect"
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
      const tracer = Tracer.make({
        span: (name, parent, context, links, startTime, kind) => {
          made.push(`${kind} ${name} of ${parent._tag}`)
          return {
            _tag: "Span",
            name,
            spanId: "1",
            traceId: "2",
            parent,
            context,
            links: [...links],
            kind,
            sampled: true,
            status: { _tag: "Ended", startTime, endTime: startTime, exit: Exit.void },
            attributes: new Map(),
            attribute: (key, value) => made.push(`${key} ${String(value)}`),
            event: () => undefined,
            end: () => undefined,
            addLinks: () => undefined
          }
        },
        context: (run) => run()
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
