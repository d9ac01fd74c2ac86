/**
 * What a server needs of a store, and nothing else: what a group holds, and a word when that changes. A store that programs
 * write to is a `SnapshotStore`; every store gives its servers this port.
 *
 * Whoever implements it keeps these promises, and `StoreConformance` of `@effect-xds/testing` checks them:
 *
 * - `unsafeGet` and listeners agree: when a listener is called, `unsafeGet` gives what the listener was given.
 * - A change is one step: what is given is the group before the change or after it, never a part.
 * - Changes of one group are told in their order. One that nothing comes of is not told.
 * - A group goes on from what it was: its next state is made of the last one by `ResourceGroup.update` or
 *   `ResourceGroup.replace` (or `LayeredGroup`), so that clients are sent only what is different. `HeldGroups` does that.
 * - A group that is not set is `undefined`, and no empty group: its clients wait, and keep what they have.
 * - A listener that throws is nobody else's trouble: the others are told, and the failure is logged.
 *
 * @since 0.1.0
 */
import type * as ResourceGroup from "@effect-xds/core/resource/ResourceGroup"
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"

/**
 * Hears of changes. `undefined`: the group is not set any more.
 *
 * @since 0.1.0
 */
export type Listener = (group: string, resources: ResourceGroup.ResourceGroup | undefined) => void

/**
 * The groups, as servers see them.
 *
 * @since 0.1.0
 */
export interface Service {
  /** What a group holds, at once. `undefined`: it was never set, or it was cleared. */
  readonly unsafeGet: (group: string) => ResourceGroup.ResourceGroup | undefined
  /** Calls a function for every change, synchronously, until the scope closes. It must not throw. */
  readonly listen: (listener: Listener) => Effect.Effect<void, never, Scope.Scope>
}

/**
 * The tag of the port.
 *
 * @since 0.1.0
 */
export class GroupSource extends Context.Tag("@effect-xds/server/GroupSource")<GroupSource, Service>() {}
