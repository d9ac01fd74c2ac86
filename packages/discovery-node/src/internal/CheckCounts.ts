/**
 * What health checks of a cluster count: `health_check.*`.
 */
import type * as HealthCheck from "@effect-xds/discovery/HealthCheck"
import * as HealthFlags from "@effect-xds/discovery/HealthFlags"
import type * as Metric from "effect/Metric"
import * as Metrics from "../ClusterMetrics.js"

type Flags = Pick<HealthCheck.HealthCheck, "flags">

/** What the checks of one host say together. ★ It passes when all of them say so. */
const standingOf = (states: ReadonlyArray<Flags>): { readonly healthy: number; readonly degraded: number } => {
  const flags = states.reduce((all, state) => all | state.flags, HealthFlags.none)
  const healthy = states.length > 0 && !HealthFlags.isFailing(flags) ? 1 : 0
  return { healthy, degraded: healthy === 1 && HealthFlags.has(flags, "DEGRADED_ACTIVE_HC") ? 1 : 0 }
}

export class CheckCounts {
  private readonly attempts
  private readonly successes
  private readonly failures
  private readonly passiveFailures
  private readonly networkFailures
  private readonly verifications
  private readonly healthy
  private readonly degraded
  /** Of these checks, as they are in the gauges: ★ two sets of a cluster share them while one is warmed. */
  private told = { healthy: 0, degraded: 0 }
  private now = { healthy: 0, degraded: 0 }

  constructor(cluster: string) {
    this.attempts = Metrics.of(Metrics.checkAttempt, cluster)
    this.successes = Metrics.of(Metrics.checkSuccess, cluster)
    this.failures = Metrics.of(Metrics.checkFailure, cluster)
    this.passiveFailures = Metrics.of(Metrics.checkPassiveFailure, cluster)
    this.networkFailures = Metrics.of(Metrics.checkNetworkFailure, cluster)
    this.verifications = Metrics.of(Metrics.checkVerifyCluster, cluster)
    this.healthy = Metrics.of(Metrics.checkHealthy, cluster)
    this.degraded = Metrics.of(Metrics.checkDegraded, cluster)
  }

  attempt(): void {
    count(this.attempts)
  }

  verification(): void {
    count(this.verifications)
  }

  result(result: NonNullable<HealthCheck.HealthCheck["last"]>["result"]): void {
    count(result === "Success" ? this.successes : this.failures)
    if (result === "Passive") count(this.passiveFailures)
    if (result === "Network" || result === "Timeout") count(this.networkFailures)
  }

  /** The checks of a host were so, and are so now; none: it is not checked. */
  changed(before: ReadonlyArray<Flags>, after: ReadonlyArray<Flags>): void {
    const [was, is] = [standingOf(before), standingOf(after)]
    this.now.healthy += is.healthy - was.healthy
    this.now.degraded += is.degraded - was.degraded
  }

  /** Puts the gauges where they are to be. */
  tell(): void {
    const { now, told } = this
    if (now.healthy !== told.healthy) this.healthy.unsafeModify(now.healthy - told.healthy, [])
    if (now.degraded !== told.degraded) this.degraded.unsafeModify(now.degraded - told.degraded, [])
    this.told = { ...now }
  }

  /** Nobody is checked any more. */
  end(): void {
    this.now = { healthy: 0, degraded: 0 }
    this.tell()
  }
}

const count = (counter: Metric.Metric.Counter<number>): void => {
  counter.unsafeUpdate(1, [])
}
