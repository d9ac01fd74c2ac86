/**
 * A call of one of gRPC's own services. It counts as a call of the server like any other: towards its bounds, and in that
 * it is ended when the server shuts down.
 */
import { toError } from "../server/ConnectStream.js"
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
  call.onStart()
  const refusal = shared.calls.refusal(call.peer)
  if (refusal !== undefined) {
    shared.onRefused(call.path, call.peer, refusal.reason, refusal.status.message)
    throw toError(refusal.status)
  }
  const stopped = new AbortController()
  let error: Error | undefined
  const entry = {
    shutdown: (status: Parameters<typeof toError>[0]) => {
      error = toError(status)
      stopped.abort()
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
