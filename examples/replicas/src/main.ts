/**
 * Two control planes on one database, an Envoy and a gRPC client on each: updates through either, kill -9 of one control plane
 * and of the database, a rollback. Each step is seen in the calls of all four clients. Ends with 1 if a call failed, or if a step
 * was not seen.
 *
 *     node dist/main.js [--keep] [--sqlite]
 */
import { PeerProgram, PostgresServer } from "@effect-xds/testing"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { once } from "node:events"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as Child from "./Child.js"
import type { Answer, Request } from "./ControlPlane.js"
import * as Envoy from "./Envoy.js"
import type { Ports, Version } from "./Mesh.js"
import * as Seen from "./Seen.js"
import * as Traffic from "./Traffic.js"

/** Calls of each client that must go right in a row. */
const calls = 50

/** The database: its URL, and how it is killed and started, if it can be. */
interface Database {
  readonly url: string
  readonly name: string
  readonly server: PostgresServer.PostgresServer | undefined
}

const database: Effect.Effect<Database, PostgresServer.PostgresServerError, Scope.Scope> = Effect.gen(function* () {
  const isWanted = !process.argv.includes("--sqlite")
  const peer = PeerProgram.find("postgres")
  if (isWanted && peer._tag === "Present") {
    const server = yield* PostgresServer.make(peer.path)
    return { url: server.url(), name: `PostgreSQL ${peer.version}`, server }
  }
  if (peer._tag === "Missing") yield* Console.log(`Without PostgreSQL, on one SQLite file: ${peer.reason}\n`)
  const directory = yield* Effect.acquireRelease(
    Effect.sync(() => mkdtempSync(join(tmpdir(), "xds-replicas-"))),
    (made) => Effect.sync(() => rmSync(made, { recursive: true, force: true }))
  )
  return { url: `sqlite:${join(directory, "xds.db")}`, name: "one SQLite file", server: undefined }
})

const silent = (): Answer => ({ error: "it did not answer within 60 s" })
const isAnswer = (value: unknown): value is Answer => typeof value === "object" && value !== null
const isPorts = (value: unknown): value is Ports => typeof value === "object" && value !== null && "v1" in value

/** A control plane: it can be killed, and started again on its port. */
class ControlPlane {
  port = 0
  private child: Child.Child | undefined

  constructor(
    readonly name: string,
    private readonly url: string
  ) {}

  readonly start = Effect.gen(this, function* () {
    this.child = yield* Child.start("ControlPlane", [this.name, this.url, String(this.port)])
    this.port = Number(Child.said(this.child.ready, "port"))
  })

  readonly kill = Effect.suspend(() => this.child?.kill ?? Effect.void)

  readonly ask = (request: Request): Effect.Effect<Answer> =>
    Effect.promise(async () => {
      const process = this.child?.process
      if (process === undefined) return { error: "it does not run" }
      process.send(request)
      const said: ReadonlyArray<unknown> = await once(process, "message")
      const answer = Child.said(said[0], "answer")
      return isAnswer(answer) ? answer : { error: "it did not answer" }
    }).pipe(Effect.timeoutTo({ duration: "60 seconds", onSuccess: (answer) => answer, onTimeout: silent }))
}

const story = (envoy: string) =>
  Effect.gen(function* () {
    const began = performance.now()
    const title = (text: string) =>
      Console.log(`\n${((performance.now() - began) / 1_000).toFixed(1).padStart(5)} s  ${text}`)
    const say = (text: string) => Console.log(`         ${text}`)

    const { name, server, url } = yield* database
    const [one, two] = [new ControlPlane("A", url), new ControlPlane("B", url)]
    yield* Effect.all([one.start, two.start], { concurrency: 2 })
    const backend = yield* Child.start("Backend", [])
    const ports = isPorts(backend.ready) ? backend.ready : { v1: 0, v2: 0 }
    const begun = yield* one.ask({ ask: "begin", to: "v1", ports })
    const first = begun.revision
    if (first === undefined) {
      return yield* new Seen.NotSeen({ what: "the first resources", instead: begun.error ?? "nothing" })
    }

    /** Both Envoys and both gRPC clients; the first of each turns to A first, the second to B. */
    const clients = yield* Effect.all(
      [one, two].flatMap((plane) => {
        const order = plane === one ? [one.port, two.port] : [two.port, one.port]
        const proxied = Effect.flatMap(Envoy.start(envoy, `envoy-${plane.name}`, order), (address) =>
          Traffic.start(`envoy-${plane.name}`, address)
        )
        return [proxied, Traffic.start(`grpc-${plane.name}`, "xds:///greeter", order)]
      }),
      { concurrency: 2 }
    )
    /** Waits until all calls of all clients go to a version, and says when the last call to the other one began. */
    const seen = (to: Version, since?: number) =>
      Effect.gen(function* () {
        const lasts = yield* Effect.all(
          clients.map((client) => client.only(to, calls)),
          { concurrency: "unbounded" }
        )
        const delays = clients.map((client, at) => `${client.name} ${Math.max(0, (lasts[at] ?? 0) - (since ?? 0))} ms`)
        yield* say(
          since === undefined
            ? `${clients.map(({ name: each }) => each).join(", ")}: all calls go to ${to}`
            : `all calls go to ${to}; the last call to the other version after: ${delays.join(", ")}`
        )
      })
    const update = (plane: ControlPlane, to: Version) =>
      Effect.gen(function* () {
        const since = Date.now()
        const { error, revision } = yield* plane.ask({ ask: "routes", to, note: `all to ${to}` })
        if (revision === undefined) return yield* new Seen.NotSeen({ what: "an update", instead: error ?? "nothing" })
        yield* say(`revision ${revision}, written in ${Date.now() - since} ms`)
        yield* seen(to, since)
        return revision
      })
    const failures = () => clients.reduce((sum, client) => sum + client.failed(), 0)
    const connected = (plane: ControlPlane) =>
      Effect.map(plane.ask({ ask: "status" }), ({ clients: names = [] }) => [...names].sort().join(", "))

    yield* Console.log(
      `Two control planes, A and B, on ${name}; two Envoys and two gRPC clients, and calls all the time.`
    )
    yield* title("1  All calls go to v1.")
    yield* seen("v1")
    yield* say(`A has ${yield* connected(one)}; B has ${yield* connected(two)}`)

    yield* title("2  Through A: all to v2.")
    yield* update(one, "v2")

    yield* title("3  Through B: all to v1.")
    yield* update(two, "v1")

    yield* title("4  A is killed (SIGKILL). Its clients turn to B.")
    const { sent: before = {} } = yield* two.ask({ ask: "status" })
    yield* one.kill
    const found = performance.now()
    yield* Seen.until(
      "4 clients at B",
      async () => {
        const { clients: names = [] } = await Effect.runPromise(two.ask({ ask: "status" }))
        return names.length === clients.length || undefined
      },
      () => "fewer"
    )
    yield* say(`all are there after ${Math.round(performance.now() - found)} ms`)
    yield* seen("v1")
    const { sent: after = {} } = yield* two.ask({ ask: "status" })
    const sent = clients.map((client) => `${client.name} ${(after[client.name] ?? 0) - (before[client.name] ?? 0)}`)
    yield* say(`resources that were sent again: ${sent.join(", ")}; ${failures()} calls failed`)

    yield* title("5  Without A, through B: all to v2.")
    yield* update(two, "v2")

    yield* title("6  A is started again, and has it. Through A: all to v1.")
    yield* one.start
    const revision = yield* update(one, "v1")

    if (server === undefined) {
      yield* title("7  The database is a file: there is nothing to kill. Through B: all to v2.")
    } else {
      yield* title("7  The database is killed (SIGKILL).")
      yield* server.kill
      const { error } = yield* one.ask({ ask: "routes", to: "v2", note: "without a database" })
      if (error === undefined) return yield* new Seen.NotSeen({ what: "an error", instead: "none" })
      yield* say(`an update through A: ${error}`)
      yield* seen("v1")
      yield* say(`${failures()} calls failed; both serve revision ${revision}`)
      yield* server.start
      yield* say("it is started again. Through B: all to v2.")
    }
    yield* update(two, "v2")

    yield* title(`8  Through A: back to revision ${first}.`)
    const since = Date.now()
    const back = yield* one.ask({ ask: "rollback", revision: first })
    yield* say(`that is revision ${back.revision ?? `none: ${back.error ?? ""}`}`)
    yield* seen("v1", since)

    const total = clients.reduce((sum, client) => sum + client.total(), 0)
    yield* title(`9  ${clients.map((client) => `${client.name}: ${client.total()} calls`).join(", ")}`)
    const failed = failures()
    if (failed > 0) {
      for (const client of clients) if (client.failed() > 0) yield* say(`${client.name}: ${client.failure() ?? ""}`)
    }
    if (process.argv.includes("--keep")) {
      yield* Console.log(`\nEverything stays up: the store is ${url}. Ctrl-C ends it.`)
      yield* Effect.never
    }
    return { total, failed }
  })

const envoy = PeerProgram.find("envoy")
if (envoy._tag === "Missing") process.stdout.write(`The demo of replicas is skipped: ${envoy.reason}\n`)
else {
  const main = Effect.runFork(Effect.scoped(story(envoy.path)))
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    process.once(signal, () => main.unsafeInterruptAsFork(main.id()))
  }
  main.addObserver((exit) => {
    if (exit._tag === "Success" && exit.value.failed === 0) {
      process.stdout.write(
        `\nPASSED: every step was seen by every client, and none of ${exit.value.total} calls failed.\n`
      )
    } else {
      const why =
        exit._tag === "Success" ? `${exit.value.failed} of ${exit.value.total} calls failed` : String(exit.cause)
      process.stdout.write(`\nFAILED: ${why}\n`)
      process.exitCode = 1
    }
  })
}
