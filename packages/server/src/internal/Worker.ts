/** Processes a queue in slices of the event loop. */
import type * as EventLoop from "@effect-xds/transport/EventLoop"
import * as Slices from "@effect-xds/transport/Slices"

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

/** `work` must not throw; it gets what `begin` returned at the start of the slice. */
export const make = <A, S>(loop: EventLoop.Service, begin: () => S, work: (item: A, slice: S) => void): Worker<A> => {
  const short = new Queue<A>()
  const long = new Queue<A>()
  let busy = false
  let cancel: (() => void) | undefined

  const run = (): void => {
    busy = true
    cancel = undefined
    const now = Slices.begin(loop)
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
