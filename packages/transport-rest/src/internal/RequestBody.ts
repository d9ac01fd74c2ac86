/** Reads the body of a request, but not more and not longer than is allowed. */
import * as Chunk from "effect/Chunk"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { Buffer } from "node:buffer"
import type { IncomingMessage } from "node:http"
import type { Deadlines, Due } from "./Deadlines.js"
import { badRequest, Refusal } from "./Refusal.js"

export interface Limits {
  readonly maxRequestBytes: number
  /** Milliseconds. */
  readonly bodyTimeout: number
}

const tooLarge = ({ maxRequestBytes }: Limits): Refusal =>
  new Refusal({
    status: 413,
    code: "RESOURCE_EXHAUSTED",
    message: `the body is larger than ${maxRequestBytes} bytes, the limit of this server`
  })

const cut = badRequest("the body ended before it was complete")

const timedOut = ({ bodyTimeout }: Limits): Refusal =>
  new Refusal({
    status: 408,
    code: "DEADLINE_EXCEEDED",
    message: `the body did not come within ${bodyTimeout / 1000} s`,
    headers: { connection: "close" }
  })

/**
 * The body of a request that Node's HTTP server took. By its events: a stream that is given up is destroyed, and with it
 * the connection that the answer must go through. What is left of the body Node reads and drops.
 */
export const ofNode = (source: IncomingMessage, limits: Limits): Effect.Effect<Uint8Array, Refusal> =>
  Effect.async((resume) => {
    const chunks: Array<Buffer> = []
    let size = 0
    const onData = (chunk: Buffer): void => {
      size += chunk.length
      if (size > limits.maxRequestBytes) finish(Effect.fail(tooLarge(limits)))
      else chunks.push(chunk)
    }
    const onEnd = (): void => finish(Effect.sync(() => Buffer.concat(chunks)))
    const onClose = (): void => finish(Effect.fail(cut))
    const stop = (): void => {
      source.off("data", onData).off("end", onEnd).off("close", onClose)
    }
    const finish = (exit: Effect.Effect<Uint8Array, Refusal>): void => {
      stop()
      resume(exit)
    }
    // An error is followed by a close.
    source.on("error", () => undefined)
    source.on("data", onData).on("end", onEnd).on("close", onClose)
    return Effect.sync(stop)
  })

/** The body, where all that is known of it is a stream of its pieces. */
export const ofStream = (
  stream: Stream.Stream<Uint8Array, unknown>,
  limits: Limits
): Effect.Effect<Uint8Array, Refusal> =>
  stream.pipe(
    Stream.mapError(() => cut),
    Stream.runFoldEffect({ size: 0, chunks: Chunk.empty<Uint8Array>() }, ({ chunks, size }, chunk) =>
      size + chunk.length > limits.maxRequestBytes
        ? Effect.fail(tooLarge(limits))
        : Effect.succeed({ size: size + chunk.length, chunks: Chunk.append(chunks, chunk) })
    ),
    Effect.map(({ chunks }) => Buffer.concat(Chunk.toArray(chunks)))
  )

/** The body; fails when it is too large (413), too slow (408) or cut off (400). */
export const read = (
  request: {
    readonly headers: Readonly<Record<string, string>>
    readonly body: (limits: Limits) => Effect.Effect<Uint8Array, Refusal>
  },
  limits: Limits,
  deadlines: Deadlines
): Effect.Effect<Uint8Array, Refusal> => {
  if (Number(request.headers["content-length"] ?? 0) > limits.maxRequestBytes) return Effect.fail(tooLarge(limits))
  const deadline = Effect.async<never, Refusal>((resume) => {
    const due: Due = { onDue: () => resume(Effect.fail(timedOut(limits))) }
    deadlines.set(due, limits.bodyTimeout)
    return Effect.sync(() => deadlines.clear(due))
  })
  return Effect.raceFirst(request.body(limits), deadline)
}
