/**
 * Reads files that people name and change: certificates and the like. A pipe, which is read without an end and only once, is
 * refused, as devices are, and what is far too large to be one.
 *
 * @since 0.1.0
 */
import * as Fs from "node:fs"
import { open } from "node:fs/promises"

/** Opening a pipe without a writer would not return. */
const flags = Fs.constants.O_RDONLY | Fs.constants.O_NONBLOCK

/** Bytes: the authorities of a system have some 200 000. What is read of them takes the event loop a while. */
const maxBytes = 1_000_000

/** Of a directory the system itself says what it is. */
const check = (path: string, stats: Fs.Stats): void => {
  if (stats.isDirectory()) return
  if (!stats.isFile()) {
    throw new Error(`${path} is not a regular file; a pipe or a device cannot be read again when it changes`)
  }
  if (stats.size > maxBytes) throw new Error(`${path} has ${stats.size} bytes, the limit is ${maxBytes}`)
}

/**
 * The text of a file. Fails with Node's error, and for what is no regular file, or has more than 1 000 000 bytes.
 *
 * @since 0.1.0
 */
export const read = async (path: string): Promise<string> => {
  const file = await open(path, flags)
  try {
    check(path, await file.stat())
    return await file.readFile("utf8")
  } finally {
    await file.close()
  }
}

/**
 * The same at once.
 *
 * @since 0.1.0
 */
export const readSync = (path: string): string => {
  const file = Fs.openSync(path, flags)
  try {
    check(path, Fs.fstatSync(file))
    return Fs.readFileSync(file, "utf8")
  } finally {
    Fs.closeSync(file)
  }
}
