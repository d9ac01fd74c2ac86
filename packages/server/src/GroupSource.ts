/**
 * The port between a store and its servers: the content of a group, and a notification when it changes. Programs write
 * to a `SnapshotStore`; every store provides this port to its servers.
 *
 * The contract of an implementation, which `StoreConformance` of `@effect-xds/testing` checks:
 *
 * - `unsafeGet` and listeners agree: while a listener runs, `unsafeGet` returns the same group.
 * - A change is one step: a caller sees the group before or after it, never a part.
 * - Listeners get the changes of one group in order. A change without an effect causes no call.
 * - A group keeps its history: its next state is made from the last one by `ResourceGroup.update`,
 *   `ResourceGroup.replace` or `LayeredGroup`, so that clients are sent only the difference. `HeldGroups` does that.
 * - A group that is not set is `undefined`, not an empty group: its clients wait, and keep their resources.
 * - A listener that throws does not affect the others; the failure is logged.
 *
 * @since 0.1.0
 */
import type * as ResourceGroup from "@effect-xds/core/resource/ResourceGroup"
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"

/**
 * Called for a change. `undefined`: the group is no longer set.
 *
 * @since 0.1.0
 */
export type Listener = (group: string, resources: ResourceGroup.ResourceGroup | undefined) => void

/**
 * The operations of the port.
 *
 * @since 0.1.0
 */
export interface Service {
  /** The present content of a group. `undefined`: it was never set, or was cleared. */
  readonly unsafeGet: (group: string) => ResourceGroup.ResourceGroup | undefined
  /** Calls the listener synchronously for every change, until the scope closes. It must not throw. */
  readonly listen: (listener: Listener) => Effect.Effect<void, never, Scope.Scope>
}

/**
 * The service tag of the port.
 *
 * @since 0.1.0
 */
export class GroupSource extends Context.Tag("@effect-xds/server/GroupSource")<GroupSource, Service>() {}
