/** An HTTP/2 session over a socket. It can take calls when the server's SETTINGS have come. */
import type { ClientHttp2Session, ClientHttp2Stream, OutgoingHttpHeaders } from "node:http2"
import * as Http2 from "node:http2"
import type { Socket } from "node:net"
import type { Carrier, Events } from "./Carrier.js"
import { wordsOf } from "./Dial.js"

/** ★ Numbers of streams end at 2^31 - 1, and none is used twice (RFC 9113, 5.1.1): after a billion calls there are no more. */
const lastNumber = 2 ** 31 - 2 ** 17

export class Http2Carrier implements Carrier {
  readonly isDuplex = true
  private readonly session: ClientHttp2Session
  private hasSettings = false
  private isUnsuitable = false
  private isEnded = false
  private reason = "the connection was closed"

  constructor(
    private readonly socket: Socket,
    address: string,
    private readonly events: Events
  ) {
    const session = Http2.connect(`http://${address}`, {
      createConnection: () => socket,
      settings: { enablePush: false }
    })
    this.session = session
    session.once("remoteSettings", () => {
      this.hasSettings = true
      events.ready()
    })
    session.on("goaway", (code: number) => events.gone(code === 0 ? "GOAWAY" : `GOAWAY with error ${code}`))
    session.on("error", (error: unknown) => {
      this.reason = wordsOf(error)
      // What came instead of SETTINGS is none of HTTP/2.
      this.isUnsuitable = !this.hasSettings && codeOf(error) === "ERR_HTTP2_ERROR"
    })
    // The socket tells of an error of its own, and of a session that never began.
    socket.on("error", (error) => {
      this.reason = wordsOf(error)
    })
    socket.once("close", () => {
      if (this.hasSettings) this.end()
      // The session says next what was wrong with what came.
      else setImmediate(() => this.end())
    })
    session.once("close", () => this.end())
  }

  get isLost(): boolean {
    return this.isEnded || this.socket.destroyed || this.session.destroyed
  }

  get isClosed(): boolean {
    return this.session.closed || this.session.destroyed
  }

  open(headers: OutgoingHttpHeaders): ClientHttp2Stream {
    const stream = this.session.request(headers)
    // Calls that were sent here before this is known still get a number.
    if ((stream.id ?? 0) > lastNumber) this.events.gone("its numbers of streams are used up")
    return stream
  }

  close(): void {
    // It waits for its streams, then ends. ★ One that is still being made has none.
    if (this.session.connecting) this.destroy("not needed any more")
    // ★ In a turn of its own: a stream that was opened in this one is not sent yet, and would be refused.
    else setImmediate(() => this.session.close())
  }

  destroy(reason: string): void {
    this.reason = reason
    // After the streams were reset, in a turn of its own: else Node 20 may never return from destroy().
    setImmediate(() => {
      // ★ With an error: without one its streams are closed, and who waits for an answer waits for ever.
      this.session.destroy(new Error(reason), Http2.constants.NGHTTP2_CANCEL)
      this.end()
    })
  }

  private end(): void {
    if (this.isEnded) return
    this.isEnded = true
    this.socket.destroy()
    if (this.isUnsuitable) return this.events.unsuitable()
    this.events.gone(this.reason)
    this.events.ended()
  }
}

const codeOf = (error: unknown): unknown => (error instanceof Error ? Reflect.get(error, "code") : undefined)
