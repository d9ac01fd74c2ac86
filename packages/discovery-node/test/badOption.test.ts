/** Numbers that are no limits: NaN, as of a variable of the environment that is not set. */
import { ClusterMembers, HealthChecker, Prober, Resolver } from "@effect-xds/discovery-node"
import { expect, it } from "@effect/vitest"
import { Cause, Effect, Layer, Stream } from "effect"

const saidBy = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.map(Effect.flip(Effect.sandbox(effect)), Cause.pretty)

const unused = Layer.merge(
  Layer.succeed(Resolver.Resolver, { resolve: () => Effect.never }),
  Layer.succeed(Prober.Prober, { open: () => Effect.never })
)

it.scoped("of a resolver", () =>
  Effect.gen(function* () {
    expect(yield* saidBy(Resolver.make({ timeout: Number.NaN }))).toContain("timeout must be 0 or more, not NaN")
    expect(yield* saidBy(Resolver.make({ tries: Number.NaN }))).toContain("tries must be 1 or more, not NaN")
    yield* Resolver.make({ timeout: "1 second", tries: 1 })
  })
)

it.scoped("of members and their health checks: of none there would be a probe, of NaN all at once", () =>
  Effect.gen(function* () {
    const said = "maxProbes must be a number, not NaN"
    const watches = { cluster: () => Stream.never, assignment: () => Stream.never }
    expect(yield* saidBy(ClusterMembers.fromWatches(watches, { maxProbes: Number.NaN }))).toContain(said)
    const checks = { cluster: "c", checkers: [], on: () => undefined }
    expect(yield* saidBy(HealthChecker.make({ ...checks, maxProbes: Number.NaN }))).toContain(said)
    yield* HealthChecker.make({ ...checks, maxProbes: Infinity })
  }).pipe(Effect.provide(unused))
)
