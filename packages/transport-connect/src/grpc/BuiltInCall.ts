/**
 * A call of a built-in or further service. Like an xDS call it counts towards the limits, and ends when the server
 * shuts down.
 */
import { admit, toError } from "../server/ConnectStream.js"
import type { Call } from "../server/ConnectStream.js"
import type { Shared } from "../server/GrpcStream.js"

export interface BuiltInCall {
  /** Aborted when the client disconnects or the server shuts down. */
  readonly signal: AbortSignal
  /** The error that ends the call, once the server shuts down. */
  readonly shutdown: () => Error | undefined
  readonly close: () => void
}

/** Opens a call. Throws the error to answer with if there is no room. */
export const open = (shared: Shared, call: Call, signal: AbortSignal): BuiltInCall => {
  admit(shared, call)
  const stopped = new AbortController()
  let error: Error | undefined
  const entry = {
    shutdown: (status: Parameters<typeof toError>[0]) => {
      error = toError(status)
      stopped.abort()
      call.abort?.(error)
      // The call is over now, even if the application's code goes on.
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

/**
 * The responses of an application's code, until the call ends. Then the call is closed and the iterator is returned.
 */
export async function* closing<A>(responses: AsyncIterable<A>, call: BuiltInCall): AsyncGenerator<A> {
  const iterator = responses[Symbol.asyncIterator]()
  try {
    yield* until({ [Symbol.asyncIterator]: () => iterator }, call)
  } finally {
    call.close()
    // Code that is waiting for something sees the return later.
    iterator.return?.().catch(() => undefined)
  }
}

/** Resolves when the signal is aborted. */
export const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener("abort", () => resolve(), { once: true })
  })

/**
 * The next element; `undefined` once the signal is aborted. ★ Each waits for the signal by itself: one promise for the whole
 * call would keep what it was raced against, which is every element of the call.
 */
const nextOf = async <A>(iterator: AsyncIterator<A>, signal: AbortSignal): Promise<IteratorResult<A> | undefined> => {
  if (signal.aborted) return undefined
  let onAbort = (): void => undefined
  const over = new Promise<undefined>((resolve) => (onAbort = () => resolve(undefined)))
  signal.addEventListener("abort", onAbort)
  try {
    return await Promise.race([iterator.next(), over])
  } finally {
    signal.removeEventListener("abort", onAbort)
  }
}

/** The elements, until the call ends. */
export async function* until<A>(elements: AsyncIterable<A>, { shutdown, signal }: BuiltInCall): AsyncGenerator<A> {
  const iterator = elements[Symbol.asyncIterator]()
  for (;;) {
    const next = await nextOf(iterator, signal)
    const error = shutdown()
    if (error !== undefined) throw error
    if (next === undefined || next.done === true) return
    yield next.value
  }
}
