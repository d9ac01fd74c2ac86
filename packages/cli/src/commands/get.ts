/**
 * `effect-xds get ADDRESS TYPE [NAME…]`: resources as a server has them now.
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
export const get = CommandLine.command({
  name: "get",
  summary: "prints resources as a server has them now: those named, or all of the type",
  details: [
    "What JSON and YAML print with --show-secrets, a directory of `serve` may hold.",
    "Servers choose what to give by the node: give --node-cluster, --node-id or --metadata where they do.",
    "Exit code 1: there is no such resource. 3: the server gives no answer in time, or a file of `path:` was not taken."
  ],
  examples: [
    "effect-xds get --node-cluster edge 127.0.0.1:18000 CDS",
    "effect-xds get --output yaml --protocol delta 127.0.0.1:18000 clusters backend",
    "effect-xds get --tls-ca ca.pem https://xds.example:18001 LDS",
    "effect-xds get path:/var/lib/envoy/xds EDS backend"
  ],
  arguments: queryArguments,
  options: {
    ...targetOptions,
    showSecrets,
    output: outputOption("table: names and versions; json, yaml: the resources")
  },
  load: async (values) => (await import("../Getting.js")).run(values)
})
