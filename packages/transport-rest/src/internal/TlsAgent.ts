/** Connections over TLS whose files are read for each of them: certificates are exchanged while a program runs. */
import * as Reason from "@effect-xds/proto/Reason"
import * as ClientTls from "@effect-xds/transport-node/ClientTls"
import type * as ClientTransport from "@effect-xds/transport/ClientTransport"
import * as Https from "node:https"
import * as Net from "node:net"
import type { Duplex } from "node:stream"
import * as Tls from "node:tls"

type TlsCredentials = Extract<ClientTransport.Credentials, { readonly _tag: "Tls" }>

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
    this.#context = ClientTls.load(credentials)
    this.#name = credentials.serverName ?? host
  }

  override createConnection(
    options: Https.RequestOptions,
    callback?: (error: Error | null, stream: Duplex) => void
  ): Duplex | null | undefined {
    try {
      this.#context = ClientTls.load(this.credentials)
    } catch (cause) {
      this.onStale(Reason.of(cause))
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
