/**
 * What `/status` answers with, as JSON.
 *
 * @since 0.1.0
 */
import type { ServerStream } from "@effect-xds/core"
import * as ResourceType from "@effect-xds/proto/ResourceType"
import type { Client } from "@effect-xds/server"

/**
 * A version that a client was sent, accepted or rejected, and when, in ISO 8601.
 *
 * @since 0.1.0
 */
export interface Version {
  readonly version: string
  readonly nonce: string
  readonly at: string
}

/**
 * What a client said of a version that it rejected. `code` is a gRPC status code.
 *
 * @since 0.1.0
 */
export interface Rejection extends Version {
  readonly error: { readonly code: number; readonly message: string }
}

/**
 * What a client makes of a type. `waiting`: it asked for something, and its group is not set. `asked`: it was sent nothing yet.
 * `sent`: it did not answer the last response. `acked`, `nacked`: it accepted or rejected that.
 *
 * @since 0.1.0
 */
export type TypeState = "waiting" | "asked" | "sent" | "acked" | "nacked"

/**
 * One type that a client asked for. `acked` and `nacked` are the last ones; a client that corrected itself has both.
 *
 * @since 0.1.0
 */
export interface TypeStatus {
  /** `CDS`; the type URL for types that have no short name. */
  readonly type: string
  readonly type_url: string
  readonly state: TypeState
  /** Everything of the type was asked for. */
  readonly wildcard: boolean
  /** How many names were asked for. */
  readonly names: number
  /** The first hundred of them, in no order; of longer ones the first 256 characters. */
  readonly named: ReadonlyArray<string>
  readonly sent: Version | null
  readonly acked: Version | null
  readonly nacked: Rejection | null
  /** Bytes of the last response if that is larger than the server's `maxResponseBytes`, which clients may refuse. */
  readonly oversized_bytes: number | null
}

/**
 * One stream of a client.
 *
 * @since 0.1.0
 */
export interface ClientStatus {
  /** Unique while the server lives. */
  readonly id: number
  /** `null` until its first request. */
  readonly node: { readonly id: string; readonly cluster: string; readonly user_agent: string } | null
  readonly group: string | null
  readonly address: string
  /** Of its certificate, if it gave one: the common name, else the first alternative name. */
  readonly identity: string | null
  readonly protocol: "state-of-the-world" | "incremental"
  /** `ADS`, or the short name of the one type of a separate service. */
  readonly service: string
  readonly connected_at: string
  /** It asked for something that cannot be answered: its group is not set. */
  readonly waiting: boolean
  readonly types: ReadonlyArray<TypeStatus>
}

/**
 * One group of the store: how many resources it has, by the short names of their types.
 *
 * @since 0.1.0
 */
export interface GroupStatus {
  readonly group: string
  readonly resources: Readonly<Record<string, number>>
}

/**
 * The whole answer. A server may add members of its own.
 *
 * @since 0.1.0
 */
export interface StatusReport {
  /** When it was made, in ISO 8601. */
  readonly at: string
  /** What keeps `/readyz` from saying yes. */
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
 * A client as JSON. `wallClockOf` turns the server's milliseconds into those since 1970.
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
