/**
 * Long work in slices, for stores that are not in this package: nothing of it takes the event loop for more than some
 * milliseconds at a time.
 *
 * @since 0.1.0
 */
import type * as CoreSteps from "@effect-xds/core/Steps"
import type * as EventLoop from "@effect-xds/transport/EventLoop"
import type * as Effect from "effect/Effect"
import * as Slice from "./internal/Slice.js"

/**
 * The result of work in steps: at once or, if it is long, in slices. An interruption abandons the rest.
 *
 * @since 0.1.0
 */
export const steps: <A extends object>(loop: EventLoop.Service, work: CoreSteps.Steps<A>) => Effect.Effect<A> =
  Slice.steps

/**
 * Waits for one turn of the event loop: between calls that take it until they return, as those of an embedded database.
 *
 * @since 0.1.0
 */
export const breathe: (loop: EventLoop.Service) => Effect.Effect<void> = Slice.breathe
