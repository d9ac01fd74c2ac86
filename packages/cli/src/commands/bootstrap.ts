/**
 * `effect-xds bootstrap envoy|grpc`: what a client of a control plane starts with.
 *
 * @since 0.1.0
 */
import * as Command from "@effect/cli/Command"
import * as HelpDoc from "@effect/cli/HelpDoc"
import * as Options from "@effect/cli/Options"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { CommandFailure } from "../CommandFailure.js"
import * as EnvoyBootstrap from "../EnvoyBootstrap.js"

const file = (name: string, description: string) =>
  Options.text(name).pipe(Options.withPseudoName("FILE"), Options.withDescription(description), Options.optional)

const options = {
  server: Options.text("server").pipe(
    Options.withPseudoName("HOST:PORT"),
    Options.withDescription("The gRPC port of the control plane. Default: 127.0.0.1:18000"),
    Options.withDefault("127.0.0.1:18000")
  ),
  nodeId: Options.text("node-id").pipe(Options.withDescription("Default: node-1"), Options.withDefault("node-1")),
  nodeCluster: Options.text("node-cluster").pipe(
    Options.withDescription("The group, as `serve` goes by it. Default: default"),
    Options.withDefault("default")
  ),
  tlsCa: file("tls-ca", "TLS, with the authorities in this PEM file, as the client sees it"),
  tlsCert: file("tls-cert", "The client's certificate for mTLS"),
  tlsKey: file("tls-key", "The key of the client's certificate")
}

type Config = Command.Command.ParseConfig<typeof options>

interface Known {
  readonly host: string
  readonly port: number
  readonly tls: { readonly ca: string; readonly cert: string | undefined; readonly key: string | undefined } | undefined
}

const usage = (message: string) => Effect.fail(new CommandFailure({ kind: "usage", message }))

const read = ({ server, tlsCa, tlsCert, tlsKey }: Config): Effect.Effect<Known, CommandFailure> => {
  const match = /^(?:\[([^\]]+)\]|([^:[\]/]+)):(\d+)$/.exec(server)
  const [host, port] = [match?.[1] ?? match?.[2], Number(match?.[3])]
  if (host === undefined || !(port >= 1 && port <= 65_535)) {
    return usage(`--server ${server} is not HOST:PORT; IPv6 is written [::1]:18000`)
  }
  const [ca, cert, key] = [tlsCa, tlsCert, tlsKey].map(Option.getOrUndefined)
  if ((cert === undefined) !== (key === undefined))
    return usage("--tls-cert and --tls-key go together: give both or none")
  if (ca === undefined && cert !== undefined) return usage("--tls-cert needs --tls-ca, by which the server is known")
  return Effect.succeed({ host, port, tls: ca === undefined ? undefined : { ca, cert, key } })
}

const envoy = Command.make("envoy", options, (config) =>
  Effect.gen(function* () {
    const { host, port, tls } = yield* read(config)
    const { nodeCluster, nodeId } = config
    yield* Console.log(EnvoyBootstrap.toYaml({ host, port, nodeId, nodeCluster, tls }).trimEnd())
  })
).pipe(
  Command.withDescription(
    HelpDoc.blocks([
      HelpDoc.p("Prints the bootstrap of an Envoy, as YAML: all types on one incremental stream."),
      HelpDoc.p("effect-xds bootstrap envoy --server xds.example:18000 > bootstrap.yaml && envoy -c bootstrap.yaml")
    ])
  )
)

/** @see https://github.com/grpc/proposal/blob/master/A65-xds-mtls-creds-in-bootstrap.md */
const grpc = Command.make("grpc", options, (config) =>
  Effect.gen(function* () {
    const { tls } = yield* read(config)
    const files = {
      ...(tls !== undefined && { ca_certificate_file: tls.ca }),
      ...(tls?.cert !== undefined && { certificate_file: tls.cert, private_key_file: tls.key })
    }
    const bootstrap = {
      xds_servers: [
        {
          server_uri: config.server,
          channel_creds: [tls === undefined ? { type: "insecure" } : { type: "tls", config: files }],
          server_features: ["xds_v3"]
        }
      ],
      // grpc-js refuses a node without a locality.
      node: { id: config.nodeId, cluster: config.nodeCluster, locality: {} }
    }
    yield* Console.log(JSON.stringify(bootstrap, undefined, 2))
  })
).pipe(
  Command.withDescription(
    HelpDoc.blocks([
      HelpDoc.p("Prints the bootstrap of gRPC applications, as JSON: they find it by GRPC_XDS_BOOTSTRAP."),
      HelpDoc.p("effect-xds bootstrap grpc --server xds.example:18000 > xds.json"),
      HelpDoc.p("GRPC_XDS_BOOTSTRAP=xds.json ./my-grpc-client")
    ])
  )
)

/**
 * The command.
 *
 * @since 0.1.0
 */
export const bootstrap = Command.make("bootstrap").pipe(
  Command.withDescription("Prints what a client of this control plane starts with"),
  Command.withSubcommands([envoy, grpc])
)
