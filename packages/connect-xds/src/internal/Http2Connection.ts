/**
 * One HTTP/2 connection to an address. It can take calls when the server's SETTINGS have come; on GOAWAY it takes no new
 * ones, and those that it has go on.
 *
 * Its timers are real ones: they guard a real socket.
 */
import type { ClientHttp2Session, ClientHttp2Stream, OutgoingHttpHeaders } from "node:http2"
import * as Http2 from "node:http2"
import * as Net from "node:net"
import * as Tls from "node:tls"
import type { Connection, Events } from "./Connection.js"

/** Gives what TLS needs when that is there, or says why it is not. The result takes it back. */
export type Security = (use: (options: Tls.ConnectionOptions) => void, fail: (reason: string) => void) => () => void

export interface Options {
  /** `undefined`: there is no TLS. */
  readonly security: Security | undefined
  /** Milliseconds for the connection, its handshake and the server's SETTINGS. */
  readonly connectTimeout: number
}

export class Http2Connection implements Connection {
  readonly scheme: "http" | "https"
  private readonly to: { readonly host: string; readonly port: number }
  private readonly timer: NodeJS.Timeout
  private readonly letGo: () => void
  private socket: Net.Socket | undefined
  private session: ClientHttp2Session | undefined
  /** Calls that were sent here and have no stream yet. */
  private reserved = 0
  private isDraining = false
  private isGone = false
  private isEnded = false
  /** What is known of why it is gone. */
  private reason = "the connection was closed"

  constructor(
    readonly address: string,
    { connectTimeout, security }: Options,
    private readonly events: Events
  ) {
    const colon = address.lastIndexOf(":")
    const host = address.slice(0, colon).replace(/^\[(.*)\]$/, "$1")
    this.to = { host, port: Number(address.slice(colon + 1)) }
    this.scheme = security === undefined ? "http" : "https"
    this.timer = setTimeout(() => this.fail(`no connection within ${connectTimeout} ms`), connectTimeout)
    this.letGo =
      security?.(
        (options) => this.dial(options),
        (reason) => this.fail(reason)
      ) ?? (() => undefined)
    if (security === undefined) this.dial(undefined)
  }

  private dial(options: Tls.ConnectionOptions | undefined): void {
    if (this.isGone) return
    const { to } = this
    const socket = options === undefined ? Net.connect(to) : Tls.connect({ ...to, ...options, ALPNProtocols: ["h2"] })
    this.socket = socket
    socket.setNoDelay(true)
    socket.on("error", (error) => {
      this.reason = wordsOf(error)
    })
    socket.once("close", () => this.end())
    socket.once(options === undefined ? "connect" : "secureConnect", () => this.begin(socket))
  }

  /** Whether what it carried is lost. */
  get isLost(): boolean {
    return this.isEnded || this.socket?.destroyed === true || this.session?.destroyed === true
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
    this.settle()
  }

  /** Throws if there is no connection any more. */
  open(headers: OutgoingHttpHeaders): ClientHttp2Stream {
    if (this.session === undefined) throw new Error(this.reason)
    return this.session.request(headers)
  }

  readonly drain = (): void => {
    this.isDraining = true
    this.settle()
  }

  readonly close = (reason: string): void => this.fail(reason)

  private settle(): void {
    if (!this.isDraining || this.reserved > 0 || this.isEnded) return
    // It waits for its streams, then ends. ★ One that is still being made has none.
    if (this.session === undefined || this.session.connecting) this.fail("not needed any more")
    else if (!this.session.closed) this.session.close()
  }

  private begin(socket: Net.Socket): void {
    if (this.isGone) return
    if (socket instanceof Tls.TLSSocket && socket.alpnProtocol !== "h2") {
      return this.fail("the server does not speak HTTP/2 (ALPN h2)")
    }
    const session = Http2.connect(`http://${this.address}`, {
      createConnection: () => socket,
      settings: { enablePush: false }
    })
    this.session = session
    session.once("remoteSettings", () => {
      clearTimeout(this.timer)
      if (!this.isGone) this.events.ready()
    })
    session.on("goaway", (code: number) => this.gone(code === 0 ? "GOAWAY" : `GOAWAY with error ${code}`))
    session.on("error", (error: unknown) => {
      if (!this.isGone) this.reason = wordsOf(error)
    })
    session.once("close", () => this.end())
  }

  private fail(reason: string): void {
    this.gone(reason)
    // After the streams were reset, in a turn of its own: else Node 20 may never return from destroy().
    setImmediate(() => {
      // ★ With an error: without one its streams are closed, and who waits for an answer waits for ever.
      this.session?.destroy(new Error(reason), Http2.constants.NGHTTP2_CANCEL)
      this.end()
    })
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
    this.letGo()
    this.socket?.destroy()
    this.events.ended()
  }
}

const wordsOf = (error: unknown): string => {
  if (!(error instanceof Error)) return String(error)
  return error.message === "" ? String(Reflect.get(error, "code")) : error.message
}
