/**
 * Why a TLS connection failed, in words that tell what to change. For the transports; it needs Node and is not in the index.
 *
 * @since 0.1.0
 */
import type { TLSSocket } from "node:tls"

/**
 * OpenSSL's reason, without the address and the line of its sources that its message has; of another error the message.
 *
 * @since 0.1.0
 */
export const reasonOf = (error: Error): string => {
  const reason: unknown = Reflect.get(error, "reason")
  if (!isAlert(error) || typeof reason !== "string") return error.message
  return reason === "wrong version number" ? `${reason}; the other side may not speak TLS` : reason
}

/**
 * Whether OpenSSL gave the error: for what it found itself, or for what the other side said in an alert.
 *
 * @since 0.1.0
 */
export const isAlert = (error: Error): boolean => Reflect.get(error, "library") === "SSL routines"

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
  if (Reflect.get(error, "code") !== "ECONNRESET") return reasonOf(error)
  return "the client went away; it may not trust the certificate of this server"
}
