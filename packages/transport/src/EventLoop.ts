/**
 * How work is put off: to the end of what runs now, or until others had their turn. Facades ask here and not Node, so
 * that a simulation decides when such work is done, and a run of it is always the same.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"

/**
 * Where work that is put off goes.
 *
 * @since 0.1.0
 */
export interface Service {
  /** Does the work when what runs now is done, before any I/O. It must not throw. */
  readonly soon: (work: () => void) => void
  /** Does the work after I/O had its turn. It must not throw. The result takes it back. */
  readonly later: (work: () => void) => () => void
  /** Milliseconds of the processor, for the length of slices of work. No protocol time. */
  readonly elapsed: () => number
}

/**
 * The event loop of the process.
 *
 * @since 0.1.0
 */
export const process: Service = {
  soon: (work) => queueMicrotask(work),
  later: (work) => {
    const handle = setImmediate(work)
    return () => clearImmediate(handle)
  },
  elapsed: () => performance.now()
}

/**
 * The event loop that facades use. Nobody has to provide it: the default is that of the {@link process}.
 *
 * @since 0.1.0
 */
export class EventLoop extends Context.Reference<EventLoop>()("@effect-xds/transport/EventLoop", {
  defaultValue: (): Service => process
}) {}
