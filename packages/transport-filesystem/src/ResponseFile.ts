/**
 * A file with one DiscoveryResponse, as Envoy's `path_config_source` reads it: read at the start, and again when it is
 * replaced.
 *
 * It watches the file's directory, and those of symbolic links on the path, not the file itself. So it sees a file
 * moved
 * into place, an editor's temporary file, and a replaced link (`..data`, as Kubernetes mounts a ConfigMap). Unchanged
 * content changes nothing.
 *
 * When the file is rejected or removed, its last accepted content stays in force.
 *
 * @since 0.1.0
 */
import { ofDefect } from "@effect-xds/proto/Redaction"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import * as Runtime from "effect/Runtime"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type { FileEvent } from "./FileEvent.js"
import type { FileStatus } from "./FileStatus.js"
import * as ChangeSignal from "./internal/ChangeSignal.js"
import * as DirectoryWatch from "./internal/DirectoryWatch.js"
import * as FileContent from "./internal/FileContent.js"
import * as FileLog from "./internal/FileLog.js"
import * as Latest from "./internal/Latest.js"
import type { ReadOptions } from "./internal/ReadOptions.js"
import { withDefaults } from "./internal/ReadOptions.js"
import * as WayWatch from "./internal/WayWatch.js"
import * as ResourceFile from "./ResourceFile.js"

/**
 * Options for reading. Each has a default.
 *
 * @since 0.1.0
 */
export interface Options extends ReadOptions {
  /** The required type of the response. Default: any. */
  readonly typeUrl?: string | undefined
}

/**
 * A file that is read and watched.
 *
 * @since 0.1.0
 */
export interface ResponseFile {
  readonly path: string
  /** The response in force; `None` until the file is accepted for the first time. */
  readonly current: Effect.Effect<Option.Option<ResourceFile.Response>>
  /** The response in force, then every later one. A slow subscriber misses intermediate ones. */
  readonly changes: Stream.Stream<ResourceFile.Response>
  /** Later events of the file. A subscriber that is 1024 events behind loses the oldest. */
  readonly events: Stream.Stream<FileEvent>
  readonly status: Effect.Effect<FileStatus>
}

/**
 * Reads a file and watches it until the scope closes. It returns after the first read. A rejected or missing file is no
 * failure: it shows in the events and the status.
 *
 * @since 0.1.0
 */
export const make = (path: string, options: Options = {}): Effect.Effect<ResponseFile, never, Scope.Scope> =>
  Effect.gen(function* () {
    const { maxFileBytes, maxDelay, pollInterval, quietPeriod } = withDefaults(options)
    const runtime = yield* Effect.runtime()
    const log = yield* FileLog.make
    const latest = Latest.make<string, ResourceFile.Response>()
    const change = ChangeSignal.make(quietPeriod, maxDelay)
    let ways: WayWatch.Ways = new Map()
    const watch = yield* Effect.acquireRelease(
      Effect.sync(() =>
        DirectoryWatch.make({
          pollInterval,
          // The directory may hold thousands of other files, each with its own ResponseFile.
          onChange: (directory, name) => {
            if (name === undefined || ways.get(directory)?.names.has(name) !== false) change.signal()
          },
          onFailure: (directory, reason) => {
            const often = `it is looked at every ${pollInterval} ms`
            Runtime.runFork(runtime)(Effect.logWarning(`${directory} cannot be watched: ${reason}; ${often}`))
          }
        })
      ),
      ({ close }) => Effect.sync(close)
    )

    /** The content that was last read, accepted or not. */
    let seen: { readonly hash: string; readonly signature: FileContent.Signature } | undefined
    let acceptedHash = ""
    let error: ResourceFile.ResourceFileError | undefined
    let isMissing = false

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
            return reject(refusal(content.reason, content.detail))
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
      ways = yield* Effect.promise(() => WayWatch.follow(watch, path))
      const content = yield* Effect.promise(() => FileContent.read(path, maxFileBytes, seen?.signature))
      const wasMissing = isMissing
      isMissing = content._tag === "Missing"
      const presence: ReadonlyArray<FileEvent> =
        wasMissing === isMissing ? [] : [{ _tag: isMissing ? "Missing" : "Returned", path }]
      const events = yield* Effect.catchAllDefect(take(content), (defect) =>
        Effect.sync(() => {
          const detail = `reading it failed, by a fault of this program: ${ofDefect(defect)}`
          return reject(refusal("Unreadable", detail))
        })
      )
      yield* log.tell([...presence, ...events], error === undefined ? 0 : 1)
    })

    yield* look
    yield* change.quiet.pipe(Effect.zipRight(look), Effect.forever, Effect.forkScoped)

    return {
      path,
      current: Effect.sync(() => Option.fromNullable(latest.get(path))),
      changes: Stream.map(latest.changes, ([, response]) => response),
      events: log.events,
      status: Effect.sync(() => ({
        path,
        state: isMissing ? "Missing" : error === undefined ? "Accepted" : "Rejected",
        resources: latest.get(path)?.resources.length ?? 0,
        error
      }))
    }
  })
