/**
 * Time that passes only when nothing else can run, and then at once: an hour of waiting costs nothing. One queue runs fibers,
 * timers and deferred work in one order, so a run depends on its seed alone, not on the machine.
 *
 * Effect's `TestClock` checks with real timers whether all fibers wait, which takes about 5 ms for each sleep. Here the
 * scheduler is ours and knows. The clock is a `TestClock` all the same: `TestClock.adjust` waits until that much time has
 * passed and everything due has happened.
 *
 * @since 0.1.0
 */
import { EventLoop } from "@effect-xds/transport/EventLoop"
import * as Cause from "effect/Cause"
import * as Chunk from "effect/Chunk"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as FiberId from "effect/FiberId"
import * as Random from "effect/Random"
import * as Runtime from "effect/Runtime"
import * as Scheduler from "effect/Scheduler"
import * as Supervisor from "effect/Supervisor"
import type * as TestClock from "effect/TestClock"

/**
 * The limits of a run.
 *
 * @since 0.1.0
 */
export interface Limits {
  /** Most milliseconds of simulated time. Default: 24 hours. */
  readonly time: number
  /** Most turns of fibers, timers and deliveries. Default: 20 000 000. */
  readonly steps: number
  /** Most real milliseconds to wait for something outside, such as a promise, while nothing here can run. Default: 1 000. */
  readonly outside: number
}

/**
 * The default limits.
 *
 * @since 0.1.0
 */
export const defaultLimits: Limits = { time: 86_400_000, steps: 20_000_000, outside: 1_000 }

/**
 * Error: a run was aborted because it took too long, made too many steps, or waited for something that never comes.
 *
 * @since 0.1.0
 */
export class SimulationAborted extends Data.TaggedError("SimulationAborted")<{
  readonly reason: "TooLong" | "TooManySteps" | "Stuck"
  /** Milliseconds of simulated time since the beginning. */
  readonly at: number
  /** The limit that was reached. */
  readonly limit: number
}> {
  override get message(): string {
    const when = `after ${this.at / 1000} s of simulated time`
    switch (this.reason) {
      case "TooLong":
        return `not done ${when}: the limit is ${this.limit / 1000} s; shorten the script or raise limits.time`
      case "TooManySteps":
        return `not done ${when} and ${this.limit} steps: something goes round in circles, or limits.steps is to be raised`
      case "Stuck":
        return `stuck ${when}: nobody has anything to do and no timer runs, so what is waited for never comes`
    }
  }
}

/**
 * The clock of one machine. It shows the common time, and may be wrong.
 *
 * @since 0.1.0
 */
export interface HostClock extends TestClock.TestClock {
  /**
   * Makes the clock jump. Forward, as after sleep of the machine: the wall clock and the monotonic clock. Backward, as after a
   * correction: the wall clock only. Running timers stay as they are, as in Node.
   */
  readonly jump: (milliseconds: number) => void
}

/**
 * The time of a simulation.
 *
 * @since 0.1.0
 */
export class SimulatedTime extends Context.Tag("@effect-xds/testing/simulation/SimulatedTime")<
  SimulatedTime,
  {
    /** Milliseconds since the start, the same for all machines. */
    readonly now: () => number
    /** Runs a task after a delay. The task must not throw. The result cancels it. */
    readonly schedule: (milliseconds: number, task: () => void) => () => void
    /** A new clock for a machine. Provide it to an effect with `Effect.withClock`. */
    readonly makeClock: () => HostClock
    /** Number of running timers. */
    readonly timers: () => number
    /** Number of fibers that were started within the run and have not ended. */
    readonly fibers: () => number
  }
>() {}

/**
 * The options of a run.
 *
 * @since 0.1.0
 */
export interface Options {
  /** Seed of the `Random` service. Default: 0. */
  readonly seed?: number | string | undefined
  readonly limits?: Partial<Limits> | undefined
}

interface Timer {
  readonly at: number
  /** Order within one time: 0 first, 1 after everything else of that time. */
  readonly rank: 0 | 1
  readonly order: number
  /** `undefined`: cancelled. */
  task: (() => void) | undefined
}

const isBefore = (one: Timer, other: Timer): boolean => {
  if (one.at !== other.at) return one.at < other.at
  return one.rank === other.rank ? one.order < other.order : one.rank < other.rank
}

/** A binary heap of timers; the earliest is first. */
class Timers {
  readonly #heap: Array<Timer> = []
  #cancelled = 0

  get size(): number {
    return this.#heap.length - this.#cancelled
  }

  add(timer: Timer): void {
    const heap = this.#heap
    heap.push(timer)
    let index = heap.length - 1
    while (index > 0) {
      const parent = (index - 1) >> 1
      const above = heap[parent]
      if (above === undefined || !isBefore(timer, above)) break
      heap[index] = above
      index = parent
    }
    heap[index] = timer
  }

  cancel(timer: Timer): void {
    if (timer.task === undefined) return
    timer.task = undefined
    this.#cancelled++
  }

  /** The earliest timer that is not cancelled. */
  peek(): Timer | undefined {
    for (let first = this.#heap[0]; first !== undefined; first = this.#heap[0]) {
      if (first.task !== undefined) return first
      this.#cancelled--
      this.#removeFirst()
    }
    return undefined
  }

  take(): (() => void) | undefined {
    const first = this.peek()
    if (first === undefined) return undefined
    this.#removeFirst()
    const { task } = first
    first.task = undefined
    return task
  }

  #removeFirst(): void {
    const heap = this.#heap
    const last = heap.pop()
    if (last === undefined || heap.length === 0) return
    let index = 0
    for (;;) {
      const left = 2 * index + 1
      const [one, other] = [heap[left], heap[left + 1]]
      if (one === undefined) break
      const [child, smaller] = other !== undefined && isBefore(other, one) ? [left + 1, other] : [left, one]
      if (!isBefore(smaller, last)) break
      heap[index] = smaller
      index = child
    }
    heap[index] = last
  }
}

/**
 * Steps until others have their turn, such as the timeouts of a runner of tests, which an endless loop would keep waiting for all of
 * its steps. Steps and not milliseconds, so that a run depends on its seed alone.
 */
const stepsAtOnce = 1_000

class SimulatedClock implements HostClock {
  readonly [Clock.ClockTypeId]: Clock.ClockTypeId = Clock.ClockTypeId
  /** Milliseconds by which the wall clock and the monotonic clock are ahead. */
  #wall = 0
  #steady = 0

  constructor(private readonly machine: Machine) {}

  unsafeCurrentTimeMillis(): number {
    return this.machine.now + this.#wall
  }

  unsafeCurrentTimeNanos(): bigint {
    return BigInt(Math.round((this.machine.now + this.#steady) * 1_000_000))
  }

  readonly currentTimeMillis = Effect.sync(() => this.unsafeCurrentTimeMillis())
  readonly currentTimeNanos = Effect.sync(() => this.unsafeCurrentTimeNanos())

  readonly jump = (milliseconds: number): void => {
    this.#wall += milliseconds
    this.#steady += Math.max(0, milliseconds)
  }

  sleep(duration: Duration.DurationInput): Effect.Effect<void> {
    return this.#wait(duration, 0)
  }

  adjust(duration: Duration.DurationInput): Effect.Effect<void> {
    return this.#wait(duration, 1)
  }

  adjustWith(duration: Duration.DurationInput) {
    return <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
      Effect.zipLeft(effect, this.adjust(duration), { concurrent: true })
  }

  setTime(time: number): Effect.Effect<void> {
    return Effect.suspend(() => {
      const ahead = time - this.unsafeCurrentTimeMillis()
      if (ahead >= 0) return this.adjust(ahead)
      return Effect.sync(() => this.jump(ahead))
    })
  }

  get save(): Effect.Effect<Effect.Effect<void>> {
    return Effect.sync(() => {
      const time = this.unsafeCurrentTimeMillis()
      return Effect.sync(() => {
        this.#wall += time - this.unsafeCurrentTimeMillis()
      })
    })
  }

  get sleeps(): Effect.Effect<Chunk.Chunk<number>> {
    return Effect.sync(() => Chunk.fromIterable(this.machine.sleeps()))
  }

  #wait(duration: Duration.DurationInput, rank: 0 | 1): Effect.Effect<void> {
    return Effect.async((resume) => {
      const cancel = this.machine.schedule(Duration.toMillis(duration), rank, () => resume(Effect.void))
      return Effect.sync(cancel)
    })
  }
}

/** Counts running fibers. */
class FiberCount extends Supervisor.AbstractSupervisor<number> {
  count = 0
  readonly value = Effect.sync(() => this.count)
  override onStart(): void {
    this.count++
  }
  override onEnd(): void {
    this.count--
  }
}

/** The queue of all work, in order. */
class Machine {
  now = 0
  steps = 0
  readonly fibers = new FiberCount()
  readonly timers = new Timers()
  readonly #running = new Set<Timer>()
  #order = 0
  #ready = new Scheduler.PriorityBuckets()
  readonly #soon: Array<() => void> = []
  #elapsed = 0

  readonly scheduler: Scheduler.Scheduler = Scheduler.make((task, priority) => this.#ready.scheduleTask(task, priority))

  readonly eventLoop: typeof EventLoop.Service = {
    soon: (work) => void this.#soon.push(work),
    later: (work) => {
      let isWanted = true
      // After everything that is ready.
      this.#ready.scheduleTask(() => {
        if (isWanted) work()
      }, 1_000)
      return () => {
        isWanted = false
      }
    },
    // Work is sliced here, too, always in the same slices.
    elapsed: () => (this.#elapsed += 0.01)
  }

  schedule(milliseconds: number, rank: 0 | 1, task: () => void): () => void {
    if (milliseconds === Number.POSITIVE_INFINITY) return () => undefined
    const at = this.now + Math.max(0, milliseconds)
    const timer: Timer = {
      at,
      rank,
      order: ++this.#order,
      task: () => {
        this.#running.delete(timer)
        task()
      }
    }
    this.#running.add(timer)
    this.timers.add(timer)
    return () => {
      this.#running.delete(timer)
      this.timers.cancel(timer)
    }
  }

  sleeps(): ReadonlyArray<number> {
    return Array.from(this.#running, ({ at }) => at).sort((one, other) => one - other)
  }

  /** Whether anything can run without time passing. */
  get isReady(): boolean {
    return this.#ready.buckets.length > 0 || this.#soon.length > 0
  }

  /** Runs everything that can run without time passing, or until `isOver`. */
  drain(isOver: () => boolean): void {
    this.#drainSoon()
    while (this.#ready.buckets.length > 0 && !isOver()) {
      const { buckets } = this.#ready
      this.#ready = new Scheduler.PriorityBuckets()
      for (const [, tasks] of buckets) for (const task of tasks) this.perform(task)
    }
  }

  perform(task: () => void): void {
    this.steps++
    task()
    this.#drainSoon()
  }

  #drainSoon(): void {
    for (let work = this.#soon.shift(); work !== undefined; work = this.#soon.shift()) work()
  }
}

/**
 * Runs an effect in simulated time, from 0: time passes when every fiber waits. Do not wait for the outside world (a file, a
 * real socket) in it: simulated time would pass meanwhile.
 *
 * @since 0.1.0
 */
export const run =
  (options: Options = {}) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E | SimulationAborted, Exclude<R, SimulatedTime>> =>
    Effect.flatMap(Effect.runtime<Exclude<R, SimulatedTime>>(), (runtime) =>
      Effect.async<A, E | SimulationAborted>((resume) => {
        const limits = { ...defaultLimits, ...options.limits }
        const machine = new Machine()
        const clock = new SimulatedClock(machine)
        const inside = effect.pipe(
          Effect.provideService(SimulatedTime, {
            now: () => machine.now,
            schedule: (milliseconds, task) => machine.schedule(milliseconds, 0, task),
            makeClock: () => new SimulatedClock(machine),
            timers: () => machine.timers.size,
            fibers: () => machine.fibers.count
          }),
          Effect.withRandom(Random.make(options.seed ?? 0)),
          Effect.withClock(clock),
          Effect.supervised(machine.fibers)
        )
        let exit: Exit.Exit<A, E | SimulationAborted> | undefined
        let isAbandoned = false
        const withEventLoop = Runtime.updateContext(runtime, Context.add(EventLoop, machine.eventLoop))
        const fiber = Runtime.runFork(withEventLoop)(inside, { scheduler: machine.scheduler, immediate: false })
        fiber.addObserver((done) => {
          exit ??= done
        })

        const finish = (): void => {
          isAbandoned = true
          if (exit !== undefined) resume(Exit.isExit(exit) ? Effect.suspend(() => exit ?? Effect.never) : Effect.never)
        }
        // Finalizers still run, within limits.
        let grace: { readonly steps: number; readonly time: number } | undefined
        const giveUp = (reason: SimulationAborted["reason"], limit: number): void => {
          exit = Exit.fail(new SimulationAborted({ reason, at: machine.now, limit }))
          if (grace !== undefined) return finish()
          beginGrace()
        }
        const beginGrace = (): void => {
          grace = { steps: machine.steps + 100_000, time: machine.now + 3_600_000 }
          fiber.unsafeInterruptAsFork(FiberId.none)
        }
        const isDone = (): boolean => (grace === undefined ? exit !== undefined : fiber.unsafePoll() !== null)

        let waitedSince: number | undefined
        const turn = (): void => {
          if (isAbandoned) return
          const end = Math.min(machine.steps + stepsAtOnce, grace?.steps ?? limits.steps)
          try {
            machine.drain(() => isDone() || machine.steps >= end)
          } catch (cause) {
            exit ??= Exit.failCause(Cause.die(cause))
            return finish()
          }
          if (isDone()) return finish()
          if (machine.steps >= (grace?.steps ?? limits.steps)) {
            if (grace !== undefined) return finish()
            giveUp("TooManySteps", limits.steps)
          }
          // Lets settled promises continue before time passes.
          setImmediate(pass)
        }
        const pass = (): void => {
          if (isAbandoned) return
          if (machine.isReady) {
            waitedSince = undefined
            return turn()
          }
          const next = machine.timers.peek()
          if (next === undefined) {
            if (grace !== undefined) return finish()
            waitedSince ??= performance.now()
            if (performance.now() - waitedSince < limits.outside) return void setTimeout(pass, 1)
            giveUp("Stuck", limits.outside)
            return turn()
          }
          waitedSince = undefined
          if (next.at > (grace?.time ?? limits.time)) {
            if (grace !== undefined) return finish()
            giveUp("TooLong", limits.time)
            return turn()
          }
          machine.now = next.at
          const task = machine.timers.take()
          try {
            if (task !== undefined) machine.perform(task)
          } catch (cause) {
            exit ??= Exit.failCause(Cause.die(cause))
            return finish()
          }
          turn()
        }
        turn()
        return Effect.async<void>((interrupted) => {
          exit = Exit.failCause(Cause.interrupt(FiberId.none))
          fiber.addObserver(() => interrupted(Effect.void))
          beginGrace()
        })
      })
    )

/**
 * Waits until a condition holds. Checks it every `every` milliseconds.
 *
 * @since 0.1.0
 */
export const until = (condition: () => boolean, every = 10): Effect.Effect<void> =>
  Effect.suspend(() => (condition() ? Effect.void : Effect.zipRight(Effect.sleep(every), until(condition, every))))
