/** What a path leads to, and which directories decide that. */
import * as Reason from "@effect-xds/proto/Reason"
import type { BigIntStats } from "node:fs"
import { lstat, readlink, stat } from "node:fs/promises"
import { basename, dirname, join, parse, resolve } from "node:path"

/** The code of a system error, such as ENOENT. */
export const codeOf = (cause: unknown): string => {
  const code: unknown = cause instanceof Error ? Reflect.get(cause, "code") : undefined
  return typeof code === "string" ? code : ""
}

/** Whether an error says that there is nothing at the path. */
export const isMissing = (cause: unknown): boolean => ["ENOENT", "ENOTDIR"].includes(codeOf(cause))

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

/** Tells a directory from another one at the same path. */
export const identityOf = ({ dev, ino }: BigIntStats): string => `${dev}:${ino}`

const maxLinks = 40

/** A directory in which a change can make a path lead elsewhere. */
export interface Way {
  /** Tells it from another one that takes its place. */
  readonly identity: string
  /** Of what in it matters. Its own is one of them: by that the system tells that it was moved or removed itself. */
  readonly names: ReadonlySet<string>
}

/**
 * The directories in which a change can make the path lead elsewhere: its own, those of the links on the way, and
 * where nothing is there the nearest one that is.
 */
export const waysTo = async (path: string): Promise<ReadonlyMap<string, Way>> => {
  const ways = new Map<string, { readonly identity: string; readonly names: Set<string> }>()
  let links = 0
  const visit = async (target: string): Promise<void> => {
    const { root } = parse(target)
    let directory = root
    for (const name of target.slice(root.length).split("/")) {
      if (name === "") continue
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
        await visit(resolve(directory, await readlink(next)))
      }
      directory = next
    }
    await add(dirname(target), basename(target))
  }
  const add = async (directory: string, name: string): Promise<void> => {
    try {
      const identity = identityOf(await stat(directory, { bigint: true }))
      const names = ways.get(directory)?.names ?? new Set([basename(directory)])
      ways.set(directory, { identity, names: names.add(name) })
    } catch {
      // It went away just now; the look that its directory's event leads to sees it.
    }
  }
  try {
    await visit(resolve(path))
  } catch {
    // A link that was read away from under us: the same.
  }
  return ways
}
