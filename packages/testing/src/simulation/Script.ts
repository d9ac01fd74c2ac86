/**
 * The script of a simulation, as plain values: it can be drawn at random, printed and shrunk.
 *
 * @since 0.1.0
 */
import type { ResourceKey } from "@effect-xds/core/resource/ResourceGroup"
import type { ResourceSpec } from "./ResourceSpec.js"

/**
 * An action of a script.
 *
 * @since 0.1.0
 */
export type Action =
  /** A client watches a resource or, with `*`, the type. Its decoder rejects the content `bad`. */
  | { readonly _tag: "Watch"; readonly client: string; readonly typeUrl: string; readonly name: string }
  | { readonly _tag: "Unwatch"; readonly client: string; readonly typeUrl: string; readonly name: string }
  /** A change for all servers: at once for those that are up, later for the others. The first one sets the group. */
  | {
      readonly _tag: "Publish"
      readonly group: string
      readonly upsert: ReadonlyArray<ResourceSpec>
      readonly remove: ReadonlyArray<ResourceKey>
    }
  /** The group is no longer set. */
  | { readonly _tag: "Clear"; readonly group: string }
  /** The client belongs to another group: servers move its streams, and those that it opens from now on are of that group. */
  | { readonly _tag: "Move"; readonly client: string; readonly group: string }

/**
 * An action and its time.
 *
 * @since 0.1.0
 */
export type Step = Action & {
  /** Milliseconds from the start. */
  readonly at: number
}
