/**
 * A directory of resources as the source of a store: each subdirectory is a group, named as it is, and the files in it,
 * also in directories below, are the group's resources, one or many per file in any format. Files beside the
 * subdirectories are a group of their own. Hidden files and files without one of the endings are not looked at.
 *
 * - A group begins with its first file. It is published once all of its files were good at least once: clients that are
 *   told a part of their configuration delete the rest.
 * - A file that is rejected leaves what it held in force. So does a file or directory that may not be read.
 * - Removing a file removes its resources, down to a group that is there and empty.
 * - A group's directory, or the whole one, that goes away with everything in it leaves all in force until it returns: it
 *   may be a volume that is not mounted. The same goes for an empty one in its place. To take resources away for good
 *   remove the files, then the directory.
 * - A name that two files of a group hold is an error of the file that came later.
 *
 * The directories are watched, not polled; see {@link Options}. A content that was read before changes nothing.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Runtime from "effect/Runtime"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { stat } from "node:fs/promises"
import { basename, dirname, join } from "node:path"
import type { FileEvent } from "./FileEvent.js"
import type { FileStatus } from "./FileStatus.js"
import * as ChangeSignal from "./internal/ChangeSignal.js"
import * as DirectoryListing from "./internal/DirectoryListing.js"
import * as DirectoryWatch from "./internal/DirectoryWatch.js"
import * as FileContent from "./internal/FileContent.js"
import * as FileLog from "./internal/FileLog.js"
import * as Latest from "./internal/Latest.js"
import * as PathLookup from "./internal/PathLookup.js"
import { inTurns } from "./internal/Pause.js"
import type { ReadOptions } from "./internal/ReadOptions.js"
import { withDefaults } from "./internal/ReadOptions.js"
import * as WayWatch from "./internal/WayWatch.js"
import * as ResourceIndex from "./internal/ResourceIndex.js"
import type { FileResource } from "./ResourceFile.js"
import * as ResourceFile from "./ResourceFile.js"

/**
 * How to read. Everything has a default.
 *
 * @since 0.1.0
 */
export interface Options extends ReadOptions {
  /** The group of the files that stand in no subdirectory. Default `default`. */
  readonly rootGroup?: string | undefined
  /** Files and directories; with more nothing is read. Default 100 000. */
  readonly maxFiles?: number | undefined
}

/**
 * A group as it is now, and what is different from what this subscriber was told last. The first time put it into a
 * store with `set`, afterwards with `update`.
 *
 * @since 0.1.0
 */
export interface GroupChange {
  readonly group: string
  readonly isFirst: boolean
  readonly resources: ReadonlyArray<FileResource>
  /** New ones and those that are different. */
  readonly upserted: ReadonlyArray<FileResource>
  readonly removed: ReadonlyArray<{ readonly typeUrl: string; readonly name: string }>
}

/**
 * How a group stands.
 *
 * @since 0.1.0
 */
export interface GroupStatus {
  readonly group: string
  /** Whether it was told to subscribers; if not, it waits for its rejected files. */
  readonly isPublished: boolean
  /** Resources in force. */
  readonly resources: number
  /** In the order of their paths. */
  readonly files: ReadonlyArray<FileStatus>
}

/**
 * How a directory stands.
 *
 * @since 0.1.0
 */
export interface DirectoryStatus {
  readonly path: string
  /** Directories that went away, or never were there; what they held stays in force. */
  readonly missing: ReadonlyArray<string>
  /** Directories that cannot be read, and why; what they held stays in force. */
  readonly rejected: ReadonlyArray<ResourceFile.ResourceFileError>
  readonly groups: ReadonlyArray<GroupStatus>
}

/**
 * A directory that is read and watched.
 *
 * @since 0.1.0
 */
export interface ResourceDirectory {
  readonly path: string
  /** Every group that is published, then every change. A slow subscriber gets several changes as one. */
  readonly changes: Stream.Stream<GroupChange>
  /** What happens with files from now on. A subscriber that is 1024 events behind loses the oldest. */
  readonly events: Stream.Stream<FileEvent>
  readonly status: Effect.Effect<DirectoryStatus>
}

/** Paths of which changes are told one by one. */
const maxTold = 1_000

/** Files read at a time. */
const concurrency = 16

type Resources = ReadonlyMap<string, FileResource>

const noResources: Resources = new Map()

/** Resources that are looked at before others may run. */
const atOnce = 1_024

const difference = function* (
  group: string,
  before: Resources | undefined,
  now: Resources
): Generator<undefined, GroupChange> {
  const old = before ?? noResources
  let looked = 0
  const upserted: Array<FileResource> = []
  for (const [key, resource] of now) {
    if (++looked % atOnce === 0) yield
    if (old.get(key) !== resource) upserted.push(resource)
  }
  const removed: Array<{ readonly typeUrl: string; readonly name: string }> = []
  for (const [key, { name, typeUrl }] of old) {
    if (++looked % atOnce === 0) yield
    if (!now.has(key)) removed.push({ typeUrl, name })
  }
  return { group, isFirst: before === undefined, resources: Array.from(now.values()), upserted, removed }
}

const statusOf = (path: string, { error, inForce }: ResourceIndex.IndexedFile): FileStatus => ({
  path,
  state: error === undefined ? "Accepted" : "Rejected",
  resources: inForce?.length ?? 0,
  error
})

const byName = <A>([one]: readonly [string, A], [other]: readonly [string, A]): number => (one < other ? -1 : 1)

/** A file as it was looked at last. */
interface SeenFile {
  readonly group: string
  readonly hash: string
  readonly signature: FileContent.Signature | undefined
}

/** A mistake of ours or of a library, told like one in the file: what it is about stays as it was, and all else goes on. */
const defectOf = (file: string, defect: unknown): ResourceFile.ResourceFileError =>
  rejection(file, "Unreadable", `reading it failed, by a fault of this program: ${FileContent.reasonOf(defect)}`)

const rejection = (file: string, reason: "Unreadable" | "TooLarge", detail: string): ResourceFile.ResourceFileError =>
  new ResourceFile.ResourceFileError({
    reason,
    file,
    line: undefined,
    column: undefined,
    path: "",
    detail
  })

/**
 * Reads a directory and watches it until the scope closes. When it returns, everything was read once; that files are
 * rejected or the directory is not there is no failure, but in the events, the log and the status.
 *
 * @example
 * import { ResourceDirectory } from "@effect-xds/transport-filesystem"
 * import { Effect, Stream } from "effect"
 *
 * const program = Effect.gen(function* () {
 *   const directory = yield* ResourceDirectory.make("./config")
 *   yield* Stream.runForEach(directory.changes, ({ group, removed, upserted }) =>
 *     Effect.log(`${group}: ${upserted.length} resources new or changed, ${removed.length} removed`)
 *   )
 * }).pipe(Effect.scoped)
 *
 * @since 0.1.0
 */
export const make = (directory: string, options: Options = {}): Effect.Effect<ResourceDirectory, never, Scope.Scope> =>
  Effect.gen(function* () {
    // Without a slash at its end: the paths of what is in it are told apart by their directories.
    const path = join(dirname(directory), basename(directory))
    const { maxFileBytes, maxSettle, pollInterval, settle } = withDefaults(options)
    const { maxFiles = 100_000, rootGroup = "default" } = options
    const runtime = yield* Effect.runtime()
    const log = yield* FileLog.make
    const published = Latest.make<string, Resources>()
    const change = ChangeSignal.make(settle, maxSettle)
    /** A change beside the directory: only whether the path still leads to the same one is looked at. */
    const besides = ChangeSignal.make(settle, maxSettle)

    /** Directories whose changes may change what is listed; it grows while they are listed. */
    let content = new Set<string>()
    /** Paths of which a change was told since the last look; `undefined`: anything may have changed. */
    let told: Set<string> | undefined = new Set()
    const tell = (changed: string | undefined): void => {
      // Above, events may have been lost.
      if (changed === undefined || (told?.size ?? 0) >= maxTold) told = undefined
      else told?.add(changed)
      change.signal()
    }
    const watch = yield* Effect.acquireRelease(
      Effect.sync(() =>
        DirectoryWatch.make({
          pollInterval,
          onChange: (directory, name) => {
            if (content.has(directory)) tell(name === undefined ? undefined : join(directory, name))
            else besides.signal()
          },
          onFailure: (directory, reason) => {
            const often = `it is looked at every ${pollInterval} ms`
            Runtime.runFork(runtime)(Effect.logWarning(`${directory} cannot be watched: ${reason}; ${often}`))
          }
        })
      ),
      ({ close }) => Effect.sync(close)
    )

    const groups = new Map<string, ResourceIndex.ResourceIndex>()
    const seen = new Map<string, SeenFile>()
    /** Root and group directories that held something, with their identity. */
    const known = new Map<string, string>()
    const missing = new Set<string>()
    const rejected = new Map<string, ResourceFile.ResourceFileError>()
    let identity = ""
    let ways: WayWatch.Ways = new Map()

    /** Directories whose files stay as they are. */
    const unavailable = (listing: DirectoryListing.DirectoryListing): ReadonlySet<string> => {
      const gone = new Set<string>()
      for (const [directory, old] of known) {
        const found = listing.directories.get(directory)
        if (found === undefined || (found.isEmpty && found.identity !== old)) gone.add(directory)
      }
      for (const [directory, { identity, isEmpty }] of listing.directories) {
        if (!isEmpty || !gone.has(directory)) known.set(directory, identity)
      }
      return gone
    }

    const isBelow = (file: string, directories: { readonly has: (directory: string) => boolean }): boolean => {
      for (let directory = dirname(file); ; directory = dirname(directory)) {
        if (directories.has(directory)) return true
        if (directory === path || directory === dirname(directory)) return false
      }
    }

    /** Resources in force of files below a directory. */
    const inForceBelow = (directory: string): number => {
      let count = 0
      for (const { files } of groups.values()) {
        for (const [file, { inForce }] of files) {
          if (isBelow(file, new Set([directory]))) count += inForce?.length ?? 0
        }
      }
      return count
    }

    /** What became of directories. */
    const directoryEvents = (
      listing: DirectoryListing.DirectoryListing,
      gone: ReadonlySet<string>
    ): ReadonlyArray<FileEvent> => {
      const events: Array<FileEvent> = []
      const isGone = (directory: string) =>
        !listing.unreadable.has(directory) && (gone.has(directory) || !listing.directories.has(directory))
      const now = isGone(path) ? [path] : Array.from(gone).filter(isGone)
      for (const directory of missing) {
        if (now.includes(directory)) continue
        missing.delete(directory)
        if (listing.directories.has(directory)) events.push({ _tag: "Returned", path: directory })
      }
      for (const directory of now) {
        if (missing.has(directory)) continue
        missing.add(directory)
        events.push({ _tag: "Missing", path: directory })
      }
      for (const directory of rejected.keys()) if (!listing.unreadable.has(directory)) rejected.delete(directory)
      for (const [directory, detail] of listing.unreadable) {
        if (rejected.get(directory)?.detail === detail) continue
        const error = rejection(directory, "Unreadable", detail)
        rejected.set(directory, error)
        events.push({ _tag: "Rejected", path: directory, error, inForce: inForceBelow(directory) })
      }
      return events
    }

    /** A directory that was emptied and then taken away is forgotten. */
    const forget = (gone: ReadonlySet<string>): void => {
      for (const directory of gone) {
        if (directory === path || Array.from(seen.keys()).some((file) => isBelow(file, new Set([directory])))) continue
        known.delete(directory)
        missing.delete(directory)
      }
    }

    type Parsed = Either.Either<ReadonlyArray<FileResource>, ResourceFile.ResourceFileError>

    /** What a file holds, if that is new. */
    const readFile = (file: string, { group, stats }: DirectoryListing.ListedFile): Effect.Effect<Parsed | undefined> =>
      Effect.gen(function* () {
        const before = seen.get(file)
        const found = yield* Effect.promise(() => FileContent.read(file, maxFileBytes, before?.signature))
        switch (found._tag) {
          case "Unchanged":
            return undefined
          case "Changing":
            tell(file)
            return undefined
          case "Missing":
            if (stats !== undefined) {
              // It went away after it was listed.
              tell(undefined)
              return undefined
            }
            seen.set(file, { group, hash: "", signature: undefined })
            return Either.left(rejection(file, "Unreadable", "a link that leads nowhere; correct or remove it"))
          case "Refused":
            seen.set(file, { group, hash: "", signature: undefined })
            return Either.left(rejection(file, found.reason, found.detail))
          case "Read": {
            seen.set(file, { group, hash: found.hash, signature: found.signature })
            if (before?.hash === found.hash) return undefined
            return yield* Effect.either(ResourceFile.parseResources({ file, bytes: found.bytes }))
          }
        }
      }).pipe(Effect.catchAllDefect((defect) => Effect.succeed(Either.left(defectOf(file, defect)))))

    const list = Effect.promise(async () => {
      try {
        return await DirectoryListing.read({
          root: path,
          rootGroup,
          maxFiles,
          watch: (directory, identity, isContent) => {
            if (isContent) content.add(directory)
            return watch.add(directory, identity)
          }
        })
      } catch (cause) {
        if (cause instanceof DirectoryListing.TooManyFiles) return cause
        throw cause
      }
    })

    const countRejected = (): number => {
      let count = rejected.size
      for (const { files } of groups.values()) for (const { error } of files.values()) if (error !== undefined) count++
      return count
    }

    interface GroupChanges {
      readonly read: Map<string, Parsed>
      readonly removed: Set<string>
    }

    const changeOf = (changes: Map<string, GroupChanges>, group: string): GroupChanges => {
      const found = changes.get(group) ?? { read: new Map<string, Parsed>(), removed: new Set<string>() }
      changes.set(group, found)
      return found
    }

    const readFiles = (files: ReadonlyMap<string, DirectoryListing.ListedFile>, changes: Map<string, GroupChanges>) =>
      Effect.forEach(
        Array.from(files).filter(([file, { stats }]) => {
          const signature = seen.get(file)?.signature
          return (
            stats === undefined ||
            signature?.isTrusted !== true ||
            signature.key !== FileContent.signatureOf(stats, 0).key
          )
        }),
        ([file, listed]) =>
          Effect.map(readFile(file, listed), (parsed) => {
            if (parsed !== undefined) changeOf(changes, listed.group).read.set(file, parsed)
          }),
        { concurrency, discard: true }
      )

    const apply = (changes: ReadonlyMap<string, GroupChanges>, directoryEvents: ReadonlyArray<FileEvent>) =>
      Effect.gen(function* () {
        const events = Array.from(directoryEvents)
        for (const [group, changed] of Array.from(changes).sort(byName)) {
          const before = groups.get(group) ?? ResourceIndex.empty
          const [next, told] = yield* Effect.promise(() => inTurns(ResourceIndex.step(before, changed)))
          groups.set(group, next)
          for (const event of told) events.push(event)
          if (next.isPublished && (!before.isPublished || next.resources !== before.resources)) {
            published.set(group, next.resources)
          }
          if (!next.isPublished && next.files.size === 0) groups.delete(group)
        }
        yield* log.tell(events, countRejected())
        for (const group of changes.keys()) {
          if (groups.get(group)?.isPublished !== false) continue
          yield* Effect.logWarning(
            `group ${JSON.stringify(group)} is not served until all of its files were good at least once; see the rejected ones`
          )
        }
      })

    /** Nothing new can be known; everything stays. */
    const rejectAll = (error: ResourceFile.ResourceFileError): Effect.Effect<void> =>
      Effect.suspend(() => {
        const isNew = rejected.get(path)?.detail !== error.detail
        rejected.set(path, error)
        // What was not listed is not known when it changes.
        told = undefined
        return log.tell(isNew ? [{ _tag: "Rejected", path, error, inForce: inForceBelow(path) }] : [], countRejected())
      })

    /** A look that fails must not be the last one. */
    const guarded = (look: Effect.Effect<void>): Effect.Effect<void> =>
      Effect.catchAllDefect(look, (defect) => rejectAll(defectOf(path, defect)))

    const lookAtAll = Effect.gen(function* () {
      const listing = yield* list
      if (listing instanceof Error) {
        return yield* rejectAll(rejection(path, "TooLarge", listing.message))
      }
      content = new Set(listing.content)
      watch.retain(listing.watched)
      identity = listing.directories.get(path)?.identity ?? ""
      ways = listing.ways
      const gone = unavailable(listing)
      const events = directoryEvents(listing, gone)
      const changes = new Map<string, GroupChanges>()
      for (const [file, { group }] of seen) {
        if (listing.files.has(file) || isBelow(file, gone) || isBelow(file, listing.unreadable)) continue
        changeOf(changes, group).removed.add(file)
        seen.delete(file)
      }
      yield* readFiles(listing.files, changes)
      forget(gone)
      yield* apply(changes, events)
    })

    const look = Effect.gen(function* () {
      const paths = told
      told = new Set()
      // While directories are missing or unreadable, a file may also tell that one is back.
      const files =
        paths === undefined || missing.size > 0 || rejected.size > 0
          ? undefined
          : yield* Effect.promise(() =>
              DirectoryListing.changedFiles(paths, {
                groupOf: (file) => seen.get(file)?.group,
                isDirectory: (other) => content.has(other)
              })
            )
      if (files === undefined) return yield* lookAtAll
      const changes = new Map<string, GroupChanges>()
      yield* readFiles(files, changes)
      yield* apply(changes, [])
    })

    /** Whether the path leads to another directory than before, or another way. */
    const check = Effect.promise(async () => {
      const found = await PathLookup.waysTo(path)
      try {
        return WayWatch.isSame(found, ways) && identity === PathLookup.identityOf(await stat(path, { bigint: true }))
      } catch {
        return identity === "" && WayWatch.isSame(found, ways)
      }
    }).pipe(
      Effect.map((isSame) => {
        if (!isSame) tell(undefined)
      })
    )

    yield* guarded(lookAtAll)
    yield* change.settled.pipe(Effect.zipRight(guarded(look)), Effect.forever, Effect.forkScoped)
    yield* besides.settled.pipe(Effect.zipRight(guarded(check)), Effect.forever, Effect.forkScoped)

    const changes = Stream.suspend(() => {
      const told = new Map<string, Resources>()
      return Stream.mapEffect(published.changes, ([group, resources]) => {
        const before = told.get(group)
        told.set(group, resources)
        return Effect.promise(() => inTurns(difference(group, before, resources)))
      })
    })

    return {
      path,
      changes,
      events: log.events,
      status: Effect.sync(() => ({
        path,
        missing: Array.from(missing),
        rejected: Array.from(rejected.values()),
        groups: Array.from(groups)
          .sort(byName)
          .map(([group, { files, isPublished, resources }]) => ({
            group,
            isPublished,
            resources: resources.size,
            files: Array.from(files)
              .sort(byName)
              .map(([file, indexed]) => statusOf(file, indexed))
          }))
      }))
    }
  })
