/**
 * What happens in a simulation, as plain values: so that it can be drawn at random, written down, and made shorter.
 *
 * @since 0.1.0
 */
import type { ResourceKey } from "@effect-xds/core/resource/ResourceGroup"
import type { ResourceSpec } from "./Arbitraries.js"

/**
 * One thing that a script does.
 *
 * @since 0.1.0
 */
export type Action =
  /** A client watches a resource; `*`: all of the type. Bytes are looked at, no more: content `bad` is rejected. */
  | { readonly _tag: "Watch"; readonly client: string; readonly typeUrl: string; readonly name: string }
  | { readonly _tag: "Unwatch"; readonly client: string; readonly typeUrl: string; readonly name: string }
  /** All servers that are up get a change at once; the others, when they are up again. The first one sets the group. */
  | {
      readonly _tag: "Publish"
      readonly group: string
      readonly upsert: ReadonlyArray<ResourceSpec>
      readonly remove: ReadonlyArray<ResourceKey>
    }
  /** The group is as if it was never set. */
  | { readonly _tag: "Clear"; readonly group: string }

/**
 * An action at a time.
 *
 * @since 0.1.0
 */
export type Step = Action & {
  /** Milliseconds from the beginning. */
  readonly at: number
}
