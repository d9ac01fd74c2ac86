/**
 * The JSON answer of `/status`.
 *
 * @since 0.1.0
 */
import type { ServerStream } from "@effect-xds/core"
import * as ResourceType from "@effect-xds/proto/ResourceType"
import type { Client } from "@effect-xds/server"

/**
 * A version that a client was sent, accepted or rejected. `at` is the time in ISO 8601.
 *
 * @since 0.1.0
 */
export interface Version {
  readonly version: string
  readonly nonce: string
  readonly at: string
}

/**
 * A version that a client rejected, with its error. `code` is a gRPC status code.
 *
 * @since 0.1.0
 */
export interface Rejection extends Version {
  readonly error: { readonly code: number; readonly message: string }
}

/**
 * The state of a type at a client. `waiting`: it subscribed, and its group is not set. `asked`: it subscribed, and
 * nothing was sent yet. `sent`: it has not answered the last response. `acked`, `nacked`: it accepted or rejected the
 * last response.
 *
 * @since 0.1.0
 */
export type TypeState = "waiting" | "asked" | "sent" | "acked" | "nacked"

/**
 * A type that a client subscribed to. `acked` and `nacked` are the last ones; after a corrected response a client has
 * both.
 *
 * @since 0.1.0
 */
export interface TypeStatus {
  /** The short name, such as `CDS`, or the type URL if there is none. */
  readonly type: string
  readonly type_url: string
  readonly state: TypeState
  /** Whether the client has a wildcard subscription. */
  readonly wildcard: boolean
  /** The number of subscribed names. */
  readonly names: number
  /** Up to a hundred of the names, unsorted; each cut to 256 characters. */
  readonly named: ReadonlyArray<string>
  readonly sent: Version | null
  readonly acked: Version | null
  readonly nacked: Rejection | null
  /** The size of the last response in bytes, if it exceeds the server's `maxResponseBytes`; clients may refuse it. */
  readonly oversized_bytes: number | null
}

/**
 * One stream of a client.
 *
 * @since 0.1.0
 */
export interface ClientStatus {
  /** Unique for the life of the server. */
  readonly id: number
  /** `null` until its first request. */
  readonly node: { readonly id: string; readonly cluster: string; readonly user_agent: string } | null
  readonly group: string | null
  readonly address: string
  /** The name in its verified certificate, if it has one: the common name, else the first alternative name. */
  readonly identity: string | null
  readonly protocol: "state-of-the-world" | "incremental"
  /** `ADS`, or the short name of the type of a separate service. */
  readonly service: string
  readonly connected_at: string
  /** Whether it waits for a group that is not set. */
  readonly waiting: boolean
  readonly types: ReadonlyArray<TypeStatus>
}

/**
 * A group of the store: the number of its resources by the short names of their types.
 *
 * @since 0.1.0
 */
export interface GroupStatus {
  readonly group: string
  readonly resources: Readonly<Record<string, number>>
  /** The broken rules of its resources that are served all the same, in words; absent: none, or not checked. */
  readonly invalid?: ReadonlyArray<string> | undefined
  /**
   * The rules over its resources together that are broken, in words; the last entry may be the number of further ones. Absent:
   * none, or not checked.
   */
  readonly broken?: ReadonlyArray<string> | undefined
}

/**
 * The whole answer. A server may add members.
 *
 * @since 0.1.0
 */
export interface StatusReport {
  /** The time of the report, in ISO 8601. */
  readonly at: string
  /** The reasons why `/readyz` answers 503. */
  readonly not_ready: ReadonlyArray<string>
  readonly groups: ReadonlyArray<GroupStatus>
  readonly clients: ReadonlyArray<ClientStatus>
}

const identityOf = ({ peer }: Client.ConnectedClient): string | null =>
  peer.identity?.commonName ?? peer.identity?.subjectAltNames[0] ?? null

const stateOf = ({ acked, nacked, sent, waiting }: ServerStream.Status): TypeState => {
  if (waiting) return "waiting"
  if (sent === undefined) return "asked"
  if (nacked?.nonce === sent.nonce) return "nacked"
  return acked?.nonce === sent.nonce ? "acked" : "sent"
}

/**
 * A client's status as JSON. `wallClockOf` converts the server's milliseconds to Unix time in milliseconds.
 *
 * @since 0.1.0
 */
export const ofClient = (status: Client.ClientStatus, wallClockOf: (millis: number) => number): ClientStatus => {
  const { connectedAt, group, id, method, node, oversized, peer, types, waiting } = status
  const versionOf = ({ at, nonce, version }: { at: number; nonce: string; version: string }): Version => ({
    version,
    nonce,
    at: new Date(wallClockOf(at)).toISOString()
  })
  const typeOf = (type: ServerStream.Status): TypeStatus => {
    const { acked, nacked, named, names, sent, typeUrl, wildcard } = type
    return {
      type: ResourceType.shortNameOf(typeUrl),
      type_url: typeUrl,
      state: stateOf(type),
      wildcard: wildcard !== "none",
      names,
      named,
      sent: sent === undefined ? null : versionOf(sent),
      acked: acked === undefined ? null : versionOf(acked),
      nacked: nacked === undefined ? null : { ...versionOf(nacked), error: nacked.error },
      oversized_bytes: oversized.get(typeUrl) ?? null
    }
  }
  return {
    id,
    node:
      node === undefined
        ? null
        : { id: node.id, cluster: node.cluster, user_agent: `${node.userAgentName} ${node.userAgentVersion}`.trim() },
    group: group ?? null,
    address: peer.address,
    identity: identityOf(status),
    protocol: method.protocol === "Incremental" ? "incremental" : "state-of-the-world",
    service: method.typeUrl === undefined ? "ADS" : ResourceType.shortNameOf(method.typeUrl),
    connected_at: new Date(connectedAt).toISOString(),
    waiting,
    types: types.map(typeOf)
  }
}
