/**
 * Long work in slices, so that the event loop goes on serving others in between. Slices are measured in real time on
 * purpose: they are about the processor, not about the protocol's clock.
 */
import * as Effect from "effect/Effect"

/** Milliseconds of work before others get their turn. */
const length = 5

/** A slice of work that begins now. */
export const slice = (): { readonly isOver: () => boolean } => {
  const end = performance.now() + length
  return { isOver: () => performance.now() >= end }
}

/** Lets the event loop turn once. */
export const breathe: Effect.Effect<void> = Effect.async((resume) => {
  const handle = setImmediate(() => resume(Effect.void))
  return Effect.sync(() => clearImmediate(handle))
})

/** A queue of work that is done at once and, when that takes long, in slices. */
export interface Worker<in A> {
  /** Puts an item at the end; nothing is done yet. */
  readonly add: (item: A) => void
  /** Works on the queue, now if it is idle. */
  readonly start: () => void
  /** Forgets what is left. */
  readonly stop: () => void
}

/** A worker. `work` must not throw; it is given what `begin` gave when its slice began. */
export const worker = <A, S>(begin: () => S, work: (item: A, slice: S) => void): Worker<A> => {
  let queue: Array<A> = []
  let next = 0
  let busy = false
  let handle: NodeJS.Immediate | undefined

  const run = (): void => {
    busy = true
    handle = undefined
    const now = slice()
    const begun = begin()
    let item = queue[next]
    while (item !== undefined) {
      next++
      work(item, begun)
      if (now.isOver()) break
      item = queue[next]
    }
    if (next < queue.length) {
      queue = queue.slice(next)
      handle = setImmediate(run)
    } else {
      queue = []
      busy = false
    }
    next = 0
  }

  return {
    add: (item) => void queue.push(item),
    start: () => {
      if (!busy) run()
    },
    stop: () => {
      queue = []
      next = 0
      busy = false
      if (handle !== undefined) clearImmediate(handle)
    }
  }
}
