/**
 * A call of one of gRPC's own services, or of a further one. It counts as a call of the server like any other: towards its bounds, and in that
 * it is ended when the server shuts down.
 */
import { admit, toError } from "../server/ConnectStream.js"
import type { Call } from "../server/ConnectStream.js"
import type { Shared } from "../server/GrpcStream.js"

export interface BuiltInCall {
  /** Aborted when the client is gone or the server shuts down. */
  readonly signal: AbortSignal
  /** The error to end with, once the server shuts down. */
  readonly shutdown: () => Error | undefined
  readonly close: () => void
}

/** Throws the error to answer with if there is no room for it. */
export const open = (shared: Shared, call: Call, signal: AbortSignal): BuiltInCall => {
  admit(shared, call)
  const stopped = new AbortController()
  let error: Error | undefined
  const entry = {
    shutdown: (status: Parameters<typeof toError>[0]) => {
      error = toError(status)
      stopped.abort()
      call.abort?.(error)
      // Whatever its code does then, it does not last.
      call.onEnd()
    }
  }
  shared.calls.add(entry, call.peer)
  return {
    signal: AbortSignal.any([signal, stopped.signal]),
    shutdown: () => error,
    close: () => {
      shared.calls.delete(entry)
      call.onEnd()
    }
  }
}

/** The responses of an application's own code, until the call is over; then the code is told, and the call is closed. */
export async function* closing<A>(responses: AsyncIterable<A>, call: BuiltInCall): AsyncGenerator<A> {
  const iterator = responses[Symbol.asyncIterator]()
  try {
    yield* until({ [Symbol.asyncIterator]: () => iterator }, call)
  } finally {
    call.close()
    // Where it waits for something, it hears of it after that.
    iterator.return?.().catch(() => undefined)
  }
}

/** Resolves when the signal is aborted. */
export const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener("abort", () => resolve(), { once: true })
  })

/** The elements until the call is over. */
export async function* until<A>(elements: AsyncIterable<A>, { shutdown, signal }: BuiltInCall): AsyncGenerator<A> {
  const iterator = elements[Symbol.asyncIterator]()
  const over = aborted(signal)
  for (;;) {
    const next = await Promise.race([iterator.next(), over])
    const error = shutdown()
    if (error !== undefined) throw error
    if (next === undefined || next.done === true) return
    yield next.value
  }
}
