/**
 * A Connect transport whose calls go where xDS says: `xds:///service`.
 *
 * @since 0.1.0
 */
import type { ContextKey, ContextValues, Transport } from "@connectrpc/connect"
import { createContextValues } from "@connectrpc/connect"
import type { GrpcTransportOptions } from "@connectrpc/connect-node"
import { compressionBrotli, compressionGzip } from "@connectrpc/connect-node"
import type { CommonTransportOptions } from "@connectrpc/connect/protocol"
import { validateReadWriteMaxBytes } from "@connectrpc/connect/protocol"
import * as Connect from "@connectrpc/connect/protocol-connect"
import * as Grpc from "@connectrpc/connect/protocol-grpc"
import * as GrpcWeb from "@connectrpc/connect/protocol-grpc-web"
import * as BadOption from "@effect-xds/transport/BadOption"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as Calls from "./internal/Calls.js"
import * as GrpcUnary from "./internal/GrpcUnary.js"
import * as Timeout from "./internal/Timeout.js"
import type { TargetError } from "./Target.js"
import { XdsChannels } from "./XdsChannels.js"

/**
 * A protocol of RPC. All over HTTP/2; `connect` also over HTTP/1.1, where the cluster says so or a server has nothing else.
 *
 * @since 0.1.0
 */
export type Protocol = "grpc" | "grpc-web" | "connect"

/**
 * What a transport is to be like. Beside these it has the options of the transports of `@connectrpc/connect-node`, but for
 * those of connections.
 *
 * @since 0.1.0
 */
export interface Options extends Omit<
  GrpcTransportOptions,
  | "baseUrl"
  | "sessionManager"
  | "nodeOptions"
  | "pingIntervalMs"
  | "pingIdleConnection"
  | "pingTimeoutMs"
  | "idleConnectionTimeoutMs"
> {
  /** `xds:///service`. */
  readonly target: string
  /** What virtual hosts are chosen by, and `:authority` of calls. Default: the target without its scheme, `/` as `%2F`. */
  readonly authority?: string | undefined
  /** Default: `grpc`. */
  readonly protocol?: Protocol | undefined
}

/**
 * Whether a call waits where others fail, but for its deadline: see {@link waiting}. Default: false.
 *
 * @since 0.1.0
 */
export const waitForReady: ContextKey<boolean> = Calls.waitForReady

/**
 * The context values of a call that waits for ready.
 *
 * @since 0.1.0
 */
export const waiting = (): ContextValues => createContextValues().set(waitForReady, true)

/**
 * A transport, until the scope closes; then all its calls end.
 *
 * @since 0.1.0
 */
export const make = ({
  authority,
  defaultTimeoutMs,
  interceptors = [],
  protocol = "grpc",
  target,
  ...rest
}: Options): Effect.Effect<Transport, TargetError, XdsChannels | Scope.Scope> =>
  Effect.gen(function* () {
    // 0 and less are no limit. The others have least values of their own in Connect, which takes NaN.
    yield* BadOption.check({ ...rest, defaultTimeoutMs }, least)
    const channels = yield* XdsChannels
    const channel = yield* channels.open(target, { authority, http1: protocol === "connect" })
    const calls = new Calls.Calls({
      channel,
      timeoutHeader: protocol === "connect" ? "connect-timeout-ms" : "grpc-timeout"
    })
    const { acceptCompression = [compressionGzip, compressionBrotli], useBinaryFormat = true } = rest
    const { compressMinBytes, readMaxBytes, sendCompression = null, writeMaxBytes } = rest
    const options: CommonTransportOptions = {
      ...rest,
      ...validateReadWriteMaxBytes(readMaxBytes, writeMaxBytes, compressMinBytes),
      acceptCompression,
      sendCompression,
      useBinaryFormat,
      baseUrl: Calls.origin,
      httpClient: calls.httpClient,
      // The first of the list is the outermost.
      interceptors: [...(interceptors.length === 0 ? [] : [calls.first]), ...interceptors, calls.interceptor]
    }
    const transport = withDeadlines(transportOf(protocol, options), defaultTimeoutMs)
    if (protocol !== "grpc") return transport
    return {
      ...transport,
      unary: GrpcUnary.make({ ...options, interceptors, calls, defaultTimeout: defaultTimeoutMs })
    }
  })

const least = {
  defaultTimeoutMs: -Infinity,
  readMaxBytes: -Infinity,
  writeMaxBytes: -Infinity,
  compressMinBytes: -Infinity
} as const

const transportOf = (protocol: Protocol, options: CommonTransportOptions): Transport => {
  switch (protocol) {
    case "grpc":
      return Grpc.createTransport(options)
    case "grpc-web":
      return GrpcWeb.createTransport(options)
    case "connect":
      return Connect.createTransport(options)
  }
}

/** Deadlines are kept by the calls, whose errors say what was waited for. */
const withDeadlines = (codec: Transport, fallback: number | undefined): Transport => ({
  unary: (method, signal, timeout, header, input, values) =>
    codec.unary(method, signal, undefined, header, input, Calls.withTimeout(values, Timeout.of(timeout, fallback))),
  stream: (method, signal, timeout, header, input, values) =>
    codec.stream(method, signal, undefined, header, input, Calls.withTimeout(values, Timeout.of(timeout, fallback)))
})
