/**
 * `effect-xds status ADDRESS`: the clients of a control plane, and what each was sent, took and rejected.
 *
 * @since 0.1.0
 */
import * as CommandLine from "../CommandLine.js"
import { outputOption } from "./TargetOptions.js"

/**
 * The command.
 *
 * @since 0.1.0
 */
export const status = CommandLine.command({
  name: "status",
  summary: "prints the clients of a control plane, and what each was sent, took and rejected",
  details: ["Problems come first. ADDRESS is that of the admin port of `serve`. Default: 127.0.0.1:18090"],
  examples: ["effect-xds status", "effect-xds status --output json 10.0.0.7:18090"],
  arguments: { address: CommandLine.optionalArgument("ADDRESS", "Of the admin port", "127.0.0.1:18090") },
  options: {
    output: outputOption("table: a line for each client and type, problems first; json, yaml: all that is known")
  },
  load: async (values) => (await import("../StatusReport.js")).run(values)
})
