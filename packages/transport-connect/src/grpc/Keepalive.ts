/** HTTP/2 pings, which detect a connection that was lost silently. */
import type { Http2Session } from "node:http2"

export interface Options {
  /** Milliseconds between pings. */
  readonly interval: number
  /** Milliseconds until an unanswered ping ends the connection. */
  readonly timeout: number
  /** Whether to ping now. Default: always. */
  readonly isWanted?: () => boolean
  /** Called when a ping was not answered; the connection is destroyed. */
  readonly onLost: (reason: string) => void
}

/** Starts the pings; the result stops them. */
export const start = (session: Http2Session, { interval, isWanted, onLost, timeout }: Options): (() => void) => {
  let waiting: NodeJS.Timeout | undefined
  // Node 20 may never return from destroy() within a stream's event; from a timer, as here, it does.
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
