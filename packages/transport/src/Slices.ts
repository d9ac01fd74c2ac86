/**
 * Long work in slices of the event loop: nothing of it takes more than some milliseconds at a time, and others run in between.
 * Slices are measured in real time on purpose: they are about the processor, not the protocol's clock.
 *
 * @since 0.1.0
 */
import type * as Steps from "@effect-xds/core/Steps"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as EventLoop from "./EventLoop.js"

/**
 * Milliseconds of work in a slice. After it, its writes are sent, and the answers to the previous one are read; each
 * takes about as long again.
 */
const length = 2

/**
 * A slice that has begun.
 *
 * @since 0.1.0
 */
export interface Slice {
  readonly isOver: () => boolean
}

/**
 * A slice that begins now.
 *
 * @since 0.1.0
 */
export const begin = ({ elapsed }: EventLoop.Service): Slice => {
  const end = elapsed() + length
  return { isOver: () => elapsed() >= end }
}

/**
 * Waits for one turn of the event loop: between calls that take it until they return, as those of an embedded database.
 *
 * @since 0.1.0
 */
export const breathe = ({ later }: EventLoop.Service): Effect.Effect<void> =>
  Effect.async((resume) => {
    const cancel = later(() => resume(Effect.void))
    return Effect.sync(cancel)
  })

/**
 * For work that waits for promises, in slices of which the first begins now. The result is asked between two parts of it: a
 * promise to wait for if the slice is over, with which the next one begins.
 *
 * @since 0.1.0
 */
export const pauses = (loop: EventLoop.Service): (() => Promise<void> | undefined) => {
  let slice = begin(loop)
  return () =>
    slice.isOver()
      ? new Promise((resolve) => {
          loop.later(() => {
            slice = begin(loop)
            resolve()
          })
        })
      : undefined
}

/**
 * Runs some steps of the work; returns its result, or `undefined` if a slice ends before.
 *
 * @since 0.1.0
 */
export const some = <A extends object>(loop: EventLoop.Service, work: Steps.Steps<A>): A | undefined => {
  // Most work is done after its first step and needs no slice.
  let slice: Slice | undefined
  for (;;) {
    const { done, value } = work.next()
    if (done === true) return value
    slice ??= begin(loop)
    if (slice.isOver()) return undefined
  }
}

/**
 * The result of work in steps: at once or, if it is long, in slices. An interruption abandons the rest.
 *
 * @since 0.1.0
 */
export const steps = <A extends object>(loop: EventLoop.Service, work: Steps.Steps<A>): Effect.Effect<A> => {
  const done = some(loop, work)
  return done === undefined ? Effect.flatMap(breathe(loop), () => steps(loop, work)) : Exit.succeed(done)
}
