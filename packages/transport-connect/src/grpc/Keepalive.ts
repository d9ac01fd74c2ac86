/** Pings on an HTTP/2 connection, by which one that is lost without a word is found. */
import type { Http2Session } from "node:http2"

export interface Options {
  /** Milliseconds between pings. */
  readonly interval: number
  /** Milliseconds until an unanswered ping ends the connection. */
  readonly timeout: number
  /** Whether a ping is worth it now. Default: always. */
  readonly isWanted?: () => boolean
  /** A ping was not answered, and the connection is destroyed. */
  readonly onLost: (reason: string) => void
}

/** Pings until the function it returns is called. */
export const start = (session: Http2Session, { interval, isWanted, onLost, timeout }: Options): (() => void) => {
  let waiting: NodeJS.Timeout | undefined
  // Node 20 never comes back from destroy() within an event of a stream; in a timer, as here, it does.
  const onTimeout = (): void => {
    onLost(`no answer to a ping in ${timeout} ms`)
    session.destroy()
  }
  const pings = setInterval(() => {
    if (waiting !== undefined || session.destroyed || isWanted?.() === false) return
    waiting = setTimeout(onTimeout, timeout)
    session.ping(() => {
      clearTimeout(waiting)
      waiting = undefined
    })
  }, interval)
  return () => {
    clearInterval(pings)
    clearTimeout(waiting)
  }
}
