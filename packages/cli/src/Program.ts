/**
 * The program `effect-xds`: its commands put together.
 *
 * @since 0.1.0
 */
import * as Command from "@effect/cli/Command"
import { readFileSync } from "node:fs"
import { bootstrap } from "./commands/bootstrap.js"
import { diff } from "./commands/diff.js"
import { get } from "./commands/get.js"
import { serve } from "./commands/serve.js"
import { status } from "./commands/status.js"
import { validate } from "./commands/validate.js"
import { watch } from "./commands/watch.js"

/** The version in package.json, which stands beside `src` and `dist`. */
const versionOfPackage = (): string => {
  const manifest: unknown = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"))
  const version: unknown =
    typeof manifest === "object" && manifest !== null ? Reflect.get(manifest, "version") : undefined
  return typeof version === "string" ? version : "0.0.0"
}

const command = Command.make("effect-xds").pipe(
  Command.withDescription("xDS in a terminal: a control plane from a directory of files, and a client"),
  Command.withSubcommands([serve, watch, get, diff, validate, bootstrap, status])
)

/**
 * Runs the command that the arguments name. They begin with the program and the script, as in `process.argv`.
 *
 * @since 0.1.0
 */
export const program = Command.run(command, { name: "effect-xds", version: versionOfPackage() })
