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
import type * as Effect from "effect/Effect"
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
 * The tag of the port.
 *
 * @since 0.1.0
 */
export class ServerTransport extends Context.Tag("@effect-xds/transport/ServerTransport")<ServerTransport, Service>() {}
