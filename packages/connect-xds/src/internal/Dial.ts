/**
 * A socket to an address, with TLS where it is to be.
 *
 * Its timer is a real one: it guards a real socket.
 */
import * as SocketAddress from "@effect-xds/discovery-node/SocketAddress"
import * as Net from "node:net"
import * as Tls from "node:tls"

/** Gives what TLS needs when that is there, or says why it is not. The result takes it back. */
export type Security = (use: (options: Tls.ConnectionOptions) => void, fail: (reason: string) => void) => () => void

export interface Options {
  readonly to: Net.NetConnectOpts
  /** `undefined`: there is no TLS. */
  readonly security: Security | undefined
  /** Names of protocols that are offered (ALPN), the best first. */
  readonly protocols: ReadonlyArray<string>
  /** Milliseconds. */
  readonly timeout: number
}

/** Dials; tells once what comes of it, not before it returns. The result gives it up, if it is not over. */
export const dial = (
  { protocols, security, timeout, to }: Options,
  done: (socket: Net.Socket) => void,
  fail: (reason: string) => void
): (() => void) => {
  let socket: Net.Socket | undefined
  let isOver = false
  let letGo = (): void => undefined
  let reason = "the connection was closed"
  const over = (why: string): void => {
    if (isOver) return
    isOver = true
    clearTimeout(timer)
    socket?.destroy()
    queueMicrotask(() => {
      letGo()
      fail(why)
    })
  }
  const timer = setTimeout(() => over(`no connection within ${timeout} ms`), timeout)
  const connect = (options: Tls.ConnectionOptions | undefined): void => {
    if (isOver || socket !== undefined) return
    const problem = SocketAddress.problemOf(to)
    if (problem !== undefined) return over(problem)
    let made: Net.Socket
    try {
      made = options === undefined ? Net.connect(to) : Tls.connect({ ...to, ...options, ALPNProtocols: [...protocols] })
    } catch (error) {
      // Of an address or a certificate that Node does not take it says so at once.
      return over(wordsOf(error))
    }
    socket = made
    made.setNoDelay(true)
    made.on("error", (error) => {
      reason = wordsOf(error)
    })
    made.once("close", () => {
      // What it was secured with is watched for as long as it is there.
      if (isOver) letGo()
      else over(reason)
    })
    made.once(options === undefined ? "connect" : "secureConnect", () => {
      if (isOver) return
      isOver = true
      clearTimeout(timer)
      done(made)
    })
  }
  if (security === undefined) connect(undefined)
  else letGo = security(connect, over)
  return () => over("it is not needed any more")
}

/** What an error says, in words. */
export const wordsOf = (error: unknown): string => {
  if (!(error instanceof Error)) return String(error)
  return error.message === "" ? String(Reflect.get(error, "code")) : error.message
}
