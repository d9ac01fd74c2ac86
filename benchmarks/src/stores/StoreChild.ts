/**
 * A process with a store, in memory or in a database: does what its parent says, and tells when. Times are milliseconds of one
 * clock for all processes of a machine.
 */
import * as Snapshot from "@effect-xds/server/Snapshot"
import * as SnapshotStore from "@effect-xds/server/SnapshotStore"
import { SqlStore, StoreUrl } from "@effect-xds/store-sql"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Logger from "effect/Logger"
import * as LogLevel from "effect/LogLevel"
import * as Redacted from "effect/Redacted"
import * as Scope from "effect/Scope"
import * as Fixtures from "../Fixtures.js"

/** What a parent asks for. */
export type Request =
  /** `url`: absent for a store in memory. */
  | { readonly ask: "open"; readonly url?: string | undefined }
  | { readonly ask: "fill"; readonly groups: number; readonly resources: number }
  /** Changes resources `from` to `from + count - 1`. */
  | { readonly ask: "change"; readonly group: string; readonly from: number; readonly count: number }
  /** Told whenever the group has changed. */
  | { readonly ask: "watch"; readonly group: string }
  | { readonly ask: "memory" }

/** What it answers. `seen` comes by itself. */
export interface Answer {
  readonly began: number
  readonly ended: number
  /** After garbage was collected. */
  readonly bytes?: { readonly heap: number; readonly resident: number } | undefined
}

export const groupOf = (index: number): string => `group-${index}`

const now = (): number => performance.timeOrigin + performance.now()

const scope = Effect.runSync(Scope.make())
let store: SnapshotStore.Store | undefined
let sequence = 0

const opened = (): SnapshotStore.Store => {
  if (store === undefined) throw new Error("no store is open")
  return store
}

const resource = (index: number, change: number) => {
  const { name, value } = Fixtures.resource("clusters", index, change)
  return Snapshot.resource({ typeUrl: Fixtures.typeUrls.clusters, name, value }, {})
}

const resources = (from: number, count: number, change: number) =>
  Array.from({ length: count }, (_, at) => resource(from + at, change))

const run = <A, E>(effect: Effect.Effect<A, E, Scope.Scope>): Promise<A> =>
  Effect.runPromise(effect.pipe(Scope.extend(scope), Logger.withMinimumLogLevel(LogLevel.None)))

const timed = async (work: () => Promise<unknown>): Promise<Answer> => {
  const began = now()
  await work()
  return { began, ended: now() }
}

const collect = async (): Promise<{ readonly heap: number; readonly resident: number }> => {
  for (let turn = 0; turn < 3; turn++) {
    globalThis.gc?.()
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  const { arrayBuffers, heapUsed, rss } = process.memoryUsage()
  return { heap: heapUsed + arrayBuffers, resident: rss }
}

const answer = async (request: Request): Promise<Answer> => {
  switch (request.ask) {
    case "open":
      return timed(async () => {
        store = await run(
          request.url === undefined
            ? SnapshotStore.makeMemory()
            : Effect.flatMap(StoreUrl.open(Redacted.make(request.url)), (database) => SqlStore.make(database))
        )
      })
    case "fill": {
      let spent = 0
      const began = now()
      for (let at = 0; at < request.groups; at++) {
        // Encoded before the clock starts.
        const made = resources(at * request.resources, request.resources, 0)
        const { began: from, ended } = await timed(() => run(opened().set(groupOf(at), { resources: made })))
        spent += ended - from
      }
      return { began, ended: began + spent }
    }
    case "change": {
      const upsert = { resources: resources(request.from, request.count, ++sequence) }
      return timed(() => run(opened().update(request.group, { upsert })))
    }
    case "watch":
      await run(
        opened().listen((group) => {
          if (group === request.group) process.send?.({ seen: now() })
        })
      )
      return { began: 0, ended: 0 }
    case "memory":
      return { began: 0, ended: 0, bytes: await collect() }
  }
}

const isRequest = (value: unknown): value is Request => typeof value === "object" && value !== null && "ask" in value

process.on("message", (message) => {
  if (!isRequest(message)) return
  answer(message).then(
    (found) => process.send?.({ answer: found }),
    (error: unknown) => process.send?.({ error: String(error) })
  )
})
process.once("disconnect", () => {
  void Effect.runPromise(Scope.close(scope, Exit.void)).finally(() => process.exit())
})
