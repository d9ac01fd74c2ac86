/**
 * Resources in a file, or in the files of a directory, read once.
 *
 * @since 0.1.0
 */
import * as ResourceType from "@effect-xds/proto/ResourceType"
import { ResourceDirectory, ResourceFile } from "@effect-xds/transport-filesystem"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Logger from "effect/Logger"
import * as Stream from "effect/Stream"
import { CommandFailure } from "./CommandFailure.js"
import * as PathOnDisk from "./PathOnDisk.js"

/**
 * The group of files that stand in no subdirectory.
 *
 * @since 0.1.0
 */
export const rootGroup = "default"

/**
 * What was read.
 *
 * @since 0.1.0
 */
export interface LocalResources {
  readonly files: number
  /** Of each group without a mistake. */
  readonly groups: ReadonlyMap<string, ReadonlyArray<ResourceFile.FileResource>>
  /** All of every file, up to a bound. */
  readonly mistakes: ReadonlyArray<ResourceFile.ResourceFileError>
}

/** A directory with the name of a type is no group, but a part of what `serve --files-out` writes of one. */
const groupOf = (name: string): string =>
  ResourceType.all.some(({ shortName }) => shortName.toLowerCase() === name) ? rootGroup : name

const ofFile = (path: string): Effect.Effect<LocalResources, CommandFailure> =>
  Effect.gen(function* () {
    const parsed = yield* Effect.either(ResourceFile.readResources(path))
    if (Either.isLeft(parsed) && ["Unreadable", "TooLarge"].includes(parsed.left.reason)) {
      return yield* new CommandFailure({ kind: "failed", message: parsed.left.message })
    }
    return Either.isLeft(parsed)
      ? { files: 1, groups: new Map(), mistakes: parsed.left.all }
      : { files: 1, groups: new Map([[rootGroup, parsed.right]]), mistakes: [] }
  })

const ofDirectory = (path: string): Effect.Effect<LocalResources> =>
  Effect.gen(function* () {
    const directory = yield* ResourceDirectory.make(path, { rootGroup })
    const { groups, rejected } = yield* directory.status
    const published = groups.filter(({ isPublished }) => isPublished)
    const read = yield* Stream.runCollect(Stream.take(directory.changes, published.length))
    const merged = new Map<string, ReadonlyArray<ResourceFile.FileResource>>()
    for (const { group, resources } of read) {
      merged.set(groupOf(group), [...(merged.get(groupOf(group)) ?? []), ...resources])
    }
    const files = groups.flatMap((group) => group.files)
    const errors = files.flatMap(({ error }) => (error === undefined ? [] : [error]))
    return {
      files: files.length,
      groups: merged,
      mistakes: [...rejected, ...errors].flatMap(({ all }) => all)
    }
  }).pipe(
    Effect.scoped,
    // What is wrong is told by the command.
    Effect.provide(Logger.replace(Logger.defaultLogger, Logger.none))
  )

/**
 * Reads a path; fails if nothing is there.
 *
 * @since 0.1.0
 */
export const read = (path: string): Effect.Effect<LocalResources, CommandFailure> =>
  Effect.flatMap(PathOnDisk.look(path), (found) => (found.isDirectory() ? ofDirectory(path) : ofFile(path)))

/**
 * Where a resource stands: `clusters.yaml:3`.
 *
 * @since 0.1.0
 */
export const placeOf = ({ file, line }: ResourceFile.FileResource): string =>
  line === undefined ? file : `${file}:${line}`
