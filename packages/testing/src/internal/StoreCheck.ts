/** One promise of a store and its check, and what checks have in common. */
import { create } from "@bufbuild/protobuf"
import * as ResourceGroup from "@effect-xds/core/resource/ResourceGroup"
import * as ResourceSet from "@effect-xds/core/resource/ResourceSet"
import type { Cluster } from "@effect-xds/proto/envoy/config/cluster/v3/cluster"
import { ClusterSchema } from "@effect-xds/proto/envoy/config/cluster/v3/cluster"
import * as ResourceType from "@effect-xds/proto/ResourceType"
import type * as SnapshotStore from "@effect-xds/server/SnapshotStore"
import type * as StoreError from "@effect-xds/server/StoreError"
import * as EventLoop from "@effect-xds/transport/EventLoop"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import type * as Scope from "effect/Scope"
import { BrokenPromise } from "../store/BrokenPromise.js"

/**
 * One promise and its check. Each run needs two empty stores.
 *
 * @since 0.1.0
 */
export interface Check {
  readonly promise: string
  readonly run: (
    store: SnapshotStore.Store,
    another: SnapshotStore.Store
  ) => Effect.Effect<void, BrokenPromise, Scope.Scope>
}

/** The errors of a check. Unexpected ones are broken promises, too. */
type Body = (
  store: SnapshotStore.Store,
  another: SnapshotStore.Store,
  equal: (is: unknown, shouldBe: unknown, what?: string) => Effect.Effect<void, BrokenPromise>
) => Effect.Effect<void, BrokenPromise | StoreError.UpdateError, Scope.Scope>

export const check = (promise: string, body: Body): Check => ({
  promise,
  run: (store, another) => {
    const equal = (is: unknown, shouldBe: unknown, what = ""): Effect.Effect<void, BrokenPromise> => {
      const texts = [JSON.stringify(is), JSON.stringify(shouldBe)] as const
      if (texts[0] === texts[1]) return Effect.void
      return Effect.fail(new BrokenPromise({ promise, detail: `${what} is ${texts[0]}, should be ${texts[1]}`.trim() }))
    }
    return Effect.mapError(body(store, another, equal), (error) =>
      error._tag === "BrokenPromise" ? error : new BrokenPromise({ promise, detail: `it failed: ${error.message}` })
    )
  }
})

const typeUrl = ResourceType.Cluster.typeUrl
export const cluster = (name: string, altStatName = ""): Cluster => create(ClusterSchema, { name, altStatName })
export const clusters = (...names: ReadonlyArray<string>): { readonly clusters: ReadonlyArray<Cluster> } => ({
  clusters: names.map((name) => cluster(name))
})
export const many = (count: number, altStatName = ""): ReadonlyArray<Cluster> =>
  Array.from({ length: count }, (_, index) => cluster(`many-${index}`, altStatName))

export const namesOf = (group: ResourceGroup.ResourceGroup | undefined): ReadonlyArray<string> | undefined =>
  group &&
  ResourceGroup.all(group)
    .map(({ name }) => name)
    .sort()
export const clustersOf = (group: ResourceGroup.ResourceGroup | undefined): ResourceSet.ResourceSet =>
  ResourceGroup.set(group ?? ResourceGroup.empty, typeUrl)
export const sizeOf = (group: ResourceGroup.ResourceGroup | undefined): number => ResourceSet.size(clustersOf(group))

/** Records what a listener receives, and whether `unsafeGet` agreed each time. */
export const listening = (store: SnapshotStore.Store) => {
  const told: Array<readonly [group: string, names: ReadonlyArray<string> | undefined]> = []
  const state = { told, agreed: true }
  return Effect.as(
    store.listen((group, resources) => {
      told.push([group, namesOf(resources)])
      state.agreed &&= store.unsafeGet(group) === resources
    }),
    state
  )
}

/** The tag of an effect's error, or "none". */
export const tagOf = <A>(effect: Effect.Effect<A, StoreError.UpdateError>): Effect.Effect<string> =>
  Effect.match(effect, { onFailure: ({ _tag }) => _tag, onSuccess: () => "none" })

/** Counts turns of the event loop until an effect ends, and records the view of a group in each. */
export const watching = <A, E>(effect: Effect.Effect<A, E>, see: () => unknown) =>
  Effect.gen(function* () {
    const fiber = yield* Effect.fork(effect)
    const seen: Array<unknown> = []
    for (let turns = 0; turns < 100_000 && fiber.unsafePoll() === null; turns++) {
      yield* Effect.promise(() => new Promise<void>((resolve) => setImmediate(resolve)))
      seen.push(see())
    }
    yield* Fiber.join(fiber)
    return seen
  })

/** Ends every slice of work at once. */
export const impatient: EventLoop.Service = { ...EventLoop.process, elapsed: () => (slices += 1_000) }
let slices = 0
