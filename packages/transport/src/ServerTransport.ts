/**
 * The server side's port: what a transport gives a server for each stream it accepts, and what it wants in return.
 *
 * Requests go in decoded, responses go out as bytes, and nothing is written without credit: after {@link
 * AcceptedStream.write} said `false`, a server waits for {@link StreamHandler.onWritable}. All calls are synchronous and
 * none throws; whoever is called may call back at once.
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
 * Who is at the other end.
 *
 * @since 0.1.0
 */
export interface Peer {
  /** For people: `127.0.0.1:40312`. */
  readonly address: string
  /** What the peer's certificate says, where it gave one that was verified. */
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
 * Which method was called.
 *
 * @since 0.1.0
 */
export interface Method {
  readonly protocol: Request.Protocol
  /** The type URL of a separate service; `undefined` for the aggregated one (ADS). */
  readonly typeUrl: string | undefined
  /** One request, one response: Fetch… */
  readonly unary: boolean
}

/**
 * An outgoing response: the body is shared by all streams that send the same and must not be written into, the suffix
 * is this stream's own. The message is the two, one after the other.
 *
 * @since 0.1.0
 */
export interface Outgoing {
  readonly body: Uint8Array
  readonly suffix: Uint8Array
}

/**
 * A stream that a transport accepted.
 *
 * @since 0.1.0
 */
export interface AcceptedStream {
  readonly peer: Peer
  readonly method: Method
  /** The request headers, names in lower case; values of a repeated name joined with `, `. */
  readonly headers: Readonly<Record<string, string>>
  /**
   * Whether an answer must be one response, however large, as that of a unary method is: the client takes each by itself. Default:
   * false; an answer to many names may come in several.
   */
  readonly whole?: boolean | undefined
  /**
   * Sends a response. `true`: there is credit for another one. `false`: this one was taken, but nothing more may be
   * written until {@link StreamHandler.onWritable}. A stream begins with credit for one.
   */
  readonly write: (response: Outgoing) => boolean
  /**
   * Ends the stream with a status, after what was written. A unary stream whose response was written is ended with OK. A second call does
   * nothing; nothing may be written afterwards, and the handler hears nothing more.
   */
  readonly end: (status: Status) => void
  /**
   * Whether requests are wanted now. A transport that has this function stops reading what the client sends, so that it waits
   * where it is and takes no memory; what was read already is handed over nevertheless. While they are not, the server is at work
   * on those that it was given, and what it has to say to them may be still to come. A stream begins with `true`.
   */
  readonly setReading?: ((wanted: boolean) => void) | undefined
}

/**
 * What a server does with a stream. After `onEnd` a transport calls none of these.
 *
 * @since 0.1.0
 */
export interface StreamHandler {
  readonly onRequest: (request: Request.Request) => void
  /** There is credit again. Called once for every `write` that said `false`. */
  readonly onWritable: () => void
  /**
   * The peer ended the stream, or it was lost, or the transport refused what it sent or is shutting down, or a unary
   * stream was answered; the reason is for people.
   */
  readonly onEnd: (reason: string) => void
}

/**
 * Why a transport cannot serve.
 *
 * @since 0.1.0
 */
export class ServerTransportError extends Data.TaggedError("ServerTransportError")<{
  /** What it wanted to serve on: `127.0.0.1:18000`. */
  readonly address: string
  readonly reason: string
  readonly cause?: unknown
}> {
  override get message(): string {
    return `cannot serve on ${this.address}: ${this.reason}`
  }
}

/**
 * The port. A server facade hands its `accept` to every transport it is given.
 *
 * @since 0.1.0
 */
export interface Service {
  /**
   * Serves until the scope closes: then no new stream is accepted and those that are open are ended.
   *
   * @returns where it serves, for people and logs: `127.0.0.1:18000`
   */
  readonly serve: (
    accept: (stream: AcceptedStream) => StreamHandler
  ) => Effect.Effect<string, ServerTransportError, Scope.Scope>
}

/**
 * Several transports as one: a server on it serves on all of them, with one status and one stream of events. It serves on none if
 * one of them cannot.
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
 * A stream that is another one but for what is said here: for what stands between a transport and a server.
 *
 * @since 0.1.0
 */
export const override = (stream: AcceptedStream, changes: Partial<AcceptedStream>): AcceptedStream => ({
  peer: stream.peer,
  method: stream.method,
  headers: stream.headers,
  whole: stream.whole,
  write: stream.write,
  end: stream.end,
  setReading: stream.setReading === undefined ? undefined : (wanted) => stream.setReading?.(wanted),
  ...changes
})

/**
 * The tag of the port.
 *
 * @since 0.1.0
 */
export class ServerTransport extends Context.Tag("@effect-xds/transport/ServerTransport")<ServerTransport, Service>() {}

/**
 * The layers of several transports as one layer of a transport, {@link all} of them, with whatever else they give.
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
