/** Who sends a request, as far as the HTTP server knows. */
import type * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import type * as ServerTransport from "@effect-xds/transport/ServerTransport"
import * as Option from "effect/Option"
import { IncomingMessage } from "node:http"
import { isIP } from "node:net"
import { TLSSocket } from "node:tls"

/** `127.0.0.1:18000`, `[::1]:18000`. */
export const formatAddress = (host: string, port: number): string =>
  host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`

/** An address without its port, which is another one for each connection. */
export const hostOf = (address: string): string => {
  const colon = address.lastIndexOf(":")
  return isIP(address) !== 0 || colon < 0 ? address : address.slice(0, colon)
}

/** `DNS:a.example, URI:spiffe://b`, where a value that holds a separator is a JSON string. */
const alternative = /(?:^|, )([^:,]+):("(?:[^"\\]|\\.)*"|[^,]*)/g

const unquote = (value: string): string => {
  try {
    const parsed: unknown = JSON.parse(value)
    return typeof parsed === "string" ? parsed : value
  } catch {
    return value
  }
}

const identityOf = (socket: TLSSocket): ServerTransport.Identity | undefined => {
  // A certificate that was not verified says nothing.
  if (!socket.authorized) return undefined
  const certificate = socket.getPeerCertificate()
  // Without a certificate the object is empty.
  if (typeof certificate.fingerprint256 !== "string") return undefined
  const name: unknown = certificate.subject.CN
  const commonName: unknown = Array.isArray(name) ? name[0] : name
  return {
    commonName: typeof commonName === "string" ? commonName : undefined,
    subjectAltNames: Array.from(
      (certificate.subjectaltname ?? "").matchAll(alternative),
      ([, kind = "", value = ""]) => `${kind}:${value.startsWith('"') ? unquote(value) : value}`
    ),
    fingerprint: certificate.fingerprint256
  }
}

/** The peer of a request. Its identity is known only where Node's HTTPS server took the connection. */
export const ofRequest = (request: HttpServerRequest.HttpServerRequest): ServerTransport.Peer => {
  const { source } = request
  if (!(source instanceof IncomingMessage)) {
    return { address: Option.getOrElse(request.remoteAddress, () => "unknown"), identity: undefined }
  }
  const { socket } = source
  const host = Option.getOrElse(request.remoteAddress, () => "unknown")
  return {
    address: formatAddress(host, socket.remotePort ?? 0),
    identity: socket instanceof TLSSocket ? identityOf(socket) : undefined
  }
}
