/**
 * Writes what a store holds as files for Envoys that read `path_config_source`: a directory for each group.
 *
 * @since 0.1.0
 */
import type { HeldGroups, SnapshotStore } from "@effect-xds/server"
import { ResponseDirectory } from "@effect-xds/transport-filesystem"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as FiberMap from "effect/FiberMap"
import * as Queue from "effect/Queue"
import * as Schedule from "effect/Schedule"
import * as Stream from "effect/Stream"
import { Buffer } from "node:buffer"
import { basename, join } from "node:path"

/** ★ Whether it names a place right below a directory. Who may write to a store chooses the names of its groups. */
const isEntry = (group: string): boolean =>
  basename(group) === group &&
  !["", ".", ".."].includes(group) &&
  !group.includes("\0") &&
  Buffer.byteLength(group) <= longestName

/** Bytes of a name in a directory. */
const longestName = 255

/** A full disk, or what is in the way, is gone some time. */
const retries = Schedule.modifyDelay(Schedule.exponential("1 second"), (_, delay) =>
  Duration.min(delay, Duration.seconds(30))
)

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
      /** What is to be written of each group. */
      const latest = new Map<string, Queue.Queue<HeldGroups.GroupChange>>()
      const write = (group: string, states: Queue.Queue<HeldGroups.GroupChange>) =>
        Effect.gen(function* () {
          if (!isEntry(group)) {
            yield* Effect.logError(`group ${JSON.stringify(group)} is not written: no directory can have this name`)
            return yield* Effect.never
          }
          const directory = yield* ResponseDirectory.make(join(path, group)).pipe(
            Effect.tapError(({ message }) =>
              Effect.logError(`${message} (group ${JSON.stringify(group)} is not written yet)`)
            ),
            Effect.retry(retries)
          )
          yield* directory.follow(Stream.filterMap(Stream.fromQueue(states), ({ resources }) => resources))
        })
      // ★ All groups from one stream: if each had its own, every change would cost as much as there are groups.
      yield* Stream.runForEach(store.changes, (change) =>
        Effect.gen(function* () {
          const { group } = change
          const states = latest.get(group) ?? (yield* Queue.sliding<HeldGroups.GroupChange>(1))
          latest.set(group, states)
          yield* Queue.offer(states, change)
          yield* FiberMap.run(writers, group, write(group, states), { onlyIfMissing: true })
        })
      )
    })
  )
