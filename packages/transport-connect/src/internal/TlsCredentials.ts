/**
 * Keys and certificates, from PEM text or from files.
 */
import * as Effect from "effect/Effect"
import { readFile } from "node:fs/promises"
import type { SecureContextOptions, TlsOptions } from "node:tls"
import { createSecureContext } from "node:tls"

export interface Credentials {
  readonly key: string
  readonly cert: string
  readonly ca?: string | undefined
  readonly requireClientCertificate?: boolean | undefined
}

/** Why credentials are of no use, with the name of the option. */
export interface Unusable {
  readonly reason: string
  readonly cause: unknown
}

const unusable =
  (what: string) =>
  (cause: unknown): Unusable => ({
    reason: `${what}: ${cause instanceof Error ? cause.message : String(cause)}`,
    cause
  })

const pem = (name: string, value: string): Effect.Effect<string, Unusable> =>
  value.includes("-----BEGIN ")
    ? Effect.succeed(value)
    : Effect.tryPromise({ try: () => readFile(value, "utf8"), catch: unusable(`tls.${name} cannot be read`) })

/** The options of a TLS server. Reads the files, and fails for what is not a key or a certificate. */
export const load = (credentials: Credentials): Effect.Effect<TlsOptions, Unusable> =>
  Effect.gen(function* () {
    const { key, cert, ca, requireClientCertificate = false } = credentials
    const context: SecureContextOptions = {
      key: yield* pem("key", key),
      cert: yield* pem("cert", cert),
      ...(ca === undefined ? {} : { ca: yield* pem("ca", ca) })
    }
    yield* Effect.try({ try: () => createSecureContext(context), catch: unusable("tls cannot be used") })
    return {
      ...context,
      ALPNProtocols: ["h2", "http/1.1"],
      requestCert: ca !== undefined || requireClientCertificate,
      rejectUnauthorized: requireClientCertificate
    }
  })
