/**
 * Serves xDS on one port: gRPC, gRPC-Web and Connect, over HTTP/2 and HTTP/1.1, in the clear or with TLS.
 *
 * gRPC streams, which is what Envoy and gRPC open, are served on bare HTTP/2 streams; everything else goes through
 * Connect. Beside xDS there is health checking (`grpc.health.v1`), which says SERVING until the server shuts down, and
 * server reflection. Which protocol a cleartext connection speaks is seen from its first bytes.
 *
 * Timers here are real ones and not of Effect's `Clock`: they guard real sockets.
 *
 * @since 0.1.0
 */
import { ServerTransport, Status } from "@effect-xds/transport"
import * as ByteBudget from "@effect-xds/transport-node/ByteBudget"
import * as ListenAddress from "@effect-xds/transport-node/ListenAddress"
import * as LogThrottle from "@effect-xds/transport-node/LogThrottle"
import * as ServerTls from "@effect-xds/transport-node/ServerTls"
import * as SocketPeer from "@effect-xds/transport-node/SocketPeer"
import * as TransportMetrics from "@effect-xds/transport/TransportMetrics"
import { TimeSlices } from "@effect-xds/transport-node/TimeSlices"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as LogLevel from "effect/LogLevel"
import * as Runtime from "effect/Runtime"
import * as Http1 from "node:http"
import * as Http2 from "node:http2"
import * as Net from "node:net"
import * as Tls from "node:tls"
import * as ConnectServerMetrics from "./ConnectServerMetrics.js"
import { Calls } from "./server/Calls.js"
import * as BuiltInServices from "./grpc/BuiltInServices.js"
import * as ConnectRoutes from "./server/ConnectRoutes.js"
import { GrpcStream, refuse, streamWindow, type Shared } from "./server/GrpcStream.js"
import { IdleConnections } from "./server/IdleConnections.js"
import { Intake } from "./server/Intake.js"
import { Inflater } from "./server/Inflater.js"
import { KnownVersions } from "./server/KnownVersions.js"
import * as MethodTable from "./grpc/MethodTable.js"
import * as RequestHeaders from "./server/RequestHeaders.js"

/**
 * The server's certificate, and what it wants of its clients.
 *
 * @since 0.1.0
 */
export type TlsOptions = ServerTls.TlsOptions

/**
 * Pings, by which connections that are lost without a word are found.
 *
 * @since 0.1.0
 */
export interface KeepaliveOptions {
  /** Milliseconds between pings. Default 30 000. */
  readonly interval?: number
  /** Milliseconds until an unanswered ping ends the connection. Default 10 000. */
  readonly timeout?: number
}

/**
 * How to serve. Everything has a default.
 *
 * @since 0.1.0
 */
export interface Options {
  /**
   * The address to listen on. Default `127.0.0.1`: what is served may hold secrets, and without TLS everyone who
   * reaches the port can read it. `0.0.0.0` or `::` for every interface.
   */
  readonly host?: string
  /** The port. Default 0: any free one. */
  readonly port?: number
  /** Serves with TLS 1.2 or newer. Default: in the clear. */
  readonly tls?: TlsOptions
  /** The largest request in bytes, also after decompression. Default 4 194 304, which is gRPC's; an Envoy's first one has 60 KB. */
  readonly maxRequestBytes?: number
  /**
   * The largest request in bytes that is not of a gRPC stream: of unary calls, gRPC-Web and Connect. Default 1 048 576, which
   * 10 000 names of 100 bytes fit into; never more than `maxRequestBytes`.
   */
  readonly maxWholeRequestBytes?: number
  /**
   * Values in a request in JSON, by Connect or gRPC-Web: members, elements, objects and arrays. They take many times the
   * bytes that they came in; more are refused with RESOURCE_EXHAUSTED. Protobuf has no such limit. Default 20 000.
   */
  readonly maxJsonValues?: number
  /**
   * Bytes that clients make this transport hold, of all together: requests that are not complete, or wait to be read. Whoever
   * holds some for the longest time is ended with RESOURCE_EXHAUSTED when there are more. Default 268 435 456.
   */
  readonly maxClientBytes?: number
  /**
   * Connections at a time. For one more the oldest that nothing is under way on is closed: an HTTP/2 connection without a
   * stream, one before its first bytes, or one of HTTP/1.1 between requests. If there is none, the newcomer is. Default 10 000.
   */
  readonly maxConnections?: number
  /**
   * Connections at a time from one IP address, in the same way. Default: as `maxConnections`, since all clients may come
   * through one balancer.
   */
  readonly maxConnectionsPerPeer?: number
  /** Milliseconds after which an HTTP/2 connection without a stream is closed. Default 300 000. */
  readonly idleTimeout?: number
  /** Streams at a time on one connection (SETTINGS_MAX_CONCURRENT_STREAMS): clients wait or connect again. Default 1000. */
  readonly maxConnectionStreams?: number
  /** Streams and calls at a time of all clients; more are answered with RESOURCE_EXHAUSTED. Default 50 000. */
  readonly maxStreams?: number
  /** Streams and calls at a time from one IP address. Default: as `maxStreams`. */
  readonly maxStreamsPerPeer?: number
  /**
   * Bytes that may wait in a stream's buffer before `write` says that there is no credit. Default and least value is
   * Node's own, 16 384 and from Node 22 on 65 536; a stream holds at most this and one response.
   */
  readonly writeBufferBytes?: number
  /**
   * Bytes of names and versions that clients say they hold when they come back, each kept once for all clients until
   * none said so for 10 seconds. Of what finds no room every client has its own, and so it is where the process cannot have
   * WebAssembly (`node --jitless`) or no address space for it. Default 33 554 432.
   */
  readonly knownVersionsBytes?: number
  readonly keepalive?: KeepaliveOptions
  /**
   * Milliseconds that a new connection has for its TLS handshake and its first bytes, and HTTP/1.1 and unary calls for a
   * request. Default 10 000.
   */
  readonly handshakeTimeout?: number
  /** Milliseconds that clients have to read the end of their streams before they are cut off. Default 5000. */
  readonly shutdownGrace?: number
  /**
   * Server reflection (`grpc.reflection.v1` and `v1alpha`), by which grpcurl and its like list, describe and call without
   * `.proto` files. It tells what is public of Envoy's API, nothing of what is served. Default `true`.
   */
  readonly reflection?: boolean
}

/**
 * The transport. Each `serve` listens for itself, on the address of the options; its failures are a port that is in use
 * or not allowed and TLS files that cannot be used.
 *
 * When the scope closes, no connection is accepted any more, every stream ends with UNAVAILABLE, connections are told
 * to go away (GOAWAY), and what is left after `shutdownGrace` is destroyed.
 *
 * What clients see of refusals: UNIMPLEMENTED for a path that is no discovery method or a compression other than gzip,
 * RESOURCE_EXHAUSTED for too many streams or a message over the limit, INTERNAL for bytes that are not a request.
 *
 * Requests in JSON may not hold a `google.protobuf.Any` of a type that was never loaded; responses may. A deadline of a
 * gRPC stream (`grpc-timeout`) is left to the client, which ends the stream when it has passed.
 *
 * The headers of a stream are those of the HTTP request without pseudo headers, but `:authority` is given as `host`.
 *
 * @since 0.1.0
 */
export const make = (options: Options = {}): ServerTransport.Service => ({
  serve: (accept) =>
    Effect.gen(function* () {
      const runtime = yield* Effect.runtime()
      const host = options.host ?? "127.0.0.1"
      const wanted = ListenAddress.format(host, options.port ?? 0)
      const fail = (reason: string, cause: unknown): ServerTransport.ServerTransportError =>
        new ServerTransport.ServerTransportError({ address: wanted, reason, cause })
      const credentials =
        options.tls === undefined
          ? undefined
          : yield* Effect.mapError(ServerTls.load(options.tls), ({ reason, cause }) => fail(reason, cause))
      const server = yield* Effect.acquireRelease(
        Effect.sync(() => new Server(options, credentials, accept, runtime)),
        (server) => Effect.promise(() => server.close())
      )
      if (options.tls !== undefined && credentials !== undefined) {
        yield* ServerTls.watch(options.tls, credentials, server.reload)
      }
      const port = yield* Effect.mapError(server.listen(host, options.port ?? 0), (cause) =>
        fail(ListenAddress.reasonOf(cause), cause)
      )
      return ListenAddress.format(host, port)
    })
})

/**
 * The transport as a layer.
 *
 * @example
 * import { ConnectServer } from "@effect-xds/transport-connect"
 *
 * const transport = ConnectServer.layer({ host: "0.0.0.0", port: 18000 })
 *
 * @since 0.1.0
 */
export const layer = (options: Options = {}): Layer.Layer<ServerTransport.ServerTransport> =>
  Layer.succeed(ServerTransport.ServerTransport, make(options))

/**
 * Bytes that a client may send on a connection before it is told that they were read; Node says so as soon as they have come. With
 * what HTTP/2 begins with, 64 KB, streams would wait for one another. With many times as much, what waits in the socket has left
 * the processor's cache before it is read.
 */
const connectionWindow = 1024 * 1024
/** Bytes of a frame: with what HTTP/2 begins with, 16 KB, a window would be sixteen pieces of work. */
const maxFrameSize = streamWindow

/** What begins every HTTP/2 connection and no HTTP/1 request: "PRI". */
const preface = Buffer.from("PRI")

/** The other end of a connection, which a TLS socket and the one below it have in common. */
const endOf = ({ remoteAddress, remotePort }: Net.Socket): string => `${remoteAddress ?? ""} ${remotePort ?? 0}`

const isGrpc = (contentType: string | undefined): boolean =>
  contentType !== undefined && /^application\/grpc(?:\+proto)?(?:;|$)/.test(contentType)

interface Http1Connection {
  readonly peer: ServerTransport.Peer
  readonly onRequest: (request: Http1.IncomingMessage, response: Http1.ServerResponse) => void
}

class Server {
  /** Those that are open, and their addresses. */
  readonly #sockets = new Map<Net.Socket, string>()
  /** Of TLS, by the other end: says that the handshake is over. */
  readonly #handshakes = new Map<string, () => void>()
  /** Sockets that nothing is under way on: before their first bytes, and HTTP/1.1 between requests. Oldest first. */
  readonly #idle = new Set<Net.Socket>()
  readonly #sessions = new Set<Http2.Http2Session>()
  readonly #idleSessions: IdleConnections<Http2.Http2Session>
  /** Connections of each address. */
  readonly #hosts = new Map<string, number>()
  readonly #maxConnections: number
  readonly #maxConnectionsPerPeer: number
  readonly #refusing = new TransportMetrics.Refusing("maxConnections")
  readonly #peers = new WeakMap<Http2.Http2Session, ServerTransport.Peer>()
  readonly #intakes = new WeakMap<Http2.Http2Session, Intake>()
  /** Open streams of each session. */
  readonly #open = new WeakMap<Http2.Http2Session, number>()
  readonly #http1Connections = new WeakMap<Net.Socket, Http1Connection>()
  #closing = false
  readonly #calls: Calls
  readonly #shared: Shared
  readonly #listener: Net.Server
  readonly #http2: Http2.Http2Server
  readonly #http1: Http1.Server
  readonly #connect: ConnectRoutes.Serve
  readonly #handshakeTimeout: number
  readonly #shutdownGrace: number
  readonly #pingInterval: number
  readonly #pingTimeout: number
  readonly #fork: (effect: Effect.Effect<void>) => void
  readonly #log: LogThrottle.LogThrottle

  constructor(
    options: Options,
    credentials: Tls.TlsOptions | undefined,
    accept: (stream: ServerTransport.AcceptedStream) => ServerTransport.StreamHandler,
    runtime: Runtime.Runtime<never>
  ) {
    const maxStreams = options.maxStreams ?? 50_000
    const maxRequestBytes = options.maxRequestBytes ?? 4 * 1024 * 1024
    this.#maxConnections = options.maxConnections ?? 10_000
    this.#maxConnectionsPerPeer = options.maxConnectionsPerPeer ?? this.#maxConnections
    this.#idleSessions = new IdleConnections(options.idleTimeout ?? 300_000)
    this.#handshakeTimeout = options.handshakeTimeout ?? 10_000
    this.#shutdownGrace = options.shutdownGrace ?? 5000
    this.#pingInterval = options.keepalive?.interval ?? 30_000
    this.#pingTimeout = options.keepalive?.timeout ?? 10_000
    const runFork = Runtime.runFork(runtime)
    this.#fork = (effect) => void runFork(effect)
    this.#log = LogThrottle.make(runtime, () => performance.now())
    this.#calls = new Calls({ maxStreams, maxStreamsPerPeer: options.maxStreamsPerPeer ?? maxStreams })
    this.#shared = {
      calls: this.#calls,
      known: new KnownVersions(options.knownVersionsBytes ?? 32 * 1024 * 1024),
      slices: new TimeSlices(),
      inflater: new Inflater(maxRequestBytes),
      held: new ByteBudget.ByteBudget(options.maxClientBytes ?? ByteBudget.defaultLimit, "unread requests"),
      maxRequestBytes,
      maxWholeRequestBytes: options.maxWholeRequestBytes ?? 1024 * 1024,
      maxJsonValues: options.maxJsonValues ?? 20_000,
      writeBufferBytes: options.writeBufferBytes ?? 16_384,
      requestTimeout: this.#handshakeTimeout,
      reflection: options.reflection ?? true,
      shutdownGrace: this.#shutdownGrace,
      accept,
      onRefused: this.#onRefused,
      onDefect: this.#onDefect
    }
    this.#connect = ConnectRoutes.make(this.#shared)
    // With the first of these Node loads its fetch, and that takes longer than a turn may: so not when a client asks.
    new Headers()
    this.#http2 = Http2.createServer({
      settings: {
        maxConcurrentStreams: options.maxConnectionStreams ?? 1000,
        initialWindowSize: streamWindow,
        maxFrameSize
      },
      // Node counts a shared response once for each stream and refuses streams above 10 MB. What is queued is bounded
      // by the credit of each stream already.
      maxSessionMemory: 64 * 1024
    })
    this.#http2.on("session", this.#onSession)
    this.#http2.on("stream", this.#onStream)
    // Sessions with an error are closed by Node; the error itself is only worth a line.
    this.#http2.on("sessionError", (error, session) => {
      this.#debug("connection failed", { peer: this.#peers.get(session)?.address, reason: error.message })
    })
    this.#http1 = Http1.createServer({ keepAliveTimeout: this.#handshakeTimeout })
    this.#http1.on("request", this.#onHttp1Request)
    if (credentials === undefined) {
      this.#listener = Net.createServer({ noDelay: true })
      this.#listener.on("connection", this.#onCleartext)
    } else {
      const listener = Tls.createServer({
        ...credentials,
        ALPNProtocols: ["h2", "http/1.1"],
        handshakeTimeout: this.#handshakeTimeout
      })
      listener.on("connection", (socket: Net.Socket) => {
        socket.setNoDelay(true)
        if (!this.#admit(socket)) return
        // It has that long for its handshake, and is idle until it is over.
        const key = endOf(socket)
        this.#handshakes.set(key, this.#expectBytes(socket))
        socket.once("close", () => this.#handshakes.delete(key))
      })
      listener.on("secureConnection", this.#onSecure)
      listener.on("tlsClientError", (error, socket) => {
        this.#warn("TLS handshake failed", { peer: SocketPeer.ofSocket(socket).address, reason: error.message })
      })
      this.#listener = listener
    }
  }

  /** New credentials for new connections. */
  readonly reload: ServerTls.Reload = {
    onChange: ({ ca, cert, ciphers, key, minVersion }) => {
      if (!(this.#listener instanceof Tls.Server)) return
      this.#listener.setSecureContext({ key, cert, ca, ciphers, minVersion })
      ConnectServerMetrics.tlsReloads.unsafeUpdate(1, [])
      this.#fork(Effect.logInfo("TLS files changed and are in use"))
    },
    onUnusable: ({ reason }) => this.#warn("TLS files changed and cannot be used; the old ones stay", { reason })
  }

  listen(host: string, port: number): Effect.Effect<number, Error> {
    return Effect.async((resume) => {
      this.#listener.once("error", (error) => resume(Effect.fail(error)))
      this.#listener.listen({ host, port }, () => {
        // Errors from here on are of single connections that could not be accepted.
        this.#listener.on("error", (error) => this.#warn("connection not accepted", { reason: error.message }))
        const address = this.#listener.address()
        resume(Effect.succeed(typeof address === "object" && address !== null ? address.port : port))
      })
    })
  }

  /** Resolves when nothing is left: no socket, no timer. Never rejects. */
  async close(): Promise<void> {
    this.#closing = true
    const closed = new Promise<void>((resolve) => this.#listener.close(() => resolve()))
    this.#calls.shutdown()
    for (const session of this.#sessions) session.close()
    for (const socket of this.#idle) socket.destroy()
    const timer = setTimeout(() => {
      for (const session of this.#sessions) session.destroy()
      for (const socket of this.#sockets.keys()) socket.destroy()
    }, this.#shutdownGrace)
    await closed
    clearTimeout(timer)
    this.#refusing.set(false)
    this.#shared.known.clear()
  }

  /** Takes a connection in, if there is room or some can be made; else it is destroyed. */
  #admit(socket: Net.Socket): boolean {
    const host = socket.remoteAddress ?? "unknown"
    const refusal = this.#refusal(host)
    if (refusal === undefined) {
      this.#track(socket, host)
      return true
    }
    socket.on("error", () => undefined)
    socket.destroy()
    ConnectServerMetrics.refusedConnections.unsafeUpdate(1, [])
    const peer = ListenAddress.format(host, socket.remotePort ?? 0)
    this.#warn("connection refused", { peer, reason: refusal })
    return false
  }

  /** Why there is no room for one more connection from this address, after that of one that is idle was looked for. */
  #refusal(host: string): string | undefined {
    const { size } = this.#sockets
    const ofHost = this.#hosts.get(host) ?? 0
    // First: an address at its limit makes room among its own, not among those of others.
    if (this.#maxConnectionsPerPeer < this.#maxConnections && ofHost >= this.#maxConnectionsPerPeer) {
      return this.#closeIdle(host)
        ? undefined
        : `${host} has ${ofHost} connections, the limit for one address, and none is idle`
    }
    if (size < this.#maxConnections || this.#closeIdle(undefined)) return undefined
    this.#refusing.set(true)
    return `this server has ${size} connections, its limit, and none is idle`
  }

  /** Closes the connection that is idle for the longest time, of this address if one is given. */
  #closeIdle(host: string | undefined): boolean {
    if (this.#idleSessions.closeOldest(host)) return true
    for (const socket of this.#idle) {
      if (host !== undefined && socket.remoteAddress !== host) continue
      this.#idle.delete(socket)
      ConnectServerMetrics.idleConnectionsClosed.unsafeUpdate(1, [])
      this.#forget(socket)
      socket.destroy()
      return true
    }
    return false
  }

  /** It counts no longer. */
  #forget(socket: Net.Socket): void {
    const host = this.#sockets.get(socket)
    if (host === undefined) return
    this.#sockets.delete(socket)
    const left = (this.#hosts.get(host) ?? 1) - 1
    if (left === 0) this.#hosts.delete(host)
    else this.#hosts.set(host, left)
    if (this.#sockets.size < this.#maxConnections) this.#refusing.set(false)
    ConnectServerMetrics.connections.unsafeUpdate(-1, [])
  }

  #track(socket: Net.Socket, host: string): void {
    this.#sockets.set(socket, host)
    this.#hosts.set(host, (this.#hosts.get(host) ?? 0) + 1)
    ConnectServerMetrics.connections.unsafeUpdate(1, [])
    // Whatever goes wrong with a socket, "close" follows.
    socket.on("error", () => undefined)
    socket.once("close", () => this.#forget(socket))
  }

  readonly #onCleartext = (socket: Net.Socket): void => {
    if (!this.#admit(socket)) return
    const expected = this.#expectBytes(socket)
    let seen: Buffer | undefined
    const onData = (chunk: Buffer): void => {
      const bytes = seen === undefined ? chunk : Buffer.concat([seen, chunk])
      const length = Math.min(bytes.length, preface.length)
      const http2 = bytes.compare(preface, 0, length, 0, length) === 0
      if (http2 && length < preface.length) {
        seen = bytes
        return
      }
      expected()
      socket.removeListener("data", onData)
      socket.pause()
      socket.unshift(bytes)
      if (http2) this.#http2.emit("connection", socket)
      else this.#onHttp1(socket)
    }
    socket.on("data", onData)
  }

  readonly #onSecure = (socket: Tls.TLSSocket): void => {
    // The socket below it is the one that is tracked.
    socket.on("error", () => undefined)
    this.#handshakes.get(endOf(socket))?.()
    if (socket.alpnProtocol === "h2") this.#http2.emit("connection", socket)
    else this.#onHttp1(socket)
  }

  /** Destroys a socket that does not bring what it should in time; the function it returns says that it did. */
  #expectBytes(socket: Net.Socket): () => void {
    const timer = setTimeout(() => socket.destroy(), this.#handshakeTimeout)
    let expected = true
    const stop = (): void => {
      if (!expected) return
      expected = false
      clearTimeout(timer)
      this.#idle.delete(socket)
      socket.removeListener("close", stop)
    }
    this.#idle.add(socket)
    socket.once("close", stop)
    return stop
  }

  #onHttp1(socket: Net.Socket): void {
    const peer = SocketPeer.ofSocket(socket)
    this.#debug("connection opened", { peer: peer.address, protocol: "HTTP/1.1" })
    // A connection that does not bring a whole request in time is ended, whatever it trickles.
    let requested = this.#expectBytes(socket)
    this.#http1Connections.set(socket, {
      peer,
      onRequest: (request, response) => {
        this.#idle.delete(socket)
        const arrived = requested
        request.once("end", arrived)
        response.once("close", () => {
          arrived()
          if (this.#closing) socket.destroySoon()
          else if (!socket.destroyed) requested = this.#expectBytes(socket)
        })
      }
    })
    this.#http1.emit("connection", socket)
    socket.resume()
  }

  readonly #onHttp1Request = (request: Http1.IncomingMessage, response: Http1.ServerResponse): void => {
    this.#shared.slices.begin()
    const connection = this.#http1Connections.get(request.socket)
    connection?.onRequest(request, response)
    this.#serveConnect(request, response, connection?.peer ?? SocketPeer.ofSocket(request.socket))
  }

  readonly #onSession = (session: Http2.ServerHttp2Session): void => {
    // What is read in this turn comes on top of what it takes to accept the session.
    this.#shared.slices.begin()
    const socket = session.socket
    const peer = SocketPeer.ofSocket(socket)
    this.#peers.set(session, peer)
    this.#intakes.set(session, new Intake(session))
    this.#sessions.add(session)
    session.setLocalWindowSize(connectionWindow)
    if (this.#closing) session.close()
    else this.#setIdle(session)
    this.#debug("connection opened", { peer: peer.address, protocol: "HTTP/2" })
    const stopPings = this.#keepAlive(session, peer)
    session.once("close", () => {
      stopPings()
      this.#sessions.delete(session)
      this.#idleSessions.delete(session)
      this.#debug("connection closed", { peer: peer.address })
    })
  }

  /** No stream is open on it. */
  #setIdle(session: Http2.Http2Session): void {
    if (session.destroyed || session.closed) return
    this.#idleSessions.add(session, session.socket.remoteAddress ?? "unknown", () => {
      this.#debug("connection closed for a newcomer, or because no stream was open on it for long", {
        peer: this.#peers.get(session)?.address
      })
      // It says GOAWAY, and waits for nobody: in a turn of its own, see `closeSoon`.
      session.close()
      setImmediate(() => session.destroy())
    })
  }

  /** A stream was opened on the session; when the last one is closed it is idle again. */
  #noteStream(session: Http2.Http2Session, stream: Http2.ServerHttp2Stream): void {
    this.#idleSessions.delete(session)
    this.#open.set(session, (this.#open.get(session) ?? 0) + 1)
    stream.once("close", () => {
      const left = (this.#open.get(session) ?? 1) - 1
      this.#open.set(session, left)
      if (left === 0 && !this.#closing && this.#sessions.has(session)) this.#setIdle(session)
    })
  }

  /** Pings until the function it returns is called, and destroys a session that does not answer. */
  #keepAlive(session: Http2.ServerHttp2Session, peer: ServerTransport.Peer): () => void {
    let timeout: NodeJS.Timeout | undefined
    // Node 20 never comes back from destroy() within an event of a stream; in a timer, as here, it does.
    const onTimeout = (): void => {
      this.#warn("connection lost", { peer: peer.address, reason: `no answer to a ping in ${this.#pingTimeout} ms` })
      session.destroy()
    }
    const interval = setInterval(() => {
      if (timeout !== undefined || session.destroyed) return
      timeout = setTimeout(onTimeout, this.#pingTimeout)
      session.ping(() => {
        clearTimeout(timeout)
        timeout = undefined
      })
    }, this.#pingInterval)
    return () => {
      clearInterval(interval)
      clearTimeout(timeout)
    }
  }

  readonly #onStream = (
    stream: Http2.ServerHttp2Stream,
    headers: Http2.IncomingHttpHeaders,
    _flags: number,
    rawHeaders: ReadonlyArray<string>
  ): void => {
    const session = stream.session
    // Reset by the client before we came to it.
    if (stream.destroyed || stream.closed || session === undefined) return
    const path = headers[":path"] ?? ""
    const peer = this.#peers.get(session) ?? SocketPeer.ofSocket(session.socket)
    this.#noteStream(session, stream)
    const method = MethodTable.find(path)
    const grpc = isGrpc(headers["content-type"])
    const isBuiltIn = this.#builtIn(path) !== undefined
    const intake = this.#intakes.get(session) ?? new Intake(session)
    if (headers[":method"] === "POST" && grpc && !isBuiltIn && !(method?.unary ?? false))
      this.#acceptGrpc(stream, headers, path, method, peer, intake)
    else
      this.#serveConnect(
        new Http2.Http2ServerRequest(stream, headers, {}, rawHeaders),
        new Http2.Http2ServerResponse(stream),
        peer
      )
  }

  #acceptGrpc(
    stream: Http2.ServerHttp2Stream,
    headers: Http2.IncomingHttpHeaders,
    path: string,
    method: ServerTransport.Method | undefined,
    peer: ServerTransport.Peer,
    intake: Intake
  ): void {
    const refused = (reason: ConnectServerMetrics.RefusalReason, status: Status.Status): void => {
      this.#onRefused(path, peer, reason, status.message)
      refuse(stream, status)
    }
    if (method === undefined)
      return refused("unknown method", Status.make("UNIMPLEMENTED", `${path} is not a method of this server`))
    const encoding = RequestHeaders.only(headers["grpc-encoding"])
    if (encoding !== undefined && encoding !== "gzip" && encoding !== "identity")
      return refused(
        "unsupported encoding",
        Status.make("UNIMPLEMENTED", `grpc-encoding ${encoding} is not supported; identity and gzip are`)
      )
    const refusal = this.#calls.refusal(peer)
    if (refusal !== undefined) return refused(refusal.reason, refusal.status)
    new GrpcStream(this.#shared, stream, path, encoding, method, peer, intake, headers).start()
  }

  #serveConnect(
    request: ConnectRoutes.HttpRequest,
    response: ConnectRoutes.HttpResponse,
    peer: ServerTransport.Peer
  ): void {
    const path = (request.url ?? "").split("?", 1)[0] ?? ""
    const method = MethodTable.find(path)
    const unary = method?.unary ?? this.#builtIn(path)
    this.#connect({ path, method, unary, peer, headers: RequestHeaders.plain(request.headers) }, request, response)
  }

  /** Whether the method is unary; `undefined` if it is none of gRPC's own services. */
  #builtIn(path: string): boolean | undefined {
    return BuiltInServices.isUnary(path, this.#shared.reflection)
  }

  readonly #onRefused: Shared["onRefused"] = (method, peer, reason, message) => {
    ConnectServerMetrics.refusedStreams(reason).unsafeUpdate(1, [])
    this.#warn("stream refused", { method, peer: peer.address, reason, message })
  }

  readonly #onDefect: Shared["onDefect"] = (method, peer, defect) => {
    const annotations = { method, peer: peer.address }
    this.#fork(Effect.annotateLogs(Effect.logError("server failed on a stream", Cause.die(defect)), annotations))
  }

  #debug(message: string, annotations: Record<string, unknown>): void {
    this.#fork(Effect.annotateLogs(Effect.logDebug(message), annotations))
  }

  /** Of the same peer and for the same reason once a minute: a peer that is refused may come again at once, and without end. */
  #warn(message: string, annotations: Readonly<Record<string, string>>): void {
    const { peer = "", reason = "" } = annotations
    const host = peer.slice(0, Math.max(0, peer.lastIndexOf(":")))
    this.#log(LogLevel.Warning, `${message} ${host} ${reason}`, message, undefined, annotations)
  }
}
