/** The files that answer a request, in the layout of {@link ResponseDirectory}. */
import * as ResourceType from "@effect-xds/proto/ResourceType"
import { readdir, stat } from "node:fs/promises"
import { join } from "node:path"
import * as FileFormat from "../FileFormat.js"
import * as ResponseDirectory from "../ResponseDirectory.js"
import * as PathLookup from "./PathLookup.js"

/** The server address of a client, resolved. */
export type Source =
  /** One file, which holds one type. */
  | { readonly _tag: "File"; readonly path: string }
  | { readonly _tag: "Directory"; readonly path: string; readonly format: FileFormat.FileFormat }

/** A file to read, and for which resources. */
export interface Planned {
  readonly path: string
  /** `undefined`: for all subscribed resources. */
  readonly name: string | undefined
}

/** The folder of a type with one file per resource; `undefined` for other types, and for a single file. */
export const folderOf = (source: Source, typeUrl: string): string | undefined => {
  const type = ResourceType.byTypeUrl(typeUrl)
  return source._tag === "File" || type === undefined || type.family === "full-state"
    ? undefined
    : join(source.path, type.shortName.toLowerCase())
}

/**
 * The files for names of a type, without duplicates; `undefined` for types that are not in files. `*` adds no file:
 * {@link filesIn} lists the folder.
 */
export const filesFor = (
  source: Source,
  typeUrl: string,
  names: ReadonlyArray<string>
): ReadonlyArray<Planned> | undefined => {
  if (source._tag === "File") return [{ path: source.path, name: undefined }]
  if (folderOf(source, typeUrl) === undefined) {
    const path = ResponseDirectory.pathOf(source.path, { typeUrl, name: "" }, source.format)
    return path === undefined ? undefined : [{ path, name: undefined }]
  }
  if (ResponseDirectory.pathOf(source.path, { typeUrl, name: "" }, source.format) === undefined) return undefined
  return names
    .filter((name) => name !== "*")
    .map((name) => ({
      path: ResponseDirectory.pathOf(source.path, { typeUrl, name }, source.format) ?? "",
      name
    }))
}

/** Rejects if the folder may be listed later without a change. */
const listing = async (folder: string): Promise<ReadonlyArray<string>> => {
  try {
    return (await readdir(folder)).filter((name) => !name.startsWith(".")).sort()
  } catch (cause) {
    if (PathLookup.isPassing(cause)) throw cause
    // Missing or unreadable: there are no files, and the watch continues.
    return []
  }
}

/** The sorted paths of a format's files in a folder. Rejects if it may be listed later without a change. */
export const filesIn = async (folder: string, format: FileFormat.FileFormat): Promise<ReadonlyArray<string>> =>
  (await listing(folder)).filter((name) => FileFormat.ofPath(name) === format).map((name) => join(folder, name))

/** The format of the first file of a type in a directory, if there is one. */
const formatIn = async (directory: string): Promise<FileFormat.FileFormat | undefined> => {
  const types = ResourceType.all.map(({ shortName }) => shortName.toLowerCase())
  const names = await listing(directory)
  const own = names.filter((name) => types.includes(name.replace(/\.[^.]*$/, "")))
  const found = own.map(FileFormat.ofPath).find((format) => format !== undefined)
  if (found !== undefined) return found
  for (const type of types) {
    const [first] = (await listing(join(directory, type))).map(FileFormat.ofPath)
    if (first !== undefined) return first
  }
  return undefined
}

/** Resolves a path: a file if it has a known extension and is no directory. Rejects if it may be read later. */
export const sourceOf = async (path: string, given: FileFormat.FileFormat | undefined): Promise<Source> => {
  const isDirectory = await stat(path).then(
    (found) => found.isDirectory(),
    () => FileFormat.ofPath(path) === undefined
  )
  return isDirectory
    ? { _tag: "Directory", path, format: given ?? (await formatIn(path)) ?? "json" }
    : { _tag: "File", path }
}
