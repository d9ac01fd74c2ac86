/**
 * Writes what a store holds as files for Envoys that read `path_config_source`: a directory for each group.
 *
 * @since 0.1.0
 */
import type { SnapshotStore } from "@effect-xds/server"
import { ResponseDirectory } from "@effect-xds/transport-filesystem"
import * as Effect from "effect/Effect"
import * as FiberMap from "effect/FiberMap"
import * as Stream from "effect/Stream"
import { basename, join } from "node:path"

/** ★ Whether it names a place right below a directory. Who may write to a store chooses the names of its groups. */
const isEntry = (group: string): boolean => basename(group) === group && !["", ".", ".."].includes(group)

/**
 * Writes each group into a subdirectory named as it is, and every change of it, until it is interrupted. What the file
 * system refuses is logged and tried again. A group whose name cannot be that of a subdirectory is not written, and an error
 * is logged.
 *
 * @since 0.1.0
 */
export const follow = (path: string, store: SnapshotStore.Service): Effect.Effect<void> =>
  Effect.scoped(
    Effect.gen(function* () {
      const writers = yield* FiberMap.make<string>()
      const write = (group: string) =>
        Effect.gen(function* () {
          if (!isEntry(group)) {
            yield* Effect.logError(`group ${JSON.stringify(group)} is not written: no directory can have this name`)
            return yield* Effect.never
          }
          const directory = yield* ResponseDirectory.make(join(path, group))
          yield* directory.follow(
            store.changes.pipe(
              Stream.filter((change) => change.group === group),
              Stream.filterMap(({ resources }) => resources)
            )
          )
        }).pipe(Effect.catchAll((error) => Effect.logError(`${error.message} (group ${group} is not written)`)))
      yield* Stream.runForEach(store.changes, ({ group }) =>
        FiberMap.run(writers, group, write(group), { onlyIfMissing: true })
      )
    })
  )
