/** Numbers that are no limits: NaN, as of a variable of the environment that is not set, would let everything in. */
import { create } from "@bufbuild/protobuf"
import { ClusterSchema } from "@effect-xds/proto/envoy/config/cluster/v3/cluster"
import { expect, it } from "@effect/vitest"
import { OnDemandHosts, Snapshot, SnapshotStore, Validator, XdsServer } from "@effect-xds/server"
import { ServerTransport } from "@effect-xds/transport"
import { Cause, Effect, Exit } from "effect"

/** Of which defect it dies. */
const defectOf = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.map(Effect.exit(effect), (exit) => {
    if (Exit.isSuccess(exit)) return "none"
    const defect = Cause.squash(exit.cause)
    return defect instanceof Error ? defect.message : String(defect)
  })

const transport: ServerTransport.Service = { serve: () => Effect.succeed("nowhere") }

it.scoped.each([
  "maxNames",
  "maxNameLength",
  "maxTypes",
  "maxNodeFields",
  "maxClientBytes",
  "maxStreams",
  "maxStreamsPerGroup",
  "maxEarlyRequests",
  "maxResponseBytes",
  "eventCapacity",
  "maxEventNames",
  "maxMissingCalls",
  "maxMissingCallsPerGroup",
  "maxMissingNames",
  "maxMissingBytes",
  "groupTimeout",
  "phaseDeadline",
  "firstRequestTimeout",
  "fetchTimeout",
  "missingWait",
  "missingTimeout",
  "missingAgainAfter"
] as const)("a server: %s", (name) =>
  Effect.gen(function* () {
    const made = (value: number) => XdsServer.make({ group: () => "g", [name]: value })
    expect(yield* defectOf(made(Number.NaN))).toBe(`${name} must be 0 or more, not NaN`)
    expect(yield* defectOf(made(-1))).toBe(`${name} must be 0 or more, not -1`)
  }).pipe(
    Effect.provideService(ServerTransport.ServerTransport, transport),
    Effect.provide(SnapshotStore.layerMemory())
  )
)

it.scoped.each(["maxGroups", "maxResourcesPerGroup"] as const)("a store: %s", (name) =>
  Effect.gen(function* () {
    const said = yield* defectOf(SnapshotStore.makeMemory({ [name]: Number.NaN }))
    expect(said).toBe(`${name} must be 0 or more, not NaN`)
    const store = yield* SnapshotStore.makeMemory({ [name]: Infinity })
    yield* store.set("g", { clusters: [] })
  })
)

it.scoped.each([
  ["maxFaults", "a number"],
  ["maxBroken", "a number"],
  ["maxText", "0 or more"],
  ["maxRemembered", "0 or more"],
  ["maxIndexed", "0 or more"]
] as const)("a validator, and a store that has one: %s", ([name, wanted]) =>
  Effect.gen(function* () {
    const said = `${name} must be ${wanted}, not NaN`
    expect(() => Validator.make({ [name]: Number.NaN })).toThrow(said)
    expect(yield* defectOf(SnapshotStore.makeMemory({ validate: { [name]: Number.NaN } }))).toBe(said)
  })
)

it.scoped.each([Number.NaN, -1, "-1 seconds", [0, -1]] as const)("the TTL of a resource: %s", (ttl) =>
  Effect.gen(function* () {
    const store = yield* SnapshotStore.makeMemory()
    const cluster = Snapshot.resource(create(ClusterSchema, { name: "a" }), { ttl })
    const { message } = yield* Effect.flip(store.set("g", { clusters: [cluster] }))
    expect(message).toContain("the TTL is not a finite duration")
  })
)

it.scoped("hosts on demand: maxHosts", () =>
  Effect.gen(function* () {
    const made = OnDemandHosts.make({ resolve: () => Effect.succeed(undefined), maxHosts: Number.NaN })
    expect(yield* defectOf(made)).toBe("maxHosts must be 0 or more, not NaN")
  }).pipe(Effect.provide(SnapshotStore.layerMemory()))
)
