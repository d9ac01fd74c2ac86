import * as Effect from "effect/Effect"
import { existsSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

/** In memory where there is such a place: what a disk takes for a commit is not tested. */
const place = existsSync("/dev/shm") ? "/dev/shm" : tmpdir()

/** A folder that goes with the scope. */
export const folder = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(place, "effect-xds-store-"))),
  (path) => Effect.sync(() => rmSync(path, { recursive: true, force: true }))
)
