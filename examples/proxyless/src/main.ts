/**
 * A Connect client, three servers and a control plane: calls are shifted, an endpoint is drained, a server and the control
 * plane are killed, and all come back. Each step is measured. Ends with 1 if a call failed or a step was not seen.
 */
import { Bootstrap, XdsClient } from "@effect-xds/client"
import { XdsChannels, XdsTransport } from "@effect-xds/connect-xds"
import { ConnectClient } from "@effect-xds/transport-connect"
import * as Console from "effect/Console"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as LogLevel from "effect/LogLevel"
import * as Child from "./Child.js"
import type { Mesh } from "./Mesh.js"
import * as Traffic from "./Traffic.js"

class NotSeen extends Data.TaggedError("NotSeen")<{ readonly what: string }> {
  override get message(): string {
    return `not seen within ${limit / 1_000} s: ${this.what}`
  }
}

const limit = 20_000

/** Calls are watched for so long in each step, in milliseconds. */
const window = 2_000

/** Looks every 10 milliseconds; gives the milliseconds that it took. */
const seen = (what: string, look: () => boolean) =>
  Effect.gen(function* () {
    const began = performance.now()
    while (!look()) {
      if (performance.now() - began > limit) return yield* new NotSeen({ what })
      yield* Effect.sleep(10)
    }
    return Math.round(performance.now() - began)
  })

const program = Effect.gen(function* () {
  const [a, b, c] = yield* Effect.all([Child.start("Server"), Child.start("Server"), Child.start("Server")])
  const plane = yield* Child.start("ControlPlane")
  let current = plane
  const set = (mesh: Mesh) => Effect.sync(() => current.send(mesh))
  const names = new Map([
    [a.port, "a (v1)"],
    [b.port, "b (v1)"],
    [c.port, "c (v2)"]
  ])
  const both = { weight: 100, ports: [a.port, b.port] }
  yield* set({ v1: both, v2: { weight: 0, ports: [c.port] } })

  const bootstrap = Bootstrap.make({ servers: [`127.0.0.1:${plane.port}`], node: { id: "app-1" } })
  const channels = XdsChannels.layer({ bootstrap }).pipe(
    Layer.provide(XdsClient.layer({ bootstrap })),
    Layer.provide(ConnectClient.layer())
  )
  const demo = Effect.gen(function* () {
    const traffic = yield* Traffic.start(yield* XdsTransport.make({ target: "xds:///shop" }))
    /** The calls of the next two seconds. */
    const calls = Effect.gen(function* () {
      const since = performance.now()
      yield* Effect.sleep(window)
      return traffic.since(since)
    })
    const shares = (found: ReadonlyMap<number, number>): string => {
      const all = Array.from(found.values()).reduce((sum, each) => sum + each, 0)
      return Array.from(names, ([port, name]) => [name, found.get(port) ?? 0] as const)
        .filter(([, count]) => count > 0)
        .map(([name, count]) => `${name}: ${count} calls (${((100 * count) / all).toFixed(1)} %)`)
        .join(", ")
    }
    /** Milliseconds until the last call to a port began, of those in the next two seconds. */
    const lastTo = (port: number, change: Effect.Effect<void>) =>
      Effect.gen(function* () {
        const began = performance.now()
        yield* change
        yield* Effect.sleep(window)
        let low = 0
        for (let at = 0; at <= window; at += 5) if ((traffic.since(began + at).get(port) ?? 0) > 0) low = at + 5
        return { after: low, then: traffic.since(began + low) }
      })

    yield* seen("the first answer", () => traffic.since(0).size > 0)
    yield* Console.log(`1  The control plane serves on 127.0.0.1:${plane.port}. All calls go to v1, on two servers.`)
    yield* Console.log(`   ${shares(yield* calls)}\n`)

    yield* set({ v1: { ...both, weight: 90 }, v2: { weight: 10, ports: [c.port] } })
    const shifted = yield* seen("a call to v2", () => traffic.since(0).has(c.port))
    yield* Console.log(`2  Weights 90 to 10. The first call to v2 after ${shifted} ms.\n   ${shares(yield* calls)}\n`)

    const without = { v1: { weight: 90, ports: [a.port] }, v2: { weight: 10, ports: [c.port] } }
    const drained = yield* lastTo(b.port, set(without))
    yield* Console.log("3  v1 loses its endpoint b.")
    yield* Console.log(`   the last call to it after ${drained.after} ms; then ${shares(drained.then)}\n`)

    yield* set({ v1: { ...both, weight: 90 }, v2: { weight: 10, ports: [c.port] } })
    const back = performance.now()
    yield* seen("b again", () => traffic.since(back).has(b.port))
    const killed = yield* lastTo(a.port, a.kill)
    yield* Console.log("4  b is back; server a is killed (SIGKILL).")
    yield* Console.log(
      `   its last answer after ${killed.after} ms; then ${shares(killed.then)}; ${traffic.failed()} failed\n`
    )

    yield* current.kill
    yield* Console.log("5  The control plane is killed (SIGKILL).")
    yield* Console.log(`   ${shares(yield* calls)}; ${traffic.failed()} failed\n`)

    current = yield* Child.start("ControlPlane", plane.port)
    yield* set({ v1: both, v2: { weight: 0, ports: [c.port] } })
    yield* Child.start("Server", a.port)
    const began = performance.now()
    const returned = yield* seen("an answer of a", () => traffic.since(began).has(a.port))
    yield* seen("v1 alone", () => !traffic.since(performance.now() - 500).has(c.port))
    yield* Console.log(`6  Both are back, weights 100 to 0. The first answer of a after ${returned} ms.`)
    yield* Console.log(`   ${shares(yield* calls)}\n`)

    yield* Console.log(`7  In total ${traffic.calls()} calls; failed: ${traffic.failed()}`)
    if (traffic.failed() > 0) yield* Console.log(`   the first one: ${traffic.failure()}`)
    return traffic.failed()
  })
  return yield* Effect.scoped(demo).pipe(Effect.provide(channels))
})

Effect.runPromise(Effect.scoped(program).pipe(Effect.provide(Logger.minimumLogLevel(LogLevel.Error)))).then(
  (failed) => {
    process.stdout.write(failed === 0 ? "\nPASSED: no call failed\n" : "\nFAILED\n")
    process.exitCode = failed === 0 ? 0 : 1
  },
  (error: unknown) => {
    process.stdout.write(`\nFAILED: ${error instanceof Error ? error.message : String(error)}\n`)
    process.exitCode = 1
  }
)
