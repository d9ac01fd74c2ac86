/** A process that a scope owns: it says its port when it is ready, and ends with the scope. */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { ChildProcess } from "node:child_process"
import { fork } from "node:child_process"
import { once } from "node:events"
import { join } from "node:path"

export interface Child {
  readonly port: number
  readonly send: (message: object) => void
  /** SIGKILL, and waits until it is gone. */
  readonly kill: Effect.Effect<void>
}

const portOf = (message: unknown): number =>
  typeof message === "object" && message !== null && "port" in message ? Number(message.port) : 0

const end = (child: ChildProcess): Effect.Effect<void> =>
  Effect.promise(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return
    const exit = once(child, "exit")
    child.kill("SIGKILL")
    await exit
  })

/** @param port 0: any */
export const start = (program: "Server" | "ControlPlane", port = 0): Effect.Effect<Child, never, Scope.Scope> =>
  Effect.gen(function* () {
    const child = yield* Effect.acquireRelease(
      Effect.sync(() => fork(join(import.meta.dirname, `${program}.js`), [String(port)])),
      end
    )
    const ready = yield* Effect.promise(async () => {
      const said: ReadonlyArray<unknown> = await Promise.race([once(child, "message"), once(child, "exit")])
      return portOf(said[0])
    })
    if (ready === 0) return yield* Effect.dieMessage(`${program} ended before it was ready`)
    return { port: ready, send: (message) => void child.send(message), kill: end(child) }
  })
