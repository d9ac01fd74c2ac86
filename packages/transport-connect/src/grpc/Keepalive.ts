/** HTTP/2 pings, which detect a connection that was lost silently, and one that its peer leaves open after its end. */
import type { Http2Session } from "node:http2"
import type { Socket } from "node:net"

export interface Options {
  /** Milliseconds between pings. */
  readonly interval: number
  /** Milliseconds without a byte from the peer after a ping, which end the connection. */
  readonly timeout: number
  /** The session's socket. Default: what the session gives, which is a proxy. */
  readonly socket?: Socket
  /** Whether to ping now. Default: always. */
  readonly isWanted?: () => boolean
  /** Called when a ping was not answered; the connection is destroyed. */
  readonly onLost: (reason: string) => void
}

/**
 * The parts of the timeout. Timers run before sockets are read, so after a pause of this process (a stopped process, a
 * machine that slept, long work) a single timer would find its time over while the answer lies in the socket, and all
 * connections would be given up at once. In parts, a pause counts as one of them, however long it was.
 */
const parts = 10

/** Starts the pings; the result stops them. */
export const start = (
  session: Http2Session,
  { interval, isWanted, onLost, socket, timeout }: Options
): (() => void) => {
  let waiting: NodeJS.Timeout | undefined
  const onAnswer = (): void => {
    clearTimeout(waiting)
    waiting = undefined
  }
  const wait = (left: number, read: number): void => {
    waiting = setTimeout(() => {
      // Any byte shows that the peer is there: its answer may come after megabytes on a slow line.
      if (session.destroyed || (socket ?? session.socket).bytesRead !== read) onAnswer()
      else if (left > 1) wait(left - 1, read)
      else {
        onLost(`no answer to a ping in ${timeout} ms`)
        // Node 20 may never return from destroy() within a stream's event; from a timer, as here, it does.
        session.destroy()
        // Node would first wait until the peer has read everything, which it does not.
        socket?.destroy()
      }
    }, timeout / parts)
  }
  /** The session was over an interval ago. */
  let over = false
  const pings = setInterval(() => {
    if (session.destroyed) {
      // Node waits for ever until the peer has read everything and has closed its side, too. An interval is enough.
      if (over) socket?.destroy()
      over = true
      return
    }
    if (waiting !== undefined || isWanted?.() === false) return
    wait(parts, (socket ?? session.socket).bytesRead)
    // A ping that Node does not send, because too many are unanswered, is no answer.
    session.ping((error) => {
      if (error === null) onAnswer()
    })
  }, interval)
  return () => {
    clearInterval(pings)
    clearTimeout(waiting)
  }
}
