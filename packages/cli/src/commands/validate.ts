/**
 * `effect-xds validate PATH`: whether files can be served, before they are.
 *
 * @since 0.1.0
 */
import * as CommandLine from "../CommandLine.js"
import { apiOption } from "./TargetOptions.js"

/**
 * The command.
 *
 * @since 0.1.0
 */
export const validate = CommandLine.command({
  name: "validate",
  summary: "says what is wrong with the files of a directory, or with one file",
  details: [
    "That is: what cannot be read or is no message of its type, what breaks a rule that Envoy's API has for a field " +
      "(Envoy refuses it, and with it all others of its type), names that are there twice, and what else Envoy or gRPC " +
      "refuses or leaves without an answer: references to resources that are not there, domains twice, a router that is " +
      "not last. Each rule of the last kind has a name, told behind the mistake, by which it can be left out. " +
      "Subdirectories are groups, as for `serve`.",
    "Exit code 0: nothing is wrong. 1: something is; every mistake is a line on the standard output. 3: PATH cannot be read."
  ],
  examples: [
    "effect-xds validate ./config",
    "effect-xds validate --output json ./config",
    "effect-xds validate --no-references ./config/edge/clusters.yaml",
    "effect-xds validate --off endpoint-port --off cluster-reference ./config",
    "effect-xds validate --envoy /usr/bin/envoy ./config"
  ],
  arguments: {
    path: CommandLine.optionalArgument("PATH", "A directory or a file. Default: the current directory", ".")
  },
  options: {
    api: apiOption,
    noReferences: CommandLine.flag("Does not ask for the resources that are referred to: they come from elsewhere"),
    off: CommandLine.texts("RULE", "Leaves a rule out, by its name"),
    listRules: CommandLine.flag("Prints the rules that have a name, and checks nothing"),
    envoy: CommandLine.text(
      "FILE",
      "The program of an Envoy, which is asked as well (`--mode validate`), about each group made static. Its words are " +
        "told with the resource",
      undefined
    ),
    output: CommandLine.choice(
      ["text", "json"],
      "text: a line for each mistake; json: an object with all of them, also when there are none. Default: text",
      "text",
      "o"
    )
  },
  load: async (values) => (await import("../Validating.js")).run(values)
})
