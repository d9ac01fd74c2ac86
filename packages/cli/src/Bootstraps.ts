/**
 * `effect-xds bootstrap envoy|grpc`: what a client of a control plane starts with.
 *
 * @since 0.1.0
 */
import type { Api } from "@effect-xds/proto/ResourceType"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import { CommandFailure } from "./CommandFailure.js"
import * as EnvoyBootstrap from "./EnvoyBootstrap.js"

interface Arguments {
  readonly server: string
  readonly nodeId: string
  readonly nodeCluster: string
  readonly tlsCa: string | undefined
  readonly tlsCert: string | undefined
  readonly tlsKey: string | undefined
}

interface Known {
  readonly host: string
  readonly port: number
  readonly tls: { readonly ca: string; readonly cert: string | undefined; readonly key: string | undefined } | undefined
}

const usage = (message: string) => Effect.fail(new CommandFailure({ kind: "usage", message }))

const read = ({ server, tlsCa, tlsCert, tlsKey }: Arguments): Effect.Effect<Known, CommandFailure> => {
  const match = /^(?:\[([^\]]+)\]|([^:[\]/]+)):(\d+)$/.exec(server)
  const [host, port] = [match?.[1] ?? match?.[2], Number(match?.[3])]
  if (host === undefined || !(port >= 1 && port <= 65_535)) {
    return usage(`--server ${server} is not HOST:PORT; IPv6 is written [::1]:18000`)
  }
  const [ca, cert, key] = [tlsCa, tlsCert, tlsKey]
  if ((cert === undefined) !== (key === undefined))
    return usage("--tls-cert and --tls-key go together: give both or none")
  if (ca === undefined && cert !== undefined) return usage("--tls-cert needs --tls-ca, by which the server is known")
  return Effect.succeed({ host, port, tls: ca === undefined ? undefined : { ca, cert, key } })
}

/**
 * Prints the bootstrap of an Envoy.
 *
 * @since 0.1.0
 */
export const envoy = (config: Arguments & { readonly api: Api }): Effect.Effect<void, CommandFailure> =>
  Effect.gen(function* () {
    const { host, port, tls } = yield* read(config)
    const { api, nodeCluster, nodeId } = config
    yield* Console.log(EnvoyBootstrap.toYaml({ api, server: { host, port }, nodeId, nodeCluster, tls }).trimEnd())
  })

/**
 * Prints the bootstrap of gRPC applications.
 *
 * @see https://github.com/grpc/proposal/blob/master/A65-xds-mtls-creds-in-bootstrap.md
 * @since 0.1.0
 */
export const grpc = (config: Arguments): Effect.Effect<void, CommandFailure> =>
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
