/**
 * The description of a simulation: its machines, script, faults and limits.
 *
 * @since 0.1.0
 */
import type { Trace } from "../invariants/Trace.js"
import type * as TraceInvariants from "../invariants/TraceInvariants.js"
import * as Faults from "../network/Fault.js"
import type { Fault, PlannedFault } from "../network/Fault.js"
import type * as SimulatedNetwork from "../network/SimulatedNetwork.js"
import { SimulationError } from "./Run.js"
import type { Action, Step } from "./Script.js"
import * as SimulatedTime from "./SimulatedTime.js"
import type * as XdsClient from "@effect-xds/client/XdsClient"
import type { Protocol } from "@effect-xds/core/wire/Request"
import type * as SnapshotStore from "@effect-xds/server/SnapshotStore"
import type * as XdsServer from "@effect-xds/server/XdsServer"
import type * as Effect from "effect/Effect"
import type * as LogLevel from "effect/LogLevel"
import type * as Scope from "effect/Scope"

/**
 * A server of a simulation.
 *
 * @since 0.1.0
 */
export interface ServerPlan {
  /** Its address, and its name in faults and traces. */
  readonly name: string
  /** Default: the group of a client is the cluster of its node, or that which the script moves it to. */
  readonly options?: Partial<XdsServer.Options> | undefined
  /**
   * Fills its store, beside the script; for example the user's program. Runs from each start of the server until its stop. Its
   * failure is a problem of the run.
   */
  readonly publisher?: Effect.Effect<unknown, unknown, SnapshotStore.SnapshotStore> | undefined
}

/**
 * A client of a simulation.
 *
 * @since 0.1.0
 */
export interface ClientPlan {
  /** The id of its node, and its name in scripts, faults and traces. */
  readonly name: string
  /** The cluster of its node. Default: `group`. */
  readonly group?: string | undefined
  /** Server addresses by rank. Default: the first server. */
  readonly servers?: ReadonlyArray<string> | undefined
  /** Default: `StateOfTheWorld`. */
  readonly protocol?: Protocol | undefined
  /** Default: true. */
  readonly aggregated?: boolean | undefined
  /** `fail_on_data_errors`. Default: true: deleted or rejected resources are not used any more. */
  readonly failOnDataErrors?: boolean | undefined
}

/**
 * The limits of a run.
 *
 * @since 0.1.0
 */
export interface Limits extends SimulatedTime.Limits {
  /**
   * Milliseconds without a message after which a run is quiet: longer than backoff, keepalive and resource timers. Default: 50
   * s.
   */
  readonly quiet: number
  /** Most milliseconds that a run may take to become quiet. Default: 30 minutes. */
  readonly maxToQuiet: number
  /** Most events in a trace. Default: 1 000 000. */
  readonly events: number
}

/**
 * The default limits.
 *
 * @since 0.1.0
 */
export const defaultLimits: Limits = {
  ...SimulatedTime.defaultLimits,
  quiet: 50_000,
  maxToQuiet: 1_800_000,
  events: 1_000_000
}

/**
 * The description of a simulation.
 *
 * @since 0.1.0
 */
export interface Plan {
  /** Seed of latencies, backoff and all other randomness. Default: 0. */
  readonly seed?: number | undefined
  readonly servers: ReadonlyArray<ServerPlan>
  readonly clients: ReadonlyArray<ClientPlan>
  readonly faults?: ReadonlyArray<PlannedFault> | undefined
  readonly script?: ReadonlyArray<Step> | undefined
  /** A program with further actions and checks, beside the script. Its failure is a problem of the run. */
  readonly body?: ((world: World) => Effect.Effect<unknown, unknown, Scope.Scope>) | undefined
  readonly network?: Omit<SimulatedNetwork.Options, "seed" | "maxEvents"> | undefined
  /** The invariants of the trace. Default: all of `TraceInvariants`. */
  readonly invariants?: Readonly<Record<string, TraceInvariants.TraceInvariant>> | undefined
  readonly limits?: Partial<Limits> | undefined
  /** Lowest level of log lines that are shown. Default: none are. */
  readonly logLevel?: LogLevel.LogLevel | undefined
}

/**
 * The world of a body. Names that the plan lacks die.
 *
 * @since 0.1.0
 */
export interface World {
  readonly client: (name: string) => XdsClient.Service
  /** The running server, or the last one. */
  readonly server: (name: string) => XdsServer.Service
  readonly store: (server: string) => SnapshotStore.Service
  /** The last events of a watch of the script. */
  readonly watchState: (client: string, typeUrl: string, name: string) => WatchState | undefined
  /** Performs an action now, as if it were in the script. */
  readonly perform: (action: Action) => Effect.Effect<void>
  /** Injects a fault now, as if it were planned. */
  readonly inject: (fault: Fault) => Effect.Effect<void>
  /** Waits until nothing has happened for a while. */
  readonly quiet: Effect.Effect<void, SimulationError>
  /** Waits until a condition holds. Checks it every 10 ms. */
  readonly until: (condition: () => boolean) => Effect.Effect<void>
  /** Adds a line to the trace. */
  readonly note: (text: string) => Effect.Effect<void>
  readonly trace: () => Trace
}

/**
 * The events of a watch: the last one that says what to use, and the last of all.
 *
 * @since 0.1.0
 */
export interface WatchState {
  readonly state: "Updated" | "DoesNotExist" | "Error" | undefined
  /** Updated: the fingerprint of the bytes. */
  readonly fingerprint: string | undefined
  readonly last: "Updated" | "DoesNotExist" | "Error" | "AmbientError" | "Recovered"
}

/**
 * The error of a plan, before it is run.
 *
 * @since 0.1.0
 */
export const check = (plan: Plan, limits: Limits): SimulationError | undefined => {
  const seed = plan.seed ?? 0
  const fail = (reason: SimulationError["reason"], detail: string) =>
    new SimulationError({ reason, seed, detail, lastEvents: [] })
  const clients = new Set(plan.clients.map(({ name }) => name))
  const servers = new Set(plan.servers.map(({ name }) => name))
  if (plan.servers.length === 0) return fail("UnknownHost", "there is no server; a simulation needs one")
  const twice = [...plan.clients, ...plan.servers].map(({ name }) => name).sort()
  for (const [index, name] of twice.entries()) {
    if (twice[index + 1] === name) return fail("UnknownHost", `two machines are named ${JSON.stringify(name)}`)
  }
  const list = (names: Iterable<string>) => Array.from(names).join(", ") || "none"
  const unknown = (kind: "client" | "server", name: string, where: string): SimulationError | undefined => {
    const known = kind === "client" ? clients : servers
    if (known.has(name)) return undefined
    return fail("UnknownHost", `${where} names the ${kind} ${JSON.stringify(name)}; there are ${list(known)}`)
  }
  for (const client of plan.clients) {
    for (const server of client.servers ?? []) {
      const error = unknown("server", server, `the client ${client.name}`)
      if (error !== undefined) return error
    }
  }
  for (const [index, step] of (plan.script ?? []).entries()) {
    const where = `step ${index} of the script (${step._tag} at ${step.at} ms)`
    const error = "client" in step ? unknown("client", step.client, where) : undefined
    if (error !== undefined) return error
    if (!(step.at >= 0 && step.at <= limits.time)) return fail("TooLong", `${where} is not within limits.time`)
  }
  for (const [index, fault] of (plan.faults ?? []).entries()) {
    const where = `fault ${index} (${fault._tag} at ${fault.at} ms)`
    const named = Faults.hosts(fault)
    for (const name of named.clients) {
      const error = unknown("client", name, where)
      if (error !== undefined) return error
    }
    for (const name of named.servers) {
      const error = unknown("server", name, where)
      if (error !== undefined) return error
    }
    if (fault._tag === "ClockJump" && !clients.has(fault.host) && !servers.has(fault.host)) {
      return fail(
        "UnknownHost",
        `${where} names ${JSON.stringify(fault.host)}; there are ${list([...clients, ...servers])}`
      )
    }
    const end = fault.at + Faults.duration(fault)
    if (!(fault.at >= 0 && end <= limits.time)) {
      return fail("EndlessFault", `${where} does not end within limits.time (${limits.time / 1000} s); give it an end`)
    }
  }
  return undefined
}
