/**
 * The server's port: what a transport provides for each accepted stream, and which callbacks it calls.
 *
 * Requests arrive decoded, responses leave as bytes. Nothing is written without credit: after {@link
 * AcceptedStream.write} returned `false`, the server waits for {@link StreamHandler.onWritable}. All calls are
 * synchronous and must not throw; a callee may call back at once.
 *
 * @since 0.1.0
 */
import type { Request } from "@effect-xds/core"
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import type { Status } from "./Status.js"

/**
 * The peer of a stream: its address, and its TLS identity.
 *
 * @since 0.1.0
 */
export interface Peer {
  /** For people: `127.0.0.1:40312`. */
  readonly address: string
  /** The identity of the peer's certificate, if it sent one that was verified. */
  readonly identity: Identity | undefined
}

/**
 * A verified TLS identity.
 *
 * @since 0.1.0
 */
export interface Identity {
  /** Subject common name, if any. */
  readonly commonName: string | undefined
  /** Subject alternative names, with their kind: `DNS:a.example`, `URI:spiffe://…`. */
  readonly subjectAltNames: ReadonlyArray<string>
  /** SHA-256 of the certificate, in hexadecimal with colons. */
  readonly fingerprint: string
}

/**
 * The method of a stream: the protocol variant, the service, and whether it is unary.
 *
 * @since 0.1.0
 */
export interface Method {
  readonly protocol: Request.Protocol
  /** The type URL of a separate service; `undefined` for the aggregated one (ADS). */
  readonly typeUrl: string | undefined
  /** One request and one response (Fetch…). */
  readonly unary: boolean
}

/**
 * An encoded response: `body` then `suffix`. The body is shared by all streams that send the same and must not be
 * modified; the suffix belongs to this stream.
 *
 * @since 0.1.0
 */
export interface Outgoing {
  readonly body: Uint8Array
  readonly suffix: Uint8Array
}

/**
 * A stream that a transport accepted, as the server uses it.
 *
 * @since 0.1.0
 */
export interface AcceptedStream {
  readonly peer: Peer
  readonly method: Method
  /** The request headers, names in lower case; values of a repeated name joined with `, `. */
  readonly headers: Readonly<Record<string, string>>
  /**
   * Whether an answer must be one response, however large, as for a unary method. Default: false; an answer with many
   * resources may be split.
   */
  readonly whole?: boolean | undefined
  /**
   * Sends a response. `true`: there is credit for another one. `false`: the response was taken, but the next must wait
   * for {@link StreamHandler.onWritable}. A stream begins with credit for one.
   */
  readonly write: (response: Outgoing) => boolean
  /**
   * {@link write} for a large response, whose body is these pieces one after the other, shared and not to be modified like a body. The
   * server calls it in place of `write`, if the transport has it, and need not copy the pieces into one buffer.
   */
  readonly writePieces?: ((body: ReadonlyArray<Uint8Array>, suffix: Uint8Array) => boolean) | undefined
  /**
   * Ends the stream with a status, after all written responses. A unary stream whose response was written ends with OK.
   * A second call does nothing. Nothing may be written afterwards, and the handler is not called again.
   */
  readonly end: (status: Status) => void
  /**
   * Whether the server takes requests now. On `false` a transport with this function stops reading from the client, so
   * that back-pressure, not memory, holds further requests; requests that were already read are still delivered. While
   * it is `false`, the server is processing earlier requests and may still send their responses. A stream begins with
   * `true`.
   */
  readonly setReading?: ((wanted: boolean) => void) | undefined
}

/**
 * The server's callbacks for one stream. A transport calls none of them after `onEnd`.
 *
 * @since 0.1.0
 */
export interface StreamHandler {
  readonly onRequest: (request: Request.Request) => void
  /** There is credit again. Called once after every `write` that returned `false`. */
  readonly onWritable: () => void
  /**
   * The stream is over: the peer ended it, it was lost, the transport refused a message or is shutting down, or a unary
   * stream was answered. The reason is for logs.
   */
  readonly onEnd: (reason: string) => void
}

/**
 * A transport that cannot serve, and why.
 *
 * @since 0.1.0
 */
export class ServerTransportError extends Data.TaggedError("ServerTransportError")<{
  /** The address it could not serve on: `127.0.0.1:18000`. */
  readonly address: string
  readonly reason: string
  /** The cause in words, unless the reason contains it. */
  readonly cause?: string | undefined
}> {
  override get message(): string {
    return `cannot serve on ${this.address}: ${this.reason}`
  }
}

/**
 * The operations of the port. A server passes its `accept` to each of its transports.
 *
 * @since 0.1.0
 */
export interface Service {
  /**
   * Serves until the scope closes. Then no new stream is accepted, and open streams are ended.
   *
   * @returns the address that is served, for logs: `127.0.0.1:18000`
   */
  readonly serve: (
    accept: (stream: AcceptedStream) => StreamHandler
  ) => Effect.Effect<string, ServerTransportError, Scope.Scope>
}

/**
 * Several transports as one: a server serves on all of them, with one status and one stream of events. If one of them
 * cannot serve, none does.
 *
 * @since 0.1.0
 */
export const all = (transports: ReadonlyArray<Service>): Service => ({
  serve: (accept) =>
    Effect.map(
      Effect.forEach(transports, (transport) => transport.serve(accept)),
      (addresses) => addresses.join(", ")
    )
})

/**
 * A stream with some of its members replaced: for a decorator between a transport and a server.
 *
 * @since 0.1.0
 */
export const override = (stream: AcceptedStream, changes: Partial<AcceptedStream>): AcceptedStream => ({
  peer: stream.peer,
  method: stream.method,
  headers: stream.headers,
  whole: stream.whole,
  write: stream.write,
  // What sees all that is written sees these, too.
  writePieces: changes.write === undefined ? stream.writePieces : undefined,
  end: stream.end,
  setReading: stream.setReading === undefined ? undefined : (wanted) => stream.setReading?.(wanted),
  ...changes
})

/**
 * The service tag of the port.
 *
 * @since 0.1.0
 */
export class ServerTransport extends Context.Tag("@effect-xds/transport/ServerTransport")<ServerTransport, Service>() {}

/**
 * Merges the layers of several transports into one with {@link all}; their other services are kept.
 *
 * @example
 * import { ServerTransport } from "@effect-xds/transport"
 * import { Layer } from "effect"
 *
 * declare const grpc: Layer.Layer<ServerTransport.ServerTransport>
 * declare const rest: Layer.Layer<ServerTransport.ServerTransport>
 *
 * const both = ServerTransport.layerAll(grpc, rest)
 *
 * @since 0.1.0
 */
export function layerAll<Layers extends readonly [AnyLayer, ...ReadonlyArray<AnyLayer>]>(
  ...layers: Layers
): Layer.Layer<
  { [K in keyof Layers]: Layer.Layer.Success<Layers[K]> }[number],
  { [K in keyof Layers]: Layer.Layer.Error<Layers[K]> }[number],
  { [K in keyof Layers]: Layer.Layer.Context<Layers[K]> }[number]
>
export function layerAll(...layers: ReadonlyArray<AnyLayer>): Layer.Layer<ServerTransport, unknown, unknown> {
  return Layer.scopedContext(
    Effect.map(
      Effect.forEach(layers, (layer) => Layer.build(layer)),
      (contexts) => {
        const transports = contexts.map((context) => Context.get(context, ServerTransport))
        const merged = contexts.reduce((one, other) => Context.merge(one, other))
        return Context.add(merged, ServerTransport, all(transports))
      }
    )
  )
}

type AnyLayer = Layer.Layer<ServerTransport, unknown, unknown>
