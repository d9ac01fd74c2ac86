/**
 * Clusters beside a real Envoy: the same resources, the same answers of DNS, the same ends of probes, and after each step the
 * same hosts with the same flags, and as many of each health. Where we want it otherwise the difference has a name here.
 *
 * `XDS_RUNS=300` for more scripts, `XDS_SEED` for others.
 */
import * as PeerProgram from "@effect-xds/testing/PeerProgram"
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { dirname, join } from "node:path"
import * as TrafficVectors from "./EnvoyTrafficVectors.js"
import { LoopbackHosts } from "./LoopbackHosts.js"
import * as World from "./EnvoyWorld.js"
import * as Traffic from "./EnvoyTraffic.js"
import { draw, type Script, type Step } from "./ClusterScript.js"
import { type Difference, differences } from "./EnvoyDifferences.js"
import { counts, inDispute, vectors } from "./EnvoyVectors.js"
import { Grpcio } from "./ProbeTargets.js"
import { describe as describeFailure, type Failure, type SideBySide, start } from "./SideBySide.js"

const envoy = PeerProgram.forTest("envoy")
const runs = Number(process.env["XDS_RUNS"] ?? "60")
const seed = Number(process.env["XDS_SEED"] ?? "20260101")

const grpcio = PeerProgram.forTest("grpcio")

/** Scripts that both did not come to the same in once, by what it was. */
const regressions: Readonly<Record<string, number>> = {
  "DRAINING that ends while a check fails": 55,
  "a host with a changed locality is excluded no longer": 127,
  "a host with a changed hostname, and the old one, are both absent": 20260178,
  "a LOGICAL_DNS host begins healthy, and fails once": 20260186,
  "addresses of both families, of which IPv4 is first": 49
}

const toGrpcio = <S extends Step>(step: S): S =>
  step.settings?.checks === undefined
    ? step
    : { ...step, settings: { ...step.settings, checks: { ...step.settings.checks, kind: "grpcio" } } }

/** Scripts that are drawn for servers of grpc-js, and played with those of grpcio. */
const ofGrpcio = Array.from({ length: 40 }, (_, index) => draw(seed + index))
  .filter(({ steps }) => steps[0].settings.checks?.kind === "grpc")
  .map(({ steps: [first, ...steps], title }): Script => ({
    title: `${title}, grpcio`,
    steps: [toGrpcio(first), ...steps.map(toGrpcio)]
  }))

/** The same difference with as few steps as it takes. */
const shrink = async ({ play }: SideBySide, failure: Failure): Promise<Failure> => {
  const [first, ...others] = failure.script.steps.slice(1, failure.step + 1).map((_, index) => index + 1)
  if (first === undefined) return failure
  const [begin, ...steps] = failure.script.steps
  const attempts = [first, ...others].map((gone) =>
    play(
      { ...failure.script, steps: [begin, ...steps.slice(0, failure.step).filter((_, index) => index + 1 !== gone)] },
      { patience: 10_000 }
    )
  )
  const smaller = (await Promise.all(attempts)).find((attempt) => attempt !== undefined)
  return smaller === undefined ? failure : shrink({ play }, smaller)
}

const playAll = (scripts: ReadonlyArray<Script>, seen?: (difference: Difference) => void) =>
  Effect.gen(function* () {
    const needsGrpcio = scripts.some(({ steps }) => steps[0].settings.checks?.kind === "grpcio")
    const servers =
      needsGrpcio && grpcio._tag === "Present"
        ? yield* Effect.acquireRelease(
            Effect.sync(() => Grpcio.start(join(dirname(grpcio.path), "packages"))),
            (servers) => Effect.promise(() => servers.stop())
          )
        : undefined
    const side = yield* start(envoy._tag === "Present" ? envoy.path : "", servers)
    const play = (script: Script) =>
      Effect.promise(async () => {
        // A machine that stands still is no difference: it counts if it is there again and again.
        const first = await side.play(script, seen === undefined ? {} : { seen })
        const second = first === undefined ? undefined : await side.play(script)
        return second === undefined ? undefined : side.play(script)
      })
    const failures = yield* Effect.forEach(scripts, play, { concurrency: 24 })
    const [some, ...more] = failures.filter((failure) => failure !== undefined)
    if (some === undefined) return ""
    const least = yield* Effect.promise(() => shrink(side, some))
    return [least, ...more].map(describeFailure).join("\n\n")
  })

// Others have no hosts at 127.0.0.0/8 but one.
const isLinux = process.platform === "linux"

/** Ours to the integer; Envoy's within five standard deviations of five hundred draws. */
const expectShares = (
  title: string,
  { envoy, ours }: { readonly envoy: Traffic.Shares; readonly ours: Traffic.Shares } | undefined = {
    envoy: {},
    ours: {}
  },
  expected: Traffic.Shares,
  theirs: Traffic.Shares = expected
): void => {
  expect({ title, ours, who: Object.keys(envoy).sort() }).toEqual({
    title,
    ours: expected,
    who: Object.keys(theirs).sort()
  })
  for (const [who, share] of Object.entries(theirs)) {
    expect(Math.abs((envoy[who] ?? 0) - share), `${title}: ${who}`).toBeLessThanOrEqual(11)
  }
}

it("each vector of discovery and health is played beside Envoy", () => {
  const { checks, drawnLoads, drops, errors, loads, others, queries, sweeps } = TrafficVectors
  const titled = [...vectors, ...drops, ...errors, ...queries, ...checks, ...sweeps].map(({ title }) => title)
  const numbers = [...titled, ...Object.keys(loads), ...Object.keys(drawnLoads), ...others].flatMap((title) =>
    (/^(?:\d+(?:, )?)+/.exec(title)?.[0].match(/\d+/g) ?? []).map(Number)
  )
  expect(Array.from(new Set(numbers)).sort((a, b) => a - b)).toEqual(Array.from({ length: 49 }, (_, at) => at + 1))
})

describe.skipIf(envoy._tag === "Missing" || !isLinux)(PeerProgram.title("clusters beside a real Envoy", envoy), () => {
  it.scopedLive(
    "vectors, each kind of probe, and each difference",
    () =>
      Effect.gen(function* () {
        const met = new Set<string>()
        const scripts = [...vectors, ...counts("tcp"), ...counts("grpc"), ...inDispute]
        expect(yield* playAll(scripts, ({ name }) => met.add(name))).toBe("")
        // No difference is listed that is none.
        expect([...met].sort()).toEqual(differences.map(({ name }) => name).sort())
      }),
    600_000
  )

  it.scopedLive.skipIf(grpcio._tag === "Missing")(
    PeerProgram.title("probes of grpcio", grpcio),
    () => Effect.map(playAll([...counts("grpcio"), ...ofGrpcio]), (failures) => expect(failures).toBe("")),
    600_000
  )

  const onStage = <A>(run: (stage: Traffic.Stage) => Promise<A>) =>
    Effect.gen(function* () {
      const world = yield* World.start(envoy._tag === "Present" ? envoy.path : "")
      const hosts = yield* Effect.acquireRelease(
        Effect.promise(() => LoopbackHosts.open()),
        (server) => Effect.promise(() => server.close())
      )
      const scope = yield* Effect.scope
      return yield* Effect.promise(() => run({ world, hosts, scope }))
    })

  it.scopedLive(
    "vectors by calls and by time",
    () =>
      Effect.gen(function* () {
        const loads = Object.entries(TrafficVectors.loads)
        const drawn = Object.entries(TrafficVectors.drawnLoads)
        const { drops, errors, sweeps } = TrafficVectors
        const [swept, shares, about, original, times, passing, ejections] = yield* onStage((stage) =>
          Promise.all([
            Promise.all(
              sweeps.map(({ calls, failures, outliers }, index) =>
                Traffic.sweep(stage, index, failures, calls, outliers)
              )
            ),
            Promise.all(loads.map(([, each], index) => Traffic.load(stage, index, each))),
            Promise.all(drawn.map(([, each], index) => Traffic.drawnLoad(stage, loads.length + index, each))),
            Traffic.originalDst(stage),
            Traffic.ejectionTimes(stage),
            Promise.all(drops.map(({ calls, percent }) => Traffic.drops(stage, percent, calls))),
            Promise.all(
              errors.map((each, index) =>
                Traffic.ejectedByErrors(stage, 100 + index, each.count, "outliers" in each ? each.outliers : {})
              )
            )
          ])
        )
        const kept = { ours: ["127.26.0.2"], envoy: ["127.26.0.2"] }
        expect({ title: "11", original }).toEqual({
          title: "11",
          original: [kept, kept, { ours: [], envoy: [] }]
        })
        for (const [at, { calls, passing: expected, title }] of drops.entries()) {
          const { envoy = 0, ours } = passing[at] ?? {}
          expect({ title, ours }).toEqual({ title, ours: expected })
          // Five standard deviations of the draws, and no more than there are.
          const more = 5 * Math.sqrt((expected * (calls - expected)) / calls)
          expect(Math.abs(envoy - expected), title).toBeLessThanOrEqual(more)
        }
        for (const [at, [title, { expected }]] of loads.entries()) {
          expect({ title, ...shares[at] }).toEqual({ title, ours: expected, envoy: expected, apart: [] })
        }
        for (const [at, [title, { expected }]] of drawn.entries()) {
          expectShares(title, about[at], expected)
        }
        expect({ title: "44", ...times }).toEqual({ title: "44", ours: [1, 2], envoy: [1, 2] })
        for (const [at, { ejected, title }] of errors.entries()) {
          expect({ title, ...ejections[at] }).toEqual({ title, ours: ejected, envoy: ejected })
        }
        for (const [at, { bounds, ejected, rates, title }] of sweeps.entries()) {
          expect({ title, ...swept[at] }).toMatchObject({
            title,
            rates,
            ejected: { ours: ejected, envoy: ejected },
            ...(bounds === undefined ? {} : { bounds: { ours: bounds, envoy: bounds } })
          })
        }
      }),
    600_000
  )

  it.scopedLive(
    "aggregates share calls by who is well",
    () =>
      Effect.gen(function* () {
        const vectors = Object.entries(TrafficVectors.aggregates)
        const seen = yield* onStage((stage) =>
          Promise.all(vectors.map(([, each], index) => Traffic.aggregate(stage, index, each)))
        )
        for (const [at, [title, { envoy: theirs, expected }]] of vectors.entries()) {
          expectShares(title, seen[at], expected, theirs)
        }
      }),
    600_000
  )

  it.scopedLive(
    "localities share calls by their weights",
    () =>
      Effect.gen(function* () {
        const vectors = Object.entries(TrafficVectors.localities)
        const seen = yield* onStage((stage) =>
          Promise.all(vectors.map(([, each], index) => Traffic.localities(stage, index, each)))
        )
        for (const [at, [title, { expected }]] of vectors.entries()) {
          const { envoy = [], ours } = seen[at] ?? {}
          expect({ title, ours }).toEqual({ title, ours: expected })
          // Five standard deviations of five hundred draws.
          for (const [zone, share] of expected.entries())
            expect(Math.abs((envoy[zone] ?? 0) - share), title).toBeLessThanOrEqual(11)
        }
      }),
    600_000
  )

  it.scopedLive(
    "vectors of when names and hosts are asked for again",
    () =>
      Effect.gen(function* () {
        const { checks, queries } = TrafficVectors
        const play = onStage((stage) => Promise.all([Traffic.queries(stage, queries), Traffic.probes(stage, checks)]))
        const wrong = yield* play
        // A machine that stands still lets a query take too long.
        expect((wrong.flat().length === 0 ? wrong : yield* play).flat()).toEqual([])
      }),
    600_000
  )

  it.scopedLive(
    `${runs} scripts from seed ${seed}`,
    () =>
      Effect.gen(function* () {
        const seeds = [...Object.values(regressions), ...Array.from({ length: runs }, (_, index) => seed + index)]
        expect(yield* playAll(seeds.map(draw))).toBe("")
      }),
    600_000
  )
})
