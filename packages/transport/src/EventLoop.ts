/**
 * The scheduler of deferred work: at the end of this turn, or after I/O. Facades use this and not Node's, so that a
 * simulation can schedule the work and every run is repeatable.
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
 * How work is deferred.
 *
 * @since 0.1.0
 */
export interface Service {
  /** Runs the work at the end of this turn, before any I/O. The work must not throw. */
  readonly soon: (work: () => void) => void
  /** Runs the work after I/O. The work must not throw. The result cancels it. */
  readonly later: (work: () => void) => () => void
  /** Milliseconds of a monotonic clock that limits slices of work. It is not protocol time. */
  readonly elapsed: () => number
}

/**
 * The event loop of the Node process.
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
 * The event loop that facades use. It is optional: the default is {@link process}.
 *
 * @since 0.1.0
 */
export class EventLoop extends Context.Reference<EventLoop>()("@effect-xds/transport/EventLoop", {
  defaultValue: (): Service => process
}) {}

/** Milliseconds within which an event loop must run its work. */
const timeout = 1_000

/** The clock of an event loop must advance within this many readings. */
const readings = 100_000

/** Work that runs once, even if two event loops call it. */
interface Task {
  readonly work: () => void
  cancel: () => void
}

/**
 * An event loop of a user, guarded: each task runs once, and no more than a second late. After the first mistake, which
 * is logged, the event loop of the process runs everything.
 */
class Guarded implements Service {
  private isTrusted = true
  /** Tasks that have not run, in order of scheduling. */
  private readonly tasks = new Set<Task>()
  private watch: Fiber.RuntimeFiber<void> | undefined
  private last = Number.NEGATIVE_INFINITY
  private repeated = 0
  /** The difference of the two clocks, in milliseconds, set when the loop is no longer trusted. */
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
      // Even without a cancel function no task runs twice: `tasks` decides.
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

  /** Marks a task as done; `false` if it already was. */
  private done(task: Task): boolean {
    const isNew = this.tasks.delete(task)
    if (this.tasks.size === 0 && this.watch !== undefined) {
      const { watch } = this
      this.watch = undefined
      watch.unsafeInterruptAsFork(watch.id())
    }
    return isNew
  }

  /** Distrusts the loop when a task is still not done after the timeout. */
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
    // Slices of work go on across the change, so the clock must not go back.
    if (Number.isFinite(this.last)) this.offset = this.last - process.elapsed()
    const message = `the EventLoop that was provided is not used any more: ${what}; that of the process does the rest`
    Runtime.runFork(this.runtime)(
      cause === undefined ? Effect.logError(message) : Effect.logError(message, Cause.die(cause))
    )
    for (const task of this.tasks) task.cancel = process.later(() => this.perform(task))
  }
}

/** Whether a loop needs no guard. */
const isSafe = (loop: Service): boolean => loop === process || loop instanceof Guarded

/**
 * The provided event loop, safe to use: {@link process} as it is, any other with a guard. A loop is at fault if it
 * throws, runs work at once, twice or more than a second late (by Effect's clock), or if its clock stands still. The
 * fault is logged as a defect, and the event loop of the process takes over.
 *
 * @since 0.1.0
 */
export const guarded: Effect.Effect<Service> = Effect.flatMap(EventLoop, (loop) =>
  isSafe(loop) ? Effect.succeed(loop) : Effect.map(Effect.runtime(), (runtime) => new Guarded(loop, runtime))
)

/**
 * Goes on with the event loop of {@link guarded}, in one step of Effect's runtime where it needs no guard.
 *
 * @since 0.1.0
 */
export const withGuarded = <A, E, R>(use: (loop: Service) => Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.withFiberRuntime((fiber) => {
    const loop = Context.get(fiber.currentContext, EventLoop)
    return isSafe(loop) ? use(loop) : Effect.flatMap(guarded, use)
  })
