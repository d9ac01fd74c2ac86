/** The servers of a scenario, by name: each listens on a port of its own, also when it has been stopped in between. */
import { FreePort } from "@effect-xds/testing"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import * as TestService from "../src/TestService.js"

export interface Hosts {
  readonly portOf: (name: string) => number
  /** Stops these and starts all others. */
  readonly stop: (names: ReadonlyArray<string>) => Effect.Effect<void>
}

export const start = (names: ReadonlyArray<string>): Effect.Effect<Hosts, never, Scope.Scope> =>
  Effect.gen(function* () {
    const ports = new Map<string, number>()
    const running = new Map<string, Scope.CloseableScope>()
    const startOne = (hostname: string) =>
      Effect.gen(function* () {
        const scope = yield* Scope.make()
        const port = ports.get(hostname) ?? (yield* FreePort.any())
        ports.set(hostname, port)
        const options = { port, host: "127.0.0.1", hostname, serverId: hostname }
        yield* Effect.orDie(Scope.extend(TestService.serve(options), scope))
        running.set(hostname, scope)
      })
    const stopOne = (hostname: string) =>
      Effect.suspend(() => {
        const scope = running.get(hostname)
        running.delete(hostname)
        return scope === undefined ? Effect.void : Scope.close(scope, Exit.void)
      })
    yield* Effect.addFinalizer(() => Effect.forEach(Array.from(running.keys()), stopOne, { discard: true }))
    yield* Effect.forEach(names, startOne, { discard: true })
    return {
      portOf: (name) => ports.get(name) ?? 0,
      stop: (stopped) =>
        Effect.forEach(
          names,
          (name) => (stopped.includes(name) ? stopOne(name) : running.has(name) ? Effect.void : startOne(name)),
          { discard: true }
        )
    }
  })
