/**
 * The calls of one server, from its own port or a mounted one: which paths it serves, its interceptors, and the
 * shutdown of all calls.
 */
import type { ServerTransport } from "@effect-xds/transport"
import { Status } from "@effect-xds/transport"
import { ByteBudget } from "@effect-xds/transport-node/ByteBudget"
import { Inflater } from "@effect-xds/transport-node/Inflater"
import * as SocketPeer from "@effect-xds/transport-node/SocketPeer"
import { TimeSlices } from "@effect-xds/transport-node/TimeSlices"
import * as Either from "effect/Either"
import type * as Runtime from "effect/Runtime"
import * as Http2 from "node:http2"
import type { Socket } from "node:net"
import * as ConnectServerMetrics from "../ConnectServerMetrics.js"
import * as BuiltInServices from "../grpc/BuiltInServices.js"
import * as MethodTable from "../grpc/MethodTable.js"
import { OpenCalls, type Call } from "./OpenCalls.js"
import * as ConnectRoutes from "./ConnectRoutes.js"
import * as FurtherServices from "./FurtherServices.js"
import { GrpcStream, refuse, type Shared } from "./GrpcStream.js"
import { ReadPause } from "./ReadPause.js"
import * as Interception from "./Interception.js"
import { SharedVersions } from "./SharedVersions.js"
import type { PeerLog } from "./PeerLog.js"
import * as RequestHeaders from "./RequestHeaders.js"
import type { Settings } from "./Settings.js"

const isGrpc = (contentType: string | undefined): boolean =>
  contentType !== undefined && /^application\/grpc(?:\+proto)?(?:;|$)/.test(contentType)

/** What all streams of an HTTP/2 connection share. */
interface Connection {
  readonly peer: ServerTransport.Peer
  readonly readPause: ReadPause
}

const unknownPeer: ServerTransport.Peer = { address: "unknown:0", identity: undefined }

export class Application {
  readonly #shared: Shared
  readonly #connect: ConnectRoutes.Serve
  readonly #further: FurtherServices.FurtherServices
  readonly #intercept: Interception.Intercept | undefined
  readonly #connections = new WeakMap<Http2.Http2Session, Connection>()

  /** `path`: the Unix socket of the listener. Throws what `services` throws. */
  constructor(
    settings: Settings,
    accept: (stream: ServerTransport.AcceptedStream) => ServerTransport.StreamHandler,
    runtime: Runtime.Runtime<never>,
    private readonly log: PeerLog,
    private readonly path: string | undefined
  ) {
    this.#shared = {
      calls: new OpenCalls(settings),
      known: new SharedVersions(settings.knownVersionsBytes),
      slices: new TimeSlices(),
      inflater: new Inflater(settings.maxRequestBytes),
      held: new ByteBudget(settings.maxClientBytes, "unread requests"),
      maxRequestBytes: settings.maxRequestBytes,
      maxWholeRequestBytes: settings.maxWholeRequestBytes,
      maxJsonValues: settings.maxJsonValues,
      writeBufferBytes: settings.writeBufferBytes,
      requestTimeout: settings.requestTimeout,
      reflection: settings.reflection,
      shutdownGrace: settings.shutdownGrace,
      accept,
      onRefused: this.#onRefused,
      onDefect: this.#onDefect
    }
    this.#further = FurtherServices.make(this.#shared, settings.services)
    this.#connect = ConnectRoutes.make(this.#shared, this.#further)
    this.#intercept =
      settings.interceptors.length === 0
        ? undefined
        : Interception.make(settings.interceptors, settings.interceptTimeout, runtime, ({ path, peer }, defect) =>
            this.log.defect("an interceptor failed", defect, { method: path, peer: peer.address })
          )
    // The first use makes Node load its fetch, which takes longer than a turn may; so not at a client's request.
    new Headers()
  }

  /** Whether a path is served here. */
  has(path: string): boolean {
    return MethodTable.find(path) !== undefined || this.#isUnary(path) !== undefined
  }

  /** Starts the time slice: reading in this turn adds to the work before it. */
  beginTurn(): void {
    this.#shared.slices.begin()
  }

  /** Ends every call, and admits no more. */
  shutdown(): void {
    this.#shared.calls.shutdown()
  }

  /** Frees memory that no call needs. */
  clear(): void {
    this.#shared.known.clear()
  }

  /**
   * The peer of a connection.
   *
   * @param socket of a new one, if it is known: what a session gives is a proxy, which takes ten times as long for each property
   */
  peerOf(session: Http2.Http2Session, socket?: Socket): ServerTransport.Peer {
    return this.#connectionOf(session, socket).peer
  }

  /** Serves a stream of any kind. Never throws. */
  onStream(
    stream: Http2.ServerHttp2Stream,
    headers: Http2.IncomingHttpHeaders,
    rawHeaders: ReadonlyArray<string>
  ): void {
    const session = stream.session
    // The client has already reset it.
    if (stream.destroyed || stream.closed || session === undefined) return
    const path = headers[":path"] ?? ""
    const connection = this.#connectionOf(session)
    const method = MethodTable.find(path)
    const isOther = method?.unary === true || this.#isUnary(path) !== undefined
    if (headers[":method"] === "POST" && isGrpc(headers["content-type"]) && !isOther)
      this.#acceptGrpc(stream, headers, path, method, connection)
    else
      this.onRequest(
        new Http2.Http2ServerRequest(stream, headers, {}, rawHeaders),
        new Http2.Http2ServerResponse(stream),
        connection.peer
      )
  }

  /** Serves a request of any kind. Never throws. */
  onRequest(
    request: ConnectRoutes.HttpRequest,
    response: ConnectRoutes.HttpResponse,
    peer: ServerTransport.Peer
  ): void {
    const path = (request.url ?? "").split("?", 1)[0] ?? ""
    const method = MethodTable.find(path)
    const unary = method?.unary ?? this.#isUnary(path)
    const headers = RequestHeaders.plain(request.headers)
    const intercept = this.#intercept
    if (intercept === undefined || unary === undefined) {
      return this.#connect({ path, method, unary, peer, headers, refusal: undefined }, request, response)
    }
    const onOutcome = (outcome: Interception.Outcome): void => {
      const call = Either.isRight(outcome) ? outcome.right : { headers, peer }
      const refusal = Either.isLeft(outcome) ? outcome.left : undefined
      this.#connect({ path, method, unary, peer: call.peer, headers: call.headers, refusal }, request, response)
    }
    // The call is not counted yet; the timeout of the interceptors bounds its time.
    const end = intercept({ path, headers, peer }, onOutcome)
    response.once("close", end)
  }

  #acceptGrpc(
    stream: Http2.ServerHttp2Stream,
    headers: Http2.IncomingHttpHeaders,
    path: string,
    method: ServerTransport.Method | undefined,
    { readPause, peer }: Connection
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
    const { calls } = this.#shared
    const refusal = calls.refusal(peer)
    if (refusal !== undefined) return refused(refusal.reason, refusal.status)
    // Node's own headers take four times the memory, as long as the stream is open.
    const plain = RequestHeaders.plain(headers)
    const intercept = this.#intercept
    if (intercept === undefined) {
      return new GrpcStream(this.#shared, stream, path, encoding, method, peer, readPause, plain).start()
    }
    // During interception the stream counts, and its bytes wait in its window.
    const waiting: Call = {
      shutdown: (status) => {
        calls.delete(waiting)
        end()
        refuse(stream, status)
      }
    }
    calls.add(waiting, peer)
    const end = intercept({ path, headers: plain, peer }, (outcome) => {
      calls.delete(waiting)
      if (stream.destroyed || stream.closed) return
      if (Either.isLeft(outcome)) return refused("refused by an interceptor", outcome.left)
      const call = outcome.right
      // An interceptor may know better who the peer is.
      const refusal = calls.refusal(call.peer)
      if (refusal !== undefined) return refused(refusal.reason, refusal.status)
      new GrpcStream(this.#shared, stream, path, encoding, method, call.peer, readPause, call.headers).start()
    })
    stream.on("error", () => undefined)
    stream.once("close", () => {
      calls.delete(waiting)
      end()
    })
  }

  #connectionOf(session: Http2.Http2Session, known?: Socket): Connection {
    let connection = this.#connections.get(session)
    if (connection === undefined) {
      // A destroyed session has no socket.
      const socket = known ?? (session.destroyed ? undefined : session.socket)
      const peer = socket === undefined ? unknownPeer : SocketPeer.ofSocket(socket, this.path)
      connection = { peer, readPause: new ReadPause(session, socket) }
      this.#connections.set(session, connection)
    }
    return connection
  }

  /** Whether the method is unary; `undefined` if it belongs to no built-in or further service. */
  #isUnary(path: string): boolean | undefined {
    return BuiltInServices.isUnary(path, this.#shared.reflection) ?? this.#further.isUnary(path)
  }

  readonly #onRefused: Shared["onRefused"] = (method, peer, reason, message) => {
    ConnectServerMetrics.refusedStreams(reason).unsafeUpdate(1, [])
    this.log.warn("stream refused", { method, peer: peer.address, reason, message })
  }

  readonly #onDefect: Shared["onDefect"] = (method, peer, defect) => {
    this.log.defect("server failed on a stream", defect, { method, peer: peer.address })
  }
}
