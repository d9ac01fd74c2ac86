/**
 * A tracer that is given to a program under test. Its spans are Effect's own, but for what the test does in their place.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as DefaultServices from "effect/DefaultServices"
import * as Tracer from "effect/Tracer"

const native = Context.get(DefaultServices.liveServices, Tracer.Tracer)

/**
 * Makes a tracer.
 *
 * @param onSpan gets each new span, and gives methods that it has instead of its own
 * @since 0.1.0
 */
export const make = (
  onSpan: (span: Tracer.Span) => Partial<Pick<Tracer.Span, "attribute" | "event" | "end">>
): Tracer.Tracer =>
  Tracer.make({
    span: (...options) => {
      const span = native.span(...options)
      return Object.assign(span, onSpan(span))
    },
    context: (run, fiber) => native.context(run, fiber)
  })
