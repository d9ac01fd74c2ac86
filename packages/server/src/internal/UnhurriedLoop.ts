/** A loop for work that must not hold up others. */
import type * as EventLoop from "@effect-xds/transport/EventLoop"

/** Milliseconds of work of others in a turn of the event loop that is not busy. */
const little = 0.5

/** Busy turns that work which nobody waits for lets pass. It gets about a sixteenth of a processor that is never idle. */
const patience = 8

/** A loop for work that nobody waits for, or not yet: it comes after a turn that was not busy, but not too late. */
export const make = ({ elapsed, later, soon }: EventLoop.Service, isAwaited: () => boolean): EventLoop.Service => ({
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
