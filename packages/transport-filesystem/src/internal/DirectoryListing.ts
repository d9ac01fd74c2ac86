/** The files of a directory of groups, and its unreadable directories. */
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import type { BigIntStats } from "node:fs"
import { lstat, readdir, stat } from "node:fs/promises"
import { basename, join } from "node:path"
import * as FileFormat from "../FileFormat.js"
import * as PathLookup from "./PathLookup.js"
import * as Retry from "./Retry.js"
import * as WayWatch from "./WayWatch.js"

export interface ListedFile {
  readonly group: string
  /** `undefined` for a broken link, for example; reading the file reports the error. */
  readonly stats: BigIntStats | undefined
}

export interface DirectoryListing {
  /** Files by path. */
  readonly files: ReadonlyMap<string, ListedFile>
  /** The existing root and group directories, with their identity. */
  readonly directories: ReadonlyMap<string, { readonly identity: string; readonly isEmpty: boolean }>
  /** Unreadable directories, with the reason. Files below them are not listed. */
  readonly unreadable: ReadonlyMap<string, string>
  /** Those among them that may be read later without a change. */
  readonly passing: ReadonlySet<string>
  /** Directories whose changes may change the listing. */
  readonly content: ReadonlySet<string>
  /** These, and the directories whose changes may redirect the root path. */
  readonly watched: ReadonlySet<string>
  /** The directories whose changes may redirect the root path. */
  readonly ways: WayWatch.Ways
}

/** Deeper directories are not listed. */
const maxDepth = 16

/** The number of files whose status is read at a time. */
const batch = 64

export class TooManyFiles extends Error {}

/** Hidden files and directories are ignored (`..data`, temporary files of editors and of this package). */
const isVisible = (name: string): boolean => !name.startsWith(".")

/** The reason if there is none. */
const statOf = (path: string): Promise<Either.Either<BigIntStats, unknown>> =>
  stat(path, { bigint: true }).then(Either.right, Either.left)

/**
 * The changed files among changed paths, if only the content of known files changed: then no listing is needed.
 * `undefined` if more may have changed.
 */
export const changedFiles = async (
  paths: ReadonlySet<string>,
  known: {
    readonly groupOf: (file: string) => string | undefined
    readonly isDirectory: (path: string) => boolean
  }
): Promise<ReadonlyMap<string, ListedFile> | undefined> => {
  const files = new Map<string, ListedFile>()
  for (const path of paths) {
    const group = known.groupOf(path)
    if (group !== undefined) {
      const stats = Option.getOrUndefined(Either.getRight(await statOf(path)))
      if (stats?.isFile() !== true) return undefined
      files.set(path, { group, stats })
      continue
    }
    if (known.isDirectory(path)) return undefined
    try {
      const stats = await lstat(path)
      const name = basename(path)
      if (!stats.isFile() || (isVisible(name) && FileFormat.ofPath(name) !== undefined)) return undefined
    } catch (cause) {
      // A temporary file was moved into place.
      if (!PathLookup.isMissing(cause)) return undefined
    }
  }
  return files
}

export const read = async (options: {
  readonly root: string
  readonly rootGroup: string
  /** The most files and directories together. */
  readonly maxFiles: number
  /**
   * Called before a directory is read, so that no later change is missed. `isContent`: its changes may change the
   * listing; otherwise they may only redirect the root path. Returns whether it was not watched before.
   */
  readonly watch: (directory: string, identity: string, isContent: boolean) => boolean
}): Promise<DirectoryListing> => {
  const { maxFiles, root, rootGroup } = options
  const files = new Map<string, ListedFile>()
  const directories = new Map<string, { readonly identity: string; readonly isEmpty: boolean }>()
  const unreadable = new Map<string, string>()
  const passing = new Set<string>()
  const content = new Set<string>()
  const watched = new Set<string>()
  let entries = 0

  const watch = (directory: string, identity: string, isContent: boolean): boolean => {
    watched.add(directory)
    if (isContent) content.add(directory)
    return options.watch(directory, identity, isContent)
  }

  const refuse = (directory: string, cause: unknown): void => {
    if (PathLookup.isMissing(cause)) return
    const detail = PathLookup.unreadable(cause, true)
    const isPassing = PathLookup.isPassing(cause)
    if (isPassing) passing.add(directory)
    unreadable.set(directory, isPassing ? Retry.later(detail) : detail)
  }

  /**
   * `visited`: the root and the directories of this group, by identity. Links may lead in a circle, and a group has each
   * directory only once; but any number of groups may have a link to the same one.
   */
  const visit = async (path: string, group: string | undefined, depth: number, visited: Set<string>): Promise<void> => {
    let names: ReadonlyArray<string>
    let links: ReadonlyArray<string>
    let identity: string
    try {
      identity = PathLookup.identityOf(await stat(path, { bigint: true }))
      if (visited.has(identity)) return
      visited.add(identity)
      watch(path, identity, true)
      const found = (await readdir(path, { withFileTypes: true })).filter(({ name }) => isVisible(name))
      names = found
        .filter((entry) => !entry.isFile() || FileFormat.ofPath(entry.name) !== undefined)
        .map(({ name }) => name)
      links = found.filter((entry) => entry.isSymbolicLink()).map(({ name }) => name)
    } catch (cause) {
      return refuse(path, cause)
    }
    entries += names.length
    if (entries > maxFiles)
      throw new TooManyFiles(`more than ${maxFiles} files, the limit; put several resources into one file`)
    for (const name of links) {
      await WayWatch.add(join(path, name), (directory, { identity }) => watch(directory, identity, true))
    }
    if (depth <= 1) directories.set(path, { identity, isEmpty: names.length === 0 })

    for (let begin = 0; begin < names.length; begin += batch) {
      const some = names.slice(begin, begin + batch)
      const stats = await Promise.all(some.map((name) => statOf(join(path, name))))
      for (const [index, name] of some.entries()) {
        const next = join(path, name)
        const found = stats[index] ?? Either.left(undefined)
        if (Either.isRight(found) && found.right.isDirectory()) {
          if (depth < maxDepth) await visit(next, group ?? name, depth + 1, depth === 0 ? new Set([identity]) : visited)
        } else if (FileFormat.ofPath(name) !== undefined) {
          files.set(next, { group: group ?? rootGroup, stats: Option.getOrUndefined(Either.getRight(found)) })
        } else if (Either.isLeft(found) && PathLookup.codeOf(found.left) !== "ELOOP") {
          // It may be a directory, whose files would count as removed.
          refuse(next, found.left)
        }
      }
    }
  }

  const ways = await WayWatch.add(root, (directory, { identity }) => watch(directory, identity, false))
  await visit(root, undefined, 0, new Set())
  return { files, directories, unreadable, passing, content, watched, ways }
}
