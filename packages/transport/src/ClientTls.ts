/**
 * Keys and certificates of clients on Node, from PEM text or from files. For the transports; it needs Node and is not in
 * the index.
 *
 * @since 0.1.0
 */
import { readFileSync } from "node:fs"
import type { SecureContextOptions } from "node:tls"
import { createSecureContext } from "node:tls"
import type { Credentials } from "./ClientTransport.js"
import * as Pem from "./internal/Pem.js"

const pem = (value: string): string => (Pem.isText(value) ? value : readFileSync(value, "utf8"))

/**
 * Reads the files as they are now: each connection has the certificates of its time. Throws for files that cannot be read
 * or used.
 *
 * @since 0.1.0
 */
export const load = ({ ca, cert, key }: Extract<Credentials, { readonly _tag: "Tls" }>): SecureContextOptions => {
  const context = {
    ...(ca === undefined ? {} : { ca: pem(ca) }),
    ...(cert === undefined || key === undefined ? {} : { cert: pem(cert), key: pem(key) })
  }
  createSecureContext(context)
  return context
}
