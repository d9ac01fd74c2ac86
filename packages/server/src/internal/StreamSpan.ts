/**
 * A span per stream. The tracer is looked up once: asking Effect's runtime per stream takes a quarter of the cost of a
 * new stream.
 */
import * as ResourceType from "@effect-xds/proto/ResourceType"
import type * as ServerTransport from "@effect-xds/transport/ServerTransport"
import * as Chunk from "effect/Chunk"
import * as Context from "effect/Context"
import * as DefaultServices from "effect/DefaultServices"
import * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import * as FiberRef from "effect/FiberRef"
import * as Option from "effect/Option"
import * as Tracer from "effect/Tracer"

/** The attributes of a new stream. */
export const attributesOf = ({ protocol, typeUrl }: ServerTransport.Method): Readonly<Record<string, string>> => ({
  "xds.protocol": protocol,
  "xds.service": typeUrl === undefined ? "ADS" : ResourceType.shortNameOf(typeUrl)
})

/**
 * ★ Effect builds span ids digit by digit, and V8 keeps the pieces until a character is read: they are a tenth of an
 * idle stream's memory.
 */
const flatten = (text: string): void => void text.charCodeAt(0)

/** The tracer where none was given: nobody reads its spans, which are some of what a new stream costs. */
const unread = Context.get(DefaultServices.liveServices, Tracer.Tracer)

/** What is recorded of a stream. */
export type Span = Pick<Tracer.Span, "attribute" | "event" | "end">

/** Begins a span with these attributes; `undefined` if tracing is off, or nobody reads it. */
export type StreamSpan = (attributes: Readonly<Record<string, string>>) => Span | undefined

/** ★ The tracer is the application's, and its exporter may throw. That is told, and the stream goes on without a span. */
class Guarded implements Span {
  constructor(
    private span: Tracer.Span | undefined,
    private readonly onDefect: (cause: unknown) => void
  ) {}

  attribute(name: string, value: unknown): void {
    this.use((span) => span.attribute(name, value))
  }

  event(name: string, at: bigint, attributes?: Record<string, unknown>): void {
    this.use((span) => span.event(name, at, attributes))
  }

  end(at: bigint, exit: Exit.Exit<unknown, unknown>): void {
    this.use((span) => span.end(at, exit))
  }

  private use(work: (span: Tracer.Span) => void): void {
    if (this.span === undefined) return
    try {
      work(this.span)
    } catch (cause) {
      this.span = undefined
      this.onDefect(cause)
    }
  }
}

/**
 * Spans as the calling fiber would make them, but without a parent: a stream outlives the code that accepted it.
 * `onDefect` gets what the tracer throws, and must not throw.
 */
export const make = (onDefect: (cause: unknown) => void): Effect.Effect<StreamSpan> =>
  Effect.gen(function* () {
    if (!(yield* FiberRef.get(FiberRef.currentTracerEnabled))) return () => undefined
    const tracer = yield* Effect.tracer
    if (tracer === unread) return () => undefined
    const clock = yield* Effect.clock
    const annotations = yield* Effect.spanAnnotations
    const links = Chunk.toReadonlyArray(yield* Effect.spanLinks)
    return (attributes) => {
      const start = clock.unsafeCurrentTimeNanos()
      try {
        const span = tracer.span("xds.stream", Option.none(), Context.empty(), links, start, "server")
        flatten(span.traceId)
        flatten(span.spanId)
        for (const [name, value] of annotations) span.attribute(name, value)
        for (const [name, value] of Object.entries(attributes)) span.attribute(name, value)
        return new Guarded(span, onDefect)
      } catch (cause) {
        onDefect(cause)
        return undefined
      }
    }
  })
