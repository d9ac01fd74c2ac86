/** Reads a whole file, or nothing. */
import { createHash } from "node:crypto"
import type { BigIntStats } from "node:fs"
import { constants } from "node:fs"
import { open, stat } from "node:fs/promises"
import * as PathLookup from "./PathLookup.js"

/** Metadata that changes with a file's content. */
export interface Signature {
  readonly key: string
  /**
   * Whether an equal key means equal content. File systems round times: a file changed just before it was read may
   * change again and keep its metadata.
   */
  readonly isTrusted: boolean
}

/** Milliseconds; the coarsest file time is FAT's, two seconds. */
const step = 3_000

export const signatureOf = (stats: BigIntStats, now: number): Signature => ({
  key: `${stats.dev}:${stats.ino}:${stats.size}:${stats.mtimeNs}:${stats.ctimeNs}`,
  isTrusted: now - Number(stats.ctimeMs) > step && now - Number(stats.mtimeMs) > step
})

export type FileContent =
  | { readonly _tag: "Read"; readonly bytes: Uint8Array; readonly hash: string; readonly signature: Signature }
  /** The content is that of the known signature. */
  | { readonly _tag: "Unchanged" }
  | { readonly _tag: "Missing" }
  /** The file was written to while it was read. */
  | { readonly _tag: "Changing" }
  | {
      readonly _tag: "Refused"
      readonly reason: "Unreadable" | "TooLarge"
      readonly detail: string
      /** Whether it may be read later without a change of it. */
      readonly isPassing: boolean
    }

const refused = (reason: "Unreadable" | "TooLarge", detail: string, isPassing = false): FileContent => ({
  _tag: "Refused",
  reason,
  detail,
  isPassing
})

/** Bytes that are read and hashed at a time; others run in between. */
const chunk = 4_194_304

/** `known`: the signature of the content that was read last. */
export const read = async (path: string, maxBytes: number, known?: Signature): Promise<FileContent> => {
  try {
    if (known?.isTrusted === true) {
      const stats = await stat(path, { bigint: true })
      if (stats.isFile() && known.key === signatureOf(stats, 0).key) return { _tag: "Unchanged" }
    }
    // Opening a pipe would wait for its writer.
    const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK)
    try {
      const before = await file.stat({ bigint: true })
      if (!before.isFile()) return refused("Unreadable", "it is not a regular file")
      if (before.size > maxBytes) {
        return refused("TooLarge", `it has ${before.size} bytes, the limit for a file is ${maxBytes}; divide it`)
      }
      const bytes = Buffer.alloc(Number(before.size))
      const hash = createHash("sha256")
      let length = 0
      while (length < bytes.byteLength) {
        const { bytesRead } = await file.read(bytes, length, Math.min(chunk, bytes.byteLength - length))
        if (bytesRead === 0) break
        hash.update(bytes.subarray(length, length + bytesRead))
        length += bytesRead
      }
      const signature = signatureOf(await file.stat({ bigint: true }), Date.now())
      return signature.key === signatureOf(before, 0).key && length === bytes.byteLength
        ? { _tag: "Read", bytes, hash: hash.digest("hex"), signature }
        : { _tag: "Changing" }
    } finally {
      await file.close()
    }
  } catch (cause) {
    if (PathLookup.isMissing(cause)) return { _tag: "Missing" }
    return refused("Unreadable", PathLookup.unreadable(cause), PathLookup.isPassing(cause))
  }
}
