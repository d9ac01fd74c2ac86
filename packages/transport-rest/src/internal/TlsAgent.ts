/** Connections over TLS whose files are read for each of them: certificates are exchanged while a program runs. */
import type * as ClientTransport from "@effect-xds/transport/ClientTransport"
import { readFileSync } from "node:fs"
import * as Https from "node:https"
import * as Net from "node:net"
import type { Duplex } from "node:stream"
import * as Tls from "node:tls"

export type TlsCredentials = Extract<ClientTransport.Credentials, { readonly _tag: "Tls" }>

const pem = (value: string): string => (value.includes("-----BEGIN ") ? value : readFileSync(value, "utf8"))

/** Throws for files that cannot be read or used. */
const secureContext = ({ ca, cert, key }: TlsCredentials): Tls.SecureContextOptions => {
  const context = {
    ...(ca === undefined ? {} : { ca: pem(ca) }),
    ...(cert === undefined || key === undefined ? {} : { cert: pem(cert), key: pem(key) })
  }
  Tls.createSecureContext(context)
  return context
}

export class TlsAgent extends Https.Agent {
  /** As it was last of use. */
  #context: Tls.SecureContextOptions
  readonly #name: string

  /** Throws for TLS files that cannot be used. `onStale`: they cannot be used any more, and the last ones stay. */
  constructor(
    private readonly credentials: TlsCredentials,
    host: string,
    private readonly onStale: (reason: string) => void,
    options: Https.AgentOptions
  ) {
    // A session that is resumed would go on with the certificates it began with.
    super({ ...options, maxCachedSessions: 0 })
    this.#context = secureContext(credentials)
    this.#name = credentials.serverName ?? host
  }

  override createConnection(
    options: Https.RequestOptions,
    callback?: (error: Error | null, stream: Duplex) => void
  ): Duplex | null | undefined {
    try {
      this.#context = secureContext(this.credentials)
    } catch (cause) {
      this.onStale(cause instanceof Error ? cause.message : String(cause))
    }
    const name = this.#name
    return super.createConnection(
      {
        ...options,
        ...this.#context,
        // TLS has no way to ask for an IP address; that it is in the certificate is checked all the same.
        servername: Net.isIP(name) === 0 ? name : "",
        checkServerIdentity: (_, certificate) => Tls.checkServerIdentity(name, certificate)
      },
      callback
    )
  }
}
