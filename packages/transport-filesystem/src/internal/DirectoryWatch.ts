/**
 * Reports changes in a set of directories, without their kind: file systems misreport the replacement of a file. It
 * watches directories and not files, because files are replaced by renaming.
 */
import * as Reason from "@effect-xds/proto/Reason"
import type { FSWatcher } from "node:fs"
import { watch } from "node:fs"

export interface DirectoryWatch {
  /**
   * Watches a directory. `identity` distinguishes it from a replacement at the same path. Returns whether it was not
   * watched before: then earlier changes were not reported.
   */
  readonly add: (path: string, directory: { readonly identity: string }) => boolean
  readonly remove: (path: string) => void
  /** Stops watching all other directories. */
  readonly retain: (paths: { readonly has: (path: string) => boolean }) => void
  readonly close: () => void
}

interface Watched {
  readonly identity: string
  /** `undefined` if it could not be watched. */
  readonly watcher: FSWatcher | undefined
}

export const make = (options: {
  /** `name`: the changed entry, if known. */
  readonly onChange: (directory: string, name: string | undefined) => void
  /** A directory cannot be watched; called once until it can be. */
  readonly onFailure: (directory: string, reason: string) => void
  /** Milliseconds between checks of directories that cannot be watched. */
  readonly pollInterval: number
}): DirectoryWatch => {
  const watched = new Map<string, Watched>()
  let poll: NodeJS.Timeout | undefined
  let isClosed = false

  const startPolling = (): void => {
    poll ??= setInterval(() => {
      const failed = Array.from(watched).filter(([, { watcher }]) => watcher === undefined)
      if (failed.length === 0) {
        clearInterval(poll)
        poll = undefined
      }
      for (const [path] of failed) options.onChange(path, undefined)
    }, options.pollInterval)
    poll.unref()
  }

  const fail = (path: string, identity: string, cause: unknown): void => {
    const isNew = watched.get(path)?.watcher !== undefined || !watched.has(path)
    watched.get(path)?.watcher?.close()
    watched.set(path, { identity, watcher: undefined })
    startPolling()
    if (isNew) options.onFailure(path, Reason.of(cause))
  }

  const remove = (path: string): void => {
    watched.get(path)?.watcher?.close()
    watched.delete(path)
  }

  return {
    add: (path, { identity }) => {
      // By a look that was under way.
      if (isClosed) return false
      const known = watched.get(path)
      if (known?.watcher !== undefined && known.identity === identity) return false
      known?.watcher?.close()
      try {
        const watcher = watch(path, { persistent: false }, (_event, name) => options.onChange(path, name ?? undefined))
        watcher.on("error", (cause) => {
          if (watched.get(path)?.watcher !== watcher) return
          fail(path, identity, cause)
          options.onChange(path, undefined)
        })
        watched.set(path, { identity, watcher })
        return true
      } catch (cause) {
        fail(path, identity, cause)
        // The caller looks again anyway.
        return false
      }
    },
    remove,
    retain: (paths) => {
      for (const path of watched.keys()) if (!paths.has(path)) remove(path)
    },
    close: () => {
      isClosed = true
      clearInterval(poll)
      for (const { watcher } of watched.values()) watcher?.close()
      watched.clear()
    }
  }
}
