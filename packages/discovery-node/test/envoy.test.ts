/**
 * Clusters beside a real Envoy: the same resources, the same answers of DNS, the same ends of probes, and after each step the
 * same hosts with the same flags, and as many of each health. Where we want it otherwise the difference has a name here.
 *
 * `XDS_RUNS=300` for more scripts, `XDS_SEED` for others.
 */
import * as Peer from "@effect-xds/testing/Peer"
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { dirname, join } from "node:path"
import { draw, type Script, type Step } from "./ClusterScript.js"
import { type Difference, differences } from "./EnvoyDifferences.js"
import { counts, inDispute, vectors } from "./EnvoyVectors.js"
import { Grpcio } from "./ProbeTargets.js"
import { describe as describeFailure, type Failure, type SideBySide, start } from "./SideBySide.js"

const envoy = Peer.forTest("envoy")
const runs = Number(process.env["XDS_RUNS"] ?? "60")
const seed = Number(process.env["XDS_SEED"] ?? "20260101")

const grpcio = Peer.forTest("grpcio")

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
        const first = await side.play(script, seen === undefined ? {} : { seen })
        // A machine that stands still is no difference: it counts if it is there again.
        return first === undefined ? undefined : side.play(script)
      })
    const failures = yield* Effect.forEach(scripts, play, { concurrency: 24 })
    const [some, ...more] = failures.filter((failure) => failure !== undefined)
    if (some === undefined) return ""
    const least = yield* Effect.promise(() => shrink(side, some))
    return [least, ...more].map(describeFailure).join("\n\n")
  })

// Others have no hosts at 127.0.0.0/8 but one.
const isLinux = process.platform === "linux"

describe.skipIf(envoy._tag === "Missing" || !isLinux)(Peer.title("clusters beside a real Envoy", envoy), () => {
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
    Peer.title("probes of grpcio", grpcio),
    () => Effect.map(playAll([...counts("grpcio"), ...ofGrpcio]), (failures) => expect(failures).toBe("")),
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
