/**
 * The gRPC client transport: one HTTP/2 connection per server, and one HTTP/2 stream per xDS stream.
 *
 * Its timers are real ones and not those of Effect's `Clock`: they guard real sockets.
 *
 * @since 0.1.0
 */
import * as Reason from "@effect-xds/proto/Reason"
import type * as ResourceType from "@effect-xds/proto/ResourceType"
import * as BadOption from "@effect-xds/transport/BadOption"
import * as ClientTransport from "@effect-xds/transport/ClientTransport"
import * as Given from "@effect-xds/transport/Given"
import * as Status from "@effect-xds/transport/Status"
import * as Certificates from "@effect-xds/transport-node/Certificates"
import * as ClientTls from "@effect-xds/transport-node/ClientTls"
import { Inflater } from "@effect-xds/transport-node/Inflater"
import * as Milliseconds from "@effect-xds/transport-node/Milliseconds"
import * as TlsFailure from "@effect-xds/transport-node/TlsFailure"
import * as Cause from "effect/Cause"
import * as Config from "effect/Config"
import type { ConfigError } from "effect/ConfigError"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Runtime from "effect/Runtime"
import * as Http2 from "node:http2"
import * as Net from "node:net"
import * as Tls from "node:tls"
import { GrpcClientStream } from "./client/GrpcClientStream.js"
import * as Keepalive from "./grpc/Keepalive.js"
import * as MethodTable from "./grpc/MethodTable.js"
import * as ServerAddress from "./client/ServerAddress.js"

/**
 * Pings while a stream is open, which detect a connection that was lost silently.
 *
 * @since 0.1.0
 */
export interface KeepaliveOptions {
  /** The time between pings. Default: 5 minutes; grpc-go servers end connections that ping more often. */
  readonly interval?: Duration.DurationInput | undefined
  /**
   * How long nothing at all may come after a ping before the connection is ended. A pause of this process counts as a
   * tenth of it at most. Default: 20 seconds.
   */
  readonly timeout?: Duration.DurationInput | undefined
}

/**
 * Options of the transport. Each has a default.
 *
 * @since 0.1.0
 */
export interface Options {
  /** The largest response in bytes, also after decompression. Default 67 108 864 (64 MiB). */
  readonly maxResponseBytes?: number | undefined
  /**
   * The limit for a connection with its TLS handshake, and then for the first words of the server in HTTP/2, without which the
   * connection is given up. Default: 20 seconds.
   */
  readonly connectTimeout?: Duration.DurationInput | undefined
  readonly keepalive?: KeepaliveOptions | undefined
  /**
   * The API version of the aggregated service (ADS). `v2` calls
   * `envoy.service.discovery.v2.AggregatedDiscoveryService`. A separate service has the version of its type. Default: `v3`.
   */
  readonly api?: ResourceType.Api | undefined
  /**
   * Call credentials: headers for each new stream (`authorization`). The function is called for each stream, so that a
   * token may be refreshed. If it fails, the stream ends with UNAUTHENTICATED; if it takes longer than
   * `connectTimeout`, with UNAVAILABLE.
   */
  readonly headers?:
    ((server: ClientTransport.Server) => Effect.Effect<Readonly<Record<string, string>>, Error>) | undefined
}

/**
 * The transport. `connect` fails for an invalid address and for unusable TLS files. Temporary failures end the stream:
 * with UNAVAILABLE if there is no connection.
 *
 * @since 0.1.0
 */
export const make = (options: Options = {}): ClientTransport.Service => ({
  connect: (server) =>
    Effect.gen(function* () {
      const fail = (reason: string) => new ClientTransport.ClientTransportError({ address: server.address, reason })
      const wrong =
        BadOption.find(options, { maxResponseBytes: 0, connectTimeout: 0 }) ??
        BadOption.find(options.keepalive ?? {}, { interval: 0, timeout: 0 }, "keepalive")
      if (wrong !== undefined) return yield* fail(wrong.message)
      const address = yield* Either.mapLeft(ServerAddress.parse(server.address), (reason) => fail(reason))
      const { credentials } = server
      if (credentials._tag === "Tls") {
        if ((credentials.cert === undefined) !== (credentials.key === undefined)) {
          return yield* fail("a client certificate needs both cert and key")
        }
        yield* Effect.try({
          try: () => ClientTls.load(credentials),
          catch: (cause) => fail(`TLS cannot be used: ${Reason.of(cause)}`)
        })
        yield* Certificates.watch(() => ClientTls.sources(credentials))
      }
      const runtime = yield* Effect.runtime()
      return yield* Effect.acquireRelease(
        Effect.sync(() => new Channel(server, address, options, runtime)),
        (channel) => Effect.sync(() => channel.close())
      )
    })
})

/**
 * The transport as a layer.
 *
 * @example
 * import { ConnectClient } from "@effect-xds/transport-connect"
 *
 * const transport = ConnectClient.layer({ keepalive: { interval: "1 minute" } })
 *
 * @since 0.1.0
 */
export const layer = (options: Options = {}): Layer.Layer<ClientTransport.ClientTransport> =>
  Layer.succeed(ClientTransport.ClientTransport, make(options))

/**
 * The transport with options from a `ConfigProvider`, by default environment variables.
 *
 * @example
 * import { ConnectClient } from "@effect-xds/transport-connect"
 * import { Config } from "effect"
 *
 * const transport = ConnectClient.layerConfig({
 *   connectTimeout: Config.withDefault(Config.duration("XDS_CONNECT_TIMEOUT"), "20 seconds")
 * })
 *
 * @since 0.1.0
 */
export const layerConfig = (
  config: Config.Config.Wrap<Options>
): Layer.Layer<ClientTransport.ClientTransport, ConfigError> =>
  Layer.effect(ClientTransport.ClientTransport, Effect.map(Config.unwrap(config), make))

/** The flow-control window of a stream and of a connection, in bytes. */
const window = 1024 * 1024

type Connected = (session: Http2.ClientHttp2Session) => void

class Channel implements ClientTransport.Channel {
  readonly #streams = new Set<GrpcClientStream>()
  readonly #maxResponseBytes: number
  readonly #inflater: Inflater
  readonly #connectTimeout: number
  #closed = false
  /** Open connections, also those that take no new streams. With a session once they are made. */
  readonly #connections = new Map<Net.Socket, Http2.ClientHttp2Session | undefined>()
  /** The one for new streams. */
  #session: Http2.ClientHttp2Session | undefined
  /** Connections on which the server has said something in HTTP/2. */
  readonly #heard = new WeakSet<Http2.ClientHttp2Session>()
  /** Those that were given up because it said nothing in time. */
  readonly #mute = new WeakSet<Http2.ClientHttp2Session>()
  /** Streams that may still wait for call credentials, and what stops asking for them. */
  readonly #asking = new Map<GrpcClientStream, () => void>()
  /** Streams that wait for the connection being made; `undefined` if none is being made. */
  #connecting: Map<GrpcClientStream, Connected> | undefined
  /** The last TLS context that could be loaded. */
  #context: Tls.SecureContextOptions | undefined

  constructor(
    private readonly server: ClientTransport.Server,
    private readonly address: ServerAddress.ServerAddress,
    private readonly options: Options,
    private readonly runtime: Runtime.Runtime<never>
  ) {
    this.#maxResponseBytes = options.maxResponseBytes ?? 64 * 1024 * 1024
    this.#inflater = new Inflater(this.#maxResponseBytes)
    this.#connectTimeout = Milliseconds.of(options.connectTimeout, "20 seconds")
  }

  readonly open = (
    method: ClientTransport.Method,
    handler: ClientTransport.StreamHandler
  ): ClientTransport.ClientStream => {
    const stream = new GrpcClientStream(
      handler,
      { maxResponseBytes: this.#maxResponseBytes, inflater: this.#inflater, onDefect: this.#onDefect },
      (done) => {
        this.#streams.delete(done)
        this.#connecting?.delete(done)
        this.#asking.get(done)?.()
        this.#asking.delete(done)
      }
    )
    this.#streams.add(stream)
    // The handler must not be called from within this call.
    setImmediate(() => {
      if (this.#closed) return stream.end()
      const path = MethodTable.pathOf(method, this.options.api)
      if (path === undefined) {
        const text = `${method.typeUrl ?? ""} has no service of its own; subscribe to it on an aggregated stream (ADS)`
        return stream.fail(Status.make("UNIMPLEMENTED", text))
      }
      this.#withHeaders(stream, path, (headers) =>
        this.#withSession(stream, (session) => stream.start(session, headers, (error) => this.#lost(session, error)))
      )
    })
    return stream
  }

  close(): void {
    this.#closed = true
    for (const stream of [...this.#streams]) stream.end()
    // After the streams were reset, in a turn of its own: else Node 20 may never return from destroy().
    setImmediate(() =>
      setImmediate(() => {
        for (const [socket, session] of this.#connections) {
          session?.destroy()
          // A session only ends its socket if it was closed, and waits for the server.
          socket.destroy()
        }
      })
    )
  }

  readonly #onDefect = (defect: unknown): void => {
    Runtime.runFork(this.runtime)(
      Effect.annotateLogs(Effect.logError("client failed on a stream", Cause.die(defect)), {
        server: this.server.address
      })
    )
  }

  #withHeaders(stream: GrpcClientStream, path: string, use: (headers: Record<string, string>) => void): void {
    const headers = {
      ":method": "POST",
      ":scheme": this.server.credentials._tag === "Tls" ? "https" : "http",
      ":path": path,
      ":authority": this.address.authority,
      "content-type": "application/grpc",
      te: "trailers",
      "grpc-accept-encoding": "identity,gzip",
      "user-agent": "effect-xds"
    }
    const credentials = this.options.headers
    if (credentials === undefined) return use(headers)
    const asked = Effect.suspend(() => {
      const given = credentials(this.server)
      return Effect.isEffect(given)
        ? given
        : Effect.die(new TypeError(`headers gave no Effect: ${Given.kindOf(given)}`))
    }).pipe(
      // What it gives may be no headers at all: then this is a defect, as if it had thrown.
      Effect.map(lowerCase),
      Effect.mapError((error) => Status.make("UNAUTHENTICATED", `no call credentials: ${error.message}`)),
      Effect.timeoutFail({
        duration: this.#connectTimeout,
        onTimeout: () => Status.make("UNAVAILABLE", `no call credentials within ${this.#connectTimeout} ms`)
      })
    )
    const stop = Runtime.runCallback(this.runtime)(asked, {
      onExit: (exit) => {
        if (stream.done) return
        if (Exit.isSuccess(exit)) return use({ ...headers, ...exit.value })
        const refusal = Cause.failureOrCause(exit.cause)
        if (refusal._tag === "Left") return stream.fail(refusal.left)
        this.#onDefect(Cause.squash(refusal.right))
        stream.fail(Status.make("UNAUTHENTICATED", "call credentials failed; the log says why"))
      }
    })
    if (!stream.done) this.#asking.set(stream, stop)
  }

  #withSession(stream: GrpcClientStream, use: Connected): void {
    const session = this.#session
    if (session !== undefined && !session.closed && !session.destroyed) return use(session)
    if (this.#connecting !== undefined) {
      this.#connecting.set(stream, use)
      return
    }
    const waiting = new Map([[stream, use]])
    this.#connecting = waiting
    this.#connect((outcome) => {
      this.#connecting = undefined
      for (const [each, then] of [...waiting]) {
        if (each.done) continue
        if (Either.isRight(outcome)) then(outcome.right)
        else each.fail(Status.make("UNAVAILABLE", `cannot connect to ${this.server.address}: ${outcome.left}`))
      }
    })
  }

  #connect(done: (outcome: Either.Either<Http2.ClientHttp2Session, string>) => void): void {
    let isConnected = false
    const finish = (outcome: Either.Either<Http2.ClientHttp2Session, string>): void => {
      if (isConnected) return
      isConnected = true
      clearTimeout(timer)
      done(outcome)
    }
    const timer = setTimeout(() => {
      const isReached = socket instanceof Tls.TLSSocket && !socket.connecting
      const mute = "the server takes connections and says nothing in TLS, for"
      const what = isReached ? `${mute} ${this.#connectTimeout} ms; it may be in the clear` : undefined
      finish(Either.left(what ?? `no connection within ${this.#connectTimeout} ms`))
      socket?.destroy()
    }, this.#connectTimeout)
    const socket = this.#dial((reason) => finish(Either.left(reason)))
    if (socket === undefined) return
    socket.once(socket instanceof Tls.TLSSocket ? "secureConnect" : "connect", () => {
      if (isConnected || this.#closed) return void socket.destroy()
      if (socket instanceof Tls.TLSSocket && socket.alpnProtocol !== "h2") {
        finish(Either.left("the server does not speak HTTP/2 (ALPN h2); it may be no gRPC server"))
        return void socket.destroy()
      }
      finish(Either.right(this.#start(socket)))
    })
  }

  #dial(onError: (reason: string) => void): Net.Socket | undefined {
    const { address } = this
    const to = address._tag === "Tcp" ? { host: address.host, port: address.port } : { path: address.path }
    const { credentials } = this.server
    let socket: Net.Socket
    if (credentials._tag === "Insecure") socket = Net.connect({ ...to, noDelay: true })
    else {
      try {
        this.#context = ClientTls.load(credentials)
      } catch (cause) {
        // The files may be in the middle of a change: the last usable context is used again.
        if (this.#context === undefined) {
          onError(`TLS cannot be used: ${Reason.of(cause)}`)
          return undefined
        }
        this.#warn(`TLS files cannot be used, the last ones stay: ${Reason.of(cause)}`)
      }
      const name = credentials.serverName ?? (address._tag === "Tcp" ? address.host : address.authority)
      const servername = Net.isIP(name) === 0 ? { servername: name } : {}
      // Checks the name for an IP address too, which TLS cannot request by SNI.
      const check = {
        checkServerIdentity: (_: string, certificate: Tls.PeerCertificate) => Tls.checkServerIdentity(name, certificate)
      }
      socket = Tls.connect({ ...to, ...this.#context, ...servername, ...check, ALPNProtocols: ["h2"] })
      socket.setNoDelay(true)
    }
    this.#connections.set(socket, undefined)
    let isReached = false
    socket.once("connect", () => (isReached = true))
    socket.on("error", (error) => {
      const isReset = isReached && credentials._tag === "Tls" && Reflect.get(error, "code") === "ECONNRESET"
      onError(isReset ? TlsFailure.cutOff : TlsFailure.ofClient(error))
    })
    socket.once("close", () => {
      onError("the connection was closed before it was of use")
      this.#connections.delete(socket)
    })
    return socket
  }

  #start(socket: Net.Socket): Http2.ClientHttp2Session {
    // The socket is connected, and each stream names its authority. Not every authority is a host of a URL.
    const session = Http2.connect("http://localhost", {
      createConnection: () => socket,
      settings: { initialWindowSize: window, enablePush: false }
    })
    session.setLocalWindowSize(window)
    const silence = setTimeout(() => {
      // Timers run before sockets are read: after a pause of this process the words may lie in the socket.
      setImmediate(() => {
        if (this.#heard.has(session) || session.destroyed) return
        this.#mute.add(session)
        session.destroy()
        // Node would first wait until the server has read everything.
        socket.destroy()
      })
    }, this.#connectTimeout)
    session.once("remoteSettings", () => {
      clearTimeout(silence)
      this.#heard.add(session)
    })
    this.#session = session
    this.#connections.set(socket, session)
    // A session error also ends its streams, which report it.
    session.on("error", () => undefined)
    const { keepalive } = this.options
    const stopPings = Keepalive.start(session, {
      interval: Milliseconds.of(keepalive?.interval, "5 minutes"),
      timeout: Milliseconds.of(keepalive?.timeout, "20 seconds"),
      isWanted: () => this.#streams.size > 0,
      onLost: (reason) => this.#warn(`${reason}, the connection is given up`)
    })
    session.once("close", () => {
      clearTimeout(silence)
      stopPings()
      if (this.#session === session) this.#session = undefined
    })
    return session
  }

  /** Why a connection was lost. Who is not let in hears of it only after the handshake of TLS 1.3, and often nothing. */
  #lost(session: Http2.ClientHttp2Session, error: Error | undefined): string {
    const { credentials } = this.server
    const hint = TlsFailure.ofSilence(credentials)
    if (this.#mute.has(session)) {
      const what = "the server takes connections and says nothing in HTTP/2"
      return `${what}, for ${this.#connectTimeout} ms: it may be no gRPC server, or ${hint}`
    }
    const lost =
      error === undefined ? "the connection was lost" : `the connection was lost: ${TlsFailure.ofClient(error)}`
    if (this.#heard.has(session) || (error !== undefined && TlsFailure.isAlert(error))) return lost
    if (error !== undefined && Reflect.get(error, "code") === "ERR_HTTP2_ERROR") {
      return `what the server says is not HTTP/2: it may be no gRPC server, or ${hint}`
    }
    return `${lost}; the server said nothing${credentials._tag === "Insecure" ? " in HTTP/2" : ""}, ${hint}`
  }

  #warn(message: string): void {
    Runtime.runFork(this.runtime)(Effect.annotateLogs(Effect.logWarning(message), { server: this.server.address }))
  }
}

const lowerCase = (headers: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))
