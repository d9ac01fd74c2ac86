/**
 * The options of every command that is a client.
 *
 * @since 0.1.0
 */
import * as CommandLine from "../CommandLine.js"

/**
 * The version of Envoy's API.
 *
 * @since 0.1.0
 */
export const apiOption = CommandLine.choice(["v2", "v3"], "Version of Envoy's API. Default: v3", "v3")

/** @since 0.1.0 */
export const targetOptions = {
  api: apiOption,
  protocol: CommandLine.choice(
    ["sotw", "delta"],
    "Over gRPC: state of the world or incremental. Default: sotw",
    "sotw"
  ),
  separate: CommandLine.flag("Over gRPC: a stream for each type instead of one for all (ADS)"),
  nodeId: CommandLine.text("NAME", "Who asks; servers choose by it. Default: effect-xds", "effect-xds"),
  nodeCluster: CommandLine.text("NAME", "The cluster of who asks; servers choose by it. Default: none", ""),
  metadata: CommandLine.pairs("Metadata of who asks, once for each"),
  timeout: CommandLine.parsed(
    "SECONDS",
    "How long a resource may take to come. Default: 5",
    5,
    (text) => {
      const seconds = text.trim() === "" ? Number.NaN : Number(text)
      return seconds > 0 && seconds <= 86_400 ? seconds : undefined
    },
    "a number of seconds above 0, up to a day"
  ),
  tls: CommandLine.flag("TLS, with the authorities of this system"),
  tlsCa: CommandLine.text("FILE", "TLS, with the authorities in this PEM file", undefined),
  tlsCert: CommandLine.text("FILE", "The client's certificate, a PEM file, for mTLS", undefined),
  tlsKey: CommandLine.text("FILE", "The key of the client's certificate, a PEM file", undefined),
  tlsServerName: CommandLine.text("NAME", "The name in the server's certificate. Default: the host", undefined)
}

/**
 * What an address may be, for the help.
 *
 * @since 0.1.0
 */
export const addressHelp =
  "host:port or unix:PATH for gRPC, http://host:port for REST, path:DIRECTORY or path:FILE for files"

const typeHelp = "CDS, EDS, LDS, RDS, …; also as cluster, clusters or a type URL"

/**
 * The arguments of the commands that ask for resources.
 *
 * @since 0.1.0
 */
export const queryArguments = {
  address: CommandLine.argument("ADDRESS", addressHelp),
  type: CommandLine.argument("TYPE", typeHelp),
  names: CommandLine.repeatedArgument("NAME", "Of resources. Default: all")
}

/**
 * Whether secrets are printed.
 *
 * @since 0.1.0
 */
export const showSecrets = CommandLine.flag(
  "Prints private keys, passwords and the like too; without it [redacted] stands for them"
)

/**
 * The option for the format.
 *
 * @since 0.1.0
 */
export const outputOption = (description: string) =>
  CommandLine.choice(["table", "json", "yaml"], `${description}. Default: table`, "table", "o")
