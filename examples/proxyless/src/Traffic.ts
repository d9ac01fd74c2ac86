/** Calls without an end, one every few milliseconds, and what became of them. */
import { ConnectError, createClient, type Transport } from "@connectrpc/connect"
import { Health } from "@effect-xds/proto/grpc/health/v1/health"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"

export interface Traffic {
  readonly calls: () => number
  readonly failed: () => number
  /** In the words of the first one. */
  readonly failure: () => string
  /** By port, the calls that began after `since`. */
  readonly since: (since: number) => ReadonlyMap<number, number>
}

interface Answer {
  readonly began: number
  readonly port: number
}

/** Milliseconds between two calls. */
const every = 5

export const start = (transport: Transport): Effect.Effect<Traffic, never, Scope.Scope> =>
  Effect.gen(function* () {
    const client = createClient(Health, transport)
    const answers: Array<Answer> = []
    let failed = 0
    let failure = ""
    const call = async (): Promise<void> => {
      const began = performance.now()
      try {
        let port = 0
        await client.check({}, { onHeader: (header) => (port = Number(header.get("port"))) })
        answers.push({ began, port })
      } catch (cause) {
        if (failed++ === 0) failure = ConnectError.from(cause).message
      }
    }
    yield* Effect.acquireRelease(
      Effect.sync(() => setInterval(() => void call(), every)),
      (timer) => Effect.sync(() => clearInterval(timer))
    )
    return {
      calls: () => answers.length + failed,
      failed: () => failed,
      failure: () => failure,
      since: (since) => {
        const found = new Map<number, number>()
        for (const { began, port } of answers) if (began >= since) found.set(port, (found.get(port) ?? 0) + 1)
        return found
      }
    }
  })
