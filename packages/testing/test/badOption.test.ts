/** Numbers that are no limits, and durations that are none. */
import { MemoryClient, MemoryTransport, Waiting } from "@effect-xds/testing"
import * as SimulatedNetwork from "@effect-xds/testing/network/SimulatedNetwork"
import * as SimulatedTime from "@effect-xds/testing/simulation/SimulatedTime"
import { expect, it } from "@effect/vitest"
import { Cause, Effect } from "effect"

const saidBy = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.map(Effect.flip(Effect.sandbox(effect)), Cause.pretty)

it.effect("of a wait: it would end at once, and say nothing of why", () =>
  Effect.gen(function* () {
    const waits = Waiting.eventually(() => undefined, { limit: Number.NaN })
    expect(yield* saidBy(waits)).toContain("limit must be 0 or more, not NaN")
  })
)

it.effect("of a network", () =>
  Effect.gen(function* () {
    for (const name of [
      "latency",
      "jitter",
      "connectTimeout",
      "keepalive",
      "window",
      "maxRequests",
      "maxEvents"
    ] as const) {
      const network = saidBy(SimulatedNetwork.make({ [name]: Number.NaN }))
      expect(yield* SimulatedTime.run()(network)).toContain(`${name} must be 0 or more, not NaN`)
    }
  })
)

it.scoped("of a client in memory", () =>
  Effect.gen(function* () {
    expect(yield* saidBy(MemoryClient.open({ credit: Number.NaN }))).toContain("credit must be 1 or more, not NaN")
  }).pipe(Effect.provide(MemoryTransport.layer))
)
