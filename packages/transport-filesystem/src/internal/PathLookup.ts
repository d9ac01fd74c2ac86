/** Resolves a path, with the directories that decide where it leads. */
import * as Reason from "@effect-xds/proto/Reason"
import type { BigIntStats } from "node:fs"
import { lstat, readlink, realpath, stat } from "node:fs/promises"
import { basename, dirname, isAbsolute, join, parse } from "node:path"

/** The code of a system error, such as ENOENT. */
export const codeOf = (cause: unknown): string => {
  const code: unknown = cause instanceof Error ? Reflect.get(cause, "code") : undefined
  return typeof code === "string" ? code : ""
}

/** Whether an error means that nothing is at the path. */
export const isMissing = (cause: unknown): boolean => ["ENOENT", "ENOTDIR"].includes(codeOf(cause))

/** Faults that end without a change of the file or of a directory on its way. */
const passing: ReadonlySet<string> = new Set([
  "EMFILE",
  "ENFILE",
  "ENOMEM",
  "EIO",
  "EREMOTEIO",
  "EAGAIN",
  "EBUSY",
  "ENOTCONN",
  "ESTALE",
  "ETIMEDOUT"
])

/** Whether no event tells that the file or directory can be read again: it has to be tried. */
export const isPassing = (cause: unknown): boolean => passing.has(codeOf(cause))

/** Why a file or directory cannot be read, and what to do. */
export const unreadable = (cause: unknown, isDirectory = false): string => {
  const what = isDirectory ? "directory" : "file"
  switch (codeOf(cause)) {
    case "EACCES":
    case "EPERM":
      return `permission denied: this process may not read the ${what}; change its owner or mode`
    case "ENOENT":
      return "a link that leads nowhere; correct or remove it"
    case "ELOOP":
      return "links that lead in a circle; correct or remove them"
    case "EMFILE":
    case "ENFILE":
      return "too many files are open; raise the limit (ulimit -n)"
    default:
      return `the ${what} cannot be read: ${Reason.of(cause)}`
  }
}

/** Distinguishes a directory from another one at the same path. */
export const identityOf = ({ dev, ino }: BigIntStats): string => `${dev}:${ino}`

const maxLinks = 40

/** The absolute path that another one or a link stands for. `..` is kept: it leads out of where a link before it leads. */
const absolute = (directory: string, path: string): string => (isAbsolute(path) ? path : `${directory}/${path}`)

/** A directory whose changes may redirect a path. */
export interface Way {
  /** Distinguishes it from a replacement at the same path. */
  readonly identity: string
  /**
   * The entries that matter. The directory's own name is one of them: an event with it means that the directory was
   * moved or removed.
   */
  readonly names: ReadonlySet<string>
}

/**
 * The directories whose changes may redirect the path: its own, those of links on the path, and if one is missing the
 * nearest existing one.
 */
export const waysTo = async (path: string): Promise<ReadonlyMap<string, Way>> => {
  const ways = new Map<string, { readonly identity: string; readonly names: Set<string> }>()
  let links = 0
  const visit = async (target: string): Promise<void> => {
    const { root } = parse(target)
    let directory = root
    for (const name of target.slice(root.length).split("/")) {
      if (name === "" || name === ".") continue
      if (name === "..") {
        directory = dirname(await realpath(directory))
        continue
      }
      const next = join(directory, name)
      let stats: BigIntStats
      try {
        stats = await lstat(next, { bigint: true })
      } catch {
        await add(directory, name)
        return
      }
      if (stats.isSymbolicLink() && ++links <= maxLinks) {
        await add(directory, name)
        await visit(absolute(await realpath(directory), await readlink(next)))
      }
      directory = next
    }
    await add(dirname(directory), basename(directory))
  }
  const add = async (directory: string, name: string): Promise<void> => {
    try {
      const identity = identityOf(await stat(directory, { bigint: true }))
      const names = ways.get(directory)?.names ?? new Set([basename(directory)])
      ways.set(directory, { identity, names: names.add(name) })
    } catch {
      // Removed a moment ago; the event of its directory causes another check.
    }
  }
  try {
    await visit(absolute(process.cwd(), path))
  } catch {
    // The same for a removed link.
  }
  return ways
}
