/** The demo: changes what a control plane of this project serves, and waits each time for the client's picture of it. */
import * as Command from "@effect/platform/Command"
import type * as CommandExecutor from "@effect/platform/CommandExecutor"
import type * as PlatformError from "@effect/platform/Error"
import { XdsClient } from "@effect-xds/client"
import { ResourceType } from "@effect-xds/proto"
import * as FreePort from "@effect-xds/testing/network/FreePort"
import * as Console from "effect/Console"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Queue from "effect/Queue"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as SubscriptionRef from "effect/SubscriptionRef"
import { fileURLToPath } from "node:url"
import * as Edge from "./Edge.js"
import * as Watch from "./Watch.js"

/** What should have happened did not. */
class NotSeen extends Data.TaggedError("NotSeen")<{ readonly what: string; readonly instead: string }> {
  override get message(): string {
    return `waited 30 s for ${this.what}; instead: ${this.instead}`
  }
}

const script = fileURLToPath(new URL("./ControlPlane.js", import.meta.url))

/** A control plane in a process of its own: it serves `edge` as it is, and again whenever it changes. */
const startControlPlane = (port: string, edge: SubscriptionRef.SubscriptionRef<Edge.Edge>) =>
  Effect.gen(function* () {
    const said = yield* Queue.unbounded<string>()
    const child = yield* Command.start(Command.make(process.execPath, script, port).pipe(Command.stderr("inherit")))
    const feed = edge.changes.pipe(
      Stream.map((edge) => `${Edge.encode(edge)}\n`),
      Stream.encodeText,
      Stream.run(child.stdin)
    )
    const listen = child.stdout.pipe(
      Stream.decodeText(),
      Stream.splitLines,
      Stream.runForEach((line) => Queue.offer(said, line))
    )
    yield* Effect.forEach([feed, listen], (pipe) => Effect.forkScoped(Effect.ignore(pipe)))
    /** What it prints next. */
    const next = (what: string) =>
      Effect.timeoutFail(Queue.take(said), {
        duration: "30 seconds",
        onTimeout: () => new NotSeen({ what, instead: "the control plane said nothing" })
      })
    const address = yield* next("the address of the control plane")
    return { address, next, kill: Effect.ignore(child.kill("SIGKILL")) }
  })

const title = (text: string) => Console.log(`\n${text}`)

const has = (text: string) => (picture: string) => picture.includes(text)
const trouble = "\n! "
const noTrouble = (picture: string) => !picture.includes(trouble)

/** `clientOf` makes a client of a server; `print` prints a picture. */
export const run = <E>(
  clientOf: (address: string) => Layer.Layer<XdsClient.XdsClient, E>,
  print: (picture: string) => Effect.Effect<void>
): Effect.Effect<void, E | NotSeen | PlatformError.PlatformError, Scope.Scope | CommandExecutor.CommandExecutor> =>
  Effect.gen(function* () {
    const blue = { weight: 100, endpoints: ["10.0.0.1:8080", "10.0.0.2:8080"] }
    const green = { weight: 10, endpoints: ["10.0.1.1:8080"] }
    const edge = yield* SubscriptionRef.make<Edge.Edge>({ blue })
    const publish = (next: Edge.Edge) => SubscriptionRef.set(edge, next)
    const shown = yield* SubscriptionRef.make("")
    const until = (what: string, isSo: (picture: string) => boolean) =>
      shown.changes.pipe(
        Stream.filter(isSo),
        Stream.runHead,
        Effect.timeoutFail({
          duration: "30 seconds",
          onTimeout: () => new NotSeen({ what, instead: "the picture above" })
        })
      )
    const port = String(yield* FreePort.any())
    const { address, kill, next } = yield* startControlPlane(port, edge)

    const story = Effect.gen(function* () {
      yield* title(`1  A control plane serves on ${address}. The client watches its listener "ingress".`)
      yield* until("the endpoints of blue", has("100 % cluster blue  10.0.0.1:8080 10.0.0.2:8080"))

      yield* title("2  Weights 90 to 10; the new cluster green has no endpoints yet.")
      yield* publish({ blue: { ...blue, weight: 90 }, green: { weight: 10 } })
      // Once it is there: then its endpoints are waited for, or known not to exist.
      yield* until("green", (picture) => has("10 % cluster green  (")(picture) && !has("green  (waiting)")(picture))

      yield* title("3  They come.")
      yield* publish({ blue: { ...blue, weight: 90 }, green })
      yield* until("the endpoint of green", has("cluster green  10.0.1.1:8080"))

      yield* title("4  One of blue's endpoints goes.")
      const good = { blue: { weight: 90, endpoints: ["10.0.0.1:8080"] }, green }
      yield* publish(good)
      yield* until("one endpoint of blue", has("cluster blue   10.0.0.1:8080\n"))

      yield* title("5  A mistake: an endpoint of green without a port. The client rejects it and keeps what it has.")
      yield* publish({ ...good, green: { weight: 10, endpoints: ["10.0.1.1"] } })
      yield* until("the mistake", has(trouble))
      yield* Console.log(`   The control plane heard: ${yield* next("the NACK")}`)

      yield* title("6  Corrected.")
      yield* publish(good)
      yield* until("an end of the trouble", noTrouble)
      const before = yield* SubscriptionRef.get(shown)

      yield* title("7  The control plane is killed (SIGKILL).")
      yield* kill
      yield* until("the loss", has(trouble))

      yield* title("8  It is started again. Nothing was lost.")
      yield* startControlPlane(port, edge)
      yield* until("the picture of step 6", (picture) => picture === before)

      yield* title("9  All goes to green. Nothing leads to blue any more, and its watches end.")
      yield* publish({ green: { ...green, weight: 100 } })
      yield* until("green alone", has("100 % cluster green  10.0.1.1:8080"))
      const { genericXdsConfigs } = yield* (yield* XdsClient.XdsClient).dump
      const watched = genericXdsConfigs.map(({ name, typeUrl }) => `${ResourceType.shortNameOf(typeUrl)} ${name}`)
      yield* Console.log(`   Watched now: ${watched.join(", ")}`)
    })
    const watching = Stream.runForEach(Watch.pictures({ kind: "listener", name: "ingress" }), (picture) =>
      Effect.zipRight(print(picture), SubscriptionRef.set(shown, picture))
    )
    yield* Effect.raceFirst(story, watching).pipe(Effect.provide(clientOf(address)))
    yield* Console.log("\nPASSED: every step was seen.")
  })
