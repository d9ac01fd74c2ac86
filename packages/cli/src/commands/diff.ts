/**
 * `effect-xds diff A B`: what two states differ in, each a server's or that of files.
 *
 * @since 0.1.0
 */
import * as CommandLine from "../CommandLine.js"
import { addressHelp, outputOption, showSecrets, targetOptions } from "./TargetOptions.js"

/**
 * The command.
 *
 * @since 0.1.0
 */
export const diff = CommandLine.command({
  name: "diff",
  summary: "prints what B has more (+), less (-) and otherwise (~) than A",
  details: [
    `Each is a directory or file with resources, or the address of a server: ${addressHelp}.`,
    "Exit code 0: nothing is different. 1: something is. 3: a side cannot be read, or not all of it: a server does not answer for " +
      "a type, which is not compared then; every reason is on the standard error."
  ],
  examples: [
    "effect-xds diff --node-cluster edge 127.0.0.1:18000 ./config/edge",
    "effect-xds diff --types CDS,EDS old.example:18000 http://new.example:18001"
  ],
  arguments: {
    from: CommandLine.argument("A", "A directory, a file or an address"),
    to: CommandLine.argument("B", "A directory, a file or an address")
  },
  options: {
    ...targetOptions,
    showSecrets,
    output: outputOption("table: a line for each place; json, yaml: with whole values"),
    types: CommandLine.text("TYPES", "Compares these only: CDS,EDS. Default: all but VHDS", undefined)
  },
  load: async (values) => (await import("../Comparing.js")).run(values)
})
