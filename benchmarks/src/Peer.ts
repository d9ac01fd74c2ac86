/** Who takes part: servers, and clients. */

export const peerTitles = {
  ours: "effect-xds",
  before: "effect-xds of --before",
  "gcp-snapshot": "go-control-plane, snapshot cache",
  "gcp-linear": "go-control-plane, linear cache",
  transport: "effect-xds, transport alone",
  bare: "bare node:http2 loop",
  "grpc-js": "@grpc/grpc-js",
  "protobuf-es": "decode all, protobuf-es",
  "grpc-js-xds": "decode all, @grpc/grpc-js-xds"
} as const

export type Peer = keyof typeof peerTitles

export type ClientPeer = "ours" | "before" | "protobuf-es" | "grpc-js-xds"

export type ServerPeer = Exclude<Peer, "protobuf-es" | "grpc-js-xds">
