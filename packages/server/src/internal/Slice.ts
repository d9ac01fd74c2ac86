/**
 * Long work in slices, so that the event loop goes on serving others in between. Slices are measured in real time on
 * purpose: they are about the processor, not about the protocol's clock.
 */
import type * as Steps from "@effect-xds/core/Steps"
import type * as EventLoop from "@effect-xds/transport/EventLoop"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"

/**
 * Milliseconds of work before others get their turn. What was written in a slice is then sent, and what clients answered to the one
 * before is read, which takes as long again each.
 */
const length = 2

/** A slice of work that begins now. */
export const slice = ({ elapsed }: EventLoop.Service): { readonly isOver: () => boolean } => {
  const end = elapsed() + length
  return { isOver: () => elapsed() >= end }
}

/** Lets the event loop turn once. */
export const breathe = ({ later }: EventLoop.Service): Effect.Effect<void> =>
  Effect.async((resume) => {
    const cancel = later(() => resume(Effect.void))
    return Effect.sync(cancel)
  })

/** Some of the work in steps: what it ends with, or `undefined` if others are to have their turn before its end. */
export const some = <A extends object>(loop: EventLoop.Service, work: Steps.Steps<A>): A | undefined => {
  // Most is over with its first step, and needs no slice.
  let now: ReturnType<typeof slice> | undefined
  for (;;) {
    const { done, value } = work.next()
    if (done === true) return value
    now ??= slice(loop)
    if (now.isOver()) return undefined
  }
}

/** What work in steps ends with, at once or, when that takes long, in slices. An interruption leaves the rest undone. */
export const steps = <A extends object>(loop: EventLoop.Service, work: Steps.Steps<A>): Effect.Effect<A> => {
  const done = some(loop, work)
  return done === undefined ? Effect.flatMap(breathe(loop), () => steps(loop, work)) : Exit.succeed(done)
}

/** A queue of work that is done at once and, when that takes long, in slices. */
export interface Worker<in A> {
  /** Puts an item at the end; nothing is done yet. */
  readonly add: (item: A) => void
  /** Works on the queue, now if it is idle. */
  readonly start: () => void
  /** Works on the queue when others had their turn. */
  readonly startLater: () => void
  /** Forgets what is left. */
  readonly stop: () => void
}

/** A worker. `work` must not throw; it is given what `begin` gave when its slice began. */
export const worker = <A, S>(loop: EventLoop.Service, begin: () => S, work: (item: A, slice: S) => void): Worker<A> => {
  let queue: Array<A> = []
  let next = 0
  let busy = false
  let cancel: (() => void) | undefined

  const run = (): void => {
    busy = true
    cancel = undefined
    const now = slice(loop)
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
      cancel = loop.later(run)
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
    startLater: () => {
      if (busy) return
      busy = true
      cancel = loop.later(run)
    },
    stop: () => {
      queue = []
      next = 0
      busy = false
      cancel?.()
      cancel = undefined
    }
  }
}
