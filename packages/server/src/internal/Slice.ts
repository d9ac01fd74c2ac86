/**
 * Runs long work in slices, so that others run in between. Slices are measured in real time on purpose: they are about
 * the processor, not the protocol's clock.
 */
import type * as Steps from "@effect-xds/core/Steps"
import type * as EventLoop from "@effect-xds/transport/EventLoop"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"

/**
 * Milliseconds of work in a slice. After it, its writes are sent, and the answers to the previous one are read; each
 * takes about as long again.
 */
const length = 2

/** A slice that begins now. */
export const slice = ({ elapsed }: EventLoop.Service): { readonly isOver: () => boolean } => {
  const end = elapsed() + length
  return { isOver: () => elapsed() >= end }
}

/** Waits for one turn of the event loop. */
export const breathe = ({ later }: EventLoop.Service): Effect.Effect<void> =>
  Effect.async((resume) => {
    const cancel = later(() => resume(Effect.void))
    return Effect.sync(cancel)
  })

/** Milliseconds of work of others in a turn of the event loop that is not busy. */
const little = 0.5

/** Busy turns that work which nobody waits for lets pass. It gets about a sixteenth of a processor that is never idle. */
const patience = 8

/** A loop for work that nobody waits for, or not yet: it comes after a turn that was not busy, but not too late. */
export const unhurried = (
  { elapsed, later, soon }: EventLoop.Service,
  isAwaited: () => boolean
): EventLoop.Service => ({
  soon,
  elapsed,
  later: (work) => {
    let since = elapsed()
    let passed = 0
    const look = (): void => {
      const now = elapsed()
      if (now - since <= little || ++passed > patience || isAwaited()) return work()
      since = now
      cancel = later(look)
    }
    let cancel = later(look)
    return () => cancel()
  }
})

/** Runs some steps of the work; returns its result, or `undefined` if a slice ends before. */
export const some = <A extends object>(loop: EventLoop.Service, work: Steps.Steps<A>): A | undefined => {
  // Most work is done after its first step and needs no slice.
  let now: ReturnType<typeof slice> | undefined
  for (;;) {
    const { done, value } = work.next()
    if (done === true) return value
    now ??= slice(loop)
    if (now.isOver()) return undefined
  }
}

/** The result of work in steps: at once or, if it is long, in slices. An interruption abandons the rest. */
export const steps = <A extends object>(loop: EventLoop.Service, work: Steps.Steps<A>): Effect.Effect<A> => {
  const done = some(loop, work)
  return done === undefined ? Effect.flatMap(breathe(loop), () => steps(loop, work)) : Exit.succeed(done)
}

/** A queue whose items are processed at once or, if that is long, in slices. Short items go before long ones. */
export interface Worker<in A> {
  /** Appends an item. It is not processed yet. `isLong`: it is a part of long work. */
  readonly add: (item: A, isLong: boolean) => void
  /** Processes the queue, now if it is idle. */
  readonly start: () => void
  /** Processes the queue in a later turn. */
  readonly startLater: () => void
  /** Drops the remaining items. */
  readonly stop: () => void
}

/** Items in their order. */
class Queue<A> {
  private items: Array<A> = []
  private next = 0

  get isEmpty(): boolean {
    return this.items.length === 0
  }

  add(item: A): void {
    this.items.push(item)
  }

  take(): A | undefined {
    return this.next < this.items.length ? this.items[this.next++] : undefined
  }

  /** Drops the taken items. */
  dropTaken(): void {
    if (this.next === 0) return
    this.items = this.items.slice(this.next)
    this.next = 0
  }

  clear(): void {
    this.items = []
    this.next = 0
  }
}

/** Makes a worker. `work` must not throw; it gets what `begin` returned at the start of the slice. */
export const worker = <A, S>(loop: EventLoop.Service, begin: () => S, work: (item: A, slice: S) => void): Worker<A> => {
  const short = new Queue<A>()
  const long = new Queue<A>()
  let busy = false
  let cancel: (() => void) | undefined

  const run = (): void => {
    busy = true
    cancel = undefined
    const now = slice(loop)
    const begun = begin()
    const some = (queue: Queue<A>): void => {
      for (let item = queue.take(); item !== undefined; item = queue.take()) {
        work(item, begun)
        if (now.isOver()) return
      }
    }
    some(short)
    // At least one, so that no number of short items keeps long work from its end.
    some(long)
    short.dropTaken()
    long.dropTaken()
    if (short.isEmpty && long.isEmpty) busy = false
    else cancel = loop.later(run)
  }

  return {
    add: (item, isLong) => (isLong ? long : short).add(item),
    start: () => {
      if (!busy) run()
    },
    startLater: () => {
      if (busy) return
      busy = true
      cancel = loop.later(run)
    },
    stop: () => {
      short.clear()
      long.clear()
      busy = false
      cancel?.()
      cancel = undefined
    }
  }
}
