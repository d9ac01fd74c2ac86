/**
 * Connections of HTTP/1.1 to one address: each carries one request at a time and is kept for the next one. There are no more
 * than a bound; requests wait for one that is free. With the last one that the server closes the carrier is gone: so it is
 * known whether the server is still there.
 */
import * as Http from "node:http"
import type { OutgoingHttpHeaders } from "node:http2"
import type { Socket } from "node:net"
import type { Duplex } from "node:stream"
import type { Carrier, Events } from "./Carrier.js"
import * as Dial from "./Dial.js"
import { Http1Stream } from "./Http1Stream.js"

type Connected = (error: Error | null, socket: Duplex) => void

/** Node's own, but for where its sockets come from and whether they are kept. */
class Agent extends Http.Agent {
  constructor(
    private readonly make: (connected: Connected) => void,
    private readonly isKept: () => boolean
  ) {
    super({ keepAlive: true })
  }

  override createConnection(_: Http.ClientRequestArgs, connected?: Connected): undefined {
    if (connected !== undefined) this.make(connected)
  }

  override keepSocketAlive(socket: Duplex): boolean {
    // Node's says false where the server wants it closed; its type does not tell.
    const isKept: unknown = super.keepSocketAlive(socket)
    return this.isKept() && isKept !== false
  }
}

export class Http1Carrier implements Carrier {
  readonly isLost = false
  readonly isDuplex = false
  private readonly agent: Agent
  private readonly sockets = new Set<Socket>()
  private readonly dials = new Set<() => void>()
  private readonly going = new Set<Http1Stream>()
  private readonly waiting = new Set<Http1Stream>()
  /** One that has carried nothing yet. */
  private spare: Socket | undefined
  private isClosing = false
  private isEnded = false

  /** @param maxSockets the most connections */
  constructor(
    first: Socket,
    private readonly to: Dial.Options,
    private readonly maxSockets: number,
    private readonly events: Events
  ) {
    this.agent = new Agent(
      (connected) => this.connect(connected),
      () => !this.isClosing
    )
    this.spare = first
    this.hold(first)
    // Nothing is told before the constructor returns.
    queueMicrotask(events.ready)
  }

  get isClosed(): boolean {
    return this.isClosing
  }

  open(headers: OutgoingHttpHeaders): Http1Stream {
    const stream = new Http1Stream(headers, () => this.onClosed(stream))
    if (this.going.size < this.maxSockets) this.start(stream)
    else this.waiting.add(stream)
    return stream
  }

  close(): void {
    this.isClosing = true
    this.spare?.destroy()
    for (const sockets of Object.values(this.agent.freeSockets)) for (const socket of sockets ?? []) socket.destroy()
    this.endIfIdle()
  }

  destroy(reason: string): void {
    this.isClosing = true
    const error = new Error(reason)
    // ★ First: else each that ends makes room for one of them, which would dial again.
    for (const stream of this.waiting) stream.fail(error)
    this.waiting.clear()
    for (const end of this.dials) end()
    for (const socket of this.sockets) socket.destroy(error)
    this.endIfIdle()
  }

  private start(stream: Http1Stream): void {
    this.going.add(stream)
    stream.start(this.agent)
  }

  private onClosed(stream: Http1Stream): void {
    this.waiting.delete(stream)
    if (this.going.delete(stream)) {
      const [next] = this.waiting
      if (next !== undefined) {
        this.waiting.delete(next)
        this.start(next)
      }
    }
    this.endIfIdle()
  }

  private connect(connected: Connected): void {
    const { spare } = this
    this.spare = undefined
    if (spare !== undefined && !spare.destroyed) return connected(null, spare)
    const end = Dial.dial(
      this.to,
      (socket) => {
        this.dials.delete(end)
        this.hold(socket)
        connected(null, socket)
      },
      (reason) => {
        this.dials.delete(end)
        this.events.gone(reason)
        // The type has a socket also where there is an error; Node looks at neither then.
        Reflect.apply(connected, undefined, [new Error(reason)])
        this.endIfIdle()
      }
    )
    this.dials.add(end)
  }

  private hold(socket: Socket): void {
    this.sockets.add(socket)
    let reason = "the server closed it"
    socket.on("error", (error) => {
      reason = Dial.wordsOf(error)
    })
    socket.once("close", () => {
      this.sockets.delete(socket)
      if (this.spare === socket) this.spare = undefined
      // ★ Also with requests under way: the others may go elsewhere.
      if (this.sockets.size === 0 && this.dials.size === 0) this.events.gone(reason)
      this.endIfIdle()
    })
  }

  private endIfIdle(): void {
    if (!this.isClosing || this.isEnded) return
    if (this.going.size + this.waiting.size + this.sockets.size + this.dials.size > 0) return
    this.isEnded = true
    this.agent.destroy()
    this.events.ended()
  }
}
