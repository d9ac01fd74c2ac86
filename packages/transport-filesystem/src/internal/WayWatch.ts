/** Watches every directory whose changes may redirect a path. */
import type { DirectoryWatch } from "./DirectoryWatch.js"
import type { Way } from "./PathLookup.js"
import * as PathLookup from "./PathLookup.js"

export type Ways = ReadonlyMap<string, Way>

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
export const add = async (path: string, watch: DirectoryWatch["add"]): Promise<Ways> => {
  for (let tries = 1; ; tries++) {
    const ways = await PathLookup.waysTo(path)
    const areNew = Array.from(ways).map(([directory, { identity }]) => watch(directory, identity))
    if (!areNew.includes(true) || tries === maxTries) return ways
  }
}

/** Watches the directories of a path, and stops watching all others. */
export const follow = async (watch: DirectoryWatch, path: string): Promise<Ways> => {
  const ways = await add(path, watch.add)
  watch.retain(new Set(ways.keys()))
  return ways
}
