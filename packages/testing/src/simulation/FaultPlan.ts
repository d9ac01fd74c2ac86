/**
 * Random plans of faults, for simulations.
 *
 * @since 0.1.0
 */
import type { PlannedFault } from "../network/Fault.js"
import * as fc from "fast-check"

/**
 * Fault plans for simulations: any fault for any machine. Each fault ends.
 *
 * @since 0.1.0
 */
export const faults = (options: {
  readonly clients: ReadonlyArray<string>
  readonly servers: ReadonlyArray<string>
  /** Milliseconds within which faults start. Default: 60 000. */
  readonly within?: number | undefined
  /** Default: 8. */
  readonly maxLength?: number | undefined
  /** Whether clients die. Default: false. */
  readonly clientCrashes?: boolean | undefined
}): fc.Arbitrary<ReadonlyArray<PlannedFault>> => {
  const { maxLength = 8, within = 60_000 } = options
  const at = fc.nat(within)
  const client = fc.constantFrom(...options.clients)
  const server = fc.constantFrom(...options.servers)
  const duration = fc.constantFrom(100, 1_000, 5_000, 20_000, 60_000)
  const fault: fc.Arbitrary<PlannedFault> = fc.oneof(
    fc.record({
      at,
      _tag: fc.constant("Slow" as const),
      client,
      latency: fc.constantFrom(50, 500, 5_000),
      jitter: fc.constantFrom(0, 100, 5_000),
      for: duration
    }),
    fc.record({
      at,
      _tag: fc.constant("Reset" as const),
      client,
      server,
      delivery: fc.constantFrom("before" as const, "after" as const)
    }),
    fc.record({
      at,
      _tag: fc.constant("HalfOpen" as const),
      client,
      server,
      believes: fc.constantFrom("client" as const, "server" as const)
    }),
    fc.record({ at, _tag: fc.constant("SlowReader" as const), client, for: duration }),
    fc.record({
      at,
      _tag: fc.constant("Partition" as const),
      clients: fc.uniqueArray(client, { minLength: 1 }),
      server,
      for: duration
    }),
    fc.record({
      at,
      _tag: fc.constant("Crash" as const),
      server,
      state: fc.constantFrom("kept" as const, "lost" as const),
      for: duration
    }),
    fc.record({
      at,
      _tag: fc.constant("ClockJump" as const),
      host: fc.oneof(client, server),
      by: fc.constantFrom(-3_600_000, -1_000, 1_000, 60_000, 3_600_000)
    }),
    ...(options.clientCrashes === true
      ? [fc.record({ at, _tag: fc.constant("ClientCrash" as const), client, for: duration })]
      : [])
  )
  return fc.array(fault, { maxLength, size: "max" }).map((faults) => faults.toSorted((one, other) => one.at - other.at))
}
