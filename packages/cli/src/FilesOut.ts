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
import { join } from "node:path"

/**
 * Writes each group into a subdirectory named as it is, and every change of it, until it is interrupted. What the file
 * system refuses is logged and tried again.
 *
 * @since 0.1.0
 */
export const follow = (path: string, store: SnapshotStore.Service): Effect.Effect<void> =>
  Effect.scoped(
    Effect.gen(function* () {
      const writers = yield* FiberMap.make<string>()
      const write = (group: string) =>
        Effect.gen(function* () {
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
