/**
 * The listening port of a server: its connections (with and without TLS, HTTP/2 and HTTP/1.1), their number and limits.
 * The protocol of a connection without TLS is detected from its first bytes, unless the server has HTTP/2 only.
 */
import type { ServerTransport } from "@effect-xds/transport"
import * as ListenAddress from "@effect-xds/transport-node/ListenAddress"
import * as Milliseconds from "@effect-xds/transport-node/Milliseconds"
import type * as ServerTls from "@effect-xds/transport-node/ServerTls"
import * as SocketPeer from "@effect-xds/transport-node/SocketPeer"
import * as TlsFailure from "@effect-xds/transport-node/TlsFailure"
import * as TransportMetrics from "@effect-xds/transport/TransportMetrics"
import * as Effect from "effect/Effect"
import * as Http1 from "node:http"
import * as Http2 from "node:http2"
import * as Net from "node:net"
import * as Tls from "node:tls"
import * as ConnectServerMetrics from "../ConnectServerMetrics.js"
import * as Keepalive from "../grpc/Keepalive.js"
import type { Application } from "./Application.js"
import { streamWindow } from "./GrpcStream.js"
import { IdleConnections } from "./IdleConnections.js"
import type { PeerLog } from "./PeerLog.js"

/** Limits of connections; durations in milliseconds. */
export interface Limits {
  readonly maxConnections: number
  readonly maxConnectionsPerPeer: number
  readonly maxConnectionStreams: number
  readonly idleTimeout: number
  readonly handshakeTimeout: number
  readonly shutdownGrace: number
  readonly keepalive: { readonly interval: number; readonly timeout: number }
}

/**
 * The flow-control window of a connection, in bytes; Node returns credit as soon as bytes arrive. With HTTP/2's default
 * of 64 KB, streams would wait for one another. With a much larger one, bytes would leave the processor's cache before
 * they are read.
 */
const connectionWindow = 1024 * 1024
/** Bytes of a frame: with HTTP/2's default of 16 KB, a full window would be sixteen reads. */
const maxFrameSize = streamWindow

/** The first bytes of every HTTP/2 connection, and of no HTTP/1 request. */
const preface = Buffer.from("PRI")

/** The error of `node:http2` for other first bytes: NGHTTP2_ERR_BAD_CLIENT_MAGIC. */
const isNoPreface = (error: Error): boolean => Reflect.get(error, "errno") === -903

/** Both ends of a connection, which a TLS socket and its TCP socket share, and no other open connection has. */
const endsOf = ({ localAddress, localPort, remoteAddress, remotePort }: Net.Socket): string =>
  `${remoteAddress ?? ""} ${remotePort ?? 0} ${localAddress ?? ""} ${localPort ?? 0}`

/** Why a client is disconnected that speaks another protocol, for the log: it cannot be told. */
const notHttp2 = "it does not speak HTTP/2, and this server speaks nothing else: see the option http1"

interface Http1Connection {
  readonly peer: ServerTransport.Peer
  readonly onRequest: (response: Http1.ServerResponse) => void
}

interface OpenSession {
  /** The address of its client. */
  readonly host: string
  readonly socket: Net.Socket
  /** How many streams are open. */
  streams: number
}

export class Connections {
  /** Open connections with their addresses. */
  readonly #sockets = new Map<Net.Socket, string>()
  /** TLS connections in their handshake, by their ends: called when the first bytes after it have come. */
  readonly #handshakes = new Map<string, () => void>()
  /** Idle sockets, oldest first: before their first bytes, and HTTP/1.1 between requests. */
  readonly #idle = new Set<Net.Socket>()
  readonly #sessions = new Map<Http2.Http2Session, OpenSession>()
  readonly #idleSessions: IdleConnections<Http2.Http2Session>
  /** The number of connections per address. */
  readonly #hosts = new Map<string, number>()
  readonly #refusing = new TransportMetrics.Refusing("maxConnections")
  readonly #http1Connections = new WeakMap<Net.Socket, Http1Connection>()
  #closing = false
  /** The one of which a session is being made. `greeted` is called when its client has begun with HTTP/2. */
  #joining: { readonly socket: Net.Socket; readonly greeted: (() => void) | undefined } | undefined
  readonly #listener: Net.Server
  readonly #http2: Http2.Http2Server
  readonly #http1: Http1.Server

  constructor(
    private readonly limits: Limits,
    credentials: Tls.TlsOptions | undefined,
    private readonly address: ListenAddress.ListenAddress,
    private readonly application: Application,
    private readonly log: PeerLog,
    /** Whether HTTP/1.1 is served, too. */
    private readonly http1: boolean
  ) {
    this.#idleSessions = new IdleConnections(limits.idleTimeout)
    this.#http2 = Http2.createServer({
      settings: {
        maxConcurrentStreams: limits.maxConnectionStreams,
        initialWindowSize: streamWindow,
        maxFrameSize
      },
      // Node counts a shared response once per stream and refuses streams above 10 MB. The credit of each stream
      // already bounds what is queued.
      maxSessionMemory: 64 * 1024
    })
    this.#http2.on("session", this.#onSession)
    const onStream = (
      stream: Http2.ServerHttp2Stream,
      headers: Http2.IncomingHttpHeaders,
      _flags: number,
      rawHeaders: ReadonlyArray<string>
    ): void => {
      // The client has already reset it.
      if (stream.destroyed || stream.closed || stream.session === undefined) return
      this.#noteStream(stream.session, stream)
      application.onStream(stream, headers, rawHeaders)
    }
    this.#http2.on("stream", onStream)
    // Node closes a session after an error; it is only logged.
    this.#http2.on("sessionError", (error, session) => {
      const peer = application.peerOf(session).address
      if (!http1 && isNoPreface(error)) log.warn("connection refused", { peer, reason: notHttp2 })
      else log.debug("connection failed", { peer, reason: error.message })
    })
    this.#http1 = Http1.createServer({
      keepAliveTimeout: Math.min(Milliseconds.longestKeepAlive, limits.handshakeTimeout)
    })
    this.#http1.on("request", this.#onHttp1Request)
    if (credentials === undefined) {
      this.#listener = Net.createServer({ noDelay: true })
      this.#listener.on("connection", http1 ? this.#onCleartext : this.#onCleartextHttp2)
    } else {
      const listener = Tls.createServer({
        ...credentials,
        ALPNProtocols: http1 ? ["h2", "http/1.1"] : ["h2"],
        handshakeTimeout: limits.handshakeTimeout
      })
      listener.on("connection", (socket: Net.Socket) => {
        socket.setNoDelay(true)
        if (!this.#admit(socket)) return
        // The timeout covers the handshake; until it is over the connection is idle.
        const ends = endsOf(socket)
        const expected = this.#expectBytes(socket)
        this.#handshakes.set(ends, expected)
        socket.once("close", () => {
          // A client that was cut off may come again from the same port before its end is seen here.
          if (this.#handshakes.get(ends) === expected) this.#handshakes.delete(ends)
        })
      })
      listener.on("secureConnection", this.#onSecure)
      listener.on("tlsClientError", (error, socket) => {
        const reason = TlsFailure.ofHandshake(error, socket)
        log.warn("TLS handshake failed", { peer: this.#peerOf(TlsFailure.transportOf(socket)).address, reason })
      })
      this.#listener = listener
    }
  }

  /** Uses new credentials for new connections. */
  readonly reload: ServerTls.Reload = {
    onChange: ({ ca, cert, ciphers, key, minVersion }) => {
      if (!(this.#listener instanceof Tls.Server)) return
      this.#listener.setSecureContext({ key, cert, ca, ciphers, minVersion })
      ConnectServerMetrics.tlsReloads.unsafeUpdate(1, [])
      this.log.info("TLS files changed and are in use")
    },
    onUnusable: ({ reason }) => this.log.warn("TLS files changed and cannot be used; the old ones stay", { reason })
  }

  /** Listens, and gives the address. */
  listen(): Effect.Effect<ListenAddress.ListenAddress, unknown> {
    return Effect.tap(ListenAddress.listen(this.#listener, this.address), () =>
      Effect.sync(() => {
        // Later errors concern single connections that could not be accepted.
        this.#listener.on("error", (error) => this.log.warn("connection not accepted", { reason: error.message }))
      })
    )
  }

  /** Resolves when no socket and no timer is left. Never rejects. */
  async close(): Promise<void> {
    this.#closing = true
    const closed = new Promise<void>((resolve) => this.#listener.close(() => resolve()))
    this.application.shutdown()
    for (const session of this.#sessions.keys()) session.close()
    for (const socket of this.#idle) socket.destroy()
    const timer = setTimeout(() => {
      for (const session of this.#sessions.keys()) session.destroy()
      for (const socket of this.#sockets.keys()) socket.destroy()
    }, this.limits.shutdownGrace)
    await closed
    clearTimeout(timer)
    this.#refusing.set(false)
    this.application.clear()
  }

  /** Admits a connection if there is room, or an idle one can be closed; else destroys it. */
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
    const peer = this.#peerOf(socket).address
    this.log.warn("connection refused", { peer, reason: refusal })
    return false
  }

  /** Why there is no room for one more connection from this address, even after closing an idle one. */
  #refusal(host: string): string | undefined {
    const { size } = this.#sockets
    const ofHost = this.#hosts.get(host) ?? 0
    // Checked first: an address at its limit makes room among its own connections only.
    if (this.limits.maxConnectionsPerPeer < this.limits.maxConnections && ofHost >= this.limits.maxConnectionsPerPeer) {
      return this.#closeIdle(host)
        ? undefined
        : `${host} has ${ofHost} connections, the limit for one address, and none is idle`
    }
    if (size < this.limits.maxConnections || this.#closeIdle(undefined)) return undefined
    this.#refusing.set(true)
    return `this server has ${size} connections, its limit, and none is idle`
  }

  /** Closes the connection that has been idle longest, of this address if one is given. */
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

  /** Stops counting a connection. */
  #forget(socket: Net.Socket): void {
    const host = this.#sockets.get(socket)
    if (host === undefined) return
    this.#sockets.delete(socket)
    const left = (this.#hosts.get(host) ?? 1) - 1
    if (left === 0) this.#hosts.delete(host)
    else this.#hosts.set(host, left)
    if (this.#sockets.size < this.limits.maxConnections) this.#refusing.set(false)
    ConnectServerMetrics.connections.unsafeUpdate(-1, [])
  }

  #track(socket: Net.Socket, host: string): void {
    this.#sockets.set(socket, host)
    this.#hosts.set(host, (this.#hosts.get(host) ?? 0) + 1)
    ConnectServerMetrics.connections.unsafeUpdate(1, [])
    // After any socket error "close" follows.
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
      socket.removeListener("data", onData)
      socket.pause()
      socket.unshift(bytes)
      if (http2) return this.#onHttp2(socket, expected)
      expected()
      this.#onHttp1(socket)
    }
    socket.on("data", onData)
  }

  /** Nobody has to look at its first bytes, which costs a new client a tenth. */
  readonly #onCleartextHttp2 = (socket: Net.Socket): void => {
    if (this.#admit(socket)) this.#onHttp2(socket, this.#expectBytes(socket))
  }

  readonly #onSecure = (socket: Tls.TLSSocket): void => {
    // The TCP socket below it is tracked.
    socket.on("error", () => undefined)
    const ends = endsOf(socket)
    const expected = this.#handshakes.get(ends)
    this.#handshakes.delete(ends)
    if (socket.alpnProtocol === "h2") return this.#onHttp2(socket, expected)
    expected?.()
    if (this.http1) return this.#onHttp1(socket)
    this.log.warn("connection refused", { peer: this.#peerOf(socket).address, reason: notHttp2 })
    socket.destroy()
  }

  /** Destroys a socket that sends nothing in time; the result cancels that. */
  #expectBytes(socket: Net.Socket): () => void {
    const timer = setTimeout(() => socket.destroy(), this.limits.handshakeTimeout)
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

  #onHttp2(socket: Net.Socket, greeted: (() => void) | undefined): void {
    this.#joining = { socket, greeted }
    this.#http2.emit("connection", socket)
    this.#joining = undefined
  }

  #onHttp1(socket: Net.Socket): void {
    const peer = this.#peerOf(socket)
    this.log.debug("connection opened", { peer: peer.address, protocol: "HTTP/1.1" })
    // The head of a request must come in time; single bytes do not extend it. Then the call has its own limits.
    let requested = this.#expectBytes(socket)
    /** Requests that are not answered: the next one may come before that. */
    let open = 0
    this.#http1Connections.set(socket, {
      peer,
      onRequest: (response) => {
        requested()
        open++
        response.once("close", () => {
          open--
          if (open > 0) return
          if (this.#closing) socket.destroySoon()
          else if (!socket.destroyed) requested = this.#expectBytes(socket)
        })
      }
    })
    this.#http1.emit("connection", socket)
    socket.resume()
  }

  readonly #onHttp1Request = (request: Http1.IncomingMessage, response: Http1.ServerResponse): void => {
    this.application.beginTurn()
    const connection = this.#http1Connections.get(request.socket)
    connection?.onRequest(response)
    this.application.onRequest(request, response, connection?.peer ?? this.#peerOf(request.socket))
  }

  readonly #onSession = (session: Http2.ServerHttp2Session): void => {
    // Reading in this turn adds to the time of accepting the session.
    this.application.beginTurn()
    const socket = this.#joining?.socket ?? session.socket
    const peer = this.application.peerOf(session, socket)
    const host = socket.remoteAddress ?? "unknown"
    const open: OpenSession = { host, socket, streams: 0 }
    this.#sessions.set(session, open)
    session.setLocalWindowSize(connectionWindow)
    if (this.#joining?.greeted !== undefined) session.once("remoteSettings", this.#joining.greeted)
    if (this.#closing) session.close()
    else this.#setIdle(session, open)
    this.log.debug("connection opened", { peer: peer.address, protocol: "HTTP/2" })
    const { interval, timeout } = this.limits.keepalive
    const stopPings = Keepalive.start(session, {
      interval,
      timeout,
      socket,
      onLost: (reason) => this.log.warn("connection lost", { peer: peer.address, reason })
    })
    session.once("close", () => {
      stopPings()
      this.#sessions.delete(session)
      this.#idleSessions.delete(session)
      this.log.debug("connection closed", { peer: peer.address })
    })
  }

  /** Marks a session without streams as idle. */
  #setIdle(session: Http2.Http2Session, { host, socket }: OpenSession): void {
    if (session.destroyed || session.closed) return
    this.#idleSessions.add(session, host, () => {
      this.log.debug("connection closed for a newcomer, or because no stream was open on it for long", {
        peer: this.application.peerOf(session).address
      })
      // Sends GOAWAY without waiting; in a turn of its own, see `closeSoon`.
      session.close()
      setImmediate(() => {
        session.destroy()
        // Node then waits for the peer to close its side, too, and a newcomer for the place. What was sent still arrives.
        setImmediate(() => socket.destroy())
      })
    })
  }

  /** Counts a stream of a session, which is idle again when its last stream is closed. */
  #noteStream(session: Http2.Http2Session, stream: Http2.ServerHttp2Stream): void {
    this.#idleSessions.delete(session)
    const open = this.#sessions.get(session)
    if (open === undefined) return
    open.streams++
    stream.once("close", () => {
      open.streams--
      if (open.streams === 0 && !this.#closing && this.#sessions.has(session)) this.#setIdle(session, open)
    })
  }

  #peerOf(socket: Net.Socket): ServerTransport.Peer {
    return SocketPeer.ofSocket(socket, this.address.path)
  }
}
