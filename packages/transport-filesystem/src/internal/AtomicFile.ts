/**
 * Writes files atomically: to a temporary file, synced to disk, then renamed. A process that is killed in between
 * leaves a temporary file, which the next user of the directory removes.
 */
import { open, readdir, rename, rm } from "node:fs/promises"
import { basename, dirname, join } from "node:path"
import * as PathLookup from "./PathLookup.js"

let count = 0

const temporaryName = (name: string): string => `.${name}.${process.pid}-${++count}.xds-tmp`

const isTemporary = (name: string): boolean => /^\..+\.\d+-\d+\.xds-tmp$/.test(name)

/** The longest file name, in bytes, that leaves room for the name of its temporary file. */
export const maxNameBytes = 200

export const write = async (path: string, bytes: Uint8Array, mode: number): Promise<void> => {
  const temporary = join(dirname(path), temporaryName(basename(path)))
  try {
    const file = await open(temporary, "wx", mode)
    try {
      // The umask does not apply: the caller decides the mode.
      await file.chmod(mode)
      await file.writeFile(bytes)
      await file.sync()
    } finally {
      await file.close()
    }
    await rename(temporary, path)
  } catch (cause) {
    await rm(temporary, { force: true })
    throw cause
  }
}

/** Syncs a directory, so that renames and removals in it survive a power failure. */
export const syncDirectory = async (path: string): Promise<void> => {
  const directory = await open(path, "r")
  try {
    await directory.sync()
  } finally {
    await directory.close()
  }
}

/** Removes temporary files of a killed process; there are none without the directory. */
export const removeTemporary = async (directory: string): Promise<void> => {
  const names = await readdir(directory).catch((cause: unknown) => {
    if (PathLookup.isMissing(cause)) return []
    throw cause
  })
  for (const name of names) if (isTemporary(name)) await rm(join(directory, name), { force: true })
}
