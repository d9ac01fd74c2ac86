/** Reads the body of a request within limits: its size, its time, and the bytes of all bodies together. */
import type { ByteBudget, Holder } from "@effect-xds/transport-node/ByteBudget"
import * as Chunk from "effect/Chunk"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { Buffer } from "node:buffer"
import type { IncomingMessage } from "node:http"
import type { SessionTimers, Due } from "./SessionTimers.js"
import { badRequest, Refusal } from "./Refusal.js"

export interface Limits {
  readonly maxRequestBytes: number
  /** How long a body may take to arrive, in milliseconds. */
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

const noRoom = new Refusal({
  status: 503,
  code: "RESOURCE_EXHAUSTED",
  message: "this server holds as many bytes of requests as it may; try again later",
  headers: { connection: "close" }
})

/**
 * The body of a request from Node's HTTP server. It is read by events: abandoning a stream would destroy it, and the
 * connection that the answer needs. Node reads and drops the rest of the body.
 */
export const ofNode = (
  source: IncomingMessage,
  limits: Limits,
  onSize: (size: number) => void
): Effect.Effect<Uint8Array, Refusal> =>
  Effect.async((resume) => {
    const chunks: Array<Buffer> = []
    let size = 0
    const onData = (chunk: Buffer): void => {
      size += chunk.length
      chunks.push(chunk)
      if (size > limits.maxRequestBytes) finish(Effect.fail(tooLarge(limits)))
      else onSize(size)
    }
    const onEnd = (): void => {
      const body = Buffer.concat(chunks)
      finish(Effect.succeed(body))
    }
    const onClose = (): void => finish(Effect.fail(cut))
    const stop = (): void => {
      chunks.length = 0
      source.off("data", onData).off("end", onEnd).off("close", onClose)
    }
    const finish = (exit: Effect.Effect<Uint8Array, Refusal>): void => {
      stop()
      resume(exit)
    }
    // "close" follows an error.
    source.on("error", () => undefined)
    source.on("data", onData).on("end", onEnd).on("close", onClose)
    return Effect.sync(() => {
      stop()
      // Without a listener the body would not be read on.
      source.resume()
    })
  })

/** The body, given only as a stream of chunks. */
export const ofStream = (
  stream: Stream.Stream<Uint8Array, unknown>,
  limits: Limits,
  onSize: (size: number) => void
): Effect.Effect<Uint8Array, Refusal> =>
  stream.pipe(
    Stream.mapError(() => cut),
    Stream.runFoldEffect({ size: 0, chunks: Chunk.empty<Uint8Array>() }, ({ chunks, size }, chunk) => {
      const more = size + chunk.length
      if (more > limits.maxRequestBytes) return Effect.fail(tooLarge(limits))
      onSize(more)
      return Effect.succeed({ size: more, chunks: Chunk.append(chunks, chunk) })
    }),
    Effect.map(({ chunks }) => Buffer.concat(Chunk.toArray(chunks)))
  )

/**
 * Reads the body and uses it. Fails if it is too large (413), too slow (408) or cut off (400), or if its bytes were
 * evicted (503). It counts as held until `use` is done.
 */
export const use = <A>(
  request: {
    readonly headers: Readonly<Record<string, string>>
    readonly body: (limits: Limits, onSize: (size: number) => void) => Effect.Effect<Uint8Array, Refusal>
  },
  limits: Limits,
  deadlines: SessionTimers,
  budget: ByteBudget,
  then: (body: Uint8Array) => Effect.Effect<A, Refusal>
): Effect.Effect<A, Refusal> => {
  if (Number(request.headers["content-length"] ?? 0) > limits.maxRequestBytes) return Effect.fail(tooLarge(limits))
  return Effect.suspend(() => {
    let refuse: (refusal: Refusal) => void = () => undefined
    const holder: Holder & Due = { evict: () => refuse(noRoom), onDue: () => refuse(timedOut(limits)) }
    const used = Effect.flatMap(
      request.body(limits, (size) => budget.set(holder, size)),
      (bytes) => {
        deadlines.clear(holder)
        return then(bytes)
      }
    )
    const refused = Effect.async<never, Refusal>((resume) => {
      refuse = (refusal) => resume(Effect.fail(refusal))
      deadlines.set(holder, limits.bodyTimeout)
      return Effect.sync(() => deadlines.clear(holder))
    })
    // The refusal first: a body that has already arrived may be refused.
    return Effect.ensuring(
      Effect.raceFirst(refused, used),
      Effect.sync(() => {
        deadlines.clear(holder)
        budget.delete(holder)
      })
    )
  })
}
