/**
 * What there is to an address: one HTTP/2 session, or connections of HTTP/1.1 where the server has nothing else. On GOAWAY it
 * takes no new calls, and those that it has go on.
 *
 * Its timers are real ones: they guard real sockets.
 */
import { Code, ConnectError } from "@connectrpc/connect"
import * as SocketAddress from "@effect-xds/discovery-node/SocketAddress"
import type { OutgoingHttpHeaders } from "node:http2"
import type { Socket } from "node:net"
import { TLSSocket } from "node:tls"
import type * as Carriers from "./Carrier.js"
import type { CallStream, Carrier, Versions } from "./Carrier.js"
import { alpn } from "./Carrier.js"
import type { Connection, Events } from "./Connection.js"
import * as Dial from "./Dial.js"
import { Http1Carrier } from "./Http1Carrier.js"
import { Http2Carrier } from "./Http2Carrier.js"

export interface Options {
  /** `undefined`: there is no TLS. */
  readonly security: Dial.Security | undefined
  readonly versions: Versions
  /** Milliseconds for the connection, its handshake and the server's SETTINGS. */
  readonly connectTimeout: number
  /** The most connections of HTTP/1.1. */
  readonly maxSockets: number
}

export class EndpointConnection implements Connection {
  /** Who reads the answer says so. */
  hasAnswered = false
  readonly scheme: "http" | "https"
  private readonly to: Dial.Options
  private readonly timer: NodeJS.Timeout
  private endDial = (): void => undefined
  private carrier: Carrier | undefined
  /** Calls that were sent here and have no stream yet. */
  private reserved = 0
  private isDraining = false
  private isGone = false
  private isEnded = false
  /** What is known of why it is gone. */
  private reason = "the connection was closed"

  constructor(
    readonly address: string,
    private readonly options: Options,
    private readonly events: Events
  ) {
    const { connectTimeout, security, versions } = options
    const protocols = versions === "Any" ? [alpn.Http2, alpn.Http1] : [alpn[versions]]
    this.to = { to: SocketAddress.make(address), protocols, security, timeout: connectTimeout }
    this.scheme = security === undefined ? "http" : "https"
    this.timer = setTimeout(() => this.fail(`no connection within ${connectTimeout} ms`), connectTimeout)
    this.dial(versions)
  }

  /** Whether what it carried is lost. */
  get isLost(): boolean {
    return this.isEnded || this.carrier?.isLost === true
  }

  /** Whether both sides may speak at the same time. */
  get isDuplex(): boolean {
    return this.carrier?.isDuplex !== false
  }

  /** Why it is gone. */
  get why(): string {
    return this.reason
  }

  /** A call is sent here, and will `open` a stream or be `released`: until then the connection stays. */
  reserve(): void {
    this.reserved++
  }

  release(): void {
    this.reserved--
    this.closeIfDrained()
  }

  /** Throws UNAVAILABLE if it takes no calls any more. */
  open(headers: OutgoingHttpHeaders): CallStream {
    const { address, carrier } = this
    if (carrier !== undefined && !carrier.isClosed) return carrier.open(headers)
    // ★ A session that fails closes itself, and says so when its last stream has ended: calls would come here until then.
    this.gone("it failed, and ends with its last call")
    throw new ConnectError(`the connection to ${address} takes no calls any more: ${this.reason}`, Code.Unavailable)
  }

  readonly drain = (): void => {
    this.isDraining = true
    this.closeIfDrained()
  }

  readonly close = (reason: string): void => this.fail(reason)

  private dial(versions: Versions): void {
    this.endDial = Dial.dial(
      this.to,
      (socket) => this.begin(socket, versions),
      (reason) => {
        this.gone(reason)
        this.end()
      }
    )
  }

  private begin(socket: Socket, versions: Versions): void {
    const chosen = socket instanceof TLSSocket ? chosenBy(socket, versions) : versions
    if (this.isGone || chosen === undefined) {
      if (chosen === undefined) this.gone("the server does not speak HTTP/2 (ALPN h2)")
      socket.destroy()
      return this.end()
    }
    const events: Carriers.Events = {
      ready: () => {
        clearTimeout(this.timer)
        if (!this.isGone) this.events.ready()
      },
      gone: (reason) => this.gone(reason),
      ended: () => this.end(),
      unsuitable: () => {
        if (this.isGone) return this.end()
        this.carrier = undefined
        if (chosen === "Any") return this.dial("Http1")
        this.gone("the server does not speak HTTP/2")
        this.end()
      }
    }
    this.carrier =
      chosen === "Http1"
        ? new Http1Carrier(socket, this.to, this.options.maxSockets, events)
        : new Http2Carrier(socket, "path" in this.to.to ? "localhost" : this.address, events)
  }

  private closeIfDrained(): void {
    if (!this.isDraining || this.reserved > 0 || this.isEnded) return
    if (this.carrier === undefined) this.fail("not needed any more")
    else this.carrier.close()
  }

  private fail(reason: string): void {
    this.gone(reason)
    // What it still carries is lost by this, not by the GOAWAY before.
    if (!this.isEnded) this.reason = reason
    if (this.carrier === undefined) this.endDial()
    else this.carrier.destroy(reason)
  }

  private gone(reason: string): void {
    if (this.isGone) return
    this.isGone = true
    this.reason = reason
    clearTimeout(this.timer)
    this.events.gone(reason)
  }

  private end(): void {
    if (this.isEnded) return
    this.isEnded = true
    this.gone(this.reason)
    this.events.ended()
  }
}

/** ★ A server that chooses nothing speaks HTTP/1.1 (RFC 7301). */
const chosenBy = ({ alpnProtocol }: TLSSocket, versions: Versions): Versions | undefined => {
  if (alpnProtocol === alpn.Http2) return "Http2"
  return versions === "Http2" ? undefined : "Http1"
}
