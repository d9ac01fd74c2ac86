/**
 * Files that appear whole or not at all: written beside their place, brought to the disk, renamed into it. Whoever dies
 * in between leaves a temporary file, which the next one to use the directory takes away.
 */
import { open, readdir, rename, rm } from "node:fs/promises"
import { basename, dirname, join } from "node:path"

let count = 0

const temporaryName = (name: string): string => `.${name}.${process.pid}-${++count}.xds-tmp`

const isTemporary = (name: string): boolean => /^\..+\.\d+-\d+\.xds-tmp$/.test(name)

/** The longest name of a file, in bytes, that leaves room for a temporary one of it. */
export const maxNameBytes = 200

export const write = async (path: string, bytes: Uint8Array, mode: number): Promise<void> => {
  const temporary = join(dirname(path), temporaryName(basename(path)))
  try {
    const file = await open(temporary, "wx", mode)
    try {
      // The process's mask is not asked: the mode is the caller's decision.
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

/** Makes what was renamed or removed in a directory survive a loss of power. */
export const syncDirectory = async (path: string): Promise<void> => {
  const directory = await open(path, "r")
  try {
    await directory.sync()
  } finally {
    await directory.close()
  }
}

/** Takes away what a process that died left. */
export const removeTemporary = async (directory: string): Promise<void> => {
  for (const name of await readdir(directory)) if (isTemporary(name)) await rm(join(directory, name), { force: true })
}
