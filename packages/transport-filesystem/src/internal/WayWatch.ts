/** Watches every directory whose changes may redirect a path. */
import type { Way } from "./PathLookup.js"
import * as PathLookup from "./PathLookup.js"

export type Ways = ReadonlyMap<string, Way>

/** What watches the directories of a path: a `DirectoryWatch`, or a part of an `EntryWatch`. */
export interface Watch {
  /** Returns whether changes of it may not have been reported before. */
  readonly add: (directory: string, way: Way) => boolean
  /** Stops watching all others. */
  readonly retain: (ways: Ways) => void
}

/** If changes are faster than the checks, their events cause another check later. */
const maxTries = 5

/** Whether both have the same directories. */
export const isSame = (one: Ways, other: Ways): boolean =>
  one.size === other.size &&
  Array.from(one).every(([directory, { identity }]) => other.get(directory)?.identity === identity)

/**
 * Watches the directories of a path. ★ Changes before a watch began were not reported, so after a new watch it resolves
 * the path again.
 */
export const add = async (path: string, watch: Watch["add"]): Promise<Ways> => {
  for (let tries = 1; ; tries++) {
    const ways = await PathLookup.waysTo(path)
    const areNew = Array.from(ways).map(([directory, way]) => watch(directory, way))
    if (!areNew.includes(true) || tries === maxTries) return ways
  }
}

/** Watches the directories of a path, and stops watching all others. */
export const follow = async (watch: Watch, path: string): Promise<void> => {
  watch.retain(await add(path, watch.add))
}
