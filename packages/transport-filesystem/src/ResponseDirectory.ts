/**
 * A directory of DiscoveryResponses for Envoys that read their configuration from files (`path_config_source`): the
 * resources of a group, written as files, and written again when they change.
 *
 * A full-state type has one file: `cds.json`, `lds.json`, `srds.json`. For the other types Envoy reads one resource per
 * file: `eds/<name>.json`, `rds/<name>.json` and so on; {@link pathOf} gives the path for a cluster or listener. VHDS
 * cannot come from files.
 *
 * Each file is written as a temporary file, synced to disk and renamed, so that a reader never sees a partial file,
 * however this process ends. A file with unchanged content is not written.
 *
 * Files are written in the order that Envoy needs: endpoints before clusters, clusters and routes before listeners. If
 * one write moves traffic to another cluster, it first adds the new cluster, then changes routes and listeners, and
 * removes old resources last. A delay follows each step: there are no ACKs from files, so Envoy gets the time that it
 * usually needs. Its own statistics count its rejections.
 *
 * The directory must have one writer: in the directories of types it removes files of its format that are not in the
 * group.
 *
 * @since 0.1.0
 */
import { create } from "@bufbuild/protobuf"
import type { Resource } from "@effect-xds/core/resource/Resource"
import * as ResourceGroup from "@effect-xds/core/resource/ResourceGroup"
import * as ResourceSet from "@effect-xds/core/resource/ResourceSet"
import * as Reason from "@effect-xds/proto/Reason"
import { DiscoveryResponseSchema } from "@effect-xds/proto/envoy/service/discovery/v3/discovery"
import * as ResourceType from "@effect-xds/proto/ResourceType"
import * as BadOption from "@effect-xds/transport/BadOption"
import * as Data from "effect/Data"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Metric from "effect/Metric"
import * as Schedule from "effect/Schedule"
import * as Stream from "effect/Stream"
import { createHash } from "node:crypto"
import { mkdir, readdir, readFile, rm, stat } from "node:fs/promises"
import { dirname, join } from "node:path"
import * as FileFormat from "./FileFormat.js"
import * as FilesystemMetrics from "./FilesystemMetrics.js"
import * as AtomicFile from "./internal/AtomicFile.js"
import * as PathLookup from "./internal/PathLookup.js"
import * as ResponseFormat from "./internal/ResponseFormat.js"

/**
 * Options for writing. Each has a default.
 *
 * @since 0.1.0
 */
export interface Options {
  /** Default `json`. Envoy reads a malformed binary file as an empty response. */
  readonly format?: FileFormat.FileFormat | undefined
  /**
   * The mode of the files. Default `0o600`: they may hold secrets. An Envoy of another user needs a wider mode.
   * Directories get the same mode, with the execute bit wherever there is a read bit.
   */
  readonly mode?: number | undefined
  /**
   * The delay after new clusters, before routes or listeners that may refer to them, and after those, before the
   * removal of clusters. Default: half a second. It applies only to a write that adds or removes clusters and changes
   * others.
   */
  readonly stepDelay?: Duration.DurationInput | undefined
}

/**
 * Files that could not be written. Earlier ones in the order are written; the next write continues.
 *
 * @since 0.1.0
 */
export class ResponseDirectoryError extends Data.TaggedError("ResponseDirectoryError")<{
  /** `Encode`: a resource has no encoding in the format; nothing was written. `Write`: the file system failed. */
  readonly reason: "Encode" | "Write"
  readonly path: string
  readonly detail: string
  /** The error of the file system or the encoder, in words. */
  readonly cause: string
}> {
  override get message(): string {
    return `${this.path}: ${this.detail}`
  }
}

/**
 * The paths that a write changed.
 *
 * @since 0.1.0
 */
export interface Written {
  readonly written: ReadonlyArray<string>
  readonly removed: ReadonlyArray<string>
}

/**
 * A directory of responses that can be written.
 *
 * @since 0.1.0
 */
export interface ResponseDirectory {
  readonly path: string
  /** Writes the resources of a group. Writes run one after the other; an interruption does not stop one. */
  readonly write: (group: ResourceGroup.ResourceGroup) => Effect.Effect<Written, ResponseDirectoryError>
  /**
   * Writes every group of the stream. A failed write is logged and tried again after a second, then at growing
   * intervals of at most 30 seconds, until a newer group arrives.
   */
  readonly follow: <E, R>(groups: Stream.Stream<ResourceGroup.ResourceGroup, E, R>) => Effect.Effect<void, E, R>
}

/** Types that refer to no others, then clusters, which refer to some of them. */
const upstream: ReadonlyArray<ResourceType.ResourceType> = [
  ResourceType.Runtime,
  ResourceType.Secret,
  ResourceType.TypedExtensionConfig,
  ResourceType.ClusterLoadAssignment,
  ResourceType.Cluster
]

/** Types that refer to clusters; listeners refer to the other ones. */
const downstream: ReadonlyArray<ResourceType.ResourceType> = [
  ResourceType.RouteConfiguration,
  ResourceType.ScopedRouteConfiguration,
  ResourceType.Listener
]

const order = [...upstream, ...downstream]

/** Written even without resources: a group that was set and has no clusters differs from one that is not known yet. */
const always: ReadonlySet<ResourceType.ResourceType> = new Set([ResourceType.Cluster, ResourceType.Listener])

/** Injective: every name has its own file. */
const fileNameOf = (name: string): string => {
  // Converted to bytes first: a lone surrogate cannot be encoded.
  const encoded = encodeURIComponent(Buffer.from(name).toString()).replace(/^\./, "%2E")
  if (encoded.length <= AtomicFile.maxNameBytes) return encoded
  return `${encoded.slice(0, 100)}~${createHash("sha256").update(name).digest("hex")}`
}

const folderOf = (type: ResourceType.ResourceType): string => type.shortName.toLowerCase()

/**
 * The path of a resource's file, for a `path_config_source`. For LDS, CDS and SRDS the name does not matter.
 * `undefined` for types that are not written.
 *
 * @since 0.1.0
 */
export const pathOf = (
  directory: string,
  key: ResourceGroup.ResourceKey,
  format: FileFormat.FileFormat = "json"
): string | undefined => {
  const type = order.find((each) => ResourceType.isOf(key.typeUrl, each))
  if (type === undefined) return undefined
  const extension = FileFormat.extensionOf(format)
  return type.family === "full-state"
    ? join(directory, `${folderOf(type)}.${extension}`)
    : join(directory, folderOf(type), `${fileNameOf(key.name)}.${extension}`)
}

/** The intended content of a file. */
interface Wanted {
  readonly path: string
  readonly typeUrl: string
  readonly version: string
  readonly resources: ReadonlyArray<Resource>
  /** The same object while the content is unchanged; `undefined`: another content is to follow. */
  readonly identity: ResourceSet.ResourceSet | Resource | undefined
}

const byName = (one: Resource, other: Resource): number => (one.name < other.name ? -1 : 1)

const wantedOf = (
  directory: string,
  format: FileFormat.FileFormat,
  group: ResourceGroup.ResourceGroup
): ReadonlyArray<Wanted> =>
  order.flatMap((type): ReadonlyArray<Wanted> => {
    const typeUrl = ResourceType.typeUrlIn(ResourceGroup.apiOf(group), type)
    const set = ResourceGroup.set(group, typeUrl)
    const resources = Array.from(ResourceSet.all(set)).sort(byName)
    if (type.family !== "full-state") {
      return resources.map((resource) => ({
        path: pathOf(directory, resource, format) ?? "",
        typeUrl,
        version: resource.version,
        resources: [resource],
        identity: resource
      }))
    }
    // A type whose resources were all deleted has an empty file.
    if (resources.length === 0 && !always.has(type) && !group.sets.has(typeUrl)) return []
    const path = pathOf(directory, { typeUrl, name: "" }, format) ?? ""
    return [{ path, typeUrl, version: set.version, resources, identity: set }]
  })

interface Encoded {
  readonly wanted: Wanted
  readonly bytes: Uint8Array
}

const isOf =
  (types: ReadonlyArray<ResourceType.ResourceType>) =>
  ({ wanted }: Encoded): boolean =>
    types.some((type) => ResourceType.isOf(wanted.typeUrl, type))

/** Whether the second has every resource name of the first. */
const isSubset = (one: Wanted, other: Wanted): boolean => {
  const names = new Set(other.resources.map(({ name }) => name))
  return one.resources.every(({ name }) => names.has(name))
}

/** The new resources, with the old ones that are removed later. */
const withOld = (before: Wanted, now: Wanted): Wanted => {
  const names = new Set(now.resources.map(({ name }) => name))
  const resources = [...now.resources, ...before.resources.filter(({ name }) => !names.has(name))].sort(byName)
  // ★ What comes between may fail: then this is not what was wanted.
  return { ...now, version: `${now.version}-before-removal`, resources, identity: undefined }
}

const refusal = (cause: unknown): string => {
  switch (PathLookup.codeOf(cause)) {
    case "EACCES":
    case "EPERM":
    case "EROFS":
      return "this process may not write there; change the owner or mode of the directory"
    case "ENOSPC":
    case "EDQUOT":
      return "there is no space left; make some"
    default:
      return `it cannot be written: ${Reason.of(cause)}`
  }
}

const failed = (path: string, cause: unknown): ResponseDirectoryError =>
  new ResponseDirectoryError({ reason: "Write", path, detail: refusal(cause), cause: Reason.of(cause) })

const tryWrite = <A>(path: string, run: () => Promise<A>): Effect.Effect<A, ResponseDirectoryError> =>
  Effect.tryPromise({ try: run, catch: (cause) => failed(path, cause) }).pipe(
    Effect.tapError(() => Metric.increment(FilesystemMetrics.writeFailures))
  )

/** The number of files written at a time: each write waits for the disk. */
const concurrency = 16

/**
 * A directory to write to, created if it is missing. Temporary files of a killed writer are removed.
 *
 * @example
 * import { ResourceGroup } from "@effect-xds/core"
 * import { ResponseDirectory } from "@effect-xds/transport-filesystem"
 * import { Effect } from "effect"
 *
 * const program = Effect.gen(function* () {
 *   const directory = yield* ResponseDirectory.make("/var/lib/envoy/xds", { format: "yaml" })
 *   yield* directory.write(ResourceGroup.empty)
 * })
 *
 * @since 0.1.0
 */
export const make = (
  directory: string,
  options: Options = {}
): Effect.Effect<ResponseDirectory, ResponseDirectoryError> =>
  Effect.gen(function* () {
    yield* BadOption.check(options, { mode: 0, stepDelay: 0 })
    const { format = "json", mode = 0o600, stepDelay = "500 millis" } = options
    const directoryMode = mode | ((mode & 0o444) >> 2)
    const folders = order.filter(({ family }) => family !== "full-state").map((type) => join(directory, folderOf(type)))
    const extension = `.${FileFormat.extensionOf(format)}`
    const lock = yield* Effect.makeSemaphore(1)
    /** The last written content by path. */
    const held = new Map<string, Wanted>()
    /** The directories as the last write left them. */
    let left: string | undefined

    const makeDirectory = (path: string) => tryWrite(path, () => mkdir(path, { recursive: true, mode: directoryMode }))

    const encode = ({ path, resources, typeUrl, version }: Wanted): Effect.Effect<Uint8Array, ResponseDirectoryError> =>
      Effect.tryPromise({
        try: () =>
          ResponseFormat.encode(
            create(DiscoveryResponseSchema, {
              versionInfo: version,
              typeUrl,
              resources: resources.map(({ typeUrl, value }) => ({ typeUrl, value }))
            }),
            format
          ),
        catch: (cause) => {
          const why = Reason.of(cause)
          const detail = `its content cannot be written as ${format}: ${why}`
          return new ResponseDirectoryError({ reason: "Encode", path, detail, cause: why })
        }
      })

    const isOnDisk = (path: string, bytes: Uint8Array): Effect.Effect<boolean> =>
      Effect.promise(async () => {
        try {
          return Buffer.compare(await readFile(path), bytes) === 0
        } catch {
          return false
        }
      })

    const signature = Effect.promise(async () => {
      const found = await Promise.all(
        [directory, ...folders].map(async (path) => {
          try {
            const { ctimeNs, dev, ino, mtimeNs } = await stat(path, { bigint: true })
            return [dev, ino, mtimeNs, ctimeNs].join(":")
          } catch {
            return ""
          }
        })
      )
      return found.join(" ")
    })

    /** ★ What others have removed, with its directory as well, is written again: unchanged, it would be missing for good. */
    const forgetMissing = Effect.promise(async () => {
      const there = new Set<string>()
      for (const folder of [directory, ...folders]) {
        for (const name of await readdir(folder).catch(() => [])) there.add(join(folder, name))
      }
      for (const path of held.keys()) if (!there.has(path)) held.delete(path)
    })

    /** Files that an earlier writer left. */
    const leftOver = Effect.forEach(folders, (folder) =>
      Effect.promise(async () => {
        try {
          return (await readdir(folder)).filter((name) => name.endsWith(extension)).map((name) => join(folder, name))
        } catch {
          return []
        }
      })
    ).pipe(Effect.map((found) => found.flat()))

    const write = (group: ResourceGroup.ResourceGroup): Effect.Effect<Written, ResponseDirectoryError> =>
      Effect.gen(function* () {
        const isTouched = (yield* signature) !== left
        if (isTouched && held.size > 0) yield* forgetMissing
        const wanted = wantedOf(directory, format, group)
        const paths = new Set(wanted.map(({ path }) => path))
        // Everything is encoded before the first write.
        const fresh: Array<Encoded> = []
        for (const each of wanted) {
          if (held.get(each.path)?.identity === each.identity) continue
          const bytes = yield* encode(each)
          if (yield* isOnDisk(each.path, bytes)) held.set(each.path, each)
          else fresh.push({ wanted: each, bytes })
        }
        const early = fresh.filter(isOf(upstream))
        const late = fresh.filter(isOf(downstream))
        const clusters = late.length === 0 ? undefined : fresh.find(isOf([ResourceType.Cluster]))
        const before = clusters === undefined ? undefined : held.get(clusters.wanted.path)
        const both =
          clusters === undefined || before === undefined || isSubset(before, clusters.wanted)
            ? undefined
            : withOld(before, clusters.wanted)
        const isAdded = clusters !== undefined && before !== undefined && !isSubset(clusters.wanted, before)
        const withBoth =
          both === undefined
            ? early
            : [...early.filter((each) => each !== clusters), { wanted: both, bytes: yield* encode(both) }]

        const written: Array<string> = []
        const writeOne = ({ bytes, wanted }: Encoded) =>
          Effect.gen(function* () {
            yield* tryWrite(wanted.path, () => AtomicFile.write(wanted.path, bytes, mode))
            yield* Metric.increment(FilesystemMetrics.written)
            held.set(wanted.path, wanted)
            written.push(wanted.path)
          })
        const writeStep = (step: ReadonlyArray<Encoded>) =>
          Effect.forEach(
            order,
            (type) =>
              Effect.gen(function* () {
                const ofType = step.filter(isOf([type]))
                for (const folder of new Set(ofType.map(({ wanted }) => dirname(wanted.path)))) {
                  yield* makeDirectory(folder)
                }
                yield* Effect.forEach(ofType, writeOne, { concurrency, discard: true })
              }),
            { discard: true }
          )
        yield* writeStep(withBoth)
        if (isAdded) yield* Effect.sleep(stepDelay)
        yield* writeStep(late)
        if (both !== undefined && clusters !== undefined) {
          yield* Effect.sleep(stepDelay)
          yield* writeStep([clusters])
        }

        const old = new Set([...held.keys(), ...(isTouched ? yield* leftOver : [])])
        const removed = Array.from(old).filter((path) => !paths.has(path))
        for (const path of removed) {
          yield* tryWrite(path, () => rm(path, { force: true }))
          held.delete(path)
        }
        for (const folder of new Set([...written, ...removed].map((path) => dirname(path)))) {
          yield* tryWrite(folder, () => AtomicFile.syncDirectory(folder))
        }
        left = yield* signature
        return { written: Array.from(new Set(written)), removed }
      }).pipe(Effect.uninterruptible, lock.withPermits(1))

    yield* makeDirectory(directory)
    for (const folder of [directory, ...folders]) {
      yield* tryWrite(folder, () => AtomicFile.removeTemporary(folder))
    }

    const retries = Schedule.exponential("1 second").pipe(
      Schedule.modifyDelay((_, delay) => Duration.min(delay, Duration.seconds(30))),
      Schedule.whileInput((error: ResponseDirectoryError) => error.reason === "Write")
    )
    const writeAndRetry = (group: ResourceGroup.ResourceGroup) =>
      write(group).pipe(
        Effect.tapError((error) => Effect.logError(`${error.message} (what was written before stays)`)),
        Effect.retry(retries),
        Effect.ignore
      )

    return {
      path: directory,
      write,
      follow: (groups) =>
        groups.pipe(
          Stream.flatMap((group) => Stream.fromEffect(writeAndRetry(group)), { switch: true }),
          Stream.runDrain
        )
    }
  })
