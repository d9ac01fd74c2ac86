import { create, fromBinary, toBinary } from "@bufbuild/protobuf"
import { AnySchema } from "@bufbuild/protobuf/wkt"
import * as ChangeLog from "@effect-xds/core/resource/ChangeLog"
import * as Digest from "@effect-xds/core/resource/Digest"
import * as EdsCluster from "@effect-xds/core/resource/EdsCluster"
import * as Request from "@effect-xds/core/wire/Request"
import * as Cursor from "@effect-xds/core/resource/Cursor"
import * as Difference from "@effect-xds/core/resource/Difference"
import * as NameTrie from "@effect-xds/core/resource/NameTrie"
import * as ResourceGroup from "@effect-xds/core/resource/ResourceGroup"
import * as ResourceSet from "@effect-xds/core/resource/ResourceSet"
import * as Response from "@effect-xds/core/wire/Response"
import type * as ServerStream from "@effect-xds/core/server/ServerStream"
import * as Steps from "@effect-xds/core/Steps"
import { Slab } from "@effect-xds/core/wire/Wire"
import * as VirtualHostDiscovery from "@effect-xds/core/resource/VirtualHostDiscovery"
import { Cluster_DiscoveryType, ClusterSchema } from "@effect-xds/proto/envoy/config/cluster/v3/cluster"
import {
  DeltaDiscoveryRequestSchema,
  DeltaDiscoveryResponseSchema,
  DiscoveryRequestSchema,
  DiscoveryResponseSchema,
  ResourceSchema
} from "@effect-xds/proto/envoy/service/discovery/v3/discovery"
import * as ResourceType from "@effect-xds/proto/ResourceType"
import { Arbitraries, Invariants, ResourceSpec } from "@effect-xds/testing"
import { sha256 } from "@noble/hashes/sha2.js"
import * as Either from "effect/Either"
import * as HashMap from "effect/HashMap"
import * as fc from "fast-check"
import { assert, describe, it, vi } from "@effect/vitest"
import { createHash } from "node:crypto"
import * as Simulation from "./Simulation.js"

// The same scripts in every run; XDS_SEED=<number> tries others, XDS_SEED=random any.
const given = process.env["XDS_SEED"] ?? "20260101"
const seed = given === "random" ? Date.now() % 2 ** 31 : Number(given)
console.log(`properties: XDS_SEED=${seed}`)

// Seconds of work each: on a busy machine many. Whoever asks for more scripts waits for them.
vi.setConfig({ testTimeout: process.env["XDS_RUNS"] === undefined ? 120_000 : 0 })

const { Cluster, ClusterLoadAssignment, Listener, RouteConfiguration, ScopedRouteConfiguration, VirtualHost } =
  ResourceType

const check = <A>(arbitrary: fc.Arbitrary<A>, numRuns: number, property: (value: A) => void): void =>
  fc.assert(fc.property(arbitrary, property), { seed, numRuns })

/** Runs scripts of at least 200 operations; the first that fails is cut down to the operations it takes to fail. */
const checkScripts = (
  script: fc.Arbitrary<ReadonlyArray<Arbitraries.Operation>>,
  numRuns: number,
  problemsOf: (script: ReadonlyArray<Arbitraries.Operation>) => ReadonlyArray<string>
): void => {
  const { counterexample } = fc.check(
    fc.property(script, (each) => problemsOf(each).length === 0),
    { seed, numRuns, endOnFailure: true }
  )
  if (counterexample === null) return
  let [short] = counterexample
  // What takes long to fail is not cut down to its end.
  const end = performance.now() + 20_000
  for (let size = short.length >> 1; size > 0; size = size > 1 ? size >> 1 : 0) {
    for (let at = 0; at < short.length && performance.now() < end;) {
      const without = [...short.slice(0, at), ...short.slice(at + size)]
      if (problemsOf(without).length > 0) short = without
      else at += size
    }
  }
  const lines = short.map(Simulation.describeOperation).join("\n  ")
  assert.fail(`XDS_SEED=${seed}\n  ${lines}\n${problemsOf(short).slice(0, 5).join("\n")}`)
}

/** Whether a resource with a TTL is back before its removal was sent: within its TTL, or later. */
const returned = function* (
  { group, subscriptions }: ServerStream.ServerStream,
  now: number
): Generator<"back" | "too late"> {
  if (group === undefined) return
  for (const { pendingRemovals, renewedAt, typeUrl } of subscriptions) {
    for (const [name, { resource }] of pendingRemovals) {
      if (resource?.ttl === undefined) continue
      const back = ResourceGroup.get(group, { typeUrl, name })
      if (back?.fingerprint !== resource.fingerprint) continue
      yield "back"
      if (now > renewedAt + resource.ttl) yield "too late"
    }
  }
}

/** Of each kind; XDS_RUNS=<number> for more, XDS_THOROUGH=1 for as many as faults in the sources need. */
const scripts = Number(process.env["XDS_RUNS"] ?? (process.env["XDS_THOROUGH"] === "1" ? "12" : "6"))

/** Where usually this many are run: in proportion. */
const runs = (usually: number): number => Math.ceil((usually * scripts) / 12)

const protocols = ["StateOfTheWorld", "Incremental"] as const

describe("a stream and its client, whatever happens", () => {
  for (const protocol of protocols) {
    const isIncremental = protocol === "Incremental"
    // Aliases are of incremental xDS; beside a wildcard a client could not tell what it is sent for which reason.
    const askings = isIncremental
      ? [
          { by: "name and `*`", aliases: false, wildcard: true },
          { by: "name and alias", aliases: true, wildcard: false }
        ]
      : [{ by: "name and `*`", aliases: false, wildcard: true }]
    const separate = [Cluster, RouteConfiguration, isIncremental ? VirtualHost : ScopedRouteConfiguration]
    const typeUrls = [Cluster, ClusterLoadAssignment, Listener, RouteConfiguration].map((type) => type.typeUrl)
    if (isIncremental) typeUrls.push(VirtualHost.typeUrl)
    // TTLs are renewed when they are due, and what a log no longer knows cannot be kept until its deletion has its turn.
    const except = [Invariants.typesInOrder]

    for (const { by, ...asking } of askings) {
      // By alias a client may know a resource under names that it gave up: only where it ends is compared.
      const lockstep = asking.wildcard
      for (const { shortName, typeUrl } of separate) {
        const claim = lockstep
          ? "every response is the reference server's"
          : "the client ends with what the store holds"
        it(`${protocol}, separate ${shortName}, by ${by}: ${claim}`, () =>
          checkScripts(
            Arbitraries.script({ typeUrls: [typeUrl], ...asking }),
            scripts,
            (script) => Simulation.run({ protocol, typeUrl }, script, { lockstep }).problems
          ))
      }
      for (const { phases, ...options } of [
        { phases: "make before break", makeBeforeBreak: true, phaseDeadline: 100_000 },
        { phases: "no phases", makeBeforeBreak: false, phaseDeadline: 100_000 },
        { phases: "phases that end", makeBeforeBreak: true }
      ]) {
        it(`${protocol}, aggregated, ${phases}, by ${by}: the client ends with what the store holds, in order`, () =>
          checkScripts(
            Arbitraries.script({ typeUrls, ...asking, unrelated: false }),
            scripts,
            (script) =>
              Simulation.run({ protocol, typeUrl: undefined, ...options }, script, { lockstep: false }).problems
          ))
      }
      it(`${protocol}, aggregated, in parts, by ${by}: the client ends with what the store holds, in order`, () =>
        checkScripts(
          Arbitraries.script({ typeUrls, ...asking, unrelated: false }),
          scripts,
          (script) =>
            Simulation.run({ protocol, typeUrl: undefined, maxResponseBytes: 1 }, script, { lockstep: false }).problems
        ))
      it(`${protocol}, aggregated, by ${by}, a store that is cleared or goes another way, phases that end: the same`, () =>
        checkScripts(
          Arbitraries.script({ typeUrls, ...asking }),
          scripts,
          (script) =>
            Simulation.run({ protocol, typeUrl: undefined }, script, {
              lockstep: false,
              except: isIncremental ? [] : except
            }).problems
        ))
    }
    it(`${protocol}, what is missing may be made: separate and aggregated, the client ends with what the store holds`, () => {
      const missing = { protocol, missingWait: 700 }
      // What may be made waits, on purpose.
      const how = { lockstep: false, restored: true, except: [Invariants.typesInOrder, Invariants.nothingStarves] }
      const few = Math.ceil(scripts / 3)
      const asking = { aliases: isIncremental, wildcard: !isIncremental }
      checkScripts(
        Arbitraries.script({ typeUrls, ...asking }),
        few,
        (script) => Simulation.run({ ...missing, typeUrl: undefined }, script, how).problems
      )
      for (const { typeUrl } of separate) {
        checkScripts(
          Arbitraries.script({ typeUrls: [typeUrl], ...asking }),
          few,
          (script) => Simulation.run({ ...missing, typeUrl }, script, how).problems
        )
      }
      checkScripts(
        Arbitraries.script({ typeUrls, aliases: false, wildcard: true }),
        few,
        (script) => Simulation.run({ ...missing, typeUrl: undefined }, script, how).problems
      )
    })
    it(`${protocol}, aggregated, name after name, an answer for each: the client ends with what the store holds`, () =>
      checkScripts(
        Arbitraries.script({ typeUrls, unrelated: false }),
        scripts,
        (script) =>
          Simulation.run({ protocol, typeUrl: undefined, namesPerStep: 1, namesPerResponse: 1 }, script, {
            lockstep: false,
            // A question has many answers.
            except: [...except, Invariants.nothingWithoutReason]
          }).problems
      ))
    for (const namesPerStep of [1, 2, 3]) {
      it(`${protocol}, separate ${Cluster.shortName}, ${namesPerStep} at a time: the client ends with what the store holds`, () =>
        checkScripts(
          Arbitraries.script({ typeUrls: [Cluster.typeUrl] }),
          runs(10),
          (script) =>
            Simulation.run({ protocol, typeUrl: Cluster.typeUrl, namesPerStep }, script, { lockstep: false }).problems
        ))
      it(`${protocol}, aggregated, ${namesPerStep} at a time: the client ends with what the store holds`, () =>
        checkScripts(
          Arbitraries.script({ typeUrls, unrelated: false }),
          runs(6),
          (script) =>
            Simulation.run({ protocol, typeUrl: undefined, namesPerStep }, script, { lockstep: false, except }).problems
        ))
    }
    const ofCollections: ReadonlyArray<{
      readonly kind: string
      readonly options: Omit<Simulation.Options, "protocol">
      readonly lockstep: boolean
    }> = [
      { kind: "separate", options: { typeUrl: Cluster.typeUrl }, lockstep: true },
      { kind: "separate, by name", options: { typeUrl: RouteConfiguration.typeUrl }, lockstep: true },
      {
        kind: "separate, with the wildcard switched off",
        options: { typeUrl: Cluster.typeUrl, wildcardOff: new Set([Cluster.typeUrl]) },
        lockstep: true
      },
      { kind: "aggregated", options: { typeUrl: undefined }, lockstep: false },
      {
        kind: "one name at a time",
        options: { typeUrl: Cluster.typeUrl, namesPerStep: 1, namesPerResponse: 1 },
        lockstep: false
      },
      {
        kind: "what is missing may be made",
        options: { typeUrl: Cluster.typeUrl, missingWait: 700 },
        lockstep: false
      }
    ]
    for (const { kind, lockstep, options } of ofCollections) {
      it(`${protocol}, glob collections, ${kind}: ${lockstep ? "every response is the reference server's" : "the client ends with what the store holds"}`, () =>
        checkScripts(
          Arbitraries.script({
            typeUrls: options.typeUrl === undefined ? typeUrls.slice(0, 4) : [options.typeUrl],
            naming: Arbitraries.collections
          }),
          Math.ceil(scripts / 2),
          (script) =>
            Simulation.run({ protocol, ...options }, script, {
              lockstep,
              moving: true,
              restored: options.missingWait !== undefined,
              except: lockstep ? [] : [...except, Invariants.nothingStarves, Invariants.nothingWithoutReason]
            }).problems
        ))
    }
    it(`${protocol}, separate, with the wildcard switched off: every response is the reference server's`, () =>
      checkScripts(Arbitraries.script({ typeUrls: [Cluster.typeUrl] }), runs(20), (script) => {
        const wildcardOff = new Set([Cluster.typeUrl])
        return Simulation.run({ protocol, typeUrl: Cluster.typeUrl, wildcardOff }, script, { lockstep: true }).problems
      }))
    it(`${protocol}, separate, the log of changes overflows: every response is the reference server's`, () =>
      checkScripts(
        Arbitraries.script({ typeUrls: [Cluster.typeUrl], floods: true }),
        runs(4),
        (script) => Simulation.run({ protocol, typeUrl: Cluster.typeUrl }, script, { lockstep: true }).problems
      ))
    it(`${protocol}, aggregated, the log of changes overflows: the client ends with what the store holds`, () =>
      checkScripts(
        Arbitraries.script({ typeUrls, floods: true }),
        runs(4),
        (script) => Simulation.run({ protocol, typeUrl: undefined }, script, { lockstep: false, except }).problems
      ))
    it(`${protocol}, aggregated, with TTLs: heartbeats change nothing`, () =>
      checkScripts(
        Arbitraries.script({ typeUrls, ttl: true }),
        runs(15),
        (script) =>
          Simulation.run({ protocol, typeUrl: undefined, ttl: true }, script, { lockstep: false, except }).problems
      ))
    it(`${protocol}, aggregated, removed and back while there is no credit, with TTLs: heartbeats change nothing`, () => {
      let met = 0
      let tooLate = 0
      checkScripts(Arbitraries.script({ typeUrls, ttl: true, returns: true }), scripts, (script) => {
        const seen = new Set<"back" | "too late">()
        const onState = (stream: ServerStream.ServerStream, now: number) => {
          if (!stream.credit) for (const each of returned(stream, now)) seen.add(each)
        }
        const how = { lockstep: false, except, onState }
        const { problems } = Simulation.run({ protocol, typeUrl: undefined, ttl: true }, script, how)
        if (seen.has("back")) met++
        if (seen.has("too late")) tooLate++
        return problems
      })
      console.log(`properties: of ${scripts} scripts ${met} had such a resource, ${tooLate} one later than its TTL`)
      assert.isAbove(met, scripts / 5)
      assert.isAbove(tooLate, 0)
    })
  }
  // Names that lead from one resource to another, come and go. A client holds what it is sent by the resource's name, as Envoy
  // does, or by the names that it asked for: what it must not hold any more, it must be told.
  const incremental = { protocol: "Incremental" as const }
  const worlds = [
    { world: "aliases that move", typeUrl: ClusterLoadAssignment.typeUrl, naming: Arbitraries.moving, stored: [] },
    {
      world: "hosts whose domains move",
      typeUrl: VirtualHost.typeUrl,
      naming: Arbitraries.hosts,
      stored: [RouteConfiguration.typeUrl]
    }
  ]
  for (const { naming, stored, typeUrl, world } of worlds) {
    const type = ResourceType.shortNameOf(typeUrl)
    const script = { typeUrls: [typeUrl], naming, unrelated: false }
    it(`Incremental, separate ${type}, ${world}, by name and alias: every response is the reference server's`, () =>
      checkScripts(
        Arbitraries.script({ ...script, wildcard: false, credit: false }),
        scripts,
        (each) => Simulation.run({ ...incremental, typeUrl }, each, { lockstep: true, moving: true }).problems
      ))
    for (const wildcard of [false, true]) {
      const by = wildcard ? "name, alias and `*`" : "name and alias"
      it(`Incremental, separate ${type}, ${world}, by ${by}: the client ends with what the store holds`, () =>
        checkScripts(
          Arbitraries.script({ ...script, stored, wildcard }),
          scripts,
          (each) => Simulation.run({ ...incremental, typeUrl }, each, { lockstep: false, moving: true }).problems
        ))
    }
    it(`Incremental, separate ${type}, ${world}, what is held is known by what was asked for: the same`, () =>
      checkScripts(
        Arbitraries.script({ ...script, wildcard: false }),
        scripts,
        (each) =>
          Simulation.run({ ...incremental, typeUrl }, each, { lockstep: false, moving: true, keys: "aliases" }).problems
      ))
  }
  for (const ttl of [false, true]) {
    const what = ttl ? ", and TTLs" : ""
    it(`Incremental, aggregated, hosts whose domains move${what}: the client ends with what the store holds, in order`, () =>
      checkScripts(
        Arbitraries.script({
          typeUrls: [RouteConfiguration.typeUrl, VirtualHost.typeUrl],
          naming: Arbitraries.hosts,
          ttl,
          unrelated: false
        }),
        scripts,
        (each) =>
          Simulation.run({ ...incremental, typeUrl: undefined, ttl }, each, { lockstep: false, moving: true }).problems
      ))
  }
  it("Incremental, separate VHDS with its wildcard, hosts whose domains move: the client ends with what the store holds", () => {
    const { typeUrl } = VirtualHost
    checkScripts(
      Arbitraries.script({ typeUrls: [typeUrl], naming: Arbitraries.hosts, unrelated: false }),
      scripts,
      (each) =>
        Simulation.run({ ...incremental, typeUrl, wildcardOff: new Set() }, each, { lockstep: false, moving: true })
          .problems
    )
  })
  it("state of the world and incremental end with the same resources", () =>
    checkScripts(
      Arbitraries.script({ typeUrls: [Cluster, ClusterLoadAssignment, Listener].map((type) => type.typeUrl) }),
      runs(30),
      (script) => {
        const [one, other] = protocols.map((protocol) =>
          Simulation.run({ protocol, typeUrl: undefined }, script, {
            lockstep: false,
            except: [Invariants.typesInOrder]
          })
        )
        assert(one !== undefined && other !== undefined)
        return [...one.problems, ...other.problems, ...Invariants.disagreements(one.client, other.client, one.group)]
      }
    ))
})

describe("ResourceSet", () => {
  const typeUrl = RouteConfiguration.typeUrl
  const changes = fc.array(
    fc.record({
      upsert: fc.array(Arbitraries.resourceSpec(typeUrl), { maxLength: 3 }),
      remove: fc.array(fc.constantFrom(...Arbitraries.names), { maxLength: 2 }),
      /** The set that is changed: the newest, or an older one. */
      base: fc.option(fc.nat(), { nil: undefined, freq: 3 })
    }),
    { minLength: 1, maxLength: 30 }
  )
  const grow = (
    steps: typeof changes extends fc.Arbitrary<infer A> ? A : never
  ): ReadonlyArray<ResourceSet.ResourceSet> => {
    const sets = [ResourceSet.empty(typeUrl)]
    for (const { base, remove, upsert } of steps) {
      const from = sets[base === undefined ? sets.length - 1 : base % sets.length]
      assert(from !== undefined)
      sets.push(Either.getOrThrow(ResourceSet.update(from, { upsert: upsert.map(ResourceSpec.toResource), remove })))
    }
    return sets
  }
  const withAlias = (name: string): ReadonlyArray<string> => [name, Arbitraries.aliasOf(name) ?? name]
  const contents = (set: ResourceSet.ResourceSet) =>
    new Map(ResourceSet.all(set).map((resource) => [resource.name, resource.fingerprint]))

  it("the difference between any two sets is that of their contents, along the log or across branches", () =>
    check(changes, 200, (steps) => {
      const sets = grow(steps)
      for (const before of sets) {
        for (const after of sets) {
          const [old, now] = [contents(before), contents(after)]
          const difference = Difference.of(after, before.cursor)
          assert.deepStrictEqual(
            difference.changed.map((resource) => resource.name).sort(),
            Array.from(now.keys())
              .filter((name) => old.get(name) !== now.get(name))
              .sort()
          )
          assert.deepStrictEqual(
            Array.from(difference.removed.keys()).sort(),
            Array.from(old.keys())
              .filter((name) => !now.has(name))
              .sort()
          )
          for (const each of difference.changed) assert.strictEqual(each, ResourceSet.get(after, each.name))
          for (const each of difference.changed) assert(difference.touched.has(each.name))
          for (const name of difference.removed.keys()) assert(difference.touched.has(name))
        }
      }
    }))

  it("what a difference says of some names is found from these alone, from any state that a client may be in", () =>
    check(fc.tuple(changes, fc.subarray(Arbitraries.names.flatMap(withAlias))), 200, ([steps, some]) => {
      const sets = grow(steps)
      for (const before of sets) {
        for (const after of sets) {
          for (const cursor of [
            before.cursor,
            Cursor.ahead(before.cursor, ResourceSet.all(after).slice(0, 2), ["a"]),
            Cursor.elsewhere(before.cursor, before.resources),
            Cursor.again(before.cursor, NameTrie.remove(before.cursor.fingerprints, "b"))
          ]) {
            // Before the whole difference is known.
            const part = Steps.toEnd(Difference.ofNames(after, cursor, new Set(some)))
            assert.deepStrictEqual(Difference.ofFewNames(after, cursor, some), part)
            const whole = Difference.of(after, cursor)
            for (const name of some) {
              assert.strictEqual(Difference.concerns(part, name), Difference.concerns(whole, name), name)
              for (const each of [name, Cursor.nameAt(cursor, name)]) {
                assert.strictEqual(part.removed.has(each), whole.removed.has(each), each)
                assert.strictEqual(part.removed.get(each), whole.removed.get(each), each)
              }
            }
          }
        }
      }
    }))

  it("the difference is right when the log does not reach back: 512 changes, 8192 names", () => {
    const spec = (name: string, content: number) => ResourceSpec.toResource({ typeUrl, name, content })
    const update = (set: ResourceSet.ResourceSet, change: ResourceSet.Change) =>
      Either.getOrThrow(ResourceSet.update(set, change))
    const start = update(ResourceSet.empty(typeUrl), { upsert: [spec("a", 0), spec("b", 0), spec("c", 0)] })
    const many = Array.from({ length: 3_000 }, (_, n) => spec(`n${n}`, n))
    for (const [changeCount, flood] of [
      [511, false],
      [512, false],
      [513, false],
      [2_000, false],
      [10, true]
    ] as const) {
      let set = update(start, { remove: ["c"], upsert: [spec("d", 0)] })
      for (let n = 2; n <= changeCount; n++) set = update(set, { upsert: [spec("a", n % 2)] })
      if (flood) {
        for (let n = 0; n < 2; n++)
          set = update(update(set, { upsert: many }), { remove: many.map((each) => each.name) })
      }
      assert(ChangeLog.entries(set).length <= 512)
      assert(set.logged <= 8_192)
      const difference = Difference.of(set, start.cursor)
      const isOdd = ResourceSet.get(set, "a")?.fingerprint === spec("a", 1).fingerprint
      assert.deepStrictEqual(difference.changed.map((each) => each.name).sort(), isOdd ? ["a", "d"] : ["d"])
      assert.deepStrictEqual(Array.from(difference.removed.keys()), ["c"])
    }
  })

  it("the log has as many changes as there are resources: then comparing these takes no longer", () => {
    const spec = (name: string, content: number) => ResourceSpec.toResource({ typeUrl, name, content })
    const resources = (content: number) => Array.from({ length: 1_000 }, (_, n) => spec(`n${n}`, content))
    const start = Either.getOrThrow(ResourceSet.update(ResourceSet.empty(typeUrl), { upsert: resources(0) }))
    let set = start
    let most = 0
    for (const content of [1, 2]) {
      for (const [n, resource] of resources(content).entries()) {
        set = Either.getOrThrow(ResourceSet.update(set, { upsert: [resource] }))
        const reach = content === 1 && ChangeLog.changesSince(set, start.cursor) !== undefined ? n + 1 : 0
        most = Math.max(most, reach)
        assert(ChangeLog.entries(set).length <= 1_000)
      }
    }
    assert(most > 900, `${most} changes`)
  })

  it("the log has the last changes in their order, as many as its bounds allow, whatever their sizes are", () => {
    const named = (count: number) => new Map(Array.from({ length: count }, (_, at) => [`n${at}`, undefined]))
    const sizes = [1, 2, 3, 31, 200, 1_000, 8_192, 9_000].map(named)
    const runs = fc.array(fc.tuple(fc.constantFrom(...sizes), fc.integer({ min: 1, max: 700 })), { maxLength: 8 })
    check(fc.tuple(runs, fc.constantFrom(0, 600, 1_000)), 20, ([runs, resources]) => {
      const made: Array<ChangeLog.LogEntry> = []
      let log = ChangeLog.empty
      for (const [before, times] of runs) {
        for (let time = 0; time < times; time++) {
          made.push({ from: { high: 0, low: made.length }, before })
          log = ChangeLog.withChange(log, made[made.length - 1] ?? assert.fail(), resources)
          if (time % 11 > 0 && time < times - 1) continue
          const sizeOf = (entries: ReadonlyArray<ChangeLog.LogEntry>) =>
            entries.reduce((sum, each) => sum + each.before.size, 0)
          const entries = ChangeLog.entries(log)
          assert.deepStrictEqual(
            entries.map(({ from }) => from.low),
            made.slice(-entries.length).map(({ from }) => from.low)
          )
          assert.strictEqual(log.logged, sizeOf(entries))
          assert.isAtLeast(entries.length, 1)
          assert.isAtMost(entries.length, Math.max(512, resources))
          if (entries.length > 1) assert.isAtMost(log.logged, 8_192)
          // One more would be too many, or a block of them is left out before they are.
          const more = made.slice(-entries.length - 1)
          if (more.length > entries.length && sizeOf(more) <= 8_192)
            assert.isAtLeast(entries.length, Math.max(512, resources) - 63)
          // What is told since a change is what came from it on.
          for (const ago of [1, 2, 31, 32, 33, 64, 65, entries.length].filter((each) => each <= entries.length)) {
            const cursor = (low: number, revision: number): Cursor.Cursor => ({
              ...ResourceSet.empty(typeUrl).cursor,
              revision,
              digest: { high: 0, low }
            })
            const since = cursor(made.length - ago, made.length - ago)
            const told = ChangeLog.changesSince({ ...log, cursor: cursor(made.length, made.length) }, since)
            assert.deepStrictEqual(
              told?.map(({ from }) => from.low),
              made.slice(-ago).map(({ from }) => from.low)
            )
          }
        }
      }
    })
  })

  it("one resource is put as a change of one resource puts it, conflicts and labels included", () =>
    check(
      fc.tuple(
        changes,
        fc.array(fc.tuple(Arbitraries.resourceSpec(typeUrl), fc.subarray([...Arbitraries.names]), fc.boolean()), {
          minLength: 1,
          maxLength: 5
        })
      ),
      200,
      ([steps, puts]) => {
        for (const set of grow(steps)) {
          for (const [spec, others, isLabelled] of puts) {
            const made = ResourceSpec.toResource(spec)
            const aliases = others.filter((alias) => alias !== made.name)
            const resource = { ...made, aliases, version: isLabelled ? "label" : made.version }
            const one = ResourceSet.put(set, resource)
            const other = ResourceSet.update(set, { upsert: [resource] })
            assert.deepStrictEqual(one, other)
            if (Either.isRight(one) && Either.isRight(other)) {
              assert.strictEqual(one.right === set, other.right === set)
              assert.deepStrictEqual(
                Difference.of(one.right, set.cursor).changed,
                Difference.of(other.right, set.cursor).changed
              )
            }
            const group = Either.getOrThrow(ResourceGroup.update(ResourceGroup.empty, { upsert: ResourceSet.all(set) }))
            assert.deepStrictEqual(
              ResourceGroup.update(group, { upsert: [resource] }),
              ResourceGroup.update(group, { upsert: new Set([resource]) })
            )
          }
        }
      }
    ))

  it("names and aliases lead where the resources say", () =>
    check(changes, 200, (steps) => {
      for (const set of grow(steps)) {
        const all = ResourceSet.all(set)
        assert.strictEqual(ResourceSet.size(set), all.length)
        for (const name of Arbitraries.names) {
          const alias = Arbitraries.aliasOf(name)
          const resource = all.find((each) => each.name === name)
          assert.strictEqual(ResourceSet.find(set, name), resource)
          if (alias !== undefined) assert.strictEqual(ResourceSet.find(set, alias), resource)
        }
        assert.strictEqual(HashMap.size(set.aliases), all.flatMap((each) => each.aliases).length)
      }
    }))

  it("the version depends on the content alone, not on the way to it", () =>
    check(fc.tuple(changes, fc.array(fc.nat())), 200, ([steps]) => {
      const set = grow(steps).at(-1)
      assert(set !== undefined)
      const fresh = Either.getOrThrow(
        ResourceSet.replace(ResourceSet.empty(typeUrl), [...ResourceSet.all(set)].reverse())
      )
      assert.strictEqual(fresh.version, set.version)
      assert.deepStrictEqual(contents(fresh), contents(set))
    }))
})

describe("Digest", () => {
  const digest = fc.uint8Array({ maxLength: 8 }).map((bytes) => Digest.ofParts([bytes]))
  it("a sum does not depend on the order, and taking away undoes adding", () =>
    check(
      fc
        .array(digest, { minLength: 1 })
        .chain((all) => fc.tuple(fc.constant(all), fc.shuffledSubarray(all, { minLength: all.length }))),
      200,
      ([all, shuffled]) => {
        const sum = all.reduce(Digest.add, Digest.zero)
        assert.deepStrictEqual(shuffled.reduce(Digest.add, Digest.zero), sum)
        assert.deepStrictEqual(shuffled.reduce(Digest.subtract, sum), Digest.zero)
        assert.match(Digest.toHex(sum), /^[0-9a-f]{16}$/)
      }
    ))
  it("is the beginning of the SHA-256 of all parts behind their lengths, whether they are bytes or text", () =>
    check(
      fc.array(
        fc.oneof(
          fc.string({ unit: "grapheme", maxLength: 300 }),
          fc.string({ maxLength: 1_100 }),
          fc.uint8Array({ maxLength: 1_100 })
        ),
        { maxLength: 6 }
      ),
      200,
      (parts) => {
        const expected = sha256.create()
        for (const part of parts) {
          const bytes = typeof part === "string" ? new TextEncoder().encode(part) : part
          const length = new Uint8Array(4)
          new DataView(length.buffer).setUint32(0, bytes.length)
          expected.update(length).update(bytes)
        }
        const hex = Array.from(expected.digest().subarray(0, 8), (byte) => byte.toString(16).padStart(2, "0")).join("")
        assert.strictEqual(Digest.toHex(Digest.ofParts(parts)), hex)
        const platform = new Digest.Hasher((bytes) => createHash("sha256").update(bytes).digest("hex"))
        assert.strictEqual(Digest.toHex(Digest.ofParts(parts, platform)), hex)
      }
    ))
  it("moving a byte from one part to the next gives another digest", () =>
    check(fc.tuple(fc.uint8Array({ minLength: 1, maxLength: 8 }), fc.nat(), fc.nat()), 200, ([bytes, one, other]) => {
      const split = (at: number) => Digest.ofParts([bytes.slice(0, at), bytes.slice(at)])
      const [first, second] = [one % (bytes.length + 1), other % (bytes.length + 1)]
      assert.strictEqual(Digest.toHex(split(first)) === Digest.toHex(split(second)), first === second)
    }))
})

describe("Response", () => {
  const typeUrl = ClusterLoadAssignment.typeUrl
  const resources = fc
    .uniqueArray(Arbitraries.resourceSpec(typeUrl, { ttl: true }), { selector: (spec) => spec.name })
    .map((specs) => specs.map(ResourceSpec.toResource))
  const text = fc.oneof(
    fc.string({ unit: "grapheme", maxLength: 8 }),
    fc.string({ minLength: 100, maxLength: 160 }),
    fc.string({ unit: "grapheme", minLength: 100, maxLength: 160 })
  )
  const response = (protocol: Request.Protocol): fc.Arbitrary<Response.Response> =>
    fc
      .record({
        version: text,
        ttl: fc.boolean(),
        all: resources,
        isHeartbeat: fc.infiniteStream(fc.boolean()),
        removed: fc.array(text),
        absent: fc.array(text)
      })
      .map(({ absent, all, isHeartbeat, removed, ttl, version }) => {
        const heartbeats = all.filter((resource) => resource.ttl !== undefined && ttl && isHeartbeat.next().value)
        const incremental = {
          removed,
          absent,
          aliases: new Map(all.filter(({ aliases }) => aliases.length > 0).map(({ aliases, name }) => [name, aliases]))
        }
        return Response.make({
          protocol,
          typeUrl,
          version,
          ttl,
          resources: all.filter((resource) => !heartbeats.includes(resource)),
          heartbeats,
          ...(protocol === "Incremental" ? incremental : {})
        })
      })
  const duration = (milliseconds: number | undefined) =>
    milliseconds === undefined
      ? undefined
      : { seconds: BigInt(Math.floor(milliseconds / 1000)), nanos: Math.round((milliseconds % 1000) * 1e6) }
  const plain = (ttl: { readonly seconds: bigint; readonly nanos: number } | undefined) =>
    ttl === undefined ? undefined : { seconds: ttl.seconds, nanos: ttl.nanos }

  it("of the state of the world: its bytes decode to the same content", () =>
    check(fc.tuple(response("StateOfTheWorld"), text), 200, ([made, nonce]) => {
      const decoded = fromBinary(DiscoveryResponseSchema, Response.encode(made, nonce))
      assert.deepStrictEqual([decoded.typeUrl, decoded.versionInfo, decoded.nonce], [typeUrl, made.version, nonce])
      assert.strictEqual(decoded.resources.length, made.resources.length + made.heartbeats.length)
      made.resources.forEach((resource, index) => {
        const any = decoded.resources[index]
        assert(any !== undefined)
        if (made.ttl && resource.ttl !== undefined) {
          assert.strictEqual(any.typeUrl, "type.googleapis.com/envoy.service.discovery.v3.Resource")
          const wrapped = fromBinary(ResourceSchema, any.value)
          assert.deepStrictEqual([wrapped.name, wrapped.version], [resource.name, resource.version])
          assert.deepStrictEqual(plain(wrapped.ttl), duration(resource.ttl))
          assert.deepStrictEqual(wrapped.resource?.value, resource.value)
          assert.strictEqual(wrapped.resource?.typeUrl, typeUrl)
        } else {
          assert.deepStrictEqual(any, create(AnySchema, { typeUrl, value: resource.value }))
        }
      })
      made.heartbeats.forEach((resource, index) => {
        const wrapped = fromBinary(
          ResourceSchema,
          decoded.resources[made.resources.length + index]?.value ?? new Uint8Array()
        )
        assert.deepStrictEqual([wrapped.name, wrapped.version], [resource.name, resource.version])
        assert.isUndefined(wrapped.resource)
        assert.deepStrictEqual(plain(wrapped.ttl), duration(resource.ttl))
      })
    }))

  it("of incremental: its bytes decode to the same content", () =>
    check(fc.tuple(response("Incremental"), text), 200, ([made, nonce]) => {
      const decoded = fromBinary(DeltaDiscoveryResponseSchema, Response.encode(made, nonce))
      assert.deepStrictEqual(
        [decoded.typeUrl, decoded.systemVersionInfo, decoded.nonce],
        [typeUrl, made.version, nonce]
      )
      assert.deepStrictEqual(decoded.removedResources, made.removed)
      const found = decoded.resources.map((resource) => ({
        name: resource.name,
        version: resource.version,
        aliases: resource.aliases,
        body: resource.resource === undefined ? undefined : [resource.resource.typeUrl, resource.resource.value],
        ttl: plain(resource.ttl)
      }))
      const expected = [
        ...made.resources.map((resource) => ({
          name: resource.name,
          version: resource.version,
          aliases: [...resource.aliases],
          body: [typeUrl, resource.value],
          ttl: made.ttl ? duration(resource.ttl) : undefined
        })),
        ...made.heartbeats.map((resource) => ({
          name: resource.name,
          version: resource.version,
          aliases: [...resource.aliases],
          body: undefined,
          ttl: duration(resource.ttl)
        })),
        ...made.absent.map((name) => ({
          name,
          version: "",
          aliases: [name].filter((each) => each !== ""),
          body: undefined,
          ttl: undefined
        }))
      ]
      assert.deepStrictEqual(found, expected)
    }))
})

describe("the body of a response", () => {
  const make = () => Response.make({ protocol: "Incremental", typeUrl: ClusterLoadAssignment.typeUrl, version: "1" })
  it("is assembled once if the response is shared, and is the same bytes if it is not", () => {
    const shared = Response.shared(make())
    assert.strictEqual(Response.body(shared), Response.body(shared))
    assert.deepStrictEqual(Response.body(make()), Response.body(shared))
  })
  it("is not that of a shared response that it is a changed copy of", () => {
    const shared = Response.shared(make())
    Response.body(shared)
    const copy = { ...shared, version: "2" }
    assert.strictEqual(fromBinary(DeltaDiscoveryResponseSchema, Response.body(copy)).systemVersionInfo, "2")
    assert.strictEqual(fromBinary(DeltaDiscoveryResponseSchema, Response.body(shared)).systemVersionInfo, "1")
  })
  it("is no other's, also where small ones lie side by side", () => {
    const slab = new Slab()
    const storage = { allocate: (size: number) => slab.allocate(size), get: () => undefined, set: () => undefined }
    const bodies = Array.from({ length: 200 }, (_, index) => {
      const made = { ...make(), version: `${"v".repeat(index)}${index}` }
      return { version: made.version, bytes: Response.body(made, storage) }
    })
    assert.isBelow(new Set(bodies.map(({ bytes }) => bytes.buffer)).size, bodies.length)
    for (const { bytes, version } of bodies) {
      assert.strictEqual(fromBinary(DeltaDiscoveryResponseSchema, bytes).systemVersionInfo, version)
    }
  })
})

describe("Request", () => {
  const status = (error: Request.ErrorDetail | undefined) =>
    error === undefined ? {} : { errorDetail: { code: error.code, message: error.message } }

  it("of the state of the world: decoded as protobuf-es decodes it", () =>
    check(Arbitraries.stateOfTheWorldRequest, 200, (request) => {
      const { resourceNames, responseNonce, typeUrl, versionInfo } = request
      const message = create(DiscoveryRequestSchema, {
        typeUrl,
        versionInfo,
        responseNonce,
        resourceNames: [...resourceNames],
        ...status(request.errorDetail),
        ...(request.node === undefined ? {} : { node: { id: "n", cluster: "edge" } })
      })
      const decoded = Either.getOrThrow(Request.decode("StateOfTheWorld", toBinary(DiscoveryRequestSchema, message)))
      assert.deepStrictEqual({ ...decoded, node: undefined }, { ...request, node: undefined })
      assert.strictEqual(decoded.node === undefined, request.node === undefined)
    }))

  it("of incremental: decoded as protobuf-es decodes it", () =>
    check(Arbitraries.incrementalRequest, 200, (request) => {
      const message = create(DeltaDiscoveryRequestSchema, {
        typeUrl: request.typeUrl,
        responseNonce: request.responseNonce,
        resourceNamesSubscribe: [...request.resourceNamesSubscribe],
        resourceNamesUnsubscribe: [...request.resourceNamesUnsubscribe],
        ...status(request.errorDetail)
      })
      for (const [name, version] of request.initialResourceVersions) {
        Object.defineProperty(message.initialResourceVersions, name, {
          value: version,
          enumerable: true,
          configurable: true,
          writable: true
        })
      }
      const decoded = Either.getOrThrow(Request.decode("Incremental", toBinary(DeltaDiscoveryRequestSchema, message)))
      assert(decoded._tag === "Incremental")
      const sorted = (versions: Iterable<readonly [string, string]>) =>
        Array.from(versions).sort(([a], [b]) => (a < b ? -1 : 1))
      assert.deepStrictEqual(
        { ...decoded, node: undefined, initialResourceVersions: sorted(decoded.initialResourceVersions) },
        { ...request, node: undefined, initialResourceVersions: sorted(request.initialResourceVersions) }
      )
    }))

  it("decoding is total: any bytes, and any message cut short, give a request or a reason", () =>
    check(
      fc.tuple(fc.uint8Array({ maxLength: 64 }), Arbitraries.stateOfTheWorldRequest, fc.nat()),
      500,
      ([bytes, request, at]) => {
        const message = toBinary(
          DiscoveryRequestSchema,
          create(DiscoveryRequestSchema, { typeUrl: request.typeUrl, resourceNames: [...request.resourceNames] })
        )
        for (const protocol of protocols) {
          for (const input of [bytes, message.slice(0, at % (message.length + 1))]) {
            const decoded = Request.decode(protocol, input)
            if (Either.isLeft(decoded)) assert.include(decoded.left.message, `${input.length} bytes`)
          }
        }
      }
    ))

  it("fields may come twice and in any order: the last one counts, names add up", () =>
    check(fc.tuple(Arbitraries.stateOfTheWorldRequest, Arbitraries.stateOfTheWorldRequest), 200, (pair) => {
      const bytes = pair.map(({ resourceNames, responseNonce, typeUrl, versionInfo }) =>
        toBinary(
          DiscoveryRequestSchema,
          create(DiscoveryRequestSchema, { typeUrl, versionInfo, responseNonce, resourceNames: [...resourceNames] })
        )
      )
      const both = Uint8Array.from(bytes.flatMap((each) => Array.from(each)))
      const theirs = fromBinary(DiscoveryRequestSchema, both)
      const ours = Either.getOrThrow(Request.decode("StateOfTheWorld", both))
      assert(ours._tag === "StateOfTheWorld")
      assert.deepStrictEqual(
        [ours.typeUrl, ours.versionInfo, ours.responseNonce, ours.resourceNames],
        [theirs.typeUrl, theirs.versionInfo, theirs.responseNonce, theirs.resourceNames]
      )
    }))
})

describe("EdsCluster", () => {
  const cluster = fc
    .record({
      discovery: fc.oneof(
        fc.integer({ min: 0, max: 4 }).map((value) => ({ case: "type" as const, value })),
        fc.constant({ case: "type" as const, value: 3 }),
        fc.constant({ case: "clusterType" as const, value: { name: "custom" } }),
        fc.constant({ case: undefined })
      ),
      serviceName: fc.option(fc.string(), { nil: undefined })
    })
    .map(({ discovery, serviceName }) =>
      toBinary(
        ClusterSchema,
        create(ClusterSchema, {
          clusterDiscoveryType: discovery,
          ...(serviceName === undefined ? {} : { edsClusterConfig: { serviceName } })
        })
      )
    )
  it("finds the assignment that the decoded message names, also in a message in two parts", () =>
    check(fc.tuple(fc.string(), fc.array(cluster, { minLength: 1, maxLength: 2 })), 300, ([name, parts]) => {
      const bytes = Uint8Array.from(parts.flatMap((part) => Array.from(part)))
      const { clusterDiscoveryType, edsClusterConfig } = fromBinary(ClusterSchema, bytes)
      const isEds = clusterDiscoveryType.case === "type" && clusterDiscoveryType.value === Cluster_DiscoveryType.EDS
      const serviceName = edsClusterConfig?.serviceName ?? ""
      assert.strictEqual(
        EdsCluster.assignmentName(name, bytes),
        isEds ? (serviceName === "" ? name : serviceName) : undefined
      )
    }))
  it("is total", () =>
    check(fc.uint8Array({ maxLength: 32 }), 500, (bytes) => {
      EdsCluster.assignmentName("a", bytes)
      VirtualHostDiscovery.isRequestedBy(bytes)
    }))
})

describe("VirtualHostDiscovery", () => {
  it("splits at the last slash", () =>
    check(
      fc.tuple(
        fc.string(),
        fc.string().map((host) => host.replaceAll("/", ""))
      ),
      200,
      ([routeConfiguration, host]) => {
        const name = VirtualHostDiscovery.nameOf(routeConfiguration, host)
        assert.deepStrictEqual(VirtualHostDiscovery.split(name), { routeConfiguration, host })
      }
    ))
  it("finds the domain that matches a host best, whatever was put in and taken out before", () => {
    const part = fc.array(fc.constantFrom("a", "b", "."), { maxLength: 3 }).map((each) => each.join(""))
    const domain = fc.oneof(
      part.map((each) => `*${each}`),
      part.map((each) => `${each}*`),
      fc.constantFrom("**", "a*b", "*a*", "", "a.b")
    )
    const name = fc.tuple(fc.constantFrom("r", "s/t"), domain).map(([route, each]) => `${route}/${each}`)
    const asked = fc.tuple(fc.constantFrom("r", "s/t", "s"), part).map(([route, host]) => `${route}/${host}`)
    check(fc.tuple(fc.uniqueArray(name), fc.uniqueArray(name), fc.array(asked)), 2_000, ([kept, passing, hosts]) => {
      const others = passing.filter((each) => !kept.includes(each))
      let index = [...kept, ...others].reduce(VirtualHostDiscovery.withDomain, VirtualHostDiscovery.noDomains)
      index = others.reduce(VirtualHostDiscovery.withoutDomain, index)
      for (const each of hosts) {
        const at = each.lastIndexOf("/")
        const [route, host] = [each.slice(0, at), each.slice(at + 1)]
        // Suffixes before prefixes, the longest first, `*` last; it stands for at least one character.
        const fits = (length: number) =>
          [`*${host.slice(host.length - length)}`, `${host.slice(0, length)}*`].filter((each) => each.length > 1)
        const lengths = Array.from({ length: Math.max(0, host.length - 1) }, (_, n) => host.length - 1 - n)
        const candidates = [
          ...lengths.map((length) => fits(length)[0]),
          ...lengths.map((length) => fits(length)[1]),
          ...(host === "" ? [] : ["*"])
        ].map((each) => `${route}/${each ?? ""}`)
        const found = VirtualHostDiscovery.best(index, each, (name) => (kept.includes(name) ? name : undefined))
        assert.strictEqual(
          found,
          candidates.find((candidate) => kept.includes(candidate))
        )
        for (const wildcard of kept.filter(VirtualHostDiscovery.isWildcard)) {
          assert.strictEqual(VirtualHostDiscovery.matches(wildcard, each), candidates.includes(wildcard), wildcard)
        }
      }
    })
  })
  it("a name without a slash is no virtual host's", () =>
    check(
      fc.string().map((name) => name.replaceAll("/", "")),
      100,
      (name) => assert.isUndefined(VirtualHostDiscovery.split(name))
    ))
})
