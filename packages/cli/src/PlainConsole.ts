/**
 * A console whose output is free of colours where nobody sees them: in files and pipes, and where `NO_COLOR` is set.
 *
 * @see https://no-color.org
 * @since 0.1.0
 */
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import { stripVTControlCharacters } from "node:util"

/**
 * Whether what is written to a stream may have colours.
 *
 * @since 0.1.0
 */
export const hasColors = (stream: { readonly isTTY?: boolean | undefined }): boolean =>
  stream.isTTY === true && (process.env["NO_COLOR"] ?? "") === ""

/**
 * An effect whose output through effect/Console has colours on a terminal only.
 *
 * @since 0.1.0
 */
export const plainUnlessTerminal = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.consoleWith((console) => {
    const write = (stream: NodeJS.WriteStream, parts: ReadonlyArray<unknown>) =>
      Effect.sync(() => {
        const text = parts.map(String).join(" ")
        stream.write(`${hasColors(stream) ? text : stripVTControlCharacters(text)}\n`)
      })
    return Effect.withConsole(effect, {
      ...console,
      [Console.TypeId]: Console.TypeId,
      log: (...parts) => write(process.stdout, parts),
      error: (...parts) => write(process.stderr, parts)
    })
  })
