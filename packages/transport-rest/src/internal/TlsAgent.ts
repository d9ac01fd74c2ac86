/** TLS connections that read their files each time, since certificates are replaced while a program runs. */
import * as Reason from "@effect-xds/proto/Reason"
import * as ClientTls from "@effect-xds/transport-node/ClientTls"
import type * as ClientTransport from "@effect-xds/transport/ClientTransport"
import * as Https from "node:https"
import * as Net from "node:net"
import type { Duplex } from "node:stream"
import * as Tls from "node:tls"

type TlsCredentials = Extract<ClientTransport.Credentials, { readonly _tag: "Tls" }>

export class TlsAgent extends Https.Agent {
  /** The last usable context. */
  #context: Tls.SecureContextOptions
  readonly #name: string

  /** Throws for unusable TLS files. `onStale`: called when they become unusable; the last context stays. */
  constructor(
    private readonly credentials: TlsCredentials,
    host: string,
    private readonly onStale: (reason: string) => void,
    options: Https.AgentOptions
  ) {
    // A resumed session would keep its first certificates.
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
        // SNI cannot name an IP address; the certificate is checked for it all the same.
        servername: Net.isIP(name) === 0 ? name : "",
        checkServerIdentity: (_, certificate) => Tls.checkServerIdentity(name, certificate)
      },
      callback
    )
  }
}
