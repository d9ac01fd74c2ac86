/** Options for serving calls, from the transport's own port or from an existing HTTP server. */
import type { ConnectRouter } from "@connectrpc/connect"
import * as ByteBudget from "@effect-xds/transport-node/ByteBudget"
import * as Milliseconds from "@effect-xds/transport-node/Milliseconds"
import * as BadOption from "@effect-xds/transport/BadOption"
import type * as Duration from "effect/Duration"
import type { Interceptor } from "../Interceptor.js"
import * as WrappedRequests from "./WrappedRequests.js"

/**
 * Options for serving calls. Each has a default.
 *
 * @since 0.1.0
 */
export interface AppOptions {
  /**
   * Further services beside xDS, added to Connect's router: load reporting, or custom ones. The function may be called
   * more than once. The services are served over gRPC, gRPC-Web and Connect, listed by reflection and known to health
   * checking. Their calls count towards `maxStreams`, and are aborted (`context.signal`) when the server shuts down.
   * Services of xDS cannot be replaced.
   */
  readonly services?: ((router: ConnectRouter) => void) | undefined
  /** Interceptors of every call, in this order. Default: none. */
  readonly interceptors?: ReadonlyArray<Interceptor> | undefined
  /**
   * How long the interceptors of a call may take together. After that the call ends with UNAVAILABLE. Default: 10
   * seconds.
   */
  readonly interceptTimeout?: Duration.DurationInput | undefined
  /**
   * The largest request in bytes, also after decompression. Default 4 194 304, as in gRPC; the first request of an
   * Envoy has 60 KB.
   */
  readonly maxRequestBytes?: number | undefined
  /**
   * The largest request in bytes outside gRPC streams of xDS: unary calls, gRPC-Web, Connect and further services.
   * Default 1 048 576, enough for 10 000 names of 100 bytes; never more than `maxRequestBytes`. A JSON request to a
   * further service may have at most 65 536 bytes.
   */
  readonly maxWholeRequestBytes?: number | undefined
  /**
   * The most values in a JSON request over Connect or gRPC-Web: members, elements, objects and arrays. In memory they
   * take many times their bytes. A larger request is refused with RESOURCE_EXHAUSTED. Protobuf requests have no such
   * limit. Default 20 000.
   */
  readonly maxJsonValues?: number | undefined
  /**
   * The most bytes that all clients together make this transport hold: incomplete and unread requests. Above it, the
   * client that has held bytes for the longest time is ended with RESOURCE_EXHAUSTED. Default 268 435 456.
   */
  readonly maxClientBytes?: number | undefined
  /**
   * The most open streams and calls of all clients; further ones are refused with RESOURCE_EXHAUSTED. Default 50 000.
   */
  readonly maxStreams?: number | undefined
  /**
   * The most open streams and calls from one IP address; it may be one that an interceptor gives. Default: as
   * `maxStreams`.
   */
  readonly maxStreamsPerPeer?: number | undefined
  /**
   * Bytes in a stream's buffer from which `write` reports no credit. Default and minimum is Node's own value, 16 384
   * and from Node 22 on 65 536; a stream holds at most this and one response.
   */
  readonly writeBufferBytes?: number | undefined
  /**
   * The most bytes of names and versions that returning clients say they hold, each kept once for all clients until 10
   * seconds pass without such a request. Pairs beyond the limit are kept per client, and so are all pairs if the
   * process has no WebAssembly (`node --jitless`) or no address space for it. Default 33 554 432.
   */
  readonly knownVersionsBytes?: number | undefined
  /**
   * How long the request of a call with a single one may take to arrive: of a unary call, or a stream of responses only.
   * Default: 10 seconds.
   */
  readonly requestTimeout?: Duration.DurationInput | undefined
  /** How long clients may read the end of their streams before these are destroyed. Default: 5 seconds. */
  readonly shutdownGrace?: Duration.DurationInput | undefined
  /**
   * Server reflection (`grpc.reflection.v1` and `v1alpha`), with which tools like grpcurl list, describe and call
   * methods without `.proto` files. It shows Envoy's public API, not the served resources. Default `true`.
   */
  readonly reflection?: boolean | undefined
}

/** The options with defaults; durations in milliseconds. */
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

/** Why the options cannot be had; `undefined`: they can. */
export const wrongWith = (options: AppOptions): string | undefined =>
  BadOption.find(options, {
    interceptTimeout: 0,
    requestTimeout: 0,
    shutdownGrace: 0,
    // Less than is possible means the lowest.
    maxRequestBytes: -Infinity,
    maxWholeRequestBytes: -Infinity,
    maxJsonValues: 0,
    maxClientBytes: 0,
    maxStreams: 0,
    maxStreamsPerPeer: 0,
    writeBufferBytes: 0,
    knownVersionsBytes: 0
  })?.message

/** Node and Connect throw for limits beyond, at the first client: with `Infinity` it is this one. */
const messageBytes = (given: number): number => Math.max(1, Math.min(given, WrappedRequests.largest))

export const of = (options: AppOptions): Settings => {
  const maxStreams = options.maxStreams ?? 50_000
  return {
    services: options.services,
    interceptors: options.interceptors ?? [],
    interceptTimeout: Milliseconds.of(options.interceptTimeout, "10 seconds"),
    maxRequestBytes: messageBytes(options.maxRequestBytes ?? 4 * 1024 * 1024),
    maxWholeRequestBytes: messageBytes(options.maxWholeRequestBytes ?? 1024 * 1024),
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
