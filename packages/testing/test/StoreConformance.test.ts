import type { Store } from "@effect-xds/server/SnapshotStore"
import * as SnapshotStore from "@effect-xds/server/SnapshotStore"
import * as StoreConformance from "@effect-xds/testing/store/StoreConformance"
import { describeStore } from "@effect-xds/testing/vitest"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Logger from "effect/Logger"

describeStore("SnapshotStore.makeMemory", SnapshotStore.makeMemory())

/** A store that is wrong in one thing, and the promises that it breaks. */
const broken = (wrong: (store: Store) => Partial<Store>) =>
  Effect.gen(function* () {
    const failed: Array<string> = []
    const make = Effect.map(SnapshotStore.makeMemory(), (store): Store => ({ ...store, ...wrong(store) }))
    for (const { promise, run } of StoreConformance.checks) {
      const exit = yield* Effect.exit(
        Effect.scoped(Effect.flatMap(Effect.all([make, make]), ([one, other]) => run(one, other)))
      )
      if (exit._tag === "Failure") failed.push(promise)
    }
    return failed
  }).pipe(Effect.provide(Logger.replace(Logger.defaultLogger, Logger.none)))

describe("★ The promises of a store can be broken, and that is seen", () => {
  for (const [title, promise, wrong] of [
    [
      "compare and set does not compare",
      "compare and set",
      (store) => ({ update: (group, change) => store.update(group, change) })
    ],
    [
      "a cleared group is an empty one",
      "as if it was never set",
      (store) => ({ clear: (group) => Effect.ignore(store.set(group, {})) })
    ],
    [
      "a group is layered once, and never again",
      "a change of a shared group is told",
      (store) => ({ set: (group, { clusters }, options) => store.set(group, { clusters }, options) })
    ],
    [
      "who listens is told before it is so",
      "after unsafeGet gives it",
      (store) => ({ unsafeGet: (group) => store.unsafeGet(`${group}?`) })
    ]
  ] satisfies ReadonlyArray<readonly [string, string, (store: Store) => Partial<Store>]>) {
    it.live(title, () =>
      Effect.map(broken(wrong), (failed) =>
        assert.isTrue(
          failed.some((each) => each.includes(promise)),
          failed.join("\n")
        )
      )
    )
  }
})
