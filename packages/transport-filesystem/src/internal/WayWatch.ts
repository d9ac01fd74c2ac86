/** Watches all that can make a path lead elsewhere. */
import type { DirectoryWatch } from "./DirectoryWatch.js"
import type { Way } from "./PathLookup.js"
import * as PathLookup from "./PathLookup.js"

export type Ways = ReadonlyMap<string, Way>

/** Changes that follow one another faster than they can be looked at lead to another look by themselves. */
const maxTries = 5

/** Whether nothing leads elsewhere. */
export const isSame = (one: Ways, other: Ways): boolean =>
  one.size === other.size &&
  Array.from(one).every(([directory, { identity }]) => other.get(directory)?.identity === identity)

/**
 * Watches the directories that matter to a path. ★ What happened to a directory before it was watched was not told, so
 * after watching what was not watched before it looks once more.
 */
export const add = async (path: string, watch: DirectoryWatch["add"]): Promise<Ways> => {
  for (let tries = 1; ; tries++) {
    const ways = await PathLookup.waysTo(path)
    const areNew = Array.from(ways).map(([directory, { identity }]) => watch(directory, identity))
    if (!areNew.includes(true) || tries === maxTries) return ways
  }
}

/** Watches the directories that matter to a path, and no others. */
export const follow = async (watch: DirectoryWatch, path: string): Promise<Ways> => {
  const ways = await add(path, watch.add)
  watch.retain(new Set(ways.keys()))
  return ways
}
