/**
 * A span for each stream. What makes them is looked up once: to ask Effect's runtime for one takes as long as a quarter of
 * all that a new stream costs.
 */
import * as ResourceType from "@effect-xds/proto/ResourceType"
import type * as ServerTransport from "@effect-xds/transport/ServerTransport"
import * as Chunk from "effect/Chunk"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as FiberRef from "effect/FiberRef"
import * as Option from "effect/Option"
import type * as Tracer from "effect/Tracer"

/** What is known of a stream when it is opened. */
export const attributesOf = ({ protocol, typeUrl }: ServerTransport.Method): Readonly<Record<string, string>> => ({
  "xds.protocol": protocol,
  "xds.service": typeUrl === undefined ? "ADS" : ResourceType.shortNameOf(typeUrl)
})

/**
 * ★ Effect puts the names of a span together digit by digit, and V8 keeps each of the pieces until somebody reads a character:
 * they are a tenth of what an idle stream takes.
 */
const flatten = (text: string): void => void text.charCodeAt(0)

/** Begins a span with these attributes; `undefined` where tracing is switched off. */
export type StreamSpan = (attributes: Readonly<Record<string, string>>) => Tracer.Span | undefined

/** Spans as the calling fiber would make them, but without a parent: a stream outlives what accepted it. */
export const make: Effect.Effect<StreamSpan> = Effect.gen(function* () {
  if (!(yield* FiberRef.get(FiberRef.currentTracerEnabled))) return () => undefined
  const tracer = yield* Effect.tracer
  const clock = yield* Effect.clock
  const annotations = yield* Effect.spanAnnotations
  const links = Chunk.toReadonlyArray(yield* Effect.spanLinks)
  return (attributes) => {
    const start = clock.unsafeCurrentTimeNanos()
    const span = tracer.span("xds.stream", Option.none(), Context.empty(), links, start, "server")
    flatten(span.traceId)
    flatten(span.spanId)
    for (const [name, value] of annotations) span.attribute(name, value)
    for (const [name, value] of Object.entries(attributes)) span.attribute(name, value)
    return span
  }
})
