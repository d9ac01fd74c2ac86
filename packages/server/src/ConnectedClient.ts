/**
 * What a server knows of its clients: one entry for each open stream.
 *
 * @since 0.1.0
 */
import type { ServerStream } from "@effect-xds/core"
import type { Node } from "@effect-xds/proto/envoy/config/core/v3/base"
import type { ServerTransport } from "@effect-xds/transport"

/**
 * What is kept of a node: it tells who it is once, in the first request of a stream, at a length of some 60 KB.
 *
 * @since 0.1.0
 */
export interface NodeIdentity {
  readonly id: string
  readonly cluster: string
  /** `envoy`, `gRPC Go` … */
  readonly userAgentName: string
  readonly userAgentVersion: string
}

/**
 * The connection a stream came by, as hooks are given it beside the node.
 *
 * @since 0.1.0
 */
export interface Origin {
  readonly peer: ServerTransport.Peer
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  readonly method: ServerTransport.Method
}

/**
 * Which client something is about.
 *
 * @since 0.1.0
 */
export interface ConnectedClient {
  /** Of the stream: unique while the server lives. */
  readonly id: number
  /** `undefined` until the first request. */
  readonly node: NodeIdentity | undefined
  /** `undefined` until it is known. */
  readonly group: string | undefined
  readonly peer: ServerTransport.Peer
}

/**
 * A client and what it runs.
 *
 * @since 0.1.0
 */
export interface ClientStatus extends ConnectedClient {
  readonly method: ServerTransport.Method
  /** Milliseconds since 1970. */
  readonly connectedAt: number
  /** It asked for something and its group is not set: it never was, or it was cleared. */
  readonly waiting: boolean
  /** Type URL → bytes of the last response of the type, where that is larger than `maxResponseBytes`. */
  readonly oversized: ReadonlyMap<string, number>
  /** For each type: what it asked for, was sent, ACKed and NACKed, with its words. */
  readonly types: ReadonlyArray<ServerStream.Status>
}

const agentVersion = (node: Node): string => {
  const version = node.userAgentVersionType
  if (version.case === "userAgentVersion") return version.value
  const number = version.case === "userAgentBuildVersion" ? version.value.version : undefined
  return number === undefined ? "" : `${number.majorNumber}.${number.minorNumber}.${number.patch}`
}

/**
 * What is kept of a node.
 *
 * @since 0.1.0
 */
export const identityOf = (node: Node): NodeIdentity => ({
  id: node.id,
  cluster: node.cluster,
  userAgentName: node.userAgentName,
  userAgentVersion: agentVersion(node)
})

/**
 * A client in one line, for logs: `node "ingress-1" (cluster "edge", envoy 1.33.0) at 127.0.0.1:40312`.
 *
 * @since 0.1.0
 */
export const format = ({ node, peer }: ConnectedClient): string => {
  if (node === undefined) return `client at ${peer.address}`
  const agent = [node.userAgentName, node.userAgentVersion].filter((part) => part !== "").join(" ")
  const details = [`cluster ${JSON.stringify(node.cluster)}`, ...(agent === "" ? [] : [agent])].join(", ")
  return `node ${JSON.stringify(node.id)} (${details}) at ${peer.address}`
}
