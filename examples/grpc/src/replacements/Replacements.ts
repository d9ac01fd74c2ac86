/**
 * Replaces a cluster again and again, as a deployment does: one update moves the route from one version to the next,
 * brings the next with its endpoints and removes the old one. Counts the calls that fail meanwhile.
 */
import type * as CommandExecutor from "@effect/platform/CommandExecutor"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as Fleet from "./Fleet.js"
import type * as GrpcClient from "./GrpcClient.js"

/** What one client saw. */
export interface Result {
  readonly name: GrpcClient.Name
  readonly answered: number
  /** Status and text of failed calls, with how many there were. */
  readonly failures: Readonly<Record<string, number>>
  /** Calls that failed by a fault of the client's own, with any server. */
  readonly byClient: number
}

/** During this replacement calls of a client failed. */
export interface Failed {
  readonly replacement: number
  readonly name: GrpcClient.Name
  /** As in `Result`, since the client's start. */
  readonly failures: Readonly<Record<string, number>>
}

export interface Progress {
  readonly replacement: number
  readonly answered: number
  readonly failed: number
}

// The next replacement comes right after the clients have moved, or up to this much later: meanwhile the server deletes
// the old version, and the client lets go of it.
const maxPauseMillis = 60

/** Runs so many replacements; each client has moved to the new version before the next. */
export const run = (options: {
  readonly replacements: number
  readonly clients: ReadonlyArray<GrpcClient.Name>
  readonly onProgress?: (progress: Progress) => void
  readonly onFailed?: (failed: Failed) => void
  readonly onFleet?: (fleet: Fleet.Fleet) => void
}): Effect.Effect<ReadonlyArray<Result>, Fleet.Failure, Scope.Scope | CommandExecutor.CommandExecutor> =>
  Effect.gen(function* () {
    const { clients: names, onFailed, onFleet, onProgress, replacements } = options
    const version = (number: number, endpoint: string): Fleet.State => ({
      to: `v${number}`,
      clusters: { [`v${number}`]: endpoint }
    })
    const fleet = yield* Fleet.start(names, ({ a }) => version(0, a))
    onFleet?.(fleet)
    const { backends, clients, publish } = fleet
    const known = new Map<GrpcClient.Name, number>()
    const total = (of: (calls: GrpcClient.Calls) => number) => clients.reduce((sum, { calls }) => sum + of(calls), 0)
    for (let replacement = 1; replacement <= replacements; replacement++) {
      const backend = replacement % 2 === 0 ? "a" : "b"
      yield* publish(version(replacement, backends[backend]))
      yield* Fleet.answers(fleet, backend, 3)
      yield* Effect.sleep((replacement * 7) % maxPauseMillis)
      for (const { calls, name } of clients) {
        if (calls.failed > (known.get(name) ?? 0)) onFailed?.({ replacement, name, failures: calls.failures.byServer })
        known.set(name, calls.failed)
      }
      onProgress?.({
        replacement,
        answered: total(({ answered }) => answered),
        failed: total(({ failed }) => failed)
      })
    }
    // The reports of the last calls.
    yield* Fleet.answers(fleet, replacements % 2 === 0 ? "a" : "b", 50)
    return clients.map(({ calls: { answered, failures }, name }) => ({
      name,
      answered,
      failures: failures.byServer,
      byClient: failures.byClient
    }))
  })
