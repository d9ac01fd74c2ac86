/**
 * Starts a control plane, two versions of a backend and a gRPC client, each in a process of its own, and shifts traffic
 * between them while the client calls without a pause.
 *
 *     node dist/main.js [--keep]
 */
import type * as CommandExecutor from "@effect/platform/CommandExecutor"
import type * as PlatformError from "@effect/platform/Error"
import * as FileSystem from "@effect/platform/FileSystem"
import * as NodeContext from "@effect/platform-node/NodeContext"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as NodeStream from "@effect/platform-node/NodeStream"
import * as FreePort from "@effect-xds/testing/network/FreePort"
import * as Cause from "effect/Cause"
import * as Console from "effect/Console"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { join } from "node:path"
import { performance } from "node:perf_hooks"
import * as Catalog from "./Catalog.js"
import * as ChildProcess from "./ChildProcess.js"
import { Traffic, type Tally } from "./Traffic.js"
import * as Wait from "./Wait.js"

const keep = process.argv.includes("--keep")

/** What the client saw is not what it should have seen. */
class Wrong extends Data.TaggedError("Wrong")<{ readonly message: string }> {}

type Failure = Wrong | Wait.TimedOut | ChildProcess.Crashed | PlatformError.PlatformError

const seconds = () => `${(performance.now() / 1000).toFixed(1).padStart(5)} s`
const title = (text: string) => Console.log(`\n${seconds()}  ${text}`)
const say = (text: string) => Console.log(`         ${text}`)

const expect = (isRight: boolean, message: string) => (isRight ? Effect.void : Effect.fail(new Wrong({ message })))

/** Milliseconds that something took, beside its result. */
const timed = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.suspend(() => {
    const start = performance.now()
    return Effect.map(effect, (result) => [result, Math.round(performance.now() - start)] as const)
  })

/** The control plane's process: what it printed, and its restart on the port that it had. */
class ControlPlane {
  private child: ChildProcess.ChildProcess | undefined
  private lines: Array<string> = []

  constructor(
    private readonly file: string,
    private readonly port: number
  ) {}

  /** Starts it and waits until it serves. */
  readonly start = Effect.gen(this, function* () {
    this.lines = []
    const child = yield* ChildProcess.start({
      name: "the control plane",
      script: new URL("./ControlPlane.js", import.meta.url),
      args: [this.file, String(this.port)],
      onLine: (line) => this.lines.push(line)
    })
    this.child = child
    return yield* this.line("it to serve", /^serving (\S+)$/)
  })

  /** SIGKILL: it can tell nobody. */
  readonly kill = Effect.suspend(() => this.child?.kill("SIGKILL") ?? Effect.void)

  /** Waits for a line that was not there at the call, and gives its first group. */
  readonly next = (what: string, pattern: RegExp) => {
    const from = this.lines.length
    return this.line(what, pattern, from)
  }

  readonly line = (what: string, pattern: RegExp, from = 0) => {
    const crash: Effect.Effect<never, ChildProcess.Crashed> = this.child?.crash ?? Effect.never
    const wait = Wait.until({
      what: `the control plane to say ${what}`,
      check: () =>
        this.lines
          .slice(from)
          .map((line) => pattern.exec(line)?.[1])
          .find((found) => found !== undefined),
      seen: () => `its last lines were: ${this.lines.slice(-3).join(" | ") || "none"}`
    })
    return Effect.raceFirst(wait, crash)
  }
}

/** Starts one version; its endpoints are known when it listens. */
const startBackend = (version: string) =>
  Effect.gen(function* () {
    let addresses: ReadonlyArray<string> | undefined
    const backend = yield* ChildProcess.start({
      name: `backend ${version}`,
      script: new URL("./Backend.js", import.meta.url),
      args: [version],
      onLine: (line) => {
        addresses ??= line.split(" ")
      }
    })
    const wait = Wait.until({
      what: `backend ${version} to listen`,
      check: () => addresses,
      seen: () => "it printed no address"
    })
    return { addresses: yield* Effect.raceFirst(wait, backend.crash), crash: backend.crash }
  })

const startClient = (controlPlane: string, traffic: Traffic) =>
  ChildProcess.start({
    name: "the client",
    script: new URL("./Client.js", import.meta.url),
    env: {
      GRPC_XDS_BOOTSTRAP_CONFIG: JSON.stringify({
        xds_servers: [{ server_uri: controlPlane, channel_creds: [{ type: "insecure" }], server_features: ["xds_v3"] }],
        node: { id: "checkout-1", cluster: "shop", locality: {} }
      })
    },
    onLine: traffic.onLine
  })

const demo: Effect.Effect<void, Failure, Scope.Scope | FileSystem.FileSystem | CommandExecutor.CommandExecutor> =
  Effect.gen(function* () {
    yield* Console.log("A control plane, 2 versions of a backend with 2 endpoints each, and a gRPC client (grpc-js).")

    const files = yield* FileSystem.FileSystem
    const directory = yield* files.makeTempDirectoryScoped({ prefix: "xds-demo-" })
    const file = join(directory, "catalog.json")

    const backends = yield* Effect.all([startBackend("v1"), startBackend("v2")], { concurrency: 2 })
    const [v1, v2] = [backends[0].addresses, backends[1].addresses]
    let catalog: Catalog.Catalog = {
      versions: { v1: { weight: 100, endpoints: v1 }, v2: { weight: 0, endpoints: v2 } }
    }
    // Renamed into place: the control plane never reads half of it.
    const publish = (next: Catalog.Catalog) =>
      Effect.zipRight(
        files.writeFileString(`${file}.new`, Catalog.format(next)),
        files.rename(`${file}.new`, file)
      ).pipe(Effect.tap(() => (catalog = next)))
    const weights = (one: number, two: number) => {
      const { v1, v2 } = catalog.versions
      return publish({
        versions: {
          v1: { weight: one, endpoints: v1?.endpoints ?? [] },
          v2: { weight: two, endpoints: v2?.endpoints ?? [] }
        }
      })
    }
    const endpoints = (version: "v1" | "v2", list: ReadonlyArray<string>) => {
      const weight = catalog.versions[version]?.weight ?? 0
      return publish({ versions: { ...catalog.versions, [version]: { weight, endpoints: list } } })
    }

    yield* publish(catalog)
    const controlPlane = new ControlPlane(file, yield* FreePort.any())
    const address = yield* controlPlane.start
    const traffic = new Traffic()
    const client = yield* startClient(address, traffic)
    const crashes = yield* Effect.fork(
      Effect.forEach([client, ...backends], ({ crash }) => crash, { concurrency: "unbounded" })
    )

    const story = Effect.gen(function* () {
      yield* title(`1  The control plane serves on ${address}. All calls go to v1.`)
      const first = yield* traffic.watch(200)
      yield* say(first.toString())
      yield* expect(first.of("v1") === first.total, "calls went to v2, which has no weight")

      yield* title("2  Weights 90 to 10.")
      yield* weights(90, 10)
      const { after: shifted } = yield* traffic.settle("one to v2", 1, (seen) => seen.total === 0 || seen.of("v2") > 0)
      const split = yield* traffic.watch(800)
      yield* say(`the first calls reached v2 after ${shifted} ms; then ${split.toString()}`)
      const share = split.of("v2") / split.total
      yield* expect(
        share > 0.05 && share < 0.15,
        `v2 got ${(100 * share).toFixed(1)} % of the calls instead of about 10 %`
      )

      yield* title("3  A mistake: an endpoint of v2 is a host name, which gRPC does not take.")
      const [rejection] = yield* Effect.all(
        [controlPlane.next("that EDS is rejected", /^NACK EDS \S+: (.*)$/), endpoints("v2", ["backend.example:50051"])],
        { concurrency: 2 }
      )
      yield* say(`NACK by the client: ${rejection}`)
      const meanwhile = yield* traffic.watch(200)
      yield* say(`meanwhile ${meanwhile.toString()}`)
      yield* expect(meanwhile.of("v2") > 0, "v2 gets no calls any more")
      yield* Effect.all([controlPlane.next("that EDS is accepted", /^ACK (EDS)/), endpoints("v2", v2)], {
        concurrency: 2
      })
      yield* say("corrected, and ACKed")

      const removed = v1[1] ?? ""
      yield* title(`4  v1 loses its endpoint ${removed}.`)
      const without = (seen: Tally) => seen.of(`v1 ${removed}`) === 0
      yield* endpoints("v1", v1.slice(0, 1))
      const rest = yield* traffic.settle(`none to ${removed}`, 200, without)
      yield* say(`the last call to it after ${rest.after} ms; then ${rest.seen.total} calls, none to it`)
      yield* say(rest.seen.toString())

      yield* title("5  The control plane is killed (SIGKILL).")
      yield* controlPlane.kill
      const orphaned = yield* traffic.watch(200)
      yield* say(`without it: ${orphaned.toString()}, ${traffic.failed} failed`)
      const [, back] = yield* controlPlane.start.pipe(
        Effect.zipRight(controlPlane.line("that the client is back", /^(connected): checkout-1$/)),
        timed
      )
      yield* say(`restarted on its port; the client is back after ${back} ms`)
      yield* weights(0, 100)
      const moved = yield* traffic.settle("all to v2", 200, (seen) => seen.of("v2") === seen.total)
      yield* say(`weights 0 to 100: the last call to v1 after ${moved.after} ms; then ${moved.seen.toString()}`)
    })
    yield* Effect.raceFirst(story, Fiber.join(crashes))

    if (!keep) {
      yield* client.kill("SIGTERM")
      yield* Wait.until({
        what: "the client's last report",
        check: () => (traffic.started === traffic.tally.total + traffic.failed ? true : undefined),
        seen: () => `${traffic.started} calls were started; ${traffic.describe()}`
      })
    }
    yield* title(`6  In total ${traffic.tally.toString()}; failed: ${traffic.failed}`)
    yield* expect(traffic.failed === 0, `calls failed: ${traffic.describe()}`)
    yield* Console.log(`\nPASSED: every step was seen, and none of ${traffic.tally.total} calls failed.`)
    if (!keep) return

    const help = Effect.all([
      Console.log("\nEverything stays up. Try:"),
      say("weights 50 50        divide the calls between v1 and v2"),
      say(`endpoints v1 ${v1.join(" ")}        the endpoints of a version`),
      say("restart              kill the control plane and start it again"),
      say(`or edit ${file}; Ctrl-C ends everything`)
    ])
    const observe = Effect.flatMap(traffic.watch(200), (seen) =>
      Console.log(`${seconds()}  ${seen.toString()}; failed since the start: ${traffic.failed}`)
    )
    const obey = (line: string) => {
      const [word = "", ...rest] = line.trim().split(/\s+/)
      const [one = 0, two = 0] = rest.map(Number)
      const [version, ...list] = rest
      if (word === "") return observe
      if (word === "weights" && one + two > 0) return Effect.zipRight(weights(one, two), observe)
      if (word === "endpoints" && (version === "v1" || version === "v2"))
        return Effect.zipRight(endpoints(version, list), observe)
      if (word === "restart")
        return controlPlane.kill.pipe(Effect.zipRight(controlPlane.start), Effect.zipRight(observe))
      return help
    }
    yield* help
    const commands = NodeStream.stdin.pipe(
      Stream.decodeText(),
      Stream.splitLines,
      Stream.runForEach(obey),
      Effect.zipRight(Effect.never)
    )
    yield* Effect.raceFirst(commands, Fiber.join(crashes))
  })

/** Ends when the process that started this one is gone, as with a terminal that was closed. */
const parentIsGone = Effect.suspend(() => {
  const parent = process.ppid
  return Effect.repeat(Effect.sleep("500 millis"), { until: () => process.ppid !== parent })
})

Effect.scoped(Effect.raceFirst(demo, parentIsGone)).pipe(
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
