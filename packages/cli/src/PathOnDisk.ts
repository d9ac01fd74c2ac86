/**
 * Paths that commands are given to read.
 *
 * @since 0.1.0
 */
import * as Reason from "@effect-xds/proto/Reason"
import * as Effect from "effect/Effect"
import type { Stats } from "node:fs"
import { stat } from "node:fs/promises"
import { CommandFailure } from "./CommandFailure.js"

const missing: ReadonlySet<unknown> = new Set(["ENOENT", "ENOTDIR"])

/**
 * What is at a path; fails if nothing is there.
 *
 * @since 0.1.0
 */
export const look = (path: string): Effect.Effect<Stats, CommandFailure> =>
  Effect.tryPromise({
    try: () => stat(path),
    catch: (cause) => {
      const isMissing = cause instanceof Error && missing.has(Reflect.get(cause, "code"))
      return new CommandFailure({
        kind: "failed",
        message: isMissing ? `there is no file or directory ${path}` : `${path} cannot be read: ${Reason.of(cause)}`
      })
    }
  })
