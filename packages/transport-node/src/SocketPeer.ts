/**
 * The peer of a Node socket. For the transports; it needs Node and is not in the index.
 *
 * @since 0.1.0
 */
import type { Socket } from "node:net"
import { TLSSocket } from "node:tls"
import * as ListenAddress from "./ListenAddress.js"
import type * as ServerTransport from "@effect-xds/transport/ServerTransport"

// Node's format is `DNS:a.example, URI:spiffe://b`; a value that contains a separator is a JSON string.
const name = /(?:^|, )([^:,]+):("(?:[^"\\]|\\.)*"|[^,]*)/g

const unquote = (value: string): string => {
  if (!value.startsWith('"')) return value
  try {
    const parsed: unknown = JSON.parse(value)
    return typeof parsed === "string" ? parsed : value
  } catch {
    return value
  }
}

/**
 * Splits Node's text of subject alternative names: `DNS:a, URI:b`.
 *
 * @since 0.1.0
 */
export const splitSubjectAltNames = (names: string | undefined): ReadonlyArray<string> =>
  Array.from((names ?? "").matchAll(name), ([, kind = "", value = ""]) => `${kind}:${unquote(value)}`)

const identityOf = (socket: TLSSocket): ServerTransport.Identity | undefined => {
  // An unverified certificate proves nothing.
  if (!socket.authorized) return undefined
  const certificate = socket.getPeerCertificate()
  // Resumed sessions and clients without a certificate have an empty object.
  if (typeof certificate.fingerprint256 !== "string") return undefined
  const commonName: unknown = certificate.subject.CN
  const first: unknown = Array.isArray(commonName) ? commonName[0] : commonName
  return {
    commonName: typeof first === "string" ? first : undefined,
    subjectAltNames: splitSubjectAltNames(certificate.subjectaltname),
    fingerprint: certificate.fingerprint256
  }
}

/**
 * The peer of a connected socket. Only a verified certificate gives an identity.
 *
 * @param path the Unix socket of the listener, if it is one: then nothing more is known of the peer
 * @since 0.1.0
 */
export const ofSocket = (socket: Socket, path?: string): ServerTransport.Peer => ({
  address:
    path === undefined
      ? ListenAddress.format(socket.remoteAddress ?? "unknown", socket.remotePort ?? 0)
      : `unix:${path}`,
  identity: socket instanceof TLSSocket ? identityOf(socket) : undefined
})
