/**
 * Tests that share what a layer makes, from the first that needs it to the last. Unlike `layer` of `@effect/vitest` this leaves
 * `it` as it is: files of tests that come later in the same process would have the layer in place of a `TestClock`.
 */
import { afterAll, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"

export const of = <R, E>(layer: Layer.Layer<R, E>) => {
  const scope = Effect.runSync(Scope.make())
  afterAll(() => Effect.runPromise(Scope.close(scope, Exit.void)))
  const runtime = Effect.runSync(Effect.cached(Effect.orDie(Scope.extend(Layer.toRuntime(layer), scope))))
  return (title: string, body: () => Effect.Effect<void, unknown, R>): void =>
    it.live(title, () => Effect.flatMap(runtime, (made) => Effect.provide(body(), made)))
}
