/**
 * The program `effect-xds`: its commands put together.
 *
 * @since 0.1.0
 */
import * as CommandLine from "./CommandLine.js"
import { bootstrap } from "./commands/bootstrap.js"
import { diff } from "./commands/diff.js"
import { get } from "./commands/get.js"
import { history } from "./commands/history.js"
import { rollback } from "./commands/rollback.js"
import { serve } from "./commands/serve.js"
import { status } from "./commands/status.js"
import { validate } from "./commands/validate.js"
import { watch } from "./commands/watch.js"

/**
 * The program.
 *
 * @since 0.1.0
 */
export const program = CommandLine.family({
  name: "effect-xds",
  summary: "xDS in a terminal: a control plane from a directory of files, and a client",
  details: [],
  examples: ["effect-xds serve ./config", "effect-xds validate ./config"],
  commands: [serve, watch, get, diff, validate, bootstrap, status, history, rollback],
  options: {
    completions: CommandLine.choice(["bash", "zsh", "fish"], "Prints completions for a shell to source", "bash"),
    version: CommandLine.flag("Prints the version")
  }
})
