/**
 * Why a TLS connection failed, in words that tell what to change. For the transports; it needs Node and is not in the index.
 *
 * @since 0.1.0
 */
import type { Credentials } from "@effect-xds/transport/ClientTransport"
import { Socket } from "node:net"
import type { TLSSocket } from "node:tls"

const codeOf = (error: Error): string => String(Reflect.get(error, "code"))

/** OpenSSL's reasons for bytes that are no record of TLS: another protocol in the clear. */
const noRecord: ReadonlySet<string> = new Set([
  "wrong version number",
  "http request",
  "packet length too long",
  "bad record type",
  "record layer failure"
])

const noTls = "what the other side says is not TLS; it may be in the clear"

/**
 * What is told of a handshake that ended without a word.
 *
 * @since 0.1.0
 */
export const cutOff = "the server closed the connection in the TLS handshake; it may be in the clear"

/** That of an error of a socket is only in its message: `write EPROTO 80…:error:0A…:SSL routines:ssl3_get_record:REASON:…`. */
const inMessage = /:SSL routines:[^:]*:([^:]+):/

/**
 * OpenSSL's reason, without the address and the line of its sources that its message has; of another error the message.
 *
 * @since 0.1.0
 */
export const reasonOf = (error: Error): string => {
  const own: unknown = Reflect.get(error, "reason")
  const reason = isAlert(error) && typeof own === "string" ? own : inMessage.exec(error.message)?.[1]
  if (reason === undefined) return error.message
  return noRecord.has(reason) ? noTls : reason
}

/**
 * Whether OpenSSL gave the error: for what it found itself, or for what the other side said in an alert.
 *
 * @since 0.1.0
 */
export const isAlert = (error: Error): boolean =>
  Reflect.get(error, "library") === "SSL routines" || inMessage.test(error.message)

/** What is wrong with the certificate of a server, by the code that Node gives. */
const ofCertificate = (error: Error): string | undefined => {
  switch (codeOf(error)) {
    case "CERT_HAS_EXPIRED":
      return "the server's certificate, or one of its authority, has expired; replace it, or look at the clocks"
    case "CERT_NOT_YET_VALID":
      return "the server's certificate, or one of its authority, is not valid yet; look at the clocks"
    case "UNABLE_TO_VERIFY_LEAF_SIGNATURE":
    case "UNABLE_TO_GET_ISSUER_CERT":
    case "UNABLE_TO_GET_ISSUER_CERT_LOCALLY":
    // Of an authority of the same name, with another key.
    case "CERT_SIGNATURE_FAILURE":
    case "SELF_SIGNED_CERT_IN_CHAIN":
    case "DEPTH_ZERO_SELF_SIGNED_CERT":
      return `the server's certificate is of no authority that this client trusts (${error.message}); give its authority`
    case "ERR_TLS_CERT_ALTNAME_INVALID": {
      const host = String(Reflect.get(error, "host"))
      const certificate: unknown = Reflect.get(error, "cert")
      const names: unknown =
        typeof certificate === "object" && certificate !== null ? Reflect.get(certificate, "subjectaltname") : undefined
      const own = typeof names === "string" && names !== "" ? names.slice(0, 300) : "no name"
      return `the server's certificate is not for ${host}, but for ${own}`
    }
    default:
      return undefined
  }
}

/** Alerts of servers about the certificate that they were given. */
const refusal = /alert (?:bad certificate|unsupported certificate|certificate (?:revoked|expired|unknown)|unknown ca)$/

/**
 * Why a connection of a client failed: what it did not accept of the server, or the server of it. Of other errors the message.
 *
 * @since 0.1.0
 */
export const ofClient = (error: Error): string => {
  const certificate = ofCertificate(error)
  if (certificate !== undefined) return certificate
  // That for several addresses of a host has a code only.
  if (error.message === "") return codeOf(error)
  // Node says so of every end before the end of the handshake, with no `syscall`.
  if (error.message.endsWith("before secure TLS connection was established")) return cutOff
  const reason = reasonOf(error)
  if (!isAlert(error)) return reason
  if (reason.endsWith("alert no application protocol"))
    return `the server does not speak this client's protocol (${reason})`
  if (reason.endsWith("alert certificate required")) return `the server wants a certificate of this client (${reason})`
  if (refusal.test(reason)) return `the server does not accept this client's certificate (${reason})`
  return reason
}

/**
 * What a server may want that closes the connection without a word.
 *
 * @since 0.1.0
 */
export const ofSilence = (credentials: Credentials): string => {
  if (credentials._tag === "Insecure") return "it may want TLS"
  return credentials.cert === undefined
    ? "it may want a certificate of this client"
    : "it may not accept this client's certificate"
}

/**
 * The socket below TLS, which still has the address of its client when a failed handshake has destroyed the one above.
 *
 * @since 0.1.0
 */
export const transportOf = (socket: TLSSocket): Socket => {
  const below: unknown = Reflect.get(socket, "_parent")
  return socket.remoteAddress === undefined && below instanceof Socket ? below : socket
}

/**
 * Why a handshake failed at a server. Node destroys the socket of a client whose certificate does not verify, and then says
 * `socket hang up`, as of one that went away.
 *
 * @since 0.1.0
 */
export const ofHandshake = (error: Error, socket: TLSSocket): string => {
  // Declared as an Error; it is the code of OpenSSL.
  const { authorizationError: code }: { readonly authorizationError: unknown } = socket
  if (typeof code === "string") return `the client's certificate is not accepted: ${code}`
  if (codeOf(error) !== "ECONNRESET") return reasonOf(error)
  return "the client went away; it may not trust the certificate of this server"
}
