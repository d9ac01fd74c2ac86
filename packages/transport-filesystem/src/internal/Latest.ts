/** Sends subscribers the newest value of each key. A slow subscriber misses intermediate values; there is no queue. */
import * as Chunk from "effect/Chunk"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"

export interface Latest<K, V> {
  readonly get: (key: K) => V | undefined
  readonly set: (key: K, value: V) => void
  /** All current values, then changes. */
  readonly changes: Stream.Stream<readonly [K, V]>
}

export const make = <K, V>(): Latest<K, V> => {
  const held = new Map<K, V>()
  const listeners = new Set<(key: K, value: V) => void>()
  return {
    get: (key) => held.get(key),
    set: (key, value) => {
      held.set(key, value)
      for (const listener of listeners) listener(key, value)
    },
    changes: Stream.unwrapScoped(
      Effect.gen(function* () {
        const pending = new Map(held)
        const latch = yield* Effect.makeLatch(pending.size > 0)
        const listener = (key: K, value: V) => {
          pending.set(key, value)
          latch.unsafeOpen()
        }
        yield* Effect.acquireRelease(
          Effect.sync(() => listeners.add(listener)),
          () => Effect.sync(() => listeners.delete(listener))
        )
        const take = Effect.map(latch.await, () => {
          const taken = Chunk.fromIterable(pending)
          pending.clear()
          // Not as an effect of its own: a change in between would be missed.
          latch.unsafeClose()
          return taken
        })
        return Stream.repeatEffectChunk(take)
      })
    )
  }
}
