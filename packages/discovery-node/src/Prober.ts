/**
 * Probes hosts: a service that can be exchanged.
 *
 * @since 0.1.0
 */
import type * as HealthCheck from "@effect-xds/discovery/HealthCheck"
import type * as Probe from "@effect-xds/discovery/Probe"
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"

/**
 * Whom to probe, and how.
 *
 * @since 0.1.0
 */
export interface Target {
  /** `10.0.0.1:80`, `[::1]:80`, or the path of a pipe: `checkAddress` of the host. */
  readonly address: string
  /** `checkHostname` of the host; empty: none. */
  readonly hostname: string
  /** The name of the cluster: what is named as the host where nobody says another. */
  readonly cluster: string
  readonly probe: Probe.Probe
  /** Milliseconds that a probe may take. The prober only tells them to the host: who asks aborts. */
  readonly timeout: number
  /** Whether the connection stays open after a probe, for the next one. */
  readonly reuseConnection: boolean
}

/**
 * One probe. It never fails: that there is no answer is a result, too. ★ It has no timeout of its own: interrupting it
 * aborts it, and closes its connection.
 *
 * @param isFresh with a new connection, as `HealthCheck` says it
 * @since 0.1.0
 */
export type Ask = (isFresh: boolean) => Effect.Effect<HealthCheck.Result>

/**
 * Probes hosts.
 *
 * @since 0.1.0
 */
export interface Prober {
  /** Gets ready for the probes of one target, of which one runs at a time. The connection closes with the scope. */
  readonly open: (target: Target) => Effect.Effect<Ask, never, Scope.Scope>
}

/**
 * The service.
 *
 * @since 0.1.0
 */
export const Prober = Context.GenericTag<Prober>("@effect-xds/discovery-node/Prober")
