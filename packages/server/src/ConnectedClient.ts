/**
 * The clients of a server: one entry per open stream.
 *
 * @since 0.1.0
 */
import type { ServerStream } from "@effect-xds/core"
import type { Node } from "@effect-xds/proto/envoy/config/core/v3/base"
import type { ServerTransport } from "@effect-xds/transport"

/**
 * The part of a node that the server keeps. A client sends its node once per stream; an Envoy's has some 60 KB.
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
 * The connection of a stream, which hooks get beside the node.
 *
 * @since 0.1.0
 */
export interface Origin {
  readonly peer: ServerTransport.Peer
  /** Request headers; names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  readonly method: ServerTransport.Method
}

/**
 * The client of a stream.
 *
 * @since 0.1.0
 */
export interface ConnectedClient {
  /** The id of the stream, unique for the life of the server. */
  readonly id: number
  /** `undefined` until the first request. */
  readonly node: NodeIdentity | undefined
  /** `undefined` until it is known. */
  readonly group: string | undefined
  readonly peer: ServerTransport.Peer
}

/**
 * The status of a client.
 *
 * @since 0.1.0
 */
export interface ClientStatus extends ConnectedClient {
  readonly method: ServerTransport.Method
  /** Unix time in milliseconds. */
  readonly connectedAt: number
  /** Whether it subscribed and its group is not set: the group never was, or was cleared. */
  readonly waiting: boolean
  /** Type URL → bytes of the last response of the type, if larger than `maxResponseBytes`. */
  readonly oversized: ReadonlyMap<string, number>
  /** Per type: the subscription, and the sent, ACKed and NACKed versions with the client's error. */
  readonly types: ReadonlyArray<ServerStream.Status>
}

const agentVersion = (node: Node): string => {
  const version = node.userAgentVersionType
  if (version.case === "userAgentVersion") return version.value
  const number = version.case === "userAgentBuildVersion" ? version.value.version : undefined
  return number === undefined ? "" : `${number.majorNumber}.${number.minorNumber}.${number.patch}`
}

/**
 * The part of a node that is kept.
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
