/** A limit that is none: with NaN all faults would be told. */
import { create } from "@bufbuild/protobuf"
import { ClusterSchema } from "@effect-xds/proto/envoy/config/cluster/v3/cluster"
import { GroupRules, Rules } from "@effect-xds/validate"
import { expect, it } from "@effect/vitest"
import { Cause, Effect } from "effect"

const options = { maxFaults: Number.NaN }
const said = "maxFaults must be a number, not NaN"
const saidBy = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.map(Effect.flip(Effect.sandbox(effect)), Cause.pretty)

it.effect("is refused", () =>
  Effect.gen(function* () {
    const cluster = create(ClusterSchema, { name: "a" })
    expect(() => Rules.check(ClusterSchema, cluster, options)).toThrow(said)
    expect(yield* saidBy(Rules.message(ClusterSchema, cluster, options))).toContain(said)
    expect(yield* saidBy(GroupRules.check([], options))).toContain(said)
    expect(Rules.check(ClusterSchema, cluster, { maxFaults: -1 }).faults).toHaveLength(0)
  })
)
