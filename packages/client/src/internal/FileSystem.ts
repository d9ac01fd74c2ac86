/** The program's file system. */
import type { FileSystem } from "@effect/platform/FileSystem"
import * as Reason from "@effect-xds/proto/Reason"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"

/** Made from its key: the module of `@effect/platform` loads Schema, and with it a library for tests. */
const fileSystem = Context.GenericTag<FileSystem>("@effect/platform/FileSystem")

const readTimeout = "10 seconds"

/** The text of a file; fails with why there is none. */
export const readText = (path: string): Effect.Effect<string, string, FileSystem> =>
  Effect.flatMap(fileSystem, (files) => files.readFileString(path)).pipe(
    Effect.mapError(({ message }) => message),
    // The file system comes from the program: it may throw, or never answer.
    Effect.catchAllDefect((cause) => Effect.fail(Reason.of(cause))),
    // What cannot be interrupted is not waited for either.
    Effect.disconnect,
    Effect.timeoutFail({ duration: readTimeout, onTimeout: () => `nothing came within ${readTimeout}` })
  )
