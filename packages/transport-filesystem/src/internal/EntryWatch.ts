/**
 * Watches entries of directories for any number of files: a directory has one watcher for all of them, and an event
 * costs only the files that it concerns. A directory may hold thousands.
 */
import * as Effect from "effect/Effect"
import * as Runtime from "effect/Runtime"
import type * as Scope from "effect/Scope"
import * as DirectoryWatch from "./DirectoryWatch.js"
import type * as WayWatch from "./WayWatch.js"

/** The watch of one file. */
interface FileWatch extends WayWatch.Watch {
  readonly close: () => void
}

export interface EntryWatch {
  /** `onChange` is called after each change of the entries that are added. */
  readonly open: (onChange: () => void) => FileWatch
}

type Listener = () => void

const none: ReadonlyMap<string, ReadonlySet<Listener>> = new Map()

const tell = (listeners: ReadonlySet<Listener> | undefined): void => {
  for (const listener of listeners ?? []) listener()
}

/** Watches until the scope closes. `pollInterval`: see {@link DirectoryWatch.make}. */
export const make = (pollInterval: number): Effect.Effect<EntryWatch, never, Scope.Scope> =>
  Effect.gen(function* () {
    const runtime = yield* Effect.runtime()
    /** Who is told of an entry, by directory and name. */
    const listeners = new Map<string, Map<string, Set<Listener>>>()
    const tellAll = (directory: string): void => {
      for (const some of (listeners.get(directory) ?? none).values()) tell(some)
    }
    const watch = yield* Effect.acquireRelease(
      Effect.sync(() =>
        DirectoryWatch.make({
          pollInterval,
          onChange: (directory, name) =>
            name === undefined ? tellAll(directory) : tell(listeners.get(directory)?.get(name)),
          onFailure: (directory, reason) => {
            const often = `it is looked at every ${pollInterval} ms`
            Runtime.runFork(runtime)(Effect.logWarning(`${directory} cannot be watched: ${reason}; ${often}`))
          }
        })
      ),
      ({ close }) => Effect.sync(close)
    )

    const join = (directory: string, name: string, listener: Listener): void => {
      const names = listeners.get(directory) ?? new Map<string, Set<Listener>>()
      listeners.set(directory, names)
      names.set(name, (names.get(name) ?? new Set()).add(listener))
    }

    const leave = (directory: string, name: string, listener: Listener): void => {
      const names = listeners.get(directory)
      const some = names?.get(name)
      some?.delete(listener)
      if (some?.size === 0) names?.delete(name)
      if (names?.size !== 0) return
      listeners.delete(directory)
      watch.remove(directory)
    }

    return {
      open: (onChange) => {
        const listener = () => onChange()
        /** The names that it is told of, by directory. */
        const own = new Map<string, Set<string>>()
        let isClosed = false
        const retain = (ways: WayWatch.Ways): void => {
          for (const [directory, names] of own) {
            const kept = ways.get(directory)?.names
            for (const name of names) {
              if (kept?.has(name) === true) continue
              names.delete(name)
              leave(directory, name, listener)
            }
            if (names.size === 0) own.delete(directory)
          }
        }
        return {
          add: (directory, way) => {
            // By a look that was under way.
            if (isClosed) return false
            let isNew = watch.add(directory, way)
            // The others saw another directory at this path, whose changes nobody reports any more.
            if (isNew) tellAll(directory)
            const names = own.get(directory) ?? new Set()
            own.set(directory, names)
            for (const name of way.names) {
              if (names.has(name)) continue
              names.add(name)
              join(directory, name, listener)
              isNew = true
            }
            return isNew
          },
          retain,
          close: () => {
            isClosed = true
            retain(new Map())
          }
        }
      }
    }
  })
