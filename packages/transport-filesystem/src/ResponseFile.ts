/**
 * A file with one DiscoveryResponse, as Envoy's `path_config_source` names one: read, and read again when it is replaced.
 *
 * The directory is watched and not the file, and so are the directories of links on the way to it: a file that is moved
 * into place, an editor's temporary file, and the exchange of a link (`..data`, as Kubernetes mounts a ConfigMap) are
 * all seen. A content that was read before changes nothing.
 *
 * A file that is rejected, or taken away, leaves what it held in force.
 *
 * @since 0.1.0
 */
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
 * How to read. Everything has a default.
 *
 * @since 0.1.0
 */
export interface Options extends ReadOptions {
  /** The type that the response must be of. Default: any. */
  readonly typeUrl?: string | undefined
}

/**
 * A file that is read and watched.
 *
 * @since 0.1.0
 */
export interface ResponseFile {
  readonly path: string
  /** What is in force; `None` until the file was accepted once. */
  readonly current: Effect.Effect<Option.Option<ResourceFile.Response>>
  /** What is in force, then every change as it is when it is taken: a slow subscriber misses those in between. */
  readonly changes: Stream.Stream<ResourceFile.Response>
  /** What happens with the file from now on. A subscriber that is 1024 events behind loses the oldest. */
  readonly events: Stream.Stream<FileEvent>
  readonly status: Effect.Effect<FileStatus>
}

/**
 * Reads a file and watches it until the scope closes. When it returns, the file was read once; that it was rejected or is
 * not there is no failure, but an event and in the status.
 *
 * @since 0.1.0
 */
export const make = (path: string, options: Options = {}): Effect.Effect<ResponseFile, never, Scope.Scope> =>
  Effect.gen(function* () {
    const { maxFileBytes, maxSettle, pollInterval, settle } = withDefaults(options)
    const runtime = yield* Effect.runtime()
    const log = yield* FileLog.make
    const latest = Latest.make<string, ResourceFile.Response>()
    const change = ChangeSignal.make(settle, maxSettle)
    let ways: WayWatch.Ways = new Map()
    const watch = yield* Effect.acquireRelease(
      Effect.sync(() =>
        DirectoryWatch.make({
          pollInterval,
          // There may be thousands of other files beside it, each read by somebody like us.
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

    /** Of the content that was looked at last, accepted or not. */
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

    /** What the file's content changes. */
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
            // Back to what is in force: nothing changes for those who hold it.
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
          const detail = `reading it failed, by a fault of this program: ${FileContent.reasonOf(defect)}`
          return reject(refusal("Unreadable", detail))
        })
      )
      yield* log.tell([...presence, ...events], error === undefined ? 0 : 1)
    })

    yield* look
    yield* change.settled.pipe(Effect.zipRight(look), Effect.forever, Effect.forkScoped)

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
