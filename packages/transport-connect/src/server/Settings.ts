/** How calls are served, however they come in: on a port of the transport or through an HTTP server of one's own. */
import type { ConnectRouter } from "@connectrpc/connect"
import * as ByteBudget from "@effect-xds/transport-node/ByteBudget"
import * as Milliseconds from "@effect-xds/transport-node/Milliseconds"
import type * as Duration from "effect/Duration"
import type { Interceptor } from "../Interceptor.js"

/**
 * How to serve calls. Everything has a default.
 *
 * @since 0.1.0
 */
export interface AppOptions {
  /**
   * Further services beside xDS, as Connect has them: load reporting, or one's own. It may be called more than once. They are served over
   * gRPC, gRPC-Web and Connect, listed by reflection and known to health checking; their calls count towards `maxStreams`, and
   * are aborted (`context.signal`) when the server shuts down. What is of xDS itself cannot be replaced.
   */
  readonly services?: ((router: ConnectRouter) => void) | undefined
  /** What each call goes through before it is served, in this order. Default: nothing. */
  readonly interceptors?: ReadonlyArray<Interceptor> | undefined
  /** How long the interceptors of a call may take together; then it ends with UNAVAILABLE. Default: 10 seconds. */
  readonly interceptTimeout?: Duration.DurationInput | undefined
  /** The largest request in bytes, also after decompression. Default 4 194 304, which is gRPC's; an Envoy's first one has 60 KB. */
  readonly maxRequestBytes?: number | undefined
  /**
   * The largest request in bytes that is not of a gRPC stream of xDS: of unary calls, gRPC-Web, Connect and further services.
   * Default 1 048 576, which 10 000 names of 100 bytes fit into; never more than `maxRequestBytes`. One in JSON to a further
   * service has 65 536 bytes at most.
   */
  readonly maxWholeRequestBytes?: number | undefined
  /**
   * Values in a request in JSON, by Connect or gRPC-Web: members, elements, objects and arrays. They take many times the
   * bytes that they came in; more are refused with RESOURCE_EXHAUSTED. Protobuf has no such limit. Default 20 000.
   */
  readonly maxJsonValues?: number | undefined
  /**
   * Bytes that clients make this transport hold, of all together: requests that are not complete, or wait to be read. Whoever
   * holds some for the longest time is ended with RESOURCE_EXHAUSTED when there are more. Default 268 435 456.
   */
  readonly maxClientBytes?: number | undefined
  /** Streams and calls at a time of all clients; more are answered with RESOURCE_EXHAUSTED. Default 50 000. */
  readonly maxStreams?: number | undefined
  /** Streams and calls at a time from one IP address. Default: as `maxStreams`. */
  readonly maxStreamsPerPeer?: number | undefined
  /**
   * Bytes that may wait in a stream's buffer before `write` says that there is no credit. Default and least value is
   * Node's own, 16 384 and from Node 22 on 65 536; a stream holds at most this and one response.
   */
  readonly writeBufferBytes?: number | undefined
  /**
   * Bytes of names and versions that clients say they hold when they come back, each kept once for all clients until
   * none said so for 10 seconds. Of what finds no room every client has its own, and so it is where the process cannot have
   * WebAssembly (`node --jitless`) or no address space for it. Default 33 554 432.
   */
  readonly knownVersionsBytes?: number | undefined
  /** How long a unary call may take to bring its request. Default: 10 seconds. */
  readonly requestTimeout?: Duration.DurationInput | undefined
  /** How long clients have to read the end of their streams before they are cut off. Default: 5 seconds. */
  readonly shutdownGrace?: Duration.DurationInput | undefined
  /**
   * Server reflection (`grpc.reflection.v1` and `v1alpha`), by which grpcurl and its like list, describe and call without
   * `.proto` files. It tells what is public of Envoy's API, nothing of what is served. Default `true`.
   */
  readonly reflection?: boolean | undefined
}

/** With the defaults, durations in milliseconds. */
export interface Settings {
  readonly services: ((router: ConnectRouter) => void) | undefined
  readonly interceptors: ReadonlyArray<Interceptor>
  readonly interceptTimeout: number
  readonly maxRequestBytes: number
  readonly maxWholeRequestBytes: number
  readonly maxJsonValues: number
  readonly maxClientBytes: number
  readonly maxStreams: number
  readonly maxStreamsPerPeer: number
  readonly writeBufferBytes: number
  readonly knownVersionsBytes: number
  readonly requestTimeout: number
  readonly shutdownGrace: number
  readonly reflection: boolean
}

export const of = (options: AppOptions): Settings => {
  const maxStreams = options.maxStreams ?? 50_000
  return {
    services: options.services,
    interceptors: options.interceptors ?? [],
    interceptTimeout: Milliseconds.of(options.interceptTimeout, "10 seconds"),
    maxRequestBytes: options.maxRequestBytes ?? 4 * 1024 * 1024,
    maxWholeRequestBytes: options.maxWholeRequestBytes ?? 1024 * 1024,
    maxJsonValues: options.maxJsonValues ?? 20_000,
    maxClientBytes: options.maxClientBytes ?? ByteBudget.defaultLimit,
    maxStreams,
    maxStreamsPerPeer: options.maxStreamsPerPeer ?? maxStreams,
    writeBufferBytes: options.writeBufferBytes ?? 16_384,
    knownVersionsBytes: options.knownVersionsBytes ?? 32 * 1024 * 1024,
    requestTimeout: Milliseconds.of(options.requestTimeout, "10 seconds"),
    shutdownGrace: Milliseconds.of(options.shutdownGrace, "5 seconds"),
    reflection: options.reflection ?? true
  }
}
