/**
 * The client side's port: how a client reaches a server, and what it hears from each stream.
 *
 * Messages go both ways as bytes: `DiscoveryRequest` and `DiscoveryResponse`, or the `Delta…` ones. Nothing is delivered
 * without credit: a stream begins with credit for one message and gets more by {@link ClientStream.next}, so a client
 * that is busy slows the server down and queues nothing.
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
 * How a client and a server make sure of each other.
 *
 * @since 0.1.0
 */
export type Credentials =
  /** In the clear. */
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
 * Clear text.
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
 * Which service a stream is of.
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
  /** Ends the stream. The handler hears nothing more. */
  readonly end: () => void
}

/**
 * What a client does with a stream. None of these may throw, and after `onEnd` none is called. None is called from within
 * `open`, `send` or `end`; `next` may deliver at once what has arrived already.
 *
 * @since 0.1.0
 */
export interface StreamHandler {
  /** The connection is there: what is sent from now on reaches the server, unless the stream ends. */
  readonly onOpen: () => void
  readonly onMessage: (message: Uint8Array) => void
  /** It could not be opened, was ended by the server, or was lost; the status says which, in words for people. */
  readonly onEnd: (status: Status) => void
}

/**
 * The way to one server. Its streams share a connection, which is made when the first one is opened and again after it
 * was lost. When to try again is for the client to say, by opening another stream.
 *
 * @since 0.1.0
 */
export interface Channel {
  readonly open: (method: Method, handler: StreamHandler) => ClientStream
}

/**
 * Why a server can never be reached as it was described.
 *
 * @since 0.1.0
 */
export class ClientTransportError extends Data.TaggedError("ClientTransportError")<{
  /** As it was given: `dns:///xds.example:18000`. */
  readonly address: string
  readonly reason: string
  readonly cause?: unknown
}> {
  override get message(): string {
    return `cannot use the xDS server ${JSON.stringify(this.address)}: ${this.reason}`
  }
}

/**
 * The port.
 *
 * @since 0.1.0
 */
export interface Service {
  /** A channel that lives until the scope closes; then its streams are ended and its connection is closed. */
  readonly connect: (server: Server) => Effect.Effect<Channel, ClientTransportError, Scope.Scope>
}

/**
 * The tag of the port.
 *
 * @since 0.1.0
 */
export class ClientTransport extends Context.Tag("@effect-xds/transport/ClientTransport")<ClientTransport, Service>() {}
