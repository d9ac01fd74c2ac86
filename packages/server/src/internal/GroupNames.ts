/** Finds the name of a client's group: at once, by an Effect, or by a Stream, which may give further names. */
import type { Node } from "@effect-xds/proto/envoy/config/core/v3/base"
import * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import * as Runtime from "effect/Runtime"
import * as Stream from "effect/Stream"
import type { Origin } from "../ConnectedClient.js"
import type { Options } from "../ServerOptions.js"

/**
 * Runs a search; the result stops it, or is `undefined` if it has ended. Names and errors are unchecked values of the
 * application.
 */
export type Search = (
  onName: (name: unknown) => void,
  onExit: (exit: Exit.Exit<void, unknown>) => void
) => (() => void) | undefined

/** Checked at run time, whatever the types say. */
const isStream = (value: unknown): boolean =>
  typeof value === "object" && value !== null && Stream.StreamTypeId in value

/** The result of the `group` function. */
export type Given =
  { readonly _tag: "Named"; readonly name: unknown } | { readonly _tag: "Searched"; readonly search: Search }

/** Calls the `group` function; throws what it throws. */
export const make =
  <R>(group: Options<R>["group"], runtime: Runtime.Runtime<R>): ((node: Node, origin: Origin) => Given) =>
  (node, origin) => {
    const given = group(node, origin)
    if (typeof given === "string") return { _tag: "Named", name: given }
    const isEffect = Effect.isEffect(given)
    if (!isEffect && !isStream(given)) return { _tag: "Named", name: given }
    return {
      _tag: "Searched",
      search: (onName, onExit) => {
        const names = isEffect
          ? Effect.map(given, onName)
          : Stream.runForEach(given, (name) => Effect.sync(() => onName(name)))
        const fiber = Runtime.runFork(runtime)(names)
        fiber.addObserver(onExit)
        return fiber.unsafePoll() === null ? () => fiber.unsafeInterruptAsFork(fiber.id()) : undefined
      }
    }
  }
