/**
 * A directory of resources as the source of a store. Each subdirectory is a group of the same name. The files in it, at
 * any depth, hold its resources: one or many per file, in any format. Files outside the subdirectories are a group of
 * their own. Hidden files, and files without a known extension, are ignored.
 *
 * - A group begins with its first file. It is published once each of its files was accepted at least once: clients that
 *   receive a partial configuration delete the rest.
 * - A rejected file keeps its last accepted resources in force. So does an unreadable file or directory. If it is
 *   unreadable for want of descriptors, or for a fault of the disk, it is tried again, at least every 30 seconds.
 * - Removing a file removes its resources, down to an existing empty group.
 * - If a group's directory, or the whole directory, disappears with its content, everything stays in force until it
 *   returns: a volume may not be mounted. The same holds for an empty directory in its place. To remove resources for
 *   good, remove the files, then the directory.
 * - A name in two files of a group is an error of the later file.
 * - Links to files and directories are followed. Several groups may have a link to the same directory; each has its files.
 *
 * Directories are watched, not polled; see {@link Options}. Unchanged content changes nothing.
 *
 * @since 0.1.0
 */
import { ofDefect } from "@effect-xds/proto/Redaction"
import * as BadOption from "@effect-xds/transport/BadOption"
import * as EventLoop from "@effect-xds/transport/EventLoop"
import * as Slices from "@effect-xds/transport/Slices"
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
import type { ReadOptions } from "./internal/ReadOptions.js"
import { least, withDefaults } from "./internal/ReadOptions.js"
import * as Retry from "./internal/Retry.js"
import * as WayWatch from "./internal/WayWatch.js"
import * as ResourceIndex from "./internal/ResourceIndex.js"
import { nameKeyOf } from "./internal/ResourceKey.js"
import type { FileResource } from "./FileResource.js"
import * as ResourceFile from "./ResourceFile.js"

/**
 * Options for reading. Each has a default.
 *
 * @since 0.1.0
 */
export interface Options extends ReadOptions {
  /** The group of files outside the subdirectories. Default `default`. */
  readonly rootGroup?: string | undefined
  /** The most files and directories; above it nothing is read. Default 100 000. */
  readonly maxFiles?: number | undefined
}

/**
 * A change of a group since the last one that this subscriber received. Put the first one into a store with `set`,
 * later ones with `update`. If the store refuses one, use `set` for the next: that counts from the refused one.
 *
 * @since 0.1.0
 */
export interface GroupChange {
  readonly group: string
  readonly isFirst: boolean
  readonly resources: ReadonlyArray<FileResource>
  /** New and changed resources; of a name whose variants changed, all of them. */
  readonly upserted: ReadonlyArray<FileResource>
  readonly removed: ReadonlyArray<{ readonly typeUrl: string; readonly name: string }>
}

/**
 * The status of a group.
 *
 * @since 0.1.0
 */
export interface GroupStatus {
  readonly group: string
  /** Whether it was published to subscribers. If not, it waits for files that were never good. */
  readonly isPublished: boolean
  /** The number of resources in force. */
  readonly resources: number
  /** Files in order of their paths. */
  readonly files: ReadonlyArray<FileStatus>
}

/**
 * The status of a directory.
 *
 * @since 0.1.0
 */
export interface DirectoryStatus {
  readonly path: string
  /** Missing directories; their resources stay in force. */
  readonly missing: ReadonlyArray<string>
  /** Unreadable directories, with the reason; their resources stay in force. */
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
  /** Every published group, then every change. A slow subscriber gets several changes as one. */
  readonly changes: Stream.Stream<GroupChange>
  /** Later events of files. A subscriber that is 1024 events behind loses the oldest. */
  readonly events: Stream.Stream<FileEvent>
  readonly status: Effect.Effect<DirectoryStatus>
  /** Those that have files, published or not. What changed at once is in here before the first change of it is told. */
  readonly groups: () => Iterable<string>
}

/** The most changed paths that are tracked; above it everything is checked. */
const maxTold = 1_000

/** The number of files read at a time. */
const concurrency = 16

type Resources = ReadonlyMap<string, FileResource>

const noResources: Resources = new Map()

/** Resources that are processed before others may run. */
const atOnce = 1_024

const difference = function* (
  group: string,
  before: Resources | undefined,
  now: Resources
): Generator<undefined, GroupChange> {
  const old = before ?? noResources
  let looked = 0
  const upserted: Array<FileResource> = []
  const varied = new Set<string>()
  for (const [key, resource] of now) {
    if (++looked % atOnce === 0) yield
    if (old.get(key) === resource) continue
    upserted.push(resource)
    if (resource.constraints !== undefined) varied.add(nameKeyOf(resource))
  }
  const lost = new Map<string, FileResource>()
  for (const [key, resource] of old) {
    if (++looked % atOnce === 0) yield
    if (now.has(key)) continue
    lost.set(nameKeyOf(resource), resource)
    if (resource.constraints !== undefined) varied.add(nameKeyOf(resource))
  }
  if (lost.size > 0 || varied.size > 0) {
    for (const [key, resource] of now) {
      if (++looked % atOnce === 0) yield
      lost.delete(nameKeyOf(resource))
      // The variants of a name come together.
      if (varied.has(nameKeyOf(resource)) && old.get(key) === resource) upserted.push(resource)
    }
  }
  const removed = Array.from(lost.values(), ({ name, typeUrl }) => ({ typeUrl, name }))
  return { group, isFirst: before === undefined, resources: Array.from(now.values()), upserted, removed }
}

const statusOf = (path: string, { error, inForce }: ResourceIndex.IndexedFile): FileStatus => ({
  path,
  state: error !== undefined ? "Rejected" : inForce === undefined ? "Missing" : "Accepted",
  resources: inForce?.length ?? 0,
  error
})

const byName = <A>([one]: readonly [string, A], [other]: readonly [string, A]): number => (one < other ? -1 : 1)

/** A file at the last check. */
interface SeenFile {
  readonly group: string
  readonly hash: string
  readonly signature: FileContent.Signature | undefined
}

/**
 * A defect of this program or a library, reported as an error of the file. Its resources stay, and everything else
 * continues.
 */
const defectOf = (file: string, defect: unknown): ResourceFile.ResourceFileError =>
  rejection(file, "Unreadable", `reading it failed, by a fault of this program: ${ofDefect(defect)}`)

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
 * Reads a directory and watches it until the scope closes. It returns after the first read. Rejected files and a
 * missing directory are no failure: they show in the events, the log and the status.
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
    yield* BadOption.check(options, { ...least, maxFiles: 0 })
    // Without a trailing slash: entries are matched by their directory paths.
    const path = join(dirname(directory), basename(directory))
    const { maxFileBytes, maxDelay, pollInterval, quietPeriod } = withDefaults(options)
    const { maxFiles = 100_000, rootGroup = "default" } = options
    const runtime = yield* Effect.runtime()
    const log = yield* FileLog.make
    const published = Latest.make<string, Resources>()
    const change = ChangeSignal.make(quietPeriod, maxDelay)
    /** A change in a parent directory: only the path's target is checked. */
    const besides = ChangeSignal.make(quietPeriod, maxDelay)

    /** Directories whose changes may change the listing; the listing adds to it. */
    let content = new Set<string>()
    /** Paths changed since the last check; `undefined`: anything may have changed. */
    let told: Set<string> | undefined = new Set()
    const tell = (changed: string | undefined): void => {
      // Above this, events may be lost.
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
    /** Root and group directories that had content, with their identity. */
    const known = new Map<string, string>()
    const missing = new Set<string>()
    const rejected = new Map<string, ResourceFile.ResourceFileError>()
    /** Files and directories that may be read later without a change. */
    const failing = new Set<string>()
    const retry = yield* Retry.make(
      () => failing.size > 0,
      () => {
        for (const each of failing) tell(each)
      }
    )
    let identity = ""
    let ways: WayWatch.Ways = new Map()

    /** Directories whose files stay in force as they are. */
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

    /** The number of resources in force from files below a directory. */
    const inForceBelow = (directory: string): number => {
      let count = 0
      for (const { files } of groups.values()) {
        for (const [file, { inForce }] of files) {
          if (isBelow(file, new Set([directory]))) count += inForce?.length ?? 0
        }
      }
      return count
    }

    /** The events of directories. */
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
      for (const directory of rejected.keys()) {
        if (listing.unreadable.has(directory)) continue
        rejected.delete(directory)
        if (listing.content.has(directory)) events.push({ _tag: "Returned", path: directory })
      }
      for (const [directory, detail] of listing.unreadable) {
        if (rejected.get(directory)?.detail === detail) continue
        const error = rejection(directory, "Unreadable", detail)
        rejected.set(directory, error)
        events.push({ _tag: "Rejected", path: directory, error, inForce: inForceBelow(directory) })
      }
      return events
    }

    /** A directory that was emptied before it was removed is forgotten. */
    const forget = (gone: ReadonlySet<string>): void => {
      for (const directory of gone) {
        if (directory === path || Array.from(seen.keys()).some((file) => isBelow(file, new Set([directory])))) continue
        known.delete(directory)
        missing.delete(directory)
      }
    }

    type Parsed = Either.Either<ReadonlyArray<FileResource>, ResourceFile.ResourceFileError>

    /** The new content of a file, if it changed; `Unread`: it is there, and was never read in one piece. */
    const readFile = (
      file: string,
      { group, stats }: DirectoryListing.ListedFile
    ): Effect.Effect<Parsed | "Unread" | undefined> =>
      Effect.gen(function* () {
        const before = seen.get(file)
        const found = yield* Effect.promise(() => FileContent.read(file, maxFileBytes, before?.signature))
        if (found._tag === "Refused" && found.isPassing) failing.add(file)
        else failing.delete(file)
        // Its group waits for it: without its resources, they would be deleted at the clients.
        const later = (): "Unread" | undefined => {
          if (before !== undefined) return undefined
          seen.set(file, { group, hash: "", signature: undefined })
          return "Unread"
        }
        switch (found._tag) {
          case "Unchanged":
            return undefined
          case "Changing":
            tell(file)
            return later()
          case "Missing":
            if (stats !== undefined) {
              // Removed after it was listed.
              tell(undefined)
              return later()
            }
            seen.set(file, { group, hash: "", signature: undefined })
            return Either.left(rejection(file, "Unreadable", "a link that leads nowhere; correct or remove it"))
          case "Refused":
            seen.set(file, { group, hash: "", signature: undefined })
            return Either.left(
              rejection(file, found.reason, found.isPassing ? Retry.later(found.detail) : found.detail)
            )
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
            return watch.add(directory, { identity })
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
      readonly unread: Set<string>
      readonly removed: Set<string>
    }

    const changeOf = (changes: Map<string, GroupChanges>, group: string): GroupChanges => {
      const none = { read: new Map<string, Parsed>(), unread: new Set<string>(), removed: new Set<string>() }
      const found = changes.get(group) ?? none
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
            if (parsed === "Unread") changeOf(changes, listed.group).unread.add(file)
            else if (parsed !== undefined) changeOf(changes, listed.group).read.set(file, parsed)
          }),
        { concurrency, discard: true }
      )

    const apply = (changes: ReadonlyMap<string, GroupChanges>, directoryEvents: ReadonlyArray<FileEvent>) =>
      Effect.gen(function* () {
        const events = Array.from(directoryEvents)
        const publishable: Array<readonly [string, Resources]> = []
        for (const [group, changed] of Array.from(changes).sort(byName)) {
          const before = groups.get(group) ?? ResourceIndex.empty
          const [next, told] = yield* Slices.steps(EventLoop.process, ResourceIndex.step(before, changed))
          groups.set(group, next)
          for (const event of told) events.push(event)
          if (next.isPublished && (!before.isPublished || next.resources !== before.resources)) {
            publishable.push([group, next.resources])
          }
          if (!next.isPublished && next.files.size === 0) groups.delete(group)
        }
        // ★ Of a file that moves to another group, who is told first knows both.
        for (const [group, resources] of publishable) published.set(group, resources)
        yield* log.tell(events, countRejected())
        for (const group of changes.keys()) {
          if (groups.get(group)?.isPublished !== false) continue
          yield* Effect.logWarning(
            `group ${JSON.stringify(group)} is not served until each of its files was good at least once; the status names those that were not`
          )
        }
      })

    /** Nothing can be read; everything stays in force. */
    const rejectAll = (error: ResourceFile.ResourceFileError): Effect.Effect<void> =>
      Effect.suspend(() => {
        const isNew = rejected.get(path)?.detail !== error.detail
        rejected.set(path, error)
        // Changes of unlisted paths are not tracked.
        told = undefined
        return log.tell(isNew ? [{ _tag: "Rejected", path, error, inForce: inForceBelow(path) }] : [], countRejected())
      })

    /** A failed check must not be the last one. */
    const guarded = (look: Effect.Effect<void>): Effect.Effect<void> =>
      Effect.zipRight(
        Effect.catchAllDefect(look, (defect) => rejectAll(defectOf(path, defect))),
        retry
      )

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
      for (const each of failing) if (!listing.files.has(each)) failing.delete(each)
      for (const each of listing.passing) failing.add(each)
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
      // While directories are missing or unreadable, a file's event may mean that one is back.
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

    /** Whether the path now leads to another directory, or by another way. */
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
    yield* change.quiet.pipe(Effect.zipRight(guarded(look)), Effect.forever, Effect.forkScoped)
    yield* besides.quiet.pipe(Effect.zipRight(guarded(check)), Effect.forever, Effect.forkScoped)

    const changes = Stream.suspend(() => {
      const told = new Map<string, Resources>()
      return Stream.mapEffect(published.changes, ([group, resources]) => {
        const before = told.get(group)
        told.set(group, resources)
        return Slices.steps(EventLoop.process, difference(group, before, resources))
      })
    })

    return {
      path,
      changes,
      events: log.events,
      groups: () => groups.keys(),
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
