/**
 * The client's port: how a client reaches a server, and what it receives from each stream.
 *
 * Messages are bytes in both directions: `DiscoveryRequest` and `DiscoveryResponse`, or the `Delta…` ones. Nothing is
 * delivered without credit: a stream begins with credit for one message and gets more by {@link ClientStream.next}, so
 * a busy client slows the server down and queues nothing.
 *
 * @since 0.1.0
 */
import type { Request } from "@effect-xds/core"
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import type * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { Status } from "./Status.js"

/**
 * How a client and a server authenticate each other.
 *
 * @since 0.1.0
 */
export type Credentials =
  /** Without TLS. */
  | { readonly _tag: "Insecure" }
  /** TLS, and with a key mTLS. Each is PEM text or the path of a PEM file, which is read again for each connection. */
  | {
      readonly _tag: "Tls"
      /** The authorities that may have signed the server's certificate. Default: those of the system. */
      readonly ca?: string | undefined
      /** The client's own certificate and key, both or none. */
      readonly cert?: string | undefined
      readonly key?: string | undefined
      /** The name the server's certificate must have. Default: the host of the address. */
      readonly serverName?: string | undefined
    }

/**
 * Credentials without TLS.
 *
 * @since 0.1.0
 */
export const insecure: Credentials = { _tag: "Insecure" }

/**
 * A server, as a client knows it.
 *
 * @since 0.1.0
 */
export interface Server {
  /** In gRPC's syntax: `xds.example:18000`, `dns:///xds.example:18000`, `ipv4:10.0.0.1:18000`, `unix:/run/xds.sock`. */
  readonly address: string
  readonly credentials: Credentials
}

/**
 * The method of a stream: the protocol variant, and the service.
 *
 * @since 0.1.0
 */
export interface Method {
  readonly protocol: Request.Protocol
  /** The type URL of a separate service; `undefined` for the aggregated one (ADS). */
  readonly typeUrl: string | undefined
}

/**
 * A stream that is opening or open.
 *
 * @since 0.1.0
 */
export interface ClientStream {
  /** Sends a message. Only between `onOpen` and `onEnd`; else it does nothing. */
  readonly send: (message: Uint8Array) => void
  /** Gives credit for one more message. May be called from within `onMessage`. */
  readonly next: () => void
  /** Ends the stream. The handler is not called again. */
  readonly end: () => void
}

/**
 * The client's callbacks for one stream. They must not throw. None is called after `onEnd`, nor from within `open`,
 * `send` or `end`; `next` may deliver buffered messages at once.
 *
 * @since 0.1.0
 */
export interface StreamHandler {
  /** The connection is open: messages sent from now on reach the server, unless the stream ends. */
  readonly onOpen: () => void
  readonly onMessage: (message: Uint8Array) => void
  /** The stream could not be opened, was ended by the server, or was lost; the message of the status says which. */
  readonly onEnd: (status: Status) => void
}

/**
 * The connection to one server, shared by its streams. It is made when the first stream is opened, and again after a
 * loss. The client decides when to retry, by opening another stream.
 *
 * @since 0.1.0
 */
export interface Channel {
  readonly open: (method: Method, handler: StreamHandler) => ClientStream
}

/**
 * A server whose address or credentials can never work.
 *
 * @since 0.1.0
 */
export class ClientTransportError extends Data.TaggedError("ClientTransportError")<{
  /** As it was given: `dns:///xds.example:18000`. */
  readonly address: string
  readonly reason: string
  /** The cause in words, unless the reason contains it. */
  readonly cause?: string | undefined
}> {
  override get message(): string {
    return `cannot use the xDS server ${JSON.stringify(this.address)}: ${this.reason}`
  }
}

/**
 * The operations of the port.
 *
 * @since 0.1.0
 */
export interface Service {
  /** A channel that lives until the scope closes; then its streams are ended and its connection is closed. */
  readonly connect: (server: Server) => Effect.Effect<Channel, ClientTransportError, Scope.Scope>
}

/**
 * The service tag of the port.
 *
 * @since 0.1.0
 */
export class ClientTransport extends Context.Tag("@effect-xds/transport/ClientTransport")<ClientTransport, Service>() {}
