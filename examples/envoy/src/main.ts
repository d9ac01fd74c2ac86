/**
 * Starts a control plane and a real Envoy, for both variants of the protocol, and moves its traffic from cluster to
 * cluster while requests go through it without a pause.
 *
 *     node dist/main.js [--keep]
 */
import type * as CommandExecutor from "@effect/platform/CommandExecutor"
import type * as PlatformError from "@effect/platform/Error"
import type * as FileSystem from "@effect/platform/FileSystem"
import * as NodeContext from "@effect/platform-node/NodeContext"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as PeerProgram from "@effect-xds/testing/PeerProgram"
import * as Cause from "effect/Cause"
import * as Console from "effect/Console"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Scope from "effect/Scope"
import { performance } from "node:perf_hooks"
import * as Bootstrap from "./Bootstrap.js"
import type * as ChildProcess from "./ChildProcess.js"
import * as ControlPlaneProcess from "./ControlPlaneProcess.js"
import type * as Edge from "./Edge.js"
import * as Envoy from "./Envoy.js"
import * as Http from "./Http.js"
import * as Wait from "./Wait.js"

const keep = process.argv.includes("--keep")

/** What was answered is not what should have been. */
class Wrong extends Data.TaggedError("Wrong")<{ readonly message: string }> {}

type Failure = Wrong | Wait.TimedOut | ChildProcess.Crashed | PlatformError.PlatformError

const seconds = () => `${(performance.now() / 1000).toFixed(1).padStart(5)} s`
const title = (text: string) => Console.log(`\n${seconds()}  ${text}`)
const say = (text: string) => Console.log(`         ${text}`)
const expect = (isRight: boolean, message: string) => (isRight ? Effect.void : Effect.fail(new Wrong({ message })))

/** Who answered, and how often: `one: 90, two: 10`. */
const list = (counts: Readonly<Record<string, number | ReadonlyArray<string>>>) =>
  Object.entries(counts)
    .map(([name, value]) => `${name}: ${typeof value === "number" ? value : value.join(" ") || "nothing"}`)
    .join(", ")

const since = (requests: Http.Requests, before: Readonly<Record<string, number>>) =>
  Object.fromEntries(
    Object.entries(requests.answers)
      .map(([name, count]) => [name, count - (before[name] ?? 0)] as const)
      .filter(([, count]) => count > 0)
  )

const sum = (counts: Readonly<Record<string, number>>) =>
  Object.values(counts).reduce((total, count) => total + count, 0)

/** The next answers, so many. */
const watch = (requests: Http.Requests, count: number) =>
  Effect.suspend(() => {
    const before = { ...requests.answers }
    return Wait.until({
      what: `${count} requests to be answered`,
      check: Effect.sync(() => {
        const seen = since(requests, before)
        return sum(seen) >= count ? seen : undefined
      }),
      seen: Effect.sync(() => requests.describe())
    })
  })

/** Waits until 100 requests in a row are answered by these only, and gives the milliseconds until the first of them. */
const onlyFrom = (requests: Http.Requests, names: ReadonlyArray<string>) =>
  Effect.suspend(() => {
    const start = performance.now()
    let before = { ...requests.answers }
    let after = 0
    return Wait.until({
      what: `only ${names.join(" and ")} to answer`,
      check: Effect.sync(() => {
        const seen = since(requests, before)
        if (Object.keys(seen).some((name) => !names.includes(name))) {
          before = { ...requests.answers }
          after = performance.now() - start
        }
        return sum(since(requests, before)) >= 100 ? Math.round(after) : undefined
      }),
      seen: Effect.sync(() => requests.describe())
    })
  })

/** The whole story with one variant; gives the number of requests. */
const story = (
  variant: Bootstrap.Variant,
  path: string
): Effect.Effect<number, Failure, Scope.Scope | FileSystem.FileSystem | CommandExecutor.CommandExecutor> =>
  Effect.gen(function* () {
    const [one, two, three, four] = yield* Effect.all([
      Http.upstream("one"),
      Http.upstream("two"),
      Http.upstream("three"),
      Http.upstream("four")
    ])
    const plane = yield* ControlPlaneProcess.make(variant)
    const publish = (edge: Edge.Edge) => plane.publish(edge)
    yield* publish({ weights: { v1: 100 }, clusters: { v1: [one] } })
    const address = yield* plane.start
    const envoy = yield* Envoy.start({ path, variant, node: { id: "ingress-1", cluster: "edge" }, address })

    const steps = Effect.gen(function* () {
      const url = `http://127.0.0.1:${yield* envoy.listenerPort("ingress")}/`
      const agent = yield* Http.agent
      yield* Wait.until({
        what: "the first answer",
        check: Effect.map(Http.get(agent, { url }), ({ status }) => (status === 200 ? true : undefined)),
        seen: Effect.succeed("none with status 200")
      })
      const took = (performance.now() - envoy.startedAt).toFixed(0)
      const requests = yield* Http.requests({ url })
      const admin = Effect.flatMap(envoy.endpoints, (endpoints) => say(`Envoy's /clusters: ${list(endpoints)}`))

      yield* title(`Envoy, ${variant.name}: the first request succeeded ${took} ms after its start`)
      yield* title("1  All requests go to cluster v1.")
      yield* say(list(yield* watch(requests, 200)))
      yield* admin

      yield* title("2  A cluster v2 is added, and the routes divide 90 to 10.")
      yield* publish({ weights: { v1: 90, v2: 10 }, clusters: { v1: [one], v2: [two, three] } })
      yield* Wait.until({
        what: "a request to v2",
        check: Effect.sync(() => requests.answers["two"]),
        seen: Effect.sync(() => requests.describe())
      })
      const split = yield* watch(requests, 800)
      const share = 100 * (1 - (split["one"] ?? 0) / sum(split))
      yield* say(`${list(split)}: ${share.toFixed(1)} % to v2`)
      yield* expect(share > 5 && share < 15, `v2 got ${share.toFixed(1)} % of the requests instead of about 10 %`)
      yield* admin

      yield* title("3  All goes to a new cluster v3; in the same update v1 is removed.")
      yield* publish({ weights: { v3: 1 }, clusters: { v3: [four, three] } })
      yield* say(`the last request to another cluster after ${yield* onlyFrom(requests, ["three", "four"])} ms`)
      yield* Wait.until({
        what: "the old clusters to go",
        check: Effect.map(envoy.endpoints, (clusters) => (Object.keys(clusters).join() === "v3" ? true : undefined)),
        seen: Effect.map(envoy.endpoints, (clusters) => `Envoy has ${Object.keys(clusters).join(", ")}`)
      })
      yield* admin

      yield* title("4  One of v3's endpoints is removed.")
      yield* publish({ weights: { v3: 1 }, clusters: { v3: [four] } })
      yield* say(`the last request to it after ${yield* onlyFrom(requests, ["four"])} ms`)
      yield* admin

      yield* title("5  The control plane is killed (SIGKILL) and started again.")
      yield* plane.kill
      yield* say(`without it: ${list(yield* watch(requests, 200))}`)
      yield* plane.start
      for (const type of ["CDS", "EDS", "LDS", "RDS"]) {
        yield* plane.line(`that ${type} is subscribed`, new RegExp(`^subscribed ${type}$`))
      }
      const sent = plane.lines().filter((line) => /^sent \S+ [1-9]/.test(line))
      yield* say(
        `Envoy is back and was sent ${sent.length === 0 ? "nothing: it has everything" : `again: ${sent.map((line) => line.split(" ")[1]).join(", ")}`}`
      )
      yield* publish({ weights: { v3: 1 }, clusters: { v3: [two] } })
      yield* say(
        `an update afterwards: the last request by the old state after ${yield* onlyFrom(requests, ["two"])} ms`
      )
      yield* admin

      yield* title(`6  ${requests.total} requests, ${requests.failed} failed.`)
      yield* expect(requests.failed === 0, `requests failed: ${requests.describe()}`)
      if (keep) {
        yield* Console.log("\nEverything stays up. Look at:")
        yield* say(`${url}                       what Envoy serves`)
        yield* say(`http://${envoy.adminAddress}/config_dump            what it was told`)
        yield* say(`${plane.file}    edit it, and see both change; Ctrl-C ends everything`)
        yield* Effect.never
      }
      return requests.total
    })
    return yield* Effect.raceFirst(steps, envoy.crash)
  })

const demo = Effect.gen(function* () {
  const peer = PeerProgram.find("envoy")
  if (peer._tag === "Missing") return yield* Console.log(`The Envoy demo is skipped: ${peer.reason}`)
  yield* Console.log(`A control plane, a real Envoy ${peer.version} and HTTP requests through it all the time.`)
  const variants = keep ? [Bootstrap.incremental] : [Bootstrap.stateOfTheWorld, Bootstrap.incremental]
  const totals = yield* Effect.forEach(variants, (variant) => Effect.scoped(story(variant, peer.path)))
  const total = totals.reduce((all, each) => all + each, 0)
  yield* Console.log(`\nPASSED: every step was seen in both variants, and none of ${total} requests failed.`)
})

/** Ends when the process that started this one is gone, as with a terminal that was closed. */
const parentIsGone = Effect.suspend(() => {
  const parent = process.ppid
  return Effect.repeat(Effect.sleep("500 millis"), { until: () => process.ppid !== parent })
})

Effect.raceFirst(demo, parentIsGone).pipe(
  Effect.provide(NodeContext.layer),
  Effect.onExit((exit) =>
    Exit.match(exit, {
      onSuccess: () => Effect.void,
      onFailure: (cause) =>
        Cause.isInterruptedOnly(cause)
          ? Console.log("\nended; every process is gone")
          : Console.log(`\nFAILED: ${Cause.prettyErrors(cause)[0]?.message ?? "for no known reason"}`)
    })
  ),
  (main) => NodeRuntime.runMain(main, { disableErrorReporting: true })
)
