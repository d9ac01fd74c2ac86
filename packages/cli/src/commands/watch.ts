/**
 * `effect-xds watch ADDRESS TYPE [NAME…]`: what becomes of resources, as it happens.
 *
 * @since 0.1.0
 */
import * as CommandLine from "../CommandLine.js"
import { outputOption, queryArguments, showSecrets, targetOptions } from "./TargetOptions.js"

/**
 * The command.
 *
 * @since 0.1.0
 */
export const watch = CommandLine.command({
  name: "watch",
  summary: "prints what becomes of resources, those named or all of the type, until Ctrl-C",
  details: ["JSON is one object a line."],
  examples: [
    "effect-xds watch --node-cluster edge 127.0.0.1:18000 EDS backend",
    "effect-xds watch --output json http://127.0.0.1:18001 clusters"
  ],
  isEndless: true,
  arguments: queryArguments,
  options: {
    ...targetOptions,
    showSecrets,
    output: outputOption("table: a line for each event; json, yaml: with the resource")
  },
  load: async (values) => (await import("../Watching.js")).run(values)
})
