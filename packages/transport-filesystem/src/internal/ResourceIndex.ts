/**
 * The resources of a group, by file. Pure: file contents are inputs, changes are outputs.
 *
 * A rejected file keeps its earlier resources. If two files have the same name, it belongs to the file that had it
 * first; of files read together, to the first one by path. The other file is rejected as a whole, and checked again
 * when the group changes. A group is published once each of its files was accepted at least once: a partial group would
 * delete the other resources at the clients.
 */
import * as ResourceType from "@effect-xds/proto/ResourceType"
import { Buffer } from "node:buffer"
import * as Either from "effect/Either"
import type { FileEvent } from "../FileEvent.js"
import type { FileResource } from "../FileResource.js"
import { isSame as isSameError, ResourceFileError } from "../ResourceFileError.js"
import { keyOf } from "./ResourceKey.js"

export interface IndexedFile {
  /** `undefined` if the file was never accepted; without an error, it was never read in one piece. */
  readonly inForce: ReadonlyArray<FileResource> | undefined
  /** Valid content that is rejected because of duplicate names. */
  readonly blocked: ReadonlyArray<FileResource> | undefined
  readonly error: ResourceFileError | undefined
}

export interface ResourceIndex {
  /** Files by path. */
  readonly files: ReadonlyMap<string, IndexedFile>
  readonly isPublished: boolean
  /** Resources in force, by type and name. The map and each resource keep their identity while they are unchanged. */
  readonly resources: ReadonlyMap<string, FileResource>
}

export interface Change {
  readonly read: ReadonlyMap<string, Either.Either<ReadonlyArray<FileResource>, ResourceFileError>>
  /** Files that are there, and were never read in one piece: they were written to, or replaced, when they were read. */
  readonly unread: ReadonlySet<string>
  readonly removed: ReadonlySet<string>
}

export const empty: ResourceIndex = { files: new Map(), isPublished: false, resources: new Map() }

const sameBytes = (one: Uint8Array, other: Uint8Array): boolean =>
  one.byteLength === other.byteLength && Buffer.compare(one, other) === 0

const sameList = (one: ReadonlyArray<string>, other: ReadonlyArray<string>): boolean =>
  one.length === other.length && one.every((text, index) => text === other[index])

/** Whether clients see no difference. The place of a resource does not matter. */
const isSame = (one: FileResource, other: FileResource): boolean =>
  one === other ||
  (one.version === other.version &&
    one.ttl === other.ttl &&
    sameList(one.aliases, other.aliases) &&
    sameBytes(one.value, other.value))

/** The most duplicate names reported per file. */
const maxDuplicates = 100

const duplicate = (
  file: string,
  resource: FileResource,
  other: FileResource,
  others?: ReadonlyArray<ResourceFileError>
): ResourceFileError => {
  const place = other.line === undefined ? other.file : `${other.file}:${other.line}`
  const what = `${ResourceType.shortNameOf(resource.typeUrl)} resource ${JSON.stringify(resource.name)}`
  return new ResourceFileError({
    reason: "DuplicateName",
    file,
    line: resource.line,
    column: undefined,
    path: "",
    detail: `the ${what} stands in ${place} already; keep one`,
    others
  })
}

const byPath = <A>([one]: readonly [string, A], [other]: readonly [string, A]): number => (one < other ? -1 : 1)

/** Resources that are processed before others may run. */
const atOnce = 1_024

/** Whether the candidate is the only file. */
const isOnly = (files: ReadonlyMap<string, unknown>, candidates: ReadonlyMap<string, unknown>): boolean => {
  const [file] = files.keys()
  return files.size === 1 && candidates.size === 1 && file !== undefined && candidates.has(file)
}

/** The candidates that are rejected, because other files have some of their names. */
const conflicts = function* (
  files: ReadonlyMap<string, IndexedFile>,
  candidates: ReadonlyMap<string, ReadonlyArray<FileResource>>
): Generator<undefined, ReadonlyMap<string, ResourceFileError>> {
  let looked = 0
  const refused = new Map<string, ResourceFileError>()
  // Duplicates within one file are found where it is read.
  if (files.size === 0 ? candidates.size <= 1 : isOnly(files, candidates)) return refused
  for (;;) {
    const owners = new Map<string, FileResource>()
    for (const [file, { inForce }] of files) {
      if (candidates.has(file) && !refused.has(file)) continue
      for (const resource of inForce ?? []) {
        if (++looked % atOnce === 0) yield
        owners.set(keyOf(resource), resource)
      }
    }
    const before = refused.size
    for (const [file, resources] of candidates) {
      if (refused.has(file)) continue
      const taken: Array<readonly [mine: FileResource, other: FileResource]> = []
      for (const resource of resources) {
        if (++looked % atOnce === 0) yield
        const other = owners.get(keyOf(resource))
        if (other !== undefined && taken.push([resource, other]) === maxDuplicates) break
      }
      const [first, ...more] = taken
      if (first !== undefined) {
        const others = more.map(([mine, other]) => duplicate(file, mine, other))
        refused.set(file, duplicate(file, first[0], first[1], others))
      } else {
        for (const resource of resources) {
          if (++looked % atOnce === 0) yield
          owners.set(keyOf(resource), resource)
        }
      }
    }
    // A rejected file keeps its earlier resources, whose names another file may just have got.
    if (refused.size === before) return refused
  }
}

const collect = function* (
  before: ReadonlyMap<string, FileResource>,
  files: ReadonlyMap<string, IndexedFile>
): Generator<undefined, ReadonlyMap<string, FileResource>> {
  let looked = 0
  const resources = new Map<string, FileResource>()
  let isChanged = false
  for (const [, { inForce }] of Array.from(files).sort(byPath)) {
    for (const resource of inForce ?? []) {
      if (++looked % atOnce === 0) yield
      const key = keyOf(resource)
      const old = before.get(key)
      const isOld = old !== undefined && isSame(old, resource)
      if (!isOld) isChanged = true
      resources.set(key, isOld ? old : resource)
    }
  }
  return isChanged || resources.size !== before.size ? resources : before
}

/**
 * The index after a change, with its events. At each `yield` others may run: a file may hold a hundred thousand
 * resources.
 */
export const step = function* (
  self: ResourceIndex,
  change: Change
): Generator<undefined, readonly [ResourceIndex, ReadonlyArray<FileEvent>]> {
  const events: Array<FileEvent> = []
  const files = new Map(self.files)
  for (const path of change.removed) {
    const file = files.get(path)
    if (file === undefined) continue
    files.delete(path)
    events.push({ _tag: "Removed", path, resources: file.inForce?.length ?? 0 })
  }

  const never: IndexedFile = { inForce: undefined, blocked: undefined, error: undefined }
  const reject = (path: string, error: ResourceFileError, blocked: IndexedFile["blocked"]) => {
    const old = files.get(path) ?? never
    files.set(path, { inForce: old.inForce, blocked, error })
    if (!isSameError(old.error, error)) events.push({ _tag: "Rejected", path, error, inForce: old.inForce?.length })
  }
  for (const path of change.unread) if (!files.has(path)) files.set(path, never)
  const candidates = new Map<string, ReadonlyArray<FileResource>>()
  for (const [path, { blocked }] of files) if (blocked !== undefined) candidates.set(path, blocked)
  for (const [path, result] of change.read) {
    candidates.delete(path)
    if (Either.isLeft(result)) reject(path, result.left, undefined)
    else candidates.set(path, result.right)
  }
  const inOrder = new Map(Array.from(candidates).sort(byPath))
  const refused = yield* conflicts(files, inOrder)
  for (const [path, resources] of inOrder) {
    const error = refused.get(path)
    if (error !== undefined) {
      reject(path, error, resources)
    } else {
      files.set(path, { inForce: resources, blocked: undefined, error: undefined })
      events.push({ _tag: "Accepted", path, resources: resources.length })
    }
  }

  const isWhole = files.size > 0 && Array.from(files.values()).every(({ inForce }) => inForce !== undefined)
  const resources = yield* collect(self.resources, files)
  return [{ files, isPublished: self.isPublished || isWhole, resources }, events]
}
