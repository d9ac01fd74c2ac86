/**
 * Active health checking of the hosts of a cluster: `HealthCheck` for each host and checker, driven by the clock and by a
 * {@link Prober}. One timer for all.
 *
 * @see https://www.envoyproxy.io/docs/envoy/latest/intro/arch_overview/upstream/health_checking
 * @since 0.1.0
 */
import type { Checker } from "@effect-xds/discovery/Checker"
import * as HealthCheck from "@effect-xds/discovery/HealthCheck"
import type { HealthFlags } from "@effect-xds/discovery/HealthFlags"
import type { Host } from "@effect-xds/discovery/Host"
import * as Reason from "@effect-xds/proto/Reason"
import * as EventLoop from "@effect-xds/transport/EventLoop"
import * as BadOption from "@effect-xds/transport/BadOption"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as FiberId from "effect/FiberId"
import * as Random from "effect/Random"
import * as Runtime from "effect/Runtime"
import * as Scope from "effect/Scope"
import { type Ask, Prober, type Target } from "./Prober.js"
import { CheckCounts } from "./internal/CheckCounts.js"
import { DeadlineHeap, type Timed } from "./internal/DeadlineHeap.js"

/**
 * What is said of a host by a checker.
 *
 * @since 0.1.0
 */
export interface Said {
  /** The `id` of the host. */
  readonly host: string
  /** The name of the checker. */
  readonly checker: string
  readonly output:
    | Exclude<HealthCheck.Output, { readonly _tag: "Probe" | "Abort" }>
    /** A probe was a success: `CheckPassed` for outlier detection. */
    | { readonly _tag: "Passed" }
}

/**
 * What one checker knows of a host.
 *
 * @since 0.1.0
 */
export interface Status {
  readonly checker: string
  readonly flags: HealthFlags
  /** The last result, how many milliseconds ago it came, and why it was a failure: in words, empty if there are none. */
  readonly last: { readonly result: string; readonly ago: number; readonly why: string } | undefined
  /** Milliseconds until the next probe; of one that runs: until it has taken too long. */
  readonly isProbing: boolean
  readonly next: number
}

/**
 * Checks hosts.
 *
 * @since 0.1.0
 */
export interface HealthChecker {
  /** `Check` of `HostSet`, and each update of a host that is checked: its next probe goes where it now is. */
  readonly check: (host: Host) => Effect.Effect<void>
  /** `Uncheck` of `HostSet`: nothing more is said of it but that nobody has to wait for a result. */
  readonly uncheck: (host: string) => Effect.Effect<void>
  /** The response to a call had `x-envoy-immediate-health-check-fail`. */
  readonly passive: (host: string) => Effect.Effect<void>
  /** The cluster had a connection for a call. */
  readonly trafficSeen: Effect.Effect<void>
  /** What each checker knows of a host; none if it is not checked. */
  readonly status: (host: string) => Effect.Effect<ReadonlyArray<Status>>
}

/**
 * What is checked, and who is told.
 *
 * @since 0.1.0
 */
export interface Options {
  /** The name of the cluster. */
  readonly cluster: string
  readonly checkers: ReadonlyArray<Checker>
  /** Is told what is said, in order. It must not throw; what it asks of the checker is done when it is back. */
  readonly on: (said: Said) => void
  /** Most probes that run at once; others that are due wait for one to end. At least 1. Default: {@link maxProbes}. */
  readonly maxProbes?: number | undefined
  /** The cluster had a connection for a call before. Default: it had none. */
  readonly hasTraffic?: boolean | undefined
}

/**
 * How many probes of a cluster run at once, if nobody says it.
 *
 * @since 0.1.0
 */
export const maxProbes = 1_000

/** One host and one checker. */
interface Check extends Timed {
  readonly host: string
  readonly checker: Checker
  state: HealthCheck.HealthCheck
  target: Target
  /** What is asked with, from the first probe on. */
  opened: { readonly target: Target; readonly scope: Scope.CloseableScope; ask: Ask | undefined } | undefined
  running: Fiber.RuntimeFiber<HealthCheck.Result> | undefined
}

/** Milliseconds of the longest sleep. */
const longest = 3_600_000

/** From so many checks on those that are due within a few milliseconds are woken together: each sleep is a fiber. */
const many = 1_000
/** Milliseconds that the shortest sleep then is, and that a probe and a timeout are late at most for it. */
const shortest = 5

/** ★ A prober that dies, or gives back what is no result, has no answer. */
const resultOf = (exit: Exit.Exit<unknown>): HealthCheck.Result => {
  if (Exit.isFailure(exit)) return { _tag: "Network", why: `the prober died: ${Reason.of(Cause.squash(exit.cause))}` }
  return HealthCheck.isResult(exit.value) ? exit.value : { _tag: "Network", why: "the prober gave back no result" }
}

/**
 * Begins to check: nobody yet. When the scope closes, probes end and connections close.
 *
 * @since 0.1.0
 */
export const make = ({
  checkers,
  cluster,
  on,
  maxProbes: most = maxProbes,
  hasTraffic: hadTraffic = false
}: Options): Effect.Effect<HealthChecker, never, Prober | Scope.Scope> =>
  Effect.gen(function* () {
    // Less than 1 means 1.
    yield* BadOption.check({ maxProbes: most }, { maxProbes: -Infinity })
    const prober = yield* Prober
    const runtime = yield* Effect.runtime()
    const clock = yield* Effect.clock
    const { later } = yield* EventLoop.guarded
    const fork = Runtime.runFork(runtime)
    // Not the wall clock: it may go back, and the reducers' time must not.
    const now = (): number => Number(clock.unsafeCurrentTimeNanos() / 1_000_000n)
    const draw = (): number => Runtime.runSync(runtime)(Random.next)

    const counts = new CheckCounts(cluster)
    const hosts = new Map<string, ReadonlyArray<Check>>()
    const deadlines = new DeadlineHeap<Check>()
    /** Those whose probe is due, in order. */
    const due = new Set<Check>()
    let probes = 0
    let hasTraffic = hadTraffic
    let isClosed = false

    /** Work that came while other work was done. */
    const waiting: Array<() => void> = []
    let isBusy = false
    const run = (work: () => void): void => {
      waiting.push(work)
      if (isBusy) return
      isBusy = true
      try {
        for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
          next()
          proceed()
        }
      } finally {
        isBusy = false
      }
      counts.tell()
      wakeAt(deadlines.next)
    }

    /** ★ The time of a probe counts from when it begins: who waits here is late, and does not fail. */
    const proceed = (): void => {
      for (const check of due) {
        if (probes >= Math.max(1, most)) return
        due.delete(check)
        step(check, { _tag: check.state.phase._tag === "New" ? "Start" : "Deadline" })
      }
    }

    const put = (check: Check, state: HealthCheck.HealthCheck): void => {
      const { flags } = check.state
      check.state = state
      if (flags === state.flags) return
      const checks = hosts.get(check.host) ?? []
      counts.changed(
        checks.map((each) => (each === check ? { flags } : each.state)),
        checks.map((each) => each.state)
      )
    }

    const step = (check: Check, input: HealthCheck.Input): void => {
      const before = check.state
      const [state, outputs] = HealthCheck.step(before, input, { now: now(), draw })
      put(check, state)
      if (state.last !== undefined && state.last !== before.last) counts.result(state.last.result)
      deadlines.set(check, HealthCheck.deadline(state))
      for (const output of outputs) {
        if (output._tag === "Probe") probe(check, output)
        else if (output._tag === "Abort") abort(check)
        else on({ host: check.host, checker: check.checker.name, output })
      }
    }

    const probe = (check: Check, { attempt, isFresh }: HealthCheck.Output & { readonly _tag: "Probe" }): void => {
      if (check.opened !== undefined && check.opened.target !== check.target) {
        fork(release({ opened: check.opened, running: undefined }))
        check.opened = undefined
      }
      const opened = (check.opened ??= {
        target: check.target,
        scope: Effect.runSync(Scope.make()),
        ask: undefined
      })
      // ★ What the code of a prober throws ends its probe alone.
      const asked = Effect.suspend(() =>
        opened.ask === undefined
          ? Effect.flatMap(Scope.extend(prober.open(opened.target), opened.scope), (ask) => {
              opened.ask = ask
              return ask(true)
            })
          : opened.ask(isFresh)
      )
      const fiber = fork(asked)
      check.running = fiber
      probes++
      counts.attempt()
      fiber.addObserver((exit) => {
        if (check.running !== fiber) return
        ended(check)
        const result = resultOf(exit)
        run(() => {
          const before = check.state
          step(check, { _tag: "Result", attempt, result })
          if ("isVerified" in result && result.isVerified === true && check.state !== before) counts.verification()
          if (result._tag === "Success" && check.state !== before) {
            on({ host: check.host, checker: check.checker.name, output: { _tag: "Passed" } })
          }
        })
      })
    }

    const ended = (check: Check): void => {
      check.running = undefined
      probes--
    }

    const abort = (check: Check): void => {
      const { running } = check
      ended(check)
      running?.unsafeInterruptAsFork(FiberId.none)
    }

    /** Ends the probe that runs, then closes the connection. */
    const release = ({ opened, running }: Pick<Check, "opened" | "running">): Effect.Effect<void> =>
      Effect.zipRight(
        running === undefined ? Effect.void : Fiber.interrupt(running),
        opened === undefined ? Effect.void : Scope.close(opened.scope, Exit.void)
      )

    const stop = (check: Check): void => {
      const { opened, running } = check
      due.delete(check)
      step(check, { _tag: "Stop" })
      fork(release({ opened, running }))
    }

    const onDue = (): void =>
      run(() => {
        const at = now()
        const late: Array<Check> = []
        for (let check = deadlines.due(at); check !== undefined; check = deadlines.due(at)) {
          if (check.state.phase._tag === "Waiting") due.add(check)
          else late.push(check)
          deadlines.set(check, Number.POSITIVE_INFINITY)
        }
        // ★ Where the event loop was late, answers that came in time lie unread: they are read before a timeout counts.
        if (late.length > 0) {
          later(() => {
            if (isClosed) return
            run(() => {
              for (const check of late) step(check, { _tag: "Deadline" })
            })
          })
        }
      })

    // One fiber that sleeps, a thousand times in a second: an Alarm, which listens while it sleeps, is dearer.
    let wakes = Number.POSITIVE_INFINITY
    let sleeper: Fiber.RuntimeFiber<void> | undefined
    const wakeAt = (at: number): void => {
      if (at >= wakes || isClosed) return
      // ★ One that is to come soon is soon enough.
      if (deadlines.size > many && wakes - now() <= shortest) return
      sleeper?.unsafeInterruptAsFork(FiberId.none)
      wakes = at
      // Timers of Node cannot wait for longer than 24 days; an early wake-up finds nothing to do.
      const wait = Math.min(Math.max(deadlines.size > many ? shortest : 0, at - now()), longest)
      sleeper = fork(
        Effect.map(Effect.sleep(wait), () => {
          sleeper = undefined
          wakes = Number.POSITIVE_INFINITY
          onDue()
        })
      )
    }

    yield* Effect.addFinalizer(() =>
      Effect.suspend(() => {
        isClosed = true
        counts.end()
        sleeper?.unsafeInterruptAsFork(FiberId.none)
        const all = Array.from(hosts.values()).flat()
        hosts.clear()
        due.clear()
        return Effect.forEach(
          all,
          (check) => {
            deadlines.set(check, Number.POSITIVE_INFINITY)
            const { opened, running } = check
            // What it answers counts no more.
            check.running = undefined
            return release({ opened, running })
          },
          // ★ A connection that is slow to close keeps none of the others.
          { concurrency: "unbounded", discard: true }
        )
      })
    )

    const begin = ({ checkAddress, checkHostname, id }: Host): void => {
      const targetOf = ({ probe: asks, settings }: Checker): Target => ({
        address: checkAddress,
        hostname: checkHostname,
        cluster,
        probe: asks,
        timeout: settings.timeout,
        reuseConnection: settings.reuseConnection
      })
      const known = hosts.get(id)
      if (known !== undefined) {
        for (const check of known) {
          const { address, hostname } = check.target
          // ★ A probe that runs goes on.
          if (address !== checkAddress || hostname !== checkHostname) check.target = targetOf(check.checker)
        }
        return
      }
      const checks = checkers.map((checker): Check => ({
        at: Number.POSITIVE_INFINITY,
        place: -1,
        host: id,
        checker,
        state: HealthCheck.make(checker.settings, hasTraffic),
        target: targetOf(checker),
        opened: undefined,
        running: undefined
      }))
      hosts.set(id, checks)
      for (const check of checks) due.add(check)
    }

    const statusOf = ({ checker, state: { flags, last, phase } }: Check): Status => ({
      checker: checker.name,
      flags,
      last: last === undefined ? undefined : { result: last.result, ago: now() - last.at, why: last.why },
      isProbing: phase._tag === "Probing",
      next: "until" in phase ? Math.max(0, phase.until - now()) : Number.POSITIVE_INFINITY
    })

    const does = (work: () => void): Effect.Effect<void> =>
      Effect.sync(() => {
        if (!isClosed) run(work)
      })
    return {
      check: (host) => does(() => begin(host)),
      uncheck: (host) =>
        does(() => {
          const checks = hosts.get(host) ?? []
          hosts.delete(host)
          counts.changed(
            checks.map(({ state }) => state),
            []
          )
          for (const check of checks) stop(check)
        }),
      passive: (host) =>
        does(() => {
          for (const check of hosts.get(host) ?? []) step(check, { _tag: "Passive" })
        }),
      trafficSeen: does(() => {
        if (hasTraffic) return
        hasTraffic = true
        for (const checks of hosts.values()) for (const check of checks) step(check, { _tag: "TrafficSeen" })
      }),
      status: (host) => Effect.sync(() => (hosts.get(host) ?? []).map(statusOf))
    }
  })
