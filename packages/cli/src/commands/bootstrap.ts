/**
 * `effect-xds bootstrap envoy|grpc`: what a client of a control plane starts with.
 *
 * @since 0.1.0
 */
import * as CommandLine from "../CommandLine.js"
import { apiOption } from "./TargetOptions.js"

const options = {
  server: CommandLine.text(
    "HOST:PORT",
    "The gRPC port of the control plane. Default: 127.0.0.1:18000",
    "127.0.0.1:18000"
  ),
  nodeId: CommandLine.text("NAME", "Default: node-1", "node-1"),
  nodeCluster: CommandLine.text("NAME", "The group, as `serve` goes by it. Default: default", "default"),
  tlsCa: CommandLine.text("FILE", "TLS, with the authorities in this PEM file, as the client sees it", undefined),
  tlsCert: CommandLine.text("FILE", "The client's certificate for mTLS", undefined),
  tlsKey: CommandLine.text("FILE", "The key of the client's certificate", undefined)
}

const envoy = CommandLine.command({
  name: "envoy",
  summary: "prints the bootstrap of an Envoy, as YAML",
  details: ["All types come on one incremental stream."],
  examples: ["effect-xds bootstrap envoy --server xds.example:18000 > bootstrap.yaml && envoy -c bootstrap.yaml"],
  arguments: {},
  options: { api: apiOption, ...options },
  load: async (values) => (await import("../Bootstraps.js")).envoy(values)
})

const grpc = CommandLine.command({
  name: "grpc",
  summary: "prints the bootstrap of gRPC applications, as JSON",
  details: ["They find it by GRPC_XDS_BOOTSTRAP."],
  examples: [
    "effect-xds bootstrap grpc --server xds.example:18000 > xds.json",
    "GRPC_XDS_BOOTSTRAP=xds.json ./my-grpc-client"
  ],
  arguments: {},
  options,
  load: async (values) => (await import("../Bootstraps.js")).grpc(values)
})

/**
 * The command.
 *
 * @since 0.1.0
 */
export const bootstrap = CommandLine.family({
  name: "bootstrap",
  summary: "prints what a client of this control plane starts with",
  details: [],
  examples: [],
  commands: [envoy, grpc]
})
