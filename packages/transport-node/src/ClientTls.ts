/**
 * Keys and certificates of clients on Node, from PEM text or from files. For the transports; it needs Node and is not in
 * the index.
 *
 * @since 0.1.0
 */
import type { SecureContextOptions } from "node:tls"
import { createSecureContext } from "node:tls"
import type { Credentials } from "@effect-xds/transport/ClientTransport"
import * as Certificates from "./Certificates.js"
import * as Ciphers from "./internal/Ciphers.js"
import * as Keys from "./internal/Keys.js"
import * as Pem from "./internal/Pem.js"
import * as RegularFile from "./RegularFile.js"

const pem = (value: string): string => (Pem.isText(value) ? value : RegularFile.readSync(value))

/**
 * Reads the files as they are now, so that each connection uses the current certificates. TLS 1.3 and 1.2, the latter
 * only with forward secrecy and authenticated encryption. Throws for files that cannot be read or used.
 *
 * @since 0.1.0
 */
export const load = ({ ca, cert, key }: Extract<Credentials, { readonly _tag: "Tls" }>): SecureContextOptions => {
  const context = {
    ...(ca === undefined ? {} : { ca: pem(ca) }),
    ...(cert === undefined || key === undefined ? {} : { cert: pem(cert), key: pem(key) }),
    ciphers: Ciphers.suites,
    minVersion: Ciphers.minVersion
  } satisfies SecureContextOptions
  const fileOf = (value: string): string | undefined => (Pem.isText(value) ? undefined : value)
  if (ca !== undefined && context.ca !== undefined) Certificates.read({ use: "ca", file: fileOf(ca), pem: context.ca })
  if (cert !== undefined && context.cert !== undefined) {
    Certificates.read({ use: "cert", file: fileOf(cert), pem: context.cert })
  }
  if (key === undefined || context.key === undefined) createSecureContext(context)
  else {
    const problem = Keys.problemOf(context.key, fileOf(key))
    if (problem !== undefined) throw new Error(problem)
    try {
      createSecureContext(context)
    } catch (cause) {
      throw new Error(Keys.unusable(cause, fileOf(key)))
    }
  }
  return context
}

/**
 * The current certificates of the files, for {@link Certificates.watch}. Unreadable ones are left out.
 *
 * @since 0.1.0
 */
export const sources = ({
  ca,
  cert
}: Extract<Credentials, { readonly _tag: "Tls" }>): ReadonlyArray<Certificates.Source> => {
  const sourceOf = (use: "cert" | "ca", value: string | undefined): ReadonlyArray<Certificates.Source> => {
    if (value === undefined) return []
    try {
      return [{ use, file: Pem.isText(value) ? undefined : value, pem: pem(value) }]
    } catch {
      return []
    }
  }
  return [...sourceOf("cert", cert), ...sourceOf("ca", ca)]
}
