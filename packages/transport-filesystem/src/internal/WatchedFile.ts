/** A file with one DiscoveryResponse that is read, and read again when the watch says that it may have changed. */
import { ofDefect } from "@effect-xds/proto/Redaction"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import type { FileEvent } from "../FileEvent.js"
import type { FileStatus } from "../FileStatus.js"
import * as ResourceFile from "../ResourceFile.js"
import * as ChangeSignal from "./ChangeSignal.js"
import type { EntryWatch } from "./EntryWatch.js"
import * as FileContent from "./FileContent.js"
import * as FileLog from "./FileLog.js"
import * as Latest from "./Latest.js"
import { type ReadOptions, withDefaults } from "./ReadOptions.js"
import * as Retry from "./Retry.js"
import * as WayWatch from "./WayWatch.js"

export const make = (
  path: string,
  options: ReadOptions & { readonly typeUrl?: string | undefined },
  entries: EntryWatch
) =>
  Effect.gen(function* () {
    const { maxFileBytes, maxDelay, quietPeriod } = withDefaults(options)
    const log = yield* FileLog.make
    const latest = Latest.make<string, ResourceFile.Response>()
    const change = ChangeSignal.make(quietPeriod, maxDelay)
    const watch = yield* Effect.acquireRelease(
      Effect.sync(() => entries.open(change.signal)),
      ({ close }) => Effect.sync(close)
    )

    /** The content that was last read, accepted or not. */
    let seen: { readonly hash: string; readonly signature: FileContent.Signature } | undefined
    let acceptedHash = ""
    let error: ResourceFile.ResourceFileError | undefined
    let isMissing = false
    let isFailing = false
    const retry = yield* Retry.make(() => isFailing, change.signal)

    const refusal = (reason: "Unreadable" | "TooLarge", detail: string) =>
      new ResourceFile.ResourceFileError({ reason, file: path, line: undefined, column: undefined, path: "", detail })

    const reject = (rejection: ResourceFile.ResourceFileError): ReadonlyArray<FileEvent> => {
      const isNew = !ResourceFile.isSame(error, rejection)
      error = rejection
      return isNew ? [{ _tag: "Rejected", path, error: rejection, inForce: latest.get(path)?.resources.length }] : []
    }

    /** Processes new content and returns its events. */
    const take = (content: FileContent.FileContent): Effect.Effect<ReadonlyArray<FileEvent>> =>
      Effect.gen(function* () {
        switch (content._tag) {
          case "Missing":
          case "Unchanged":
            return []
          case "Changing":
            change.signal()
            return []
          case "Refused":
            seen = undefined
            return reject(refusal(content.reason, isFailing ? Retry.later(content.detail) : content.detail))
          case "Read": {
            const isKnown = seen?.hash === content.hash
            seen = content
            if (isKnown) return []
            const { bytes, hash } = content
            const parsed = yield* Effect.either(
              ResourceFile.parseResponse({ file: path, bytes }, { typeUrl: options.typeUrl })
            )
            if (Either.isLeft(parsed)) return reject(parsed.left)
            error = undefined
            // The content is the one in force again: subscribers see no change.
            if (hash !== acceptedHash) latest.set(path, parsed.right)
            acceptedHash = hash
            return [{ _tag: "Accepted", path, resources: parsed.right.resources.length }]
          }
        }
      })

    const look = Effect.gen(function* () {
      yield* Effect.promise(() => WayWatch.follow(watch, path))
      const content = yield* Effect.promise(() => FileContent.read(path, maxFileBytes, seen?.signature))
      const wasMissing = isMissing
      isMissing = content._tag === "Missing"
      isFailing = content._tag === "Refused" && content.isPassing
      const presence: ReadonlyArray<FileEvent> =
        wasMissing === isMissing ? [] : [{ _tag: isMissing ? "Missing" : "Returned", path }]
      const events = yield* Effect.catchAllDefect(take(content), (defect) =>
        Effect.sync(() => {
          const detail = `reading it failed, by a fault of this program: ${ofDefect(defect)}`
          return reject(refusal("Unreadable", detail))
        })
      )
      yield* log.tell([...presence, ...events], error === undefined ? 0 : 1)
      yield* retry
    })

    yield* look
    yield* change.quiet.pipe(Effect.zipRight(look), Effect.forever, Effect.forkScoped)

    return {
      path,
      current: Effect.sync(() => Option.fromNullable(latest.get(path))),
      changes: Stream.map(latest.changes, ([, response]) => response),
      events: log.events,
      status: Effect.sync((): FileStatus => ({
        path,
        state: error !== undefined && !isMissing ? "Rejected" : isMissing || !latest.get(path) ? "Missing" : "Accepted",
        resources: latest.get(path)?.resources.length ?? 0,
        error
      }))
    }
  })
