/** What happens between a look and the watch that follows it. For tests that replace `watch` of `node:fs` by a mock of it. */
import { Effect } from "effect"
import type * as NodeFs from "node:fs"
import { watch } from "node:fs"
import { vi } from "vitest"
import type { Directory } from "./Directory.js"

/** Makes a directory when another one was looked at and is not watched yet: nobody is told of it. */
export const makeBeforeWatch = (directory: Directory, name: string, watched: string) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const { watch: real } = await vi.importActual<typeof NodeFs>("node:fs")
      vi.mocked(watch).mockImplementation((...args) => {
        if (args[0] === directory.at(watched)) directory.make(name)
        return real(...args)
      })
    }),
    () => Effect.sync(() => vi.mocked(watch).mockReset())
  )
