/** Watches all that can make a path lead elsewhere. */
import type { DirectoryWatch } from "./DirectoryWatch.js"
import type { Way } from "./PathLookup.js"
import * as PathLookup from "./PathLookup.js"

export type Ways = ReadonlyMap<string, Way>

/** Changes that follow one another faster than they can be looked at lead to another look by themselves. */
const maxTries = 5

const isSame = (one: Ways, other: Ways): boolean =>
  one.size === other.size &&
  Array.from(one).every(([directory, { identity }]) => other.get(directory)?.identity === identity)

/**
 * Watches the directories that matter to a path, and no others. ★ What happened to a directory before it was watched
 * was not told, so after watching what was not known before it looks once more.
 */
export const follow = async (watch: DirectoryWatch, path: string, known: Ways): Promise<Ways> => {
  let ways = known
  for (let tries = 0; tries < maxTries; tries++) {
    const before = ways
    ways = await PathLookup.waysTo(path)
    for (const [directory, { identity }] of ways) watch.add(directory, identity)
    watch.retain(new Set(ways.keys()))
    if (isSame(before, ways)) break
  }
  return ways
}
