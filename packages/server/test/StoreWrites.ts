/** What the tests of a store's rules have in common. */
import { Effect, Logger } from "effect"

/** Why a write is refused; the test fails if it is not. */
export const refused = <A, E>(write: Effect.Effect<A, E>) => Effect.flip(Effect.as(write, "it is not refused"))

/** The lines that are logged where the layer is provided. */
export const collecting = () => {
  const lines: Array<string> = []
  const layer = Logger.replace(
    Logger.defaultLogger,
    Logger.make(({ message }) => void lines.push(String(message)))
  )
  return { lines, layer }
}
