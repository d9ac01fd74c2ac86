/** Reports file events to subscribers, metrics and the log. */
import * as Effect from "effect/Effect"
import * as Metric from "effect/Metric"
import * as PubSub from "effect/PubSub"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type { FileEvent } from "../FileEvent.js"
import * as FilesystemMetrics from "../FilesystemMetrics.js"
import type { ResourceFileError } from "../ResourceFileError.js"

/** The most events that a subscriber may be behind; then it loses the oldest. */
const capacity = 1_024

/** The most log lines per check: ten thousand malformed files must not become as many lines. */
const maxLines = 20

export interface FileLog {
  readonly events: Stream.Stream<FileEvent>
  /** `rejected`: the number of files rejected now. */
  readonly tell: (events: ReadonlyArray<FileEvent>, rejected: number) => Effect.Effect<void>
}

/** Removes control characters from file names and contents, so that they cannot forge log lines. */
const oneLine = (text: string): string => text.replace(/[\p{Cc}\u2028\u2029]+/gu, " ")

/** The first mistake of a file; the status has all of them. */
const mistakeOf = ({ message, others = [] }: ResourceFileError): string =>
  others.length === 0 ? message : `${message} (and ${others.length} more in this file)`

/** The log line of an event; `undefined` if it needs none. */
const lineOf = (event: FileEvent, wasRejected: boolean): Effect.Effect<void> | undefined => {
  switch (event._tag) {
    case "Accepted":
      return wasRejected
        ? Effect.logInfo(oneLine(`${event.path}: accepted again, ${event.resources} resources`))
        : undefined
    case "Rejected":
      return Effect.logWarning(
        oneLine(
          event.inForce === undefined
            ? `${mistakeOf(event.error)} (it was never good, so nothing of it is in force)`
            : `${mistakeOf(event.error)} (its last good state stays in force)`
        )
      )
    case "Removed":
      return Effect.logInfo(oneLine(`${event.path}: removed, and its ${event.resources} resources with it`))
    case "Missing":
      return Effect.logWarning(oneLine(`${event.path}: not there; its last state stays in force until it returns`))
    case "Returned":
      return Effect.logInfo(oneLine(`${event.path}: ${wasRejected ? "read" : "there"} again`))
  }
}

export const make: Effect.Effect<FileLog, never, Scope.Scope> = Effect.gen(function* () {
  const hub = yield* Effect.acquireRelease(PubSub.sliding<FileEvent>(capacity), PubSub.shutdown)
  const rejectedPaths = new Set<string>()
  let rejectedBefore = 0
  const count = (rejected: number) =>
    Effect.suspend(() => {
      const change = rejected - rejectedBefore
      rejectedBefore = rejected
      return change === 0 ? Effect.void : Metric.incrementBy(FilesystemMetrics.rejected, change)
    })
  yield* Effect.addFinalizer(() => count(0))
  return {
    events: Stream.fromPubSub(hub),
    tell: (events, rejected) =>
      Effect.gen(function* () {
        let lines = 0
        for (const event of events) {
          const line = lineOf(event, rejectedPaths.has(event.path))
          if (line !== undefined && ++lines <= maxLines) yield* line
          if (event._tag === "Rejected") {
            rejectedPaths.add(event.path)
            yield* Metric.increment(FilesystemMetrics.rejections)
          } else if (event._tag !== "Missing") {
            rejectedPaths.delete(event.path)
            if (event._tag === "Accepted") yield* Metric.increment(FilesystemMetrics.accepted)
          }
          yield* PubSub.publish(hub, event)
        }
        if (lines > maxLines) {
          yield* Effect.logWarning(`${lines - maxLines} more lines about files were left out; see the status`)
        }
        yield* count(rejected)
      })
  }
})
