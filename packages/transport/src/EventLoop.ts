/**
 * How work is put off: to the end of what runs now, or until others had their turn. Facades ask here and not Node, so
 * that a simulation decides when such work is done, and a run of it is always the same.
 *
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import * as Runtime from "effect/Runtime"

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

/** Milliseconds that an event loop has to do what it was given. */
const timeout = 1_000

/** So often may the clock of an event loop be read before it moves on. */
const readings = 100_000

/** What is to be done once, whoever calls. */
interface Task {
  readonly work: () => void
  cancel: () => void
}

/**
 * An event loop of a user, with one of the process behind it: what was given to the first is done once, and no more than a second late.
 * After the first mistake, which is logged, nothing is given to it any more.
 */
class Guarded implements Service {
  private isTrusted = true
  /** In the order in which they were given. */
  private readonly tasks = new Set<Task>()
  private watch: Fiber.RuntimeFiber<void> | undefined
  private last = Number.NEGATIVE_INFINITY
  private repeated = 0
  /** From the time of the process to that of the loop, once it is not trusted. */
  private offset = 0

  constructor(
    private readonly loop: Service,
    private readonly runtime: Runtime.Runtime<never>
  ) {}

  readonly soon = (work: () => void): void => {
    if (this.isTrusted) this.give("soon", work)
    else process.soon(work)
  }

  readonly later = (work: () => void): (() => void) => (this.isTrusted ? this.give("later", work) : process.later(work))

  readonly elapsed = (): number => {
    if (this.isTrusted) {
      try {
        const now: unknown = this.loop.elapsed()
        if (!Number.isFinite(now)) this.distrust("elapsed gave no number")
        else if (Number(now) > this.last) {
          this.last = Number(now)
          this.repeated = 0
        } else if (++this.repeated >= readings) this.distrust(`elapsed did not move on in ${readings} readings`)
      } catch (cause) {
        this.distrust("elapsed failed", cause)
      }
    }
    return this.isTrusted ? this.last : process.elapsed() + this.offset
  }

  private give(method: "soon" | "later", work: () => void): () => void {
    let isGiving = true
    const task: Task = { work, cancel: () => undefined }
    this.tasks.add(task)
    try {
      const cancel = this.loop[method](() => {
        if (isGiving) this.distrust(`${method} did the work at once`)
        else if (this.isTrusted) this.perform(task)
      })
      // One that cannot take it back: it is not done twice even so.
      if (typeof cancel === "function") task.cancel = cancel
    } catch (cause) {
      this.distrust(`${method} failed`, cause)
    }
    isGiving = false
    if (this.tasks.has(task)) this.watch ??= this.watching()
    return () => {
      this.done(task)
      try {
        task.cancel()
      } catch (cause) {
        this.distrust("taking work back failed", cause)
      }
    }
  }

  private perform(task: Task): void {
    if (this.done(task)) task.work()
  }

  /** Whether it was still to be done. */
  private done(task: Task): boolean {
    const isNew = this.tasks.delete(task)
    if (this.tasks.size === 0 && this.watch !== undefined) {
      const { watch } = this
      this.watch = undefined
      watch.unsafeInterruptAsFork(watch.id())
    }
    return isNew
  }

  /** A task that is there before a pause and after it was not done in time. */
  private watching(): Fiber.RuntimeFiber<void> {
    const look: Effect.Effect<void> = Effect.suspend(() => {
      const before = Array.from(this.tasks)
      return Effect.flatMap(Clock.sleep(timeout), () => {
        if (!before.some((task) => this.tasks.has(task))) return look
        this.watch = undefined
        this.distrust(`what it was given was not done within ${timeout / 1_000} s`)
        return Effect.void
      })
    })
    return Runtime.runFork(this.runtime)(look)
  }

  private distrust(what: string, cause?: unknown): void {
    if (!this.isTrusted) return
    this.isTrusted = false
    // A slice that began goes on: what it reads must not go back.
    if (Number.isFinite(this.last)) this.offset = this.last - process.elapsed()
    const message = `the EventLoop that was provided is not used any more: ${what}; that of the process does the rest`
    Runtime.runFork(this.runtime)(
      cause === undefined ? Effect.logError(message) : Effect.logError(message, Cause.die(cause))
    )
    for (const task of this.tasks) task.cancel = process.later(() => this.perform(task))
  }
}

/**
 * The event loop that is provided, fit for use: that of the {@link process} as it is, any other with a guard. One that throws, does
 * not do what it was given within a second of Effect's clock, does it at once or twice, or whose clock stands still is a defect that
 * is logged; the event loop of the process then does the work.
 *
 * @since 0.1.0
 */
export const guarded: Effect.Effect<Service> = Effect.flatMap(EventLoop, (loop) =>
  loop === process || loop instanceof Guarded
    ? Effect.succeed(loop)
    : Effect.map(Effect.runtime(), (runtime) => new Guarded(loop, runtime))
)
